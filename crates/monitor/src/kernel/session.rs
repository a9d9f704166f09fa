//! Session of the kernel's own queues: looks at the pace of the clock, samples to the hub.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use lockgate_engine::units::Duration as RunTime;
use lockgate_measure::figures;
use lockgate_measure::monitor::{EventSample, Sample};
use lockgate_measure::recording::EventKind;
use lockgate_session::{Done, Refused};
use lockgate_tc::kernel::{Looks, Tree};

use super::Program;
use super::error::KernelError;
use super::import;
use super::knobs::{self, Lasting};
use super::look::Kernel;
use super::record::Recorder;
use super::sojourn::Sojourn;
use super::stream::{self, Head, Line};
use crate::{Channels, Command};

/// Longest interval between looks.
const LONGEST_LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Multiple of its cost that passes between looks: they take at most 2 % of a processor, and hold the
/// kernel's lock of interfaces no longer.
const SPARING: u32 = 50;

/// Share of the old mean cost in a new one, of four.
const INERTIA: u32 = 3;

/// Interval at which the status is published.
const PUBLISHED: Duration = Duration::from_secs(1);

/// Way to change the queues.
pub const CHANGED_BY: &str = "start `lockgate top --set`, or change the kernel's queues with `tc`";

/// Interfaces up to which the title names all.
const MOST_NAMED: usize = 4;

/// Queues up to which their values are read and can be set from the view.
const SET: usize = 400;

/// Sink of the looks.
pub enum Sink<'a> {
    /// Screen, page, or lines for a reader.
    View(Channels),
    /// Lines for another `lockgate top`: the function prints one, and returns false without a reader.
    Lines(&'a (dyn Fn(&str) -> bool + Sync)),
}

/// Options of a session.
#[derive(Default)]
pub struct KernelOptions {
    /// Interval between looks.
    pub every: Duration,
    /// Least interval between samples.
    pub least: Duration,
    /// True if settings are allowed.
    pub is_set: bool,
    /// Trace of the packets' delays.
    pub sojourn: Option<Sojourn>,
    /// Recording of the samples.
    pub recorder: Option<Recorder>,
}

/// Session of the kernel's own queues.
pub struct KernelSession<'a> {
    kernel: Kernel,
    sink: Sink<'a>,
    program: Program<'a>,
    sojourn: Option<Sojourn>,
    recorder: Option<Recorder>,
    /// Settings that end.
    lasting: Lasting,
    /// Settings since the last sample.
    events: Vec<EventSample>,
    /// True if settings are allowed.
    is_set: bool,
    head: Head,
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
    every.max(cost.saturating_mul(SPARING)).min(LONGEST_LOOK_INTERVAL.max(every))
}

impl<'a> KernelSession<'a> {
    /// Creates the session of a kernel.
    pub fn new(kernel: Kernel, options: KernelOptions, sink: Sink<'a>, program: Program<'a>) -> Self {
        let KernelOptions { every, least, is_set, sojourn, recorder } = options;
        Self {
            kernel,
            sink,
            program,
            sojourn,
            recorder,
            lasting: Lasting::default(),
            events: Vec::new(),
            is_set,
            head: Head::default(),
            every,
            least,
            looks: Looks::default(),
            cost: Duration::ZERO,
        }
    }

    /// Looks until the view is left. What was set for a time is restored.
    ///
    /// # Errors
    /// If the kernel does not answer any more, or the interface is gone.
    pub fn follow(mut self, has_left: &AtomicBool) -> Result<(), KernelError> {
        let looked = self.look_on(has_left);
        self.lasting.restore(&mut self.kernel, true);
        if looked.is_err()
            && let Sink::View(channels) = &self.sink
        {
            let without_devices = Head { devices: Vec::new(), ..self.head.clone() };
            channels.publish_status(without_devices.status(&|_, _| Vec::new(), true));
        }
        let device = self.recorder.as_ref().and_then(|_| self.head.devices.first());
        let scenario = device.and_then(|(device, _)| import::scenario(device));
        // The view learns of the end.
        drop(self.sink);
        self.program.end(self.recorder, scenario.as_deref())?;
        looked
    }

    fn look_on(&mut self, has_left: &AtomicBool) -> Result<(), KernelError> {
        let start = Instant::now();
        let (mut next, mut sampled, mut published) = (start, start, None::<Instant>);
        while !has_left.load(Ordering::Relaxed) && !self.program.is_interrupted() {
            let look = self.kernel.look()?;
            self.cost = if self.cost.is_zero() {
                look.cost
            } else {
                (self.cost * INERTIA + look.cost) / (INERTIA + 1)
            };
            self.kernel.trees().for_each(|tree| self.looks.look(tree));
            // Rates are over the time between the kernel's counts, however late the thread goes on.
            let (now, at) = (Instant::now(), look.at);
            if now - sampled >= self.least || sampled == start {
                if published.is_none_or(|published| now - published >= PUBLISHED) || !self.events.is_empty() {
                    self.publish()?;
                    published = Some(now);
                }
                let mut sample = self.looks.close(self.kernel.trees(), (at - start).as_secs_f64());
                if let Some(sojourn) = &mut self.sojourn {
                    sojourn.fill(&mut sample, self.kernel.trees());
                }
                sample.events = core::mem::take(&mut self.events);
                if !self.hand_out(sample)? {
                    return Ok(());
                }
                sampled = now;
            }
            // A look that came late does not make the next ones come faster.
            next = (next + paced(self.every, self.cost)).max(now);
            if !self.wait(next, start) {
                break;
            }
        }
        Ok(())
    }

