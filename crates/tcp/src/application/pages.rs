//! Pages over a connection: a user requests one, reads it, thinks, requests the next.
//!
//! ```text
//! user    request ......... the first object is there: requests for the others ......... all there: thinks
//! server  ....... object 1 ....................................... object 2, object 3 ..
//! ```
//!
//! Both sides draw the objects' sizes from equal random streams, so that no message has to carry them.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_traffic::Law;

use super::Outlet;
use super::request_event::{RequestEvent, RequestEvents};

/// Sizes of objects, in sequence.
pub struct Objects {
    law: Law<Bytes>,
    random: Random,
}

impl Objects {
    /// Creates sizes by this law; each is at least one byte.
    pub fn new(law: Law<Bytes>, random: Random) -> Self {
        Self { law, random }
    }

    fn next(&mut self) -> u64 {
        self.law.draw(&mut self.random).0.max(1)
    }
}

/// User's side.
pub struct User {
    objects: Objects,
    think: Option<(Law<Duration>, Random)>,
    request: u64,
    /// Objects of a page after the first.
    others: u32,
    asked: Instant,
    /// Objects of the current page that are still to be requested.
    unasked: u32,
    /// Bytes that are still to come of the requested objects.
    missing: u64,
    due: Instant,
    events: RequestEvents,
}

impl User {
    /// Creates a user that sends `request` bytes for each of `count` objects a page (at least one).
    pub fn new(objects: Objects, think: Option<(Law<Duration>, Random)>, request: u64, count: u32) -> Self {
        Self {
            objects,
            think,
            request,
            others: count.saturating_sub(1),
            asked: Instant::NEVER,
            unasked: 0,
            missing: 0,
            due: Instant::NEVER,
            events: RequestEvents::default(),
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.due
    }

    /// Requests a page.
    pub(super) fn ask(&mut self, outlet: &mut impl Outlet, now: Instant) {
        self.due = Instant::NEVER;
        self.asked = now;
        self.unasked = self.others;
        self.missing = self.objects.next();
        self.events.push(RequestEvent::Asked);
        outlet.write(self.request);
    }

    pub(super) fn on_delivered(&mut self, outlet: &mut impl Outlet, bytes: u64, now: Instant) {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing > 0 || self.asked == Instant::NEVER {
            return;
        }
        if self.unasked > 0 {
            self.missing = (0..self.unasked).map(|_| self.objects.next()).sum();
            outlet.write(self.request * u64::from(self.unasked));
            self.unasked = 0;
            return;
        }
        self.events.push(RequestEvent::Answered(self.asked));
        self.asked = Instant::NEVER;
        let pause = self.think.as_mut().map_or(Duration::ZERO, |(law, random)| law.draw(random));
        if pause.is_zero() {
            self.ask(outlet, now);
        } else {
            self.due = now + pause;
        }
    }

    pub(super) fn take_request_event(&mut self) -> Option<RequestEvent> {
        self.events.take()
    }
}

/// Server's side.
pub struct Server {
    objects: Objects,
    request: u64,
    /// Bytes of an incomplete request.
    heard: u64,
}

impl Server {
    /// Creates a server that answers each `request` bytes by an object.
    pub fn new(objects: Objects, request: u64) -> Self {
        Self { objects, request: request.max(1), heard: 0 }
    }

    pub(super) fn on_delivered(&mut self, outlet: &mut impl Outlet, bytes: u64) {
        self.heard += bytes;
        while self.heard >= self.request {
            self.heard -= self.request;
            outlet.write(self.objects.next());
        }
    }
}
