//! A flow's traffic together with the files it names.

use std::sync::Arc;

use lockgate_traffic::{Arrivals, Invalid, LoadedFiles, TrafficConfig};

use lockgate_engine::random::Seed;

/// How a flow offers packets: what the file says, and what the files it names hold. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// As written in the scenario, checked.
    pub config: Arc<TrafficConfig>,
    /// What stood in the files it names.
    pub files: LoadedFiles,
}

impl Traffic {
    /// No packets of its own: what a file transfer sends follows from its transport.
    pub fn nothing() -> Self {
        Self { config: Arc::new(TrafficConfig::default()), files: LoadedFiles::none() }
    }

    /// The packets that the flow called `flow` offers in the run with `seed`.
    ///
    /// # Errors
    /// None for the traffic of a scenario that [`read`](crate::read) gave out: it was checked there.
    pub fn arrivals(&self, seed: Seed, flow: &str) -> Result<Arrivals, Invalid> {
        Arrivals::new(&self.config, seed, flow, &self.files)
    }

    /// Those it offers after change number `change` of that run. They are drawn from a stream of their own: what was drawn
    /// ahead under the old law is not drawn again.
    ///
    /// # Errors
    /// As for [`arrivals`](Self::arrivals).
    pub fn arrivals_after(&self, seed: Seed, flow: &str, change: usize) -> Result<Arrivals, Invalid> {
        self.arrivals(seed, &format!("{flow}@{change}"))
    }
}
