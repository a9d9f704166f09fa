//! The loop: frames in, the network played as far as the clock has come, frames out, sleep.
//!
//! ```text
//! for ever:  frames of all hosts, oldest first --enter--> network --play(now)--> leaving --> hosts
//!            reports of receivers -----------------------> account
//!            nothing came: sleep until shortly before the next event, then spin
//! ```

use lockgate_engine::units::{Duration, Instant};

use crate::failure::Failure;
use crate::frame::answer::has;
use crate::frame::{Mac, set_addresses};
use crate::machine::Machine;
use crate::network::{Entered, Leaving, Network};
use crate::watch::Seat;

/// Most frames that enter before what is due is handed over.
const BATCH: usize = 64;

/// Most that the network lags behind the clock before time jumps: the process was stopped, or cannot keep up.
const MOST_LAG: Duration = Duration::from_millis(100);

/// Longest sleep: reports are looked for, and a wish to stop.
const NAP: Duration = Duration::from_millis(5);

/// How long receivers may take to report after the end.
const GRACE: Duration = Duration::from_secs(1);

/// Where frames of a host come and go: wires are numbered by their place in a slice of these.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// The host's node.
    pub node: usize,
    /// The host's Ethernet address.
    pub host: Mac,
    /// The wire's own.
    pub gateway: Mac,
}

/// How the loop ended, and what it saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driven {
    /// Whether it was asked to stop before the end of the run.
    pub stopped_early: bool,
    /// Frames that came in.
    pub frames: u64,
    /// Rounds of the loop.
    pub rounds: u64,
    /// How long it was stopped, or kept from running, for more than [`MOST_LAG`] at a time.
    pub stood_still: Duration,
    /// Frames that found no room in the rings until the run ended: senders go on for a while after.
    pub overruns: u64,
}

/// Drives `network` to its end, or until `stop` (which is told the time) says so.
///
/// # Errors
/// A wire that is gone, or a change that a port refuses.
pub fn drive<M: Machine>(
    network: &mut Network<'_>,
    machine: &mut M,
    wires: &[Wire],
    stop: &mut dyn FnMut(Instant) -> bool,
) -> Result<Driven, Failure> {
    drive_watched(network, machine, wires, stop, None)
}

/// Drives `network` as [`drive`] does, coming by `seat` once a round.
///
/// # Errors
/// As for [`drive`].
pub fn drive_watched<M: Machine>(
    network: &mut Network<'_>,
    machine: &mut M,
    wires: &[Wire],
    stop: &mut dyn FnMut(Instant) -> bool,
    mut seat: Option<&mut Seat>,
) -> Result<Driven, Failure> {
    let wire_of = by_node(wires);
    let mut driven = Driven::default();
    let mut leaving = Vec::new();
    let mut asked = Instant::ZERO;
    let mut awaited = machine.now();
    loop {
        network.wall = machine.wall();
        let came = take_in(network, machine, wires)?;
        driven.frames += came as u64;
        driven.rounds += 1;
        let now = machine.now();
        if now.since(awaited) > MOST_LAG {
            driven.stood_still += now.since(awaited);
            network.stand_still(now.since(awaited));
        }
        awaited = now;
        if now.since(network.next().max(network.now())) > MOST_LAG {
            network.skip_to(now - MOST_LAG)?;
        }
        // Frames that are still in the rings come before what is due now.
        if came < BATCH {
            network.play(now)?;
        }
        core::mem::swap(&mut leaving, &mut network.leaving);
        hand_over(network, machine, wires, &wire_of, &mut leaving)?;
        machine.reports(&mut |report| network.report(report));
        machine.connections(&mut |event| network.on_connection(event));
        while let Some(renewal) = network.renewals.pop() {
            machine.renew(renewal);
        }
        match &mut seat {
            Some(seat) => seat.turn(network),
            None => network.spent.clear(),
        }
        if network.has_ended() {
            break;
        }
        if now.since(asked) >= NAP {
            asked = now;
            if stop(now) {
                driven.stopped_early = true;
                break;
            }
        }
        if came == 0 {
            let look = seat.as_ref().map_or(Instant::NEVER, |seat| seat.next());
            awaited = network.next().min(now + NAP).min(look).max(now);
            machine.wait(awaited)?;
        }
    }
    driven.overruns = machine.overruns();
    await_reports(network, machine)?;
    Ok(driven)
}

/// The wire of each node's host.
fn by_node(wires: &[Wire]) -> Vec<usize> {
    let mut wire_of = Vec::new();
    for (wire, host) in wires.iter().enumerate() {
        wire_of.resize(wire_of.len().max(host.node + 1), 0);
        wire_of[host.node] = wire;
    }
    wire_of
}

/// Receivers report what they got last.
fn await_reports<M: Machine>(network: &mut Network<'_>, machine: &mut M) -> Result<(), Failure> {
    let until = machine.now() + GRACE;
    while network.awaits_reports() && machine.now() < until {
        machine.reports(&mut |report| network.report(report));
        let nap = machine.now() + Duration::from_millis(1);
        machine.wait(nap)?;
    }
    Ok(())
}

/// Takes frames in, oldest first over all wires. Returns how many.
fn take_in<M: Machine>(network: &mut Network<'_>, machine: &mut M, wires: &[Wire]) -> Result<usize, Failure> {
    let mut came = 0;
    while came < BATCH {
        let mut first: Option<(Instant, usize)> = None;
        for wire in 0..wires.len() {
            if let Some(at) = machine.next_frame(wire)
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
        machine.take_frame(wire, &mut |frame| {
            if network.enter(host.node, at, frame) == Entered::Question {
                answer = has(frame, host.gateway);
            }
        });
        if let Some(answer) = answer {
            // An answer that finds no room is asked for again.
            let _ = machine.send(wire, &[&answer])?;
        }
    }
    Ok(came)
}

/// Hands frames to their hosts.
fn hand_over<M: Machine>(
    network: &mut Network<'_>,
    machine: &mut M,
    wires: &[Wire],
    wire_of: &[usize],
    leaving: &mut Vec<Leaving>,
) -> Result<(), Failure> {
    if leaving.is_empty() {
        return Ok(());
    }
    // Stable: to each host in order.
    leaving.sort_by_key(|leaving| leaving.node);
    for leaving in leaving.iter() {
        let wire = &wires[wire_of[leaving.node]];
        set_addresses(network.frames.bytes_mut(leaving.packet.payload), wire.host, wire.gateway);
    }
    while let Some(first) = leaving.first() {
        let node = first.node;
        let run = leaving.iter().take_while(|leaving| leaving.node == node).count().min(BATCH);
        let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
        for (frame, leaving) in frames.iter_mut().zip(&leaving[..run]) {
            *frame = network.frames.bytes(leaving.packet.payload);
        }
        let taken = machine.send(wire_of[node], &frames[..run])?;
        // The kernel refuses one: that one is lost, and the next are tried again.
        let refused = usize::from(taken < run);
        let now = machine.now();
        for (place, left) in leaving.drain(..taken + refused).enumerate() {
            network.handed(left.packet, left.at, now, place < taken);
        }
    }
    Ok(())
}
