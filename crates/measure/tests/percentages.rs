//! Promises of a percentage, held against simulation: coverage of intervals, false alarms of comparisons and
//! of expectations. The last column of each table is simulated; a promise holds within three standard errors.
//!
//! `cargo test -p lockgate-measure --test percentages -- --nocapture` prints the tables.

use lockgate_measure::comparison::{MetricComparison, Reference, Verdict};
use lockgate_measure::intervals::Interval;
use lockgate_measure::metric::Better;
use lockgate_measure::summary::{Bound, Criterion, Expectation, Expected};

/// Law of the values that are drawn, with mean 0 and standard deviation 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Normal,
    /// Gamma of shape 8: skewness 0.7, that of `flow.call.owd.p99` in `scenarios/home.toml`.
    Skewed,
    /// Skewness 2.
    Exponential,
}

/// Pseudo-random numbers (`SplitMix64`).
struct Draws(u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    fn of(&mut self, law: Law) -> f64 {
        match law {
            Law::Normal => {
                let radius = (2.0 * self.exponential()).sqrt();
                radius * (core::f64::consts::TAU * self.uniform()).cos()
            }
            Law::Skewed => ((0..8).map(|_| self.exponential()).sum::<f64>() - 8.0) / 8.0_f64.sqrt(),
            Law::Exponential => self.exponential() - 1.0,
        }
    }
}

/// Variants of which values are drawn: half of the variance of a value is common to all variants of a seed.
struct Variants {
    law: Law,
    seeds: usize,
    /// Mean of each.
    means: Vec<f64>,
    /// Standard deviation of each.
    deviations: Vec<f64>,
}

impl Variants {
    fn equal(law: Law, seeds: usize, count: usize) -> Self {
        Self { law, seeds, means: vec![0.0; count], deviations: vec![1.0; count] }
    }

    fn draw(&self, draws: &mut Draws) -> Vec<Vec<Option<f64>>> {
        let common: Vec<f64> = (0..self.seeds).map(|_| draws.of(self.law)).collect();
        let mut value = |mean: f64, deviation: f64, common: f64| {
            Some(mean + deviation * (common + draws.of(self.law)) * core::f64::consts::FRAC_1_SQRT_2)
        };
        let one = |(mean, deviation): (&f64, &f64)| {
            common.iter().map(|common| value(*mean, *deviation, *common)).collect()
        };
        self.means.iter().zip(&self.deviations).map(one).collect()
    }

    /// Returns true if a comparison says of two variants with one mean that they differ.
    fn is_false_alarm(&self, compared: &MetricComparison) -> bool {
        let Some(reference) = compared.reference else { return false };
        let of = compared.differences.iter().zip(&self.means);
        of.filter_map(|(one, mean)| Some(((*one)?, mean))).any(|(one, mean)| {
            one.verdict == Verdict::Differs && (mean - self.means[reference]).abs() < 1e-12
        })
    }

    /// Returns the share of comparisons with a false alarm.
    fn false_alarms(&self, trials: usize, reference: impl Fn(&[Vec<Option<f64>>]) -> Reference) -> f64 {
        let mut draws = Draws(7);
        let alarm = |_: &usize| {
            let values = self.draw(&mut draws);
            let compared = MetricComparison::new(&values, Some(Better::Lower), reference(&values));
            self.is_false_alarm(&compared)
        };
        (0..trials).filter(alarm).count() as f64 / trials as f64
    }
}

/// Returns the promised share plus three standard errors of its simulation.
fn allowed(promised: f64, trials: usize) -> f64 {
    promised + 3.0 * (promised * (1.0 - promised) / trials as f64).sqrt()
}

const TRIALS: usize = 4000;

#[test]
fn comparisons_without_a_base_have_a_false_alarm_in_at_most_one_of_twenty() {
    println!("| variants | law | seeds | promised | simulated |\n| --- | --- | --- | --- | --- |");
    let check = |name: &str, variants: &Variants| {
        let found = variants.false_alarms(TRIALS, |_| Reference::Best);
        println!("| {name} | {:?} | {} | 5 % | {:.1} % |", variants.law, variants.seeds, 100.0 * found);
        assert!(found <= allowed(0.05, TRIALS), "{name}, {:?}: {found}", variants.law);
        found
    };
    for count in [2, 4, 10] {
        for (law, seeds) in [(Law::Normal, 10), (Law::Normal, 3), (Law::Skewed, 10), (Law::Exponential, 10)] {
            let found = check(&format!("{count} equal"), &Variants::equal(law, seeds, count));
            // The limit is used: a test that sees nothing has no false alarms either.
            assert!(law != Law::Normal || seeds < 10 || found > 0.03, "{count}: {found}");
        }
        for law in [Law::Normal, Law::Skewed] {
            let mut unlike = Variants::equal(law, 10, count);
            unlike.deviations = (0..count).map(|index| [1.0, 0.1, 5.0, 0.5][index % 4]).collect();
            check(&format!("{count} equal in the mean, deviations 0.1 to 5"), &unlike);
        }
    }
    // Several groups of equal ones, near or far from each other.
    for apart in [0.3, 0.6, 1.0, 3.0] {
        for groups in [2, 5] {
            let mut variants = Variants::equal(Law::Normal, 10, 10);
            variants.means = (0..10).map(|index| apart * f64::from(index % groups)).collect();
            check(&format!("{groups} groups of {}, {apart} apart", 10 / groups), &variants);
        }
    }
}

