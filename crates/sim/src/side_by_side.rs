//! Runs whose network is cut in two halves, which are advanced side by side.
//!
//! ```text
//!            window of at most the lookahead        nothing that leaves a half in it arrives in it
//! hosts      |--------- advance ---------|\ /|-- hand over, accept, sample --|--- advance ---
//! transit    |--------- advance ---------|/ \|                               |--- advance ---
//! ```
//!
//! Conservative parallel simulation (Chandy and Misra, 1979) with windows: what a half does in a window depends only
//! on what the other did in earlier ones. So the recording is that of the whole network, byte for byte, wherever
//! and in which order the halves are advanced. Decision 125.
//!
//! Threads are the caller's: a [`Worker`] is given one half while this thread advances the other.

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Recording;
use lockgate_network::{Failure, Handover};
use lockgate_scenario::Scenario;

use crate::build::{build, build_transit};
use crate::cut::Cut;
use crate::events::{Entry, Narrow, Wide};
use crate::network::{Network, Slots};
use crate::simulation::{Control, EVENTS_BETWEEN_STOPS, MOST_ROUNDS_TO_STOP, Outcome, SPANS_AHEAD};

/// Number of events of the last window from which on a half is given to the worker: to wait for it costs as long as
/// some fifty events.
const LEAST_EVENTS: u64 = 512;

/// Number of events after which a half returns before the end of its window, a multiple of [`EVENTS_BETWEEN_STOPS`]: a
/// run can be stopped in a flood of events.
const MOST_EVENTS: u64 = 64 * EVENTS_BETWEEN_STOPS;

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
    player: PartPlayer,
    window: Window,
    /// Packets that the other half handed over at the end of the last window.
    incoming: Handover,
}

/// A half by the size of its events.
enum PartPlayer {
    Narrow(Box<PartPlay<Narrow>>),
    Wide(Box<PartPlay<Wide>>),
}

/// Calls `$call` with the half of any size.
macro_rules! with_play {
    ($half:expr, $play:ident => $call:expr) => {
        match $half.player {
            PartPlayer::Narrow(ref mut $play) => $call,
            PartPlayer::Wide(ref mut $play) => $call,
        }
    };
}

/// Time that a half may be advanced alone.
#[derive(Clone, Copy)]
struct Window {
    /// Events before this time are handled.
    until: Instant,
    /// Arrivals before this time may be recorded ahead, unless the run is to stop.
    ahead_until: Instant,
    is_stopping: bool,
}

/// A half and its progress.
struct PartPlay<E: Entry> {
    network: Network<E>,
    events: u64,
    /// Number of events at which the hints on the next events are adapted.
    adapts: u64,
    adapted: Instant,
    /// Time before which arrivals may be recorded ahead of their time.
    horizon: Instant,
}

impl<E: Entry> PartPlay<E> {
    fn new(network: Network<E>) -> Box<Self> {
        let (adapted, horizon) = (Instant::ZERO, Instant::ZERO);
        Box::new(Self { network, events: 0, adapts: EVENTS_BETWEEN_STOPS, adapted, horizon })
    }

    fn both(scenario: &Scenario, seed: Seed) -> Result<[Box<Self>; 2], Failure> {
        let mut hosts = build::<E>(scenario, seed)?;
        let transit = build_transit(scenario, &mut hosts)?;
        Ok([Self::new(hosts), Self::new(transit)])
    }

    /// Handles the events of a window, or [`MOST_EVENTS`] of them.
    fn advance(&mut self, window: Window) {
        let most = self.events + MOST_EVENTS;
        self.network.core.runtime.quiet_until = window.until;
        self.look_further(window);
        loop {
            let (now, slot) = self.network.core.runtime.events.first();
            if now >= window.until {
                return;
            }
            if self.events >= self.adapts {
                self.adapts = self.events + EVENTS_BETWEEN_STOPS;
                self.network.core.runtime.events.upcoming_mut().adapt(now, EVENTS_BETWEEN_STOPS);
                self.horizon = now + now.since(self.adapted) * SPANS_AHEAD;
                self.adapted = now;
                self.look_further(window);
                if self.events >= most {
                    return;
                }
            }
            self.events += 1;
            self.network.turn(slot, now);
        }
    }

    fn look_further(&mut self, window: Window) {
        let ahead_until = window.ahead_until.min(self.horizon);
        self.network.core.runtime.ahead_until = if window.is_stopping { Instant::ZERO } else { ahead_until };
    }

