//! QUIC (`quinn-proto`) over 100 Mbit/s and 40 ms there and back, before it `fq_codel`: how long a file
//! takes, and how many times faster than real time that runs.
//!
//! ```text
//! cargo run --release -p lockgate-path --example quinn [MEGABYTES]
//! ```
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

mod stacks {
    pub mod quinn;
    pub mod transfer;
}

use std::time::Instant as Clock;

use lockgate_path::{Ecn, Frame, Instant, Path, PathBuilder};
use stacks::transfer;

fn line() -> PathBuilder {
    Path::between("client", "server").rate("100mbit").delay("20ms").queue("fq_codel")
}

/// Sends the packets of a transfer that arrived again, without the stack. Returns the seconds that takes.
fn alone(transferred: &transfer::Transferred) -> Result<f64, lockgate_path::Error> {
    let mut path = line().build()?;
    let [client, server] = path.ends();
    let mut sent = transferred.arrivals.clone();
    sent.sort_by_key(|(sent, ..)| *sent);
    let started = Clock::now();
    for (at, receiver, length, _) in sent {
        let end = if receiver == client { server } else { client };
        while path.receive(at)?.is_some() {}
        path.send_frame(at, end, Frame::new(vec![0; length as usize - 42]).ecn(Ecn::Ect0))?;
    }
    while path.receive(Instant::NEVER)?.is_some() {}
    Ok(started.elapsed().as_secs_f64())
}

fn main() -> Result<(), lockgate_path::Error> {
    let megabytes = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let mut path = line().build()?;
    let started = Clock::now();
    let transferred =
        transfer::transfer(&mut path, megabytes * 1_000_000, quinn_proto::TransportConfig::default());
    let took = started.elapsed().as_secs_f64();
    let summary = path.finish()?.summary()?;
    let flow = &summary.flows["client-server"];
    let completed = transferred.completed.as_secs_f64();
    println!(
        "{megabytes} MB in {completed:.3} s, {:.1} Mbit/s of payload",
        megabytes as f64 * 8.0 / completed
    );
    println!("one-way delay p99 {:.2} ms", flow.owd_s.p99.unwrap_or(0.0) * 1e3);
    println!("{} packets sent, {} lost, {} marked", flow.sent_packets, flow.lost_packets, transferred.marks);
    let alone = alone(&transferred)?;
    println!("took {took:.3} s: {:.0} times faster than real time", completed / took);
    println!("the path alone {alone:.3} s: {:.0} times faster than real time", completed / alone);
    Ok(())
}
