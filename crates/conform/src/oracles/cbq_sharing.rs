//! Link sharing in random hierarchies: long-run rates of classes, and guaranteed rates.
//!
//! A link of 10 Mbit/s over two or three classes, each a leaf or the parent of two or three leaves. Rates
//! are random parts of the parent's, weights are rates. Some leaves are bounded, some are offered less than
//! their rate, some nothing.

use lockgate_engine::random::Random;
use lockgate_engine::units::Rate;
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::forest::{self, Forest};
use crate::fixtures::link::Link;
use crate::fixtures::stream::{Stream, rate_of, send};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct CbqSharing;

const LINK: u64 = 10_000_000;

/// Parameters of a class, and its offered rate in bits per second.
struct Class {
    rate: f64,
    bounded: bool,
    demand: f64,
}

impl Class {
    /// Returns the parameters as a share.
    fn share(&self) -> Value {
        json!({ "rate": format!("{}bit", self.rate as u64), "bounded": self.bounded })
    }
}

/// Returns the rate that `class` can use.
fn wants(forest: &Forest<Class>, class: usize) -> f64 {
    let forest::Class { facts, children, .. } = &forest.classes[class];
    let demand = if children.is_empty() {
        facts.demand
    } else {
        children.iter().map(|child| wants(forest, *child)).sum()
    };
    if facts.bounded { demand.min(facts.rate) } else { demand }
}

/// Shares `capacity` among classes in proportion to their rates, up to the rate that each can use; appends
/// the rate of each leaf.
fn fill(forest: &Forest<Class>, classes: &[usize], capacity: f64, out: &mut Vec<f64>) {
    let rate = |class: usize| forest.classes[classes[class]].facts.rate;
    let wants = |class: usize| wants(forest, classes[class]);
    let mut got = vec![None; classes.len()];
    let mut left = capacity;
    loop {
        let open = || (0..classes.len()).filter(|class| got[*class].is_none());
        let sum: f64 = open().map(rate).sum();
        let full: Vec<usize> = open().filter(|class| wants(*class) <= left * rate(*class) / sum).collect();
        if full.is_empty() {
            let rest: Vec<usize> = open().collect();
            for class in rest {
                got[class] = Some(left * rate(class) / sum);
            }
            break;
        }
        for class in full {
            let wants = wants(class);
            got[class] = Some(wants);
            left -= wants;
        }
        if got.iter().all(Option::is_some) {
            break;
        }
    }
    for (class, got) in classes.iter().zip(got) {
        let got = got.unwrap_or_default();
        let below = &forest.classes[*class].children;
        if below.is_empty() { out.push(got) } else { fill(forest, below, got, out) }
    }
}

/// The load offered to leaves.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    /// All leaves are offered more than they can get.
    Full,
    /// Some leaves are offered less than their rate, or nothing.
    Mixed,
}

/// Draws random parts of `rate`, each at least a sixth of an even one.
fn parts(rate: u64, random: &mut Random) -> Vec<u64> {
    let count = between(random, 2, 3);
    let cuts: Vec<u64> = (0..count).map(|_| between(random, 10, 60)).collect();
    let sum: u64 = cuts.iter().sum();
    cuts.iter().map(|cut| rate * cut / sum).collect()
}

fn leaf(rate: u64, load: Load, random: &mut Random) -> Class {
    let demand = match (load, random.below(5)) {
        (Load::Full, _) => LINK as f64,
        (_, 2..) => 2.0 * LINK as f64 / 3.0,
        (_, 0) => rate as f64 * 0.6,
        _ => 0.0,
    };
    let bounded = load == Load::Mixed && random.below(4) == 0;
    Class { rate: rate as f64, bounded, demand }
}

fn forest(load: Load, random: &mut Random) -> Forest<Class> {
    let mut forest = Forest::default();
    for rate in parts(LINK, random) {
        if random.below(2) == 0 {
            forest.add(None, leaf(rate, load, random));
            continue;
        }
        let inner = forest.add(None, Class { rate: rate as f64, bounded: false, demand: 0.0 });
        for rate in parts(rate, random) {
            forest.add(Some(inner), leaf(rate, load, random));
        }
    }
    forest
}

