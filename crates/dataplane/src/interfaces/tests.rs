//! Tests over veth pairs in a namespace of their own.

mod sending;

use std::fs;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::*;
use crate::dataplane::{BATCH, Dropped};
use crate::ethtool::{driver, queues, switch_off_offloads};
use crate::namespace::{Namespace, RemoteNamespace, may_make_namespaces};
use crate::netlink::{Netlink, VethEnd, XdpMode};
use crate::slab::FrameSlab;
use lockgate_testing::skipped;

/// Two times left before a deadline: one with room for a warm-up frame, and one without.
const LONG_ENOUGH: Duration = Duration::from_micros(50);
const TOO_SHORT: Duration = Duration::from_micros(5);

const LONGEST_FRAME: usize = 1_514;

const CHOICES: [SocketChoice; 2] = [SocketChoice::AfXdpOrPacket, SocketChoice::Packet];

/// Makes two veth pairs, a0 to a1 and b0 to b1, in a new namespace whose kernel sends no frames of its own.
fn pairs() -> Option<Namespace> {
    if !may_make_namespaces() {
        skipped("this user may not make network namespaces");
        return None;
    }
    let namespace = Namespace::new().expect("made");
    let built = namespace.inside(|| {
        let mut netlink = Netlink::open()?;
        for (number, pair) in [["a0", "a1"], ["b0", "b1"]].into_iter().enumerate() {
            let end = |side: usize| VethEnd {
                name: pair[side],
                address: address(number, side),
                mtu: 1_500,
                namespace: None,
            };
            netlink.add_veth_pair(end(0), end(1))?;
            for name in pair {
                netlink.set_up(name)?;
                switch_off_offloads(&netlink, name)?;
            }
        }
        Ok::<_, Refusal>(())
    });
    built.expect("entered").expect("built");
    Some(namespace)
}

fn address(pair: usize, side: usize) -> MacAddress {
    [2, 0, 0, 0, pair as u8, side as u8]
}

fn open(
    namespace: &Namespace,
    names: &[&str],
    sockets: SocketChoice,
    warm_up: Option<WarmUpPair<'_>>,
) -> Interfaces {
    let options = Options { longest: LONGEST_FRAME, sockets, warm_up, ..Options::default() };
    let clock = MonotonicClock::start();
    namespace.inside(|| Interfaces::open(names, options, clock)).expect("entered").expect("opened")
}

/// Returns the frames that have arrived at the far end of the second pair.
fn warm_up_frames(namespace: &Namespace) -> u64 {
    let text = namespace.inside(|| fs::read_to_string("/proc/thread-self/net/dev"));
    let text = text.expect("entered").expect("read");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("b1:")).expect("the end");
    line.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn a_long_sleep_ends_with_a_warm_up_frame_and_a_short_one_does_not() {
    let Some(namespace) = pairs() else { return };
    for choice in CHOICES {
        let pair = WarmUpPair { near: "b0", far: address(1, 1) };
        let mut interfaces = open(&namespace, &["a0"], choice, Some(pair));
        let before = warm_up_frames(&namespace);
        for _ in 0..100 {
            let until = interfaces.now() + Duration::from_micros(300);
            while interfaces.now() < until {
                interfaces.wait(until).expect("waited");
            }
        }
        assert_eq!(warm_up_frames(&namespace), before, "{choice:?}: no sleep was long");

        // The lateness of a sleep depends on the machine, so the time left is given here instead of measured.
        while !interfaces.warm_up.as_ref().is_some_and(WarmUp::is_due) {
            let until = interfaces.now() + Duration::from_millis(3);
            interfaces.wait(until).expect("waited");
        }
        let warm_up = interfaces.warm_up.as_mut().expect("opened with a pair");
        warm_up.go(LONG_ENOUGH);
        warm_up.go(LONG_ENOUGH);
        warm_up.after_sleep();
        warm_up.go(TOO_SHORT);
        warm_up.after_sleep();
        warm_up.go(LONG_ENOUGH);
        // The kernel counts a frame only when the far end has taken it.
        let patience = interfaces.now() + Duration::from_secs(5);
        while warm_up_frames(&namespace) < before + 2 && interfaces.now() < patience {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(
            warm_up_frames(&namespace) - before,
            2,
            "{choice:?}: once after each sleep that left time"
        );
    }
}

/// Takes `CAP_SYS_ADMIN` from the calling thread.
fn drop_sys_admin() {
    let mut sets = capabilities(None).expect("read");
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        set.remove(CapabilitySet::SYS_ADMIN);
    }
    set_capabilities(None, sets).expect("fewer");
    assert!(!may_make_namespaces());
}

