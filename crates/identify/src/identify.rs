//! The experiment: rounds of probes, each chosen to separate what is left.

use crate::candidates::Candidate;
use crate::estimate::{Estimate, estimate, goodput, seen};
use crate::features::{Feature, Kind, Noise, features, simulated_base};
use crate::fit::{Fit, is_free, line, odds};
use crate::judge::{HOPELESS, Judge, LEAST_ODDS, candidates, is_missed};
use crate::moments::{LENGTHS, Moments, moments};
use crate::plan::{Scale, ramp, reason, round};
use crate::probe::{FULL, Observation, Probe, Purpose, Round, Sent};
use lockgate_engine::random::Seed;

/// Sender and receiver of probes.
pub trait Prober {
    /// The error of a network or of a file.
    type Error;

    /// Sends the last round of `probe`; the rounds before it were sent earlier. Corrects the times of
    /// sending to those that were kept, and returns the arrivals of all rounds so far.
    ///
    /// # Errors
    /// If packets cannot be sent or observed.
    fn send(&mut self, probe: &mut Probe) -> Result<Observation, Self::Error>;

    /// Returns the time by the sender's clock at which the round with this index is planned, in picoseconds:
    /// of real lines it goes on while the judge computes. Zero if no time passes between rounds.
    fn now(&self, _index: usize) -> u64 {
        0
    }

    /// Returns true if packets are real: they reach the queue a little later than they are stamped.
    fn is_real(&self) -> bool {
        false
    }

    /// Returns why nothing can be decided by what was sent and observed, if so.
    fn objection(&self) -> Option<String> {
        None
    }
}

/// Limits of an experiment.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes that may be sent.
    pub bytes: u64,
    /// Seconds that it may last.
    pub seconds: f64,
    /// Highest rate in bit/s.
    pub most: f64,
    /// Names of candidates that are left out.
    pub without: Vec<&'static str>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 20_000_000, seconds: 30.0, most: 1e8, without: Vec::new() }
    }
}

/// Conclusion about the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The queue is that of the best fit, by odds of at least twenty to one.
    Decided,
    /// The best fits are too close.
    Undecided,
    /// No candidate fits.
    NoneOfThese,
    /// Nothing was learnt: why.
    Unknown(String),
}

/// Result of an experiment.
#[derive(Clone, Debug)]
pub struct Identified {
    /// Packets sent.
    pub probe: Probe,
    /// Arrivals.
    pub observed: Observation,
    /// Direct estimates; `None` if nothing arrived in excess.
    pub estimate: Option<Estimate>,
    /// Fits, the best first.
    pub fits: Vec<Fit>,
    /// Odds of the best against all others.
    pub odds: f64,
    /// Conclusion about the queue.
    pub verdict: Verdict,
    /// Rate and others by simulated moments, of a queue that is decided.
    pub moments: Option<Moments>,
    /// Simulated passes.
    pub passes: usize,
    /// True if bytes or time are left for less than a round of excess.
    pub is_spent: bool,
}

impl Identified {
    /// Returns the rate with the half width of its interval, in bit/s: of a queue that is decided by
    /// simulated moments, else the goodput in excess or the spacing of packets. `None` without an estimate.
    pub fn rate(&self) -> Option<(f64, f64)> {
        let estimate = self.estimate.as_ref()?;
        let has_credit = self.fits.first().is_some_and(|fit| is_free(fit.candidate));
        // Moments that tell less than the estimate tell nothing.
        Some(match self.moments.filter(|found| found.half < VAGUE * found.rate) {
            // Spacings that no pass has, such as those of cells: without others goodput alone is the rate.
            Some(Moments { half, others, misfit, .. })
                if (others <= 0.0 || misfit > UNLIKE)
                    && half > PLAIN * estimate.goodput
                    && estimate.is_quiet()
                    && !has_credit =>
            {
                (estimate.goodput, estimate.goodput * PLAIN)
            }
            Some(Moments { rate, half, .. }) => (rate, half),
            None if estimate.is_quiet() => (estimate.goodput, estimate.goodput * 0.02),
            None => (estimate.rate, estimate.rate * VAGUE),
        })
    }
}

