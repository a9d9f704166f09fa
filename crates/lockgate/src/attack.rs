//! Attack: search for the traffic within the envelopes of a scenario's flows that makes a metric worst.
//!
//! ```text
//! seeds by theory -> evolution over bursts (mutants of the best) -> shrinker -> captures and a scenario
//!    greedy, synchronised, one packet ahead, on and off        a random search beside, with as many runs
//! ```
//!
//! The enemy chooses start times, bursts, lengths and gaps of every UDP flow that has an envelope, stated or
//! derived, of the flows of the scenario's adversary, which share one, and the start of every other flow but
//! connections of groups. A flow of which more is better, such as its throughput, keeps its own traffic. The
//! search is deterministic by its seed if it is bounded by runs: each generation is made from the last one
//! alone, whatever the threads.
//!
//! What is found is a lower bound of the worst; [`prove`](crate::proof::prove) has an upper one. *Not
//! found* is effort, never safety.

mod genome;
mod shrinker;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_calculus::NoBound;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::metric::{Better, During, MetricError, Quantity, Subject, matches};
use lockgate_scenario::{
    Application, Bound, Envelope, Expected, Flow, Override, Scenario, TokenBucket, Transport,
};

use self::genome::{Dice, Gene, Genome, MOST_PACKETS, Rules};
use crate::run::{on_threads, run};
use crate::{Error, Options, proof};

/// Captures by their file names.
pub type Captures = BTreeMap<String, Arc<[u8]>>;

/// Mutants of a generation.
const GENERATION: usize = 16;

/// Genomes of a generation that are random instead.
const NEWCOMERS: usize = 4;

/// Parents of a generation.
const PARENTS: usize = 4;

/// Time of the run behind its warm-up that an attack uses at most.
pub const WINDOW: Duration = Duration::from_secs(2);

const NANOS: u64 = 1_000_000_000;

/// Packets of a flow: times in nanoseconds since the start of the run, and lengths.
type Packets = Vec<(u64, u32)>;

/// Flow of the enemy.
struct Weapon {
    /// Index in the scenario.
    flow: usize,
    envelope: Envelope,
}

/// Bounds of a search.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// Runs of the search, without those of the shrinker and of the random search.
    pub runs: u64,
    /// Seed of the search.
    pub seed: u64,
    /// Largest number of flows of the enemy that send, besides that of the metric.
    pub flows: Option<usize>,
    /// True to compare with as many runs of random traffic.
    pub random: bool,
    /// Callback that ends the search, after a generation, by returning true.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

/// Found traffic.
#[derive(Clone, Debug)]
pub struct Attack {
    /// Address of the metric.
    pub that: String,
    /// Value with the scenario's own traffic; `None` if it observed nothing.
    pub own: Option<f64>,
    /// Worst value found by the search.
    pub worst: Option<f64>,
    /// True if the search found a value worse than that of the scenario's own traffic.
    pub is_worse: bool,
    /// Value of the shrunk traffic, which is written: the worst, or, to have few lines, one that breaks the
    /// expectation as well, or is within a tenth of the worst.
    pub kept: Option<f64>,
    /// Shrunk traffic in words: a line for each burst, and for each start that differs.
    pub lines: Vec<String>,
    /// Worst value of as many runs of random traffic within the envelopes.
    pub random: Option<f64>,
    /// Runs made by the search when each new worst value was found, with the value.
    pub history: Vec<(u64, f64)>,
    /// Runs of the search, and those of the shrinker.
    pub runs: [u64; 2],
    /// Proven bound, if the metric is a delay of one flow.
    pub proven: Option<Result<f64, NoBound>>,
    /// Names of the enemy's flows, with the number of their packets.
    pub flows: Vec<(String, usize)>,
    /// Captures of the found traffic, by file name.
    pub captures: Captures,
    /// Settings that replace the traffic of a scenario by the captures.
    settings: Vec<String>,
}

