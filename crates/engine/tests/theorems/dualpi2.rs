//! Two coupled queues: the controller, the square, the frequency of hits, the step, and who goes first.

use std::collections::BTreeMap;

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::aqm::{FAST, SLOW, gauge, port};
use crate::common::kind;
use crate::common::link::{Link, Sent};
use crate::{between, exponential, random};

const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;

fn packet(flow: u32, length: u64, ecn: u8) -> Header {
    Header { flow: FlowId(flow), length: length as u32, traffic_class: ecn, ..Header::default() }
}

/// When a packet came and when it was gone, of the classic queue or the other.
struct Stay {
    came: Instant,
    gone: Instant,
    classic: bool,
}

/// What had waited longest at `at`, of the classic queue where it held anything.
fn waiting(stays: &[Stay], at: Instant) -> f64 {
    let oldest = |classic| {
        let here = |stay: &&Stay| stay.classic == classic && stay.came < at && stay.gone >= at;
        stays.iter().filter(here).map(|stay| stay.came).min()
    };
    oldest(true).or(oldest(false)).map_or(0.0, |came| at.since(came).as_secs_f64())
}

#[test]
fn every_update_of_dualpi2_is_that_of_the_rfc_and_the_square_holds() {
    let (mut off, mut square, mut updates, mut highest) = (0.0_f64, 0.0_f64, 0, 0.0_f64);
    for trial in 0..6 {
        let mut random = random("dualpi2", trial);
        let rtt = [0.1, 0.03, 0.3][trial as usize % 3];
        let config = json!({ "max_rtt": format!("{}ms", (rtt * 1e3) as u32) });
        // Appendix A.1: target 15 ms, Tupdate = min(target, RTT_max / 3), the gains from both.
        let tupdate: f64 = f64::min(0.015, rtt / 3.0);
        let (alpha, beta) = (0.1 * tupdate / (rtt * rtt), 0.3 / rtt);
        let step = Duration::from_secs_f64(tupdate);
        let mut link = Link::new(port("dualpi2", &config), SLOW);
        let (mut now, mut seen, mut checks) = (Instant::ZERO, Vec::new(), Vec::new());
        for (load, low) in [(1.3, 3), (0.6, 5), (1.1, 0), (2.0, 2), (0.1, 5), (0.9, 10), (1.2, 10)] {
            let until = now + Duration::from_secs(3);
            while now < until {
                now = now + Duration::from_secs_f64(exponential(&mut random, 1e-3 / load));
                let ecn = if random.below(10) < low { ECT_1 } else { NOT_ECT };
                link.offer(Header { sent: now, ..packet(0, 1000, ecn) }, now);
                if random.below(50) == 0 {
                    checks.push((
                        now,
                        ["base", "classic", "coupled"]
                            .map(|which| gauge(&mut link.port, &format!("{which}_probability"))),
                    ));
                }
            }
        }
        link.drain();
        let sent = link.sent.iter().map(|sent| (sent.at, &sent.packet));
        let dropped = link.dropped.iter().map(|drop| (drop.at, &drop.packet));
        for (gone, packet) in sent.chain(dropped) {
            seen.push(Stay { came: packet.sent, gone, classic: packet.traffic_class & 1 == 0 });
        }
        seen.sort_by_key(|stay| stay.came);
        let (mut probability, mut before, mut due) = (0.0_f64, 0.0, Instant::ZERO + step);
        for (at, [base, classic, coupled]) in checks {
            while due <= at {
                // Packets stay for less than three seconds; only those near count.
                let from = seen.partition_point(|stay| stay.came + Duration::from_secs(3) < due);
                let to = seen.partition_point(|stay| stay.came < due);
                let waited = waiting(&seen[from..to], due);
                probability += alpha * (waited - 0.015) + beta * (waited - before);
                probability = probability.clamp(0.0, 1.0);
                before = waited;
                due = due + step;
                updates += 1;
            }
            off = off.max((base - probability).abs());
            highest = highest.max(base);
            if coupled < 1.0 {
                square = square.max((classic - (coupled / 2.0) * (coupled / 2.0)).abs());
            }
        }
    }
    println!("dualpi2: off by {off:.2e} in {updates} updates, p_C by {square:.2e}, p' up to {highest:.2}");
    assert!(off < 1e-7 && square < 1e-12 && updates > 5_000 && highest > 0.3);
}