/// Rounds that may follow the first ones, by what they separate.
const FURTHER: [Purpose; 4] = [Purpose::Share, Purpose::Classes, Purpose::Ecn, Purpose::Gentle];

/// Mean misfit between two candidates' predictions, below which a round does not separate them.
const LEAST_SEPARATION: f64 = 12.0;

/// Losses in a step of the ramp up to which it is sent once more.
const MOST_STRAY: usize = 2;

/// Logarithm of odds beyond those that decide, up to which a candidate is a rival.
const MARGIN: f64 = 0.75;

/// Pause in seconds in which a bucket fills again.
const REFILL: f64 = 0.8;

/// Time in seconds that a bucket's credit lasts at the rate, above which a round far above the rate is sent.
const LONG_CREDIT: f64 = 0.25;

/// Most rounds of excess until one exceeds the rate as planned.
const MOST_EXCESSES: usize = 5;

/// Picosecond in seconds.
const PICO: f64 = 1e-12;

/// Time in seconds from planning a round to its first packet.
const LEAD: f64 = 0.02;

/// Share of the excess that comes through, from which on it was no excess.
const THROUGH: f64 = 0.97;

/// Longest wait in seconds up to which a line without losses shows no queue.
const LEAST_WAIT: f64 = 0.02;

/// Findings of a judge.
#[derive(Default)]
struct Judgement {
    /// Fits, the best first.
    fits: Vec<Fit>,
    /// Rate and others of the best.
    moments: Option<Moments>,
    /// Simulated passes.
    passes: usize,
}

/// Relative half width of the interval of a goodput on a quiet line.
const PLAIN: f64 = 0.01;

/// The same of the spacing of packets beside others.
const VAGUE: f64 = 0.2;

/// Misfit of a statistic above which no pass has the spacings.
const UNLIKE: f64 = 10.0;

/// Misfit of a statistic up to which rate and others count as known before the queue is.
const KNOWN: f64 = 4.0;

/// State of an experiment.
struct Experiment<'p, P> {
    prober: &'p mut P,
    limits: Limits,
    probe: Probe,
    observed: Observation,
    /// Time at which the next round may begin, in seconds.
    next: f64,
    /// Time at which it is planned, in picoseconds.
    planned: u64,
}

