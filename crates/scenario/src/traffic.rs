//! A flow's traffic together with the files it names.

use std::sync::{Arc, LazyLock};

use lockgate_traffic::{Arrivals, Invalid, LoadedFiles, TrafficConfig};

use lockgate_engine::random::Seed;

/// Traffic offered by a flow, with the content of the files it names. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Configuration as written in the scenario, checked.
    pub config: Arc<TrafficConfig>,
    /// Content of the files it names.
    pub files: LoadedFiles,
}

impl Traffic {
    /// Returns traffic without packets, for a file transfer: its packets follow from its transport.
    pub fn nothing() -> Self {
        static NOTHING: LazyLock<Arc<TrafficConfig>> = LazyLock::new(Arc::default);
        Self { config: NOTHING.clone(), files: LoadedFiles::none() }
    }

    /// Returns the packets that the flow called `flow` offers in the run with `seed`.
    ///
    /// # Errors
    /// Never fails for a scenario from [`read`](crate::read), which checked the traffic.
    pub fn arrivals(&self, seed: Seed, flow: &str) -> Result<Arrivals, Invalid> {
        Arrivals::new(&self.config, seed, flow, &self.files)
    }

    /// Returns the packets offered after change number `change` of that run. They are drawn from a random
    /// stream of their own, so packets drawn ahead under the old law do not shift them.
    ///
    /// # Errors
    /// The errors of [`arrivals`](Self::arrivals).
    pub fn arrivals_after(&self, seed: Seed, flow: &str, change: usize) -> Result<Arrivals, Invalid> {
        self.arrivals(seed, &format!("{flow}@{change}"))
    }
}