/// Makes a veth pair whose far end is in a remote namespace, and passes frames both ways.
fn pass_into_remote_namespace(choice: SocketChoice) {
    let remote = match RemoteNamespace::new(1) {
        Ok(remote) => remote,
        Err(refusal) => return skipped(refusal),
    };
    let links = remote.netlink().links().expect("listed");
    assert_eq!(links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["lo"]);
    let mut netlink = Netlink::open().expect("opened");
    let end = |name, side, namespace| VethEnd { name, address: address(0, side), mtu: 1_500, namespace };
    netlink.add_veth_pair(end("near", 0, None), end("far", 1, Some(remote.namespace()))).expect("made");
    netlink.set_up("near").expect("up");
    switch_off_offloads(&remote.netlink(), "far").expect("off");
    remote.netlink().set_up("far").expect("up");
    assert!(netlink.index_of("far").is_err() && remote.netlink().index_of("near").is_err());
    let endpoint = |name, namespace| Endpoint { name, namespace, traffic: Traffic::Both };
    let endpoints = [endpoint("near", None), endpoint("far", Some(&remote))];
    let options = Options { longest: LONGEST_FRAME, sockets: choice, ..Options::default() };
    let mut interfaces =
        Interfaces::open_endpoints(&endpoints, options, MonotonicClock::start()).expect("opened");
    let mut slab = FrameSlab::new(64, LONGEST_FRAME);
    for (from, to) in [(0, 1), (1, 0)] {
        let frames: Vec<Vec<u8>> = (0..20).map(|number| vec![number; 60 + usize::from(number)]).collect();
        for frame in &frames {
            assert_eq!(interfaces.transmit(from, &[frame]).expect("there").taken, 1);
        }
        let expected: Vec<_> = frames.into_iter().map(|frame| (to, frame)).collect();
        assert_eq!(receive_all(&mut interfaces, &mut slab, 20), expected, "{choice:?}");
    }
    let is_attached = |netlink: &mut Netlink| {
        let links = netlink.links().expect("listed");
        links.iter().any(|link| link.name == "far" && link.xdp != XdpMode::Absent)
    };
    assert_eq!(is_attached(&mut remote.netlink()), interfaces.packet_socket_reason().is_none());
    // Of the three packet sockets of the namespace, all are left if AF_XDP was used.
    let left = 2 + usize::from(interfaces.packet_socket_reason().is_none());
    drop(interfaces);
    assert!(!is_attached(&mut remote.netlink()));
    let open = |_: &i32| Interfaces::open_endpoints(&endpoints, options, MonotonicClock::start()).is_ok();
    assert_eq!((0..4).filter(open).count(), left, "{choice:?}");
    drop(remote);
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while netlink.index_of("near").is_ok() && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(netlink.index_of("near").is_err(), "the kernel deletes the pair with the namespace");
}

#[test]
fn interfaces_of_a_remote_namespace_are_used_without_entering_it() {
    if !may_make_namespaces() {
        return skipped("this user may not make network namespaces");
    }
    for has_sys_admin in [true, false] {
        for choice in CHOICES {
            let namespace = Namespace::new().expect("made");
            let passing = namespace.inside(|| {
                if !has_sys_admin {
                    drop_sys_admin();
                }
                pass_into_remote_namespace(choice);
            });
            passing.expect("entered");
        }
    }
}

/// Receives `count` frames into `slab`, or fails after five seconds.
fn receive_all(interfaces: &mut Interfaces, slab: &mut FrameSlab, count: usize) -> Vec<(usize, Vec<u8>)> {
    let mut batch = Vec::new();
    let mut all = Vec::new();
    let mut latest = Instant::ZERO;
    let patience = interfaces.now() + Duration::from_secs(5);
    while all.len() < count && interfaces.now() < patience {
        let dropped = interfaces.receive(slab, &mut batch, &mut [0; 4]);
        assert_eq!(dropped, Dropped::default(), "every frame fits");
        for arrival in &batch {
            assert!(latest <= arrival.at && arrival.at <= interfaces.now(), "oldest first");
            latest = arrival.at;
            all.push((arrival.interface, slab.bytes(arrival.slot).to_vec()));
            slab.release(arrival.slot);
        }
        if batch.is_empty() {
            let until = interfaces.now() + Duration::from_millis(5);
            interfaces.wait(until).expect("waited");
        }
    }
    all
}

#[test]
fn frames_are_received_as_transmitted_in_order_over_all_interfaces() {
    let Some(namespace) = pairs() else { return };
    for choice in CHOICES {
        // Both ends of both pairs: frames sent by 0 arrive at 1, and those sent by 2 at 3.
        let mut interfaces = open(&namespace, &["a0", "a1", "b0", "b1"], choice, None);
        if choice == SocketChoice::Packet {
            assert!(matches!(interfaces.packet_socket_reason(), Some(PacketSocketReason::Chosen)));
        }
        let mut slab = FrameSlab::new(2 * BATCH as u32, LONGEST_FRAME);
        let frame = |number: usize, pair: usize| {
            let mut frame = vec![number as u8; 60 + number * 20];
            frame[..6].copy_from_slice(&address(pair, 1));
            frame[12..14].copy_from_slice(&[0x88, 0xb5]);
            frame
        };
        let mut expected = Vec::new();
        for number in 0..70 {
            let pair = number % 2;
            let sent = frame(number, pair);
            assert_eq!(interfaces.transmit(2 * pair, &[&sent]).expect("there").taken, 1, "{choice:?}");
            expected.push((2 * pair + 1, sent));
        }
        let found = receive_all(&mut interfaces, &mut slab, expected.len());
        // The kernel delivers the frames of one interface in order; those of two may race.
        for interface in [1, 3] {
            let of = |frames: &[(usize, Vec<u8>)]| -> Vec<Vec<u8>> {
                frames.iter().filter(|(at, _)| *at == interface).map(|(_, frame)| frame.clone()).collect()
            };
            assert_eq!(of(&found), of(&expected), "{choice:?}");
        }
        assert_eq!((found.len(), slab.free()), (70, 2 * BATCH));
    }
}

