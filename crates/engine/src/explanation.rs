//! Explanation of a decision: the state by which a discipline decides, its next choice, and the sentence with
//! the numbers that decided.
//!
//! ```text
//! Port::explain -> Node::explain -> Discipline::explain
//!                                     |- state   quantities of the discipline     virtual time, drop clock
//!                                     |- rows    one a child, class, flow, bucket  tags, deficit, tokens
//!                                     |- choice  packet of a row | wait until | empty
//!                                     |- why     "`voice` first: finish tag 1.75 is the smallest of 3"
//!                                     '- below   explanation of the chosen child
//! ```
//!
//! A page draws the quantities, a terminal prints them; both have the same sentence. An explanation is taken
//! through a shared reference, with copies of the port's random numbers and of the packets: it changes
//! nothing.
//! The compliance suite compares each choice with the dequeue that follows.

mod of_nodes;
pub(crate) mod stand_in;
mod value;

use std::sync::Arc;

use serde::Serialize;

use crate::classify::Headers;
use crate::context::{Context, DropReason, Drops};
use crate::packet::{FlowId, Header, Packet};
use crate::random::Random;
use crate::units::{Bytes, Instant};

pub(crate) use value::why;
pub use value::{Part, Value, Why};

/// Explanation of the next decision of one node.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Name of the node in the scenario.
    #[serde(serialize_with = "value::text")]
    pub queue: Arc<str>,
    /// Kind of its discipline.
    pub kind: &'static str,
    /// State of the discipline as a whole.
    pub state: Vec<Field>,
    /// Noun for a row: `child`, `class`, `flow`, `bucket`.
    pub row_noun: &'static str,
    /// State of each child, class, flow or bucket.
    pub rows: Vec<Row>,
    /// Packets that the discipline drops before its choice, in order.
    pub drops: Vec<Dropped>,
    /// Result of `dequeue` now.
    pub choice: Choice,
    /// The reason, with the numbers that decided.
    pub why: Why,
    /// Explanation of the chosen child.
    pub below: Option<Box<Explanation>>,
}

/// Quantity with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// Name, in the terms of the field: `deficit`, `start tag`.
    pub name: &'static str,
    /// Quantity.
    pub value: Value,
}

/// Part of a discipline's state that belongs to one child, class, flow or bucket.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name.
    pub name: Value,
    /// Level in a tree of classes; 0 otherwise.
    pub depth: usize,
    /// Its quantities.
    pub fields: Vec<Field>,
}

/// Packet as an explanation names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PacketName {
    /// Index of its flow.
    pub flow: u32,
    /// Sequence number within the flow, from 0.
    pub sequence: u32,
    /// Frame length in bytes.
    pub length: u32,
}

impl From<&Header> for PacketName {
    fn from(header: &Header) -> Self {
        Self { flow: header.flow.0, sequence: header.sequence, length: header.length }
    }
}

impl PacketName {
    /// Returns the frame length.
    pub fn bytes(self) -> Bytes {
        Bytes(u64::from(self.length))
    }
}

/// Packet that a decision drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The packet.
    #[serde(flatten)]
    pub packet: PacketName,
    /// The reason.
    pub reason: DropReason,
}

/// Result that a dequeue will have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// This packet, of the row with this index.
    Packet {
        /// Index of the row, if the packet belongs to one.
        row: Option<usize>,
        /// The packet.
        packet: PacketName,
    },
    /// No packet before this time.
    Wait(#[serde(serialize_with = "value::seconds")] Instant),
    /// No packet.
    Empty,
    /// Not foreseen: the discipline, or a child on which it depends, explains no choice.
    #[default]
    Unknown,
}

impl Choice {
    /// Returns the choice of this packet.
    pub(crate) fn of(packet: &Header) -> Self {
        Self::Packet { row: None, packet: packet.into() }
    }
}

impl Explanation {
    /// Creates an explanation without state and choice.
    pub(crate) fn new(queue: Arc<str>, kind: &'static str) -> Self {
        Self {
            queue,
            kind,
            state: Vec::new(),
            row_noun: "child",
            rows: Vec::new(),
            drops: Vec::new(),
            choice: Choice::Unknown,
            why: Why::default(),
            below: None,
        }
    }

    /// Adds a quantity of the discipline as a whole.
    pub fn state(&mut self, name: &'static str, value: impl Into<Value>) {
        self.state.push(Field { name, value: value.into() });
    }

    /// Adds a row.
    pub fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Chooses the packet that the child of this row, explained by `next`, will return.
    pub fn send(&mut self, row: impl Into<Option<usize>>, next: Self, why: Why) {
        self.pass_on(next, why);
        if let Choice::Packet { row: chosen, .. } = &mut self.choice {
            *chosen = row.into();
        }
    }

