//! Control channel between the driver thread of a live run and an observer thread: samples out, changes in.
//!
//! ```text
//! driver thread                 observer thread
//! DriverEnd --- full samples -----> ObserverEnd       no empty sample left: the sample is dropped and counted
//!      <-- empty samples -----            returned for reuse
//!      <-- Order -------------            the rest of the timeline, already read, validated and built
//!      --- Answer ----------->            accepted, or too late
//!      --- spent changes ---->            with the trees they replaced, to be freed
//! ```
//!
//! Each arrow is a bounded single-producer ring (`rtrb`). Invariant: the driver never blocks here. It never
//! waits for the observer, and in the steady state it neither allocates nor frees, because samples are
//! reused.
//!
//! Cost a round of the driver: three comparisons (an order? a spent change? a look due?). Each interval is
//! divided into ten looks, and the last of them fills a sample. The observer reads and builds changes, and
//! frees the parts that they replaced. See decision 031; decision 065 says why a real-time thread must not
//! wait.

use std::sync::{Arc, OnceLock};

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{LOOKS, Monitor, Sample};
use lockgate_scenario::change::Prepared;

use crate::clock::MonotonicClock;
use crate::network::Network;
use lockgate_measure::fidelity;

/// Capacity of the sample rings.
const SAMPLES: usize = 64;

/// Capacity of the order ring and of the answer ring.
const ORDERS: usize = 16;

/// Capacity of the ring of spent changes. Beyond it they stay with the driver until there is room.
const SPENT: usize = 256;

/// Tolerated lateness of a look: the driver does not spin for one.
const SLACK: Duration = Duration::from_micros(100);

/// Command from the observer to the driver.
pub enum Order {
    /// Replaces every change that was planned for `from` or later.
    Timeline {
        /// Start of the replaced part: no change is earlier.
        from: Instant,
        /// The changes, in the order in which they happen.
        changes: Vec<Prepared>,
    },
    /// Sets the sampling interval.
    Every(Duration),
}

/// Driver's answer to [`Order::Timeline`]. Changes without further use go back with it, so that the observer
/// frees them.
pub enum Answer {
    /// Accepted; carries the changes that were replaced.
    Taken(Vec<Prepared>),
    /// Refused: the run had already reached this time, which is later than `from`. Carries the changes of the
    /// refused order; nothing has changed.
    Late(Instant, Vec<Prepared>),
}

/// Driver's end of the channel.
pub struct DriverEnd {
    orders: rtrb::Consumer<Order>,
    answers: rtrb::Producer<Answer>,
    spent: rtrb::Producer<Prepared>,
    full: rtrb::Producer<Box<Sample>>,
    empty: rtrb::Consumer<Box<Sample>>,
    started: Arc<OnceLock<MonotonicClock>>,
    monitor: Monitor,
    every: Duration,
    due: Instant,
    look: Instant,
    dropped: u64,
    /// Scratch sample, written when no empty sample is available.
    unseen: Box<Sample>,
}

/// Observer's end of the channel.
pub struct ObserverEnd {
    orders: rtrb::Producer<Order>,
    answers: rtrb::Consumer<Answer>,
    spent: rtrb::Consumer<Prepared>,
    full: rtrb::Consumer<Box<Sample>>,
    empty: rtrb::Producer<Box<Sample>>,
    started: Arc<OnceLock<MonotonicClock>>,
}

/// Creates both ends, for a run that is sampled once per interval `every`.
pub fn control_channel(every: Duration) -> (DriverEnd, ObserverEnd) {
    let (ordering, orders) = rtrb::RingBuffer::new(ORDERS);
    let (answers, answered) = rtrb::RingBuffer::new(ORDERS);
    let (spending, spent) = rtrb::RingBuffer::new(SPENT);
    let (full, filled) = rtrb::RingBuffer::new(SAMPLES);
    let (mut emptied, empty) = rtrb::RingBuffer::new(SAMPLES);
    for _ in 0..SAMPLES {
        let _ = emptied.push(Box::default());
    }
    let started = Arc::new(OnceLock::new());
    let driver_end = DriverEnd {
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
    (
        driver_end,
        ObserverEnd { orders: ordering, answers: answered, spent, full: filled, empty: emptied, started },
    )
}

impl DriverEnd {
    /// Publishes the clock of the run. Only the first call has an effect.
    pub fn start(&self, clock: MonotonicClock) {
        let _ = self.started.set(clock);
    }

    /// Returns the latest time at which the driver should call [`DriverEnd::turn`] again.
    pub(crate) fn next(&self) -> Instant {
        self.look + SLACK
    }

    /// Handles pending orders, hands back spent changes, and takes a look if one is due. Called once a round.
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

    /// Hands back as many spent changes as the ring has room for; the rest follow in later rounds.
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
        // Invariant: an order is popped only if the answer ring has room, so that no answer is lost.
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
                // Never full: there are as many samples as slots.
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

impl ObserverEnd {
    /// Returns the current time of the run; `None` until the driver has started.
    pub fn now(&self) -> Option<Instant> {
        self.started.get().map(MonotonicClock::now)
    }

    /// True if the driver has dropped its end. Entries already in the rings can still be taken.
    pub fn is_over(&self) -> bool {
        self.orders.is_abandoned()
    }

    /// Sends an order. Returns false if the ring is full; the order is then dropped.
    pub fn order(&mut self, order: Order) -> bool {
        self.orders.push(order).is_ok()
    }

    /// Returns the next answer to a timeline, in the order in which the timelines were sent.
    pub fn answer(&mut self) -> Option<Answer> {
        self.answers.pop().ok()
    }

    /// Frees spent changes and the trees they replaced. Returns how many changes were freed.
    pub fn free(&mut self) -> usize {
        std::iter::from_fn(|| self.spent.pop().ok()).count()
    }

    /// Returns the next sample, if any, and its buffer to the driver.
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
