//! Policies that ran on a router, the newest last: text, author, time, difference and outcome.

use serde::{Deserialize, Serialize};

/// Policies kept of each outcome.
pub const KEPT: usize = 10;

/// Outcome of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// On trial: neither confirmed nor reverted yet.
    Trial,
    /// Confirmed: the router goes back to it.
    Confirmed,
    /// Reverted, for this reason.
    Reverted(String),
}

/// A policy that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// Number, from 1 on over the life of the state directory.
    pub number: u64,
    /// Origin: the name of a file, or `rollback to 3`.
    pub origin: String,
    /// Whole text.
    pub text: String,
    /// Time of the change, by the wall clock, as in RFC 3339.
    pub at: String,
    /// Author: user and command.
    pub by: String,
    /// Unified difference from the policy that ran before.
    pub difference: String,
    /// Outcome.
    pub outcome: Outcome,
}

/// Policies of a router, oldest first: the last ten that were confirmed, and the last ten that were reverted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// Number of the newest policy; 0 before the first.
    newest: u64,
    revisions: Vec<Revision>,
}

impl History {
    /// Adds a policy and returns its number. Removes the oldest policy of its outcome if there are more than
    /// [`KEPT`].
    pub fn push(&mut self, revision: Revision) -> u64 {
        self.newest += 1;
        let number = self.newest;
        self.revisions.push(Revision { number, ..revision });
        self.trim();
        number
    }

    /// Sets the outcome of the policy of this number.
    pub fn settle(&mut self, number: u64, outcome: &Outcome) {
        for revision in self.revisions.iter_mut().filter(|revision| revision.number == number) {
            revision.outcome = outcome.clone();
        }
        self.trim();
    }

    /// Ends trials of a router that is gone.
    pub fn end_trials(&mut self, why: &str) {
        for revision in self.revisions.iter_mut().filter(|revision| revision.outcome == Outcome::Trial) {
            revision.outcome = Outcome::Reverted(why.to_owned());
        }
        self.trim();
    }

    /// Removes the trial of this number, which never ran.
    pub fn forget_trial(&mut self, number: u64) {
        self.revisions.retain(|one| one.number != number || one.outcome != Outcome::Trial);
    }

    /// Returns the last confirmed policy; `None` before the first.
    pub fn confirmed(&self) -> Option<&Revision> {
        self.back(0)
    }

    /// Returns the policy confirmed `steps` before the last one.
    pub fn back(&self, steps: usize) -> Option<&Revision> {
        self.newest_first().filter(|revision| revision.outcome == Outcome::Confirmed).nth(steps)
    }

    /// Returns all policies, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Revision> {
        self.revisions.iter().rev()
    }

    /// Returns the policy of this number.
    pub fn get(&self, number: u64) -> Option<&Revision> {
        self.revisions.iter().find(|revision| revision.number == number)
    }

    fn trim(&mut self) {
        let is_confirmed = |revision: &Revision| revision.outcome == Outcome::Confirmed;
        for confirmed in [true, false] {
            let count = self.revisions.iter().filter(|one| is_confirmed(one) == confirmed).count();
            let mut surplus = count.saturating_sub(KEPT);
            self.revisions.retain(|one| {
                let leaves = is_confirmed(one) == confirmed && surplus > 0;
                surplus -= usize::from(leaves);
                !leaves
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(text: &str, outcome: Outcome) -> Revision {
        let text = text.to_owned();
        Revision {
            number: 0,
            origin: String::new(),
            text,
            at: String::new(),
            by: String::new(),
            difference: String::new(),
            outcome,
        }
    }

    #[test]
    fn reverted_policies_push_no_confirmed_one_out() {
        let mut history = History::default();
        history.push(revision("first", Outcome::Confirmed));
        for trial in 0..50 {
            let number = history.push(revision(&format!("trial {trial}"), Outcome::Trial));
            history.settle(number, &Outcome::Reverted("no".to_owned()));
        }
        assert_eq!(history.confirmed().map(|revision| &*revision.text), Some("first"));
        assert_eq!(history.newest_first().count(), 1 + KEPT);
        assert_eq!(history.newest_first().next().map(|newest| newest.number), Some(51));
        for number in 2..=30 {
            history.push(revision(&format!("policy {number}"), Outcome::Confirmed));
        }
        assert_eq!(history.back(9).map(|revision| &*revision.text), Some("policy 21"));
        assert_eq!(history.back(10), None);
    }
}
