//! Class based queueing: a hierarchy of classes that share a link, each regulated by its idle time.
//!
//! ```text
//! link (10 mbit)                 a class that is under its limit sends
//!  |- a  (6 mbit)                one that is over it borrows from the nearest ancestor that is under its own
//!  |   |- b  3 mbit              one that finds none (or is `bounded`) waits
//!  |   '- c  3 mbit
//!  '- d  4 mbit  (bounded)       first by priority, within a priority by weighted round robin
//! ```
//!
//! A class is over its limit if an average of the idle time between its packets is negative
//! (`cbq/estimator.rs`). Packets are charged to the class and its ancestors, up to one that is `isolated`.
//! *Top-level* sharing bounds how high a class may borrow: while a class below is under its limit and has
//! packets, no class borrows from higher up.
//!
//! Three programs of this name differ in what they promise:
//!
//! - `linux-2.2` moves its own clock at each dequeue after a packet by `max(time passed, length /
//!   bandwidth)`. Time gained in a burst into a device ring is never paid back, so its clock runs fast and
//!   **every class gets more than its rate**: the more the fuller the link. It takes a ring of two packets
//!   or more.
//! - `linux` takes a packet's end from the time it was sent, and keeps its rates. Yet *classic*, the action
//!   at the limit, forgives what a class owes beyond one packet: a limited class may get some percent more
//!   than its rate if timers are coarse. Its arithmetic is the kernel's, in ticks of 64 ns and from `tc`'s
//!   tables, which round the time of a packet down to a microsecond: from about 1 Gbit/s on that is a large
//!   part of it, and classes get more than their rates. A round ends early if its first class is found
//!   empty, so that a link may idle until the next packet comes.
//! - `altq` computes with the time at which the link will have ended (at most 16 packets ahead), puts a
//!   class to sleep at its limit, and forgets its debt beyond `minidle`.
//!
//! Clock resolution: apart from the ticks of `linux`, times here are exact; the resolution of a kernel's
//! timer comes from the port's clock model, which shows the time in ticks and rounds waits up to them.
//!
//! Differs: `exempt` (a class that is never over its limit) is from the paper that introduced CBQ to Linux
//! routers; no program has it. All flavours have `isolated`, and `penalty` is exact time. A class that
//! becomes backlogged joins the end of its round in `altq`, too. `weight` is what ALTQ calls allotment. The
//! leaf's queue is a discipline of its own: ALTQ's default is a `fifo` with `overflow = "head"`.

mod altq;
mod bands;
mod config;
mod estimator;
mod explain;
mod linux;

pub use config::{Config, Flavour, Overlimit, RoundRobin, Share};

use crate::class::Classes;
use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid};
use crate::explanation::{Explanation, Foresight};
use crate::node::Node;
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::units::{Bytes, Instant};

use bands::Bands;
use config::Settings;
use estimator::{Arithmetic, Estimator, Ticks};

/// Borrowing is not bounded.
const NO_CUTOFF: usize = usize::MAX;

/// Class based queueing.
pub struct Cbq {
    config: Config,
    classes: Classes,
    /// One per class, then the link.
    states: Vec<State>,
    bands: Bands,
    clock: Clock,
    /// Packet sent but not yet charged: Linux charges it at the next dequeue.
    pending: Option<Charge>,
    /// Level up to which classes may borrow: Linux's top level, ALTQ's cutoff.
    cutoff: usize,
    /// Time at which the link will have sent everything, as ALTQ computes it.
    link_end: Ticks,
    /// Classes that are penalised: with another priority, or set aside.
    penalised: Vec<usize>,
    /// Classes that received a quantum in the current round.
    credited: Vec<usize>,
}

/// State of a class or of the link.
#[derive(Clone)]
struct State {
    settings: Settings,
    estimator: Estimator,
    /// Bytes it may still send in this round; negative if it sent too much.
    deficit: i128,
    /// Linux: whether the action at the limit was taken. ALTQ: whether it sleeps.
    is_delayed: bool,
    /// End of its penalty, in real time.
    penalised_until: Option<Ticks>,
    /// Time until which its queue returns no packet.
    throttled_until: Instant,
    /// Index of the parent; for the link, of the link.
    parent: usize,
    level: usize,
}

/// Time as the classes see it, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// Clock of the estimators: ahead of real time in `linux-2.2`.
    now: Ticks,
    /// Real time of the last update.
    real: Ticks,
}

/// A packet that has been sent.
#[derive(Clone, Copy)]
struct Charge {
    class: usize,
    /// The class that was under its limit: its own or an ancestor.
    lender: usize,
    length: Bytes,
}

