//! Jumbo frames by packet sockets, and an hour of mixed traffic in bounded memory.
//!
//! `LOCKGATE_MINUTES=60` is the length of the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::socket::SocketChoice;

use super::common::kinds::{frame, kinds};
use super::setting::{MODES, Running, dotted, found, network, network_of, number, policy, run};
use super::stream::{Stream, address};

#[test]
fn jumbo_frames_pass() {
    if found("ping").is_none() {
        return super::common::skip("no ping");
    }
    for mode in MODES {
        let Some(network) = network_of(mode, 9_000) else { return };
        let router = Running::start(&network, &policy(mode, "1gbit", "{ kind = \"fq_codel\" }"), &[]);
        let other = dotted(address(mode, 1));
        for (from, other) in [(0, other), (1, dotted(address(mode, 0)))] {
            let arguments = ["-c", "20", "-i", "0.01", "-W", "5", "-M", "do", "-s", "8972", &other];
            let output = run(&network.hosts[from], "ping", &arguments);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains(" 0% packet loss"), "{mode}: {said}");
        }
        assert!(router.log().contains("frames come by packet sockets"), "{}", router.log());
        router.stop();
    }
}

/// Longest frame of the traffic, in bytes.
const LONGEST_FRAME: usize = 1_514;

#[test]
fn memory_is_flat_under_mixed_traffic() {
    let minutes = number("LOCKGATE_MINUTES", 0);
    let Some(network) = network("bridge") else { return };
    let router =
        Running::start(&network, &policy("bridge", "200mbit", "{ kind = \"cake\" }"), &["--every", "100ms"]);
    let stop = Arc::new(AtomicBool::new(false));
    // Frames of all kinds, both ways: 8000 of 780 bytes a second in the mean, 50 Mbit/s each way.
    let mixed: Vec<_> = [0, 1]
        .into_iter()
        .map(|from| {
            let mut sender = network.open(from, SocketChoice::Packet, LONGEST_FRAME);
            let stop = stop.clone();
            thread::spawn(move || {
                let (kinds, begun, mut sent) = (kinds(), Instant::now(), 0_usize);
                while !stop.load(Ordering::Relaxed) {
                    let due = (begun.elapsed().as_secs_f64() * 8_000.0) as usize;
                    while sent < due {
                        let mut bytes = frame(&kinds[sent % kinds.len()].1, sent, LONGEST_FRAME);
                        // Many addresses, so that flows start and end.
                        let at = bytes.len().min(40) - 10;
                        bytes[at..at + 4].copy_from_slice(&(sent as u32).to_be_bytes());
                        sender.transmit(0, &[&bytes]).expect("there");
                        sent += 1;
                    }
                    thread::sleep(Duration::from_millis(2));
                }
                sent
            })
        })
        .collect();
    let stream = Stream::start(&network, "bridge", 100, 200, 5_000);
    thread::sleep(Duration::from_secs(2));
    let first = router.memory();
    println!("minute 0: {first} KiB");
    for minute in 1..=minutes {
        thread::sleep(Duration::from_mins(1));
        println!("minute {minute}: {} KiB", router.memory());
    }
    thread::sleep(Duration::from_secs(2));
    let last = router.memory();
    stop.store(true, Ordering::Relaxed);
    let frames: usize = mixed.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    let ended = stream.end();
    let missing = ended.sent.len() - ended.arrived.len();
    println!(
        "{minutes} minutes, {frames} frames: {first} to {last} KiB; {missing} of {} datagrams beside were lost",
        ended.sent.len()
    );
    // The pool's pages are committed up to the longest backlog so far; all 32,768 frames are some 50 MiB.
    assert!(last < first + (64 << 10), "{first} to {last} KiB");
    router.stop();
}
