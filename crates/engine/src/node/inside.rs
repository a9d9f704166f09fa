//! What is inside a node: a discipline of any kind behind one interface, and the commonest kind and inner
//! classes in place.
//!
//! A class is a queue of its own, mostly a [`Fifo`]. It lies in its node: the parent's decision, the account and the queue are
//! then neighbours in memory, with no call in between that the compiler cannot see. That is what counts where there are
//! more classes than the cache holds.

use core::any::Any;
use core::ops::{Deref, DerefMut};

use crate::class::Inner;
use crate::discipline::{Context, Dequeue, Discipline, Invalid};
use crate::disciplines::fifo::Fifo;
use crate::node::Node;
use crate::packet::Packet;
use crate::units::{Instant, Rate};

/// The object-safe half of [`Discipline`], written once for all of them; and the inside of an inner class.
pub(crate) trait Erased: Send {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>);
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue;
    /// Enqueue, then dequeue: an idle link costs one virtual call a packet.
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue;
    fn flush(&mut self, out: &mut Vec<Packet>);
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node));
    fn next_timer(&self) -> Option<Instant>;
    fn on_timer(&mut self, cx: &mut Context<'_>);
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64));
    fn doubts(&self, _: Option<Rate>, _: &mut dyn FnMut(Invalid)) {}
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<D: Discipline> Erased for D {
    #[inline]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        D::enqueue(self, packet, cx);
    }
    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        D::dequeue(self, cx)
    }
    #[inline]
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        D::pass(self, packet, cx)
    }
    fn flush(&mut self, out: &mut Vec<Packet>) {
        D::flush(self, out);
    }
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        D::each_child(self, visit);
    }
    fn next_timer(&self) -> Option<Instant> {
        D::next_timer(self)
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        D::on_timer(self, cx);
    }
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        D::gauges(self, emit);
    }
    fn doubts(&self, link: Option<Rate>, tell: &mut dyn FnMut(Invalid)) {
        D::doubts(self, link, tell);
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// A discipline, or the inside of an inner class.
pub(crate) enum Inside {
    /// In place.
    Fifo(Fifo),
    /// An inner class, in place as well.
    Class(Inner),
    /// Of any other kind.
    Other(Box<dyn Erased>),
}

impl Inside {
    /// The same in its place.
    pub(crate) fn of(mut discipline: Box<dyn Erased>) -> Self {
        let any = discipline.as_any();
        if let Some(fifo) = any.downcast_mut::<Fifo>() {
            return Self::Fifo(core::mem::take(fifo));
        }
        if let Some(class) = any.downcast_mut::<Inner>() {
            return Self::Class(core::mem::take(class));
        }
        Self::Other(discipline)
    }

    /// [`Discipline::enqueue`].
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match self {
            Self::Fifo(fifo) => Discipline::enqueue(fifo, packet, cx),
            Self::Class(class) => class.enqueue(packet, cx),
            Self::Other(other) => other.enqueue(packet, cx),
        }
    }

    /// [`Discipline::dequeue`].
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        match self {
            Self::Fifo(fifo) => Discipline::dequeue(fifo, cx),
            Self::Class(class) => class.dequeue(cx),
            Self::Other(other) => other.dequeue(cx),
        }
    }

    /// [`Discipline::pass`].
    #[inline(always)]
    pub(crate) fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        match self {
            Self::Fifo(fifo) => Discipline::pass(fifo, packet, cx),
            Self::Class(class) => class.pass(packet, cx),
            Self::Other(other) => other.pass(packet, cx),
        }
    }

    /// The classes right below, where it is an inner class. What a discipline owns is its own.
    #[inline(always)]
    pub(crate) fn classes(&mut self) -> &mut [Node] {
        if let Self::Class(class) = self { class.classes() } else { &mut [] }
    }

    /// Prefetches the next packets of an inline FIFO: see [`PacketQueue::prefetch`](crate::queue::PacketQueue::prefetch).
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        if let Self::Fifo(fifo) = self {
            fifo.prefetch();
        }
    }
}

impl Deref for Inside {
    type Target = dyn Erased;
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Class(class) => class,
            Self::Other(other) => &**other,
        }
    }
}

impl DerefMut for Inside {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Class(class) => class,
            Self::Other(other) => &mut **other,
        }
    }
}
