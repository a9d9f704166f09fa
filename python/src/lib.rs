//! Extension module `lockgate._lockgate`: the library for Python, and the command.
//!
//! ```text
//! Scenario -> simulate -> Run -> summary (JSON), packets and series (Table: Arrow by the PyCapsule interface)
//!          '-> Simulation: step, set, observe, finish -> Run
//!          '-> tune, test -> JSON documents with their tables
//!          '-> Plan: run on threads; or task by task, run_batch on workers, keep
//! Path: send, receive, next, set, finish -> Run
//! ```
//!
//! Thin: names, defaults and display are in `python/lockgate/*.py`. Every function that simulates releases
//! the GIL, and no lock is taken with the GIL held.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments as values")]

mod arrays;
mod error;
mod interrupt;
mod packets;
mod path;
mod plan;
mod run;
mod scenario;
mod seeds;
mod series;
mod simulation;
mod storage;
mod table;
mod test;
mod tune;
mod turns;
mod worker;

use pyo3::prelude::*;

/// Packs headers of 64 bytes densely; other allocators use 128 bytes for each (decision 067).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
mod _lockgate {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::path::Path;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::run::{Run, simulate};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::simulation::Simulation;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::test::test;
    #[pymodule_export]
    use crate::tune::tune;
    #[pymodule_export]
    use crate::worker::run_batch;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("MEMORY", lockgate_scenario::MEMORY)?;
        module.add("DEMO", include_str!("../../scenarios/bufferbloat.toml"))
    }

    /// Runs the command with these arguments, the program's name first. Returns the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| lockgate_cli::main_with(arguments, &crate::storage::open))
    }

    /// Formats a value of the metric at `address` in its unit: `31.8 ms`.
    #[pyfunction]
    fn quantity(address: &str, value: Option<f64>) -> String {
        lockgate::verdict::quantity(address, value)
    }

    /// Formats a mean of the metric at `address`, with half the width of its interval: `31.8 ± 0.400 ms`.
    #[pyfunction]
    fn interval(address: &str, mean: f64, half_width: Option<f64>) -> String {
        lockgate::verdict::interval(address, mean, half_width)
    }

    /// Reads a time: seconds as a number, or a text with its unit. Returns picoseconds.
    #[pyfunction]
    fn picoseconds(time: crate::simulation::Time) -> u64 {
        time.0.as_picos()
    }
}
