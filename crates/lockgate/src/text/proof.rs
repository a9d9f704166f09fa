//! Proofs as text: a table of the bounds, the derivation of a flow's, and the buffers that never overflow.

use lockgate_calculus::{Arrival, Exact, Service, Step, Term, Theorem, to_f64};
use lockgate_engine::units::Limit;
use lockgate_scenario::Scenario;

use super::grid::{Cell, Column, Grid};
use super::lines::Lines;
use super::visible;
use crate::figures;
use crate::proof::Proof;

fn seconds(exact: &Exact) -> String {
    figures::seconds(Some(to_f64(exact)))
}

fn rate(exact: &Exact) -> String {
    figures::rate(Some(to_f64(exact)))
}

/// Returns frame bits in bytes.
fn bytes(exact: &Exact) -> String {
    figures::without_zeros(&figures::quantity(Some(to_f64(exact) / 8.0), "B"))
}

/// Adds the bound of each flow, or why there is none.
pub fn bounds(scenario: &Scenario, proof: &Proof, lines: &mut Lines) {
    let mut grid = Grid::new(vec![
        Column::name("flow"),
        Column::number("proven delay"),
        Column::name("envelope").rank(2),
        Column::name("why not").rank(1),
    ]);
    for (index, flow) in scenario.flows.iter().enumerate() {
        let envelope = match &proof.network.flows[index].arrival {
            Ok(arrival) => curve(arrival),
            Err(_) => String::new(),
        };
        let (delay, why) = match proof.delay(index) {
            Ok(delay) => (seconds(delay), String::new()),
            Err(why) => ("-".to_owned(), format!("no bound: {why}")),
        };
        let cells: [Cell; 4] =
            [visible(&flow.name).into(), delay.into(), envelope.into(), visible(&why).into()];
        grid.row(cells);
    }
    lines.grid(&grid);
}

/// Adds the derivation of the bound of the flow at this index.
pub fn derivation(proof: &Proof, index: usize, lines: &mut Lines) {
    let flow = &proof.network.flows[index];
    let derivation = proof.derivation(index);
    let bound = match proof.delay(index) {
        Ok(delay) => format!("at most {}", seconds(delay)),
        Err(why) => format!("no bound: {why}"),
    };
    lines.heading(&format!("flow {}: {bound}", flow.name));
    match &proof.envelopes[index] {
        Ok(envelope) => {
            let from =
                envelope.derived.map_or_else(|| "stated".to_owned(), |rule| format!("derived from {rule}"));
            let curve = flow.arrival.as_ref().map(curve).unwrap_or_default();
            lines.sentence(&format!("envelope ({from}): in any time t at most {curve}"));
        }
        Err(why) => lines.sentence(&format!("no envelope: {}", visible(why.as_str()))),
    }
    for (number, step) in derivation.steps.iter().enumerate() {
        hop(proof, number + 1, step, lines);
    }
    ending(proof, index, lines);
}

/// Adds one server of a derivation.
fn hop(proof: &Proof, number: usize, step: &Step, lines: &mut Lines) {
    let server = &proof.network.servers[step.server];
    let queue = &server.nodes[step.node].name;
    lines.sentence(&format!("{number}. {}, queue {}", visible(&server.name), visible(queue)));
    // A processor and a port's own rate serve seconds, not bits.
    let is_line = server.rate != lockgate_calculus::ratio(1, 1);
    if let Some(arrival) = step.arrival.as_ref().filter(|_| number > 1) {
        lines.sentence(&format!(
            "   the flow arrives within {} ({})",
            curve(arrival),
            Theorem::Jitter.name()
        ));
    }
    let received = step.received.as_ref().filter(|_| is_line);
    if let Some(received) = received {
        lines.sentence(&format!("   its queue receives A(t) = {}", curve(received)));
    }
    if let Some(service) = step.service.as_ref().filter(|_| is_line) {
        let subject = if received.is_some() { "and" } else { "its queue" };
        lines.sentence(&format!("   {subject} is guaranteed {}", guarantee(service)));
    }
    if step.delay.is_ok() {
        lines.sentence(&format!("   {}", stated(step.theorem)));
        step.terms.iter().for_each(|term| lines.sentence(&format!("   {}", figure(term))));
    }
    let propagation = match to_f64(&server.propagation) {
        zero if zero <= 0.0 => String::new(),
        _ => format!(", then {} of propagation", seconds(&server.propagation)),
    };
    match &step.delay {
        Ok(delay) => lines.sentence(&format!("   delay <= {}{propagation}", seconds(delay))),
        Err(why) => lines.sentence(&format!("   no bound: {}", visible(why.as_str()))),
    }
}

