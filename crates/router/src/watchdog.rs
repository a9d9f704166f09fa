//! Watchdog: compares what the interfaces count with what the router counts (`audit.rs`), and says each
//! difference. While frames are lost in the router, it gives the interfaces back to the kernel, if the policy
//! says so. It also reports when a forwarder stalls, changes of the interfaces, and lost frames, and ends the
//! router if an interface is gone: frames of a new interface with its name would bypass the router.

mod reopened;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::netlink::{Link, Netlink, XdpMode};
use lockgate_measure::figures::count;

use crate::attach::surroundings::{connections_note, discipline_note, listed};
use crate::attach::{Attachment, ENCAPSULATION, PairFault};
use crate::audit::{Audit, Fault, INTERVAL};
use crate::control::Losses;
use reopened::Reopened;

/// Interval of the examinations that cost more than a reading: of queues, programs and disciplines.
const EXAMINATION: Duration = Duration::from_secs(1);

/// Shortest and longest time for which the kernel has the line after frames were lost; it doubles each time.
const OPEN: [Duration; 2] = [Duration::from_secs(30), Duration::from_mins(10)];

/// Interval of messages about losses that go on.
const LOSS_MESSAGES: Duration = Duration::from_mins(1);

/// Time without a loss after which losses have stopped.
const LOSSES_STOPPED: Duration = Duration::from_secs(3);

/// Fault of an interface, after its name.
const DOWN: &str = "is down: frames for it are lost";

type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Flags that the watchdog shares with the router.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Set by the router: the watchdog ends.
    pub(crate) ended: Arc<AtomicBool>,
    /// Set by the watchdog or a forwarder: the router cannot continue.
    pub(crate) failed: Arc<AtomicBool>,
}

/// Watches until the router ends, or cannot continue. Returns the name of an interface that is gone.
pub(crate) fn watch(attachment: &Attachment, flags: &Flags, tell: Tell) -> Option<String> {
    let Flags { ended, failed } = flags;
    let mut watchdog = Watchdog::new(attachment, tell);
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(INTERVAL);
        if let Some(name) = watchdog.examine() {
            watchdog.tell();
            failed.store(true, Ordering::Relaxed);
            attachment.withhold(&format!("interface `{name}` is gone"));
            return Some(name);
        }
        if ended.load(Ordering::Relaxed) {
            watchdog.tell();
            break;
        }
        watchdog.settle(failed.load(Ordering::Relaxed));
    }
    None
}

/// Reason why frames take the kernel's way while the router runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bypass {
    /// A forwarder stalls.
    Stalled,
    /// Frames would be lost or divided, for this reason: a receive queue without a socket, a closed pair, a
    /// fault.
    Withheld(String),
}

/// Returns the message of a change.
fn changed(now: Option<&Bypass>) -> String {
    match now {
        Some(Bypass::Stalled) => {
            "the router stands still: its interfaces are given back to the kernel".to_owned()
        }
        Some(Bypass::Withheld(why)) => format!("the interfaces are given back to the kernel: {why}"),
        None => "the router runs again, and has its interfaces".to_owned(),
    }
}

/// Time for which the kernel has the line because frames were lost.
#[derive(Debug, Default)]
struct Opening {
    /// Reason, and the end; `None`: the router has the line.
    now: Option<(String, Instant)>,
    /// Length of the last one.
    last: Duration,
    /// End of the last one.
    ended_at: Option<Instant>,
}