impl Attack {
    /// Returns the worst value known: of the search, or of the scenario's own traffic.
    pub fn worst_known(&self) -> Option<f64> {
        if self.is_worse { self.worst } else { self.own }
    }

    /// Returns the found traffic as the text of a scenario, which reads its captures from beside it.
    ///
    /// # Errors
    /// The problems of the text, which are faults of Lockgate.
    pub fn scenario(
        &self,
        read: impl FnOnce(&[Override]) -> Result<Scenario, Error>,
    ) -> Result<String, Error> {
        let text = read(&crate::parse_settings(&self.settings)?)?.to_toml();
        let lines = self.lines.iter().fold(String::new(), |lines, line| lines + "#   " + line + "\n");
        Ok(format!("# Found by `lockgate attack` for {}:\n{lines}{text}", self.that))
    }
}

/// Scenario under attack.
struct Range<'a> {
    scenario: Scenario,
    weapons: Vec<Weapon>,
    /// Indices of the flows that can only be moved.
    moved: Vec<usize>,
    rules: Rules,
    quantity: Quantity,
    /// Expectation on it, if the scenario has one.
    expected: Option<Expected>,
    /// Earliest time of a packet of the enemy, in nanoseconds.
    begin: u64,
    /// 1 if more is worse, -1 if less is.
    sign: f64,
    options: &'a Options<'a>,
    seed: Seed,
}

/// A genome with its value; greater is worse for the scenario.
type Scored = (f64, Genome);

/// Token buckets of an envelope while packets are sent: levels in bits, times a second in nanoseconds.
struct Tokens<'a> {
    buckets: &'a [TokenBucket],
    levels: Vec<u128>,
    /// Time of the last packet.
    last: u64,
}

impl<'a> Tokens<'a> {
    fn new(envelope: &'a Envelope) -> Self {
        Self { buckets: &envelope.buckets, levels: vec![0; envelope.buckets.len()], last: 0 }
    }

    /// Lets the buckets drain until `at`.
    fn pass(&mut self, at: u64) {
        for (level, bucket) in self.levels.iter_mut().zip(self.buckets) {
            *level = level.saturating_sub(u128::from(at - self.last) * u128::from(bucket.rate.as_bits()));
        }
        self.last = at;
    }

    /// Sends a packet as soon after `at` as the buckets hold it; returns the time.
    fn send(&mut self, at: u64, length: u64) -> u64 {
        self.pass(at.max(self.last));
        let second = u128::from(NANOS);
        let needed = u128::from(length) * 8 * second;
        let wait = self.levels.iter().zip(self.buckets).map(|(level, bucket)| {
            let excess = (level + needed).saturating_sub(u128::from(bucket.burst.0) * 8 * second);
            let wait = || excess.checked_div(bucket.rate.as_bits().into()).map_or(u128::MAX, |wait| wait + 1);
            if excess == 0 { 0 } else { wait() }
        });
        let wait = u64::try_from(wait.max().unwrap_or(0)).unwrap_or(u64::MAX);
        self.pass(self.last.saturating_add(wait));
        self.levels.iter_mut().for_each(|level| *level += needed);
        self.last
    }
}

