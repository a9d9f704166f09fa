//! WF2Q+ and QFQ against a fluid server (generalised processor sharing) in exact fractions.

use std::collections::VecDeque;

use num_rational::BigRational;
use serde_json::json;

use crate::random;
use crate::weighted::{Offer, Sent, Traffic, link_of, send, send_through};

fn whole(number: u64) -> BigRational {
    BigRational::from_integer(number.into())
}

/// A fluid server: it serves all that wait at once, each child at its weight's share among them.
struct Fluid<'a> {
    weights: &'a [u64],
    now: BigRational,
    /// What each child still has, packet by packet: which, and the bytes left of it.
    waiting: Vec<VecDeque<(usize, BigRational)>>,
    /// Bytes of each child that went through.
    served: Vec<BigRational>,
    /// When each packet was through.
    ends: Vec<BigRational>,
}

impl<'a> Fluid<'a> {
    fn new(weights: &'a [u64], packets: usize) -> Self {
        let count = weights.len();
        Self {
            weights,
            now: whole(0),
            waiting: vec![VecDeque::new(); count],
            served: vec![whole(0); count],
            ends: vec![whole(0); packets],
        }
    }

    fn offer(&mut self, index: usize, offer: &Offer) {
        self.run_until(&whole(offer.at));
        self.waiting[offer.child].push_back((index, whole(offer.length)));
    }

    /// Serves until `until`, from the end of one packet to that of the next.
    fn run_until(&mut self, until: &BigRational) {
        while self.now < *until {
            let busy: Vec<usize> =
                (0..self.weights.len()).filter(|child| !self.waiting[*child].is_empty()).collect();
            let sum: u64 = busy.iter().map(|child| self.weights[*child]).sum();
            if sum == 0 {
                break;
            }
            let first = busy
                .iter()
                .map(|child| &self.waiting[*child][0].1 * whole(sum) / whole(self.weights[*child]))
                .min();
            let step = first.expect("some are busy").min(until - &self.now);
            self.now += &step;
            for child in busy {
                let share = &step * whole(self.weights[child]) / whole(sum);
                self.served[child] += &share;
                let front = self.waiting[child].front_mut().expect("it is busy");
                front.1 -= share;
                if front.1 == whole(0) {
                    self.ends[front.0] = self.now.clone();
                    self.waiting[child].pop_front();
                }
            }
        }
        self.now = until.clone();
    }
}

/// Sends `traffic` through a link of this kind, whose children say how long their packets are if it asks.
fn through(kind: &str, traffic: &Traffic) -> Vec<Sent> {
    if kind != "qfq" {
        return send(kind, &traffic.weights, &traffic.offers);
    }
    let shares: Vec<_> = traffic
        .weights
        .iter()
        .zip(&traffic.longest)
        .map(|(weight, longest)| json!({ "weight": weight, "maxpkt": format!("{longest}B") }))
        .collect();
    send_through(link_of(kind, &json!({}), &shares), &traffic.offers)
}

/// Worst ratios to the bounds.
#[derive(Clone, Copy, Debug, Default)]
struct Worst {
    late: f64,
    ahead: f64,
    behind: f64,
    /// Behind in longest packets of all.
    in_packets: f64,
}

fn ratio(value: &BigRational, bound: &BigRational) -> f64 {
    let ratio = value / bound;
    // To a millionth: enough to print, and it needs no floating point of large numbers.
    let millionths = (ratio * whole(1_000_000)).to_integer();
    millionths.to_string().parse::<f64>().expect("a number") / 1e6
}

/// How far a child may be ahead of the fluid server and behind it, in bytes, and late, in microseconds.
struct Bounds {
    ahead: BigRational,
    behind: BigRational,
    late: BigRational,
}

fn bounds(kind: &str, traffic: &Traffic, child: usize) -> Bounds {
    let (weight, sum) = (traffic.weights[child], traffic.sum());
    let longest = whole(traffic.longest_of_all());
    // (1 - w/W) L
    let ahead = whole((sum - weight) * traffic.longest[child]) / whole(sum);
    if kind == "wf2q+" {
        return Bounds { ahead, behind: longest.clone(), late: longest };
    }
    // w s more, since start tags are rounded down to slots; and the two indices, the first at the end of a
    // packet of the child: before it, as much as the packet more.
    let slot = BigRational::new(slot(traffic, child).into(), (1_u64 << 32).into());
    let late = whole(3 * sum) * &slot + whole(2) * longest;
    Bounds {
        ahead: ahead + whole(weight) * slot,
        behind: &late * whole(weight) / whole(sum) + whole(traffic.longest[child]),
        late,
    }
}