/// Quantiles are rounded to buckets of 2^-9 of their size. If that is the size of the scatter, equal variants
/// often have the same difference in each of two seeds.
#[test]
fn rounded_values_of_few_seeds_have_no_more_false_alarms() {
    for (seeds, deviation) in [(2, 0.001), (2, 0.004), (3, 0.001), (5, 0.001)] {
        let mut variants = Variants::equal(Law::Normal, seeds, 2);
        variants.deviations = vec![deviation; 2];
        let mut draws = Draws(7);
        let rounded = |value: &Option<f64>| value.map(|value| ((1.0 + value) * 512.0).round() / 512.0);
        let alarm = |_: &usize| {
            let values: Vec<Vec<Option<f64>>> =
                variants.draw(&mut draws).iter().map(|values| values.iter().map(rounded).collect()).collect();
            variants.is_false_alarm(&MetricComparison::new(&values, Some(Better::Lower), Reference::Best))
        };
        let found = (0..TRIALS).filter(alarm).count() as f64 / TRIALS as f64;
        println!("{seeds} seeds, a deviation of {deviation} in buckets of 0.002: {:.1} %", 100.0 * found);
        assert!(found <= allowed(0.05, TRIALS), "{seeds} {deviation}: {found}");
    }
}

#[test]
fn comparisons_with_a_base_or_a_chosen_variant_keep_to_it_too() {
    for count in [2, 10] {
        let variants = Variants::equal(Law::Normal, 10, count);
        let given = variants.false_alarms(TRIALS, |_| Reference::Given(0));
        // As a search does whose best point exceeds a bound: the second best, or any.
        let sum = |values: &[Option<f64>]| values.iter().flatten().sum::<f64>();
        let second = |values: &[Vec<Option<f64>>]| {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|one, other| sum(&values[*one]).total_cmp(&sum(&values[*other])));
            Reference::Chosen(order[1])
        };
        let chosen = variants.false_alarms(TRIALS, second);
        println!("{count} equal: given {:.1} %, the second best {:.1} %", 100.0 * given, 100.0 * chosen);
        assert!(given <= allowed(0.05, TRIALS) && chosen <= allowed(0.05, TRIALS), "{given} {chosen}");
        assert!(given > 0.03, "{given}");
    }
}

#[test]
fn a_variant_that_is_better_by_one_deviation_is_told_from_half_of_nine_others() {
    let mut variants = Variants::equal(Law::Normal, 10, 10);
    variants.means[3] = -1.0;
    let (mut draws, trials) = (Draws(7), 2000);
    let mut seen = 0;
    for _ in 0..trials {
        let compared =
            MetricComparison::new(&variants.draw(&mut draws), Some(Better::Lower), Reference::Best);
        let differs =
            |index: usize| compared.differences[index].is_some_and(|one| one.verdict == Verdict::Differs);
        seen += (0..10).filter(|index| *index != 3 && differs(*index)).count();
    }
    let power = seen as f64 / f64::from(9 * trials);
    println!("seen: {:.1} % of the differences", 100.0 * power);
    assert!(power > 0.45, "{power}");
}

#[test]
fn intervals_contain_the_mean_in_nineteen_of_twenty_samples() {
    println!("| law | seeds | promised | simulated |\n| --- | --- | --- | --- |");
    for law in [Law::Normal, Law::Skewed, Law::Exponential] {
        for seeds in [2, 3, 5, 10, 30] {
            let (mut draws, trials) = (Draws(7), 10_000);
            let contains = |_: &usize| {
                let interval = Interval::of((0..seeds).map(|_| Some(draws.of(law))).collect());
                let interval = interval.expect("values");
                interval.mean.abs() <= interval.half_width.expect("several values")
            };
            let found = (0..trials).filter(contains).count() as f64 / trials as f64;
            println!("| {law:?} | {seeds} | 95 % | {:.1} % |", 100.0 * found);
            // Documented: of strongly skewed values it is less, down to 88 % with five seeds.
            let least = match law {
                Law::Normal => 0.95,
                Law::Skewed => 0.94,
                Law::Exponential => 0.88,
            };
            assert!(1.0 - found <= allowed(1.0 - least, trials), "{law:?} {seeds}: {found}");
        }
    }
}