impl<P: Prober> Experiment<'_, P> {
    fn send(&mut self, purpose: Purpose, reason: String, packets: Vec<Sent>) -> Result<(), P::Error> {
        if packets.is_empty() {
            return Ok(());
        }
        self.probe.rounds.push(Round { purpose, reason, packets, planned: self.planned });
        self.observed = self.prober.send(&mut self.probe)?;
        // The queue must be empty before the next round: by the longest delay over the least one.
        let index = self.probe.rounds.len() - 1;
        let least = (0..=index)
            .flat_map(|index| seen(&self.probe, &self.observed, index))
            .map(|seen| seen.delay)
            .fold(f64::INFINITY, f64::min);
        let ends = seen(&self.probe, &self.observed, index).map(|seen| seen.at + seen.delay - least);
        let sent = self.probe.rounds[index].packets.last().map_or(0.0, |sent| sent.at as f64 * 1e-12);
        self.next = ends.fold(sent, f64::max) + 0.05;
        Ok(())
    }

    fn scale(&self, rate: f64) -> Scale {
        Scale {
            rate,
            most: self.limits.most,
            bytes: self.limits.bytes.saturating_sub(self.probe.bytes()) as f64,
            seconds: (self.limits.seconds - self.next - 0.5).max(0.0),
        }
    }

    /// Sends the round of `purpose`, scaled by `rate`.
    fn send_round(&mut self, purpose: Purpose, rate: f64) -> Result<(), P::Error> {
        let packets = round(purpose, self.next, &self.scale(rate));
        self.send(purpose, reason(purpose).to_owned(), packets)
    }

    fn estimate(&self) -> Option<Estimate> {
        estimate(&self.probe, &self.observed)
    }

    /// Sends the rounds that show rate, bucket and limit; the ramp said about `rate`.
    fn fill(&mut self, rate: f64) -> Result<(), P::Error> {
        // Buckets fill again after the ramp.
        self.next += REFILL;
        self.send_round(Purpose::Train, rate)?;
        self.next += REFILL;
        let mut rate = rate;
        // The ramp may have ended early, or passed on a bucket's credit: what comes through is no excess
        // then.
        for _ in 0..MOST_EXCESSES {
            self.send_round(Purpose::Excess, rate)?;
            let Some(now) = self.estimate() else { return Ok(()) };
            let through = now.goodput / now.sent_rate;
            if through > THROUGH && now.sent_rate < 0.9 * self.limits.most {
                rate = now.sent_rate * 1.4;
            } else if (now.rate / rate - 1.0).abs() > 0.25 {
                rate = now.rate;
            } else {
                break;
            }
        }
        let Some(now) = self.estimate() else { return Ok(()) };
        if now.is_unqueued() {
            // No spacing tells the rate.
            return self.send_round(Purpose::Flood, now.rate);
        }
        if !now.is_full {
            self.send_round(Purpose::Deep, rate)?;
        }
        let Some(now) = self.estimate() else { return Ok(()) };
        // Credit that the excess did not use up would pass for rate.
        let has_credit = now.bucket * 8.0 / now.rate > LONG_CREDIT;
        if has_credit && !self.probe.rounds.iter().any(|round| round.purpose == Purpose::Deep) {
            self.send_round(Purpose::Deep, now.rate)?;
        }
        Ok(())
    }

    /// Returns why no queue can be seen, if all that was sent came through at once.
    fn lack_of_excess(&self) -> Option<String> {
        let Estimate { goodput, sent_rate, is_full, wait, jitter, .. } = self.estimate()?;
        let is_through = goodput > THROUGH * sent_rate && !is_full && wait < LEAST_WAIT + 10.0 * jitter;
        let rate = lockgate_measure::figures::quantity(Some(goodput), "bit/s");
        is_through.then(|| {
            format!("all came through at {rate}: the line is faster, and `--most` limits what is sent")
        })
    }

    /// Judges, and sends the round that separates what is left, until none does.
    fn separate(&mut self) -> Result<Judgement, P::Error> {
        let all: Vec<&'static Candidate> = candidates(&self.limits.without);
        let mut left = all.clone();
        let mut further: Vec<Purpose> = FURTHER.to_vec();
        let (mut fits, mut found, mut passes, mut is_confirmed) = (Vec::new(), None, 0, false);
        let mut known: Option<Moments> = None;
        while let Some(mut now) = self.estimate() {
            now.apply(known.as_ref());
            let mut judge = Judge::new(&self.probe, &self.observed, &now, self.prober.is_real());
            fits = judge.rank(&left, &fits);
            if known.is_none() && !now.is_quiet() {
                // Rate and length of others' frames are much the same whatever the queue: all are fitted
                // again with them.
                passes += judge.passes;
                let best = fits.first();
                known = best.and_then(|fit| moments(&self.probe, &self.observed, &now, fit, &LENGTHS));
                known = known.filter(|known| known.misfit < KNOWN);
                now.apply(known.as_ref());
                judge = Judge::new(&self.probe, &self.observed, &now, self.prober.is_real());
                let is_same = |known: &Moments, fit: &Fit| {
                    (known.rate / fit.setting.rate - 1.0).abs() < 0.005 && known.length == fit.length
                };
                if known.zip(best).is_some_and(|(known, fit)| !is_same(&known, fit)) {
                    left.clone_from(&all);
                    fits = judge.rank(&left, &[]);
                }
            }
            let lengths = known.map_or(LENGTHS.to_vec(), |known| vec![known.length]);
            let best = fits.first().map_or(0.0, |fit| fit.misfit);
            let is_left = |fit: &&Fit| fit.misfit - best < HOPELESS;
            left = fits.iter().filter(is_left).map(|fit| fit.candidate).collect();
            self.planned = self.prober.now(self.probe.rounds.len());
            self.next = self.next.max(self.planned as f64 * PICO + LEAD);
            let scale = self.scale(now.rate);
            let next = choose(self, &fits, &further, &scale, LEAST_SEPARATION);
            let next = next.or_else(|| {
                // One more look at what was decided by few rounds, for queues that are none of the
                // candidates.
                let purpose = (!is_confirmed).then(|| further.first().copied()).flatten()?;
                is_confirmed = true;
                Some((purpose, format!("{}: to confirm", reason(purpose))))
            });
            let next = next.or_else(|| {
                found = judge.settle(&self.observed, &mut fits, &all, &lengths);
                // Rivals that were fitted again may be near enough for another round: any, if still open.
                choose(self, &fits, &further, &scale, 0.0).filter(|_| odds(&fits) < LEAST_ODDS)
            });
            let Some((purpose, why)) = next else {
                passes += judge.passes;
                break;
            };
            further.retain(|other| *other != purpose);
            let packets = round(purpose, self.next, &scale);
            passes += judge.passes;
            if packets.iter().filter(|sent| sent.length == FULL).count() < 40 {
                found = judge.settle(&self.observed, &mut fits, &all, &lengths);
                break;
            }
            self.send(purpose, why, packets)?;
        }
        // If the last search ended beside the statistics, that of the first rounds is nearer.
        let moments = found.filter(|found| found.misfit < KNOWN || known.is_none()).or(known);
        Ok(Judgement { fits, moments, passes })
    }

    /// Raises the rate until not all of it comes through. Returns the rate that did.
    fn ramp(&mut self) -> Result<Option<f64>, P::Error> {
        let (mut rate, mut through): (f64, Option<f64>) = (500e3, None);
        let mut is_repeated = false;
        loop {
            let rising = rate.min(self.limits.most);
            let packets = ramp(self.next, rising);
            let bytes: u64 = packets.iter().map(|sent| u64::from(sent.length)).sum();
            if self.probe.bytes() + bytes > self.limits.bytes / 3 {
                return Ok(through);
            }
            self.send(
                Purpose::Ramp,
                format!("{} at {:.3} Mbit/s", reason(Purpose::Ramp), rising / 1e6),
                packets,
            )?;
            let index = self.probe.rounds.len() - 1;
            let sent = self.probe.rounds[index].packets.len();
            let came = self.observed.rounds[index].iter().flatten().count();
            let got = goodput(&self.probe, &self.observed, index, 0.0);
            through = got.or(through);
            let is_over = got.is_none_or(|got| got < 0.85 * rising) || came * 10 < sent * 9;
            // One packet of ten that a link loses would pass for the rate; others may fill a queue meanwhile.
            let is_stray = (1..=MOST_STRAY).contains(&(sent - came));
            if is_over && !is_repeated && (is_stray || through.is_none() && came > 0) {
                is_repeated = true;
                continue;
            }
            is_repeated = false;
            if is_over && got.is_some() {
                return Ok(through);
            }
            if is_over || rising >= self.limits.most {
                return Ok(if is_over { through } else { got });
            }
            rate *= 2.0;
        }
    }
}

