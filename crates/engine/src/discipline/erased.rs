//! Disciplines as contents of nodes: the object-safe interface, construction and change of parameters.

use core::any::Any;

use super::{Child, Context, Dequeue, Discipline, Invalid, PortConditions};
use crate::explanation::{Explanation, Foresight};
use crate::node::{Band, Contents, Erased, Node};
use crate::packet::Packet;
use crate::units::{Instant, Rate};

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
    fn on_port_rate(&mut self, rate: Option<Rate>, cx: &mut Context<'_>) {
        D::on_port_rate(self, rate, cx);
        if D::ABOUT.work_conserving {
            D::each_child(self, &mut |child| child.on_port_rate(rate, cx));
        }
    }
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        D::gauges(self, emit);
    }
    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        D::explain(self, cx, to);
    }
    fn bands(&self, emit: &mut dyn FnMut(&'static str, Band)) {
        D::bands(self, emit);
    }
    fn doubts(&self, port: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        D::doubts(self, port, tell);
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Node {
    /// Creates a node called `name` whose discipline has these parameters and children.
    ///
    /// # Errors
    /// The discipline's refusal.
    pub fn new<D: Discipline>(
        name: &str,
        config: D::Config,
        children: Vec<Child<D::Share>>,
    ) -> Result<Self, Invalid> {
        Ok(Self::wrap(name, D::ABOUT.name, D::ABOUT.timed, Contents::of(D::new(config, children)?)))
    }

    /// Changes the parameters of the discipline and the shares of its children.
    ///
    /// # Errors
    /// The discipline's refusal, or field `kind` if the node is of another kind. Then nothing has changed.
    pub fn reconfigure<D: Discipline>(
        &mut self,
        config: D::Config,
        shares: Vec<D::Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid> {
        let kind = self.kind();
        self.change(cx, |discipline: &mut D, cx| discipline.reconfigure(config, shares, cx)).unwrap_or_else(
            || Err(Invalid::new("kind", format!("is `{kind}` here, not `{}`", D::ABOUT.name))),
        )
    }
}
