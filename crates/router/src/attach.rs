//! Attachment of a router to its interfaces: where frames leave the kernel's way, and where they come back.
//!
//! ```text
//! tcx   bridge    eth1 --incoming--> lg1 ~ rx1 -> [ports] -> eth2     below: a kernel bridge of eth1 and eth2
//!       egress    kernel -> eth1 --outgoing--> lg1 ~ rx1 -> [port] -> eth1
//!       ingress   eth1 --incoming--> lg1 ~ rx1 -> [port] -> rx1 ~ lg1 --reinsert--> eth1 -> kernel
//!       both      as egress by lg1 ~ rx1, and as ingress by lg1i ~ rx1i
//! xdp   bridge    eth1 (driver) -> [ports] -> eth2                    below: the same bridge
//!       ingress   eth1 (driver) -> [port] -> rx1 ~ lg1 --reinsert--> eth1 -> kernel
//! ```
//!
//! A *tap* is a place where frames are taken: an interface and a direction. `lgN ~ rxN` is a veth pair for
//! the tap of the interface with index N (`attach/pairs.rs`): frames arrive there whole, of the interface's
//! length, with their checksums and VLAN tags (decision 091). If the driver already has whole frames
//! (`attach/preflight.rs`), a program in it replaces the pair (decision 106).
//!
//! Invariants: programs and pairs exist only as long as file descriptors of this process. However the process
//! ends, the kernel then detaches the programs and deletes the pairs, and frames take the kernel's way again.
//! The programs redirect frames only while the lease of their interface is held, which the thread that
//! receives from it renews (decision 121).

pub(crate) mod bridge;
mod find;
pub(crate) mod own_addresses;
mod pairs;
mod plan;
pub(crate) mod preflight;
mod readings;
pub(crate) mod surroundings;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lockgate_dataplane::endpoint::{Endpoint, Traffic};
use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::ethtool;
use lockgate_dataplane::lease::{Lease, State};
use lockgate_dataplane::netlink::{Link, LinkHeader, Netlink, Station};
use lockgate_dataplane::redirection::{HostFrames, Redirection};
use lockgate_dataplane::xdp_redirection::XdpRedirection;
use lockgate_scenario::Policy;
use lockgate_scenario::policy::{
    Attach, Direction, FrameIo, HostFrames as HostPolicy, Mode, OnFault, PolicyPort,
};

use crate::control::Bypass;
use crate::failure::Failure;
use crate::shell::word;
use crate::tally::{SharedLosses, Tally};
use find::find;
pub(crate) use pairs::PairFault;
use pairs::{Pairs, Wanted, near_name};
pub use plan::Plan;

/// Bytes that a frame may have beyond the interface's MTU: Ethernet, VLAN tags, MPLS labels.
pub(crate) const ENCAPSULATION: u32 = 64;

/// Name of the bridge that a router makes.
const NEW_BRIDGE: &str = "lockgate";

/// Interfaces of a router, and its programs on them.
pub struct Attachment {
    mode: Mode,
    /// Names of the interfaces, and the interfaces as they were found.
    names: Vec<String>,
    /// Places where frames are taken.
    taps: Vec<Tap>,
    links: Vec<Link>,
    /// Index of the kernel's bridge, in mode `bridge`.
    bridge: Option<u32>,
    /// Way of the frames that the host sends by the bridge.
    host: HostPolicy,
    on_fault: OnFault,
    /// Tallies of the endpoints, and the losses of each forwarder.
    tallies: Vec<Arc<Tally>>,
    losses: Mutex<Vec<SharedLosses>>,
    /// Leases of the frames, by tap.
    leases: Vec<Arc<Lease>>,
    /// Programs in the drivers, by tap; empty if frames are taken behind the drivers.
    in_driver: Vec<XdpRedirection>,
    /// Veth pairs, by tap; `None` if no frame passes through a pair.
    pairs: Option<Pairs>,
    /// Programs behind the drivers, with the index of their interface.
    redirections: Mutex<Vec<(usize, Redirection)>>,
    /// Faults that go on, in words, and when the watchdog noted them.
    faults: Mutex<(Vec<String>, Instant)>,
    /// Frames that passed around the router, and those that its pairs dropped.
    around: AtomicU64,
    dropped_in_pairs: AtomicU64,
    /// Frames that were let pass before the first lease began.
    passed_before: AtomicU64,
    /// Reason why the leases were ended, in words; `None` if the router starts, runs or ends.
    withheld: Mutex<Option<String>>,
    /// Conditions of the interfaces that could not be read, in words.
    doubts: Vec<String>,
    /// Longest frame, in bytes.
    longest: usize,
}

