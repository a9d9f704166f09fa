//! A running router: its threads, and the handle by which it is changed, observed and ended.
//!
//! ```text
//! Router (any thread) --orders--> Forwarder (a thread for each set of ports) --frames--> interfaces
//!         ^                          |  renews
//!         '------- samples ----------'--------> leases: without them frames take the kernel's way
//!                                                  '--> watchdog (a thread): reports it
//! ```

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration as WallTime;

use lockgate_dataplane::clock::MonotonicClock;
use lockgate_dataplane::error::InterfaceError;
use lockgate_dataplane::interfaces::{Interfaces, Options as InterfaceOptions};
use lockgate_dataplane::real_time::is_permitted;
pub use lockgate_dataplane::real_time::lock_memory;
use lockgate_dataplane::socket::{PacketSocketReason, SocketChoice};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Rate};
use lockgate_measure::monitor::{PortSample, Sample};
use lockgate_measure::recording::{Mode as RecordingMode, PortRecord, PortSetup, Recording, Setup};
use lockgate_scenario::policy::{FrameIo, PolicyPort};
use lockgate_scenario::{Policy, nearest};

use crate::attach::preflight::MOST_AF_XDP;
use crate::attach::{Attachment, await_pairs_gone};
use crate::control::capture::{Filter, is_of};
use crate::control::state::fits;
use crate::control::{Applied, Bypass, Engine, Losses, Misfit, NotedPolicy};
use crate::failure::Failure;
use crate::forward::{
    Forwarder, Newest, NotApplied, OrderError, OrderSender, apply_everywhere, orders, samples,
};
use crate::frames::Frames;
use crate::line::{LineChange, changed_lines};
use crate::nat::Follower;
use crate::port::{PolicyChange, RouterPort};
use crate::tap::{CaptureReader, tap};
use crate::vital_thread;
use crate::watchdog::{Flags, watch};

/// Real-time priority, above the kernel's threads for interrupts of other devices, if it has such.
pub const PRIORITY: i32 = 5;

/// Names of its threads.
const FORWARD: &str = "forward";
const WATCHDOG: &str = "watchdog";

/// Limit on the time that a change of policy takes.
const CHANGE_TIMEOUT: WallTime = WallTime::from_secs(5);

/// Options of a router, besides its policy.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads: 1, or one for each port.
    pub thread_for_each_port: bool,
    /// Interval of the samples.
    pub every: Duration,
    /// Time before a deadline in which a thread spins instead of sleeping: frames are more punctual, and
    /// processor time is used.
    pub spin: Duration,
    /// Sleep in which frames gather while many arrive, to be handled at once; zero: each frame wakes the
    /// thread (decision 107).
    pub gather: Duration,
    /// Real-time priority of the threads that forward, 1 to 99; `None`: that of other threads.
    pub priority: Option<i32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            thread_for_each_port: false,
            every: Duration::from_secs(1),
            spin: Duration::from_micros(10),
            gather: Duration::from_micros(100),
            priority: Some(PRIORITY),
        }
    }
}

