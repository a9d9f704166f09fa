//! Attack: search for the traffic within the envelopes of a scenario's flows that makes a metric worst.
//!
//! ```text
//! seeds by theory -> evolution over bursts (mutants of the best) -> shrinker -> captures and a scenario
//!    greedy, synchronised, one packet ahead, on and off        a random search beside, with as many runs
//! ```
//!
//! The enemy chooses start times, bursts, lengths and gaps of every UDP flow that is not in a group and has
//! an envelope, stated or derived, and the start of every other flow that is not in a group. A flow of which
//! more is better, such as its throughput, keeps its own traffic. The search is deterministic by its seed if
//! it is bounded by runs: each generation is made from the last one alone, whatever the threads.
//!
//! What is found is a lower bound of the worst; [`prove`](crate::proof::prove) has an upper one. *Not
//! found* is effort, never safety.

mod genome;

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::metric::{Better, MetricError, Quantity, Subject, matches};
use lockgate_scenario::{Envelope, Flow, Override, Scenario, Traffic, Transport};
use lockgate_traffic::{LoadedFiles, Replay, ReplayConfig, TrafficConfig};

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

/// Limit on the runs of the shrinker.
const MOST_SHRINKING: u64 = 60;

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
    /// Worst value found.
    pub worst: Option<f64>,
    /// Worst value of as many runs of random traffic within the envelopes.
    pub random: Option<f64>,
    /// Runs made by the search when each new worst value was found, with the value.
    pub history: Vec<(u64, f64)>,
    /// Runs of the search, and those of the shrinker.
    pub runs: [u64; 2],
    /// Proven bound, if the metric is a delay of one flow.
    pub proven: Option<Result<f64, String>>,
    /// Names of the enemy's flows, with the number of their packets.
    pub flows: Vec<(String, usize)>,
    /// Captures of the found traffic, by file name.
    pub captures: Captures,
    /// Settings that replace the traffic of a scenario by the captures.
    settings: Vec<String>,
}

impl Attack {
    /// Returns the found traffic as the text of a scenario, which reads its captures from beside it.
    ///
    /// # Errors
    /// The problems of the text, which are faults of Lockgate.
    pub fn scenario(
        &self,
        read: impl FnOnce(&[Override]) -> Result<Scenario, Error>,
    ) -> Result<String, Error> {
        Ok(read(&crate::parse_settings(&self.settings)?)?.to_toml())
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
    /// 1 if more is worse, -1 if less is.
    sign: f64,
    options: &'a Options<'a>,
    seed: Seed,
}

/// A genome with its value; greater is worse for the scenario.
type Scored = (f64, Genome);

/// Searches for the traffic that makes the metric at `that` worst.
///
/// # Errors
/// If `that` is no metric, no flow has an envelope, or a run fails.
pub fn attack(
    scenario: &Scenario,
    that: &str,
    budget: Budget<'_>,
    options: &Options<'_>,
) -> Result<Attack, Error> {
    let range = Range::new(scenario, that, budget.flows, options)?;
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
    let (genome, shrinking) = range.shrunk(genome, best)?;
    let random = if budget.random { range.random(made, budget.seed)? } else { f64::NEG_INFINITY };
    let worst = |value: f64| value.is_finite().then_some(value * range.sign);
    let history = history.into_iter().map(|(runs, value)| (runs, value * range.sign)).collect();
    let (captures, settings, flows) = range.captured(&genome);
    Ok(Attack {
        that: that.to_owned(),
        own,
        worst: worst(best),
        random: worst(random),
        history,
        runs: [made, shrinking],
        proven: range.proven(scenario),
        flows,
        captures,
        settings,
    })
}

impl<'a> Range<'a> {
    fn new(
        scenario: &Scenario,
        that: &str,
        most: Option<usize>,
        options: &'a Options<'a>,
    ) -> Result<Self, Error> {
        let quantity = Quantity::parse(that)?;
        let mut scenario = scenario.clone();
        scenario.observe([that]);
        let window = scenario.warmup + WINDOW;
        if scenario.changes.is_empty() {
            scenario.duration = scenario.duration.min(window);
        }
        let is_own = |flow: &Flow| quantity.addresses().any(|address| is_of(&address.subject, &flow.name));
        let more_is_better = quantity.of.metric.better == Some(Better::Higher);
        if more_is_better && matches!(quantity.of.subject, Subject::Port(..)) {
            return Err(Error::Attack("traffic that stays away makes the metric of a port worse".to_owned()));
        }
        let is_kept = |flow: &Flow| flow.name.contains('/') || (more_is_better && is_own(flow));
        let (mut weapons, mut moved) = (Vec::new(), Vec::new());
        for (index, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| !is_kept(flow)) {
            match (flow.transport, flow.envelope(scenario.duration)) {
                (Transport::Udp, Ok(envelope)) if !flow.echo => {
                    weapons.push(Weapon { flow: index, envelope });
                }
                (Transport::Udp | Transport::Tcp(_), _) => moved.push(index),
                _ => {}
            }
        }
        if weapons.is_empty() && moved.is_empty() {
            let why = "no flow outside a group has an envelope or a start that may change";
            return Err(Error::Attack(why.to_owned()));
        }
        let rules = Rules {
            own: weapons.iter().map(|weapon| is_own(&scenario.flows[weapon.flow])).collect(),
            most,
            starts: moved.iter().map(|flow| nanos(scenario.flows[*flow].start)).collect(),
            end: nanos(scenario.duration),
        };
        let sign = if more_is_better { -1.0 } else { 1.0 };
        let seed = options.seeds.first().copied().unwrap_or(Seed(1));
        Ok(Self { scenario, weapons, moved, rules, quantity, sign, options, seed })
    }

