//! Properties of an identified line, for a person: value, interval, and how it was seen.

use lockgate_engine::units::Rate;
use lockgate_measure::figures;
use serde::Serialize;

use crate::candidates::{Setting, Unknown};
use crate::estimate::seen;
use crate::fit::Fit;
use crate::identify::{Identified, Verdict};
use crate::judge::LEAST_ODDS;
use crate::probe::{FULL, Purpose, class};

/// One property of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Property {
    /// Name.
    pub name: &'static str,
    /// Value with its unit, and its interval; or why it is not decidable.
    pub value: String,
    /// The number in its base unit, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// Interval that should hold the number in 95 of 100 lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// How it was seen.
    pub how: String,
}

impl Property {
    fn text(name: &'static str, value: impl Into<String>, how: impl Into<String>) -> Self {
        Self { name, value: value.into(), number: None, interval: None, how: how.into() }
    }

    fn number(name: &'static str, number: f64, half: f64, unit: &str, how: impl Into<String>) -> Self {
        let interval = Some([number - half, number + half]);
        let value = figures::interval(number, half, unit);
        Self { name, value, number: Some(number), interval, how: how.into() }
    }
}

/// Relative half width of the rate's interval above which it is not decided.
const WIDEST: f64 = 0.1;

/// Returns the rate with its interval. If that is wide, what would narrow it: of a queue that is not decided
/// only what came through is known, for others may have any part of the line, or all came through.
fn rate_of(identified: &Identified, how: &str) -> Option<Property> {
    let (rate, half) = identified.rate()?;
    let quantity = |rate| figures::quantity(Some(rate), "bit/s");
    let least = format!("at least {}", quantity(identified.estimate.as_ref()?.goodput));
    let open =
        |known| format!("not decidable: {known}; a longer excess (--budget) or fewer others would tell");
    let mut property = Property::number("rate", rate, half, "bit/s", how);
    let is_wide = half > WIDEST * rate;
    Some(match identified.verdict {
        // Its reason says what would tell.
        Verdict::Unknown(_) => Property::text("rate", least, how),
        Verdict::Decided if is_wide => {
            property.value = open(format!("between {} and {}", quantity(rate - half), quantity(rate + half)));
            property
        }
        _ if is_wide => Property::text("rate", open(least), how),
        _ => property,
    })
}

/// Longest over least target delay, above which it is not decided.
const OPEN_TARGETS: f64 = 4.0;

/// Returns the target delay of a law with its interval, whose ends are not equally far from it.
fn target_of(target: f64, targets: Option<[f64; 2]>) -> Property {
    let [least, most] = targets.unwrap_or([target; 2]);
    let half = (most - target).max(target - least);
    let mut property = Property::number("target", target, half, "s", "the delay that the law holds");
    property.interval = Some([least, most]);
    let is_open = most > OPEN_TARGETS * least;
    let [least, most] = [least, most].map(|target| figures::seconds(Some(target)));
    property.value = if is_open {
        format!("not decidable: between {least} and {most}; senders that react would tell")
    } else {
        format!("{}, between {least} and {most}", figures::seconds(Some(target)))
    };
    property
}

impl Fit {
    /// Returns the relative half width of the interval of the limit: whole frames are dropped.
    pub fn limit_error(&self) -> f64 {
        let frame = f64::from(FULL) * 8.0 / (self.setting.wait * self.setting.rate).max(1.0);
        frame + if self.others > 0.0 { 0.12 } else { 0.06 }
    }

    /// Returns the relative half width of the interval of the bucket: whole frames pass.
    pub fn bucket_error(&self) -> f64 {
        let frame = f64::from(FULL) / self.setting.bucket.max(1.0);
        frame + if self.others > 0.0 { 0.25 } else { 0.1 }
    }

    /// Returns true if the limit of the queue was reached, so that it is known.
    pub fn has_limit(&self, identified: &Identified) -> bool {
        let own = self.candidate.unknown;
        let seen = identified.estimate.as_ref().map_or(0.0, |estimate| estimate.wait);
        let is_full = identified.estimate.as_ref().is_some_and(|estimate| estimate.is_full);
        is_full
            && (own.contains(&Unknown::Wait)
                || own.contains(&Unknown::Room) && self.setting.wait < 2.0 * seen)
    }
}

