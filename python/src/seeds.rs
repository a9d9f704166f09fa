//! Seeds of runs, read from any Python iterable.

use lockgate::plans;
use pyo3::prelude::*;

use crate::error;

/// Seeds, none of them twice, and no more than the command takes.
pub(crate) struct Seeds(pub(crate) Vec<u64>);

impl<'py> FromPyObject<'_, 'py> for Seeds {
    type Error = PyErr;

    /// Reads no more of a long iterable, such as `range(10**9)`, than the limit.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut failed = None;
        let seeds = object.try_iter()?.map_while(|seed| {
            seed.and_then(|seed| seed.extract()).map_err(|error| failed = Some(error)).ok()
        });
        let seeds = plans::seeds(seeds);
        match failed {
            Some(error) => Err(error),
            None => seeds.map(Self).map_err(error::plan),
        }
    }
}
