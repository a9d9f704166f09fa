//! Codecs both ways, and bytes of a kernel.

use proptest::prelude::*;

use super::attributes::{add, find};
use super::own::OwnStatistics;
use super::queue::{HtbRates, KernelQueue};
use super::statistics::{Estimate64, QueueCounts, Statistics};
use super::{CakeStatistics, CakeTin, Tree};

/// Answers of Linux 6.18 to dumps of disciplines and classes: handle, parent, attributes.
const HTB: (u32, u32, &str) = (
    0x0001_0000,
    u32::MAX,
    "08000100687462002400020018000200110003000a00000020000000000000000100000008000500e803000005000c00000000003000070014000100340100000000000004000000000000001800030000000000000000000000000000000000030000002c00030034010000000000000400000000000000030000000000000000000000000000000000000000000000",
);
const INNER: (u32, u32, &str) = (
    0x0001_0001,
    u32::MAX,
    "080001006874620034000200300001000001000000000000d01213000001000000000000d0121300204e0000204e000048e8010007000000000000004800070014000100da00000000000000030000000000000018000300000000000000000000000000000000000000000018000400000000000000000000000000ed490000ed4900002c000300da00000000000000030000000000000000000000000000000000000000000000000000000000000018000400000000000000000000000000ed490000ed490000",
);
const FAST: (u32, u32, &str) = (
    0x0001_0020,
    0x0001_0001,
    "08000100687462004c000200300001000001000000000000ffffffff0001000000000000ffffffff0000000000000000400d030000000000000000000c00060000f2052a010000000c000700806e8774010000004800070014000100da00000000000000030000000000000018000300000000000000000000000000000000000300000018000400030000000000000000000000ffffffffffffffff2c000300da00000000000000030000000000000003000000000000000000000000000000000000000000000018000400030000000000000000000000ffffffffffffffff",
);
const TBF: (u32, u32, &str) = (
    0x0020_0000,
    0x0001_0020,
    "08000100746266002c00020028000100000100000000000048e801000000000000000000000000006a2c000000c409000000000005000c00000000003000070014000100da0000000000000003000000000000001800030000000000000000000000000000000000000000002c000300da000000000000000300000000000000000000000000000000000000000000000000000000000000",
);
const INGRESS: (u32, u32, &str) = (
    0xffff_0000,
    0xffff_fff1,
    "0c000100696e6772657373000400020005000c00000000003000070014000100000000000000000000000000000000001800030000000000000000000000000000000000000000002c00030000000000000000000000000000000000000000000000000000000000000000000000000000000000",
);

fn bytes(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits"))
        .collect()
}

fn read((handle, parent, digits): (u32, u32, &str), is_class: bool) -> KernelQueue {
    KernelQueue::read(3, (handle, parent), is_class, &bytes(digits)).expect("a queue")
}

#[test]
fn a_kernels_bytes_are_what_tc_prints_of_them() {
    // qdisc htb 1: root ... Sent 308 bytes 4 pkt (dropped 0, overlimits 3 requeues 0)
    let htb = read(HTB, false);
    assert_eq!((htb.kind.as_str(), htb.statistics.sent_bytes, htb.statistics.sent_packets), ("htb", 308, 4));
    assert_eq!(htb.statistics.queue.overlimits, 3);
    // class htb 1:1 root rate 10Mbit ceil 10Mbit burst 1600b cburst 1600b ... tokens: 18925 ctokens: 18925
    let inner = read(INNER, true);
    let rates =
        HtbRates { rate_bps: 10_000_000, ceil_bps: 10_000_000, quantum: 125_000, level: 7, priority: 0 };
    assert_eq!(inner.htb, Some(rates));
    let OwnStatistics::Htb(own) = inner.statistics.own else { panic!("{inner:?}") };
    assert_eq!((own.tokens, own.ctokens, inner.statistics.sent_bytes), (18_925, 18_925, 218));
    // class htb 1:20 parent 1:1 leaf 20: rate 40Gbit ceil 50Gbit ... lended: 3 borrowed: 0 tokens: -1
    // ctokens: -1
    let fast = read(FAST, true);
    let rates = fast.htb.expect("rates");
    assert_eq!((rates.rate_bps, rates.ceil_bps), (40_000_000_000, 50_000_000_000));
    let OwnStatistics::Htb(own) = fast.statistics.own else { panic!("{fast:?}") };
    assert_eq!((own.lends, own.borrows, own.tokens), (3, 0, -1));
    let tree = Tree::of(
        3,
        "v0",
        vec![read(INGRESS, false), read(TBF, false), inner, read(HTB, false), read(FAST, true)],
    );
    let shown: Vec<_> =
        tree.queues.iter().map(|it| format!("{} {} {}", it.depth, it.queue.name(), it.queue.kind)).collect();
    assert_eq!(shown, ["0 1: htb", "1 1:1 htb", "2 1:20 htb", "3 20: tbf", "0 ffff: ingress"]);
}

