//! `lockgate top`: the kernel's own queues.

#[cfg(target_os = "linux")]
mod once;
#[cfg(target_os = "linux")]
mod view;

use crate::arguments::Top;
use crate::exit::{Exit, Failure};

#[cfg(target_os = "linux")]
pub(crate) fn top(arguments: &Top) -> Result<Exit, Failure> {
    if let Some(from) = &arguments.from {
        return view::remote(from, arguments);
    }
    let kernel =
        lockgate_monitor::kernel::Kernel::open(arguments.device.as_deref(), arguments.all, arguments.flows)?;
    if arguments.once { once::once(kernel, arguments) } else { view::view(kernel, arguments) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn top(_: &Top) -> Result<Exit, Failure> {
    Err(Failure::Missing {
        message: "this system has no netlink".to_owned(),
        help: "`lockgate top` shows the queues of Linux".to_owned(),
    })
}

/// Reads `--every`.
#[cfg(target_os = "linux")]
fn interval(text: &str) -> Result<std::time::Duration, Failure> {
    use lockgate::units::Duration;
    use lockgate_session::{LONGEST_INTERVAL, SHORTEST_INTERVAL};
    let every = text.parse::<Duration>().ok();
    let every = every.filter(|every| (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(every));
    every.map(|every| std::time::Duration::from_nanos(every.as_picos() / 1000)).ok_or_else(|| {
        Failure::usage(format!("`--every {text}` is not an interval of looks"), "it is from 10ms to 5s")
    })
}
