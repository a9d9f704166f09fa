//! Source of the files that a scenario names.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Source of the files that a scenario names: traces, captures, distributions.
pub trait Files {
    /// Returns the content of the file at `path`, or why it cannot be read, in lower case without a full
    /// stop.
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String>;
}

/// Files held in memory, by path; for tests, and for scenarios that come with theirs.
impl Files for BTreeMap<String, Arc<[u8]>> {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        self.get(path).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}