    fn rejoin(mut self, transit: Self, now: Instant) -> Result<(Recording, u64), Failure> {
        let events = self.events + transit.events;
        self.network.core.rejoin(transit.network.core);
        let at_once = self.network.core.at_once;
        Ok((self.network.close(now)?, events + at_once))
    }
}

impl Half {
    /// Builds both halves of the network of a scenario that can be cut: its hosts, and the transit part.
    fn both(scenario: &Scenario, seed: Seed) -> Result<[Self; 2], Failure> {
        let window = Window { until: Instant::ZERO, ahead_until: Instant::ZERO, is_stopping: false };
        let half = |player| Self { player, window, incoming: Handover::default() };
        Ok(if Narrow::suits(scenario.end(), Slots::of(scenario).count()) {
            PartPlay::both(scenario, seed)?.map(|play| half(PartPlayer::Narrow(play)))
        } else {
            PartPlay::both(scenario, seed)?.map(|play| half(PartPlayer::Wide(play)))
        })
    }

    /// Advances the half as far as it may be advanced alone.
    pub fn advance(&mut self) {
        self.accept();
        with_play!(self, play => play.advance(self.window));
    }

    /// Returns whether events of its window are left.
    fn is_behind(&mut self) -> bool {
        self.first() < self.window.until
    }

    /// Returns the time of the first event.
    fn first(&mut self) -> Instant {
        let first = with_play!(self, play => play.network.core.runtime.events.first().0);
        first.min(self.incoming.first())
    }

    fn events(&mut self) -> u64 {
        with_play!(self, play => play.events)
    }

    /// Returns the latest arrival that was recorded ahead of its time.
    fn delivered_until(&mut self) -> Instant {
        with_play!(self, play => play.network.core.runtime.delivered_until)
    }

    fn next_sample(&mut self, now: Instant) -> Instant {
        with_play!(self, play => play.network.core.recording.next_sample(now)).unwrap_or(Instant::NEVER)
    }

    fn sample(&mut self, now: Instant) {
        self.accept();
        with_play!(self, play => play.network.sample(now));
    }

    fn hand_over(&mut self) -> Handover {
        with_play!(self, play => play.network.core.hand_over())
    }

    fn accept(&mut self) {
        let incoming = core::mem::take(&mut self.incoming);
        with_play!(self, play => play.network.core.accept(incoming));
    }

    /// Ends the run at `now`. Returns its recording and the number of its events.
    fn rejoin(mut self, mut transit: Self, now: Instant) -> Result<(Recording, u64), Failure> {
        self.accept();
        transit.accept();
        match (self.player, transit.player) {
            (PartPlayer::Narrow(hosts), PartPlayer::Narrow(transit)) => hosts.rejoin(*transit, now),
            (PartPlayer::Wide(hosts), PartPlayer::Wide(transit)) => hosts.rejoin(*transit, now),
            _ => unreachable!("both halves are of one size"),
        }
    }
}

/// Returns whether the run of a scenario can be [split](run_side_by_side): its network is large, nothing changes on the
/// way, no row is kept of each packet, and a part of it only forwards and has links with delays all around.
pub fn can_split(scenario: &Scenario) -> bool {
    Cut::to_split(scenario).is_some()
}

/// Simulates `scenario` as [`run`](crate::run()) does, with the same outcome, in two halves of which `worker` advances
/// one. One whose run cannot be split is simulated as a whole.
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
    // Rounds since the run was asked to stop.
    let mut stopping = 0;
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
        let window = Window { until, ahead_until: after(sampling).min(end), is_stopping: stopping > 0 };
        (hosts.window, transit.window) = (window, window);
        let before = hosts.events() + transit.events();
        let stops_in_flood = loop {
            if recent < LEAST_EVENTS {
                hosts.advance();
                transit.advance();
            } else {
                worker.start(transit);
                hosts.advance();
                transit = worker.wait();
            }
            if !hosts.is_behind() && !transit.is_behind() {
                break false;
            }
            if watch(until) == Control::Stop {
                break true;
            }
        };
        (transit.incoming, hosts.incoming) = (hosts.hand_over(), transit.hand_over());
        now = until;
        let events = hosts.events() + transit.events();
        recent = events - before;
        if !stops_in_flood && events - watched >= EVENTS_BETWEEN_STOPS {
            watched = events;
            if stopping > 0 || watch(now) == Control::Stop {
                stopping += 1;
            }
        }
        if stops_in_flood || stopping > 0 && (hosts.delivered_until() < now || stopping > MOST_ROUNDS_TO_STOP)
        {
            break true;
        }
    };
    let (mut recording, events) = hosts.rejoin(transit, now)?;
    recording.engine.events = events + samplings;
    Ok(Outcome { recording, stopped_early })
}
