//! Guarantees of rates and of service curves: classes with token buckets (HTB), service curves (H-FSC), and
//! queues below a shaper.
//!
//! ```text
//! class with tokens   |-- has tokens, waits for others --|-- no tokens --|-- has tokens --| begins
//!                      others send at most R t + K        pays its debt    at least (C - R) t - K
//! ```
//!
//! A leaf of `htb` that has tokens goes before all that borrow. In such a time the line is busy with it, with
//! others that have tokens and no lower priority, at most `R t + sum(b_j + L_j)`, and with one packet that
//! was in service: `K` in all at the start. When it has none, it has sent what its bucket let through, less a
//! debt of one packet. So it gets its rate after `l / r + K / (C - R)`, if its bucket overflows in no such
//! time: a burst of at least `r K / (C - R)`, of tokens and of those of the ceiling.
//!
//! A queue below a shaper waits for tokens only with less than a packet's tokens: what begins in a backlog of
//! `t` is at least `R t - L`.
//!
//! `htb` forgives a debt of more than a minute at the rate: a class whose packet is one gets more than its
//! rate, so that `R t` would not hold.

use crate::arrival::Arrival;
use crate::disciplines::{Offer, Station, Visitor};
use crate::exact::{Exact, ratio, to_f64, zero};
use crate::network::{Bucket, Kind, TokenClass, TwoRates};
use crate::no_bound::NoBound;
use crate::service::Service;
use crate::station::Leaf;
use crate::theorem::Theorem;

/// Longest debt of a class in seconds, which is not forgiven.
const LONGEST_DEBT: u64 = 60;

impl TwoRates {
    /// Returns the time by which it promises `work`.
    fn inverse(&self, work: &Exact) -> Exact {
        let rise = &self.first * &self.bend;
        if *work <= rise { work / &self.first } else { &self.bend + (work - rise) / &self.second }
    }

    fn is_convex(&self) -> bool {
        self.bend > zero() && self.first < self.second
    }

    /// Returns its rate at the start.
    fn start(&self) -> &Exact {
        if self.bend > zero() { &self.first } else { &self.second }
    }

    /// Returns the longest time by which its promise is behind `arrival`; `None` if that grows.
    fn delay(&self, arrival: &Arrival) -> Option<Exact> {
        if arrival.rate() > self.second {
            return None;
        }
        let rise = &self.first * &self.bend;
        let reach = arrival.lines().iter().filter(|line| line.rate > zero());
        let reach = reach.map(|line| (&rise - &line.burst) / &line.rate).filter(|at| *at > zero());
        let lengths = arrival.breakpoints().into_iter().chain(reach);
        lengths.map(|t| self.inverse(&arrival.at(&t)) - t).max().map(|late| late.max(zero()))
    }
}