/// Statistics and kind are written to the same bytes as the kernel's, without what is not read: the old copy
/// of the statistics, and options.
#[test]
fn a_kernels_statistics_are_written_as_it_writes_them() {
    const STATS2: u16 = 7;
    for (golden, is_class) in [(HTB, false), (INNER, true), (FAST, true), (TBF, false), (INGRESS, false)] {
        let queue = read(golden, is_class);
        let (ours, theirs) = (queue.attributes(), bytes(golden.2));
        assert_eq!(find(&ours, STATS2), find(&theirs, STATS2), "{}", queue.name());
    }
}

fn own() -> impl Strategy<Value = (&'static str, bool, OwnStatistics)> {
    let plain = (prop::sample::select(OwnStatistics::KINDS), prop::collection::vec(any::<u8>(), 200))
        .prop_map(|((kind, is_class, length), bytes)| {
            (kind, is_class, OwnStatistics::read(kind, is_class, &bytes[..length]))
        });
    let fq_codel = (any::<bool>(), prop::collection::vec(any::<u8>(), 36)).prop_map(|(is_class, bytes)| {
        let start = u32::from(is_class).to_ne_bytes();
        let length = if is_class { 24 } else { 36 };
        let bytes: Vec<u8> = start.into_iter().chain(bytes[..length].iter().copied()).collect();
        ("fq_codel", is_class, OwnStatistics::read("fq_codel", is_class, &bytes))
    });
    let tin = any::<[u32; 6]>().prop_map(|[sent, dropped, waiting, target, delay, flows]| CakeTin {
        sent_packets: sent,
        sent_bytes: u64::from(sent) * 1500,
        dropped_packets: dropped,
        backlog_packets: waiting,
        threshold_rate: u64::from(target) << 9,
        target_us: target,
        peak_delay_us: delay,
        flow_quantum: flows,
        ..CakeTin::default()
    });
    let cake = (prop::collection::vec(tin, 0..=8), any::<u64>(), any::<u32>()).prop_map(
        |(tins, estimate, memory)| {
            let cake = CakeStatistics {
                capacity_estimate: estimate,
                memory_used: memory,
                max_adjlen: memory / 2,
                tins,
                ..CakeStatistics::default()
            };
            ("cake", false, OwnStatistics::Cake(Box::new(cake)))
        },
    );
    prop_oneof![plain, fq_codel, cake]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (kind, is_class, own) in own(),
        (sent_bytes, sent_packets, is_wide) in any::<(u64, u64, bool)>(),
        counts in any::<[u32; 5]>(),
        estimate in any::<Option<(u64, u64)>>(),
        handles in any::<(u32, u32)>(),
        rates in any::<(u32, u64, u32)>(),
    ) {
        let [backlog_packets, backlog_bytes, dropped, requeued, overlimits] = counts;
        let statistics = Statistics {
            sent_bytes,
            sent_packets: if is_wide { sent_packets } else { sent_packets & u64::from(u32::MAX) },
            is_wide,
            queue: QueueCounts { backlog_packets, backlog_bytes, dropped, requeued, overlimits },
            estimate: estimate.map(|(bytes, packets)| Estimate64 { bytes, packets }),
            own,
        };
        let htb = (kind == "htb" && is_class).then_some(HtbRates {
            rate_bps: u64::from(rates.0) * 8,
            ceil_bps: (rates.1 >> 3) * 8,
            quantum: rates.2,
            level: 3,
            priority: 7,
        });
        let (handle, parent) = handles;
        let queue = KernelQueue { interface: 5, handle, parent, is_class, kind: kind.to_owned(), htb, statistics };
        let read = KernelQueue::read(5, handles, is_class, &queue.attributes());
        prop_assert_eq!(read.as_ref(), Ok(&queue));
        // Cut anywhere, and with what a later version appends, it is read as well, or refused.
        let bytes = queue.attributes();
        for end in 0..bytes.len() {
            let _ = KernelQueue::read(5, handles, is_class, &bytes[..end]);
        }
        let mut longer = bytes;
        add(&mut longer, 99, |out| out.extend([1, 2, 3]));
        prop_assert_eq!(KernelQueue::read(5, handles, is_class, &longer), Ok(queue));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), is_class in any::<bool>()) {
        let _ = KernelQueue::read(1, (1, 2), is_class, &bytes);
        for (kind, of_class, _) in OwnStatistics::KINDS {
            let mut out = Vec::new();
            OwnStatistics::read(kind, *of_class, &bytes).write(&mut out);
        }
        let _ = OwnStatistics::read("cake", false, &bytes);
        let _ = OwnStatistics::read("fq_codel", true, &bytes);
    }
}