#[test]
fn an_expectation_at_its_bound_seldom_holds_in_the_interval() {
    println!("| law | seeds | promised | simulated |\n| --- | --- | --- | --- |");
    for (law, promised) in [(Law::Normal, 0.025), (Law::Skewed, 0.045)] {
        for seeds in [2, 5, 10] {
            let (mut draws, trials) = (Draws(7), 10_000);
            let expected = Expected {
                that: "flow.f.owd.p99".to_owned(),
                bounds: vec![Bound::AtMost(0.0)],
                criterion: Criterion::Interval,
                ..Expected::default()
            };
            let holds = |_: &usize| {
                let values = (0..seeds).map(|_| Some(draws.of(law))).collect();
                Expectation::judge(&expected, values).holds
            };
            let found = (0..trials).filter(holds).count() as f64 / trials as f64;
            println!("| {law:?} | {seeds} | {:.1} % | {:.1} % |", 100.0 * promised, 100.0 * found);
            assert!(found <= allowed(promised, trials), "{law:?} {seeds}: {found}");
        }
    }
}

/// Pairs of runs of a change without an effect: both values of a metric have the same law, and the metrics
/// are independent, the worst case. Returns the share of changes to which an effect is credited.
fn credited(trials: usize, metrics: usize, ratio: impl Fn(&mut Draws) -> f64) -> f64 {
    use lockgate_measure::comparison::effect::{PAIRS, is_effect};
    let mut draws = Draws(11);
    let is_credited = |_: &usize| {
        let pairs: Vec<Vec<(f64, f64)>> = (0..metrics)
            .map(|_| (0..PAIRS).map(|_| (ratio(&mut draws).exp(), ratio(&mut draws).exp())).collect())
            .collect();
        pairs.iter().any(|pairs| is_effect(pairs, pairs[0], metrics))
    };
    (0..trials).filter(is_credited).count() as f64 / trials as f64
}

/// Draw of a logarithm, and of five parts before and five after some time.
type DrawOne = fn(&mut Draws) -> f64;
type DrawSeries = fn(&mut Draws) -> [f64; 10];

#[test]
fn a_change_without_an_effect_is_credited_in_at_most_one_of_a_thousand() {
    use lockgate_measure::comparison::effect::LEVEL;
    const TRIALS: usize = 20_000;
    println!("| law of the logarithm | metrics | promised | simulated |\n| --- | --- | --- | --- |");
    let laws: [(&str, DrawOne); 5] = [
        ("normal, 0.05", |draws| 0.05 * draws.of(Law::Normal)),
        ("normal, 0.5", |draws| 0.5 * draws.of(Law::Normal)),
        ("exponential", |draws| 0.5 * draws.exponential()),
        ("two modes", |draws| if draws.uniform() < 0.5 { 0.05 * draws.of(Law::Normal) } else { 1.5 }),
        ("Cauchy", |draws| 0.1 * (core::f64::consts::PI * (draws.uniform() - 0.5)).tan()),
    ];
    for (name, law) in laws {
        for metrics in [1, 5] {
            let found = credited(TRIALS, metrics, law);
            println!("| {name} | {metrics} | 0.1 % | {:.3} % |", 100.0 * found);
            assert!(found <= allowed(LEVEL, TRIALS), "{name}, {metrics}: {found}");
        }
    }
}

/// Drifts and swings without a change are no step: five batches before and after some time.
#[test]
fn a_series_without_a_step_has_one_in_at_most_one_of_a_thousand() {
    use lockgate_measure::comparison::effect::{LEVEL, is_step};
    const TRIALS: usize = 20_000;
    println!("| series | promised | simulated |\n| --- | --- | --- |");
    let series: [(&str, DrawSeries); 3] = [
        ("independent", |draws| core::array::from_fn(|_| 0.3 * draws.of(Law::Normal))),
        ("sawtooth", |draws| {
            let (phase, period) = (draws.uniform(), 1.5 + 8.0 * draws.uniform());
            core::array::from_fn(|at| (phase + at as f64 / period).fract() + 0.02 * draws.of(Law::Normal))
        }),
        ("drift", |draws| core::array::from_fn(|at| 0.2 * at as f64 + 0.05 * draws.of(Law::Normal))),
    ];
    for (name, draw) in series {
        let mut draws = Draws(13);
        let is_told = |_: &usize| {
            let all = draw(&mut draws).map(f64::exp);
            is_step(&all[..5], &all[5..], 1)
        };
        let found = (0..TRIALS).filter(is_told).count() as f64 / TRIALS as f64;
        println!("| {name} | 0.1 % | {:.3} % |", 100.0 * found);
        assert!(found <= allowed(LEVEL, TRIALS), "{name}: {found}");
    }
}