/// Searches for the traffic that makes the metric at `that` worst; for `expected`, an expectation on it, the
/// value by which that is judged.
///
/// # Errors
/// If `that` is no metric, no flow has an envelope, or a run fails.
pub fn attack(
    scenario: &Scenario,
    that: &str,
    expected: Option<&Expected>,
    budget: Budget<'_>,
    options: &Options<'_>,
) -> Result<Attack, Error> {
    let range = Range::new(scenario, (that, expected), budget.flows, options)?;
    let own = range.own()?;
    let mut history = Vec::new();
    let mut made = 0;
    let mut population: Vec<Scored> = range.score(range.rules.seeds())?;
    while !population.is_empty() {
        made += if made == 0 { population.len() as u64 } else { GENERATION as u64 };
        // The order of equal values is that of their making.
        population.sort_by(|one, other| other.0.total_cmp(&one.0));
        population.truncate(PARENTS);
        let best = population[0].0;
        if best.is_finite() && history.last().is_none_or(|(_, value)| best > *value) {
            history.push((made, best));
        }
        if made >= budget.runs || (budget.is_over)() || (options.stop)() {
            break;
        }
        let mutants = (0..GENERATION).map(|number| {
            let mut dice = Dice::of(budget.seed, made + number as u64);
            // Without theory, a search may stay near its seeds.
            if number >= GENERATION - NEWCOMERS {
                return range.rules.random(&mut dice);
            }
            let parent = dice.below(population.len() as u64) as usize;
            range.rules.mutant(&population[parent].1, &mut dice)
        });
        let mutants = range.score(mutants.collect())?;
        population.extend(mutants);
    }
    let nothing = || Genome { bursts: Vec::new(), starts: Vec::new() };
    let (best, genome) = population.into_iter().next().unwrap_or_else(|| (f64::NEG_INFINITY, nothing()));
    let shrunk = range.shrunk((best, genome))?;
    let random = if budget.random { range.random(made, budget.seed)? } else { f64::NEG_INFINITY };
    let signed = |value: f64| value.is_finite().then_some(value * range.sign);
    let history = history.into_iter().map(|(runs, value)| (runs, value * range.sign)).collect();
    let (kept, genome) = shrunk.found;
    let written = range.written(&genome);
    Ok(Attack {
        that: that.to_owned(),
        own,
        worst: signed(best),
        is_worse: best.is_finite() && own.is_none_or(|own| best > own * range.sign),
        kept: signed(kept),
        lines: range.lines(&genome),
        random: signed(random),
        history,
        runs: [made, shrunk.runs],
        proven: range.proven(scenario),
        flows: written.flows,
        captures: written.captures,
        settings: written.settings,
    })
}

/// Returns whether a flow's packets, or its start, are the enemy's to choose. A connection that controls
/// others follows them, and those of a group may start by one law.
fn is_free(flow: &Flow) -> bool {
    match flow.transport {
        Transport::Udp => true,
        Transport::Tcp(model) => {
            !matches!(model.application, Application::Control { .. }) && !flow.name.contains('/')
        }
        Transport::UdpReturn { .. } | Transport::TcpReturn { .. } | Transport::Outside { .. } => false,
    }
}

/// Returns whether less is worse: as the expectation bounds it, or else as the metric is.
fn is_more_better(expected: Option<&Expected>, quantity: &Quantity) -> bool {
    let is_least = |bound: &Bound| match bound {
        Bound::Above(_) | Bound::AtLeast(_) => Some(true),
        Bound::Below(_) | Bound::AtMost(_) => Some(false),
        Bound::Between(..) => None,
    };
    let bounds = || expected.into_iter().flat_map(|expected| &expected.bounds).map(is_least);
    let by_bound = bounds().next().filter(|first| bounds().all(|bound| bound == *first)).flatten();
    by_bound.unwrap_or(quantity.of.metric.better == Some(Better::Higher))
}

