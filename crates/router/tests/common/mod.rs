//! A router between two hosts, in namespaces of its own.
#![allow(dead_code, reason = "not every test file uses all of this")]

pub(crate) mod kinds;
pub(crate) mod tunnel;

use std::sync::{Arc, Mutex};

use lockgate_dataplane::clock::MonotonicClock;
use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::ethtool::switch_off_offloads;
use lockgate_dataplane::interfaces::{Interfaces, Options};
use lockgate_dataplane::lease::Lease;
use lockgate_dataplane::namespace::{Namespace, may_make_namespaces};
use lockgate_dataplane::netlink::{Link, LinkHeader, Netlink, VethEnd};
use lockgate_dataplane::redirection::Redirection;
use lockgate_dataplane::socket::SocketChoice;
use lockgate_engine::units::Duration;
use lockgate_router::router::{Options as RouterOptions, Router};
use lockgate_scenario::{Policy, read_policy};

/// Notes that the calling test is not run, or not in full.
pub(crate) fn skip(why: &str) {
    lockgate_testing::skipped(why);
}

/// Opens a socket of a host by `bind`. An address that is in use is free soon: a program that another thread
/// of this process is starting has a copy of the socket that was closed here, until it runs.
#[track_caller]
pub(crate) fn open_socket<T: Send>(host: &Namespace, bind: impl Fn() -> std::io::Result<T> + Sync) -> T {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        match host.inside(&bind).expect("entered") {
            Err(error)
                if error.kind() == std::io::ErrorKind::AddrInUse && std::time::Instant::now() < until =>
            {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            bound => return bound.expect("bound"),
        }
    }
}

/// Names of the router's interfaces, and of the hosts' ends of their cables.
pub(crate) const INTERFACES: [&str; 2] = ["eth1", "eth2"];
pub(crate) const HOSTS: [&str; 2] = ["a0", "b0"];

/// Two hosts and a router between them.
pub(crate) struct Network {
    pub(crate) hosts: [Namespace; 2],
    pub(crate) router: Namespace,
}

impl Network {
    /// Makes the network with an MTU; `None`, noted as skipped, if this user may not.
    pub(crate) fn make(mtu: u32) -> Option<Self> {
        if !may_make_namespaces() {
            lockgate_testing::skipped("this user may not make network namespaces");
            return None;
        }
        let made = || -> Result<Self, Refusal> {
            let network = Self { hosts: [Namespace::new()?, Namespace::new()?], router: Namespace::new()? };
            for side in 0..2 {
                network.router.inside(|| {
                    let end = |name, last, namespace| VethEnd {
                        name,
                        // Not an address of the captures: a bridge's ports take the frames for their own.
                        address: [2, 0x4c, 0, 0, side as u8, last],
                        mtu,
                        namespace,
                    };
                    let mut netlink = Netlink::open()?;
                    netlink.add_veth_pair(
                        end(INTERFACES[side], 1, None),
                        end(HOSTS[side], 2, Some(&network.hosts[side])),
                    )?;
                    netlink.set_up(INTERFACES[side])
                })??;
                network.hosts[side].inside(|| Netlink::open()?.set_up(HOSTS[side]))??;
            }
            Ok(network)
        };
        let network = made().expect("namespaces and cables");
        let attached = network.router.inside(|| {
            Redirection::incoming(INTERFACES[0], LinkHeader::Ethernet, INTERFACES[1], &Lease::new()?)
                .map(drop)
        });
        if let Err(refusal) = attached.expect("entered") {
            lockgate_testing::skipped(refusal);
            return None;
        }
        Some(network)
    }

    /// Starts a router with a policy. Returns the router and its messages.
    pub(crate) fn start(&self, policy: &str) -> (Router, Arc<Mutex<Vec<String>>>) {
        self.start_with(policy, RouterOptions::default())
    }

    /// Starts a router with a policy and options.
    pub(crate) fn start_with(
        &self,
        policy: &str,
        options: RouterOptions,
    ) -> (Router, Arc<Mutex<Vec<String>>>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        let policy = policy_of(policy);
        let router = self
            .router
            .inside(|| {
                Router::start(policy, options, move |text| {
                    telling.lock().expect("no panic").push(text.to_owned());
                })
            })
            .expect("entered")
            .unwrap_or_else(|why| panic!("the router starts: {why}"));
        (router, told)
    }

