//! Real-time priorities of a run's threads.

use lockgate_dataplane::real_time::RealTimePriority;
use lockgate_engine::units::Duration;

/// Threads at the ends of flows.
pub(crate) const FLOW_END: RealTimePriority =
    RealTimePriority { level: 1, longest_awake: Duration::from_millis(10) };

/// The driver, above the ends. It may be awake for longer: after a stall it must catch up without being
/// preempted by the threads it serves.
pub(crate) const DRIVER: RealTimePriority =
    RealTimePriority { level: 2, longest_awake: Duration::from_millis(50) };