impl<'a> Range<'a> {
    fn new(
        scenario: &Scenario,
        (that, expected): (&str, Option<&Expected>),
        most: Option<usize>,
        options: &'a Options<'a>,
    ) -> Result<Self, Error> {
        let quantity = Quantity::parse(that)?;
        let expected = expected.filter(|expected| !expected.proven).cloned();
        let mut scenario = scenario.clone();
        scenario.observe([that]);
        let parts = scenario.observed_parts();
        if scenario.changes.is_empty() && parts.is_empty() {
            scenario.duration = scenario.duration.min(scenario.warmup + WINDOW);
        }
        let part = quantity.addresses().filter_map(|address| address.during).min_by_key(|part| part.from);
        let begin = part.map_or(scenario.warmup, |During { from, .. }| from.since(Instant::ZERO));
        let is_own = |flow: &Flow| quantity.addresses().any(|address| is_of(&address.subject, &flow.name));
        let more_is_better = is_more_better(expected.as_ref(), &quantity);
        if more_is_better && matches!(quantity.of.subject, Subject::Port(..)) {
            return Err(Error::Attack("traffic that stays away makes the metric of a port worse".to_owned()));
        }
        let (mut weapons, mut moved) = (Vec::new(), Vec::new());
        for (index, flow) in scenario.flows.iter().enumerate() {
            if !is_free(flow) || (more_is_better && is_own(flow)) {
                continue;
            }
            match flow.envelope(scenario.duration) {
                Ok(envelope) if flow.transport == Transport::Udp && !flow.echo => {
                    weapons.push(Weapon { flow: index, envelope });
                }
                _ => moved.push(index),
            }
        }
        // Where the metric's flow starts is no matter if nothing beside it may change.
        let is_alone = moved.len() <= 1 && moved.iter().all(|flow| is_own(&scenario.flows[*flow]));
        if weapons.is_empty() && is_alone {
            let why = "no flow has an envelope, or a start that may change beside that of the metric's";
            return Err(Error::Attack(why.to_owned()));
        }
        let rules = Rules {
            own: weapons.iter().map(|weapon| is_own(&scenario.flows[weapon.flow])).collect(),
            joins: joins(&scenario, &weapons, &is_own),
            most,
            starts: moved.iter().map(|flow| nanos(scenario.flows[*flow].start)).collect(),
            end: nanos(scenario.duration),
        };
        let sign = if more_is_better { -1.0 } else { 1.0 };
        let seed = options.seeds.first().copied().unwrap_or(Seed(1));
        let begin = nanos(begin);
        Ok(Self { scenario, weapons, moved, rules, quantity, expected, begin, sign, options, seed })
    }

    /// Returns the value of the scenario's own traffic.
    fn own(&self) -> Result<Option<f64>, Error> {
        self.value(&self.scenario)
    }

    fn value(&self, scenario: &Scenario) -> Result<Option<f64>, Error> {
        let options = Options { seeds: vec![self.seed], threads: Some(1), ..self.options.clone() };
        let runs = run(scenario, &options)?;
        let mut summary = lockgate_measure::summarise(&runs.recordings);
        if let Some(expected) = &self.expected {
            summary.expect(expected)?;
            return Ok(summary.expect.last().and_then(|judged| judged.value));
        }
        for address in self.quantity.addresses() {
            if let Err(unknown @ MetricError::Unknown { .. }) = summary.metric(&address.to_string()) {
                return Err(unknown.into());
            }
        }
        Ok(summary.quantity(&self.quantity))
    }

    /// Runs genomes on all threads. A run without value is the least.
    fn score(&self, genomes: Vec<Genome>) -> Result<Vec<Scored>, Error> {
        let one = |genome: &Genome| {
            let value = self.value(&self.armed(genome))?;
            Ok(value.map_or(f64::NEG_INFINITY, |value| value * self.sign))
        };
        let values = on_threads(&genomes, self.options.threads, one)?;
        Ok(values.into_iter().zip(genomes).collect())
    }

    /// Returns the packets of each flow with an envelope: as the genome says, but never sooner than the
    /// envelopes let them.
    fn traffic(&self, genome: &Genome) -> Vec<Packets> {
        let weapons = self.weapons.iter().zip(&genome.bursts);
        let mut all: Vec<Packets> = weapons.map(|(weapon, gene)| self.packets(weapon, gene)).collect();
        self.share(&mut all);
        all
    }

    /// Returns the packets of a gene within the flow's own envelope.
    fn packets(&self, weapon: &Weapon, gene: &Gene) -> Packets {
        let Envelope { shortest, longest, .. } = weapon.envelope;
        let mut tokens = Tokens::new(&weapon.envelope);
        let (mut at, end) = (self.begin, nanos(self.scenario.duration));
        let mut packets = Packets::new();
        for burst in gene {
            at = at.saturating_add(burst.pause);
            let length = shortest.0 + (longest.0 - shortest.0) * u64::from(burst.length) / 255;
            for _ in 0..burst.packets {
                at = tokens.send(at, length);
                if at >= end || packets.len() >= MOST_PACKETS {
                    return packets;
                }
                packets.push((at, length as u32));
            }
        }
        packets
    }