/// Place where a router takes frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tap {
    /// Index of the interface.
    interface: usize,
    /// Frames that it takes.
    direction: Direction,
    /// True if it is the second of its interface.
    is_second: bool,
    /// True if it takes super-frames whole.
    has_super_frames: bool,
}

/// Returns the taps of a policy: one for each port, in the order of the interfaces.
fn taps(policy: &Policy) -> Vec<Tap> {
    let mut taps: Vec<Tap> = Vec::new();
    for port in &policy.ports {
        let (interface, direction) = (port.from, port.direction);
        let is_second = policy.mode == Mode::Both && direction == Direction::Incoming;
        // Packet sockets keep the order of what one processor sends, and programs move between processors
        // (decision 122). What arrives is the kernel's on one processor for each flow.
        let has_super_frames = policy.attach == Attach::Tcx
            && match policy.io {
                Some(FrameIo::AfXdp) => false,
                Some(FrameIo::Packet) => true,
                None => direction != Direction::Outgoing,
            };
        taps.push(Tap { interface, direction, is_second, has_super_frames });
    }
    taps.sort_by_key(|tap| (tap.interface, tap.is_second));
    taps
}

impl Attachment {
    /// Makes the pairs, loads the programs and, in mode `bridge`, makes the kernel's bridge if it does not
    /// exist. Redirects no frame yet.
    ///
    /// # Errors
    /// As for [`Plan::of`], and if the kernel refuses.
    pub fn prepare(policy: &Policy) -> Result<Self, Failure> {
        let found = find(policy)?;
        let is_in_driver = policy.attach == Attach::Xdp;
        let longest = found.links.iter().map(|link| link.mtu + ENCAPSULATION).max().unwrap_or_default();
        let longest = longest as usize;
        let sockets = found.preflights.iter().map(|preflight| preflight.queues as usize).sum();
        let has_pairs = !is_in_driver || policy.mode == Mode::Ingress;
        let taps = taps(policy);
        let wanted = taps.iter().map(|tap| Wanted {
            link: &found.links[tap.interface],
            is_second: tap.is_second,
            has_super_frames: tap.has_super_frames,
        });
        let pairs = has_pairs.then(|| Pairs::make(wanted)).transpose()?;
        let leases = taps.iter().map(|_| Lease::new().map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let in_driver = found.links.iter().zip(&found.preflights).zip(&leases);
        let in_driver = in_driver.map(|((link, preflight), lease)| {
            XdpRedirection::open(&link.name, preflight.queues, longest, sockets, lease)
        });
        let in_driver = in_driver.collect::<Result<Vec<_>, _>>()?;
        let mut netlink = Netlink::open()?;
        let doubts = found.doubts().chain(found.notes(&mut netlink, policy.mode)).collect();
        let bridge = match (policy.mode, &found.bridge) {
            (Mode::Bridge, Some(bridge)) => Some(bridge.index),
            (Mode::Bridge, None) => Some(make_bridge(&mut netlink, &found.links)?),
            (Mode::Egress | Mode::Ingress | Mode::Both, _) => None,
        };
        let attachment = Self {
            mode: policy.mode,
            names: found.links.iter().map(|link| link.name.clone()).collect(),
            tallies: (0..2 * taps.len()).map(|_| Arc::default()).collect(),
            losses: Mutex::default(),
            links: found.links,
            bridge,
            host: policy.host,
            on_fault: policy.on_fault,
            taps,
            leases,
            in_driver,
            pairs,
            redirections: Mutex::new(Vec::new()),
            faults: Mutex::new((Vec::new(), Instant::now())),
            around: AtomicU64::new(0),
            dropped_in_pairs: AtomicU64::new(0),
            passed_before: AtomicU64::new(0),
            withheld: Mutex::new(None),
            doubts,
            longest,
        };
        let all = netlink.links()?;
        attachment.serve_addresses(&mut netlink, &all)?;
        Ok(attachment)
    }

    /// Lets the frames pass for the addresses of the kernel's bridge, its ports and the interfaces above, and
    /// for those behind its other ports. To be called again while the router runs: they may change. Returns
    /// true if there are other ports.
    ///
    /// # Errors
    /// If the kernel refuses. The addresses stay as they were then.
    pub(crate) fn serve_addresses(&self, netlink: &mut Netlink, all: &[Link]) -> Result<bool, Refusal> {
        let Some(first) = self.bridge.filter(|_| !self.is_in_driver()) else { return Ok(false) };
        let bridge = bridge::of_ports(&self.links, all);
        let own = own_addresses::served(Some(bridge.map_or(first, |it| it.index)), &self.links, all);
        let others = bridge.map_or_else(Vec::new, |it| bridge::other_ports(it, &self.links, all));
        let mut behind = Vec::new();
        if let Some(bridge) = bridge.filter(|_| !others.is_empty()) {
            let is_behind = |it: &&Station| others.iter().any(|other| other.index == it.port);
            behind.extend(netlink.stations(bridge.index)?.iter().filter(is_behind).map(|it| it.address));
        }
        self.leases.iter().try_for_each(|lease| lease.set_addresses(&own, &behind))?;
        Ok(!others.is_empty())
    }

    /// Returns sentences about the bridge around the router, in mode `bridge`: those that are alarms, and the
    /// others.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn around(
        &self,
        netlink: &mut Netlink,
        all: &[Link],
    ) -> Result<(Vec<String>, Vec<String>), Refusal> {
        if self.bridge.is_none() {
            return Ok(Default::default());
        }
        let bridge = bridge::of_ports(&self.links, all);
        let (mut alarms, mut notes) = around(bridge, &self.links, all, self.is_in_driver());
        alarms.extend(bridge::way_back(&self.links, all).filter(|_| bridge.is_none()));
        if let Some(bridge) = bridge {
            notes.extend(bridge::fixed_stations(&netlink.stations(bridge.index)?, &self.links));
        }
        Ok((alarms, notes))
    }

