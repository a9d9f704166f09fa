//! Real-time priorities of a run's threads.

use lockgate_dataplane::real_time::RealTimePriority;
use lockgate_engine::units::Duration;

/// Priority of the threads at the ends of flows.
pub(crate) const FLOW_END: RealTimePriority =
    RealTimePriority { level: 1, longest_without_sleep: Duration::from_millis(10) };

/// Priority of the driver, above that of the ends. It may run for longer without sleep: after a stall it must
/// catch up without being preempted by the threads that wait for it.
pub(crate) const DRIVER: RealTimePriority =
    RealTimePriority { level: 2, longest_without_sleep: Duration::from_millis(50) };