/// A running router. [`stop`](Self::stop) ends it in order; dropping it ends it without draining its queues.
pub struct Router {
    policy: Policy,
    attachment: Arc<Attachment>,
    workers: Vec<Worker>,
    /// Its thread returns the name of an interface that is gone.
    watchdog: Option<JoinHandle<Option<String>>>,
    flags: Flags,
    packet_sockets: Option<String>,
    packet_senders: Option<String>,
    priority: Option<i32>,
    /// Number of the policy that runs, and whether it is on trial.
    noted_policy: Arc<Mutex<NotedPolicy>>,
    /// Follower of the kernel's connections, while a queue needs the hosts behind them.
    nat: Option<Follower>,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Thread of some ports.
struct Worker {
    /// Indices of its ports in the policy.
    ports: Vec<usize>,
    orders: OrderSender,
    newest: Newest,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Losses, InterfaceError>>,
}

impl Router {
    /// Starts a router with `policy` in the namespace of the calling thread. `tell` is called, from any
    /// thread, with messages for the user.
    ///
    /// # Errors
    /// If the policy does not fit this host, or the kernel refuses a step. Everything is undone then.
    pub fn start(
        policy: Policy,
        options: Options,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        await_pairs_gone(&policy)?;
        let tell: Arc<dyn Fn(&str) + Send + Sync> = Arc::new(tell);
        let attachment = Arc::new(Attachment::prepare(&policy)?);
        let all: Vec<usize> = (0..policy.ports.len()).collect();
        let groups: Vec<&[usize]> =
            if options.thread_for_each_port { all.chunks(1).collect() } else { vec![&all] };
        let frames = policy.frames / groups.len() as u32;
        let opening = Opening {
            policy: &policy,
            attachment: &attachment,
            options,
            clock: MonotonicClock::start(),
            seed: Seed(std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0)),
        };
        let mut records = records(&policy).into_iter();
        let opened: Result<Vec<_>, Failure> =
            groups.iter().map(|group| opening.open(group, &mut records)).collect();
        let mut opened = opened?;
        let mut lines = changed_lines(None, &policy)?;
        for (group, (_, ports)) in groups.iter().zip(&mut opened) {
            for (index, port) in group.iter().zip(ports) {
                if let LineChange::Exchange(line) = core::mem::take(&mut lines[*index]) {
                    port.line = line;
                }
            }
        }
        let packet_sockets = opened.iter().find_map(|(it, _)| it.packet_socket_reason().map(reason));
        let packet_senders = opened.iter().find_map(|(it, _)| it.sender_refusal().map(ToString::to_string));
        // Dropped on an error below, which ends the threads started so far.
        let mut router = Self {
            policy,
            attachment: attachment.clone(),
            workers: Vec::new(),
            watchdog: None,
            flags: Flags::default(),
            packet_sockets,
            packet_senders,
            priority: options.priority,
            noted_policy: Arc::default(),
            nat: None,
            tell: tell.clone(),
        };
        for (group, opened) in groups.iter().zip(opened) {
            let worker = router.start_worker(group, opened, frames, options)?;
            router.workers.push(worker);
        }
        router.follow_connections();
        attachment.attach()?;
        attachment.doubts().iter().for_each(|doubt| tell(doubt));
        let flags = router.flags.clone();
        let work = move || watch(&attachment, &flags, tell);
        router.watchdog = Some(vital_thread::start(WATCHDOG, work, router.fail_by(WATCHDOG))?);
        Ok(router)
    }

    /// Starts the thread of the ports of `group`, with room for `frames`.
    fn start_worker(
        &self,
        group: &[usize],
        (interfaces, ports): (Interfaces, Vec<RouterPort>),
        frames: u32,
        options: Options,
    ) -> Result<Worker, Failure> {
        let (policy, attachment) = (&self.policy, self.attachment.clone());
        let (order, receiving) = orders();
        let (sampling, newest) = samples(options.every);
        let stop = Arc::new(AtomicBool::new(false));
        let leases = group.iter().map(|port| attachment.lease(&policy.ports[*port])).collect();
        let tallies = attachment.tallies(&used_endpoints(policy, &attachment, group));
        let super_frames = policy.super_frames.map_or(0, |longest| longest.0 as usize);
        let frames = Frames::new(frames, attachment.longest()).with_super_frames(super_frames);
        let watched = (leases, tallies);
        let mut forwarder =
            Forwarder::new(interfaces, ports, frames, receiving, sampling, watched, stop.clone());
        let failing = self.flags.failed.clone();
        let forward = move || {
            if let Some(level) = options.priority {
                forwarder.prioritise(level);
            }
            let result = forwarder.run();
            // Before the interfaces are given back, so that the watchdog does not take them again.
            failing.store(true, Ordering::Relaxed);
            if result.is_err() {
                attachment.give_back();
            }
            result
        };
        let thread = vital_thread::start(FORWARD, forward, self.fail_by(FORWARD))?;
        Ok(Worker { ports: group.to_vec(), orders: order, newest, stop, thread })
    }

    /// Returns what a panic of the thread called `name` does: the router ends, and the kernel has the line
    /// until then.
    fn fail_by(&self, name: &'static str) -> impl FnOnce() + Send + use<> {
        let (attachment, failed, tell) =
            (self.attachment.clone(), self.flags.failed.clone(), self.tell.clone());
        move || {
            // First, so that the watchdog does not take the interfaces again.
            failed.store(true, Ordering::Relaxed);
            attachment.withhold(&format!("the router's thread `{name}` failed"));
            tell(&format!("ALARM: the router's thread `{name}` failed by a panic: the router ends"));
        }
    }