    /// Returns a sentence about the first address of the host that the programs cut off, with the remedy. It
    /// came while the router runs: a start is refused.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn cut_off(&self, netlink: &mut Netlink) -> Result<Option<String>, Refusal> {
        let Some(bridge) = self.bridge.filter(|_| self.is_in_driver()) else { return Ok(None) };
        let (all, addresses) = (netlink.links()?, netlink.addresses()?);
        let cut_off = own_addresses::cut_off(Some(bridge), &self.links, &all, &addresses);
        Ok(cut_off.map(|(problem, help)| format!("{problem}: {help}")))
    }

    /// Returns the conditions of the interfaces that could not be read, in words.
    pub(crate) fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// Returns the index of the tap that `port` receives from.
    fn tap(&self, port: &PolicyPort) -> usize {
        let is_its = |tap: &Tap| (tap.interface, tap.direction) == (port.from, port.direction);
        self.taps.iter().position(is_its).unwrap_or_default()
    }

    /// Returns the lease of the frames that `port` receives.
    pub(crate) fn lease(&self, port: &PolicyPort) -> Arc<Lease> {
        self.leases[self.tap(port)].clone()
    }

    /// True if frames are taken in the driver.
    pub(crate) fn is_in_driver(&self) -> bool {
        !self.in_driver.is_empty()
    }

    /// Returns the length of the longest frame that the router passes on, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the endpoints to open. Each tap has two in succession: the one that receives its frames, then
    /// one that sends frames by its interface.
    pub(crate) fn endpoints(&self) -> Vec<Endpoint<'_>> {
        let name = |index: usize| &self.names[self.taps[index].interface];
        let own = |index: usize, traffic| Endpoint { name: name(index), namespace: None, traffic };
        let far = |index: usize, traffic| {
            let pairs = self.pairs.as_ref()?;
            Some(Endpoint { name: &pairs.all[index].far, namespace: Some(&pairs.namespace), traffic })
        };
        let of = |index: usize| match self.in_driver.get(index) {
            None => {
                let Tap { direction, has_super_frames, .. } = self.taps[index];
                let traffic = match direction {
                    _ if has_super_frames => Traffic::SuperFrames { sends: direction == Direction::Incoming },
                    Direction::Across => Traffic::Received,
                    Direction::Outgoing | Direction::Incoming => Traffic::Both,
                };
                let sent = match self.link_of(index).header {
                    Some(LinkHeader::Absent) => Traffic::SentWithoutHeader,
                    Some(LinkHeader::Ethernet) | None => Traffic::Sent,
                };
                [far(index, traffic), Some(own(index, sent))]
            }
            Some(redirection) => {
                let goes = far(index, Traffic::Sent).unwrap_or(own(index, Traffic::SentBy(redirection)));
                [Some(own(index, Traffic::Redirected(redirection))), Some(goes)]
            }
        };
        (0..self.taps.len()).flat_map(of).flatten().collect()
    }

    /// Returns the link header that the frames of `port` have on its interface.
    pub(crate) fn link_header(&self, port: &PolicyPort) -> LinkHeader {
        self.links[port.from].header.unwrap_or_default()
    }

    /// Returns the endpoints that `port` receives from and sends by, as indices of
    /// [`endpoints`](Self::endpoints).
    pub(crate) fn between(&self, port: &PolicyPort) -> [usize; 2] {
        let tap = self.tap(port);
        match port.direction {
            Direction::Incoming if !self.is_in_driver() => [2 * tap, 2 * tap],
            Direction::Outgoing | Direction::Incoming => [2 * tap, 2 * tap + 1],
            // The tap of the other direction has the interface that it sends by.
            Direction::Across => {
                let other = self.taps.iter().position(|tap| tap.interface == port.to);
                [2 * tap, 2 * other.unwrap_or_default() + 1]
            }
        }
    }

    /// Attaches the programs and begins the leases: frames are redirected to the router, from now on.
    ///
    /// # Errors
    /// If the kernel refuses. Nothing is redirected then.
    pub fn attach(&self) -> Result<(), Refusal> {
        let mut redirections = Vec::new();
        let pairs = self.pairs.iter().flat_map(|pairs| &pairs.all);
        for (index, ((tap, pair), lease)) in self.taps.iter().zip(pairs).zip(&self.leases).enumerate() {
            let (name, header) =
                (&self.names[tap.interface], self.links[tap.interface].header.unwrap_or_default());
            match tap.direction {
                Direction::Across => {
                    redirections.push((index, Redirection::bridged(name, &pair.near, lease)?));
                }
                Direction::Outgoing => {
                    redirections.push((index, Redirection::outgoing(name, header, &pair.near, lease)?));
                }
                Direction::Incoming => {
                    // It is not a program at the interface itself.
                    redirections.push((index, Redirection::reinsert(&pair.near, name, self.is_in_driver())?));
                    if !self.is_in_driver() {
                        redirections.push((index, Redirection::incoming(name, header, &pair.near, lease)?));
                    }
                }
            }
        }
        if self.mode == Mode::Bridge {
            for (index, name) in self.names.iter().enumerate() {
                let other = 1 - index;
                let frames = match (self.host, &self.pairs) {
                    (HostPolicy::Queue, Some(pairs)) => HostFrames::All(&pairs.all[other].near),
                    (HostPolicy::Pass, Some(pairs)) => HostFrames::Forwarded(&pairs.all[other].near),
                    (_, None) => HostFrames::None,
                };
                let handled = Redirection::of_host(name, &self.names[other], frames, &self.leases[other])?;
                redirections.push((index, handled));
            }
        }
        self.in_driver.iter().try_for_each(XdpRedirection::attach)?;
        *self.redirections.lock().unwrap_or_else(PoisonError::into_inner) = redirections;
        self.take();
        // Frames that came before the first lease were the kernel's.
        self.passed_before.store(self.passed(), Ordering::Relaxed);
        Ok(())
    }

    /// Begins the leases: frames are redirected to the router, from now on.
    pub(crate) fn take(&self) {
        *self.withheld.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.leases.iter().for_each(|lease| lease.begin());
    }

    /// Ends the leases: frames take the kernel's way, from now on. Frames that the router has already
    /// received can still be sent.
    pub(crate) fn give_back(&self) {
        self.leases.iter().for_each(|lease| lease.end());
    }

    /// Gives the frames back to the kernel until [`take`](Self::take), because of `why`, in words.
    pub(crate) fn withhold(&self, why: &str) {
        *self.withheld.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
        self.give_back();
    }

    /// True if frames are redirected to the router.
    pub(crate) fn is_held(&self) -> bool {
        self.leases.iter().any(|lease| lease.state() == State::Held)
    }

    /// True if a forwarder stalls: it has not renewed a lease in time.
    pub(crate) fn is_stalled(&self) -> bool {
        self.leases.iter().any(|lease| lease.state() == State::Expired)
    }

    /// Returns the number of frames that took the kernel's way since the first lease began.
    pub(crate) fn passed(&self) -> u64 {
        let passed: u64 = self.leases.iter().map(|lease| lease.counts().passed).sum();
        passed.saturating_sub(self.passed_before.load(Ordering::Relaxed))
    }

    /// Returns which frames have taken the kernel's way, and why they do now.
    pub(crate) fn bypass(&self) -> Bypass {
        let why = if self.is_stalled() {
            "the router stands still".to_owned()
        } else if self.is_held() {
            String::new()
        } else {
            let withheld = self.withheld.lock().unwrap_or_else(PoisonError::into_inner).clone();
            withheld.unwrap_or_else(|| "the router starts or ends".to_owned())
        };
        let frames = self.passed() + self.around.load(Ordering::Relaxed);
        Bypass { frames, why, faults: self.faults() }
    }

    /// Returns the fault of the router's own interfaces among `links`, those of its namespace.
    pub(crate) fn pair_fault(&self, links: &[Link]) -> Option<PairFault> {
        self.pairs.as_ref()?.fault(links)
    }

    /// Returns a sentence about the first interface with more active receive queues than sockets, whose
    /// frames therefore bypass the router; `None` if there is none.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn unserved(&self) -> std::io::Result<Option<String>> {
        for redirection in &self.in_driver {
            let (name, served) = (redirection.name(), redirection.queues());
            let used = ethtool::queues(name)?.map_or(0, |queues| queues.receive);
            if used > served {
                return Ok(Some(unserved(name, used, served)));
            }
        }
        Ok(None)
    }
}