/// Returns a theorem with its statement and source.
fn stated(theorem: Theorem) -> String {
    format!("{}: {} [{}]", theorem.name(), theorem.statement(), theorem.source())
}

/// Returns a figure of a theorem, exact to the byte, so that a reader gets the same delay on paper.
fn figure(term: &Term) -> String {
    let bytes =
        |exact: &Exact| format!("{} B", figures::without_zeros(&format!("{:.3}", to_f64(exact) / 8.0)));
    match term {
        Term::Blocked(longest) => format!("with L_lower = {}", bytes(longest)),
        Term::Longest(longest) => format!("with L = {}", bytes(longest)),
        Term::Rounds(rounds) => format!(
            "with w ahead of it in its queue, a packet begins (w + {} + {} floor((w + {}) / {})) / C later",
            bytes(&rounds.before),
            bytes(&rounds.further),
            bytes(&rounds.carried),
            bytes(&rounds.turn),
        ),
        Term::Last(length) => format!("with l = {}: {}", bytes(length), stated(Theorem::LineSpeed)),
    }
}

/// Adds how the servers' bounds are joined.
fn ending(proof: &Proof, index: usize, lines: &mut Lines) {
    let derivation = proof.derivation(index);
    let theorem = |theorem: Theorem| format!("{} [{}]", theorem.statement(), theorem.source());
    if derivation.is_cyclic {
        lines.sentence(&stated(Theorem::FixedPoint));
    }
    if let Some(total) = &derivation.total {
        let name = Theorem::TotalFlow.name();
        lines.sentence(&format!("{name}: {}: {}", seconds(total), theorem(Theorem::TotalFlow)));
    }
    if let (Some(separate), true) = (&derivation.separate, derivation.steps.len() > 1) {
        let curve = match &derivation.convolution {
            Some((of, latency)) if to_f64(of) > 0.0 => {
                format!(", with {} after {} at the end", rate(of), seconds(latency))
            }
            _ => String::new(),
        };
        let name = Theorem::SeparateFlow.name();
        lines.sentence(&format!("{name}: {}: {}{curve}", seconds(separate), theorem(Theorem::SeparateFlow)));
    }
}

/// Adds the backlog bound of each queue: a buffer of it never overflows.
pub fn buffers(proof: &Proof, lines: &mut Lines) {
    lines.heading("buffers that never overflow");
    let mut grid = Grid::new(vec![
        Column::name("queue"),
        Column::number("bytes"),
        Column::name("its limit").rank(1),
        Column::name("why not").rank(2),
    ]);
    for (_, name, bytes, overflows) in proof.queues() {
        let limit = overflows.map_or_else(String::new, |limit| match limit {
            Limit::Bytes(bytes) => format!("{bytes}: may overflow"),
            Limit::Packets(packets) => format!("{packets}: may overflow"),
        });
        let (bytes, why) = match bytes {
            Ok(bytes) => (format!("{} B", bytes.0), String::new()),
            Err(why) => ("-".to_owned(), format!("no bound: {why}")),
        };
        grid.row(vec![visible(&name).into(), bytes.into(), limit.into(), visible(&why).into()]);
    }
    lines.grid(&grid);
}

/// Returns an arrival curve in words: `1500 B + 1.2 Mbit/s t`.
fn curve(arrival: &Arrival) -> String {
    let line = |line: &lockgate_calculus::Line| match to_f64(&line.rate) {
        none if none <= 0.0 => bytes(&line.burst),
        _ => format!("{} + {} t", bytes(&line.burst), rate(&line.rate)),
    };
    let lines: Vec<String> = arrival.lines().iter().map(line).collect();
    match lines.as_slice() {
        [one] => one.clone(),
        many => format!("the least of {}", many.join(" and ")),
    }
}

/// Returns a service curve in words: `1 Mbit/s after 2 ms`.
fn guarantee(service: &Service) -> String {
    let pieces = service.pieces().iter();
    let pieces: Vec<String> = pieces
        .map(|piece| format!("{} after {}", rate(&piece.rate), seconds(&(&piece.offset / &piece.rate))))
        .collect();
    match pieces.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        many => format!("the most of {}", many.join(" and ")),
    }
}
