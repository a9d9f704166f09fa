//! WF2Q+ against a fluid server (generalised processor sharing) in exact fractions.

use std::collections::VecDeque;

use num_rational::BigRational;

use crate::random;
use crate::weighted::{Offer, Sent, Traffic, send};

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

/// Worst ratios to the bounds.
#[derive(Debug, Default)]
struct Worst {
    late: f64,
    ahead: f64,
    behind: f64,
}

fn ratio(value: &BigRational, bound: &BigRational) -> f64 {
    let ratio = value / bound;
    // To a millionth: enough to print, and it needs no floating point of large numbers.
    let millionths = (ratio * whole(1_000_000)).to_integer();
    millionths.to_string().parse::<f64>().expect("a number") / 1e6
}

/// Sends `traffic` through both servers and compares them at the end of every packet; to the end, or while
/// all children wait.
fn compare(traffic: &Traffic, to_the_end: bool, worst: &mut Worst) {
    let sent = send("wf2q+", &traffic.weights, &traffic.offers);
    let mut fluid = Fluid::new(&traffic.weights, traffic.offers.len());
    let mut served = vec![0; traffic.weights.len()];
    let mut offers = traffic.offers.iter().enumerate().peekable();
    let longest = traffic.longest_of_all();
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
            // (1 - w/W) L
            let sum = traffic.sum();
            let bound = whole((sum - traffic.weights[child]) * traffic.longest[child]) / whole(sum);
            worst.ahead = worst.ahead.max(ratio(&ahead, &bound));
            worst.behind = worst.behind.max(ratio(&-ahead, &whole(longest)));
        }
        // The fluid server may not be through with it yet; then it is not late.
        if fluid.ends[*offer] > whole(0) {
            let late = whole(*end) - &fluid.ends[*offer];
            worst.late = worst.late.max(ratio(&late, &whole(longest)));
        }
    }
}

#[test]
fn wf2q_plus_stays_by_the_fluid_server() {
    let (mut backlogged, mut open) = (Worst::default(), Worst::default());
    for trial in 0..60 {
        let mut random = random("fluid", trial);
        let mut traffic = Traffic::new(150, 6, 0.9, &mut random);
        compare(&traffic, true, &mut open);
        // All of it at once: as long as each child has some, the fluid server's rates are their shares.
        traffic.offers.iter_mut().for_each(|offer| offer.at = 0);
        compare(&traffic, false, &mut backlogged);
    }
    println!("wf2q+ against the fluid server, all children waiting: {backlogged:.3?} of the bounds");
    // What an idle child leaves, the fluid server gives at once, and WF2Q+ as virtual time goes: no theorem.
    println!("the same while children come and go: {open:.3?}");
    let Worst { late, ahead, behind } = backlogged;
    assert!(late <= 1.0 && ahead <= 1.0 && behind <= 1.0, "{backlogged:?}");
    assert!(late > 0.8 && ahead > 0.8 && behind > 0.8, "the traffic tries nothing: {backlogged:?}");
}

/// How much less than its share a child got, from any time in a busy period of its own to the end of one of
/// its packets: as a share of its worst-case fair index `L_i + (L_max - L_i) w_i/W`.
fn worst_case_fairness(traffic: &Traffic, child: usize) -> f64 {
    let sent = send("wf2q+", &traffic.weights, &traffic.offers);
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
    let bound = i128::from(traffic.longest[child]) * sum
        + i128::from(traffic.longest_of_all() - traffic.longest[child]) * weight;
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
    assert!(worst <= bound + sum, "{worst} is over {bound}");
    worst as f64 / bound as f64
}

#[test]
fn wf2q_plus_gives_every_busy_child_its_share_at_any_time() {
    let mut worst = 0.0_f64;
    for trial in 0..60 {
        let mut random = random("worst-case fairness", trial);
        let load = [0.9, 1.2, 3.0][random.below(3) as usize];
        let traffic = Traffic::new(500, 6, load, &mut random);
        for child in 0..traffic.weights.len() {
            worst = worst.max(worst_case_fairness(&traffic, child));
        }
    }
    println!("wf2q+: worst-case fairness {worst:.3} of the bound");
    assert!(worst > 0.8, "the traffic tries nothing");
}