/// State of the watchdog.
struct Watchdog<'a> {
    attachment: &'a Attachment,
    tell: Tell,
    /// Messages that are due: told once the status has their faults.
    messages: Vec<String>,
    netlink: Reopened<Netlink>,
    /// Interfaces as last reported.
    known: Vec<Link>,
    audits: Vec<Audit>,
    /// Faults that go on, with their tap and their sentence.
    faults: Vec<(usize, Fault, String)>,
    /// Fault of the router's own interfaces, and receive queues without a socket, in words.
    closed: Option<String>,
    unserved: Option<String>,
    /// Frames that the router's own interfaces dropped.
    dropped_in_pairs: u64,
    /// Address of the host that the router cuts off, as of the last examination, in words.
    cut_off: Option<String>,
    opening: Opening,
    bypassed: Option<Bypass>,
    /// Frames let pass, as last reported.
    passed: u64,
    /// Losses as last said, and when; as of the last examination, and when they last grew.
    lost: Losses,
    lost_at: Option<Instant>,
    latest_lost: Losses,
    losing_at: Instant,
    /// Sentences about the surroundings, as last reported, and those about the bridge that are alarms.
    notes: BTreeSet<String>,
    alarms: BTreeSet<String>,
    /// True if the bridge has other ports.
    has_other_ports: bool,
    examined_at: Instant,
}

impl<'a> Watchdog<'a> {
    fn new(attachment: &'a Attachment, tell: Tell) -> Self {
        let mut watchdog = Self {
            attachment,
            tell,
            messages: Vec::new(),
            netlink: Reopened::new(Netlink::open),
            known: attachment.links().to_vec(),
            audits: attachment.audits(),
            faults: Vec::new(),
            closed: None,
            unserved: attachment.unserved().unwrap_or_default(),
            dropped_in_pairs: 0,
            cut_off: None,
            opening: Opening::default(),
            bypassed: None,
            passed: attachment.passed(),
            lost: Losses::default(),
            lost_at: None,
            latest_lost: Losses::default(),
            losing_at: Instant::now(),
            notes: BTreeSet::new(),
            alarms: BTreeSet::new(),
            has_other_ports: false,
            examined_at: Instant::now(),
        };
        // What is so at the start has been told, but for alarms.
        watchdog.read_by(Self::begin);
        watchdog.note_faults();
        watchdog.tell();
        watchdog
    }

    /// Runs `read`, which reads the interfaces by a netlink socket. Says when they cannot be read, and when
    /// they can again. Returns the result; `None` if they cannot be read: nothing is concluded then.
    fn read_by<R>(&mut self, read: impl FnOnce(&mut Self, &mut Netlink) -> Result<R, Refusal>) -> Option<R> {
        let done = self.netlink.take().and_then(|mut netlink| Ok((read(self, &mut netlink)?, netlink)));
        let (result, netlink) = match done {
            Ok((result, netlink)) => (Some(result), Ok(netlink)),
            Err(why) => (None, Err(why)),
        };
        if let Some(message) = self.netlink.put(netlink) {
            self.messages.push(message);
        }
        result
    }

    /// Tells the messages that are due.
    fn tell(&mut self) {
        for message in self.messages.drain(..) {
            (self.tell)(&message);
        }
    }

    fn begin(&mut self, netlink: &mut Netlink) -> Result<(), Refusal> {
        let now = self.attachment.observe(netlink)?;
        for known in &mut self.known {
            if let Some(now) = now.iter().find(|it| it.index == known.index) {
                *known = now.clone();
            }
        }
        self.notes = self.surroundings_by(netlink)?;
        Ok(())
    }

    /// Examines the interfaces, and says what has changed. Returns the name of one that is gone.
    fn examine(&mut self) -> Option<String> {
        let gone = self.read_by(Self::examine_by).flatten();
        if gone.is_none() {
            self.note_faults();
            self.report_losses();
        }
        gone
    }