/// Returns the properties, the queue first: at most thirteen.
pub fn properties(identified: &Identified) -> Vec<Property> {
    let mut all = vec![queue(identified)];
    let Some(estimate) = &identified.estimate else { return all };
    let decided = identified.fits.first().filter(|_| identified.verdict == Verdict::Decided);
    if let Some(fit) = decided {
        of_fit(identified, fit, &mut all);
    } else {
        all.extend(rate_of(identified, "arrivals in excess of it"));
        let wait = figures::seconds(Some(estimate.wait));
        let how =
            if estimate.is_full { "the longest in excess, with losses" } else { "the queue was not filled" };
        let least = if estimate.is_full { "" } else { "at least " };
        all.push(Property::text("longest wait", format!("{least}{wait}"), how));
    }
    all.extend(ecn(identified));
    all.extend(code_points(identified));
    let span = identified.probe.span().as_secs_f64();
    if span > 3.0 {
        let drift = estimate.base.drift * 1e6;
        let half = (20.0 * estimate.jitter / span * 1e6).max(1.0);
        all.push(Property::number("clock drift", drift, half, "ppm", "the least delays before each round"));
    }
    let jitter = figures::seconds(Some(estimate.jitter));
    all.push(Property::text("jitter", jitter, "small packets into the idle line, mean over the least delay"));
    if estimate.loss > 0.0 {
        let loss = format!("{:.2} %", estimate.loss * 100.0);
        all.push(Property::text("loss without a queue", loss, "small packets into the idle line"));
    }
    all.push(others(identified, decided));
    all.truncate(13);
    all
}

fn queue(identified: &Identified) -> Property {
    let Identified { fits, odds, verdict, .. } = identified;
    let rounds =
        identified.probe.rounds.iter().map(|round| round.purpose).filter(|one| *one != Purpose::Ramp);
    let mut names: Vec<&str> = rounds.map(Purpose::name).collect();
    names.dedup();
    let how =
        format!("{} candidates on what was really sent: {}", crate::candidates::ALL.len(), names.join(", "));
    match (verdict, fits.first()) {
        (Verdict::Unknown(why), _) => Property::text("queue", format!("not decidable: {why}"), how),
        (Verdict::NoneOfThese, Some(best)) => Property::text(
            "queue",
            format!(
                "none of these: the nearest, {}, misses a flow of the {} by {:.1} where 1 is usual; a record (--record) would let others see",
                best.candidate.name,
                identified.probe.rounds.get(best.worst.0).map_or("probe", |round| round.purpose.name()),
                best.worst.1
            ),
            how,
        ),
        (Verdict::Undecided, Some(best)) => {
            let second = fits.get(1).map_or("another", |fit| fit.candidate.name);
            let digits = usize::from(*odds < 10.0);
            let value = format!(
                "not decidable: {} or {second}, {odds:.digits$}:1 where {LEAST_ODDS}:1 decides; {}",
                best.candidate.name,
                what_would_decide(identified)
            );
            Property::text("queue", value, how)
        }
        (_, Some(best)) => {
            let odds = if *odds > 1e6 { "more than 1000000:1".to_owned() } else { format!("{odds:.0}:1") };
            Property::text(
                "queue",
                format!("{}: {}; odds {odds}", best.candidate.name, best.candidate.sentence),
                how,
            )
        }
        (_, None) => Property::text("queue", "not decidable: no candidate could be simulated", how),
    }
}

/// Returns what would decide between the two best fits: more of the budget only if it was spent.
fn what_would_decide(identified: &Identified) -> &'static str {
    let names: Vec<&str> = identified.fits.iter().take(2).map(|fit| fit.candidate.name).collect();
    let Some(estimate) = &identified.estimate else { return "a longer excess would: allow more by --budget" };
    let is_disturbed = identified.fits.first().is_some_and(|fit| fit.others > 0.0);
    if names.contains(&"shaper") && names.contains(&"fifo") {
        "a shaper with a small bucket is a FIFO: a longer pause before the train would show a larger one"
    } else if identified.is_spent {
        "more rounds, or longer ones, would: allow more by --budget or --for"
    } else if is_disturbed {
        "fewer others on the line would"
    } else if estimate.jitter * estimate.rate > 0.5 * 8.0 * f64::from(FULL) {
        "less jitter would: a wire, or hosts with less to do"
    } else if !estimate.is_full {
        "a queue that is filled would: send at a higher --most"
    } else {
        "no round shows a difference: what one does besides did not act"
    }
}

