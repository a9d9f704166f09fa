//! Orders from the control to its forwarders: changes of ports, carried out between two rounds, everywhere or
//! nowhere.
//!
//! ```text
//! apply_everywhere --send--> Mailbox --claim--> Orders::serve: change all ports, or undo those changed
//!        |                                           |
//!        '--claim: too late, cancelled    Returned <-'   the changes, each now its own inverse
//! ```
//!
//! An order belongs to the thread that claims it first: the forwarder, which then applies it, or the control,
//! which thereby cancels it. A cancelled order is never applied, however late the forwarder finds it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate_dataplane::mailbox::{Mailbox, Sender, mailbox};
use lockgate_engine::packet::Pool;
use lockgate_engine::units::Instant;

use super::Sampling;
use crate::control::Applied;
use crate::frames::Frames;
use crate::nat::{HostMessage, Receiver};
use crate::port::{PolicyChange, RouterPort};
use crate::tap::Tap;

/// Message from the control to a forwarder.
enum Message {
    Change(Order),
    /// Tap the port of this index, instead of the tap that it has.
    Tap(usize, Tap),
    /// Record in the samples that a policy was applied at this time.
    NoteApplied(Instant),
    /// Hosts behind translated addresses.
    Hosts(HostMessage),
}

impl From<HostMessage> for Message {
    fn from(message: HostMessage) -> Self {
        Self::Hosts(message)
    }
}

/// Changes of ports, all between the same two packets.
struct Order {
    changes: Vec<PolicyChange>,
    /// Set by the thread that decides on the order.
    claimed: Arc<AtomicBool>,
}

/// An order on its way back, so that the thread without deadlines frees it.
struct Returned {
    /// Changes of an applied order: the inverse ones.
    changes: Vec<PolicyChange>,
    /// Effect of the order, or the reason why it was undone; `None` if it had been cancelled.
    result: Option<Result<Effect, String>>,
}

/// Effect of an order.
struct Effect {
    applied: Applied,
    at: Instant,
}

/// Control's end of a forwarder's orders.
pub(crate) struct OrderSender {
    messages: Sender<Message>,
    returned: mpsc::Receiver<Returned>,
}

/// Forwarder's end of its orders.
pub(crate) struct Orders {
    messages: Mailbox<Message>,
    returned: mpsc::Sender<Returned>,
}

/// Creates the two ends.
pub(crate) fn orders() -> (OrderSender, Orders) {
    let (sender, messages) = mailbox();
    let (returning, returned) = mpsc::channel();
    (OrderSender { messages: sender, returned }, Orders { messages, returned: returning })
}

/// Failure of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderError {
    /// A discipline refused its parameters, for this reason.
    Refused(String),
    /// The forwarder did not begin in time, or its thread has ended.
    NotBegun,
}

/// Failure of a change at one forwarder, so that it was undone at the others.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotApplied {
    pub(crate) why: OrderError,
    /// Indices of the forwarders that keep the change because they could not undo it.
    pub(crate) keeps_change: Vec<usize>,
}

/// Applies `changes`, those of each forwarder, at all forwarders or at none. Blocks for about `limit`, twice
/// if the change has to be undone.
pub(crate) fn apply_everywhere(
    forwarders: &[&OrderSender],
    changes: Vec<Vec<PolicyChange>>,
    limit: WallTime,
) -> Result<Applied, NotApplied> {
    let sent: Vec<_> = forwarders.iter().zip(changes).map(|(it, changes)| it.send(changes)).collect();
    let mut deadline = WallInstant::now() + limit;
    let (mut applied, mut failure) = (Vec::new(), None);
    for (index, claimed) in sent.iter().enumerate() {
        match forwarders[index].wait(claimed, deadline) {
            Ok(it) => applied.push((index, it)),
            Err(why) => {
                failure.get_or_insert(why);
                // Cancels the orders that have not begun.
                deadline = WallInstant::now();
            }
        }
    }
    let Some(why) = failure else {
        let mut total = Applied::default();
        for (_, (_, effect)) in &applied {
            total.moved_packets += effect.applied.moved_packets;
            total.forced_out_packets += effect.applied.forced_out_packets;
        }
        if let (Some(first), Some(at)) = (forwarders.first(), applied.iter().map(|it| it.1.1.at).max()) {
            first.messages.send(Message::NoteApplied(at));
        }
        return Ok(total);
    };
    let undoing = applied.into_iter().map(|(index, (inverse, _))| (index, forwarders[index].send(inverse)));
    let undoing: Vec<_> = undoing.collect();
    let deadline = WallInstant::now() + limit;
    let fails =
        |(index, claimed): &&(usize, Arc<AtomicBool>)| forwarders[*index].wait(claimed, deadline).is_err();
    let keeps_change = undoing.iter().filter(fails).map(|(index, _)| *index).collect();
    Err(NotApplied { why, keeps_change })
}