    fn examine_by(&mut self, netlink: &mut Netlink) -> Result<Option<String>, Refusal> {
        let attachment = self.attachment;
        let links = attachment.observe(netlink)?;
        for known in &mut self.known {
            // By index too: another interface may have the name by now.
            let now = links.iter().find(|link| link.index == known.index && link.name == known.name);
            let Some(now) = now else { return Ok(Some(known.name.clone())) };
            for change in differences(known, now, attachment.longest()) {
                let alarm = if change == DOWN { "ALARM: " } else { "" };
                self.messages.push(format!("{alarm}interface `{}` {change}", known.name));
            }
            *known = now.clone();
        }
        let closed = match attachment.pair_fault(&links) {
            Some(PairFault::Gone(name)) => return Ok(Some(name)),
            Some(PairFault::Closed(why)) => Some(why),
            None => self.cut_off.clone(),
        };
        if let Some(why) = closed.as_ref().filter(|why| self.closed.as_ref() != Some(*why)) {
            self.messages.push(format!("ALARM: {why}"));
        }
        // If the kernel has the line meanwhile, `settle` says that the router has it again.
        if let Some(last) = self.closed.as_ref().filter(|_| closed.is_none() && !attachment.opens_on_fault())
        {
            self.messages.push(format!("the alarm is over: {last}"));
        }
        self.closed = closed;
        self.audit(netlink)?;
        if self.examined_at.elapsed() >= EXAMINATION {
            // If they cannot be read, what was known of them stays.
            self.unserved = attachment.unserved().unwrap_or_else(|_| self.unserved.take());
            self.cut_off = attachment.cut_off(netlink)?;
            let notes = self.surroundings_by(netlink)?;
            for note in notes.difference(&self.notes) {
                self.messages.push(note.clone());
            }
            self.notes = notes;
            // Last: after a failure the next look tries it again, so that its alarm does not end in between.
            self.examined_at = Instant::now();
        } else if self.has_other_ports {
            // A host behind another port is served once the bridge has heard it.
            let all = netlink.links()?;
            attachment.serve_addresses(netlink, &all)?;
        }
        Ok(None)
    }

    /// Compares the counters, and says which faults begin and end.
    fn audit(&mut self, netlink: &mut Netlink) -> Result<(), Refusal> {
        let attachment = self.attachment;
        let mut now: Vec<(usize, Fault)> = Vec::new();
        let mut dropped_in_pairs = 0;
        for (index, audit) in self.audits.iter_mut().enumerate() {
            let Some(reading) = attachment.reading(netlink, index)? else { continue };
            dropped_in_pairs += reading.near.map_or(0, |near| near.send_dropped);
            now.extend(audit.read(reading).into_iter().map(|fault| (index, fault)));
            dropped_in_pairs += audit.lost_inside();
        }
        let name = |tap: usize| attachment.link_of(tap).name.as_str();
        let sentence = |index: usize, fault: &Fault| {
            let before = attachment.programs_before(index);
            let before = if before.is_empty() { String::new() } else { listed(&before) };
            fault.sentence(name(index), attachment.near(index), &before)
        };
        let is_new = |one: &(usize, Fault)| {
            !self.faults.iter().any(|(index, fault, _)| *index == one.0 && fault.is_same(&one.1))
        };
        for (index, fault) in now.iter().filter(|one| is_new(one)) {
            self.messages.push(format!("ALARM: {}", sentence(*index, fault)));
        }
        for (index, fault, last) in &self.faults {
            if !now.iter().any(|(it, other)| it == index && fault.is_same(other))
                && self.opening.now.is_none()
            {
                self.messages.push(format!("the alarm is over: {last}"));
            }
        }
        self.faults =
            now.into_iter().map(|(index, fault)| (index, fault.clone(), sentence(index, &fault))).collect();
        let losing = self.faults.iter().find(|(_, fault, _)| fault.loses());
        if let Some((_, _, why)) = losing.filter(|_| attachment.opens_on_fault()) {
            self.opening.begin(why);
        }
        self.dropped_in_pairs = dropped_in_pairs;
        Ok(())
    }

    /// Notes for the status the faults that go on.
    fn note_faults(&self) {
        let around = self.audits.iter().map(Audit::around).sum();
        let open = self.opening.now.iter().map(|(why, _)| why.clone());
        let unread = self.netlink.failure();
        let known = [unread, self.closed.as_ref(), self.unserved.as_ref()].into_iter().flatten();
        let known = known.chain(&self.alarms).cloned();
        let down = self.known.iter().filter(|link| !link.is_up);
        let down = down.map(|link| format!("interface `{}` {DOWN}", link.name));
        let proven = self.faults.iter().map(|(_, _, sentence)| sentence.clone());
        let faults: BTreeSet<String> = known.chain(down).chain(proven).chain(open).collect();
        self.attachment.note_faults(faults.into_iter().collect(), around, self.dropped_in_pairs);
    }