/// Sends `traffic` through both servers and compares them at the end of every packet; to the end, or while
/// all children wait.
fn compare(kind: &str, traffic: &Traffic, to_the_end: bool, worst: &mut Worst) {
    let sent = through(kind, traffic);
    let bounds: Vec<_> = (0..traffic.weights.len()).map(|child| bounds(kind, traffic, child)).collect();
    let mut fluid = Fluid::new(&traffic.weights, traffic.offers.len());
    let mut served = vec![0; traffic.weights.len()];
    let mut offers = traffic.offers.iter().enumerate().peekable();
    for Sent { offer, end, .. } in &sent {
        while let Some((index, next)) = offers.next_if(|(_, next)| next.at <= *end) {
            fluid.offer(index, next);
        }
        fluid.run_until(&whole(*end));
        if !to_the_end && fluid.waiting.iter().any(VecDeque::is_empty) {
            return;
        }
        let child = traffic.offers[*offer].child;
        served[child] += traffic.offers[*offer].length;
        for (child, served) in served.iter().enumerate() {
            let ahead = whole(*served) - &fluid.served[child];
            worst.ahead = worst.ahead.max(ratio(&ahead, &bounds[child].ahead));
            worst.behind = worst.behind.max(ratio(&-&ahead, &bounds[child].behind));
            worst.in_packets = worst.in_packets.max(ratio(&-ahead, &whole(traffic.longest_of_all())));
        }
        // The fluid server may not be through with it yet; then it is not late.
        if fluid.ends[*offer] > whole(0) {
            let late = whole(*end) - &fluid.ends[*offer];
            worst.late = worst.late.max(ratio(&late, &bounds[child].late));
        }
    }
}

#[test]
fn wf2q_plus_stays_by_the_fluid_server() {
    let (mut backlogged, mut open) = (Worst::default(), Worst::default());
    for trial in 0..60 {
        let mut random = random("fluid", trial);
        let mut traffic = Traffic::new(150, 6, 0.9, &mut random);
        compare("wf2q+", &traffic, true, &mut open);
        // All of it at once: as long as each child has some, the fluid server's rates are their shares.
        traffic.offers.iter_mut().for_each(|offer| offer.at = 0);
        compare("wf2q+", &traffic, false, &mut backlogged);
    }
    println!("wf2q+ against the fluid server, all children waiting: {backlogged:.3?} of the bounds");
    // What an idle child leaves, the fluid server gives at once, and WF2Q+ as virtual time goes: no theorem.
    println!("the same while children come and go: {open:.3?}");
    let Worst { late, ahead, behind, .. } = backlogged;
    assert!(late <= 1.0 && ahead <= 1.0 && behind <= 1.0, "{backlogged:?}");
    assert!(late > 0.8 && ahead > 0.8 && behind > 0.8, "the traffic tries nothing: {backlogged:?}");
}

/// How much less than its share a child got, from any time in a busy period of its own to the end of one of
/// its packets: as a share of its worst-case fair index, which is `bound` over the sum of weights.
fn worst_case_fairness(kind: &str, traffic: &Traffic, child: usize, bound: i128) -> f64 {
    let sent = through(kind, traffic);
    let (weight, sum) = (i128::from(traffic.weights[child]), i128::from(traffic.sum()));
    let own: Vec<&Sent> = sent.iter().filter(|sent| traffic.offers[sent.offer].child == child).collect();
    // Own service times W less the link's service times w, up to `time`.
    let account = |time: u64| -> i128 {
        let part = |sent: &Sent| i128::from(time.min(sent.end).saturating_sub(sent.start));
        let (mut mine, mut all) = (0, 0);
        for sent in sent.iter().take_while(|sent| sent.start < time) {
            all += part(sent);
            mine += if traffic.offers[sent.offer].child == child { part(sent) } else { 0 };
        }
        mine * sum - all * weight
    };
    let (mut highest, mut busy_until, mut worst) = (0, None, 0);
    for sent in own {
        let arrived = traffic.offers[sent.offer].at;
        if busy_until.is_none_or(|until| until <= arrived) {
            highest = account(arrived);
        }
        // It gains while it is served and loses while it is not.
        worst = worst.max(highest - account(sent.end));
        highest = highest.max(account(sent.end));
        busy_until = Some(sent.end);
    }
    assert!(worst <= bound + sum, "{kind}: {worst} is over {bound}");
    worst as f64 / bound as f64
}

/// The worst-case fair index of WF2Q+, `L_i + (L_max - L_i) w_i/W`, times the sum of weights.
fn index_of_wf2q_plus(traffic: &Traffic, child: usize) -> i128 {
    i128::from(traffic.longest[child]) * i128::from(traffic.sum())
        + i128::from(traffic.longest_of_all() - traffic.longest[child]) * i128::from(traffic.weights[child])
}

/// The slot of a child of QFQ, in bytes per unit of weight times 2^32: the smallest power of two that holds
/// its longest packet.
fn slot(traffic: &Traffic, child: usize) -> i128 {
    let steps = (traffic.longest[child] << 32).div_ceil(traffic.weights[child]);
    i128::from(steps.next_power_of_two())
}

