//! Options of the commands that read scenarios: the values set in them, the limit on memory, the seed.

use std::path::Path;

use clap::Args;
use lockgate::Scenario;
use lockgate::units::Bytes;
use lockgate_scenario::MEMORY;

use crate::exit::Failure;
use crate::runs;

/// How a scenario is read.
#[derive(Clone, Debug, Args)]
pub(crate) struct Reading {
    /// Sets a value of the scenario first; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
    #[command(flatten)]
    pub(crate) limit: MemoryLimit,
}

impl Reading {
    /// Returns the same with further settings, which come last.
    pub(crate) fn with(&self, settings: impl IntoIterator<Item = String>) -> Self {
        let overrides = self.overrides.iter().cloned().chain(settings).collect();
        Self { overrides, limit: self.limit.clone() }
    }

    /// Reads a scenario file.
    pub(crate) fn read(&self, file: &Path) -> Result<Scenario, Failure> {
        runs::read_file(file, &self.overrides, self.limit.bytes()?)
    }
}

/// How a scenario is read and run.
#[derive(Debug, Args)]
pub(crate) struct SeededReading {
    /// Seed of all random draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Limit on memory. It is parsed when it is needed, so that `lockgate test` reports an error in each of its
/// outputs.
#[derive(Clone, Debug, Args)]
pub(crate) struct MemoryLimit {
    /// Memory limit of the scenario and its runs, such as 8GiB [default: 2GiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

impl MemoryLimit {
    /// Returns the limit in bytes.
    pub(crate) fn bytes(&self) -> Result<u64, Failure> {
        let Some(text) = &self.memory else { return Ok(MEMORY) };
        match text.parse::<Bytes>() {
            Ok(Bytes(limit)) if limit > 0 => Ok(limit),
            _ => Err(Failure::usage(
                format!("`--memory {text}` is not an amount of memory"),
                "write it with its unit, such as `--memory 8GiB`",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_memory_are_read_with_their_unit() {
        let bytes = |text: Option<&str>| MemoryLimit { memory: text.map(str::to_owned) }.bytes();
        assert_eq!(bytes(Some("8GiB")).expect("an amount"), 8 << 30);
        assert!(bytes(Some("8")).is_err() && bytes(Some("0B")).is_err());
        assert_eq!(bytes(None).expect("the default"), MEMORY);
    }
}