    /// Follows the kernel's connections while a queue of the policy needs the hosts behind them.
    fn follow_connections(&mut self) {
        if !self.policy.trees().any(|(_, tree)| tree.needs_hosts()) {
            self.nat = None;
        } else if !self.nat.as_ref().is_some_and(Follower::is_following) {
            // Dropped before the next one starts, whose table it would take from the forwarders.
            self.nat = None;
            let forwarders = self.workers.iter().map(|worker| worker.orders.hosts()).collect();
            self.nat = Some(Follower::start(forwarders, self.policy.frames as usize, self.tell.clone()));
        }
    }

    /// Returns the reason why frames come by packet sockets; `None` if by `AF_XDP`.
    pub fn packet_sockets(&self) -> Option<&str> {
        self.packet_sockets.as_deref()
    }

    /// Returns the reason why frames leave by packet sockets where `AF_XDP` is the choice; `None` if they
    /// leave by `AF_XDP`, or packet sockets are the choice.
    pub fn packet_senders(&self) -> Option<&str> {
        self.packet_senders.as_deref()
    }

    /// Returns a sentence about the priority of its threads.
    pub fn priority(&self) -> String {
        match self.priority {
            None => "frames are forwarded with ordinary priority".to_owned(),
            Some(level) if is_permitted(level) => {
                format!("frames are forwarded with real-time priority {level}")
            }
            Some(level) => format!(
                "WARNING: real-time priority {level} is not permitted: beside busy programs, as many as processors or more, \
                 queues get about half of their rates, and frames wait 0.1 s; permit it (LimitRTPRIO={level} of the unit, \
                 `ulimit -r {level}`, or CAP_SYS_NICE)"
            ),
        }
    }

    /// Returns a flag that is set when the router cannot go on: [`stop`](Self::stop) says why.
    pub fn failed(&self) -> Arc<AtomicBool> {
        self.flags.failed.clone()
    }

    /// Returns a reader of its samples.
    pub fn observer(&self) -> Observer {
        Observer {
            newest: self.workers.iter().map(|worker| worker.newest.clone()).collect(),
            attachment: Arc::downgrade(&self.attachment),
            mode: self.policy.mode.name(),
            interfaces: self.policy.interfaces.iter().map(|it| (it.role.clone(), it.name.clone())).collect(),
            noted_policy: self.noted_policy.clone(),
        }
    }

    /// True if frames are redirected to it.
    pub fn is_attached(&self) -> bool {
        self.attachment.is_held()
    }

    /// Ends the router: the queues are drained in order, then the interfaces are given back. Returns the
    /// frames lost on the way, over its whole life.
    ///
    /// # Errors
    /// If an interface or a thread failed, now or before.
    pub fn stop(mut self) -> Result<Losses, Failure> {
        self.flags.ended.store(true, Ordering::Relaxed);
        let mut failed = match self.watchdog.take().map(JoinHandle::join) {
            Some(Ok(Some(name))) => Some(gone_interface(&name).into()),
            Some(Err(_)) => Some(Failure::Panicked(WATCHDOG)),
            Some(Ok(None)) | None => None,
        };
        for worker in &self.workers {
            worker.stop.store(true, Ordering::Relaxed);
        }
        let mut total = Losses::default();
        for worker in core::mem::take(&mut self.workers) {
            match worker.thread.join() {
                Ok(Ok(losses)) => total = total.with(losses),
                Ok(Err(error)) => failed = failed.or(Some(error.into())),
                Err(_) => failed = failed.or(Some(Failure::Panicked(FORWARD))),
            }
        }
        total.in_pairs = self.attachment.lost().in_pairs;
        failed.map_or(Ok(total), Err)
    }

    /// Returns the changes from the running policy to `new`, by worker.
    fn changes(&self, new: &Policy) -> Result<Vec<Vec<PolicyChange>>, Misfit> {
        let old = &self.policy;
        fits(old, new)?;
        let mut lines = changed_lines(Some(old), new).map_err(|why| Misfit {
            problem: format!("the line of a controller cannot be observed: {why}"),
            help: "mend the policy, and apply it again".to_owned(),
        })?;
        let mut all = Vec::new();
        for worker in &self.workers {
            let mut changes = Vec::new();
            for (index, port) in worker.ports.iter().enumerate() {
                let (old, new) = (&old.ports[*port], &new.ports[*port]);
                let header = self.attachment.link_header(old);
                let change = PolicyChange::new(index, old, new, header).map_err(|why| Misfit {
                    problem: format!("port `{}` cannot be built: {why}", new.name),
                    help: "mend the policy, and apply it again".to_owned(),
                })?;
                changes.push(change.with_line(core::mem::take(&mut lines[*port])));
            }
            all.push(changes);
        }
        Ok(all)
    }

