//! One-way delay of small datagrams through a bridge: the kernel's, and Lockgate's without a rate.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime};

use lockgate_dataplane::datagrams::{DatagramBatch, enable_time_stamps};
use lockgate_router::router::Options;

use crate::common::{Network, open_socket};
use crate::{print_load, quantile};

/// Bytes of a datagram, which begins with the time at which it is sent.
const SIZE: usize = 100;

/// Sends datagrams at a rate for this time. Returns their sorted delays, and how many were sent.
fn measure(network: &Network, rate: u64, lasting: Duration) -> (Vec<Duration>, u64) {
    let to = SocketAddr::from(([10, 3, 0, 2], 5_000));
    let receiver = open_socket(&network.hosts[1], || UdpSocket::bind(to));
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 64 << 20).expect("set");
    enable_time_stamps(&receiver).expect("set");
    let sender = open_socket(&network.hosts[0], || UdpSocket::bind("0.0.0.0:0"));
    let since_epoch = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let receiving = std::thread::spawn(move || {
        let mut batch = DatagramBatch::<SIZE>::new();
        let (mut delays, mut heard) = (Vec::new(), Instant::now());
        while heard.elapsed() < Duration::from_secs(1) {
            for index in 0..batch.receive(&receiver) {
                heard = Instant::now();
                let Some(sent) = batch.start(index).first_chunk::<8>().map(|it| u64::from_be_bytes(*it))
                else {
                    continue;
                };
                let Some((seconds, nanos)) = batch.arrival(index) else { continue };
                let at = Duration::new(seconds.unsigned_abs(), nanos);
                delays.push(at.saturating_sub(Duration::from_nanos(sent)));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        delays
    });
    let (begun, mut sent) = (Instant::now(), 0);
    while begun.elapsed() < lasting {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as u64;
        while sent < due {
            let mut bytes = [0; SIZE];
            bytes[..8].copy_from_slice(&(since_epoch().as_nanos() as u64).to_be_bytes());
            sender.send_to(&bytes, to).expect("sent");
            sent += 1;
        }
        if rate <= 10_000 {
            std::thread::sleep(Duration::from_micros(20));
        } else {
            std::hint::spin_loop();
        }
    }
    let mut delays = receiving.join().expect("no panic");
    // The kernel begins to stamp some time after it was asked, and the first datagrams wait for the
    // neighbour.
    delays.drain(..delays.len() / 10);
    delays.sort_unstable();
    (delays, sent)
}

/// Measures each rate for `seconds`, the systems in turns, twice.
pub(crate) fn run(seconds: u64) {
    let Some(network) = Network::make(1_500) else { return };
    network.join();
    let policy = "[router]\nmode = \"bridge\"\ninterfaces = { lan = \"eth1\", wan = \"eth2\" }\n\
                  [port.\"lan->wan\"]\nqueue.q = { kind = \"fifo\" }\n[port.\"wan->lan\"]\nqueue.q = { kind = \"fifo\" }\n";
    // The first router makes the bridge.
    network.start(policy).0.stop().expect("drained");
    print_load();
    println!(
        "| packets/s | system | p50 | p99 | p99.9 | lost | of these by the router |\n\
         | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    );
    for rate in [1_000, 10_000, 100_000] {
        for name in ["kernel's bridge", "Lockgate", "Lockgate, `--gather 0s`"].repeat(2) {
            let gather = if name.ends_with('`') {
                lockgate_engine::units::Duration::ZERO
            } else {
                Options::default().gather
            };
            let options = Options { gather, ..Options::default() };
            let router = (name != "kernel's bridge").then(|| network.start_with(policy, options).0);
            let (delays, sent) = measure(&network, rate, Duration::from_secs(seconds));
            // Not those that its queues dropped: there are none without a rate, but for a full interface.
            let by_router = router.map_or(0, |router| router.stop().expect("drained").total());
            let [p50, p99, rare] = [0.5, 0.99, 0.999].map(|share| quantile(&delays, share));
            let lost = sent.saturating_sub((delays.len() as f64 / 0.9) as u64 + 10);
            println!("| {rate} | {name} | {p50:.1?} | {p99:.1?} | {rare:.1?} | {lost} | {by_router} |");
        }
    }
    print_load();
}