impl std::fmt::Debug for Attachment {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Attachment").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Drop for Attachment {
    /// Detaches before the pairs are deleted.
    fn drop(&mut self) {
        self.give_back();
        self.redirections.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Returns sentences about the bridge around these ports: those that are alarms, and the others.
fn around(
    bridge: Option<&Link>,
    ports: &[Link],
    all: &[Link],
    is_in_driver: bool,
) -> (Vec<String>, Vec<String>) {
    let mut alarms = bridge::bypassed(bridge, ports, all);
    let mut notes = Vec::new();
    if let Some(bridge) = bridge {
        alarms.extend(bridge::way_back(ports, all));
        let others = bridge::others(bridge, ports, all, is_in_driver);
        if is_in_driver { &mut alarms } else { &mut notes }.extend(others);
        notes.extend(bridge::spanning_tree(bridge));
    }
    (alarms, notes)
}

/// Formats the sentence about receive queues without a socket.
fn unserved(name: &str, used: u32, served: u32) -> String {
    let device = word(name);
    format!(
        "interface `{name}` uses {used} receive queues, and the router serves {served}: start the router \
         again, or use as many as before (`ethtool -L {device} combined {served}`, or `rx {served}`)"
    )
}

/// Makes the kernel's bridge, which forwards the frames once the router has ended. Returns its index.
fn make_bridge(netlink: &mut Netlink, links: &[Link]) -> Result<u32, Failure> {
    const NAME: &str = NEW_BRIDGE;
    netlink.add_bridge(NAME)?;
    let ready = (|| {
        netlink.set_up(NAME)?;
        let index = lockgate_dataplane::netlink::index_of(NAME)?;
        links.iter().try_for_each(|link| netlink.set_controller(&link.name, Some(index)))?;
        Ok(index)
    })();
    ready.map_err(|refusal: Refusal| {
        let _ = netlink.delete(NAME);
        refusal.into()
    })
}

/// Waits until the veth pairs of a router that was killed on these interfaces are gone, a second at most: the
/// kernel deletes them some time after their process.
pub(crate) fn await_pairs_gone(policy: &Policy) -> Result<(), Refusal> {
    const LONGEST: Duration = Duration::from_secs(1);
    let until = Instant::now() + LONGEST;
    let mut netlink = Netlink::open()?;
    loop {
        let links = netlink.links()?;
        let is_ours =
            |link: &&Link| policy.interfaces.iter().any(|interface| link.is_called(&interface.name));
        let is_near = |link: &Link, name: &str| [false, true].iter().any(|it| near_name(link, *it) == name);
        let is_left = |link: &Link| links.iter().any(|other| is_near(link, &other.name));
        if !links.iter().filter(is_ours).any(is_left) || Instant::now() >= until {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
