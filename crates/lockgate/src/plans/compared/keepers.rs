//! Sentence of a comparison on where the expectations hold: for the values of one variable, at which values
//! of the others.

use std::fmt::Write as _;

use super::Compared;
use super::decision::listed;

/// Limit on the values, and on the contexts of a value, that the sentence names.
const MOST_NAMED: usize = 6;

/// Value of a variable, and where it keeps all expectations.
struct Kept<'a> {
    value: &'a str,
    /// Values of the other variables with which it does.
    contexts: Vec<String>,
    /// Number of values of the others that it was run with.
    of: usize,
    /// Smallest number of expectations that a variant with it misses.
    least_missed: usize,
}

impl Compared<'_> {
    /// Returns the sentence on the variants that keep all expectations; `None` if nothing was judged or no
    /// variant does.
    pub(super) fn keepers(&self) -> Option<String> {
        let (_, all) = self.held(0);
        let keeping = (0..self.variants.len()).filter(|variant| self.held(*variant).0 == all).count();
        if all == 0 || keeping == 0 {
            return None;
        }
        let hold = match all {
            1 => "The expectation holds".to_owned(),
            2 => "Both hold".to_owned(),
            all => format!("All {all} hold"),
        };
        if keeping == self.variants.len() {
            return Some(format!("{hold} in every variant."));
        }
        let groups = (0..self.columns.len()).map(|column| (column, self.kept_by(column)));
        // The variable whose values decide by themselves; of equal ones the first.
        let mixed = |kept: &[Kept<'_>]| kept.iter().filter(|one| one.is_mixed()).count();
        let (column, kept) = groups.min_by_key(|(_, kept)| mixed(kept))?;
        let is_short = |one: &Kept<'_>| !one.is_mixed() || one.contexts.len() <= MOST_NAMED;
        if kept.len() > 2 * MOST_NAMED || !kept.iter().all(is_short) {
            return Some(format!("{hold} in {keeping} of {} variants.", self.variants.len()));
        }
        let mut text = format!("{hold} {}.", self.parts(column, &kept).join(", "));
        let never: Vec<&Kept<'_>> = kept.iter().filter(|one| one.contexts.is_empty()).collect();
        if self.columns.len() > 1 && all > 1 && (1..=2).contains(&never.len()) {
            // One is what "never" says already.
            for one in never.into_iter().filter(|one| one.least_missed > 1) {
                let _ = write!(text, " Every {} misses at least {}.", one.value, worded(one.least_missed));
            }
        }
        Some(text)
    }

    /// Returns the parts of the sentence: `with cake at every rate`, `with htb only at 95% and 99%`, `never
    /// with fifo`. Values that hold at the same others stand together.
    fn parts(&self, column: usize, kept: &[Kept<'_>]) -> Vec<String> {
        let mut others = self.columns.iter().enumerate().filter(|(index, _)| *index != column);
        let every = match (others.next(), others.next()) {
            (None, _) => String::new(),
            (Some((_, only)), None) => format!(" at every {}", only.name),
            _ => " with all of the rest".to_owned(),
        };
        let mut groups: Vec<(&Kept<'_>, Vec<String>)> = Vec::new();
        for one in kept {
            match groups.iter_mut().find(|(first, _)| first.contexts == one.contexts && first.of == one.of) {
                Some((_, values)) => values.push(one.value.to_owned()),
                None => groups.push((one, vec![one.value.to_owned()])),
            }
        }
        // What holds everywhere first, what never does last.
        groups.sort_by_key(|(one, _)| (one.contexts.is_empty(), one.is_mixed()));
        let part = |(one, values): (&Kept<'_>, Vec<String>)| {
            let values = listed(&values);
            match one.contexts.as_slice() {
                [] => format!("never with {values}"),
                _ if !one.is_mixed() => format!("with {values}{every}"),
                contexts => format!("with {values} only at {}", listed(contexts)),
            }
        };
        groups.into_iter().map(part).collect()
    }

    /// Returns where each value of a variable keeps all expectations, in the order of the values.
    fn kept_by(&self, column: usize) -> Vec<Kept<'_>> {
        let at = |variant: usize, column: usize| {
            self.variants[variant].values[self.columns[column].index].as_str()
        };
        let mut kept: Vec<Kept<'_>> = Vec::new();
        for variant in 0..self.variants.len() {
            let value = at(variant, column);
            let index = kept.iter().position(|one| one.value == value).unwrap_or_else(|| {
                kept.push(Kept { value, contexts: Vec::new(), of: 0, least_missed: usize::MAX });
                kept.len() - 1
            });
            let (held, all) = self.held(variant);
            let one = &mut kept[index];
            one.of += 1;
            one.least_missed = one.least_missed.min(all - held);
            if held == all {
                let others = (0..self.columns.len()).filter(|other| *other != column);
                let context: Vec<&str> = others.map(|other| at(variant, other)).collect();
                one.contexts.push(context.join(" "));
            }
        }
        kept
    }
}

impl Kept<'_> {
    /// Returns true if it keeps all expectations with some values of the others, and not with all.
    fn is_mixed(&self) -> bool {
        !self.contexts.is_empty() && self.contexts.len() < self.of
    }
}