    /// Adopts the ports of `new` that could not be changed back, so that the next change starts from the
    /// parameters that run. Returns the error for the user.
    fn adopt_failure(&mut self, new: &Policy, NotApplied { why, keeps_change }: NotApplied) -> Misfit {
        let Misfit { mut problem, help } = match why {
            OrderError::Refused(why) => Misfit {
                problem: format!("a queue refused its parameters: {why}"),
                help: "mend the policy, and apply it again".to_owned(),
            },
            OrderError::NotBegun => Misfit {
                problem: "the router did not make the change in time".to_owned(),
                help: "see `lockgate status`".to_owned(),
            },
        };
        if keeps_change.is_empty() {
            return Misfit { problem, help };
        }
        for worker in keeps_change {
            for &port in &self.workers[worker].ports {
                self.policy.ports[port] = new.ports[port].clone();
                let _ = write!(problem, "; port `{}` could not be changed back", new.ports[port].name);
            }
        }
        Misfit { problem, help: "restart the router".to_owned() }
    }
}

/// Returns the endpoints of the ports of `group`, sorted.
fn used_endpoints(policy: &Policy, attachment: &Attachment, group: &[usize]) -> Vec<usize> {
    let mut used: Vec<usize> =
        group.iter().flat_map(|port| attachment.between(&policy.ports[*port])).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Inputs of opening the sockets and building the ports of each thread.
struct Opening<'a> {
    policy: &'a Policy,
    attachment: &'a Attachment,
    options: Options,
    clock: MonotonicClock,
    seed: Seed,
}

