//! Inner class of a hierarchical discipline: a node with children and without a discipline.

use core::any::Any;

use super::Erased;
use crate::context::{Context, Dequeue};
use crate::node::Node;
use crate::packet::Packet;
use crate::units::Instant;

/// Contents of an inner class: its children, and no discipline.
pub(crate) struct InnerClass {
    children: Vec<Node>,
    /// `Vec` of the children's shares, until the owner takes them.
    shares: Option<Box<dyn Any + Send>>,
}

impl Erased for InnerClass {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let index = packet.position.child().min(self.children.len() - 1);
        self.children[index].enqueue(packet, cx);
    }
    /// The owner decides which leaf sends.
    fn dequeue(&mut self, _: &mut Context<'_>) -> Dequeue {
        Dequeue::Empty
    }
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        self.enqueue(packet, cx);
        Dequeue::Empty
    }
    fn flush(&mut self, _: &mut Vec<Packet>) {}
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.children.iter_mut().for_each(visit);
    }
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn on_timer(&mut self, _: &mut Context<'_>) {}
    fn gauges(&self, _: &mut dyn FnMut(&'static str, f64)) {}
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl InnerClass {
    /// Creates an inner class with these children and their shares, in the same order.
    pub(crate) fn new<Share: Send + 'static>(children: Vec<Node>, shares: Vec<Share>) -> Self {
        Self { children, shares: Some(Box::new(shares)) }
    }

    /// Returns the children's shares; `None` the second time, or if they are of another type.
    pub(crate) fn take_shares<Share: 'static>(&mut self) -> Option<Vec<Share>> {
        self.shares.take()?.downcast().ok().map(|shares| *shares)
    }

    /// Returns the children.
    #[inline]
    pub(crate) fn classes(&mut self) -> &mut [Node] {
        &mut self.children
    }

    /// Returns the children, to read them.
    pub(crate) fn classes_ref(&self) -> &[Node] {
        &self.children
    }
}