/// The worst-case fair index of QFQ, `3 w_i s_i + 2 L_max w_i/W`, times the sum of weights, rounded down.
fn index_of_qfq(traffic: &Traffic, child: usize) -> i128 {
    let (weight, sum) = (i128::from(traffic.weights[child]), i128::from(traffic.sum()));
    ((3 * weight * sum * slot(traffic, child)) >> 32) + 2 * i128::from(traffic.longest_of_all()) * weight
}
#[test]
fn wf2q_plus_gives_every_busy_child_its_share_at_any_time() {
    let mut worst = 0.0_f64;
    for trial in 0..60 {
        let mut random = random("worst-case fairness", trial);
        let load = [0.9, 1.2, 3.0][random.below(3) as usize];
        let traffic = Traffic::new(500, 6, load, &mut random);
        for child in 0..traffic.weights.len() {
            let bound = index_of_wf2q_plus(&traffic, child);
            worst = worst.max(worst_case_fairness("wf2q+", &traffic, child, bound));
        }
    }
    println!("wf2q+: worst-case fairness {worst:.3} of the bound");
    assert!(worst > 0.8, "the traffic tries nothing");
}

#[test]
fn qfq_gives_every_busy_child_its_share_at_any_time() {
    let (mut worst, mut beside) = (0.0_f64, 0.0_f64);
    for trial in 0..120 {
        let mut random = random("worst-case fairness", trial);
        let load = [0.9, 1.2, 3.0][random.below(3) as usize];
        let traffic = Traffic::new(500, 12, load, &mut random);
        for child in 0..traffic.weights.len() {
            let bound = index_of_qfq(&traffic, child);
            let ratio = worst_case_fairness("qfq", &traffic, child, bound);
            worst = worst.max(ratio);
            beside = beside.max(ratio * bound as f64 / index_of_wf2q_plus(&traffic, child) as f64);
        }
    }
    println!("qfq: worst-case fairness {worst:.3} of its bound, {beside:.3} of that of wf2q+");
    assert!(worst > 0.3, "the traffic tries nothing");
    assert!(beside > 1.0, "it is told apart from wf2q+");
}

/// How late packets end against their child's own backlog at its own rate, in the worst case: from a
/// packet's arrival, what waits in its child at rate `C w/W`, and `(3 W s + 2 L_max)/C`.
fn time_fairness(traffic: &Traffic) -> f64 {
    let sum = i128::from(traffic.sum());
    let sent = through("qfq", traffic);
    let mut ends = vec![0; traffic.offers.len()];
    sent.iter().for_each(|sent| ends[sent.offer] = sent.end);
    let mut worst = 0.0_f64;
    for child in 0..traffic.weights.len() {
        let weight = i128::from(traffic.weights[child]);
        let bound = ((3 * sum * slot(traffic, child)) >> 32) + 2 * i128::from(traffic.longest_of_all());
        let own: Vec<usize> =
            (0..traffic.offers.len()).filter(|offer| traffic.offers[*offer].child == child).collect();
        for (place, offer) in own.iter().enumerate() {
            let at = traffic.offers[*offer].at;
            let ahead = own[..place].iter().filter(|before| ends[**before] > at);
            let waits = ahead.chain([offer]).map(|before| i128::from(traffic.offers[*before].length));
            let late = i128::from(ends[*offer] - at) * weight - waits.sum::<i128>() * sum;
            assert!(late <= (bound + 1) * weight, "{late} over {weight} is more than {bound}");
            worst = worst.max(late as f64 / (bound * weight) as f64);
        }
    }
    worst
}

#[test]
fn qfq_sends_a_packet_in_the_time_of_its_own_backlog_and_a_little_more() {
    let mut worst = 0.0_f64;
    for trial in 0..120 {
        let mut random = random("time fairness", trial);
        let load = [0.9, 1.2, 3.0][random.below(3) as usize];
        worst = worst.max(time_fairness(&Traffic::new(400, 12, load, &mut random)));
    }
    println!("qfq: time worst-case fairness {worst:.3} of the bound");
    assert!(worst > 0.2, "the traffic tries nothing");
}

#[test]
fn qfq_stays_near_the_fluid_server() {
    let (mut quick, mut exact) = (Worst::default(), Worst::default());
    for trial in 0..60 {
        let mut random = random("fluid", trial);
        let mut traffic = Traffic::new(150, 6, 0.9, &mut random);
        traffic.offers.iter_mut().for_each(|offer| offer.at = 0);
        compare("qfq", &traffic, false, &mut quick);
        compare("wf2q+", &traffic, false, &mut exact);
    }
    println!("qfq against the fluid server: {quick:.3?} of the bounds; wf2q+ on the same: {exact:.3?}");
    let Worst { late, ahead, behind, in_packets } = quick;
    assert!(late <= 1.0 && ahead <= 1.0 && behind <= 1.0, "{quick:?}");
    assert!(late > 0.3 && ahead > 0.5 && behind > 0.3, "the traffic tries nothing: {quick:?}");
    // The promise against WF2Q+: a small multiple of the longest packet more.
    assert!(in_packets <= exact.in_packets + 4.0, "{in_packets} beside {exact:?}");
}
