//! TCP for small devices (`smoltcp`) over 10 Mbit/s and 40 ms there and back, by its three congestion
//! controls.
//!
//! ```text
//! cargo run --release -p lockgate-path --example smoltcp
//! ```
#![allow(clippy::print_stdout, missing_docs, unreachable_pub)]

mod stacks {
    pub mod download;
    pub mod smoltcp;
}

use ::smoltcp::socket::tcp::CongestionControl;
use lockgate_path::Path;
use stacks::download;

fn main() -> Result<(), lockgate_path::Error> {
    for control in [CongestionControl::None, CongestionControl::Reno, CongestionControl::Cubic] {
        for queue in ["fifo", "fq_codel"] {
            let mut path =
                Path::between("device", "cloud").rate("10mbit").delay("20ms").queue(queue).build()?;
            let downloaded = download::download(&mut path, 4_000_000, 128 << 10, control);
            let summary = path.finish()?.summary()?;
            let flow = &summary.flows["device-cloud"];
            println!(
                "{control:?}, {queue}: {:.3} s, p99 of the one-way delay {:.1} ms, {} packets lost",
                downloaded.completed.as_secs_f64(),
                flow.owd_s.p99.unwrap_or(0.0) * 1e3,
                flow.lost_packets,
            );
        }
    }
    Ok(())
}
