//! Genomes: the traffic of an attack, and how it changes.

/// Limit on the packets of one flow.
pub(super) const MOST_PACKETS: usize = 4000;

/// Limit on the other flows of which each has a seed in which it is first.
const MOST_FIRST: usize = 8;

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

impl Genome {
    /// Returns the number of its bursts, and of starts that are not these.
    pub(super) fn lines(&self, starts: &[u64]) -> usize {
        let moved = self.starts.iter().zip(starts).filter(|(start, own)| start != own).count();
        moved + self.bursts.iter().map(Vec::len).sum::<usize>()
    }
}

/// Rules that genomes keep.
pub(super) struct Rules {
    /// By flow with an envelope: true if the metric is of it. Such a flow is not counted.
    pub(super) own: Vec<bool>,
    /// By flow with an envelope: hops after which it joins the path of the metric's.
    pub(super) joins: Vec<u64>,
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
        let of = |gene: &dyn Fn(usize, bool) -> Gene| Genome {
            bursts: self.own.iter().enumerate().map(|(index, own)| gene(index, *own)).collect(),
            starts: self.starts.clone(),
        };
        let genome = |gene: &dyn Fn(bool) -> Gene| of(&|_, own| gene(own));
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
        // A long packet of one other is in service when all wake up, and the own ones come last. Short
        // packets fill an envelope better.
        let others = (0..self.own.len()).filter(|index| !self.own[*index]);
        for (first, length) in others.take(MOST_FIRST).flat_map(|first| [(first, 255), (first, 0)]) {
            seeds.push(of(&|index, own| match (own, index == first) {
                (true, _) => vec![burst(2, all, 255)],
                (false, true) => vec![burst(0, 1, 255), burst(1, all, length)],
                (false, false) => vec![burst(1, all, length)],
            }));
        }
        // Bursts that meet the own packets where they join them, if a hop takes so long.
        if self.joins.iter().any(|hops| *hops > 0) {
            for millis in [2, 5, 10, 20, 50] {
                let late = |index: usize| self.joins[index] * millis * 1_000_000;
                seeds.push(of(&|index, own| vec![burst(late(index) + u64::from(own) * 1000, all, 255)]));
            }
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

    /// Returns smaller genomes, those that lack most first: flows that are silent, begin as in the scenario,
    /// or send fewer bursts or packets.
    pub(super) fn smaller(&self, genome: &Genome) -> Vec<Genome> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Genome)| {
            let mut tried = genome.clone();
            change(&mut tried);
            if tried != *genome && !all.contains(&tried) {
                all.push(tried);
            }
        };
        let sends = |index: &usize| !self.own[*index] && !genome.bursts[*index].is_empty();
        let senders: Vec<usize> = (0..genome.bursts.len()).filter(sends).collect();
        let moved: Vec<usize> =
            (0..genome.starts.len()).filter(|index| genome.starts[*index] != self.starts[*index]).collect();
        for parts in [1, 2, 4, usize::MAX] {
            for some in parts_of(&senders, parts) {
                add(&|tried| some.iter().for_each(|index| tried.bursts[*index].clear()));
            }
            for some in parts_of(&moved, parts) {
                add(&|tried| some.iter().for_each(|index| tried.starts[*index] = self.starts[*index]));
            }
        }
        for (index, gene) in genome.bursts.iter().enumerate().filter(|(_, gene)| gene.len() > 1) {
            for smaller in fewer(gene) {
                add(&|tried| tried.bursts[index].clone_from(&smaller));
            }
        }
        for (index, gene) in genome.bursts.iter().enumerate() {
            for by in [4, 2] {
                let less = |burst: &Burst| Burst { packets: burst.packets.div_ceil(by), ..burst.clone() };
                add(&|tried| tried.bursts[index] = gene.iter().map(less).collect());
            }
        }
        all
    }
}

/// Returns a list in so many parts.
fn parts_of(list: &[usize], parts: usize) -> impl Iterator<Item = &[usize]> {
    list.chunks(list.len().div_ceil(parts).max(1))
}

/// Returns a gene with fewer bursts: as one, either half, and without each. Those that are left keep their
/// times.
fn fewer(gene: &[Burst]) -> Vec<Gene> {
    let packets = gene.iter().fold(0_u32, |sum, burst| sum.saturating_add(burst.packets));
    let one = vec![Burst { packets, ..gene[0].clone() }];
    let without = |gone: core::ops::Range<usize>| -> Gene {
        let late: u64 = gene[gone.clone()].iter().map(|burst| burst.pause).sum();
        let mut left: Gene = gene[..gone.start].to_vec();
        left.extend(gene[gone.end..].iter().cloned());
        if let Some(next) = left.get_mut(gone.start) {
            next.pause = next.pause.saturating_add(late);
        }
        left
    };
    let half = gene.len() / 2;
    let mut all = vec![one, without(half..gene.len()), without(0..half)];
    all.extend((0..gene.len()).map(|index| without(index..index + 1)));
    all
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