fn of_fit(identified: &Identified, fit: &Fit, all: &mut Vec<Property>) {
    let Setting { rate, wait, bucket, target, .. } = fit.setting;
    all.extend(rate_of(identified, "goodput in excess, and spacing of full packets"));
    if fit.has_limit(identified) {
        let bytes = wait * rate / 8.0;
        let half = bytes * fit.limit_error();
        let mut limit =
            Property::number("limit", bytes, half, "B", "the longest wait, and which packets were lost");
        let packets = bytes / f64::from(FULL);
        let unit = if fit.setting.in_packets {
            format!("; counted in packets: {packets:.0}")
        } else {
            String::new()
        };
        limit.value = format!("{}, {} at the rate{unit}", limit.value, figures::seconds(Some(wait)));
        all.push(limit);
    } else if let Some(estimate) = &identified.estimate {
        let value = format!(
            "not decidable: never full, the longest wait was {}",
            figures::seconds(Some(estimate.wait))
        );
        let reaches = fit.candidate.unknown.iter().any(|one| matches!(one, Unknown::Wait | Unknown::Room));
        if reaches {
            all.push(Property::text("limit", value, "a longer or higher excess would fill it"));
        }
    }
    if fit.candidate.unknown.contains(&Unknown::Bucket) {
        let bucket = bucket.max(fit.setting.least_bucket);
        let half = bucket * fit.bucket_error();
        all.push(Property::number("bucket", bucket, half, "B", "a train into the idle line passed at once"));
        all.push(Property::number(
            "peak rate",
            fit.setting.peak,
            fit.setting.peak * 0.1,
            "bit/s",
            "the first packets of the train",
        ));
    }
    if fit.candidate.unknown.contains(&Unknown::Target) {
        all.push(target_of(target, fit.targets));
    }
    if fit.candidate.unknown.contains(&Unknown::Threshold) {
        all.push(Property::number(
            "threshold",
            target,
            target * 0.2,
            "s",
            "the average wait at which all is dropped",
        ));
    }
}

/// Returns what the line does to ECN: marks, and code points that arrive otherwise than sent.
fn ecn(identified: &Identified) -> Option<Property> {
    let index = identified.probe.rounds.iter().position(|round| round.purpose == Purpose::Ecn)?;
    let part = |code: u8, test: &dyn Fn(u8) -> bool| {
        let own = || {
            seen(&identified.probe, &identified.observed, index).filter(|one| one.sent.traffic_class == code)
        };
        let hits = own().filter(|one| test(one.traffic_class & class::CE)).count();
        hits as f64 / own().count().max(1) as f64
    };
    let cleared = part(class::ECT0, &|code| code == 0).max(part(class::ECT1, &|code| code == 0));
    let marked = [class::ECT0, class::ECT1].map(|code| part(code, &|code| code == class::CE) * 100.0);
    let value = if cleared > 0.5 {
        "cleared: packets arrive without it".to_owned()
    } else if marked[0].max(marked[1]) < 0.5 {
        "passed, never marked".to_owned()
    } else {
        format!("marks {:.0} % of ECT(0) and {:.0} % of ECT(1)", marked[0], marked[1])
    };
    Some(Property::text("ECN", value, "two flows with it and one without, above the rate"))
}

/// Returns what the line does to code points.
fn code_points(identified: &Identified) -> Option<Property> {
    let index = identified.probe.rounds.iter().position(|round| round.purpose == Purpose::Classes)?;
    let of = |code: u8| {
        seen(&identified.probe, &identified.observed, index).filter(move |one| one.sent.traffic_class == code)
    };
    let kept = |code: u8| of(code).all(|one| one.traffic_class & !class::CE == code & !class::CE);
    let arrives = if kept(class::EF) && kept(class::CS1) { "arrive as sent" } else { "are rewritten" };
    let wait = |code: u8| of(code).map(|one| one.delay).sum::<f64>() / of(code).count().max(1) as f64;
    let (urgent, usual) = (wait(class::EF), wait(class::PLAIN));
    let count = |code: u8| of(code).count();
    if count(class::EF) < 8 || count(class::PLAIN) < 8 {
        return Some(Property::text(
            "DSCP",
            format!("code points {arrives}"),
            "EF and CS1 beside best effort",
        ));
    }
    let less = usual - urgent;
    let treated = if less > 0.2 * identified.estimate.as_ref().map_or(f64::INFINITY, |one| one.wait) {
        format!("EF waits {} less than best effort", figures::seconds(Some(less)))
    } else {
        "EF waits as long as best effort".to_owned()
    };
    Some(Property::text("DSCP", format!("code points {arrives}; {treated}"), "EF and CS1 beside best effort"))
}