    /// Says frames that were lost outside the queues: when it begins, each minute while it goes on, and the
    /// rest when it has stopped.
    fn report_losses(&mut self) {
        let now = self.attachment.lost();
        if now != self.latest_lost {
            (self.latest_lost, self.losing_at) = (now, Instant::now());
        }
        let has_stopped = self.losing_at.elapsed() >= LOSSES_STOPPED;
        let is_due = self.lost_at.is_none_or(|at| at.elapsed() >= LOSS_MESSAGES);
        if now == self.lost || !(is_due || has_stopped) {
            return;
        }
        let newly = now.since(self.lost);
        let total = if self.lost_at.is_some() { format!("; {} in all", now.total()) } else { String::new() };
        self.messages
            .push(format!("{} lost outside the queues: {newly}{total}", count(newly.total(), "frame")));
        (self.lost, self.lost_at) = (now, Some(Instant::now()));
    }

    /// Gives the line to the kernel, or takes it, and says so.
    fn settle(&mut self, has_failed: bool) {
        let attachment = self.attachment;
        self.opening.expire();
        let closed = self.closed.as_ref().filter(|_| attachment.opens_on_fault());
        let opening = self.opening.now.as_ref().map(|(why, _)| why);
        let why = closed.or(self.unserved.as_ref()).or(opening).cloned();
        let now = match why {
            _ if attachment.is_stalled() => Some(Bypass::Stalled),
            Some(why) => Some(Bypass::Withheld(why)),
            None => None,
        };
        if now != self.bypassed {
            match &now {
                Some(Bypass::Withheld(why)) => attachment.withhold(why),
                None if matches!(self.bypassed, Some(Bypass::Withheld(_))) && !has_failed => {
                    attachment.take();
                }
                _ => {}
            }
            self.messages.push(changed(now.as_ref()));
            self.bypassed = now;
        }
        let newly = attachment.passed() - self.passed;
        // The process may have been stopped with this thread, and continued.
        if newly > 0 && self.bypassed.is_none() {
            self.messages.push(format!("{newly} frames took the kernel's way meanwhile"));
            self.passed += newly;
        }
        self.tell();
    }

    /// Serves the host's addresses as they are now, and says alarms about the bridge. Returns the sentences
    /// about programs, disciplines and ports beside the router.
    fn surroundings_by(&mut self, netlink: &mut Netlink) -> Result<BTreeSet<String>, Refusal> {
        let attachment = self.attachment;
        let mut notes = BTreeSet::new();
        for tap in 0..self.audits.len() {
            let before = attachment.programs_before(tap);
            attachment.note_earlier(tap, !before.is_empty());
            if !before.is_empty() {
                let name = &attachment.link_of(tap).name;
                notes.insert(format!(
                    "{} at `{name}` has its frames before the router's program",
                    listed(&before)
                ));
            }
            let behind = attachment.programs_behind(tap);
            if !behind.is_empty() {
                let name = &attachment.link_of(tap).name;
                notes.insert(format!(
                    "{} at `{name}` is behind the router's program, and gets no frame that it takes",
                    listed(&behind)
                ));
            }
        }
        let all = netlink.links()?;
        self.has_other_ports = attachment.serve_addresses(netlink, &all)?;
        let (alarms, around) = attachment.around(netlink, &all)?;
        self.say_alarms(alarms.into_iter().collect());
        notes.extend(around);
        notes.extend(connections_note());
        for link in attachment.links() {
            let disciplines = netlink.root_disciplines(link.index)?;
            notes.extend(
                disciplines.iter().filter_map(|it| discipline_note(it, &link.name, attachment.mode())),
            );
        }
        for tap in 0..self.audits.len() {
            notes.extend(attachment.notes_inside(netlink, tap)?);
        }
        Ok(notes)
    }

