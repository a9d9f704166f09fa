//! A flow's traffic together with the files it names.

use std::sync::Arc;

use crate::seam::TrafficConfig;

/// How a flow offers packets: what the file says, and what the files it names hold.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// As written in the scenario, checked.
    pub config: Arc<TrafficConfig>,
}