#[test]
fn one_value_changes_and_the_burst_stays() {
    let value = |attributes: &[u8], is_class: bool, key: &str| {
        let found = super::settings(attributes, is_class).into_iter().find(|setting| setting.key == key);
        found.map(|setting| setting.value)
    };
    let class = bytes(INNER.2);
    let slow = super::changed(&class, true, "rate", "5mbit").expect("changed");
    assert_eq!(value(&slow, true, "rate").as_deref(), Some("5mbit"));
    assert_eq!(value(&slow, true, "ceil").as_deref(), Some("10mbit"));
    // 20000 ticks of 64 ns for 1600 bytes at 10 Mbit/s are 40000 at 5 Mbit/s.
    let parms = |attributes: &[u8]| find(find(attributes, 2).expect("options"), 1).expect("parms").to_vec();
    let (before, after) = (parms(&class), parms(&slow));
    assert_eq!(
        (&before[24..28], &after[24..28]),
        (&20_000_u32.to_ne_bytes()[..], &40_000_u32.to_ne_bytes()[..])
    );
    assert_eq!(before[28..], after[28..], "what follows stays");
    // Beyond 32 bits of bytes a second, in an attribute of its own; and back.
    let fast = super::changed(&class, true, "ceil", "40gbit").expect("changed");
    assert_eq!(value(&fast, true, "ceil").as_deref(), Some("40gbit"));
    let back = super::changed(&fast, true, "ceil", "10mbit").expect("changed");
    assert_eq!(value(&back, true, "ceil").as_deref(), Some("10mbit"));
    assert_eq!(find(find(&back, 2).expect("options"), 7), None);
    let tbf = bytes(TBF.2);
    let changed = super::changed(&tbf, false, "limit", "30kB").expect("changed");
    assert_eq!(
        (value(&changed, false, "limit").as_deref(), value(&changed, false, "rate")),
        (Some("30000B"), value(&tbf, false, "rate"))
    );
    // Attributes of their own are sent alone.
    let mut codel = Vec::new();
    add(&mut codel, 1, |out| out.extend(b"fq_codel\0"));
    add(&mut codel, 2, |out| {
        for (kind, number) in [(1_u16, 5000_u32), (2, 10_240), (3, 100_000)] {
            add(out, kind, |out| out.extend(number.to_ne_bytes()));
        }
    });
    assert_eq!(value(&codel, false, "target").as_deref(), Some("5ms"));
    let changed = super::changed(&codel, false, "target", "20ms").expect("changed");
    assert_eq!(super::settings(&changed, false).len(), 1);
    for (attributes, is_class, key, text, why) in [
        (&class, true, "rate", "fast", "fast"),
        (&class, true, "rate", "0bit", "range"),
        (&class, true, "prio", "1", "`rate`, `ceil`"),
        (&bytes(INGRESS.2), false, "limit", "1p", "nothing of a `ingress`"),
        (&Vec::new(), false, "limit", "1p", "no settings"),
    ] {
        let refused = super::changed(attributes, is_class, key, text).expect_err(key).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}
