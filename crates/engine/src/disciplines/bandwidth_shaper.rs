//! Click's bandwidth shaper: compares the bytes sent with the bytes that the current second allows so far.
//! Not a token bucket.
//!
//! ```text
//! allowed = rate * (time since the second began)    a packet may go while sent <= allowed; sent += length
//! a second begins:  sent -= rate, if it is above zero   unused bytes are carried over, once
//! ```
//!
//! It does not bound bursts as a shaper is expected to. After silence it may send at once the bytes of the
//! current second so far, and those left unused in the last second in which it sent: up to *two seconds* of
//! its rate, plus a packet. Packets are spaced only during a backlog. If bursts matter, use `tbf`.
//!
//! Differs: bits are counted exactly, while Click's gap is a number of 2^-12 microseconds and its clock
//! shows whole microseconds; and a second without a poll counts as polled once (Click's does if nothing
//! upstream tells it to sleep).

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, DropReason, Guarantee, Invalid, NoShare, check_limit,
};
use crate::explanation::{Explanation, Foresight, Value, why};
use crate::node::Node;
use crate::pacing::Pace;
use crate::packet::Packet;
use crate::queue::PacketQueue;
use crate::units::{Duration, Instant, Limit, PICOS_PER_SECOND, Packets, Rate};

/// Parameters of `bandwidth-shaper`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Long-run rate. A change of it begins a new account.
    pub rate: Rate,
    /// Limit of the backlog, in packets or bytes; default `1000p`. Not with a child, whose own limit counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

impl Config {
    fn check(&self, has_child: bool) -> Result<Limit, Invalid> {
        if self.rate.is_zero() {
            return Err(Invalid::new("rate", "of zero lets nothing pass: give it a rate such as `1mbit`"));
        }
        if has_child && self.limit.is_some() {
            return Err(Invalid::new("limit", "belongs to the child, which does the queueing"));
        }
        let limit = self.limit.unwrap_or(Limit::Packets(Packets(1000)));
        check_limit(limit)?;
        Ok(limit)
    }
}

/// Account of the bits sent in a second.
#[derive(Clone)]
struct Account {
    rate: Rate,
    /// Index of the account's second since the start; `None` before the first packet.
    second: Option<u64>,
    /// Bits sent that count in this second; negative if some were carried over.
    sent: i128,
}

impl Account {
    fn new(rate: Rate) -> Self {
        Self { rate, second: None, sent: 0 }
    }

    /// Returns the bits that the second allows so far, rounded down.
    fn allowed(&self, now: Instant) -> i128 {
        let part = u128::from(now.as_picos() % PICOS_PER_SECOND) * u128::from(self.rate.as_bits());
        (part / u128::from(PICOS_PER_SECOND)).cast_signed()
    }

    /// Advances the account to the second of `now`.
    fn turn(&mut self, now: Instant) {
        let second = now.as_picos() / PICOS_PER_SECOND;
        match self.second.replace(second) {
            // The first packet may go at once, without credit for its second so far.
            None => self.sent = self.allowed(now),
            Some(before) => {
                let rate = i128::from(self.rate.as_bits());
                let needed = (self.sent.max(0) + rate - 1) / rate;
                self.sent -= rate * needed.min(i128::from(second.saturating_sub(before)));
            }
        }
    }

    /// Returns the time at which the next packet may go, if later than `now`, for which
    /// [`turn`](Self::turn) was called.
    fn wait(&self, now: Instant) -> Option<Instant> {
        if self.sent <= self.allowed(now) {
            return None;
        }
        // Waits whole seconds until `sent` is at most a second's bits, then for the rest at the rate.
        let (rate, sent) = (u128::from(self.rate.as_bits()), self.sent.unsigned_abs());
        let whole = (sent - 1) / rate;
        let rest = ((sent - whole * rate) * u128::from(PICOS_PER_SECOND)).div_ceil(rate);
        let picos = whole * u128::from(PICOS_PER_SECOND) + rest;
        let began = Instant::from_picos(now.as_picos() / PICOS_PER_SECOND * PICOS_PER_SECOND);
        Some(began + Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX)))
    }
}

/// Queue of the packets.
enum Waiting {
    Here(PacketQueue, Limit),
    Child(Node),
}

/// Click's bandwidth shaper.
pub struct BandwidthShaper {
    account: Account,
    waiting: Waiting,
}