impl OrderSender {
    /// Taps the port of this index, instead of the tap that it has.
    pub(crate) fn tap(&self, port: usize, tap: Tap) {
        self.messages.send(Message::Tap(port, tap));
    }

    /// Returns a sender of hosts behind translated addresses.
    pub(crate) fn hosts(&self) -> Box<dyn Receiver> {
        Box::new(self.messages.clone())
    }

    /// Sends an order. Returns the flag by which it is claimed.
    fn send(&self, changes: Vec<PolicyChange>) -> Arc<AtomicBool> {
        let claimed = Arc::new(AtomicBool::new(false));
        self.messages.send(Message::Change(Order { changes, claimed: claimed.clone() }));
        claimed
    }

    /// Waits for the order last sent. Cancels it at `deadline`; an order that has begun is waited for.
    /// Returns its inverse and its effect.
    fn wait(
        &self,
        claimed: &AtomicBool,
        deadline: WallInstant,
    ) -> Result<(Vec<PolicyChange>, Effect), OrderError> {
        let mut has_begun = false;
        loop {
            let returned = if has_begun {
                self.returned.recv().map_err(mpsc::RecvTimeoutError::from)
            } else {
                self.returned.recv_timeout(deadline.saturating_duration_since(WallInstant::now()))
            };
            match returned {
                Ok(Returned { changes, result: Some(result) }) => {
                    return result.map(|effect| (changes, effect)).map_err(OrderError::Refused);
                }
                // An earlier order, which was cancelled.
                Ok(Returned { result: None, .. }) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(OrderError::NotBegun),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    has_begun = claimed.swap(true, Ordering::AcqRel);
                    if !has_begun {
                        return Err(OrderError::NotBegun);
                    }
                }
            }
        }
    }
}

impl Orders {
    /// Carries out pending orders. While a sample is under way it does nothing: the trees must not change.
    /// Returns true if ports may have changed.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        ports: &mut [RouterPort],
        frames: &mut Frames,
        pool: &mut Pool,
        sampling: &mut Sampling,
    ) -> bool {
        if sampling.is_under_way() {
            return false;
        }
        let mut has_changed = false;
        for message in self.messages.take() {
            match message {
                Message::NoteApplied(at) => sampling.note_change(at),
                Message::Tap(port, tap) => ports[port].tap = Some(tap),
                Message::Hosts(HostMessage::Use(table)) => {
                    let before = core::mem::replace(&mut frames.hosts, table);
                    if let (Some(hosts), Some(before)) = (&mut frames.hosts, before) {
                        hosts.keep_slots(*before);
                    }
                }
                Message::Hosts(HostMessage::Change(changes)) => {
                    if let Some(hosts) = &mut frames.hosts {
                        hosts.change(&changes);
                    }
                }
                Message::Change(Order { mut changes, claimed }) => {
                    let is_cancelled = claimed.swap(true, Ordering::AcqRel);
                    let result =
                        (!is_cancelled).then(|| change_ports(&mut changes, now, ports, frames, pool));
                    // Fails only if the control has ended.
                    let _ = self.returned.send(Returned { changes, result });
                    has_changed = true;
                }
            }
        }
        has_changed
    }
}

/// Applies all changes, or none: if a port refuses its change, those before it are undone.
fn change_ports(
    changes: &mut [PolicyChange],
    now: Instant,
    ports: &mut [RouterPort],
    frames: &mut Frames,
    pool: &mut Pool,
) -> Result<Effect, String> {
    let mut applied = Applied::default();
    for index in 0..changes.len() {
        let change = &mut changes[index];
        match ports[change.port].apply(change, now, frames, pool) {
            Ok(effect) => {
                applied.moved_packets += effect.moved_packets.unwrap_or(0);
                applied.forced_out_packets += effect.forced_out_packets;
            }
            Err(why) => {
                let mut why = why.to_string();
                for change in changes[..index].iter_mut().rev() {
                    if let Err(refusal) = ports[change.port].apply(change, now, frames, pool) {
                        why = format!("{why}; then the parameters from before were refused: {refusal}");
                    }
                }
                return Err(why);
            }
        }
    }
    Ok(Effect { applied, at: now })
}

#[cfg(test)]
mod tests;
