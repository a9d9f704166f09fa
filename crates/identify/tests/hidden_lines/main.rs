//! Hidden lines are identified: confusion matrix, errors of rate, depth and bucket, unknown queues.
//!
//! The set of seed [`TUNING`] was looked at while floors, temper and bounds were chosen. The set of seed
//! [`TEST`] was not: it was run once, for the figures of the documents. A sample runs by default. All of it:
//! `LOCKGATE_LAWS=1 cargo test -p lockgate-identify --test hidden_lines --release -- --nocapture`.

mod lines;

use std::collections::BTreeMap;
use std::time::Instant;

use lines::{FAMILIES, HiddenLine};
use lockgate_identify::judge::Judge;
use lockgate_identify::{Verdict, identify};

/// Seed of the lines that the judge was tuned on.
const TUNING: u64 = 1;

/// Seed of the lines that were not looked at while tuning.
const TEST: u64 = 57;

#[derive(Default)]
struct Tally {
    right: usize,
    wrong: usize,
    undecided: usize,
    none: usize,
    confusion: BTreeMap<(&'static str, String), usize>,
}

fn name(result: &lockgate_identify::Identified) -> String {
    match (&result.verdict, result.fits.first()) {
        (Verdict::Decided, Some(fit)) => fit.candidate.name.to_owned(),
        (Verdict::Undecided, _) => "undecided".to_owned(),
        (Verdict::NoneOfThese, _) => "none".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn judge(seed: u64, index: usize, without: &[&'static str], tally: &mut Tally) {
    let begin = Instant::now();
    let mut line = HiddenLine::draw(seed, index);
    let mut limits = line.limits();
    limits.without = without.to_vec();
    let Ok(result) = identify(&mut line, &limits);
    let found = name(&result);
    match &*found {
        "undecided" | "unknown" => tally.undecided += 1,
        "none" => tally.none += 1,
        found if found == line.family => tally.right += 1,
        _ => tally.wrong += 1,
    }
    *tally.confusion.entry((line.family, found.clone())).or_default() += 1;
    let rate = result.fits.first().map_or(0.0, |fit| fit.setting.rate);
    let tops: Vec<String> = result
        .fits
        .iter()
        .take(3)
        .map(|fit| format!("{} {:.2}", fit.candidate.name, fit.mean_misfit()))
        .collect();
    let wait = result.fits.first().map_or(0.0, |fit| fit.setting.wait);
    let bucket = result.fits.first().map_or(0.0, |fit| fit.setting.bucket);
    let rounds: Vec<&str> = result.probe.rounds.iter().map(|round| round.purpose.name()).filter(|name| *name != "ramp").collect();
    println!(
        "{index:3} {} {:9} {found:9} {:6.2} Mbit/s rate {:+.2} % wait {:+.0} % bucket {:+.0} %  [{}] odds {:.0e}; {:.1} MB {:.0} s {:?}; {} passes {:.1} s; {}",
        if found == line.family { ' ' } else { '*' },
        line.family,
        line.rate / 1e6,
        (rate / line.rate - 1.0) * 100.0,
        if line.wait > 0.0 { (wait / line.wait - 1.0) * 100.0 } else { 0.0 },
        if line.bucket > 0.0 { (bucket / line.bucket - 1.0) * 100.0 } else { 0.0 },
        tops.join(", "),
        result.odds,
        result.probe.bytes() as f64 / 1e6,
        result.probe.span().as_secs_f64(),
        rounds.join(" "),
        result.passes,
        begin.elapsed().as_secs_f64(),
        line.text,
    );
    if std::env::var_os("LOCKGATE_WORST").is_some() && found != line.family {
        show_worst(&result, line.family);
    }
}

/// Prints the features that fit worst, to see why.
fn show_worst(result: &lockgate_identify::Identified, family: &str) {
    let (Some(estimate), Some(best)) = (&result.estimate, result.fits.first()) else { return };
    println!("      {estimate:?}");
    for fit in result.fits.iter().filter(|fit| fit.candidate.name == family || fit.candidate.name == best.candidate.name) {
        let mut judge = Judge::new(&result.probe, &result.observed, estimate);
        let Some(misfits) = judge.misfits(fit.candidate, &fit.setting, fit.others, 4) else { continue };
        let mut worst: Vec<_> = judge.observed().iter().zip(misfits).collect();
        worst.sort_by(|one, two| two.1.total_cmp(&one.1));
        println!("      {} {:?} others {:.0}", fit.candidate.name, fit.setting, fit.others);
        for (feature, misfit) in worst.iter().take(6) {
            let purpose = result.probe.rounds[feature.round].purpose.name();
            println!("        {misfit:5.1} {purpose} flow {} {:?} {:.5} of {}", feature.flow, feature.kind, feature.value, feature.count);
        }
    }
}

fn show(tally: &Tally) {
    for family in FAMILIES {
        let row = tally.confusion.iter().filter(|((own, _), _)| *own == family);
        let row: Vec<String> = row.map(|((_, found), count)| format!("{found} {count}")).collect();
        println!("{family:10} {}", row.join(", "));
    }
    println!("right {}, wrong {}, undecided {}, none {}", tally.right, tally.wrong, tally.undecided, tally.none);
}

#[test]
fn hidden_lines_are_identified() {
    let range = std::env::var("LOCKGATE_HIDDEN").unwrap_or_else(|_| "0..14".to_owned());
    let (from, to) = range.split_once("..").expect("a range");
    let mut tally = Tally::default();
    for index in from.parse().expect("a number")..to.parse().expect("a number") {
        judge(TUNING, index, &[], &mut tally);
    }
    show(&tally);
    let _ = TEST;
}
