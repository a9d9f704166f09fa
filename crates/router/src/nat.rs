//! Hosts behind the address translation of this machine, for queues that are fair to them (`nat` of `cake`).
//!
//! ```text
//! kernel: conntrack --list, events--> Follower (a thread) --mailbox--> HostTable of each forwarder
//! frame --RouterPort::take--> Frames: its ends --HostTable--> its hosts --> cake
//! ```
//!
//! A forwarder never waits for the kernel: a frame whose connection it does not know yet counts as the
//! router's own, mostly the first of a connection. So do the connections beyond [`MOST`].

use core::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration as WallTime;

use indexmap::IndexMap;
use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::mailbox::Sender;
use lockgate_dataplane::translations::{Events, OutsideEnds, Translation, Translations};
use lockgate_engine::classify::Fields;
use lockgate_engine::units::Duration;

/// Consequence of connections that cannot be read.
const AS_ONE: &str = "the hosts behind this machine count as one";

/// Returns the reason, with its remedy, why the kernel's connections cannot be read in this thread's
/// namespace.
pub(crate) fn unreadable() -> Option<(Refusal, &'static str)> {
    let why = Translations::open().and_then(|mut all| all.list(&mut |_| ())).err()?;
    let help = remedy(&why.why);
    Some((why, help))
}

/// Returns the remedy for an error of the kernel when its connections are read.
fn remedy(why: &std::io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "run it with CAP_NET_ADMIN, as the unit does",
        // Without the module that shows connections: to the request for the list, to the groups of events, to
        // the socket.
        Some(libc::EINVAL | libc::ENOENT | libc::EOPNOTSUPP | libc::EPROTONOSUPPORT) => {
            "load the kernel's module: `modprobe nf_conntrack_netlink`"
        }
        _ => "a router tries it again each 10 s",
    }
}

/// Returns the sentence of a plan about `nat`.
pub(crate) fn plan() -> String {
    plan_of(unreadable())
}