impl Opening<'_> {
    /// Opens the endpoints of the ports of `group`, and builds these ports.
    fn open(
        &self,
        group: &[usize],
        records: &mut impl Iterator<Item = PortRecord>,
    ) -> Result<(Interfaces, Vec<RouterPort>), Failure> {
        let Self { policy, attachment, options, clock, seed } = *self;
        let between = |port: &usize| attachment.between(&policy.ports[*port]);
        let used = used_endpoints(policy, attachment, group);
        let endpoints = attachment.endpoints();
        let opened: Vec<_> = used.iter().map(|endpoint| endpoints[*endpoint]).collect();
        let longest = attachment.longest();
        let sockets = if attachment.is_in_driver() { Some(FrameIo::AfXdp) } else { policy.io };
        let sockets = sockets_for(sockets, longest);
        let options = InterfaceOptions {
            longest,
            sockets,
            spin: options.spin,
            gather: options.gather,
            joins: !attachment.is_in_driver() && policy.io != Some(FrameIo::AfXdp),
            ..InterfaceOptions::default()
        };
        let interfaces = Interfaces::open_endpoints(&opened, options, clock)?;
        let ports = group.iter().zip(records).map(|(index, record)| {
            let port = &policy.ports[*index];
            let between = between(index).map(|it| used.partition_point(|used| *used < it));
            RouterPort::build(port, between, attachment.link_header(port), seed, record).map_err(|why| {
                Failure::misfit(format!("port `{}` cannot be built: {why}", port.name), "mend the policy")
            })
        });
        let ports: Result<Vec<_>, Failure> = ports.collect();
        Ok((interfaces, ports?))
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.flags.ended.store(true, Ordering::Relaxed);
        self.attachment.give_back();
        for worker in &self.workers {
            worker.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Engine for Router {
    fn apply(&mut self, policy: &Policy) -> Result<Applied, Misfit> {
        let changes = self.changes(policy)?;
        let forwarders: Vec<_> = self.workers.iter().map(|worker| &worker.orders).collect();
        match apply_everywhere(&forwarders, changes, CHANGE_TIMEOUT) {
            Ok(applied) => {
                self.policy = policy.clone();
                self.follow_connections();
                Ok(applied)
            }
            Err(failure) => Err(self.adopt_failure(policy, failure)),
        }
    }

    fn sample(&mut self) -> Option<Sample> {
        self.observer().sample()
    }

    fn note_policy(&mut self, noted: NotedPolicy) {
        *self.noted_policy.lock().unwrap_or_else(PoisonError::into_inner) = noted;
    }

    fn capture(&mut self, port: &str, filter: Filter) -> Result<CaptureReader, Misfit> {
        let ports = &self.policy.ports;
        let Some(at) = ports.iter().position(|known| known.name == port) else {
            let known: Vec<&str> = ports.iter().map(|port| &*port.name).collect();
            let help = format!("there are {}", known.join(", "));
            return Err(Misfit { problem: format!("there is no port `{port}`"), help });
        };
        let queues = ports[at].tree.queues();
        if let Some(name) = filter.queues().find(|name| !queues.iter().any(|queue| is_of(name, &queue.name)))
        {
            let near = nearest(name, queues.iter().map(|queue| &*queue.name));
            let help = near.map_or_else(
                || "`lockgate status --all` lists the queues".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Misfit { problem: format!("port `{port}` has no queue `{name}`"), help });
        }
        let (tap, reader) = tap(filter);
        let place = |worker: &Worker| worker.ports.iter().position(|port| *port == at);
        if let Some((worker, index)) = self.workers.iter().find_map(|it| Some((it, place(it)?))) {
            worker.orders.tap(index, tap);
        }
        Ok(reader)
    }

    fn bypass(&self) -> Bypass {
        self.attachment.bypass()
    }

    fn losses(&self) -> Losses {
        self.attachment.lost()
    }

    fn priority(&self) -> String {
        self.priority()
    }

    fn hosts(&self) -> String {
        self.nat.as_ref().map(Follower::state).unwrap_or_default()
    }
}

/// Reader of a router's samples, on any thread.
#[derive(Clone)]
pub struct Observer {
    newest: Vec<Newest>,
    /// Gone once the router has ended: an observer does not keep its programs attached.
    attachment: Weak<Attachment>,
    mode: &'static str,
    interfaces: Vec<(String, String)>,
    noted_policy: Arc<Mutex<NotedPolicy>>,
}

impl Observer {
    /// Returns the newest sample of all ports, in the policy's order; `None` before the first. Its number is
    /// the least of all threads: it advances only while each of them works.
    pub fn sample(&self) -> Option<Sample> {
        let mut merged: Option<Sample> = None;
        for newest in &self.newest {
            let newest = newest.get()?;
            match &mut merged {
                None => merged = Some(newest),
                Some(sample) => {
                    sample.number = sample.number.min(newest.number);
                    for port in newest.ports {
                        let index = sample.ports.len();
                        sample.ports.push(PortSample { index, ..port });
                    }
                    if let (Some(all), Some(router)) = (&mut sample.router, newest.router) {
                        // Each thread names the same causes.
                        let pairs = all.lost_by.iter_mut().zip(router.lost_by);
                        pairs.for_each(|((_, frames), (_, others))| *frames += others);
                        all.autorate.extend(router.autorate);
                    }
                    sample.events.extend(newest.events);
                    sample.dropped_samples += newest.dropped_samples;
                    if let Some(fidelity) = newest.fidelity {
                        let all = sample.fidelity.get_or_insert_default();
                        all.host_losses += fidelity.host_losses;
                        // The latest thread counts.
                        all.late_p99_s =
                            [all.late_p99_s, fidelity.late_p99_s].into_iter().flatten().reduce(f64::max);
                    }
                }
            }
        }
        let router = merged.as_mut()?.router.get_or_insert_default();
        self.mode.clone_into(&mut router.mode);
        router.interfaces.clone_from(&self.interfaces);
        let noted = self.noted_policy.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (router.policy, router.is_on_trial, router.alerts) = (noted.number, noted.is_on_trial, noted.alerts);
        let left = |at: std::time::Instant| at.saturating_duration_since(std::time::Instant::now());
        router.revert_s = noted.reverts_at.map(|at| left(at).as_secs_f64());
        if let (Some(sample), Some(attachment)) = (&mut merged, self.attachment.upgrade()) {
            let Bypass { frames, why, faults } = attachment.bypass();
            let lost = attachment.lost();
            if let Some(router) = &mut sample.router {
                (router.bypassed_frames, router.bypass) = (frames, why);
                router.lost_by = lost.names().map(|(name, frames)| (name.into(), frames)).to_vec();
            }
            if lost.in_pairs > 0 || !faults.is_empty() {
                let fidelity = sample.fidelity.get_or_insert_default();
                fidelity.host_losses += lost.in_pairs;
                fidelity.unfaithful.extend(faults);
            }
        }
        merged
    }
}

/// Returns the error of an interface that is gone.
fn gone_interface(name: &str) -> InterfaceError {
    InterfaceError { what: format!("interface `{name}`"), why: std::io::Error::other("it is gone") }
}

/// Returns the records of the ports: counters and sojourn times of each queue, and no series, so that they
/// do not grow with time.
fn records(policy: &Policy) -> Vec<PortRecord> {
    let setup = |port: &PolicyPort| PortSetup {
        name: port.name.clone(),
        rate: port.rate.unwrap_or(Rate::from_bits(0)),
        ..PortSetup::default()
    };
    let setup = Setup {
        title: policy.title.clone(),
        mode: RecordingMode::Live,
        duration: Duration::MAX,
        interval: Duration::from_secs(1),
        ports: policy.ports.iter().map(setup).collect(),
        ..Setup::default()
    };
    let mut recording = Recording::new(setup);
    recording.ports.iter_mut().for_each(PortRecord::watch);
    recording.ports
}

/// Returns the kind of socket to open, which depends on the longest frame. Frames that are too long for the
/// policy's own choice are refused before.
fn sockets_for(io: Option<FrameIo>, longest: usize) -> SocketChoice {
    match io {
        Some(FrameIo::AfXdp) => SocketChoice::AfXdp,
        None if longest <= MOST_AF_XDP as usize => SocketChoice::AfXdpOrPacket,
        None | Some(FrameIo::Packet) => SocketChoice::Packet,
    }
}

fn reason(reason: &PacketSocketReason) -> String {
    match reason {
        PacketSocketReason::Chosen => "chosen, or frames are longer than AF_XDP carries".to_owned(),
        PacketSocketReason::Cheaper => "behind the driver they cost a bridge less than AF_XDP".to_owned(),
        PacketSocketReason::Refused(refusal) => refusal.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::{FidelitySample, RouterSample};

    use super::*;

    #[test]
    fn a_sample_has_the_ports_and_losses_of_all_threads() {
        let newest = |name: &str, number, dropped_samples, host_losses: Option<u64>| {
            Newest::of(Sample {
                number,
                interval_s: 1.0,
                dropped_samples,
                ports: vec![PortSample { name: name.to_owned(), ..PortSample::default() }],
                router: Some(RouterSample { lost_by: vec![("ring".into(), 2)], ..RouterSample::default() }),
                fidelity: host_losses.map(|host_losses| FidelitySample {
                    host_losses,
                    late_p99_s: Some(host_losses as f64),
                    ..FidelitySample::default()
                }),
                ..Sample::default()
            })
        };
        // The second thread stalls.
        let threads = [("a", 9, 1, None), ("b", 7, 2, Some(3)), ("c", 8, 0, Some(4))];
        let observer = Observer {
            newest: threads.map(|(name, number, dropped, lost)| newest(name, number, dropped, lost)).to_vec(),
            attachment: Weak::new(),
            mode: "egress",
            interfaces: vec![("wan".to_owned(), "eth0".to_owned())],
            noted_policy: Arc::new(Mutex::new(NotedPolicy {
                number: 4,
                is_on_trial: true,
                alerts: vec!["slow".to_owned()],
                ..NotedPolicy::default()
            })),
        };
        let sample = observer.sample().expect("all threads have a sample");
        let ports = sample.ports.iter().map(|port| (port.index, port.name.as_str()));
        assert_eq!(ports.collect::<Vec<_>>(), [(0, "a"), (1, "b"), (2, "c")]);
        assert_eq!((sample.number, sample.dropped_samples), (7, 3));
        let fidelity = sample.fidelity.expect("losses");
        assert_eq!((fidelity.host_losses, fidelity.late_p99_s), (7, Some(4.0)));
        let router = sample.router.expect("a router");
        assert_eq!((router.policy, router.is_on_trial, router.mode.as_str()), (4, true, "egress"));
        assert_eq!((router.alerts.as_slice(), router.revert_s), (&["slow".to_owned()][..], None));
        assert_eq!(router.interfaces[0].1, "eth0");
        assert_eq!(router.lost_by.iter().map(|(_, frames)| frames).sum::<u64>(), 6);
    }
}
