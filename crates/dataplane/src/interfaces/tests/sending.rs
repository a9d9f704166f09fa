//! Tests of endpoints that only send.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::dataplane::Stopped;
use crate::lease::Lease;
use crate::xdp_redirection::XdpRedirection;

/// Opens endpoints in a namespace.
fn open_endpoints(namespace: &Namespace, endpoints: &[Endpoint<'_>], sockets: SocketChoice) -> Interfaces {
    let options = Options { longest: 1_600, sockets, ..Options::default() };
    let open = || Interfaces::open_endpoints(endpoints, options, MonotonicClock::start());
    namespace.inside(open).expect("entered").expect("opened")
}

fn own<'a>(name: &'a str, traffic: Traffic<'a>) -> Endpoint<'a> {
    Endpoint { name, namespace: None, traffic }
}

/// True if this host permits `AF_XDP`.
fn has_af_xdp(namespace: &Namespace) -> bool {
    let is_permitted =
        open(namespace, &["b0"], SocketChoice::default(), None).packet_socket_reason().is_none();
    if !is_permitted {
        skipped("this user may not use AF_XDP");
    }
    is_permitted
}

/// Returns a frame of this length, with a VLAN tag or without.
fn frame(length: usize, is_tagged: bool) -> Vec<u8> {
    let mut frame = vec![0x5a; length];
    frame[..6].copy_from_slice(&address(0, 1));
    frame[12..14].copy_from_slice(if is_tagged { &[0x81, 0] } else { &[0x88, 0xb5] });
    frame
}

#[test]
fn a_sender_refuses_what_the_interface_does_not_carry() {
    let Some(namespace) = pairs() else { return };
    for choice in CHOICES {
        let mut sender = open_endpoints(&namespace, &[own("a0", Traffic::Sent)], choice);
        if choice != SocketChoice::Packet && !has_af_xdp(&namespace) {
            continue;
        }
        assert_eq!(matches!(sender.sockets[0], FrameSocket::AfXdpSender(_)), choice != SocketChoice::Packet);
        let mut receiver = open(&namespace, &["a1"], SocketChoice::Packet, None);
        let mut slab = FrameSlab::new(64, 2_000);
        let frames = [
            frame(1_514, false),
            frame(1_518, true),
            frame(60, false),
            frame(1_515, false),
            frame(1_519, true),
            frame(61, false),
        ];
        let mut rest: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        for refused in [3, 0] {
            let sent = sender.transmit(0, &rest).expect("there");
            assert_eq!((sent.taken, sent.stopped), (refused, Some(Stopped::TooLong)), "{choice:?}");
            rest.drain(..=refused);
        }
        assert_eq!(sender.transmit(0, &rest).expect("there"), Sent { taken: 1, stopped: None });
        let arrived = receive_all(&mut receiver, &mut slab, 4);
        let expected = [0, 1, 2, 5].map(|index| (0, frames[index].clone()));
        assert_eq!(arrived, expected, "{choice:?}");
        refuses_what_is_down(&namespace, choice, &mut sender, &mut receiver, &mut slab);
    }
}

/// Sets an interface up or down.
fn set_up(namespace: &Namespace, name: &str, is_up: bool) {
    let set = || {
        let mut netlink = Netlink::open()?;
        if is_up { netlink.set_up(name) } else { netlink.set_down(name) }
    };
    namespace.inside(set).expect("entered").expect("set");
}

/// Frames of one call may wait in the ring until the interface is up; later ones are refused. Without a
/// carrier each frame stays with its owner, or is counted.
fn refuses_what_is_down(
    namespace: &Namespace,
    choice: SocketChoice,
    sender: &mut Interfaces,
    receiver: &mut Interfaces,
    slab: &mut FrameSlab,
) {
    set_up(namespace, "a0", false);
    let short: Vec<Vec<u8>> = (0..5).map(|number| frame(100 + number, false)).collect();
    let (mut taken, mut refused) = (Vec::new(), 0);
    for frame in &short {
        match sender.transmit(0, &[frame]).expect("there") {
            Sent { taken: 1, stopped: None } => taken.push((0, frame.clone())),
            sent => {
                assert_eq!((sent.taken, sent.stopped), (0, Some(Stopped::Down)), "{choice:?}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 4 + usize::from(choice == SocketChoice::Packet), "{choice:?}");
    assert_eq!(sender.lost(), taken.len() as u64, "{choice:?}: those that wait");
    set_up(namespace, "a0", true);
    let until = sender.now() + Duration::from_millis(100);
    while sender.now() < until {
        sender.wait(until).expect("waited");
    }
    assert_eq!(receive_all(receiver, slab, taken.len()), taken, "{choice:?}");
    assert_eq!(sender.lost(), 0, "{choice:?}");

    set_up(namespace, "a1", false);
    let unsent = sender.transmit(0, &short.iter().map(Vec::as_slice).collect::<Vec<_>>()).expect("there");
    let lost = sender.lost();
    assert_eq!(lost, unsent.taken as u64, "{choice:?}");
    for _ in 0..3 {
        let sent = sender.transmit(0, &[&short[0], &short[1]]).expect("there");
        assert_eq!(sent, Sent { taken: 0, stopped: Some(Stopped::Busy) }, "{choice:?}: known, and kept");
    }
    set_up(namespace, "a1", true);
    let mut rest: Vec<&[u8]> = short.iter().map(Vec::as_slice).collect();
    while !rest.is_empty() {
        let taken = sender.transmit(0, &rest).expect("there").taken;
        rest.drain(..taken);
    }
    let expected: Vec<_> = short.iter().map(|frame| (0, frame.clone())).collect();
    assert_eq!(receive_all(receiver, slab, 5), expected, "{choice:?}");
    assert_eq!(sender.lost(), lost, "{choice:?}");
}

#[test]
fn an_mtu_that_changes_is_kept_to_once_it_is_read_again() {
    let Some(namespace) = pairs() else { return };
    if !has_af_xdp(&namespace) {
        return;
    }
    let set_mtu = |mtu: u32| {
        namespace.inside(|| Netlink::open()?.set_mtu("a0", mtu)).expect("entered").expect("set");
    };
    let frames = [frame(1_414, false), frame(1_418, true), frame(1_514, false), frame(1_518, true)];
    for joins in [false, true] {
        let options = Options { longest: 1_600, joins, ..Options::default() };
        let endpoints = [own("a0", Traffic::Sent)];
        let open = || Interfaces::open_endpoints(&endpoints, options, MonotonicClock::start());
        let mut sender = namespace.inside(open).expect("entered").expect("opened");
        for mtu in [1_500, 1_400, 1_500] {
            set_mtu(mtu);
            sender.refresh();
            for (index, frame) in frames.iter().enumerate() {
                let fits = mtu == 1_500 || index < 2;
                let expected = if fits {
                    Sent { taken: 1, stopped: None }
                } else {
                    Sent { taken: 0, stopped: Some(Stopped::TooLong) }
                };
                let sent = sender.transmit(0, &[frame]).expect("there");
                assert_eq!(sent, expected, "{mtu}, {} bytes, {joins}", frame.len());
            }
        }
    }
}

#[test]
fn a_sender_whose_queue_is_in_use_is_a_packet_socket_and_says_why() {
    let Some(namespace) = pairs() else { return };
    if !has_af_xdp(&namespace) {
        return;
    }
    let owner = open(&namespace, &["a0"], SocketChoice::AfXdp, None);
    let sender = open_endpoints(&namespace, &[own("a0", Traffic::Sent)], SocketChoice::AfXdpOrPacket);
    assert!(matches!(sender.sockets[0], FrameSocket::PacketSender(_)));
    let why = sender.sender_refusal().expect("refused").to_string();
    assert!(why.contains("queue 0 of `a0`"), "{why}");
    drop((owner, sender));
    let sender = open_endpoints(&namespace, &[own("a0", Traffic::Sent)], SocketChoice::AfXdpOrPacket);
    assert!(sender.sender_refusal().is_none());
}

#[test]
fn halves_of_a_socket_belong_to_two_threads() {
    // Many more frames than a socket has slots.
    const WINDOWS: usize = 500;
    const WINDOW: usize = 48;
    let Some(namespace) = pairs() else { return };
    if !has_af_xdp(&namespace) {
        return;
    }
    let lease = Lease::new().expect("shared memory");
    let redirection = namespace.inside(|| XdpRedirection::open("a0", 1, 1_600, 1, &lease));
    let redirection = redirection.expect("entered").expect("opened");
    let af_xdp = SocketChoice::AfXdp;
    let mut receiver = open_endpoints(&namespace, &[own("a0", Traffic::Redirected(&redirection))], af_xdp);
    let mut sender = open_endpoints(&namespace, &[own("a0", Traffic::SentBy(&redirection))], af_xdp);
    let twice = Interfaces::open_endpoints(
        &[own("a0", Traffic::SentBy(&redirection))],
        Options::default(),
        MonotonicClock::start(),
    );
    assert!(twice.is_err(), "a half has one owner");
    namespace.inside(|| redirection.attach()).expect("entered").expect("attached");
    lease.begin();
    let mut other = open(&namespace, &["a1"], SocketChoice::Packet, None);
    let frame = |number: usize, side: usize| {
        let mut frame = vec![number as u8; 60 + number % 1_400];
        frame[..6].copy_from_slice(&address(0, side));
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame[14..18].copy_from_slice(&(number as u32).to_be_bytes());
        frame
    };
    let send = |interfaces: &mut Interfaces, window: usize, to: usize| {
        let frames: Vec<Vec<u8>> = (0..WINDOW).map(|number| frame(window * WINDOW + number, to)).collect();
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        assert_eq!(interfaces.transmit(0, &frames).expect("there"), Sent { taken: WINDOW, stopped: None });
    };
    let expect = |interfaces: &mut Interfaces, slab: &mut FrameSlab, window: usize, side: usize| {
        let expected: Vec<_> = (0..WINDOW).map(|number| (0, frame(window * WINDOW + number, side))).collect();
        assert!(receive_all(interfaces, slab, WINDOW) == expected, "window {window} at end {side}");
    };
    // In each window, one thread sends by `a0` while another one receives there what the other end sends.
    let barrier = Barrier::new(3);
    thread::scope(|scope| {
        scope.spawn(|| {
            for window in 0..WINDOWS {
                barrier.wait();
                send(&mut sender, window, 1);
            }
        });
        scope.spawn(|| {
            let mut slab = FrameSlab::new(128, 1_600);
            for window in 0..WINDOWS {
                barrier.wait();
                lease.renew();
                expect(&mut receiver, &mut slab, window, 0);
            }
        });
        let mut slab = FrameSlab::new(128, 1_600);
        for window in 0..WINDOWS {
            barrier.wait();
            send(&mut other, window, 0);
            expect(&mut other, &mut slab, window, 1);
        }
    });
    assert_eq!((receiver.lost(), sender.lost()), (0, 0));
}
