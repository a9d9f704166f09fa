//! Table: named columns that polars, pandas, duckdb and pyarrow read as they are.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int8Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString};

/// Columns of equal length.
#[pyclass(frozen, module = "lockgate._lockgate")]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// Returns the exception of an error of Arrow, which only a fault of Lockgate can cause.
pub(crate) fn fault(error: &ArrowError) -> PyErr {
    crate::error::run(format_args!("{error}; this is a fault of Lockgate: please report it"))
}

impl Table {
    /// Creates a table of columns by their names.
    pub(crate) fn new(columns: Vec<(String, ArrayRef)>) -> Result<Self, ArrowError> {
        if columns.is_empty() {
            return Ok(Self { batch: RecordBatch::new_empty(Arc::new(Schema::empty())) });
        }
        // Every column is nullable, so that tables of two runs have the same schema.
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        Ok(Self { batch: RecordBatch::try_from_iter_with_nullable(columns)? })
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the first rows.
    fn head(&self, rows: usize) -> Self {
        Self { batch: self.batch.slice(0, rows.min(self.batch.num_rows())) }
    }

    /// Returns a column as a list of Python values; `None` if there is no such column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyList>>> {
        self.batch.column_by_name(name).map(|column| list(py, column)).transpose()
    }

    /// Returns the columns as lists of Python values, by their names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lists = PyDict::new(py);
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            lists.set_item(field.name(), list(py, column)?)?;
        }
        Ok(lists)
    }

    /// Exports the table as a stream of one batch (Arrow `PyCapsule` interface). The memory is shared, not
    /// copied.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits returning the table's own schema instead.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// Exports the schema (Arrow `PyCapsule` interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(|error| fault(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// Returns a column as a list.
fn list<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    macro_rules! numbers {
        ($kind:ty) => {
            PyList::new(py, column.as_primitive::<$kind>().iter())
        };
    }
    match column.data_type() {
        DataType::Float64 => numbers!(Float64Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::Utf8 => PyList::new(py, column.as_string::<i32>().iter()),
        DataType::Dictionary(key, _) if **key == DataType::Int32 => {
            names(py, column.as_dictionary::<Int32Type>())
        }
        DataType::Dictionary(..) => names(py, column.as_dictionary::<Int8Type>()),
        other => Err(fault(&ArrowError::NotYetImplemented(other.to_string()))),
    }
}

fn names<'py, K: arrow_array::types::ArrowDictionaryKeyType>(
    py: Python<'py>,
    column: &DictionaryArray<K>,
) -> PyResult<Bound<'py, PyList>> {
    // One object for each name, of which the list has references.
    let names = column.values().as_string::<i32>().iter();
    let names: Vec<_> = names.map(|name| name.map(|name| PyString::new(py, name))).collect();
    let keys = (0..column.len()).map(|row| column.key(row).and_then(|key| names[key].as_ref()));
    PyList::new(py, keys.collect::<Vec<_>>())
}
