//! A live run seen from outside, without being slowed: looks between two rounds of the driver, samples through
//! bounded rings, and changes that were read, checked and built on another thread.
//!
//! ```text
//! driver's thread              another thread
//! Seat --- full samples -----> Desk       a sample that finds no empty one is dropped and counted
//!      <-- empty samples -----
//!      <-- Order -------------            the rest of the timeline, ready made
//!      --- Answer ----------->            taken, or too late
//!      --- spent changes ---->            with the trees they took out, to be freed
//! ```
//!
//! The driver never waits here, and in the steady state allocates and frees nothing: samples are used again and
//! again.

use std::sync::{Arc, OnceLock};

use lockgate_engine::clock::Clock;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{Monitor, Sample};
use lockgate_scenario::change::Prepared;

use crate::clock::Monotonic;
use crate::fidelity;
use crate::network::Network;

/// Looks an interval: as many values the mean length of a queue is made of.
const LOOKS: u64 = 10;

/// Samples on their way at most.
const SAMPLES: usize = 64;

/// Orders, and answers, on their way at most.
const ORDERS: usize = 16;

/// Changes that happened and have not been freed, at most; beyond, they stay with the driver.
const SPENT: usize = 256;

/// How late a look may be: nobody spins for one.
const SLACK: Duration = Duration::from_micros(100);

/// What the driver is asked.
pub enum Order {
    /// From `from` on these changes happen, in their order, in place of what was to happen then.
    Timeline {
        /// No change is before it.
        from: Instant,
        /// The changes.
        changes: Vec<Prepared>,
    },
    /// To sample as often as this.
    Every(Duration),
}

/// What the driver says to a timeline. What it has no use for goes back, to be dropped where there is time.
pub enum Answer {
    /// It holds.
    Taken(Vec<Prepared>),
    /// The run was at this time already, which is later than `from`: nothing has changed.
    Late(Instant, Vec<Prepared>),
}

/// Where the driver meets who watches.
pub struct Seat {
    orders: rtrb::Consumer<Order>,
    answers: rtrb::Producer<Answer>,
    spent: rtrb::Producer<Prepared>,
    full: rtrb::Producer<Box<Sample>>,
    empty: rtrb::Consumer<Box<Sample>>,
    started: Arc<OnceLock<Monotonic>>,
    monitor: Monitor,
    every: Duration,
    due: Instant,
    look: Instant,
    dropped: u64,
    /// What is written where there is no empty sample.
    unseen: Box<Sample>,
}

/// Where who watches meets the driver.
pub struct Desk {
    orders: rtrb::Producer<Order>,
    answers: rtrb::Consumer<Answer>,
    spent: rtrb::Consumer<Prepared>,
    full: rtrb::Consumer<Box<Sample>>,
    empty: rtrb::Producer<Box<Sample>>,
    started: Arc<OnceLock<Monotonic>>,
}

/// Both ends, for a run that is sampled as often as `every`.
pub fn seats(every: Duration) -> (Seat, Desk) {
    let (ordering, orders) = rtrb::RingBuffer::new(ORDERS);
    let (answers, answered) = rtrb::RingBuffer::new(ORDERS);
    let (spending, spent) = rtrb::RingBuffer::new(SPENT);
    let (full, filled) = rtrb::RingBuffer::new(SAMPLES);
    let (mut emptied, empty) = rtrb::RingBuffer::new(SAMPLES);
    for _ in 0..SAMPLES {
        let _ = emptied.push(Box::default());
    }
    let started = Arc::new(OnceLock::new());
    let seat = Seat {
        orders,
        answers,
        spent: spending,
        full,
        empty,
        started: started.clone(),
        monitor: Monitor::new(Instant::ZERO),
        every,
        due: Instant::ZERO + every,
        look: Instant::ZERO,
        dropped: 0,
        unseen: Box::default(),
    };
    (seat, Desk { orders: ordering, answers: answered, spent, full: filled, empty: emptied, started })
}

impl Seat {
    /// By which clock the run goes.
    pub fn start(&self, clock: Monotonic) {
        let _ = self.started.set(clock);
    }

    /// By when the driver is to come by.
    pub(crate) fn next(&self) -> Instant {
        self.look + SLACK
    }

    /// Takes orders, and looks where it is time.
    #[inline]
    pub(crate) fn turn(&mut self, network: &mut Network<'_>) {
        if !self.orders.is_empty() {
            self.obey(network);
        }
        if !network.spent.is_empty() {
            self.hand_back(network);
        }
        if network.now() >= self.look {
            self.look(network);
        }
    }

    /// As much as there is room for; the rest another time.
    #[cold]
    fn hand_back(&mut self, network: &mut Network<'_>) {
        while !self.spent.is_full()
            && let Some(spent) = network.spent.pop()
        {
            let _ = self.spent.push(spent);
        }
    }

    #[cold]
    fn obey(&mut self, network: &mut Network<'_>) {
        // An order is taken only where its answer has room.
        while !self.answers.is_full()
            && let Ok(order) = self.orders.pop()
        {
            match order {
                Order::Timeline { from, changes } => {
                    let answer = match network.replan(from, changes) {
                        Ok(left) => Answer::Taken(left),
                        Err(changes) => Answer::Late(network.now(), changes),
                    };
                    let _ = self.answers.push(answer);
                }
                Order::Every(every) => {
                    self.every = every;
                    self.due = self.due.min(network.now() + every);
                }
            }
        }
    }

    #[inline(never)]
    fn look(&mut self, network: &mut Network<'_>) {
        let now = network.now();
        network.look(&mut self.monitor);
        if now >= self.due {
            if let Ok(mut sample) = self.empty.pop() {
                network.sample_into(&mut self.monitor, &mut sample);
                sample.dropped_samples = self.dropped;
                // As many samples as there is room for.
                let _ = self.full.push(sample);
            } else {
                network.sample_into(&mut self.monitor, &mut self.unseen);
                self.monitor.tell_again(self.unseen.events.len());
                self.dropped += 1;
            }
            self.due = Some(self.due + self.every).filter(|due| *due > now).unwrap_or(now + self.every);
        }
        let step = Duration::from_picos((self.every.as_picos() / LOOKS).max(1));
        self.look = (now + step).min(self.due);
    }
}

impl Desk {
    /// How late it is in the run; `None` before it has been built.
    pub fn now(&self) -> Option<Instant> {
        self.started.get().map(Clock::now)
    }

    /// Whether the driver has left: nothing that is not here already will come.
    pub fn is_over(&self) -> bool {
        self.orders.is_abandoned()
    }

    /// Asks the driver. Whether there was room.
    pub fn order(&mut self, order: Order) -> bool {
        self.orders.push(order).is_ok()
    }

    /// What the driver has said to the timelines, one after the other.
    pub fn answer(&mut self) -> Option<Answer> {
        self.answers.pop().ok()
    }

    /// Frees what the driver has no use for any more. Returns how much there was.
    pub fn free(&mut self) -> usize {
        std::iter::from_fn(|| self.spent.pop().ok()).count()
    }

    /// The next sample, where there is one.
    pub fn sample(&mut self) -> Option<Sample> {
        let full = self.full.pop().ok()?;
        let mut sample = (*full).clone();
        let _ = self.empty.push(full);
        let passed = fidelity::passed(&sample);
        if let Some(fidelity) = &mut sample.fidelity {
            fidelity.unfaithful = passed;
        }
        Some(sample)
    }
}