/// Earliest time at which one of the classes that may not send now may send.
struct Wake {
    /// Real time.
    now: Ticks,
    arithmetic: Arithmetic,
    earliest: Earliest,
}

impl Wake {
    fn new(now: Instant, arithmetic: Arithmetic) -> Self {
        Self { now: arithmetic.at(now), arithmetic, earliest: Earliest::default() }
    }

    fn at(&mut self, time: Instant) {
        self.earliest.add(time);
    }

    /// Requests a wake-up after `delay`, at least one tick.
    fn after(&mut self, delay: Ticks) {
        self.at(self.arithmetic.instant(self.now + delay.max(1)));
    }

    fn answer(self) -> Dequeue {
        self.earliest.result()
    }
}

/// Result of a class's turn.
enum Turn {
    Sent(Packet),
    /// It received its quantum first.
    Credited,
    Refused,
    /// It left this round.
    Gone,
}

impl Discipline for Cbq {
    const ABOUT: About = About {
        name: "cbq",
        summary: "class based queueing: link sharing in a hierarchy, regulated by the idle time of each class",
        source: "Floyd and Jacobson, IEEE/ACM ToN 3(4), 1995; tc-cbq(8); Linux 2.4 and 5.10; altq_rmclass.c of ALTQ",
        guarantees: &[
            Guarantee::new(
                "a class gets its rate where it asks for it and its band is not starved (flavours `linux`, `altq`)",
                &["cbq-sharing"],
            ),
            Guarantee::new(
                "a bounded class gets no more than its rate in the long run, but for what its action at the limit forgives",
                &["cbq-sharing"],
            ),
            Guarantee::new(
                "backlogged classes of one priority under their limits share in proportion to their weights",
                &["cbq-rounds"],
            ),
            Guarantee::new(
                "flavour `linux-2.2` gives every class more than its rate where a device ring takes two packets or more",
                &["cbq-clock"],
            ),
        ],
        children: Arity::Classes,
        work_conserving: false,
        drops_early: true,
        example: "flavour = \"linux\"\nbandwidth = \"1gbit\"\navpkt = \"1000B\"\n",
        share_example: "rate = \"100mbit\"\nbounded = false\n",
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn pace_of_child(share: &Share) -> Pace {
        Pace { rate: share.bounded.then_some(share.rate), ..Pace::default() }
    }

    fn new(config: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        let (classes, shares) = Classes::new(children)?;
        let settings = config.settings(&shares)?;
        let link = classes.len();
        let top = classes.tops().iter().map(|class| classes.height(*class)).max().unwrap_or_default();
        let state = |(class, settings): (usize, Settings)| State {
            estimator: Estimator::new(&settings.tuning),
            settings,
            deficit: 0,
            is_delayed: false,
            penalised_until: None,
            throttled_until: Instant::ZERO,
            parent: if class == link { link } else { classes.parent(class).unwrap_or(link) },
            level: if class == link { top + 1 } else { classes.height(class) },
        };
        Ok(Self {
            states: settings.into_iter().enumerate().map(state).collect(),
            bands: Bands::new(classes.len()),
            config,
            classes,
            clock: Clock::default(),
            pending: None,
            cutoff: NO_CUTOFF,
            link_end: 0,
            penalised: Vec::new(),
            credited: Vec::new(),
        })
    }

    fn reconfigure(
        &mut self,
        config: Config,
        shares: Vec<Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid> {
        let settings = config.settings(&shares)?;
        if config.flavour != self.config.flavour {
            self.leave_flavour(config.flavour, cx.now);
        }
        self.config = config;
        for (state, settings) in self.states.iter_mut().zip(settings) {
            state.estimator.retune(&state.settings.tuning, &settings.tuning, self.clock.now);
            // Credit of a larger quantum would hold the others up.
            state.deficit = state.deficit.min(settings.quantum);
            state.settings = settings;
        }
        self.regroup();
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if self.config.flavour == Flavour::Linux {
            self.end_busy_period(cx);
        }
        let (class, is_empty) = self.classes.enqueue(packet, cx);
        if is_empty {
            return;
        }
        if self.states[class].throttled_until <= cx.now {
            self.lower_cutoff(class, self.clock_at(self.arithmetic().at(cx.now)));
        }
        self.bands.activate(self.band_of(class), class);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        match self.config.flavour {
            Flavour::Altq => self.dequeue_altq(cx),
            Flavour::Linux22 | Flavour::Linux => self.dequeue_linux(cx),
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        self.explain_decision(cx, to);
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.each_child(visit);
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let tick = self.arithmetic().tick();
        let seconds = |ticks: Ticks| (ticks * tick) as f64 / 1e12;
        let link = self.states.len() - 1;
        let average = |state: &State| state.estimator.average >> state.settings.tuning.ewma;
        let classes = &self.states[..link];
        emit("link_avgidle_seconds", seconds(average(&self.states[link])));
        emit("least_avgidle_seconds", seconds(classes.iter().map(average).min().unwrap_or_default()));
        let last = classes.iter().filter_map(|state| state.estimator.undertime).max();
        let ahead = last.map_or(0, |undertime| (undertime - self.clock.now).max(0));
        emit("latest_undertime_seconds", seconds(ahead));
        emit(
            "largest_deficit_bytes",
            classes.iter().map(|state| state.deficit).max().unwrap_or_default() as f64,
        );
        emit("clock_ahead_seconds", seconds(self.clock.now - self.clock.real));
    }
}

impl Cbq {
    fn link(&self) -> usize {
        self.states.len() - 1
    }

    fn arithmetic(&self) -> Arithmetic {
        self.config.flavour.arithmetic()
    }

    /// Returns the ancestor that is charged for the packets of `class`.
    fn sharing(&self, class: usize) -> Option<usize> {
        (!self.states[class].settings.isolated).then(|| self.states[class].parent)
    }

    /// Returns the ancestor from which `class` may borrow.
    fn lender(&self, class: usize) -> Option<usize> {
        (!self.states[class].settings.bounded).then(|| self.states[class].parent)
    }

    /// Returns whether a class is over its limit.
    fn is_over(&self, class: usize, now: Ticks) -> bool {
        let state = &self.states[class];
        !state.settings.exempt && state.estimator.is_over(now)
    }

    /// Returns the current band of a class.
    fn band_of(&self, class: usize) -> usize {
        let state = &self.states[class];
        let is_low = state.settings.overlimit == Overlimit::Lowprio && state.penalised_until.is_some();
        if is_low { state.settings.second_band } else { state.settings.band }
    }

    /// Charges a packet to its class and the ancestors.
    fn charge(&mut self, charge: Charge, start: Ticks, end: Ticks) {
        let mut next = Some(charge.class);
        while let Some(class) = next {
            let State { settings, estimator, .. } = &mut self.states[class];
            estimator.update(&settings.tuning, start, end, charge.length);
            next = self.sharing(class);
        }
    }

    /// Accounts for an arrival at `class`: no class borrows from above its first ancestor that is under its
    /// limit.
    fn lower_cutoff(&mut self, class: usize, now: Ticks) {
        let mut next = Some(class);
        while let Some(class) = next.filter(|class| self.states[*class].level < self.cutoff) {
            if !self.is_over(class, now) {
                self.cutoff = self.states[class].level;
                return;
            }
            next = self.lender(class);
        }
    }

    /// Dequeues from a class whose turn it is, and delists it if it is empty.
    fn dequeue_class(&mut self, class: usize, wake: &mut Wake, cx: &mut Context<'_>) -> Turn {
        let (dequeued, is_empty) = self.classes.dequeue(class, cx);
        match dequeued {
            Dequeue::Packet(packet) => Turn::Sent(packet),
            Dequeue::NotBefore(time) => {
                self.states[class].throttled_until = time;
                wake.at(time);
                Turn::Refused
            }
            Dequeue::Empty if is_empty => Turn::Gone,
            // It holds packets but returned none. It stays listed, because no event would list it again.
            Dequeue::Empty => Turn::Refused,
        }
    }

    /// Lists every class in its current band; turns are kept.
    fn regroup(&mut self) {
        let old = core::mem::replace(&mut self.bands, Bands::new(self.classes.len()));
        for class in old.iter() {
            self.bands.activate(self.band_of(class), class);
        }
    }

    /// Converts the state for another `flavour`.
    fn leave_flavour(&mut self, flavour: Flavour, now: Instant) {
        if self.config.flavour != Flavour::Altq {
            self.advance_clock(now);
        }
        let (old, new) = (self.arithmetic(), flavour.arithmetic());
        let back =
            old.at(now) - if self.config.flavour == Flavour::Altq { old.at(now) } else { self.clock.now };
        for state in &mut self.states {
            state.estimator.shift(back, old, new);
            state.penalised_until = state.penalised_until.map(|until| until * old.tick() / new.tick());
            state.is_delayed = false;
        }
        let real = new.at(now);
        self.clock = Clock { now: real, real };
        self.link_end = real;
        self.cutoff = NO_CUTOFF;
    }
}

#[cfg(test)]
mod tests;