/// Returns a small number in words.
fn worded(number: usize) -> String {
    match number {
        1 => "one".to_owned(),
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        more => more.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use lockgate_experiment::{Plan, Row};
    use lockgate_measure::summary::{Bound, Criterion, Expected};
    use lockgate_scenario::Vary;

    use super::*;

    const QUEUES: &str = "port.isp:modem.root=fifo,htb,cake";
    const RATES: &str = "link.line.rate=5mbit,10mbit";

    /// Returns the sentence on the variants, the last variable the fastest, by the number of two expectations
    /// that each misses.
    fn told(vary: &[&str], missed: &[usize]) -> String {
        const THAT: &str = "flow.call.owd.p99";
        let plan = Plan {
            vary: vary.iter().map(|text| Vary::parse(text).expect("a variation")).collect(),
            seeds: vec![1],
            metrics: vec![THAT.to_owned()],
            ..Plan::default()
        };
        let variants = plan.variants().expect("variants");
        assert_eq!(variants.len(), missed.len());
        let rows: Vec<Row> = missed.iter().map(|missed| vec![Some([5e-3, 15e-3, 25e-3][*missed])]).collect();
        let mut compared = Compared::new(&plan, "t", &variants, &rows, None);
        let below = |limit: f64| Expected {
            that: THAT.to_owned(),
            bounds: vec![Bound::Below(limit)],
            criterion: Criterion::default(),
            name: None,
            line: None,
            held_by: None,
            grade: None,
            proven: false,
        };
        compared.judged = compared.judge(&[below(10e-3), below(20e-3)]);
        compared.keepers().unwrap_or_default()
    }

    #[test]
    fn where_the_expectations_hold_is_told_by_the_variable_that_decides() {
        for (missed, sentence) in [
            ([0; 6], "Both hold in every variant."),
            ([1; 6], ""),
            (
                [2, 2, 0, 0, 0, 0],
                "Both hold with htb and cake at every line rate, never with fifo. Every fifo misses at least two.",
            ),
            (
                [2, 1, 1, 0, 0, 0],
                "Both hold with cake at every line rate, with htb only at 10mbit, never with fifo.",
            ),
            ([1, 0, 1, 0, 1, 0], "Both hold with 10mbit at every queue at isp:modem, never with 5mbit."),
        ] {
            assert_eq!(told(&[QUEUES, RATES], &missed), sentence, "{missed:?}");
        }
        assert_eq!(told(&[QUEUES], &[2, 0, 0]), "Both hold with htb and cake, never with fifo.");
    }
}
