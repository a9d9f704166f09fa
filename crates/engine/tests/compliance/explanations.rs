//! Laws of explanations: the choice that one names is what the dequeue then does, and to take one changes
//! nothing.

use std::collections::BTreeMap;

use lockgate_engine::explanation::{Choice, Dropped};
use lockgate_engine::port::{PortEvent, PortStep};
use lockgate_engine::units::Instant;

use crate::common::kind;
use crate::storm::Storm;
use crate::topology::Topology;

/// Number of explanations compared, and of those that left the choice open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Explained {
    pub compared: u64,
    pub open: u64,
}

impl Explained {
    /// Compares the explanation of a step with its event. `drops` collects the drops before it; with `exact`
    /// the explanation names all of them, otherwise some.
    pub(crate) fn compare(&mut self, step: &PortStep, drops: &mut Vec<Dropped>, exact: bool) {
        if let PortEvent::Drop(packet, reason) = step.event {
            return drops.push(Dropped { packet, reason });
        }
        let Some(explanation) = &step.decision else { return };
        self.compared += 1;
        let why = explanation.why.to_string();
        assert!(!why.is_empty(), "`{}` gives no reason", explanation.kind);
        let actual = match step.event {
            PortEvent::Departure { packet, .. } => Choice::Packet { row: None, packet },
            PortEvent::Refusal(Some(time)) => Choice::Wait(time),
            PortEvent::Refusal(None) => Choice::Empty,
            PortEvent::Arrival(_) | PortEvent::Drop(..) => panic!("no decision belongs to it"),
        };
        let named = match explanation.choice {
            Choice::Packet { packet, .. } => Choice::Packet { row: None, packet },
            Choice::Unknown => {
                self.open += 1;
                return drops.clear();
            }
            other => other,
        };
        assert_eq!(named, actual, "`{}` explained another choice: {why}", explanation.kind);
        if exact {
            assert_eq!(explanation.drops, *drops, "`{}` explained other drops: {why}", explanation.kind);
        } else {
            let known = |dropped| drops.contains(dropped);
            assert!(
                explanation.drops.iter().all(known),
                "`{}` explained a drop that is none",
                explanation.kind
            );
        }
        if let (Choice::Packet { row: Some(row), .. }, Some(below)) = (explanation.choice, &explanation.below)
        {
            assert_eq!(explanation.rows[row].name.to_string(), *below.queue, "the row is that of the child");
        }
        drops.clear();
    }
}

/// Runs a storm on `topology`, explained or not. Returns the digest of all output, and the comparisons.
fn run(topology: &Topology, seed: u64, operations: u64, explains: bool) -> (u64, Explained) {
    let topologies = std::slice::from_ref(topology);
    let mut storm = Storm::new(topology, topologies, seed, Instant::ZERO);
    if explains {
        storm.account.watch();
    }
    storm.run(operations);
    (storm.account.digest, storm.account.explained.unwrap_or_default())
}

fn same_with_explanations(topology: &Topology, seed: u64, operations: u64) -> Explained {
    let (plain, _) = run(topology, seed, operations, false);
    let (digest, explained) = run(topology, seed, operations, true);
    assert_eq!(plain, digest, "explanations change {} at seed {seed}", topology.describe());
    explained
}

#[test]
fn every_kind_alone_explains_what_it_then_does() {
    let mut open: BTreeMap<&str, u64> = BTreeMap::new();
    for kind in kind::kinds() {
        for seed in 0..12 {
            let explained = same_with_explanations(&Topology::alone(kind.name), seed, 1_200);
            assert!(explained.compared > 300, "`{}`: {explained:?}", kind.name);
            *open.entry(kind.name).or_default() += explained.open;
        }
    }
    let open: Vec<&str> = open.into_iter().filter(|(_, open)| *open > 0).map(|(kind, _)| kind).collect();
    assert!(open.is_empty(), "kinds that leave a choice open: {open:?}");
}

#[test]
fn every_pair_of_kinds_explains_what_it_then_does() {
    let mut all = Explained::default();
    for (seed, topology) in Topology::all().iter().enumerate() {
        let explained = same_with_explanations(topology, seed as u64, 80);
        if !topology.is_hostile() {
            all.compared += explained.compared;
            all.open += explained.open;
        }
    }
    assert!(all.compared > 10_000 && all.open * 50 < all.compared, "{all:?}");
}