impl Station<'_> {
    /// Returns why a discipline that counts bytes and idles is not bounded here.
    fn uneven(&self, is_root: bool, what: &str) -> Option<NoBound> {
        if !is_root {
            return Some(format!("{what} below another queue").into());
        }
        if self.ring() > 1 {
            return Some(format!("a device ring below {what}").into());
        }
        (!self.network.servers[self.server].even)
            .then(|| format!("{what} on a line that charges other bytes than it counts").into())
    }

    /// Returns what a leaf gets from classes with token buckets.
    pub(crate) fn in_token_classes(
        &self,
        parent: usize,
        child: usize,
        classes: &[TokenClass],
        is_root: bool,
    ) -> Result<Offer, NoBound> {
        if let Some(why) = self.uneven(is_root, "classes with token buckets") {
            return Err(why);
        }
        if !matches!(self.kind(child), Kind::Fifo | Kind::Policer(_) | Kind::WorkConserving) {
            return Err("queues below a class with a token bucket".into());
        }
        let children = self.children(parent);
        let class = |node: usize| {
            let index = children.iter().position(|other| *other == node)?;
            classes.get(index)
        };
        let own = class(child).ok_or("a class without a rate")?;
        let (mut rate, mut ahead) = (zero(), self.longest(children));
        for other in children.iter().filter(|other| **other != child && !self.below(**other).is_empty()) {
            let class = class(*other).ok_or("a class without a rate")?;
            if class.priority <= own.priority {
                let longest = self.longest(&[*other]);
                if longest > &class.rate * ratio(LONGEST_DEBT, 1) {
                    let name = self.name(*other);
                    return Err(
                        format!("`{name}` is so slow that a part of a packet's debt is forgiven").into()
                    );
                }
                rate += &class.rate;
                ahead += &class.burst + longest;
            }
        }
        let left = self.rate() - &rate;
        if left <= zero() {
            return Err("overload: the other classes are guaranteed the whole line".into());
        }
        let wait = ahead / &left;
        let needed = &own.rate * &wait;
        if own.burst.clone().min(own.ceiling_burst.clone()) < needed {
            let bytes = (to_f64(&needed) / 8.0).ceil();
            return Err(format!(
                "`{}` may lose tokens while others send their bursts: its rate is certain with `burst` and `cburst` of {bytes:.0} B",
                self.name(child)
            ).into());
        }
        let latency = self.longest(&[child]) / &own.rate + wait;
        let fresh = Service::rate_latency(own.rate.clone().min(left), latency);
        Ok(begun(fresh, Theorem::TokenClass))
    }

    /// Returns what a queue below a shaper gets.
    pub(crate) fn below_shaper(&self, buckets: &[Bucket], is_root: bool) -> Result<Offer, NoBound> {
        if let Some(why) = self.uneven(is_root, "a shaper of queues") {
            return Err(why);
        }
        let [bucket] = buckets else { return Err("queues below a shaper with a peak rate".into()) };
        let rate = bucket.granted.clone().min(self.rate().clone());
        let latency = self.longest(&[0]) / &rate;
        Ok(begun(Service::rate_latency(rate, latency), Theorem::Shaper))
    }

    /// Bounds a leaf by its real-time curve.
    pub(crate) fn by_curve(
        &self,
        root: usize,
        curves: &[Option<TwoRates>],
        child: usize,
        members: &[&Visitor<'_>],
    ) -> Result<Leaf, NoBound> {
        if let Some(why) = self.uneven(root == 0, "service curves") {
            return Err(why);
        }
        if !matches!(self.kind(child), Kind::Fifo | Kind::Policer(_)) {
            return Err("queues below a service curve".into());
        }
        let children = self.children(root);
        let used = children.iter().zip(curves).filter(|(node, _)| !self.below(**node).is_empty());
        let promised: Vec<&TwoRates> = used.filter_map(|(_, curve)| curve.as_ref()).collect();
        if promised.iter().any(|curve| curve.is_convex()) {
            return Err("a real-time curve that begins slowly".into());
        }
        if promised.iter().fold(zero(), |sum, curve| sum + curve.start()) > *self.rate() {
            return Err("overload: the real-time curves promise more than the line carries".into());
        }
        let own = children.iter().position(|other| *other == child);
        let own = own.and_then(|index| curves.get(index)).and_then(Option::as_ref);
        let own = own.ok_or_else(|| {
            NoBound::from(format!("`{}` has no real-time curve: it only shares", self.name(child)))
        })?;
        let received = self.arrivals(members).ok_or_else(|| self.unknown(members))?;
        let slow = || NoBound::from("overload: more arrives than the real-time curve promises");
        let delay = own.delay(&received).ok_or_else(slow)?;
        let delay = delay + self.longest(children) / self.rate() + self.rounding();
        let delays = members.iter().map(|_| Ok(delay.clone())).collect();
        let theorem = Theorem::ServiceCurve;
        let received = Some(received);
        Ok(Leaf::of(theorem, received, delays))
    }
}

/// Returns the offer of a curve that counts what begins.
fn begun(curve: Service, theorem: Theorem) -> Offer {
    Offer {
        lasting: curve.clone(),
        fresh: curve,
        extra: zero(),
        line_speed: true,
        theorem,
        rounds: None,
        terms: Vec::new(),
    }
}
