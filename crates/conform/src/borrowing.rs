//! Trees of classes with rates and ceilings that borrow from each other, and the resulting rates of the
//! leaves.

use lockgate_engine::random::Random;
use serde_json::{Value, json};

use crate::forest::Forest;
use crate::trials::between;

/// Parameters of a class, in bits per second and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Lender {
    /// Guaranteed rate.
    pub rate: u64,
    /// Ceiling of the rate.
    pub ceil: u64,
    /// Depth of the bucket of `rate`.
    pub burst: u64,
    /// Depth of the bucket of `ceil`.
    pub cburst: u64,
    /// Priority for borrowing.
    pub priority: u64,
    /// Weight among leaves of one priority.
    pub quantum: u64,
}

impl Lender {
    /// Returns the parameters as a share.
    pub fn share(&self) -> Value {
        json!({
            "rate": format!("{}bit", self.rate),
            "ceil": format!("{}bit", self.ceil),
            "burst": format!("{}B", self.burst),
            "cburst": format!("{}B", self.cburst),
            "prio": self.priority,
            "quantum": format!("{}B", self.quantum),
        })
    }
}

/// Options for drawing a random forest.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Range of the buckets' depths, in bytes.
    pub bursts: (u32, u32),
    /// True for forests whose rates follow from the tree alone: no ceiling other than that at the top
    /// limits a leaf with more than one lender above it, unless the leaf never borrows. Otherwise the
    /// lender that serves a leaf at its ceiling is decided packet by packet, and with it the rate left for
    /// other leaves.
    pub is_decided: bool,
}

/// Draws a forest of at most three levels in which the rates below a class add up to at most its own.
pub fn forest(random: &mut Random, draw: Draw) -> Forest<Lender> {
    let mut forest = Forest::default();
    for _ in 0..between(random, 1, 2) {
        let rate = between(random, 20_000_000, 60_000_000);
        let top = draw.lender(random, rate, rate);
        draw.grow(&mut forest, None, top, rate, random);
    }
    forest
}

impl Draw {
    fn lender(self, random: &mut Random, rate: u64, most: u64) -> Lender {
        // Some leaves never borrow, some may use the whole rate above.
        let ceil = match random.below(4) {
            0 => rate,
            1 => most,
            _ => rate + (most - rate) * between(random, 10, 90) / 100,
        };
        let (from, to) = self.bursts;
        Lender {
            rate,
            ceil,
            burst: between(random, from, to),
            cburst: between(random, from, to),
            priority: u64::from(random.below(5)) / 2,
            quantum: between(random, 1_600, 4_800),
        }
    }

    fn grow(
        self,
        forest: &mut Forest<Lender>,
        parent: Option<usize>,
        mut lender: Lender,
        most: u64,
        random: &mut Random,
    ) {
        let depth = parent.map_or(0, |parent| forest.depth(parent) + 1);
        let is_leaf = depth == 2 || (depth == 1 && random.below(4) == 0);
        if self.is_decided && is_leaf && depth == 2 && lender.ceil > lender.rate {
            lender.ceil = most;
        }
        let class = forest.add(parent, lender);
        if is_leaf {
            return;
        }
        let parts: Vec<u64> = (0..between(random, 2, 4)).map(|_| between(random, 1, 6)).collect();
        // The children together are guaranteed half to all of the rate.
        let whole = parts.iter().sum::<u64>() * 100 / between(random, 50, 100);
        for part in parts {
            let child = self.lender(random, lender.rate * part / (whole + 1), lender.ceil);
            self.grow(forest, Some(class), child, most, random);
        }
    }
}

/// Computes the long-run rates in bits per second, by class, if the leaves `busy` always have packets and
/// the link does not limit them. Leaves send at their rates. Then the lenders, level by level from the
/// lowest, divide the rest of their rates among the leaves below, by priority, in proportion to the quanta,
/// up to the ceilings.
pub fn shares(forest: &Forest<Lender>, busy: &[usize]) -> Vec<f64> {
    let classes = &forest.classes;
    let mut rates = vec![0.0; classes.len()];
    for leaf in busy {
        for class in forest.above(*leaf) {
            rates[class] += classes[*leaf].facts.rate as f64;
        }
    }
    let inner = |class: &usize| !classes[*class].children.is_empty();
    let deepest = (0..classes.len()).filter(inner).map(|class| forest.depth(class)).max();
    // Inner classes of one depth lend at one level.
    for depth in (0..=deepest.unwrap_or(0)).rev() {
        for lends in (0..classes.len()).filter(inner).filter(|class| forest.depth(*class) == depth) {
            for priority in 0..8 {
                let borrowers: Vec<usize> = forest
                    .leaves_of(lends)
                    .into_iter()
                    .filter(|leaf| busy.contains(leaf) && classes[*leaf].facts.priority == priority)
                    .collect();
                fill(forest, lends, borrowers, &mut rates);
            }
        }
    }
    rates
}

/// Raises the rates of `borrowers` together, in proportion to their quanta, until each reaches a limit.
fn fill(forest: &Forest<Lender>, lender: usize, mut borrowers: Vec<usize>, rates: &mut [f64]) {
    let room = |class: usize, rates: &[f64]| {
        let Lender { rate, ceil, .. } = forest.classes[class].facts;
        (if class == lender { rate } else { ceil }) as f64 - rates[class]
    };
    let to_lender =
        |leaf: usize| forest.above(leaf).take_while(move |class| *class != lender).chain([lender]);
    loop {
        borrowers.retain(|leaf| to_lender(*leaf).all(|class| room(class, rates) > 1e-3));
        if borrowers.is_empty() {
            return;
        }
        let mut weights = vec![0.0; rates.len()];
        for leaf in &borrowers {
            for class in forest.above(*leaf) {
                weights[class] += forest.classes[*leaf].facts.quantum as f64;
            }
        }
        let below =
            |class: &usize| borrowers.iter().any(|leaf| to_lender(*leaf).any(|above| above == *class));
        let step = (0..rates.len())
            .filter(below)
            .map(|class| room(class, rates) / weights[class])
            .fold(f64::INFINITY, f64::min);
        for (rate, weight) in rates.iter_mut().zip(&weights) {
            *rate += step * weight;
        }
    }
}
