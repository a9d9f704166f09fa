//! Genomes: the traffic of an attack, and how it changes.

/// Limit on the packets of one flow.
pub(super) const MOST_PACKETS: usize = 4000;

/// Generator of small numbers: the multiplier of Knuth's MMIX.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn of(seed: u64, number: u64) -> Self {
        let mut dice =
            Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        (0..4).for_each(|_| _ = dice.below(2));
        dice
    }

    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }

    /// Returns a time from a nanosecond to 100 ms, each power of ten as likely.
    fn time(&mut self) -> u64 {
        let most = 10_u64.pow(self.below(9) as u32);
        1 + self.below(most)
    }
}

/// Packets that come as soon as the envelope lets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    /// Time since the last packet before, in nanoseconds.
    pub(super) pause: u64,
    pub(super) packets: u32,
    /// Length, from the shortest (0) to the longest (255).
    pub(super) length: u8,
}

/// Bursts of one flow, the first after the start. Empty: it is silent.
pub(super) type Gene = Vec<Burst>;

/// Traffic of the enemy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Genome {
    /// Bursts of each flow with an envelope.
    pub(super) bursts: Vec<Gene>,
    /// Start of each flow that can only be moved, in nanoseconds.
    pub(super) starts: Vec<u64>,
}

/// Rules that genomes keep.
pub(super) struct Rules {
    /// By flow with an envelope: true if the metric is of it. Such a flow is not counted.
    pub(super) own: Vec<bool>,
    /// Largest number of other flows that send.
    pub(super) most: Option<usize>,
    /// Starts of the scenario of the flows that can only be moved.
    pub(super) starts: Vec<u64>,
    /// End of the run in nanoseconds.
    pub(super) end: u64,
}

fn burst(pause: u64, packets: u32, length: u8) -> Burst {
    Burst { pause, packets, length }
}

impl Rules {
    /// Silences flows beyond the largest number, from the one at `from` on in a circle.
    fn keep(&self, mut genome: Genome, from: usize) -> Genome {
        let Some(most) = self.most else { return genome };
        let count = genome.bursts.len();
        let sends = |genome: &Genome, index: usize| !self.own[index] && !genome.bursts[index].is_empty();
        let order: Vec<usize> = (0..count).map(|index| (from + index) % count).collect();
        let senders: Vec<usize> = order.into_iter().filter(|index| sends(&genome, *index)).collect();
        senders.into_iter().skip(most).for_each(|index| genome.bursts[index].clear());
        genome
    }

    /// Returns genomes that theory names: the worst traffic of FIFO, priority, rounds and of what has times
    /// of its own.
    pub(super) fn seeds(&self) -> Vec<Genome> {
        let all = MOST_PACKETS as u32;
        let genome = |of: &dyn Fn(bool) -> Gene| Genome {
            bursts: self.own.iter().map(|own| of(*own)).collect(),
            starts: self.starts.clone(),
        };
        let mut seeds: Vec<Genome> = vec![
            genome(&|_| vec![burst(0, all, 255)]),
            genome(&|own| vec![burst(u64::from(own) * 1000, all, 255)]),
            // A long packet of each other is in service when all wake up.
            genome(&|own| {
                if own { vec![burst(2, all, 255)] } else { vec![burst(0, 1, 255), burst(1, all, 255)] }
            }),
            genome(&|own| {
                if own { vec![burst(0, 1, 255), burst(2, all, 255)] } else { vec![burst(1, all, 255)] }
            }),
            genome(&|own| vec![burst(u64::from(own) * 1000, all, if own { 0 } else { 255 })]),
            genome(&|own| vec![burst(u64::from(own) * 1000, all, if own { 255 } else { 0 })]),
        ];
        for millis in [1, 5, 20, 100, 200] {
            let period = millis * 1_000_000;
            let beat = |own: bool| {
                (0..8)
                    .map(|number| burst(if number == 0 { u64::from(own) * 1000 } else { period }, 64, 255))
                    .collect()
            };
            seeds.push(genome(&beat));
        }
        // With a limit, each seed has other senders.
        let step = self.most.unwrap_or(0).max(1);
        seeds.into_iter().enumerate().map(|(index, seed)| self.keep(seed, index * step)).collect()
    }

