//! Storage of a sweep in Python: an object of `lockgate._storage` reads and writes its files.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use lockgate_experiment::store::{Directory, Storage};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Path of a directory, or an object that keeps the files.
#[derive(FromPyObject)]
pub(crate) enum StorageArgument {
    Directory(PathBuf),
    Object(Py<PyAny>),
}

impl StorageArgument {
    /// Returns the storage.
    pub(crate) fn storage(self, py: Python<'_>) -> PyResult<Arc<dyn Storage>> {
        Ok(match self {
            Self::Directory(folder) => Arc::new(Directory::new(folder)),
            Self::Object(object) => Arc::new(PythonStorage::new(py, object)?),
        })
    }
}

/// Files of a Python object (`lockgate._storage.Remote`). Every call takes the GIL.
struct PythonStorage {
    object: Py<PyAny>,
    address: String,
}

impl PythonStorage {
    fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let address = object.getattr(py, "address")?.extract(py)?;
        Ok(Self { object, address })
    }

    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        // An exception becomes an error of its kind: `FileNotFoundError` becomes `NotFound`.
        Python::attach(|py| Ok(work(self.object.bind(py))?))
    }
}

impl fmt::Debug for PythonStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonStorage").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Storage for PythonStorage {
    fn address(&self) -> String {
        self.address.clone()
    }

    fn path(&self, name: &str) -> String {
        if name.is_empty() { self.address.clone() } else { format!("{}/{name}", self.address) }
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.call(|object| object.call_method1("create_folder", (folder,)).map(drop))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.call(|object| object.call_method1("list_folder", (folder,))?.extract())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let bytes: PyBackedBytes =
            self.call(|object| Ok(object.call_method1("read", (name,))?.extract()?))?;
        Ok(bytes.to_vec())
    }

    fn read_many(&self, names: &[String]) -> io::Result<Vec<Vec<u8>>> {
        let all: Vec<PyBackedBytes> =
            self.call(|object| object.call_method1("read_many", (names,))?.extract())?;
        Ok(all.iter().map(|bytes| bytes.to_vec()).collect())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.call(|object| {
            let bytes = PyBytes::new(object.py(), bytes);
            object.call_method1("write", (name, bytes)).map(drop)
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.call(|object| object.call_method1("remove", (name,)).map(drop))
    }
}

/// Opens the storage at an address for the command. The error is a reason and a remedy.
pub(crate) fn open(address: &str) -> Result<Arc<dyn Storage>, (String, String)> {
    let storage = |py: Python<'_>| {
        let object = py.import("lockgate._storage")?.getattr("Remote")?.call1((address,))?;
        PythonStorage::new(py, object.unbind())
    };
    Python::attach(|py| match storage(py) {
        Ok(storage) => Ok(Arc::new(storage) as Arc<dyn Storage>),
        Err(error) => {
            let text = error.value(py).to_string();
            let (why, help) = text.split_once("\nhelp: ").unwrap_or((&text, "name it as fsspec does"));
            Err((why.to_owned(), help.to_owned()))
        }
    })
}
