//! Runs whose network is cut in two halves, which are advanced side by side.
//!
//! ```text
//!            window of at most the lookahead        nothing that leaves a half in it arrives in it
//! hosts      |--------- advance ---------|\ /|-- hand over, accept, sample --|--- advance ---
//! transit    |--------- advance ---------|/ \|                               |--- advance ---
//! ```
//!
//! Conservative parallel simulation (Chandy and Misra, 1979) with windows: what a half does in a window
//! depends only on what the other did in earlier ones. So the recording is that of the whole network, byte
//! for byte, wherever and in which order the halves are advanced. Decision 125.
//!
//! Threads are the caller's: a [`Worker`] is given one half while this thread advances the other.

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Recording;
use lockgate_network::{Failure, Handover};
use lockgate_scenario::Scenario;

use crate::build::{build, build_transit};
use crate::cut::Cut;
use crate::event_loop::{Advance, EVENTS_BETWEEN_STOPS, EventLoop};
use crate::simulation::{Control, Outcome};

/// Number of events of the last window from which on a half is given to the worker: to wait for it costs as
/// long as some fifty events.
const LEAST_EVENTS: u64 = 512;

/// Number of pauses of its event loop after which a half returns before the end of its window: a run can be
/// stopped in a flood of events.
const MOST_PAUSES: u32 = 64;

/// Advances one half of a network while its caller advances the other.
pub trait Worker {
    /// Starts to advance a half. It may be done when this returns.
    fn start(&mut self, half: Half);

    /// Waits until the half is advanced, and returns it.
    fn wait(&mut self) -> Half;
}

/// Advances both halves on the same thread.
#[derive(Default)]
pub struct InTurn(Option<Half>);

impl Worker for InTurn {
    fn start(&mut self, mut half: Half) {
        half.advance();
        self.0 = Some(half);
    }

    fn wait(&mut self) -> Half {
        self.0.take().expect("a half was started")
    }
}

/// Half of a network, with the time to which it is to be advanced.
pub struct Half {
    events: Box<EventLoop>,
    /// End of its window: events before this time are handled.
    until: Instant,
    /// Packets that the other half handed over at the end of the last window.
    incoming: Handover,
}

impl Half {
    /// Builds both halves of the network of a scenario that can be cut: its hosts, and the transit part.
    fn both(scenario: &Scenario, seed: Seed) -> Result<[Self; 2], Failure> {
        let mut hosts = build(scenario, seed)?;
        let transit = build_transit(scenario, &mut hosts)?;
        Ok([hosts, transit].map(|network| Self {
            events: Box::new(EventLoop::new(network)),
            until: Instant::ZERO,
            incoming: Handover::default(),
        }))
    }

    /// Advances the half as far as it may be advanced alone, or for `MOST_PAUSES`.
    pub fn advance(&mut self) {
        self.accept();
        for _ in 0..MOST_PAUSES {
            if self.events.advance(self.until) == Advance::Reached {
                return;
            }
        }
    }

    /// Returns whether events of its window are left.
    fn is_behind(&self) -> bool {
        self.first() < self.until
    }

    /// Returns the time of the first event.
    fn first(&self) -> Instant {
        self.events.network.first().0.min(self.incoming.first())
    }

    fn next_sample(&self, now: Instant) -> Instant {
        self.events.network.core.recording.next_sample(now).unwrap_or(Instant::NEVER)
    }

    fn sample(&mut self, now: Instant) {
        self.accept();
        self.events.network.sample(now);
    }

    fn hand_over(&mut self) -> Handover {
        self.events.network.core.hand_over()
    }

    fn accept(&mut self) {
        let incoming = core::mem::take(&mut self.incoming);
        self.events.network.core.accept(incoming);
    }

    /// Ends the run at `now`. Returns its recording and the number of its events.
    fn rejoin(mut self, mut transit: Self, now: Instant) -> Result<(Recording, u64), Failure> {
        self.accept();
        transit.accept();
        let events = self.events.events() + transit.events.events();
        let mut network = self.events.network;
        network.core.rejoin(transit.events.network.core);
        let at_once = network.core.at_once;
        Ok((network.close(now)?, events + at_once))
    }
}

/// Returns whether the run of a scenario can be [split](run_side_by_side): its network is large, nothing
/// changes on the way, no row is kept of each packet, and a part of it only forwards and has links with
/// delays all around.
pub fn can_split(scenario: &Scenario) -> bool {
    Cut::to_split(scenario).is_some()
}

/// Advances both halves to the end of their window, the transit by `worker` unless the last window had few
/// events. Returns the transit, and true if `watch` stops the run before that.
fn advance_both(
    hosts: &mut Half,
    mut transit: Half,
    worker: &mut dyn Worker,
    recent: u64,
    watch: &mut dyn FnMut(Instant) -> Control,
) -> (Half, bool) {
    loop {
        if recent < LEAST_EVENTS {
            hosts.advance();
            transit.advance();
        } else {
            worker.start(transit);
            hosts.advance();
            transit = worker.wait();
        }
        let is_done = !hosts.is_behind() && !transit.is_behind();
        if is_done || watch(hosts.until) == Control::Stop {
            return (transit, !is_done);
        }
    }
}

/// Simulates `scenario` as [`run`](crate::run()) does, with the same outcome, in two halves of which `worker`
/// advances one. One whose run cannot be split is simulated as a whole.
///
/// `watch` is called at every sampling and every [`EVENTS_BETWEEN_STOPS`] events or window.
///
/// # Errors
/// See [`Failure`].
pub fn run_side_by_side(
    scenario: &Scenario,
    seed: Seed,
    worker: &mut dyn Worker,
    watch: &mut dyn FnMut(Instant) -> Control,
) -> Result<Outcome, Failure> {
    let Some(cut) = Cut::to_split(scenario) else { return crate::run(scenario, seed, watch) };
    let scenario = scenario.with_starts(seed);
    let [mut hosts, mut transit] = Half::both(&scenario, seed)?;
    let end = scenario.end();
    let after = |time: Instant| time + Duration::from_picos(1);
    let mut now;
    let mut sampling = hosts.next_sample(Instant::ZERO);
    // Samplings; events of the last window; events at the last call of `watch`.
    let (mut samplings, mut recent, mut watched) = (0, 0, 0);
    let stopped_early = loop {
        let first = hosts.first().min(transit.first());
        if first >= after(sampling).min(end) {
            if sampling >= end {
                now = end;
                break false;
            }
            now = sampling;
            hosts.sample(now);
            transit.sample(now);
            samplings += 1;
            sampling = hosts.next_sample(now);
            if watch(now) == Control::Stop {
                break true;
            }
            continue;
        }
        let until = (first + cut.lookahead).min(after(sampling)).min(end);
        (hosts.until, transit.until) = (until, until);
        let before = hosts.events.events() + transit.events.events();
        let stops_in_flood;
        (transit, stops_in_flood) = advance_both(&mut hosts, transit, worker, recent, watch);
        (transit.incoming, hosts.incoming) = (hosts.hand_over(), transit.hand_over());
        now = until;
        let events = hosts.events.events() + transit.events.events();
        recent = events - before;
        if stops_in_flood {
            break true;
        }
        if events - watched >= EVENTS_BETWEEN_STOPS {
            watched = events;
            if watch(now) == Control::Stop {
                break true;
            }
        }
    };
    let (mut recording, events) = hosts.rejoin(transit, now)?;
    recording.engine.events = events + samplings;
    Ok(Outcome { recording, stopped_early })
}