/// Returns that sentence, given the reason why connections cannot be read.
fn plan_of(unreadable: Option<(Refusal, &'static str)>) -> String {
    unreadable.map_or_else(
        || {
            "`nat`: the kernel's connections can be read: the hosts behind this machine are told apart"
                .to_owned()
        },
        |(why, help)| format!("`nat`: {AS_ONE}, because it {why}; {help}"),
    )
}

/// Translated connections that are known at most: 4 MiB in each forwarder.
pub(crate) const MOST: usize = 50_000;

/// Time after which the kernel is tried again, and limit on a wait for events, after which the end is
/// noticed.
const RETRY: WallTime = WallTime::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Interval at which the time to try again is looked at.
const NAP: WallTime = WallTime::from_millis(500);

/// Message to a forwarder.
pub(crate) enum HostMessage {
    /// The table for its frames; `None`: no queue needs hosts.
    Use(Option<Box<HostTable>>),
    /// Connections that began or ended.
    Change(Vec<Translation>),
}

/// Hosts behind translated connections, and those of the frames that are queued.
#[derive(Debug)]
pub(crate) struct HostTable {
    hosts: IndexMap<OutsideEnds, IpAddr>,
    /// By slot: source and destination of its frame.
    of_slots: Vec<Option<[IpAddr; 2]>>,
}

impl HostTable {
    /// Creates an empty table for so many slots. Later it allocates nothing.
    fn new(slots: usize) -> Self {
        Self { hosts: IndexMap::with_capacity(MOST), of_slots: vec![None; slots] }
    }

    /// Notes connections that began or ended.
    pub(crate) fn change(&mut self, changes: &[Translation]) {
        for &Translation { ends, host, is_ended } in changes {
            if is_ended {
                self.hosts.swap_remove(&ends);
            } else if self.hosts.len() < MOST || self.hosts.contains_key(&ends) {
                self.hosts.insert(ends, host);
            }
        }
    }

    /// Keeps what an earlier table has found for the frames that are queued: queues count on the same hosts
    /// to the end.
    pub(crate) fn keep_slots(&mut self, before: Self) {
        self.of_slots = before.of_slots;
    }

    /// Looks up the hosts of the frame in `slot`.
    pub(crate) fn find(&mut self, slot: u64, fields: &Fields) {
        let Some(known) = self.of_slots.get_mut(slot as usize) else { return };
        let &Fields { protocol, source, destination, source_port, destination_port, .. } = fields;
        let ends = [(source, source_port), (destination, destination_port)];
        // Either end may be the translated one: frames go both ways.
        let host = |own: usize| {
            let ends = OutsideEnds { protocol, own: ends[own], other: ends[1 - own] };
            self.hosts.get(&ends).copied().unwrap_or(ends.own.0)
        };
        *known = Some([host(0), host(1)]);
    }

    /// Returns the hosts of the frame in `slot`, if they were looked up.
    pub(crate) fn of(&self, slot: u64) -> Option<[IpAddr; 2]> {
        *self.of_slots.get(slot as usize)?
    }
}

/// Sends messages to a forwarder.
pub(crate) trait Receiver: Send {
    /// Sends one.
    fn send(&self, message: HostMessage);
}

impl<T: From<HostMessage> + Send> Receiver for Sender<T> {
    fn send(&self, message: HostMessage) {
        Sender::send(self, message.into());
    }
}

/// Forwarders, until the follower is dropped: what its thread sends later must not reach them, because
/// another follower may have begun.
struct Forwarders {
    all: Vec<Box<dyn Receiver>>,
    has_ended: bool,
}

impl Forwarders {
    fn send(&self, message: impl Fn() -> HostMessage) {
        self.all.iter().for_each(|forwarder| forwarder.send(message()));
    }
}

fn locked(forwarders: &Mutex<Forwarders>) -> MutexGuard<'_, Forwarders> {
    forwarders.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Thread that follows the kernel's tracking of connections, in the namespace in which it was started. The
/// forwarders have no table once it is dropped; the thread ends soon after.
pub(crate) struct Follower {
    forwarders: Arc<Mutex<Forwarders>>,
    /// Sentence for the status, which the thread has as well while it lives.
    state: Arc<Mutex<String>>,
}

/// Function of a thread.
type Work = Box<dyn FnOnce() + Send>;

impl Follower {
    /// Starts it for forwarders with so many slots each. `tell` gets messages for the user. If the system
    /// refuses the thread, hosts count as one, which is said.
    pub(crate) fn start(
        forwarders: Vec<Box<dyn Receiver>>,
        slots: usize,
        tell: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Self {
        let spawn = |work: Work| thread::Builder::new().name("nat".into()).spawn(work).map(drop);
        Self::start_by(spawn, forwarders, slots, tell)
    }

    fn start_by(
        spawn: impl FnOnce(Work) -> std::io::Result<()>,
        forwarders: Vec<Box<dyn Receiver>>,
        slots: usize,
        tell: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Self {
        let forwarders = Arc::new(Mutex::new(Forwarders { all: forwarders, has_ended: false }));
        let state = Arc::<Mutex<String>>::default();
        let telling = tell.clone();
        let mut following = Following {
            forwarders: forwarders.clone(),
            state: state.clone(),
            slots,
            tell,
            known: IndexMap::new(),
        };
        if let Err(why) = spawn(Box::new(move || following.run())) {
            let why = Refusal::new("start a thread", why);
            let text = format!("`nat`: {AS_ONE}, because it {why}; a change of the policy tries it again");
            telling(&text);
            *state.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
        Self { forwarders, state }
    }

    /// False if there is no thread: the system refused it, or it has failed.
    pub(crate) fn is_following(&self) -> bool {
        Arc::strong_count(&self.state) > 1
    }

    /// Returns a sentence: hosts are told apart or not, and why; empty before the first look.
    pub(crate) fn state(&self) -> String {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut forwarders = locked(&self.forwarders);
        forwarders.has_ended = true;
        forwarders.send(|| HostMessage::Use(None));
    }
}

/// State of the thread. If it panics, hosts count as one, which is said.
struct Following {
    forwarders: Arc<Mutex<Forwarders>>,
    /// Sentence for the status.
    state: Arc<Mutex<String>>,
    slots: usize,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// Connections that the forwarders know.
    known: IndexMap<OutsideEnds, IpAddr>,
}

impl Following {
    fn run(&mut self) {
        let (mut is_unread, mut is_full) = (false, false);
        while !self.has_ended() {
            let why = match self.follow(&mut is_unread, &mut is_full) {
                Ok(()) => break,
                Err(why) => why,
            };
            let text = format!("`nat`: {AS_ONE}, because it {why}");
            // What was read before would grow stale.
            self.send(|| HostMessage::Use(None));
            self.note_state(&text);
            if !is_unread {
                is_unread = true;
                self.say(&text);
            }
            let mut waited = WallTime::ZERO;
            while waited < RETRY && !self.has_ended() {
                thread::sleep(NAP);
                waited += NAP;
            }
        }
    }

    /// Follows the connections until it has ended.
    fn follow(&mut self, is_unread: &mut bool, is_full: &mut bool) -> Result<(), Refusal> {
        let mut translations = Translations::open()?;
        let (mut is_listed, mut is_beyond) = (false, false);
        while !self.has_ended() {
            let mut changes = Vec::new();
            if is_listed {
                let events = translations.wait(LONGEST_WAIT, &mut |change| changes.push(change))?;
                is_listed = events != Events::Lost;
            } else {
                // One more than there is room for tells that there are more.
                translations.list(&mut |one| changes.extend((changes.len() <= MOST).then_some(one)))?;
                is_listed = true;
                // That they are too many is said once, and stands in the state as long as it is so.
                is_beyond = false;
                self.known.clear();
                self.send(|| HostMessage::Use(Some(Box::new(HostTable::new(self.slots)))));
                let text = "`nat`: the hosts behind this machine are told apart";
                self.note_state(text);
                if core::mem::take(is_unread) {
                    self.say(text);
                }
            }
            if self.note(&mut changes) && !core::mem::replace(&mut is_beyond, true) {
                let text = format!(
                    "`nat`: of more than {MOST} translated connections, the hosts of the later ones count as one"
                );
                self.note_state(&text);
                if !core::mem::replace(is_full, true) {
                    self.say(&text);
                }
            }
            if !changes.is_empty() {
                self.send(|| HostMessage::Change(changes.clone()));
            }
        }
        Ok(())
    }

    /// Keeps the changes that the forwarders need. Returns true if a connection found no room.
    fn note(&mut self, changes: &mut Vec<Translation>) -> bool {
        let mut beyond = false;
        changes.retain(|change| {
            if change.is_ended {
                return self.known.swap_remove(&change.ends).is_some();
            }
            let has_room = self.known.len() < MOST || self.known.contains_key(&change.ends);
            beyond |= !has_room;
            has_room && self.known.insert(change.ends, change.host) != Some(change.host)
        });
        beyond
    }

    fn has_ended(&self) -> bool {
        locked(&self.forwarders).has_ended
    }

    fn note_state(&self, text: &str) {
        text.clone_into(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn say(&self, text: &str) {
        (self.tell)(text);
    }

    fn send(&self, message: impl Fn() -> HostMessage) {
        let forwarders = locked(&self.forwarders);
        if !forwarders.has_ended {
            forwarders.send(message);
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if thread::panicking() {
            self.send(|| HostMessage::Use(None));
            let text =
                format!("`nat`: {AS_ONE}, because its thread failed; a change of the policy starts another");
            self.note_state(&text);
            self.say(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 7));
    const SERVER: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(198, 51, 100, 1));
    const HOST: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 1, 0, 2));

    fn translation(port: u16, is_ended: bool) -> Translation {
        let ends = OutsideEnds { protocol: 6, own: (PUBLIC, port), other: (SERVER, 443) };
        Translation { ends, host: HOST, is_ended }
    }

    #[test]
    fn frames_of_both_directions_are_of_the_host() {
        let mut table = HostTable::new(4);
        table.change(&[translation(6_000, false)]);
        let mut find = |slot: u64, source, source_port, destination, destination_port| {
            let fields =
                Fields { protocol: 6, source, destination, source_port, destination_port, flow_label: 0 };
            table.find(slot, &fields);
            table.of(slot).expect("looked up")
        };
        assert_eq!(find(0, PUBLIC, 6_000, SERVER, 443), [HOST, SERVER]);
        assert_eq!(find(1, SERVER, 443, PUBLIC, 6_000), [SERVER, HOST]);
        assert_eq!(find(2, PUBLIC, 6_001, SERVER, 443), [PUBLIC, SERVER], "not known");
        assert_eq!(table.of(3), None);
        table.change(&[translation(6_000, true)]);
        table.find(
            0,
            &Fields {
                protocol: 6,
                source: PUBLIC,
                destination: SERVER,
                source_port: 6_000,
                destination_port: 443,
                flow_label: 0,
            },
        );
        assert_eq!(table.of(0), Some([PUBLIC, SERVER]), "ended");
    }

    fn following(all: Vec<Box<dyn Receiver>>) -> Following {
        Following {
            forwarders: Arc::new(Mutex::new(Forwarders { all, has_ended: false })),
            state: Arc::default(),
            slots: 1,
            tell: Arc::new(|_| ()),
            known: IndexMap::new(),
        }
    }

    /// Notes whether the forwarder has a table after each message.
    struct Noted(Arc<Mutex<Vec<bool>>>);

    impl Receiver for Noted {
        fn send(&self, message: HostMessage) {
            self.0.lock().expect("no panic").push(!matches!(message, HostMessage::Use(None)));
        }
    }

    /// A policy without `nat` may be followed at once by one with it, whose table must stay.
    #[test]
    fn nothing_comes_from_a_follower_that_was_dropped() {
        let noted = Arc::default();
        let following = following(vec![Box::new(Noted(Arc::clone(&noted)))]);
        let table = || HostMessage::Use(Some(Box::new(HostTable::new(1))));
        following.send(table);
        let forwarders = following.forwarders.clone();
        drop(Follower { forwarders, state: following.state.clone() });
        assert!(following.has_ended());
        following.send(table);
        following.send(|| HostMessage::Change(vec![translation(1, false)]));
        assert_eq!(*noted.lock().expect("no panic"), [true, false]);
    }

    /// The answers of kernels without the module, which cannot be taken out of the one that runs here.
    #[test]
    fn an_absent_module_and_a_missing_right_have_their_remedies() {
        for (error, expected) in [
            (libc::EINVAL, "modprobe nf_conntrack_netlink"),
            (libc::ENOENT, "modprobe nf_conntrack_netlink"),
            (libc::EOPNOTSUPP, "modprobe nf_conntrack_netlink"),
            (libc::EPROTONOSUPPORT, "modprobe nf_conntrack_netlink"),
            (libc::EPERM, "CAP_NET_ADMIN"),
            (libc::EACCES, "CAP_NET_ADMIN"),
            (libc::ENOBUFS, "tries it again"),
        ] {
            let why = std::io::Error::from_raw_os_error(error);
            let help = remedy(&why);
            let said = plan_of(Some((Refusal::new("list the tracked connections", why), help)));
            assert!(help.contains(expected) && said.ends_with(help), "{error}: {said}");
            assert!(said.contains("count as one, because it cannot list the tracked connections"), "{said}");
        }
        assert!(plan_of(None).contains("are told apart"));
    }

    #[test]
    fn a_thread_that_is_refused_is_said() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = told.clone();
        let tell = Arc::new(move |text: &str| telling.lock().expect("no panic").push(text.to_owned()));
        let refused = |_: Work| Err(std::io::ErrorKind::WouldBlock.into());
        let follower = Follower::start_by(refused, Vec::new(), 1, tell.clone());
        let said = follower.state();
        assert!(said.contains("count as one, because it cannot start a thread"), "{said}");
        assert_eq!((told.lock().expect("no panic").clone(), follower.is_following()), (vec![said], false));
        let works = Arc::<Mutex<Vec<Work>>>::default();
        let keeping = works.clone();
        let keep = move |work| {
            keeping.lock().expect("no panic").push(work);
            Ok(())
        };
        let started = Follower::start_by(keep, Vec::new(), 1, tell);
        assert!(started.is_following() && started.state().is_empty());
        works.lock().expect("no panic").clear();
        assert!(!started.is_following(), "its thread has ended");
    }

    #[test]
    fn a_thread_that_fails_is_said_and_its_table_is_taken_back() {
        let (told, noted) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
        let telling = told.clone();
        let mut following = following(vec![Box::new(Noted(Arc::clone(&noted)))]);
        following.tell = Arc::new(move |text: &str| telling.lock().expect("no panic").push(text.to_owned()));
        let (forwarders, state) = (following.forwarders.clone(), following.state.clone());
        let follower = Follower { forwarders, state };
        let thread = thread::spawn(move || {
            following.send(|| HostMessage::Use(Some(Box::new(HostTable::new(1)))));
            panic!("as intended");
        });
        assert!(thread.join().is_err() && !follower.is_following());
        let said = told.lock().expect("no panic").clone();
        assert_eq!((said.len(), &said[0]), (1, &follower.state()));
        assert!(said[0].contains("its thread failed"), "{said:?}");
        assert_eq!(*noted.lock().expect("no panic"), [true, false]);
    }

    #[test]
    fn tables_are_bounded_and_agree() {
        let mut following = following(Vec::new());
        let mut table = HostTable::new(1);
        let capacity = table.hosts.capacity();
        // Two servers, because there are not enough ports.
        let many = |count: usize, is_ended| -> Vec<Translation> {
            let one = |number: usize| {
                let mut one = translation((number % 40_000) as u16, is_ended);
                one.ends.other.1 += (number / 40_000) as u16;
                one
            };
            (0..count).map(one).collect()
        };
        let mut changes = many(MOST + 7, false);
        assert!(following.note(&mut changes));
        table.change(&changes);
        assert_eq!((changes.len(), following.known.len(), table.hosts.len()), (MOST, MOST, MOST));
        // Those that are known say nothing new, and one that ended makes room.
        let mut changes = [many(3, false), many(1, true), many(1, false)].concat();
        assert!(!following.note(&mut changes));
        assert_eq!(changes.len(), 2);
        table.change(&changes);
        assert_eq!((table.hosts.len(), table.hosts.capacity()), (MOST, capacity));
        // A connection whose end was not heard of, and that began anew from another host.
        let mut changes = vec![Translation { host: SERVER, ..translation(5, false) }];
        assert!(!following.note(&mut changes));
        table.change(&changes);
        assert_eq!(table.hosts.get(&translation(5, false).ends), Some(&SERVER));
        assert_eq!(table.hosts, following.known);
    }
}