fn others(identified: &Identified, decided: Option<&Fit>) -> Property {
    let how = "small packets that waited in the idle line, and the goodput";
    let busy = identified.estimate.as_ref().and_then(|estimate| estimate.busy);
    match (decided, busy) {
        (Some(fit), _) if fit.others > 0.0 => {
            let part = fit.others / fit.setting.rate;
            Property::number("others", part, 0.1, "ratio", format!("{how}: this line is disturbed"))
        }
        (Some(_), _) => Property::text("others", "none seen", how),
        (None, Some(busy)) => Property::number("others", busy, 0.15, "ratio", how),
        (None, None) => Property::text("others", "not decidable: the jitter hides them", how),
    }
}

/// First words of the scenario that [`scenario`] writes.
pub const SCENARIO_HEAD: &str = "# A line as `lockgate identify` found it";

/// Share of the rate at which a policy in front of the line shapes.
const SHAPED: f64 = 0.95;

/// Writes the line with its queue as a scenario that can be run: a download and an echo beside it; with the
/// queue of the way back, if `back` has decided it, and an upload; and a variant with a shaper in front.
/// `None` if the queue was not decided.
pub fn scenario(identified: &Identified, back: Option<&Identified>) -> Option<String> {
    let decided = |identified: &Identified| {
        let fit = identified.fits.first().filter(|_| identified.verdict == Verdict::Decided)?;
        let mut setting = fit.setting;
        setting.loss = identified.estimate.as_ref().map_or(0.0, |estimate| estimate.loss);
        Some((fit.candidate, setting))
    };
    let (candidate, setting) = decided(identified)?;
    let delay = identified.estimate.as_ref().map_or(0.0, |estimate| estimate.base.delay);
    // Clocks that were not compared may make it negative, or absurd.
    let delay = if (0.0..2.0).contains(&delay) { delay } else { 0.0 };
    let back = back.and_then(decided);
    let note = back.map_or_else(
        || "# The direction back has the same rate; its queue is not known.".to_owned(),
        |(back, _)| format!("# The direction back: {}.", back.name),
    );
    let back_flow = if back.is_some() {
        "[flow.back]\nfrom = \"receiver\"\nto = \"sender\"\ntransport = \"tcp\"\nbytes = \"unlimited\"\n\n"
    } else {
        ""
    };
    let shaped = Rate::from_bits((setting.rate * SHAPED) as u64);
    Some(format!(
        "{SCENARIO_HEAD}: {}, odds {:.0}:1.\n{note}\n\
         title = \"A line with {}\"\nduration = \"20s\"\nwarmup = \"2s\"\n\n{}\n\
         [flow.download]\nfrom = \"sender\"\nto = \"receiver\"\ntransport = \"tcp\"\nbytes = \"unlimited\"\n\n{back_flow}\
         [flow.ping]\nfrom = \"sender\"\nto = \"receiver\"\ntransport = \"udp\"\npayload = \"64B\"\ngap = \"50ms\"\necho = true\n\n\
         # In front of the line: nothing, or a shaper of {:.0} % of its rate. `lockgate compare` shows both.\n\
         [port.\"sender:line\"]\nroot = \"plain\"\nalternatives = [\"cake\"]\n\
         queue.plain = {{ kind = \"fifo\", limit = \"1000p\" }}\nqueue.cake = {{ kind = \"cake\", bandwidth = \"{shaped}\" }}\n\n\
         [[vary]]\nname = \"in front\"\npath = \"port.sender:line.root\"\nvalues = [\"plain\", \"cake\"]\n",
        candidate.name,
        identified.odds.min(1e9),
        candidate.name,
        candidate.to_toml_with(&setting, back.as_ref().map(|(back, setting)| (*back, setting)), delay),
        SHAPED * 100.0,
    ))
}
