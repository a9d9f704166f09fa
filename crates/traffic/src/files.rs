//! The files that a flow's traffic names, read and checked once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::laws::empirical::Curve;
use crate::replay::Replay;

/// Gives the bytes of a file, or says why it cannot (reads on from the file's name).
pub type Load<'a> = dyn FnMut(&str) -> Result<Arc<[u8]>, String> + 'a;

/// What stood in the files that a flow's traffic names. Cheap to clone: flows of a group share it.
#[derive(Clone, Debug, Default)]
pub struct LoadedFiles {
    /// Captures, by the name they have in the scenario.
    pub replays: BTreeMap<String, Arc<Replay>>,
    /// Curves of [`empirical`](crate::laws::empirical) laws, by field (`gap`, `size`, `bursts.on`): the same
    /// file may be read as times by one and as sizes by another.
    pub curves: BTreeMap<String, Arc<Curve>>,
}

impl LoadedFiles {
    /// No files: for traffic that names none.
    pub fn none() -> Self {
        Self::default()
    }
}
