//! Every parameter at the ends of its range: it is refused with a reason, or it works.

use lockgate_engine::discipline::Arity;
use lockgate_engine::units::{Duration, Instant};
use serde_json::Value;

use crate::account::Account;
use crate::common::kind::{self, Kind, Refusal};
use crate::parameters::{Parameter, alone, extremes, parameters};
use crate::topology::{FLOWS, Topology};

/// A refusal names an existing parameter, or the children, and gives a reason.
fn check_reason(kind: &Kind, refusal: &Refusal) {
    let Refusal::Invalid(invalid) = refusal else { return };
    let schema = if invalid.child.is_some() { &kind.share_schema } else { &kind.config_schema };
    let known = parameters(schema).iter().any(|parameter: &Parameter| parameter.name == invalid.field);
    assert!(known || invalid.field == "children", "{}: no field `{}`", kind.name, invalid.field);
    let why = &invalid.why;
    assert!(!why.is_empty() && !why.ends_with('.'), "{}: {why}", kind.name);
}

/// Durations without a packet, over which averages, tokens and virtual times decay.
const SILENCES: [Duration; 6] = [
    Duration::from_picos(1),
    Duration::from_millis(1),
    Duration::from_secs(1),
    Duration::from_secs(2_000),
    Duration::from_secs(3_600 * 100),
    Duration::from_secs(3_600 * 2_400),
];

/// Sends the smallest and the largest packets through until the port is empty or time ends; and again after
/// silences.
fn use_it(account: &mut Account) {
    for round in 0..2 {
        for flow in 0..3 {
            for length in [1, 65_536, 64, 1514] {
                account.offer(flow, length, Duration::from_millis(u64::from(flow)));
            }
            account.peek("root");
            account.poll();
        }
        account.now = account.now + Duration::from_micros(700 * round);
    }
    for silence in SILENCES {
        if !drain(account) {
            break;
        }
        account.now = account.now + silence;
        for flow in 0..2 {
            account.offer(flow, 1514, Duration::ZERO);
        }
    }
    drain(account);
    account.flush();
}

/// Follows the times that the port names until it is empty; `false` if it reaches the end of time.
fn drain(account: &mut Account) -> bool {
    let mut left = 2_000;
    while account.waiting() > 0 {
        left -= 1;
        assert!(left > 0, "a drain comes to an end");
        if !account.poll() && account.waiting() > 0 {
            let wake = account.wake.expect("a backlog names a time");
            if wake == Instant::NEVER {
                return false;
            }
            account.now = wake;
        }
    }
    true
}

fn trees(kind: &Kind) -> Vec<Topology> {
    let mut trees = vec![Topology::alone(kind.name)];
    if kind.children == Arity::Optional {
        trees.push(Topology::over("root", kind.name, vec![Topology::leaf("leaf/0", "fifo")]));
    }
    if kind.children == Arity::Classes {
        trees.push(Topology::classes(kind.name, "fifo"));
    }
    trees
}

#[test]
fn every_extreme_is_refused_or_works() {
    let (mut refused, mut worked) = (0, 0);
    for kind in kind::kinds() {
        let configs = extremes(&kind.example, &parameters(&kind.config_schema));
        let shares = extremes(&kind.share, &parameters(&kind.share_schema));
        // A parameter of its own and one of a child's share, both at their extremes.
        let singles = alone(&kind.example, &parameters(&kind.config_schema));
        let single_shares = alone(&kind.share, &parameters(&kind.share_schema));
        for tree in trees(kind) {
            for (config, share) in configs
                .iter()
                .map(|config| (config, &kind.share))
                .chain(shares.iter().map(|share| (&kind.example, share)))
                .chain(
                    singles.iter().flat_map(|config| single_shares.iter().map(move |share| (config, share))),
                )
            {
                let mut tree = tree.clone();
                tree.config = config.clone();
                // One child at its extreme next to a usual one.
                if let Some(first) = tree.children.first_mut() {
                    first.share = share.clone();
                }
                match try_it(kind, &tree) {
                    Ok(()) => worked += 1,
                    Err(why) => {
                        check_reason(kind, &why);
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 50 && worked > 50, "{refused} refused and {worked} worked");
}

/// Builds the tree and uses it, then reaches the same parameters from the example under load. Both ways must
/// agree on validity.
fn try_it(kind: &Kind, tree: &Topology) -> Result<(), Refusal> {
    let built = tree.build().map(drop);
    let mut example = tree.clone();
    example.config = kind.example.clone();
    example.children.iter_mut().for_each(|child| child.share = kind.share.clone());
    let mut account = Account::plain(&example, 1);
    for flow in 0..FLOWS {
        account.offer(flow, 1514, Duration::ZERO);
        account.offer(flow, 9014, Duration::ZERO);
    }
    account.poll();
    let shares: Vec<Value> = tree.shares().iter().map(|child| child.share.clone()).collect();
    let changed = account.reconfigure("root", &tree.config, &shares);
    assert_eq!(built, changed, "{}: `new` and `reconfigure` disagree on {}", kind.name, tree.config);
    built?;
    use_it(&mut account);
    use_it(&mut Account::plain(tree, 1));
    Ok(())
}
