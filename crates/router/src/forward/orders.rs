//! Orders from the control to a forwarder: changes of its ports, carried out between two rounds.

use std::sync::mpsc;

use lockgate_dataplane::mailbox::{Mailbox, Sender, mailbox};
use lockgate_engine::packet::Pool;
use lockgate_engine::units::Instant;

use super::Sampling;
use crate::control::Applied;
use crate::frames::Frames;
use crate::port::{PortChange, RouterPort};

/// Changes of ports, all between the same two packets.
pub(crate) struct Order {
    pub(crate) changes: Vec<PortChange>,
    pub(crate) done: mpsc::Sender<Done>,
}

/// An order that was carried out. It holds the replaced parts, so that the thread without deadlines frees
/// them.
pub(crate) struct Done {
    pub(crate) _changes: Vec<PortChange>,
    /// Effect of the changes, or the reason why a discipline refused one.
    pub(crate) result: Result<Applied, String>,
}

/// Receiving end of orders.
pub(crate) struct Orders(Mailbox<Order>);

/// Creates the two ends.
pub(crate) fn orders() -> (Sender<Order>, Orders) {
    let (sender, receiver) = mailbox();
    (sender, Orders(receiver))
}

impl Orders {
    /// Carries out pending orders. While a sample is under way it does nothing: the trees must not change.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        ports: &mut [RouterPort],
        frames: &mut Frames,
        pool: &mut Pool,
        sampling: &mut Sampling,
    ) {
        if sampling.is_under_way() {
            return;
        }
        for mut order in self.0.take() {
            let mut result = Ok(Applied::default());
            for change in &mut order.changes {
                let Some(port) = ports.get_mut(change.port) else { continue };
                match (port.apply(change, now, frames, pool), &mut result) {
                    (Ok((moved, forced_out)), Ok(applied)) => {
                        applied.moved_packets += moved;
                        applied.forced_out_packets += forced_out;
                    }
                    (Err(why), _) => result = Err(why.to_string()),
                    (Ok(_), Err(_)) => {}
                }
            }
            sampling.note_change(now);
            // The sender of an order may have given up waiting.
            let _ = order.done.send(Done { _changes: order.changes, result });
        }
    }
}
