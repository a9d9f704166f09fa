//! Event loop of a live run: receive frames, run the network up to the clock, send frames, sleep.
//!
//! ```text
//!                  kernel: one veth a host                     other threads
//!                    |                 ^                  |                    ^
//!                    | oldest first    | in batches       | reports,           | renewals,
//!                    v                 |                  v connections        | samples
//!  one round:     enter --> play(now) --> leaving      account --> control_channel::DriverEnd::turn
//! ```
//!
//! If no frame arrived, the thread sleeps until shortly before the next event and spins the rest. A sleep
//! ends before the next event and before an observer's next look, and lasts at most 5 ms.
//!
//! Invariant: the driver never waits for another thread. It sleeps only in [`Dataplane::wait`], which has a
//! deadline, and tries the rings and mailboxes of other threads without blocking (decision 065). Events are
//! played at their own times, and a frame enters at its kernel time stamp, so that lateness does not
//! accumulate (decision 020).
//!
//! Cost: one thread, with real-time priority if permitted. A round costs one pass over all wires for each
//! frame that enters (64 at most), and one batched send a host.

use std::io;

use lockgate_dataplane::dataplane::{Dataplane, Stopped};
use lockgate_dataplane::error::InterfaceError;
use lockgate_engine::units::{Duration, Instant};

use crate::control_channel::DriverEnd;
use crate::failure::Failure;
use crate::frame::answer::has;
use crate::frame::{Mac, set_addresses};
use crate::machine::Machine;
use crate::network::{Entered, Leaving, Network};

/// Frames that enter at most before due events are played and frames are sent.
const BATCH: usize = 64;

/// Lag behind the clock above which time jumps: the process was stopped, or is too slow for the load.
const MOST_LAG: Duration = Duration::from_millis(100);

/// Longest sleep. Bounds the delay of reports and of a request to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);

/// Time after the end in which receivers may deliver their last reports.
const GRACE: Duration = Duration::from_secs(1);

/// Connection to one host. A wire is named by its index in a slice of these.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Index of the host's node.
    pub node: usize,
    /// The host's Ethernet address.
    pub host: Mac,
    /// Ethernet address of the wire's own end.
    pub gateway: Mac,
}

/// Result of the event loop, with its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driven {
    /// True if `stop` ended the run before its time.
    pub stopped_early: bool,
    /// Frames received.
    pub frames: u64,
    /// Rounds of the loop.
    pub rounds: u64,
    /// Total of the stalls longer than `MOST_LAG`, in which the thread did not run.
    pub stalled: Duration,
    /// Frames lost because a receive ring was full or an interface dropped them, up to the time of this
    /// count: senders may still send shortly after the end of the run.
    pub overruns: u64,
}

/// Drives `network` to its end, or until `stop`, called with the current time, returns true. An observer's
/// channel is served once a round.
///
/// # Errors
/// If a wire is gone, or a port refuses a change.
pub fn drive<M: Machine>(
    network: &mut Network<'_>,
    machine: &mut M,
    wires: &[Wire],
    stop: &mut dyn FnMut(Instant) -> bool,
    mut driver_end: Option<&mut DriverEnd>,
) -> Result<Driven, Failure> {
    let wire_of = by_node(wires);
    let mut driven = Driven::default();
    let mut leaving = Vec::new();
    let mut asked = Instant::ZERO;
    let mut awaited = machine.dataplane().now();
    loop {
        network.wall = machine.dataplane().wall();
        let came = take_in(network, machine.dataplane(), wires)?;
        driven.frames += came as u64;
        driven.rounds += 1;
        let now = machine.dataplane().now();
        if now.since(awaited) > MOST_LAG {
            driven.stalled += now.since(awaited);
            network.record_stall(now.since(awaited));
        }
        awaited = now;
        if now.since(network.next().max(network.now())) > MOST_LAG {
            network.skip_to(now - MOST_LAG)?;
        }
        // A full batch may have left frames in the rings, which precede the events due now.
        if came < BATCH {
            network.play(now)?;
        }
        core::mem::swap(&mut leaving, &mut network.leaving);
        hand_over(network, machine.dataplane(), wires, &wire_of, &mut leaving)?;
        machine.reports(&mut |report| network.report(report));
        machine.connections(&mut |event| network.on_connection(event));
        while let Some(renewal) = network.renewals.pop() {
            machine.renew(renewal);
        }
        match &mut driver_end {
            Some(driver_end) => driver_end.turn(network),
            None => network.spent.clear(),
        }
        if network.has_ended() {
            break;
        }
        if now.since(asked) >= LONGEST_SLEEP {
            asked = now;
            if stop(now) {
                driven.stopped_early = true;
                break;
            }
        }
        if came == 0 {
            let look = driver_end.as_ref().map_or(Instant::NEVER, |driver_end| driver_end.next());
            awaited = network.next().min(now + LONGEST_SLEEP).min(look).max(now);
            machine.dataplane().wait(awaited)?;
        }
    }
    driven.overruns = machine.dataplane().lost();
    await_reports(network, machine)?;
    Ok(driven)
}

