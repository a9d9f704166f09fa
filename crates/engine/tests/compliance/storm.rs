//! Storm of random operations on a tree: one seed is one run.

use lockgate_engine::clock::{ClockConfig, Source};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Duration, Instant};

use crate::account::Account;
use crate::common::kind;
use crate::parameters::{self, Parameter, draw};
use crate::topology::{FLOWS, Topology};

/// Operation on a port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Enqueue,
    Dequeue,
    Peek,
    Advance,
    Timer,
    Reconfigure,
    Replace,
    Flush,
}

impl Operation {
    fn draw(random: &mut Random) -> Self {
        match random.below(1000) {
            0..420 => Self::Enqueue,
            420..760 => Self::Dequeue,
            760..830 => Self::Peek,
            830..900 => Self::Advance,
            900..965 => Self::Timer,
            965..994 => Self::Reconfigure,
            994..998 => Self::Replace,
            _ => Self::Flush,
        }
    }
}

/// Frame lengths: the smallest, usual ones, and the largest.
const LENGTHS: [u32; 10] = [1, 64, 64, 300, 1514, 1514, 1514, 1514, 9014, 65_536];

/// Run of random operations.
pub(crate) struct Storm<'a> {
    pub account: Account,
    random: Random,
    topologies: &'a [Topology],
    seed: u64,
}

/// Operations between two drains.
const ROUND: u64 = 400;

impl Drop for Storm<'_> {
    /// Returns the command that repeats a failing run.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let tree = self.account.topology.describe();
            eprintln!("on {tree} at {}: LOCKGATE_SEED={} shows it again", self.account.now, self.seed);
        }
    }
}

impl<'a> Storm<'a> {
    /// Creates the run with `seed` on a tree of this shape, from `start`.
    pub(crate) fn new(topology: &Topology, topologies: &'a [Topology], seed: u64, start: Instant) -> Self {
        let mut random = Random::stream(Seed(seed), "test");
        let root = topology.build().expect("the examples are valid");
        let mut port = Port::new(root, Random::stream(Seed(seed), "port"));
        let source = if random.below(2) == 0 { Source::Cpu } else { Source::Jiffies };
        if random.below(4) == 0 {
            port = port.with_clock(ClockConfig { source, hz: 1024 }).expect("in range");
        }
        let has_ring = random.below(4) == 0;
        if has_ring {
            let config = RingConfig { slots: 1 + random.below(5), completions: 1 + random.below(4) };
            port = port.with_ring(config).expect("in range");
        }
        let mut account = Account::new(topology.clone(), port, start);
        account.has_ring = has_ring;
        Self { account, random, topologies, seed }
    }

    /// Performs `count` operations, and drains the tree in between and at the end.
    pub(crate) fn run(&mut self, count: u64) {
        for index in 1..=count {
            let operation = Operation::draw(&mut self.random);
            self.perform(operation);
            if index % ROUND == 0 {
                self.account.drain();
            }
        }
        self.account.drain();
    }

    fn perform(&mut self, operation: Operation) {
        match operation {
            Operation::Enqueue => self.enqueue(),
            Operation::Dequeue => {
                self.account.poll();
            }
            Operation::Peek => {
                // The owner decides which packet an inner class sends next.
                let name = self.some_place();
                let topology = &mut self.account.topology;
                if topology.queue_mut(&name).is_some_and(|queue| !kind::is_class(&queue.kind)) {
                    self.account.peek(&name);
                }
            }
            Operation::Advance => {
                let micros = u64::from(self.random.below(800));
                self.account.now = self.account.now + Duration::from_micros(micros);
            }
            Operation::Timer => {
                if let Some(wake) = self.account.wake.filter(|wake| *wake < Instant::NEVER) {
                    self.account.now = self.account.now.max(wake);
                }
                self.account.poll();
            }
            Operation::Reconfigure => self.reconfigure(),
            Operation::Replace => {
                let index = self.random.below(self.topologies.len() as u32) as usize;
                self.account.replace(self.topologies[index].clone());
            }
            Operation::Flush => self.account.flush(),
        }
    }

    fn enqueue(&mut self) {
        let length = LENGTHS[self.random.below(LENGTHS.len() as u32) as usize];
        let waited = Duration::from_micros(u64::from(self.random.below(100_000)));
        self.account.offer(self.random.below(FLOWS), length, waited);
    }

    fn some_place(&mut self) -> String {
        let queues = self.account.topology.queues();
        queues[self.random.below(queues.len() as u32) as usize].name.clone()
    }

    fn reconfigure(&mut self) {
        let name = self.some_place();
        let queue = self.account.topology.queue_mut(&name).expect("its own name").clone();
        if kind::is_class(&queue.kind) {
            return;
        }
        let declared = kind::kind(&queue.kind);
        let own = parameters::parameters(&declared.config_schema);
        let of_child: Vec<Parameter> = parameters::parameters(&declared.share_schema);
        let config = draw(&declared.example, &own, &mut self.random);
        let shares: Vec<_> =
            queue.shares().iter().map(|_| draw(&declared.share, &of_child, &mut self.random)).collect();
        // Refusals are part of the storm: the account checks that they change nothing.
        let _ = self.account.reconfigure(&name, &config, &shares);
    }
}
