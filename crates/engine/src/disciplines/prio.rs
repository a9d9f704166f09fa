//! Strict priority over its children, first child first; a child's priority can be bounded.
//!
//! ```text
//! band 0 [ | | ] --.
//! band 1 [ | | ] ----> the first that has a packet     a shaper that waits does not block those below it
//! band 2 [ | | ] --'
//!
//! guarded band:  bucket of guard_burst bytes, filled at guard_rate; without the tokens for its next packet
//!                it is skipped, and sends only while the other bands have nothing
//! ```
//!
//! Not preemptive. Without a guard, a band that is always busy starves those below it. With one it can take
//! no more than `guard_burst + guard_rate * t` from them in any time t, and sends anything beyond that while
//! they have nothing: nothing is dropped and the link never idles. A guard limits the upper band and not the
//! wait of the lower bands, because a maximum wait bounds delays only while few packets reach it.
//!
//! A packet longer than the bucket is sent with priority when the bucket is full; the excess remains as debt.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid};
use crate::explanation::{Choice, Explanation, Foresight, Value, Why, why};
use crate::node::{Node, Peek};
use crate::packet::Packet;
use crate::units::{Bytes, Instant, PICOS_PER_SECOND, Rate};

/// Parameters of `prio`: none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// A child's share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Rate up to which it has priority over the children after it; without it, always. Needs
    /// `guard_burst`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_rate: Option<Rate>,
    /// Bytes that it may send with priority at once after it sent little: at least its longest packet.
    /// Needs `guard_rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_burst: Option<Bytes>,
}

/// Bucket of bytes, counted in bit-picoseconds so that nothing is rounded.
#[derive(Clone)]
struct Guard {
    rate: Rate,
    burst: Bytes,
    /// Level; a debt if negative.
    tokens: i128,
    updated: Instant,
}

/// Bit-picoseconds per byte.
const BYTE: i128 = 8 * PICOS_PER_SECOND as i128;

fn worth(bytes: Bytes) -> i128 {
    // Below 2^107: a burst is at most 2^64 bytes.
    i128::from(bytes.0) * BYTE
}

impl Guard {
    /// Returns the guard of this share; `None` if it has none.
    fn of(share: &Share, now: Instant) -> Option<Self> {
        let (rate, burst) = (share.guard_rate?, share.guard_burst?);
        Some(Self { rate, burst, tokens: worth(burst), updated: now })
    }

    /// Returns whether the band may send a packet of this length before those below.
    fn allows(&mut self, length: Bytes, now: Instant) -> bool {
        let gained =
            i128::from(now.since(self.updated).as_picos()).saturating_mul(self.rate.as_bits().into());
        self.updated = self.updated.max(now);
        self.tokens = self.tokens.saturating_add(gained).min(worth(self.burst));
        self.tokens >= worth(length.min(self.burst))
    }

    /// Carries the level over to `next`, as far as it fits.
    fn hand_on(&self, next: &mut Self) {
        next.tokens = self.tokens.min(worth(next.burst));
        next.updated = self.updated;
    }
}

fn check(shares: &[Share]) -> Result<(), Invalid> {
    for (child, share) in shares.iter().enumerate() {
        let why = match (share.guard_rate, share.guard_burst) {
            (Some(rate), _) if rate.is_zero() => {
                ("guard_rate", "must not be zero: order the child behind the others")
            }
            (Some(_), None) => ("guard_rate", "needs `guard_burst`, the depth of its bucket, such as `3kB`"),
            (None, Some(_)) => ("guard_burst", "is the depth of the `guard_rate` bucket, and there is none"),
            (Some(_), Some(Bytes(0))) => ("guard_burst", "must hold the longest packet, such as `1514B`"),
            _ => continue,
        };
        return Err(Invalid::new(why.0, why.1).on_child(child));
    }
    Ok(())
}

/// Strict priority.
pub struct Prio {
    bands: Vec<Band>,
}

struct Band {
    node: Node,
    guard: Option<Guard>,
}