#[test]
fn a_full_slab_leaves_frames_in_the_ring() {
    let Some(namespace) = pairs() else { return };
    let mut interfaces = open(&namespace, &["a0", "a1"], SocketChoice::AfXdpOrPacket, None);
    let mut slab = FrameSlab::new(2, 100);
    let sizes = [60, 200, 60, 60];
    for size in sizes {
        assert_eq!(interfaces.transmit(0, &[&vec![0x88; size]]).expect("there").taken, 1);
    }
    let (mut batch, mut dropped, mut dropped_at, mut received) = (Vec::new(), 0, [0; 2], 0);
    let patience = interfaces.now() + Duration::from_secs(5);
    while received < 3 && interfaces.now() < patience {
        dropped += interfaces.receive(&mut slab, &mut batch, &mut dropped_at).too_long;
        assert!(batch.len() <= 2, "two slots");
        received += batch.len();
        for arrival in &batch {
            slab.release(arrival.slot);
        }
    }
    assert_eq!((received, dropped, dropped_at), (3, 1, [0, 1]), "the long one is dropped, no other");
}

#[test]
fn lost_frames_are_counted_since_the_start() {
    let Some(namespace) = pairs() else { return };
    for choice in CHOICES {
        let mut interfaces = open(&namespace, &["a0", "a1"], choice, None);
        let mut known = 0;
        for _ in 0..2 {
            let patience = interfaces.now() + Duration::from_secs(10);
            let mut lost = interfaces.lost();
            assert!(lost >= known, "{choice:?}: {lost} after {known}: reading does not reset the count");
            while lost == known && interfaces.now() < patience {
                for _ in 0..100 {
                    let _ = interfaces.transmit(0, &[&[0x88; 60][..]; BATCH]).expect("there");
                }
                // The kernel delivers frames a little later.
                std::thread::sleep(std::time::Duration::from_millis(20));
                lost = interfaces.lost();
            }
            assert!(lost > known, "{choice:?}: {lost} after {known}");
            known = lost;
        }
        assert_eq!(interfaces.overruns(0), 0, "{choice:?}: nothing was sent to it");
    }
}

#[test]
fn an_interface_that_goes_is_an_error() {
    let Some(namespace) = pairs() else { return };
    for (choice, name) in CHOICES.into_iter().zip(["a0", "b0"]) {
        let mut interfaces = open(&namespace, &[name], choice, None);
        namespace.inside(|| Netlink::open()?.delete(name)).expect("entered").expect("deleted");
        let patience = interfaces.now() + Duration::from_secs(5);
        let mut failed = None;
        while failed.is_none() && interfaces.now() < patience {
            let until = interfaces.now() + Duration::from_millis(1);
            failed = interfaces.wait(until).err();
            if failed.is_none() {
                failed = interfaces.transmit(0, &[&[0; 60]]).err();
            }
        }
        let failed = failed.expect("an error").to_string();
        assert!(failed.contains(&format!("interface `{name}`")), "{choice:?}: {failed}");
    }
}

#[test]
fn links_are_listed_with_what_is_attached() {
    let Some(namespace) = pairs() else { return };
    let find = |name: &str| {
        let links = namespace.inside(|| Netlink::open()?.links()).expect("entered").expect("listed");
        links.into_iter().find(|link| link.name == name).expect("listed")
    };
    let link = find("a0");
    assert_eq!((link.mtu, link.address, link.is_up), (1_500, Some(address(0, 0)), true));
    assert_eq!(link.xdp, XdpMode::Absent);
    assert!(!find("lo").is_up, "as it was made");
    let interfaces = open(&namespace, &["a0"], SocketChoice::AfXdpOrPacket, None);
    if interfaces.packet_socket_reason().is_none() {
        assert_eq!(find("a0").xdp, XdpMode::Driver);
        drop(interfaces);
        assert_eq!(find("a0").xdp, XdpMode::Absent, "it ends with the socket");
    }
    let found = namespace.inside(|| (driver("a0"), queues("a0"), queues("lo"), driver("none")));
    let (veth, queues, no_queues, none) = found.expect("entered");
    assert_eq!(veth.expect("told"), "veth");
    assert_eq!(queues.expect("told").map(|queues| queues.receive), Some(1));
    assert_eq!(no_queues.expect("there"), None);
    assert!(none.is_err());
}
