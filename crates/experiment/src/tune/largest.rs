//! Largest whole number for which a condition holds: doubling, then bisection.
//!
//! The condition must not hold again above a number for which it fails: more calls do not make a line better.

use std::collections::BTreeMap;

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Largest {
    /// Largest number for which every seed keeps the condition; 0 if there is none.
    pub all: u64,
    /// Largest number for which at least one seed keeps it; at least `all`.
    pub some: u64,
    /// True if the limit of the search keeps it, so that larger numbers may too.
    pub is_limit: bool,
}

/// Finds the largest numbers from 1 to `most` that every seed, and at least one, keeps. `run` returns for a
/// number which seeds keep the condition; `None` ends the search.
///
/// # Errors
/// That of `run`.
pub fn largest<E>(
    most: u64,
    mut run: impl FnMut(u64) -> Result<Option<Vec<bool>>, E>,
) -> Result<Option<Largest>, E> {
    let mut known: BTreeMap<u64, Vec<bool>> = BTreeMap::new();
    let mut keeps = |number: u64, does: fn(&[bool]) -> bool| -> Result<Option<bool>, E> {
        if let Some(seeds) = known.get(&number) {
            return Ok(Some(does(seeds)));
        }
        let Some(seeds) = run(number)? else { return Ok(None) };
        let kept = does(&seeds);
        known.insert(number, seeds);
        Ok(Some(kept))
    };
    let every = |seeds: &[bool]| seeds.iter().all(|kept| *kept);
    let any = |seeds: &[bool]| seeds.iter().any(|kept| *kept);
    let Some(all) = bound(0, most, |number| keeps(number, every))? else { return Ok(None) };
    let Some(some) = bound(all, most, |number| keeps(number, any))? else { return Ok(None) };
    Ok(Some(Largest { all, some, is_limit: some == most }))
}

/// Returns the largest number up to `most` for which `keeps` is true; it is for `from`.
fn bound<E>(
    from: u64,
    most: u64,
    mut keeps: impl FnMut(u64) -> Result<Option<bool>, E>,
) -> Result<Option<u64>, E> {
    let (mut kept, mut step) = (from, 1);
    let mut missed = loop {
        if kept >= most {
            return Ok(Some(kept));
        }
        let next = kept.saturating_add(step).min(most);
        match keeps(next)? {
            Some(true) => (kept, step) = (next, step.saturating_mul(2)),
            Some(false) => break next,
            None => return Ok(None),
        }
    };
    while missed - kept > 1 {
        let middle = kept + (missed - kept) / 2;
        match keeps(middle)? {
            Some(true) => kept = middle,
            Some(false) => missed = middle,
            None => return Ok(None),
        }
    }
    Ok(Some(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result for seeds that keep numbers up to these limits, and how many runs it took.
    fn found(most: u64, limits: &[u64]) -> (Largest, usize) {
        let mut runs = 0;
        let found = largest(most, |number| {
            runs += 1;
            Ok::<_, ()>(Some(limits.iter().map(|limit| number <= *limit).collect()))
        });
        (found.expect("no error").expect("no interruption"), runs)
    }

    #[test]
    fn every_limit_is_found() {
        for limit in 0..200 {
            let (largest, runs) = found(1000, &[limit, limit + 3]);
            assert_eq!(largest, Largest { all: limit, some: limit + 3, is_limit: false }, "{limit}");
            assert!(runs <= 2 + 2 * 8 + 4, "{limit}: {runs}");
        }
        assert_eq!(found(100, &[100]).0, Largest { all: 100, some: 100, is_limit: true });
        assert_eq!(found(u64::MAX, &[u64::MAX]).0.all, u64::MAX);
    }

    #[test]
    fn an_interruption_and_an_error_end_it() {
        assert_eq!(largest(9, |number| Ok::<_, ()>((number < 3).then(|| vec![true]))), Ok(None));
        assert_eq!(largest(9, |_| Err("broken")), Err("broken"));
    }
}