    /// Passes a sample on. Returns false without a reader.
    fn hand_out(&mut self, sample: Sample) -> Result<bool, KernelError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.sample(&sample)?;
        }
        match &self.sink {
            Sink::View(channels) => {
                channels.send(sample);
                Ok(true)
            }
            Sink::Lines(print) => line(*print, &Line::Sample(Box::new(sample))),
        }
    }

    /// Answers commands until `next`. Returns false if the view ends.
    fn wait(&mut self, next: Instant, start: Instant) -> bool {
        loop {
            let at_s = start.elapsed().as_secs_f64();
            for made in self.lasting.restore(&mut self.kernel, false) {
                self.events.push(event(at_s, &made, Vec::new()));
            }
            let end = self.lasting.next().map_or(next, |until| until.min(next));
            let left = end.saturating_duration_since(Instant::now());
            let Sink::View(channels) = &self.sink else {
                // Ctrl-C does not wait for the next look.
                (self.program.wait)(left);
                if Instant::now() >= next || self.program.is_interrupted() {
                    return !self.program.is_interrupted();
                }
                continue;
            };
            match channels.commands().recv_timeout(left) {
                Ok(Command::Set { settings, lasting, reply }) => {
                    if reply.begin() {
                        let answer = self.set(&settings, lasting, at_s);
                        reply.send(answer);
                    }
                }
                Ok(Command::Every(every)) => self.every = Duration::from_nanos(every.as_picos() / 1000),
                Ok(Command::Stop) => return false,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if Instant::now() < next => {}
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(left);
                    return true;
                }
            }
        }
    }

    fn set(&mut self, settings: &[String], lasting: Option<RunTime>, at_s: f64) -> Result<Done, Refused> {
        if !self.is_set {
            return Err(Refused::because("the view does not change the kernel's queues", CHANGED_BY));
        }
        let mut done = knobs::set(&mut self.kernel, settings, at_s)?;
        for (setting, before) in settings.iter().zip(&done.before) {
            self.events.push(event(at_s, setting, vec![before.clone()]));
        }
        if let Some(lasting) = lasting {
            done.until_s = Some(at_s + lasting.as_secs_f64());
            self.lasting.add(Duration::from_nanos(lasting.as_picos() / 1000), done.before.clone());
        }
        Ok(done)
    }

    /// Publishes the devices, the interval, and what a look costs.
    fn publish(&mut self) -> Result<(), KernelError> {
        let every = paced(self.every, self.cost);
        let share = self.cost.as_secs_f64() / every.as_secs_f64() * 100.0;
        let sparing = if every > self.every {
            format!(" instead of {} to spare the kernel", figures::seconds(Some(self.every.as_secs_f64())))
        } else {
            String::new()
        };
        let lost = self.sojourn.as_ref().map_or(0, Sojourn::lost);
        let lost = if lost > 0 { format!("; {lost} events of the trace were lost") } else { String::new() };
        let devices: Vec<&str> = self.kernel.trees().map(|tree| tree.device.as_str()).collect();
        let named = match devices.as_slice() {
            [] => "no interface with queues".to_owned(),
            few if few.len() <= MOST_NAMED => few.join(", "),
            [first, rest @ ..] => format!("{first} and {} more interfaces", rest.len()),
        };
        let title = format!(
            "{named} of {}; a look takes {} ({share:.1} % of a processor){sparing}{lost}",
            host(),
            figures::seconds(Some(self.cost.as_secs_f64()))
        );
        let queues_of = |tree: &Tree| tree.queues.iter().map(|branch| branch.queue.name()).collect();
        self.head = Head {
            schema: stream::SCHEMA,
            host: host(),
            title,
            every_s: every.max(self.least).as_secs_f64(),
            devices: self.kernel.trees().map(|tree| (tree.device.clone(), queues_of(tree))).collect(),
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.head(&self.head)?;
        }
        let queues: usize = self.kernel.trees().map(|tree| tree.queues.len()).sum();
        let mut knobs =
            if self.is_set && queues <= SET { self.kernel.knobs(&knobs::of)? } else { BTreeMap::new() };
        match &self.sink {
            Sink::View(channels) => {
                let taken = std::cell::RefCell::new(&mut knobs);
                let of = |device: &str, queue: &str| {
                    taken.borrow_mut().remove(&(device.to_owned(), queue.to_owned())).unwrap_or_default()
                };
                channels.publish_status(self.head.status(&of, false));
            }
            Sink::Lines(print) => {
                line(*print, &Line::Head(self.head.clone()))?;
            }
        }
        Ok(())
    }
}

/// Prints a line of a stream. Returns false without a reader.
fn line(print: &dyn Fn(&str) -> bool, line: &Line) -> Result<bool, KernelError> {
    Ok(print(&format!("{}\n", serde_json::to_string(line)?)))
}

/// Returns the event of a setting, which `before` undoes.
fn event(at_s: f64, setting: &str, before: Vec<String>) -> EventSample {
    let (path, value) = setting.split_once('=').unwrap_or((setting, ""));
    EventSample {
        at_s,
        kind: EventKind::Change,
        path: path.to_owned(),
        value: value.to_owned(),
        moved_packets: None,
        forced_out_packets: 0,
        text: String::new(),
        before,
    }
}

/// Returns the name of this machine.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
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