/// Identifies the line between the two ends of `prober`.
///
/// # Errors
/// Those of the prober.
pub fn identify<P: Prober>(prober: &mut P, limits: &Limits) -> Result<Identified, P::Error> {
    let mut experiment = Experiment {
        prober,
        limits: limits.clone(),
        probe: Probe::default(),
        observed: Observation::default(),
        next: LEAD,
        planned: 0,
    };
    let Some(rate) = experiment.ramp()? else {
        let came = experiment.observed.rounds.iter().flatten().flatten().count();
        let why = match (came, experiment.probe.packets().count()) {
            (0, _) => "nothing arrived".to_owned(),
            (came, sent) => format!("too few packets arrived: {came} of {sent}"),
        };
        return Ok(conclude(experiment, Judgement::default(), Some(why)));
    };
    experiment.fill(rate)?;
    if let Some(why) = experiment.lack_of_excess() {
        return Ok(conclude(experiment, Judgement::default(), Some(why)));
    }
    let judgement = experiment.separate()?;
    Ok(conclude(experiment, judgement, None))
}

/// Chooses the round that separates the fits which are left best, by more than `least`, by what they predict
/// of it. If `least` is zero, the best is compared with the next three, however far they are: small odds of
/// each may be too large together.
fn choose<P>(
    experiment: &Experiment<'_, P>,
    fits: &[Fit],
    further: &[Purpose],
    scale: &Scale,
    least: f64,
) -> Option<(Purpose, String)> {
    let best = fits.first()?;
    let limit = best.log_likelihood() - libm::log(LEAST_ODDS) - MARGIN;
    let is_rival = |fit: &&Fit| least <= 0.0 || fit.log_likelihood() > limit;
    let rivals: Vec<&Fit> = fits[1..].iter().filter(is_rival).take(3).collect();
    let mut chosen: Option<(f64, Purpose, String)> = None;
    for &purpose in further {
        let packets = round(purpose, experiment.next, scale);
        let probe = Probe { rounds: vec![Round { purpose, reason: String::new(), packets, planned: 0 }] };
        let predict = |fit: &Fit| {
            let observed = line(fit.candidate, &fit.setting)?.pass(&probe, fit.of_others(), Seed(7))?;
            Some(features(&probe, &observed, &simulated_base(&probe, &observed), 0.0, 0.0))
        };
        let Some(own) = predict(best) else { continue };
        for rival in &rivals {
            let Some(other) = predict(rival) else { continue };
            let separation = separation(&own, &other, scale);
            if separation > chosen.as_ref().map_or(least, |chosen| chosen.0) {
                let why = format!(
                    "{}; separates {} from {}",
                    reason(purpose),
                    best.candidate.name,
                    rival.candidate.name
                );
                chosen = Some((separation, purpose, why));
            }
        }
    }
    chosen.map(|(_, purpose, why)| (purpose, why))
}