impl Discipline for Prio {
    const ABOUT: About = About {
        name: "prio",
        summary: "strict priority over its children, first child first; bounded where it says so",
        source: "tc-prio(8); the guard is our own, the bound by Le Boudec and Thiran, Network calculus, 2001",
        guarantees: &[
            Guarantee::new(
                "mean delay of each band by Cobham's formula (non-preemptive priority, M/G/1)",
                &["cobham"],
            ),
            Guarantee::new(
                "conservation law (Kleinrock): the bands' delays weighted by load sum to those of FIFO",
                &["cobham"],
            ),
            Guarantee::new(
                "under guards: the bands below get at least (C - sum of guard_rate) t - sum of guard_burst - L_max in any time t in which they wait (strict priority over a policed band)",
                &["guard"],
            ),
        ],
        children: Arity::Many,
        orders_children: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        check(&children.iter().map(|child| child.share.clone()).collect::<Vec<_>>())?;
        let bands = children
            .into_iter()
            .map(|child| Band { node: child.node, guard: Guard::of(&child.share, Instant::ZERO) });
        Ok(Self { bands: bands.collect() })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        check(&shares)?;
        for (band, share) in self.bands.iter_mut().zip(shares) {
            let mut next = Guard::of(&share, cx.now);
            if let (Some(next), Some(guard)) = (&mut next, &mut band.guard) {
                guard.allows(Bytes::ZERO, cx.now);
                guard.hand_on(next);
            }
            band.guard = next;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let band = packet.position.child().min(self.bands.len() - 1);
        self.bands[band].node.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        let mut passed_over = None;
        for (index, band) in self.bands.iter_mut().enumerate().filter(|(_, band)| !band.node.is_empty()) {
            if let Some(guard) = &mut band.guard
                && let Peek::Length(length) = band.node.peek(cx)
            {
                if !guard.allows(length, cx.now) {
                    passed_over = passed_over.or(Some(index));
                    continue;
                }
                guard.tokens = guard.tokens.saturating_sub(worth(length));
            }
            match band.node.dequeue(cx) {
                Dequeue::Packet(packet) => return Dequeue::Packet(packet),
                refused => earliest.add(refused.time()),
            }
        }
        // No other band has a packet: sending what the guard holds back takes nothing from them.
        match passed_over {
            Some(index) => self.bands[index].node.dequeue(cx),
            None => earliest.result(),
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.bands.iter_mut().for_each(|band| visit(&mut band.node));
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.row_noun = "band";
        let mut nexts = to.children(self.bands.iter().map(|band| &band.node), cx);
        let guards: Vec<Option<Guard>> = self.bands.iter().map(|band| band.guard.clone()).collect();
        let mut earliest = Earliest::default();
        let mut passed_over = None;
        for (index, mut guard) in guards.into_iter().enumerate() {
            if self.bands[index].node.is_empty() {
                continue;
            }
            let next = &nexts[index];
            let mut tokens = None;
            if let (Some(guard), Choice::Packet { packet, .. }) = (&mut guard, next.choice) {
                let allows = guard.allows(packet.bytes(), cx.now);
                to.field(index, "guard tokens", Value::Bytes(guard.tokens / BYTE));
                if !allows {
                    passed_over = passed_over.or(Some(index));
                    continue;
                }
                tokens = Some((guard.tokens / BYTE, packet.bytes()));
            }
            match next.choice {
                Choice::Packet { .. } => {
                    let why = why_first(&next.queue, index, tokens);
                    return to.send(index, nexts.swap_remove(index), why);
                }
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&next.queue),
            }
        }
        match passed_over {
            Some(index) => {
                let why =
                    why![&nexts[index].queue, ": over its guard, but no other band has a packet to send"];
                to.send(index, nexts.swap_remove(index), why);
            }
            None => to.rest(earliest.0),
        }
    }

    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        if let Some(guard) = self.bands.iter().find_map(|band| band.guard.as_ref()) {
            emit("guard_tokens_bytes", guard.tokens as f64 / BYTE as f64);
        }
    }
}

/// Says why this band is first; `tokens` of its guard, and the length of its packet.
fn why_first(name: &Arc<str>, band: usize, tokens: Option<(i128, Bytes)>) -> Why {
    let first = why![name, ": band ", band, " is the first that may send"];
    match tokens {
        Some((tokens, length)) => {
            first.and(why![", its guard holds ", Value::Bytes(tokens), " for ", length])
        }
        None => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    #[test]
    fn a_guard_saves_up_its_burst_and_no_more_and_passes_what_it_can_pay() {
        // 1000 bytes a second.
        let share = Share { guard_rate: Some(Rate::from_bits(8_000)), guard_burst: Some(Bytes(1_000)) };
        let mut guard = Guard::of(&share, Instant::ZERO).expect("it has both");
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert!(guard.allows(Bytes(1_000), at(10_000)));
        assert_eq!(guard.tokens, worth(Bytes(1_000)), "ten seconds are worth no more than the burst");
        guard.tokens -= worth(Bytes(600));
        assert!(!guard.allows(Bytes(401), at(10_000)));
        assert!(guard.allows(Bytes(400), at(10_000)));
        assert!(guard.allows(Bytes(401), at(10_001)));
        assert!(!guard.allows(Bytes(1_500), at(10_001)), "a packet longer than the burst needs all of it");
        assert!(guard.allows(Bytes(1_500), at(10_600)));
    }
}
