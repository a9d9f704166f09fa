//! Extension module `lockgate._lockgate`.
use pyo3::prelude::*;

#[pymodule]
mod _lockgate {}
