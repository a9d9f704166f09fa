//! The files that a flow's traffic names, read and checked once.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::units::Duration;

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

/// Captures read so far, each once, and the memory that is left for more.
#[derive(Debug)]
pub struct Captures {
    read: BTreeMap<(String, Duration), Arc<Replay>>,
    /// Bytes of memory that captures read from here on may take.
    pub room: u64,
}

impl Captures {
    /// None yet; all together may take `room` bytes of memory.
    pub fn within(room: u64) -> Self {
        Self { read: BTreeMap::new(), room }
    }

    /// The capture in the file called `name`, whose times between packets are `longest_gap` at most.
    ///
    /// # Errors
    /// What `load` says, and what is wrong with the capture.
    pub(crate) fn read(
        &mut self,
        name: &str,
        longest_gap: Duration,
        load: &mut Load<'_>,
    ) -> Result<Arc<Replay>, String> {
        let key = (name.to_owned(), longest_gap);
        if let Some(known) = self.read.get(&key) {
            return Ok(known.clone());
        }
        let bytes = load(name)?;
        let replay =
            Replay::read_within(&bytes, longest_gap, self.room).map_err(|error| error.to_string())?;
        self.room = self.room.saturating_sub(replay.memory());
        let replay = Arc::new(replay);
        self.read.insert(key, replay.clone());
        Ok(replay)
    }
}

impl LoadedFiles {
    /// No files: for traffic that names none.
    pub fn none() -> Self {
        Self::default()
    }
}