    /// Says which alarms about the bridge begin and end.
    fn say_alarms(&mut self, now: BTreeSet<String>) {
        let before = core::mem::replace(&mut self.alarms, now);
        for begun in self.alarms.difference(&before) {
            self.messages.push(format!("ALARM: {begun}"));
        }
        for ended in before.difference(&self.alarms) {
            self.messages.push(format!("the alarm is over: {ended}"));
        }
    }
}

impl Opening {
    /// Begins one, unless it goes on. Soon after the last one it is twice as long.
    fn begin(&mut self, why: &str) {
        if self.now.is_some() {
            return;
        }
        let is_soon = self.ended_at.is_some_and(|at| at.elapsed() < 2 * OPEN[0]);
        self.last = if is_soon { (2 * self.last).clamp(OPEN[0], OPEN[1]) } else { OPEN[0] };
        let seconds = self.last.as_secs();
        self.now = Some((format!("{why}; tried again after {seconds} s"), Instant::now() + self.last));
    }

    /// Ends it, if it is time.
    fn expire(&mut self) {
        if self.now.as_ref().is_some_and(|(_, until)| Instant::now() >= *until) {
            (self.now, self.ended_at) = (None, Some(Instant::now()));
        }
    }
}

/// Returns the changes of an interface as messages for the user. `longest` is the length of the longest frame
/// that the router carries, in bytes.
fn differences(before: &Link, now: &Link, longest: usize) -> Vec<String> {
    let mut changes = Vec::new();
    if before.is_up != now.is_up {
        changes.push(if now.is_up { "is up" } else { DOWN }.to_owned());
    }
    if before.is_up && now.is_up && before.has_carrier != now.has_carrier {
        let what = if now.has_carrier { "has a carrier" } else { "has no carrier: frames for it wait" };
        changes.push(what.to_owned());
    }
    if before.mtu != now.mtu {
        let is_longer = (now.mtu + ENCAPSULATION) as usize > longest;
        let restart = if is_longer { ": start the router again to carry longer frames" } else { "" };
        changes.push(format!("has an MTU of {} bytes, before {}{restart}", now.mtu, before.mtu));
    }
    if before.controller != now.controller {
        let of = match (before.controller, now.controller) {
            (_, None) => "no",
            (None, Some(_)) => "a",
            (Some(_), Some(_)) => "another",
        };
        changes.push(format!("is a port of {of} bridge: the kernel's way has changed"));
    }
    if before.xdp != now.xdp && now.xdp != XdpMode::Absent {
        changes.push("has another XDP program: frames that it takes pass by the router".to_owned());
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_an_interface_is_said() {
        let link = Link { index: 3, name: "eth1".into(), is_up: true, mtu: 1500, ..Link::default() };
        let link = Link { has_carrier: true, ..link };
        let down = Link { is_up: false, has_carrier: false, ..link.clone() };
        let unplugged = Link { has_carrier: false, ..link.clone() };
        let differences =
            |before: &Link, now: &Link| super::differences(before, now, 1500 + ENCAPSULATION as usize);
        assert_eq!(differences(&link, &unplugged), ["has no carrier: frames for it wait"]);
        let longer = Link { mtu: 9000, controller: Some(7), ..link.clone() };
        let taken = Link { xdp: XdpMode::Driver, ..link.clone() };
        assert!(differences(&link, &link).is_empty());
        assert_eq!(differences(&link, &down), [DOWN]);
        assert_eq!(differences(&down, &link), ["is up"]);
        assert_eq!(
            differences(&link, &taken),
            ["has another XDP program: frames that it takes pass by the router"]
        );
        let changes = differences(&link, &longer);
        assert!(changes[0].contains("9000") && changes[0].contains("again"), "{changes:?}");
        assert!(changes[1].contains("of a bridge") && differences(&longer, &link)[1].contains("no bridge"));
        // Back to a length that it carries.
        let shorter = Link { mtu: 1400, ..link.clone() };
        assert_eq!(differences(&shorter, &link), ["has an MTU of 1500 bytes, before 1400"]);
    }
}