    /// Delays the packets of the adversary's flows until the bucket that they share holds them.
    fn share(&self, all: &mut [Packets]) {
        let is_shared = |weapon: &Weapon| self.scenario.adversary.contains(&weapon.flow);
        let shared: Vec<usize> = (0..all.len()).filter(|index| is_shared(&self.weapons[*index])).collect();
        let [first, _, ..] = shared.as_slice() else { return };
        let mut tokens = Tokens::new(&self.weapons[*first].envelope);
        let mut sent: Vec<(u64, usize, u32)> = Vec::new();
        for index in &shared {
            sent.extend(all[*index].drain(..).map(|(at, length)| (at, *index, length)));
        }
        // The order of one flow's packets is kept.
        sent.sort_by_key(|(at, index, _)| (*at, *index));
        let end = nanos(self.scenario.duration);
        for (at, index, length) in sent {
            let at = tokens.send(at, length.into());
            if at >= end {
                return;
            }
            all[index].push((at, length));
        }
    }

    /// Returns the worst of so many random genomes.
    fn random(&self, runs: u64, seed: u64) -> Result<f64, Error> {
        let genomes = (0..runs).map(|number| self.rules.random(&mut Dice::of(!seed, number)));
        let values = self.score(genomes.collect())?;
        Ok(values.into_iter().map(|(value, _)| value).fold(f64::NEG_INFINITY, f64::max))
    }

    /// Returns the proven bound of the metric, if it is a delay of flows: that of all of them.
    fn proven(&self, scenario: &Scenario) -> Option<Result<f64, NoBound>> {
        let address = &self.quantity.of;
        let is_delay = ["owd", "owd.bound"].contains(&address.metric.name) && self.quantity.less.is_none();
        let is_own = |index: &usize| is_of(&address.subject, &scenario.flows[*index].name);
        let own: Vec<usize> = (0..scenario.flows.len()).filter(is_own).collect();
        if !is_delay || own.is_empty() {
            return None;
        }
        if let Some(why) = proof::too_large(scenario) {
            return Some(Err(why.into()));
        }
        let found = proof::prove(scenario);
        let bound = own.iter().try_fold(0.0_f64, |most, index| {
            Ok::<f64, &NoBound>(most.max(found.delay(*index).map(lockgate_calculus::to_f64)?))
        });
        Some(bound.map_err(NoBound::clone))
    }
}

/// Returns the number of hops that the first flow of the metric has passed where each flow with an envelope
/// joins it; 0 for one that never does.
fn joins(scenario: &Scenario, weapons: &[Weapon], is_own: &dyn Fn(&Flow) -> bool) -> Vec<u64> {
    let path = |flow: &Flow| scenario.routes.path(flow.from, flow.to).unwrap_or_default();
    let own = scenario.flows.iter().find(|flow| is_own(flow)).map(path).unwrap_or_default();
    let join = |weapon: &Weapon| {
        let other = path(&scenario.flows[weapon.flow]);
        own.iter().position(|port| other.contains(port)).unwrap_or(0) as u64
    };
    weapons.iter().map(join).collect()
}

fn is_of(subject: &Subject, flow: &str) -> bool {
    match subject {
        Subject::Flow(pattern) => matches(pattern, flow),
        Subject::Group(group) | Subject::Bin(group, _) => flow.split('/').next() == Some(group),
        Subject::Run | Subject::Port(_) | Subject::Queue(..) => false,
    }
}

fn nanos(time: Duration) -> u64 {
    (Instant::ZERO + time).as_picos().div_ceil(1000)
}