/// Returns the rates of leaves from 5 to 35 s.
fn measure(flavour: &str, forest: &Forest<Class>) -> Result<Vec<f64>, String> {
    let config = json!({ "flavour": flavour, "bandwidth": "10mbit" });
    let mut link = Link::new(forest.port("cbq", &config, "50p", &Class::share), Rate::from_bits(LINK));
    let streams = forest.leaves().zip(0..).map(|(leaf, turn)| {
        let demand = forest.classes[leaf].facts.demand;
        // At 1 bit per second the second packet comes after the end.
        let from = if demand > 0.0 { turn } else { 40_000 };
        Stream::new(leaf, 1000, (demand as u64).max(1), from, 35_000)
    });
    send(&mut link, &streams.collect::<Vec<_>>());
    let rates = forest.leaves().map(|leaf| rate_of(&link, leaf, 5.0, 35.0)).collect();
    link.fault.map_or(Ok(rates), Err)
}

struct Statements {
    full: Measurement,
    owed: Measurement,
    bounded: Measurement,
    filled: Measurement,
    used: Measurement,
}

impl Statements {
    fn hold(&mut self, flavour: &str, load: Load, random: &mut Random) {
        let forest = forest(load, random);
        let rates = match measure(flavour, &forest) {
            Ok(rates) => rates,
            Err(why) => return self.full.fault(Some(&why)),
        };
        let wanted = forest.tops().iter().map(|top| wants(&forest, *top)).sum::<f64>().min(LINK as f64);
        if wanted > 0.0 {
            self.used.require_real(1.0 - rates.iter().sum::<f64>() / wanted, 0.02);
        }
        let mut ideal = Vec::new();
        fill(&forest, &forest.tops(), LINK as f64, &mut ideal);
        for ((number, got), ideal) in forest.leaves().zip(rates).zip(ideal) {
            let leaf = &forest.classes[number].facts;
            let owed = wants(&forest, number).min(leaf.rate);
            if owed > 0.0 {
                self.owed.require_real(1.0 - got / owed, 0.03);
            }
            if load == Load::Full {
                self.full.require_real((got - leaf.rate).abs() / LINK as f64, 0.02);
            } else {
                self.filled.require_real((got - ideal).abs() / LINK as f64, 0.2);
            }
            if leaf.bounded {
                self.bounded.require_real(got / leaf.rate - 1.0, 0.02);
            }
        }
    }
}

impl Oracle for CbqSharing {
    const FAMILY: &'static str = "O12";
    const NAME: &'static str = "cbq-sharing";
    const THEOREM: &'static str = "where all ask for more, each gets its rate, but for 2 % of the link; none gets less than min(demand, rate); one that is bounded gets no \
         more than its rate; what is left over is used, and shared by turns: up to a fifth of the link off the max-min shares";
    const SOURCE: &'static str =
        "Floyd and Jacobson, IEEE/ACM ToN 3(4), 1995; max-min shares by water filling";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cbq"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let names = [
            (
                "linux",
                [
                    "off its rate, of the link, linux",
                    "short of what it is owed, linux",
                    "over a bounded rate, linux",
                    "off the max-min share, of the link, linux",
                    "left unused, linux",
                ],
            ),
            (
                "altq",
                [
                    "off its rate, of the link, altq",
                    "short of what it is owed, altq",
                    "over a bounded rate, altq",
                    "off the max-min share, of the link, altq",
                    "left unused, altq",
                ],
            ),
        ];
        let mut findings = Vec::new();
        for (flavour, names) in names {
            let [full, owed, bounded, filled, used] = names.map(|what| Measurement::tolerance(what, ""));
            let mut statements = Statements { full, owed, bounded, filled, used };
            for trial in trials.each() {
                let mut random = trials.random("cbq-sharing", trial);
                statements.hold(flavour, Load::Full, &mut random);
                statements.hold(flavour, Load::Mixed, &mut random);
            }
            let Statements { full, owed, bounded, filled, used } = statements;
            findings.extend([full, owed, bounded, filled, used].map(|worst| worst.finding(trials.count)));
        }
        findings
    }
}