    /// Returns the value of the scenario's own traffic.
    fn own(&self) -> Result<Option<f64>, Error> {
        self.value(&self.scenario)
    }

    fn value(&self, scenario: &Scenario) -> Result<Option<f64>, Error> {
        let options = Options { seeds: vec![self.seed], threads: Some(1), ..self.options.clone() };
        let runs = run(scenario, &options)?;
        let summary = lockgate_measure::summarise(&runs.recordings);
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

    /// Returns the scenario with the traffic of a genome.
    fn armed(&self, genome: &Genome) -> Scenario {
        let mut scenario = self.scenario.clone();
        for (flow, start) in self.moved.iter().zip(&genome.starts) {
            let flow = &mut scenario.flows[*flow];
            flow.start = Duration::from_picos(start.saturating_mul(1000));
            flow.start_law = None;
        }
        for (weapon, gene) in self.weapons.iter().zip(&genome.bursts) {
            let packets = self.packets(weapon, gene);
            let flow = &mut scenario.flows[weapon.flow];
            if packets.is_empty() {
                (flow.start, flow.start_law) = (self.scenario.duration, None);
                continue;
            }
            let file = file_of(&flow.name);
            let Ok(replay) = Replay::read(&capture(&packets)) else { continue };
            let mut files = LoadedFiles::none();
            files.replays.insert(file.clone(), Arc::new(replay));
            let replay =
                ReplayConfig { file, speed: 1.0, longest_gap: None, longest_frame: None, repeat: false };
            let config = TrafficConfig { replay: Some(replay), ..TrafficConfig::default() };
            flow.traffic = Traffic { config: Arc::new(config), files };
            flow.start = Duration::from_picos(packets.first().map_or(0, |first| first.0 * 1000));
            (flow.start_law, flow.stop) = (None, None);
        }
        scenario
    }

    /// Returns the packets of a gene: as it says, but never sooner than the envelope lets them.
    fn packets(&self, weapon: &Weapon, gene: &Gene) -> Packets {
        let Envelope { buckets, shortest, longest, .. } = &weapon.envelope;
        let second = u128::from(NANOS);
        let mut levels = vec![0_u128; buckets.len()];
        let (mut at, mut last, mut packets) = (nanos(self.scenario.warmup), 0, Packets::new());
        let end = nanos(self.scenario.duration);
        for burst in gene {
            at += burst.pause;
            let length = shortest.0 + (longest.0 - shortest.0) * u64::from(burst.length) / 255;
            for _ in 0..burst.packets {
                let needed = u128::from(length) * 8 * second;
                let mut wait = 0;
                for (level, bucket) in levels.iter_mut().zip(buckets) {
                    let rate = u128::from(bucket.rate.as_bits());
                    *level = level.saturating_sub(u128::from(at - last) * rate);
                    let excess = (*level + needed).saturating_sub(u128::from(bucket.burst.0) * 8 * second);
                    wait = wait.max(if excess == 0 {
                        0
                    } else {
                        excess.checked_div(rate).map_or(u128::MAX, |wait| wait + 1)
                    });
                }
                last = at;
                at = at.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX));
                if at >= end || packets.len() >= MOST_PACKETS {
                    return packets;
                }
                for (level, bucket) in levels.iter_mut().zip(buckets) {
                    *level = level.saturating_sub(u128::from(at - last) * u128::from(bucket.rate.as_bits()))
                        + needed;
                }
                last = at;
                packets.push((at, length as u32));
            }
        }
        packets
    }

