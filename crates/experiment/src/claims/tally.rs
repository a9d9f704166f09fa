//! Numbers of claims by verdict: those of the paper, and Lockgate's own.

use serde::Serialize;

use super::verdict::{JudgedClaim, Verdict};

/// Numbers of claims by the simulation's verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All of them.
    pub claims: usize,
    /// Claims that hold.
    pub hold: usize,
    /// Claims that hold with a fitted parameter.
    pub hold_fitted: usize,
    /// Claims that do not hold.
    pub do_not_hold: usize,
    /// Of these, claims that hold with a fitted value in place of the paper's own.
    pub hold_beside: usize,
    /// Claims that cannot be decided.
    pub not_decidable: usize,
}

impl Tally {
    fn of<'a>(claims: impl Iterator<Item = &'a JudgedClaim>) -> Self {
        let mut tally = Self::default();
        for judged in claims {
            tally.claims += 1;
            *match judged.verdict {
                Verdict::Holds => &mut tally.hold,
                Verdict::HoldsFitted => &mut tally.hold_fitted,
                Verdict::DoesNotHold => &mut tally.do_not_hold,
                Verdict::NotDecidable => &mut tally.not_decidable,
            } += 1;
            let holds_beside = judged.beside.as_ref().is_some_and(|beside| beside.verdict.holds());
            tally.hold_beside += usize::from(holds_beside && judged.verdict == Verdict::DoesNotHold);
        }
        tally
    }

    /// Returns the sum of two tallies.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            claims: self.claims + other.claims,
            hold: self.hold + other.hold,
            hold_fitted: self.hold_fitted + other.hold_fitted,
            do_not_hold: self.do_not_hold + other.do_not_hold,
            hold_beside: self.hold_beside + other.hold_beside,
            not_decidable: self.not_decidable + other.not_decidable,
        }
    }
}

/// Tallies of the paper's claims and of Lockgate's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tallies {
    /// Claims of the paper.
    pub paper: Tally,
    /// Claims of Lockgate's own.
    pub own: Tally,
}

impl Tallies {
    /// Counts claims.
    pub fn of(claims: &[JudgedClaim]) -> Self {
        let tally = |own: bool| Tally::of(claims.iter().filter(|judged| judged.claim.own == own));
        Self { paper: tally(false), own: tally(true) }
    }

    /// Returns the sum of two tallies each.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { paper: self.paper.plus(other.paper), own: self.own.plus(other.own) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::Claim;
    use super::*;

    fn judged(keys: &str) -> JudgedClaim {
        let head = "id = \"c\"\nwhere = \"w\"\ntext = \"t\"\npaper = \"p\"\ndecide = \"d\"\nvalue = \"1\"\n";
        let claim: Claim = toml::from_str(&format!("{head}{keys}")).expect("a claim");
        JudgedClaim::new(&claim, vec![(String::new(), 2.0)])
    }

    #[test]
    fn claims_of_the_paper_and_our_own_are_counted_apart() {
        let claims = [
            judged("at_most = 3.0"),
            judged("at_most = 3.0\nfitted = [\"pace\"]"),
            judged("at_most = 1.0"),
            judged("undecidable = \"figure\""),
            judged("at_most = 3.0\nown = true"),
        ];
        let all = Tallies::of(&claims);
        let paper =
            Tally { claims: 4, hold: 1, hold_fitted: 1, do_not_hold: 1, hold_beside: 0, not_decidable: 1 };
        let own = Tally { claims: 1, hold: 1, ..Tally::default() };
        assert_eq!(all, Tallies { paper, own });
        assert_eq!(all.plus(all).paper.claims, 8);
    }
}