    /// Does what its only child, explained by `next`, does.
    pub fn pass_on(&mut self, next: Self, why: Why) {
        self.choice = match next.choice {
            Choice::Packet { packet, .. } => Choice::Packet { row: None, packet },
            other => other,
        };
        self.drops.extend(&next.drops);
        self.why = why;
        self.below = Some(Box::new(next));
    }

    /// Chooses a packet that the discipline holds itself.
    pub fn send_own(&mut self, row: Option<usize>, packet: &Header, why: Why) {
        self.choice = Choice::Packet { row, packet: packet.into() };
        self.why = why;
    }

    /// Chooses to wait until `time`.
    pub fn wait(&mut self, time: Instant, why: Why) {
        (self.choice, self.why) = (Choice::Wait(time), why);
    }

    /// Ends a search in which no child had a packet: waits for the earliest time that one named.
    pub fn rest(&mut self, earliest: Option<Instant>) {
        match earliest {
            Some(time) => {
                self.wait(time, why!["no child may send now: the first at ", Value::Time(time)]);
            }
            None => self.empty(),
        }
    }

    /// Chooses nothing: there is no packet.
    pub fn empty(&mut self) {
        (self.choice, self.why) = (Choice::Empty, why!["no packet waits"]);
    }

    /// Leaves the choice open, because that of the child `name` is.
    pub fn open(&mut self, name: &Arc<str>) {
        self.choice = Choice::Unknown;
        self.why = why!["the choice depends on ", name, ", which explains none"];
    }

    /// Adds a quantity to the row of this index.
    pub(crate) fn field(&mut self, row: usize, name: &'static str, value: impl Into<Value>) {
        if let Some(row) = self.rows.get_mut(row) {
            row.fields.push(Field { name, value: value.into() });
        }
    }

    /// Returns a quantity of the row of this index.
    pub(crate) fn value(&self, row: usize, name: &str) -> Value {
        let field = self.rows.get(row).and_then(|row| row.fields.iter().find(|field| field.name == name));
        field.map_or(Value::Word("-"), |field| field.value.clone())
    }

    /// Names the row of the chosen packet.
    pub(crate) fn chosen_row(&mut self, index: usize) {
        if let Choice::Packet { row, .. } = &mut self.choice {
            *row = Some(index);
        }
    }

    /// Replaces the numbers of flows by their names, here and below.
    pub fn name_flows(&mut self, name: &dyn Fn(FlowId) -> Arc<str>) {
        let rows = self.rows.iter_mut().flat_map(|row| {
            core::iter::once(&mut row.name).chain(row.fields.iter_mut().map(|field| &mut field.value))
        });
        let values =
            rows.chain(self.state.iter_mut().map(|field| &mut field.value)).chain(self.why.values_mut());
        for value in values {
            if let Value::Flow(flow) = value {
                *value = Value::Name(name(*flow));
            }
        }
        if let Some(below) = &mut self.below {
            below.name_flows(name);
        }
    }

    /// Returns the explanations on the path of the choice, from this node down.
    pub fn path(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |explanation| explanation.below.as_deref())
    }
}

impl Row {
    /// Creates a row without quantities.
    pub fn named(name: impl Into<Value>) -> Self {
        Self { name: name.into(), depth: 0, fields: Vec::new() }
    }

    /// Returns the row with one more quantity.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push(Field { name, value: value.into() });
        self
    }
}

/// Context of explanations: the time of the decision, and copies of the port's random numbers.
pub struct Foresight<'a> {
    /// Time, as the port's clock shows it.
    pub now: Instant,
    random: &'a Random,
    headers: &'a dyn Headers,
    /// Number of rehearsals that drew random numbers.
    drawn: u32,
}

impl<'a> Foresight<'a> {
    pub(crate) fn new(now: Instant, random: &'a Random, headers: &'a dyn Headers) -> Self {
        Self { now, random, headers, drawn: 0 }
    }

    /// Calls `run` with a context whose random numbers and drops are copies. Returns its result and the
    /// packets that it dropped.
    pub fn rehearse<R>(&mut self, run: impl FnOnce(&mut Context<'_>) -> R) -> (R, Vec<(Packet, DropReason)>) {
        let mut random = self.random.copy();
        let mut drops = Drops::default();
        let mut cx = Context { now: self.now, random: &mut random, drops: &mut drops, headers: self.headers };
        let result = run(&mut cx);
        self.drawn += u32::from(!random.is_at(self.random));
        (result, drops.waiting)
    }

    /// Returns whether several children drew random numbers. Each explanation begins with the same ones, so
    /// that the second of them is not what will happen.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.drawn > 1
    }
}