    /// Returns a genome with one to three changes.
    pub(super) fn mutant(&self, parent: &Genome, dice: &mut Dice) -> Genome {
        let mut genome = parent.clone();
        for _ in 0..=dice.below(3) {
            let moves = if genome.bursts.is_empty() { 1 } else { 5 };
            if !genome.starts.is_empty() && dice.below(moves) == 0 {
                self.move_start(&mut genome.starts, dice);
            } else if self.most.is_some() && dice.below(3) == 0 {
                let count = genome.bursts.len() as u64;
                let (one, other) = (dice.below(count) as usize, dice.below(count) as usize);
                if !self.own[one] && !self.own[other] {
                    genome.bursts.swap(one, other);
                }
            } else if !genome.bursts.is_empty() {
                change(&mut genome.bursts, dice);
            }
        }
        let from = dice.below(genome.bursts.len() as u64) as usize;
        self.keep(genome, from)
    }

    fn move_start(&self, starts: &mut [u64], dice: &mut Dice) {
        let count = starts.len() as u64;
        let (index, other) = (dice.below(count) as usize, dice.below(count) as usize);
        let near = dice.time();
        starts[index] = match dice.below(4) {
            0 => starts[other].saturating_add(dice.below(3)),
            1 => starts[index].saturating_add(near),
            2 => starts[index].saturating_sub(near),
            _ => self.end / 1000 * dice.below(1000),
        }
        .min(self.end);
    }

    /// Returns a genome without theory.
    pub(super) fn random(&self, dice: &mut Dice) -> Genome {
        let gene = |dice: &mut Dice| -> Gene {
            let burst = |dice: &mut Dice| Burst {
                pause: dice.below(100_000_000),
                packets: 1 + dice.below(64) as u32,
                length: dice.below(256) as u8,
            };
            (0..=dice.below(8)).map(|_| burst(dice)).collect()
        };
        let bursts = self.own.iter().map(|_| gene(dice)).collect();
        let starts = self.starts.iter().map(|_| self.end / 1000 * dice.below(1000)).collect();
        let from = dice.below(self.own.len() as u64) as usize;
        self.keep(Genome { bursts, starts }, from)
    }

    /// Returns smaller genomes: flows that are silent, begin as in the scenario, or send less.
    pub(super) fn smaller(&self, genome: &Genome) -> Vec<Genome> {
        let mut all = Vec::new();
        for index in 0..genome.starts.len() {
            if genome.starts[index] != self.starts[index] {
                let mut tried = genome.clone();
                tried.starts[index] = self.starts[index];
                all.push(tried);
            }
        }
        for (index, gene) in genome.bursts.iter().enumerate().filter(|(_, gene)| !gene.is_empty()) {
            let less = |by: u32| {
                let fewer = |burst: &Burst| Burst { packets: burst.packets.div_ceil(by), ..burst.clone() };
                gene.iter().map(fewer).collect::<Gene>()
            };
            let silent = if self.own[index] { gene.clone() } else { Gene::new() };
            for smaller in [silent, less(4), less(2), gene[..gene.len() - 1].to_vec()] {
                if smaller != *gene && !(self.own[index] && smaller.is_empty()) {
                    let mut tried = genome.clone();
                    tried.bursts[index] = smaller;
                    all.push(tried);
                }
            }
        }
        all
    }
}

/// Changes the bursts of one flow.
fn change(genome: &mut [Gene], dice: &mut Dice) {
    let count = genome.len() as u64;
    let index = dice.below(count) as usize;
    let start = genome[dice.below(count) as usize].first().map_or(0, |burst| burst.pause);
    let gene = &mut genome[index];
    let slot = dice.below(gene.len() as u64) as usize;
    let is_long = gene.len() > 1;
    match (dice.below(8), gene.get_mut(slot)) {
        (0, Some(burst)) => burst.pause = burst.pause.saturating_add(dice.time()),
        (1, Some(burst)) => burst.pause = burst.pause.saturating_sub(dice.time()),
        (2, Some(burst)) => burst.packets = 1 + dice.below(64) as u32,
        (3, Some(burst)) => burst.length = dice.below(256) as u8,
        (4, Some(burst)) => burst.packets = MOST_PACKETS as u32,
        (5, _) => gene.insert(slot, burst(dice.time(), 1 + dice.below(64) as u32, 255)),
        (6, Some(_)) if is_long => drop(gene.remove(slot)),
        (_, Some(_)) => gene[0].pause = start + dice.below(3),
        (_, None) => {}
    }
}