    /// Opens the host's end of a cable.
    pub(crate) fn open(&self, host: usize, sockets: SocketChoice, longest: usize) -> Interfaces {
        let options = Options { longest, sockets, ..Options::default() };
        let clock = MonotonicClock::start();
        self.hosts[host]
            .inside(|| Interfaces::open(&[HOSTS[host]], options, clock))
            .expect("entered")
            .expect("opened")
    }

    /// Returns the links of the router's namespace.
    pub(crate) fn links(&self) -> Vec<Link> {
        self.router.inside(|| Netlink::open()?.links()).expect("entered").expect("listed")
    }
}

pub(crate) fn policy_of(text: &str) -> Policy {
    read_policy(text, "policy.toml").unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Expects no messages from a router except doubts about veths: their other ends are in namespaces without a
/// name and cannot be examined, which matters to programs in the driver alone.
pub(crate) fn expect_doubts(told: &[String], attach: &str, interfaces: usize) {
    let expected = if attach == "xdp" { interfaces } else { 0 };
    let doubts = told.iter().filter(|line| line.contains("offloads cannot be read")).count();
    assert!(told.len() == expected && doubts == expected, "{told:?}");
}

/// Receives the frames that arrive until `patience` has passed without one, or `count` have come.
pub(crate) fn receive(interfaces: &mut Interfaces, count: usize, patience: Duration) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut until = interfaces.now() + patience;
    while frames.len() < count && interfaces.now() < until {
        while interfaces.next_arrival(0).is_some() {
            interfaces.take_frame(0, &mut |frame| frames.push(frame.to_vec()));
            until = interfaces.now() + patience;
        }
        let nap = interfaces.now() + Duration::from_millis(1);
        interfaces.wait(nap).expect("there");
    }
    frames
}

/// Addresses of the hosts, and of the router on their cables.
pub(crate) const HOST_ADDRESSES: [[u8; 4]; 2] = [[10, 1, 0, 2], [10, 2, 0, 2]];
pub(crate) const ROUTER_ADDRESSES: [[u8; 4]; 2] = [[10, 1, 0, 1], [10, 2, 0, 1]];

/// Runs `ip` in a namespace, and expects its success.
#[track_caller]
pub(crate) fn ip(place: &Namespace, arguments: &str) {
    let done = place.inside(|| std::process::Command::new("ip").args(arguments.split(' ')).status());
    assert!(done.expect("entered").is_ok_and(|status| status.success()), "ip {arguments}");
}

impl Network {
    /// Gives the hosts addresses, and lets the router's kernel route between them.
    pub(crate) fn route_by_kernel(&self) {
        for side in 0..2 {
            let (host, router) = (HOST_ADDRESSES[side].into(), ROUTER_ADDRESSES[side].into());
            self.router
                .inside(|| {
                    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("may be set in a namespace");
                    Netlink::open()?.add_address(INTERFACES[side], router, 24)
                })
                .expect("entered")
                .expect("an address");
            self.hosts[side]
                .inside(|| {
                    let mut netlink = Netlink::open()?;
                    netlink.add_address(HOSTS[side], host, 24)?;
                    netlink.add_default_route(HOSTS[side], router, host, None)
                })
                .expect("entered")
                .expect("an address and a route");
        }
    }

    /// Makes the hosts finish their frames themselves (offloads off), as frames on a cable are.
    pub(crate) fn whole_frames(&self) {
        for (host, name) in self.hosts.iter().zip(HOSTS) {
            host.inside(|| switch_off_offloads(&Netlink::open()?, name)).expect("entered").expect("off");
        }
    }

    /// Makes the router's interfaces divide super-frames before they leave, as what a network card sends is
    /// divided. A veth passes them on whole.
    pub(crate) fn single_frames(&self) {
        for name in INTERFACES {
            self.router
                .inside(|| switch_off_offloads(&Netlink::open()?, name))
                .expect("entered")
                .expect("off");
        }
    }

    /// Gives both hosts addresses in one network, for a bridge between them.
    pub(crate) fn join(&self) {
        for (last, (host, name)) in (1..).zip(self.hosts.iter().zip(HOSTS)) {
            let address = [10, 3, 0, last].into();
            host.inside(|| Netlink::open()?.add_address(name, address, 24))
                .expect("entered")
                .expect("an address");
        }
    }
}
