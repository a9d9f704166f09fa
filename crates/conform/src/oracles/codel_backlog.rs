//! Controlled delay: a backlog of at most one MTU is never dropped, however long it waits.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct CodelBacklog;

/// Packets sent in a trial.
const PACKETS: u64 = 200;

/// Returns the number of drops if each departure leaves `left` packets of this length behind.
fn drops(worst: &mut Measurement, kind: &Kind, mtu: u64, length: u64, left: u64) -> usize {
    // A byte takes a microsecond, so that every packet waits longer than the target.
    let config =
        json!({ "mtu": format!("{mtu}B"), "target": "10us", "interval": format!("{}us", 4 * length) });
    let mut link = Link::new(port(kind.name, &config), SLOW);
    for _ in 0..=left {
        link.offer(packet(0, length), Instant::ZERO);
    }
    for sent in 0..PACKETS {
        // In the middle of each transmission one arrives to replace the one that left.
        link.offer(packet(0, length), Instant::ZERO + Duration::from_micros(sent * length + length / 2));
        if !link.dropped.is_empty() {
            break;
        }
    }
    worst.fault(link.fault.as_ref());
    link.dropped.len()
}

impl Oracle for CodelBacklog {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "codel-backlog";
    const THEOREM: &'static str = "nothing is dropped while a departure leaves `mtu` bytes or fewer, whatever they wait; one packet more, and something is";
    const SOURCE: &'static str = "RFC 8289, section 5.5 (`maxpacket`)";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["codel", "fq_codel"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("drops from a backlog of the mtu", "packets");
        for trial in trials.each() {
            let mut random = trials.random("backlog", trial);
            let (mtu, length) = (between(&mut random, 1514, 9000), between(&mut random, 300, 1514));
            let fits = mtu / length;
            let dropped = drops(&mut worst, kind, mtu, length, fits);
            worst.require_zero(dropped as u64);
            let dropped = drops(&mut worst, kind, mtu, length, fits + 1);
            worst.require(dropped > 0, || {
                format!("{} packets of {length} B wait for ever above {mtu} B", fits + 1)
            });
        }
        vec![worst.finding(trials.count)]
    }
}
