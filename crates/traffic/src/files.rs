//! Files that a flow's traffic names, read and checked once.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::units::{Bytes, Duration};

use crate::laws::empirical::Curve;
use crate::replay::Replay;

/// Function that returns the content of a file, or why it cannot be read (a text that continues the file's
/// name).
pub type Load<'a> = dyn FnMut(&str) -> Result<Arc<[u8]>, String> + 'a;

/// Content of the files that a flow's traffic names. Cheap to clone: the flows of a group share it.
#[derive(Clone, Debug, Default)]
pub struct LoadedFiles {
    /// Captures, by their name in the scenario.
    pub replays: BTreeMap<String, Arc<Replay>>,
    /// Curves of [`empirical`](crate::laws::empirical) laws, by field (`gap`, `size`, `bursts.on`): one
    /// file may be read as times for one field and as sizes for another.
    pub curves: BTreeMap<String, Arc<Curve>>,
}

/// Cache of captures, and the memory left for more.
#[derive(Clone, Debug)]
pub struct Captures {
    read: BTreeMap<(String, Duration, Option<Bytes>), Arc<Replay>>,
    /// Memory left for further captures, in bytes.
    pub room: u64,
}

impl Captures {
    /// Creates an empty cache for captures of at most `room` bytes of memory together.
    pub fn within(room: u64) -> Self {
        Self { read: BTreeMap::new(), room }
    }

    /// Returns the capture in the file called `name`, with the times between packets limited to
    /// `longest_gap`, and packets cut into frames of at most `longest_frame`.
    ///
    /// # Errors
    /// Returns the error of `load`, or that of the capture.
    pub(crate) fn read(
        &mut self,
        name: &str,
        longest_gap: Duration,
        longest_frame: Option<Bytes>,
        load: &mut Load<'_>,
    ) -> Result<Arc<Replay>, String> {
        let key = (name.to_owned(), longest_gap, longest_frame);
        if let Some(known) = self.read.get(&key) {
            return Ok(known.clone());
        }
        let bytes = load(name)?;
        let mut replay =
            Replay::read_within(&bytes, longest_gap, self.room).map_err(|error| error.to_string())?;
        if let Some(longest) = longest_frame {
            let longest = u32::try_from(longest.0).unwrap_or(u32::MAX);
            replay.cut(longest, self.room).map_err(|error| error.to_string())?;
        }
        self.room = self.room.saturating_sub(replay.memory());
        let replay = Arc::new(replay);
        self.read.insert(key, replay.clone());
        Ok(replay)
    }
}

impl LoadedFiles {
    /// Returns no files: for traffic that names none.
    pub fn none() -> Self {
        Self::default()
    }
}