/// Sum of the misfits between two predictions.
fn separation(one: &[Feature], two: &[Feature], scale: &Scale) -> f64 {
    let wait = one.iter().filter(|feature| feature.kind == Kind::Wait);
    let wait = wait.map(|feature| feature.value).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let noise = Noise { packet_time: scale.packet_time(), jitter: 0.0, loss: 0.0, wait, busy: 0.0 };
    let pairs = one.iter().zip(two).filter(|(one, two)| one.value.is_finite() && two.value.is_finite());
    pairs
        .map(|(one, two)| {
            let distance = (one.value - two.value) / one.floor(&noise);
            6.0 * libm::log(1.0 + distance * distance / 6.0)
        })
        .sum()
}

/// Why a queue that no candidate fits is not called none of these.
const HIDDEN: &str =
    "others, or the jitter, hide what its queue does: ask when they are fewer, or of a file with --alone";

fn conclude<P: Prober>(
    experiment: Experiment<'_, P>,
    judgement: Judgement,
    why: Option<String>,
) -> Identified {
    let Judgement { fits, moments, passes } = judgement;
    let odds = odds(&fits);
    let estimate = experiment.estimate();
    let is_hidden = || estimate.as_ref().is_some_and(Estimate::is_hidden);
    let why = experiment.prober.objection().or(why);
    let verdict = match (why, fits.first()) {
        (Some(why), _) => Verdict::Unknown(why),
        (None, None) => Verdict::Unknown("too few packets arrived in excess of the rate".to_owned()),
        (None, Some(best)) if is_missed(best) && is_hidden() => Verdict::Unknown(HIDDEN.to_owned()),
        (None, Some(best)) if is_missed(best) => Verdict::NoneOfThese,
        (None, Some(_)) if odds < LEAST_ODDS => Verdict::Undecided,
        (None, Some(_)) => Verdict::Decided,
    };
    let is_spent = estimate.as_ref().is_some_and(|estimate| experiment.scale(estimate.rate).is_spent());
    let Experiment { probe, observed, .. } = experiment;
    let moments = moments.filter(|_| verdict == Verdict::Decided);
    Identified { probe, observed, estimate, fits, odds, verdict, moments, passes, is_spent }
}