/// A link whose base probability stands still about this high: it is brought there, and then told no gains.
fn frozen(base: f64, config: &Value) -> Link {
    let mut config = config.clone();
    let given = [("target", json!("0ms")), ("tupdate", json!("10ms")), ("beta", json!(0.0))];
    for (key, value) in given {
        config[key] = value;
    }
    config["alpha"] = json!(base * 100.0);
    let mut link = Link::new(port("dualpi2", &config), FAST);
    // The link is busy until the update at 10 ms, which finds the second packet having waited that long.
    link.rate = SLOW;
    link.offer(packet(0, 10_000, NOT_ECT), Instant::ZERO);
    link.offer(packet(0, 64, ECT_0), Instant::ZERO);
    link.run_until(Instant::from_picos(10_000_000_000));
    config["alpha"] = json!(0.0);
    let now = Instant::from_picos(10_000_000_001);
    let changed = link
        .port
        .with_node("dualpi2", now, &NoHeaders, &mut |node, cx| kind::reconfigure(node, &config, &[], cx));
    changed.expect("there is one").expect("valid");
    link.rate = FAST;
    link.drain();
    assert!((gauge(&mut link.port, "base_probability") - base).abs() < 1e-9);
    link.sent.clear();
    link.dropped.clear();
    link
}

#[test]
fn hits_are_as_frequent_as_their_probability() {
    for (base, k) in [(0.1, 2), (0.25, 2), (0.37, 2), (0.05, 8), (0.2, 0)] {
        let mut worst = 0.0_f64;
        for moment in ["drop_dequeue", "drop_enqueue"] {
            let config =
                json!({ "coupling_factor": k, "drop": moment, "step_thresh": "1000s", "limit": "100000p" });
            let mut link = frozen(base, &config);
            let mut random = random("hits", k);
            let start = link.sent.last().map_or(Instant::from_picos(20_000_000_000), |sent| sent.at);
            let mut offered = [0.0; 3];
            for index in 0..30_000 {
                let now = start + Duration::from_micros(index);
                let ecn = random.below(3) as u8;
                offered[usize::from(ecn)] += 1.0;
                link.offer(packet(u32::from(ecn), 300, ecn), now);
            }
            link.drain();
            let marked = |ecn: u8| {
                let of = |sent: &&Sent| sent.packet.flow.0 == u32::from(ecn) && sent.packet.is_marked();
                link.sent.iter().filter(of).count() as f64
            };
            assert!(link.dropped.iter().all(|drop| drop.packet.traffic_class == NOT_ECT));
            let classic = link.dropped.len() as f64 + marked(ECT_0) - (offered[0] + offered[2]) * base * base;
            let low = marked(ECT_1) - offered[1] * f64::from(k as u32) * base;
            worst = worst.max(classic.abs()).max(low.abs());
        }
        println!("dualpi2: at p' {base}, k {k} the hits are {worst:.2} off n p");
        // Within one, but for the fixed point of p'.
        assert!(worst < 1.001, "{worst}");
    }
}

#[test]
fn whoever_waits_longer_than_the_step_is_marked() {
    let (mut over, mut worst) = (0, 0.0_f64);
    for trial in 0..10 {
        let mut random = random("step", trial);
        let micros = between(&mut random, 200, 5_000);
        // No probability: alpha and beta are nothing.
        let config = json!({ "step_thresh": format!("{micros}us"), "alpha": 0.0, "beta": 0.0 });
        let mut link = Link::new(port("dualpi2", &config), SLOW);
        let mut now = Instant::ZERO;
        for _ in 0..3_000 {
            now = now + Duration::from_secs_f64(exponential(&mut random, 1.1e-3));
            let ecn = if random.below(3) == 0 { NOT_ECT } else { ECT_1 };
            link.offer(Header { sent: now, ..packet(0, 1000, ecn) }, now);
        }
        link.drain();
        let step = Duration::from_micros(micros);
        for sent in link.sent.iter().filter(|sent| sent.packet.traffic_class != NOT_ECT) {
            let waited = sent.at.since(sent.packet.sent);
            assert_eq!(sent.packet.is_marked(), waited > step, "it waited {waited} with a step of {step}");
            over += usize::from(waited > step);
            if waited <= step {
                worst = worst.max(waited.as_secs_f64() / step.as_secs_f64());
            }
        }
    }
    println!("dualpi2: {over} over the step, the longest unmarked {worst:.3} of it");
    assert!(over > 500 && worst > 0.95, "the traffic tries nothing");
}