impl Discipline for BandwidthShaper {
    const ABOUT: About = About {
        name: "bandwidth-shaper",
        summary: "Click's shaper: a rate by the second; idle, it saves up to two seconds of it",
        source: "Click, element BandwidthShaper and its GapRate",
        guarantees: &[
            Guarantee::new(
                "envelope: at most 2s * rate + rate * t + one packet leave in any interval t, and no smaller burst holds",
                &["by-the-second"],
            ),
            Guarantee::new("a saturated shaper delivers at least rate * t - one packet", &["by-the-second"]),
        ],
        children: Arity::Optional,
        work_conserving: false,
        example: "rate = \"10mbit\"\n",
        has_own_times: true,
        flow_blind: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = NoShare;

    fn pace(config: &Config) -> Pace {
        Pace { rate: Some(config.rate), ..Pace::default() }
    }

    fn new(config: Config, children: Vec<Child<NoShare>>) -> Result<Self, Invalid> {
        let limit = config.check(!children.is_empty())?;
        let waiting = match children.into_iter().next() {
            Some(child) => Waiting::Child(child.node),
            None => Waiting::Here(PacketQueue::default(), limit),
        };
        Ok(Self { account: Account::new(config.rate), waiting })
    }

    fn reconfigure(&mut self, config: Config, _: Vec<NoShare>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        let limit = config.check(matches!(self.waiting, Waiting::Child(_)))?;
        if config.rate != self.account.rate {
            self.account = Account::new(config.rate);
        }
        if let Waiting::Here(queue, own) = &mut self.waiting {
            queue.shrink(limit, cx);
            *own = limit;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match &mut self.waiting {
            Waiting::Here(queue, limit) if queue.has_room(&packet, *limit) => queue.push(packet),
            Waiting::Here(..) => cx.drop(packet, DropReason::Limit),
            Waiting::Child(child) => child.enqueue(packet, cx),
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let empty = match &self.waiting {
            Waiting::Here(queue, _) => queue.is_empty(),
            Waiting::Child(child) => child.is_empty(),
        };
        if empty {
            return Dequeue::Empty;
        }
        self.account.turn(cx.now);
        if let Some(time) = self.account.wait(cx.now) {
            return Dequeue::NotBefore(time);
        }
        let dequeued = match &mut self.waiting {
            Waiting::Here(queue, _) => queue.pop().map_or(Dequeue::Empty, Dequeue::Packet),
            Waiting::Child(child) => child.dequeue(cx),
        };
        if let Dequeue::Packet(packet) = &dequeued {
            self.account.sent += 8 * i128::from(packet.length);
        }
        dequeued
    }

    fn flush(&mut self, out: &mut Vec<Packet>) {
        if let Waiting::Here(queue, _) = &mut self.waiting {
            queue.flush(out);
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        if let Waiting::Child(child) = &mut self.waiting {
            visit(child);
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut account = self.account.clone();
        let below = match &self.waiting {
            Waiting::Here(queue, _) if queue.is_empty() => return to.empty(),
            Waiting::Child(child) if child.is_empty() => return to.empty(),
            Waiting::Here(..) => None,
            Waiting::Child(child) => Some(child.explain(cx)),
        };
        account.turn(cx.now);
        let (sent, allowed) = (Value::Bytes(account.sent / 8), Value::Bytes(account.allowed(cx.now) / 8));
        to.state("rate", account.rate);
        to.state("sent in second", sent.clone());
        to.state("allowed so far", allowed.clone());
        if let Some(time) = account.wait(cx.now) {
            return to.wait(time, why!["sent ", sent, " of this second > allowed so far ", allowed]);
        }
        let why = why!["sent ", sent, " of this second <= allowed so far ", allowed];
        match (below, &self.waiting) {
            (Some(below), _) => to.pass_on(below, why),
            (None, Waiting::Here(queue, _)) => {
                if let Some(packet) = queue.front() {
                    to.send_own(None, packet, why);
                }
            }
            (None, Waiting::Child(_)) => {}
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("sent_in_second_bytes", self.account.sent as f64 / 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_saves_up_nothing_of_its_second_and_idle_seconds_count_once() {
        // 1000 bytes a second; in the middle of one, a packet of 100 bytes.
        let mut account = Account::new(Rate::from_bits(8_000));
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        account.turn(at(500));
        assert_eq!(account.wait(at(500)), None);
        account.sent += 800;
        assert_eq!(account.wait(at(500)), Some(at(600)));
        // Ten seconds later: its second so far, 500 bytes, and 400 of the one it sent in.
        account.turn(at(10_500));
        account.sent += 8 * 900;
        assert_eq!(account.wait(at(10_500)), None);
        account.sent += 8;
        assert_eq!(account.wait(at(10_500)), Some(at(10_501)));
    }
}