    /// Returns the smallest genome that is as bad, as far as tried, and the runs that were made.
    fn shrunk(&self, genome: Genome, best: f64) -> Result<(Genome, u64), Error> {
        let (mut genome, mut made) = (genome, 0);
        'smaller: loop {
            for tried in self.rules.smaller(&genome) {
                if made >= MOST_SHRINKING || (self.options.stop)() {
                    return Ok((genome, made));
                }
                made += 1;
                if let Some((value, tried)) = self.score(vec![tried])?.pop()
                    && value >= best
                {
                    genome = tried;
                    continue 'smaller;
                }
            }
            return Ok((genome, made));
        }
    }

    /// Returns the worst of so many random genomes.
    fn random(&self, runs: u64, seed: u64) -> Result<f64, Error> {
        let genomes = (0..runs).map(|number| self.rules.random(&mut Dice::of(!seed, number)));
        let values = self.score(genomes.collect())?;
        Ok(values.into_iter().map(|(value, _)| value).fold(f64::NEG_INFINITY, f64::max))
    }

    /// Returns the proven bound of the metric, if it is a delay of one flow.
    fn proven(&self, scenario: &Scenario) -> Option<Result<f64, String>> {
        let address = &self.quantity.of;
        let is_delay = ["owd", "owd.bound"].contains(&address.metric.name) && self.quantity.less.is_none();
        let flow = scenario
            .flows
            .iter()
            .position(|flow| is_of(&address.subject, &flow.name))
            .filter(|_| is_delay)?;
        if let Some(why) = proof::too_large(scenario) {
            return Some(Err(why));
        }
        let found = proof::prove(scenario);
        Some(found.delay(flow).map(lockgate_calculus::to_f64).map_err(str::to_owned))
    }

    /// Returns the captures of a genome, the settings that replay them, and the flows with their packets.
    fn captured(&self, genome: &Genome) -> (Captures, Vec<String>, Vec<(String, usize)>) {
        let (mut captures, mut flows) = (BTreeMap::new(), Vec::new());
        let mut settings = vec![format!("duration={}ns", nanos(self.scenario.duration))];
        for (flow, start) in self.moved.iter().zip(&genome.starts) {
            let name = &self.scenario.flows[*flow].name;
            settings.push(format!("flow.\"{name}\".start={start}ns"));
        }
        for (weapon, gene) in self.weapons.iter().zip(&genome.bursts) {
            let flow = &self.scenario.flows[weapon.flow];
            let packets = self.packets(weapon, gene);
            let file = file_of(&flow.name);
            let path = format!("flow.\"{}\"", flow.name);
            if packets.is_empty() {
                settings.push(format!("{path}.start={}ns", nanos(self.scenario.duration)));
                flows.push((flow.name.clone(), 0));
                continue;
            }
            for key in ["gap", "rate", "size", "payload", "batch", "profile", "bursts", "stop", "start"] {
                settings.push(format!("{path}.{key}="));
            }
            settings.push(format!("{path}.replay={{ file = \"{file}\" }}"));
            settings.push(format!("{path}.start={}ns", packets.first().map_or(0, |first| first.0)));
            if flow.envelope.is_none() {
                settings.push(format!("{path}.envelope={}", stated(&weapon.envelope)));
            }
            flows.push((flow.name.clone(), packets.len()));
            captures.insert(file, capture(&packets));
        }
        (captures, settings, flows)
    }
}

/// Returns an envelope as a file states it.
fn stated(envelope: &Envelope) -> String {
    let filling = envelope.buckets.iter().filter(|bucket| !bucket.rate.is_zero());
    let buckets: Vec<String> = filling
        .map(|bucket| {
            format!("{{ rate = \"{}bit\", burst = \"{}B\" }}", bucket.rate.as_bits(), bucket.burst.0)
        })
        .collect();
    let Envelope { shortest, longest, .. } = envelope;
    format!(
        "{{ buckets = [{}], shortest = \"{}B\", longest = \"{}B\" }}",
        buckets.join(", "),
        shortest.0,
        longest.0
    )
}

fn is_of(subject: &Subject, flow: &str) -> bool {
    matches!(subject, Subject::Flow(pattern) if matches(pattern, flow))
}

fn file_of(flow: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    format!("{}.pcap", flow.chars().map(plain).collect::<String>())
}

fn nanos(time: Duration) -> u64 {
    (Instant::ZERO + time).as_picos().div_ceil(1000)
}

/// Returns a capture of packets without content: each with its time, since the first, and its length.
fn capture(packets: &Packets) -> Arc<[u8]> {
    let first = packets.first().map_or(0, |first| first.0);
    let mut bytes = Vec::with_capacity(24 + 16 * packets.len());
    // Magic number of nanoseconds, version 2.4, no offset, no accuracy, largest capture, Ethernet.
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (at, length) in packets {
        let since = at - first;
        for word in [(since / NANOS) as u32, (since % NANOS) as u32, 0, *length] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes.into()
}