#[test]
fn the_classic_queue_has_its_protection_to_within_a_packet_of_each() {
    let mut worst = 0.0_f64;
    for trial in 0..40 {
        let mut random = random("protection", trial);
        let percent = between(&mut random, 0, 100);
        let longest = [between(&mut random, 64, 1514), between(&mut random, 64, 9014)];
        let config = json!({ "classic_protection": format!("{percent}%"), "alpha": 0.0, "beta": 0.0 });
        let mut link = Link::new(port("dualpi2", &config), SLOW);
        let ecn = [NOT_ECT, ECT_1];
        let mut draw = |queue: usize| match random.below(3) {
            0 => longest[queue],
            _ => between(&mut random, 1, longest[queue] as u32),
        };
        for queue in [0, 0, 0, 1, 1, 1] {
            link.offer(packet(queue as u32, draw(queue), ecn[queue]), Instant::ZERO);
        }
        // The first met an idle link.
        let (mut served, mut seen, mut low, mut high) = ([0.0_f64; 2], 1, 0.0_f64, 0.0_f64);
        let share = percent as f64 / 100.0;
        for _ in 0..3_000 {
            let at = link.next_event().expect("backlogged");
            link.step(at);
            while seen < link.sent.len() {
                let queue = link.sent[seen].packet.flow.0 as usize;
                served[queue] += f64::from(link.sent[seen].packet.length);
                seen += 1;
                let ahead = (1.0 - share) * served[0] - share * served[1];
                (low, high) = (low.min(ahead), high.max(ahead));
                link.offer(packet(queue as u32, draw(queue), ecn[queue]), at);
            }
        }
        let bound = (1.0 - share) * longest[0] as f64 + share * longest[1] as f64;
        assert!(high - low <= bound + 1e-3, "{} over {bound}", high - low);
        worst = worst.max((high - low) / bound);
    }
    println!("dualpi2: shares within {worst:.3} of the bound");
    assert!(worst > 0.9 && worst <= 1.0, "the traffic tries nothing");
}

/// A Reno sender and a scalable one over a link, with round trips of `BASE` and the waiting.
struct Loop {
    link: Link,
    windows: [f64; 2],
    in_flight: [f64; 2],
    /// When an answer comes back, of whom, and whether it tells of a mark or a loss.
    answers: BTreeMap<(Instant, usize), (usize, bool)>,
    /// When Reno halved its window last.
    halved: Instant,
    seen: [usize; 2],
}

const BASE: Duration = Duration::from_millis(20);
const RENO: usize = 0;

impl Loop {
    fn new(config: &Value, rate: Rate) -> Self {
        Self {
            link: Link::new(port("dualpi2", config), rate),
            windows: [10.0; 2],
            in_flight: [0.0; 2],
            answers: BTreeMap::new(),
            halved: Instant::ZERO,
            seen: [0; 2],
        }
    }

    /// Fills the windows, and notes the answers to what has left.
    fn send(&mut self, now: Instant) {
        for which in [RENO, 1] {
            while self.in_flight[which] < self.windows[which].floor() {
                let header = packet(which as u32, 1000, [NOT_ECT, ECT_1][which]);
                self.link.offer(Header { sent: now, ..header }, now);
                self.in_flight[which] += 1.0;
            }
        }
        let Self { link, answers, seen, .. } = self;
        let sent = link.sent[seen[0]..].iter().map(|sent| (sent.at, &sent.packet, sent.packet.is_marked()));
        let dropped = link.dropped[seen[1]..].iter().map(|drop| (drop.at, &drop.packet, true));
        for (at, packet, signal) in sent.chain(dropped) {
            let mut key = (at + BASE, 0);
            while answers.contains_key(&key) {
                key.1 += 1;
            }
            answers.insert(key, (packet.flow.0 as usize, signal));
        }
        *seen = [link.sent.len(), link.dropped.len()];
    }