/// Returns the index of each node's wire; `None` for nodes without one.
fn by_node(wires: &[Wire]) -> Vec<Option<usize>> {
    let mut wire_of = Vec::new();
    for (wire, host) in wires.iter().enumerate() {
        wire_of.resize(wire_of.len().max(host.node + 1), None);
        wire_of[host.node] = Some(wire);
    }
    wire_of
}

/// Waits, [`GRACE`] at most, for the last reports of the receivers.
fn await_reports<M: Machine>(network: &mut Network<'_>, machine: &mut M) -> Result<(), Failure> {
    let until = machine.dataplane().now() + GRACE;
    while network.awaits_reports() && machine.dataplane().now() < until {
        machine.reports(&mut |report| network.report(report));
        let nap = machine.dataplane().now() + Duration::from_millis(1);
        machine.dataplane().wait(nap)?;
    }
    Ok(())
}

/// Receives at most [`BATCH`] frames, in order of arrival over all wires. Returns how many.
fn take_in<D: Dataplane>(
    network: &mut Network<'_>,
    dataplane: &mut D,
    wires: &[Wire],
) -> Result<usize, Failure> {
    let mut came = 0;
    while came < BATCH {
        let mut first: Option<(Instant, usize)> = None;
        for wire in 0..wires.len() {
            if let Some(at) = dataplane.next_arrival(wire)
                && first.is_none_or(|(earliest, _)| at < earliest)
            {
                first = Some((at, wire));
            }
        }
        let Some((at, wire)) = first else { break };
        came += 1;
        if at.since(network.next()) > MOST_LAG {
            network.skip_to(at)?;
        } else if at >= network.next() {
            network.play_before_frame(at)?;
        }
        if network.has_ended() {
            break;
        }
        let host = wires[wire];
        let mut answer = None;
        dataplane.take_frame(wire, &mut |frame| {
            if network.enter(host.node, at, frame) == Entered::Question {
                answer = has(frame, host.gateway);
            }
        });
        if let Some(answer) = answer {
            // If it cannot be sent, it is lost: the host repeats its request.
            let _ = dataplane.transmit(wire, &[&answer])?;
        }
    }
    Ok(came)
}

/// Sends the leaving frames, in one batch a host, and accounts for each of them.
fn hand_over<D: Dataplane>(
    network: &mut Network<'_>,
    dataplane: &mut D,
    wires: &[Wire],
    wire_of: &[Option<usize>],
    leaving: &mut Vec<Leaving>,
) -> Result<(), Failure> {
    if leaving.is_empty() {
        return Ok(());
    }
    // A stable sort keeps the order of each host's frames.
    leaving.sort_by_key(|leaving| leaving.node);
    for leaving in leaving.iter() {
        if let Some(wire) = wire_of.get(leaving.node).copied().flatten() {
            let Wire { host, gateway, .. } = wires[wire];
            set_addresses(network.frames_mut().bytes_mut(leaving.packet.payload), host, gateway);
        }
    }
    while let Some(first) = leaving.first() {
        let node = first.node;
        let run = leaving.iter().take_while(|leaving| leaving.node == node).count().min(BATCH);
        let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
        for (frame, leaving) in frames.iter_mut().zip(&leaving[..run]) {
            *frame = network.frames().bytes(leaving.packet.payload);
        }
        // Without a wire no frame is taken: each counts as lost by the machine.
        let taken = match wire_of.get(node).copied().flatten() {
            Some(wire) => {
                let sent = dataplane.transmit(wire, &frames[..run])?;
                if sent.stopped == Some(Stopped::Down) {
                    let what = format!("sending by the wire of host {node}");
                    return Err(InterfaceError { what, why: io::ErrorKind::NetworkDown.into() }.into());
                }
                sent.taken
            }
            None => 0,
        };
        // This frame was refused and is lost; the following ones are still tried.
        let refused = usize::from(taken < run);
        let now = dataplane.now();
        for (index, left) in leaving.drain(..taken + refused).enumerate() {
            network.account_delivery(left.packet, left.at, now, index < taken);
        }
    }
    Ok(())
}
