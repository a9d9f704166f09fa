//! Living view of the kernel's queues: looks at the pace of the clock, samples to the hub.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use lockgate::figures;
use lockgate_monitor::{Channels, Command, Hub};
use lockgate_session::{LinkStatus, PortStatus, Refused, Status};
use lockgate_tc::kernel::{Looks, Tree};

use super::kernel::Kernel;
use crate::arguments::Top;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::live_view::{self, View};

/// Interval between looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Least interval between samples for a screen or a page; each has mean and peak of its looks.
const SCREEN: Duration = Duration::from_millis(100);

/// Longest interval between looks.
const LONGEST: Duration = Duration::from_secs(5);

/// Multiple of its cost that passes between looks: they take at most 2 % of a processor, and hold the kernel's lock of
/// interfaces no longer.
const SPARING: u32 = 50;

/// Share of the old mean cost in a new one, of four.
const INERTIA: u32 = 3;

/// Interval at which the status is published.
const PUBLISHED: Duration = Duration::from_secs(1);

/// Way to change the queues.
const CHANGED_BY: &str = "change the kernel's queues with `tc`, and look again";

pub(super) fn view(kernel: Kernel, arguments: &Top) -> Result<Exit, Failure> {
    let every = arguments.every.as_deref().map_or(Ok(INTERVAL), super::interval)?;
    interrupt::listen();
    let (hub, channels) = Hub::start();
    let options = View {
        web: arguments.web,
        names: &arguments.names,
        read_only: Some(CHANGED_BY),
        plain: arguments.plain,
        json: arguments.json,
    };
    let frames = hub.subscribe();
    if let Some(address) = arguments.web {
        live_view::serve(address, &options, &hub)?;
    }
    // Lines are for programs, which take every look.
    let least = if live_view::is_plain(&options) { Duration::ZERO } else { SCREEN };
    let has_left = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| Watcher::new(kernel, channels, every, least).follow(&has_left));
        let shown = live_view::show(&options, &hub, frames, channel());
        has_left.store(true, Ordering::Relaxed);
        let followed = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        shown?;
        followed.map(|()| Exit::Ok)
    })
}

struct Watcher {
    kernel: Kernel,
    channels: Channels,
    /// Interval that is asked for.
    every: Duration,
    /// Least interval between samples.
    least: Duration,
    looks: Looks,
    /// Mean cost of a look.
    cost: Duration,
}

/// Returns the interval between looks of this cost.
fn paced(every: Duration, cost: Duration) -> Duration {
    every.max(cost.saturating_mul(SPARING)).min(LONGEST.max(every))
}

impl Watcher {
    fn new(kernel: Kernel, channels: Channels, every: Duration, least: Duration) -> Self {
        Self { kernel, channels, every, least, looks: Looks::default(), cost: Duration::ZERO }
    }

    /// Looks until the view is left.
    ///
    /// # Errors
    /// If the kernel does not answer any more, or the interface is gone.
    fn follow(mut self, has_left: &AtomicBool) -> Result<(), Failure> {
        let start = Instant::now();
        let (mut next, mut sampled, mut published) = (start, start, None::<Instant>);
        while !has_left.load(Ordering::Relaxed) && !interrupt::is_requested() {
            let look = match self.kernel.look() {
                Ok(look) => look,
                Err(failure) => {
                    self.publish(&[], true);
                    return Err(failure);
                }
            };
            self.cost = if self.cost.is_zero() {
                look.cost
            } else {
                (self.cost * INERTIA + look.cost) / (INERTIA + 1)
            };
            look.add_to(&mut self.looks);
            let now = Instant::now();
            if now - sampled >= self.least || sampled == start {
                let trees = self.kernel.trees(look);
                if published.is_none_or(|published| now - published >= PUBLISHED) {
                    self.publish(&trees, false);
                    published = Some(now);
                }
                self.channels.send(self.looks.close(&trees, (now - start).as_secs_f64()));
                sampled = now;
            }
            // A look that came late does not make the next ones come faster.
            next = (next + paced(self.every, self.cost)).max(now);
            if !self.wait(next) {
                break;
            }
        }
        // The view learns of the end.
        drop(self.channels);
        Ok(())
    }

    /// Answers commands until `next`. Returns false if the view ends.
    fn wait(&mut self, next: Instant) -> bool {
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match self.channels.commands().recv_timeout(left) {
                Ok(Command::Set { reply, .. }) => {
                    reply.send(Err(Refused::because(
                        "the view does not change the kernel's queues",
                        CHANGED_BY,
                    )));
                }
                Ok(Command::Every(every)) => self.every = Duration::from_nanos(every.as_picos() / 1000),
                Ok(Command::Stop) => return false,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(left);
                    return true;
                }
            }
        }
    }

    /// Publishes the devices, the interval, and what a look costs.
    fn publish(&self, trees: &[Tree], has_ended: bool) {
        let every = paced(self.every, self.cost);
        let share = self.cost.as_secs_f64() / every.as_secs_f64() * 100.0;
        let sparing = if every > self.every {
            format!(" instead of {} to spare the kernel", figures::seconds(Some(self.every.as_secs_f64())))
        } else {
            String::new()
        };
        let title = format!(
            "kernel's queues; a look takes {} ({share:.1} % of a processor){sparing}",
            figures::seconds(Some(self.cost.as_secs_f64()))
        );
        let port = |tree: &Tree| PortStatus {
            name: tree.device.clone(),
            from: tree.device.clone(),
            to: "network".to_owned(),
            link: tree.device.clone(),
            root: None,
            queues: tree.queues.iter().map(|branch| (branch.queue.name(), Vec::new())).collect(),
        };
        let link = |tree: &Tree| LinkStatus {
            name: tree.device.clone(),
            from: tree.device.clone(),
            to: "network".to_owned(),
            ..LinkStatus::default()
        };
        let names = trees.iter().map(|tree| tree.device.clone());
        self.channels.publish_status(Status {
            title,
            mode: "kernel",
            pace: 1.0,
            every_s: every.max(self.least).as_secs_f64(),
            ended: has_ended,
            nodes: names.chain(["network".to_owned()]).collect(),
            ports: trees.iter().map(port).collect(),
            links: trees.iter().map(link).collect(),
            ..Status::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_looks_are_rare() {
        let ms = Duration::from_millis;
        assert_eq!(paced(ms(10), Duration::from_micros(150)), ms(10));
        assert_eq!(paced(ms(10), ms(3)), ms(150));
        assert_eq!(paced(ms(10), ms(400)), ms(5000));
    }
}