    /// The next thing that happens, and when.
    fn step(&mut self) -> Instant {
        let next = self.link.next_event().unwrap_or(Instant::NEVER);
        let answer = self.answers.first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at);
        if next <= answer {
            self.link.step(next);
            return next;
        }
        let ((now, _), (which, signal)) = self.answers.pop_first().expect("something is under way");
        self.in_flight[which] -= 1.0;
        let window = &mut self.windows[which];
        if !signal {
            *window += 1.0 / *window;
        } else if which != RENO {
            // A scalable sender: half a packet less for every mark.
            *window = (*window - 0.5).max(2.0);
        } else if now.since(self.halved) > BASE + Duration::from_millis(15) {
            *window = (*window / 2.0).max(2.0);
            self.halved = now;
        }
        now
    }
}

#[test]
fn l4s_waits_are_short_beside_classic_ones_and_both_get_about_the_same_window() {
    // The law of the coupling: W = 2 / p_L and W = sqrt(3 / (2 p_C)) come to a ratio that p' is not in.
    let mut senders = Loop::new(&json!({}), Rate::from_bits(40_000_000));
    let (warm, end) = (Duration::from_secs(20), Duration::from_secs(60));
    let (mut now, mut sums, mut count) = (Instant::ZERO, [0.0; 2], 0.0);
    while now < Instant::ZERO + end {
        senders.send(now);
        now = senders.step();
        if now > Instant::ZERO + warm {
            for (sum, window) in sums.iter_mut().zip(senders.windows) {
                *sum += window;
            }
            count += 1.0;
        }
    }
    let waits = [NOT_ECT, ECT_1].map(|ecn| {
        let late = senders.link.sent.iter().filter(|sent| sent.at > Instant::ZERO + warm);
        let own = late.filter(|sent| sent.packet.flow.0 == u32::from(ecn));
        let mut waits: Vec<_> = own.map(|sent| sent.at.since(sent.packet.sent).as_secs_f64() * 1e3).collect();
        waits.sort_by(f64::total_cmp);
        (waits.iter().sum::<f64>() / waits.len() as f64, waits[waits.len() * 99 / 100])
    });
    let [(classic, _), (low, most)] = waits;
    let [reno, scalable] = sums.map(|sum| sum / count);
    println!("dualpi2: waiting {low:.2} ms beside {classic:.2} ms, the 99th of 100 {most:.2} ms");
    println!("dualpi2: windows {scalable:.1} beside {reno:.1}");
    assert!(classic > 5.0 && low < 1.0 && most < 1.5);
    assert!((0.5..2.0).contains(&(scalable / reno)));
}

#[test]
fn packets_of_one_codepoint_keep_their_order_through_every_change() {
    let mut random = random("order", 0);
    let mut link = Link::new(port("dualpi2", &json!({ "limit": "200p" })), SLOW);
    let mut now = Instant::ZERO;
    let mut sequences = [0_u32; 4];
    for round in 0..20_000_u32 {
        now = now + Duration::from_micros(between(&mut random, 0, 1_800));
        let ecn = random.below(4) as u8;
        let sequence = &mut sequences[usize::from(ecn)];
        *sequence += 1;
        let header = Header { sequence: *sequence, payload: u64::from(ecn), ..packet(0, 1000, ecn) };
        link.offer(header, now);
        if round % 50 == 0 {
            let overload = ["overflow", "drop_on_overload"][random.below(2) as usize];
            let moment = ["drop_enqueue", "drop_dequeue"][random.below(2) as usize];
            let config = json!({
                "limit": format!("{}p", between(&mut random, 1, 300)),
                "classic_protection": format!("{}%", between(&mut random, 0, 100)),
                "overload": overload,
                "drop": moment,
            });
            link.port.with_node("dualpi2", now, &NoHeaders, &mut |node, cx| {
                kind::reconfigure(node, &config, &[], cx).expect("valid");
            });
        }
    }
    link.drain();
    let mut last = [0; 4];
    for sent in &link.sent {
        let last = &mut last[sent.packet.payload as usize];
        assert!(*last < sent.packet.sequence, "{} after {last}", sent.packet.sequence);
        *last = sent.packet.sequence;
    }
    let of = |reason| link.dropped.iter().filter(|drop| drop.reason == reason).count();
    let counts = [DropReason::Limit, DropReason::Early, DropReason::Shrunk].map(of);
    assert!(counts.iter().all(|count| *count > 10), "the traffic tries nothing: {counts:?}");
}
