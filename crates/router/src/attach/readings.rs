//! Readings of an attachment: what its interfaces count, and what the router counts of them.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lockgate_dataplane::error::Refusal;
use lockgate_dataplane::lease::{Counts, State};
use lockgate_dataplane::netlink::{Link, LinkHeader, Netlink, RootDiscipline};
use lockgate_dataplane::redirection::{ForeignProgram, Redirection};
use lockgate_scenario::policy::{Direction, Mode, OnFault};

use super::{Attachment, Tap};
use crate::audit::{Audit, Laws, Reading};
use crate::control::Losses;
use crate::shell::word;
use crate::tally::{SharedLosses, Tallies};

/// Longest look of the watchdog at the interfaces: others hold the kernel's lock of them for ten seconds at
/// times.
const LONGEST_LOOK: Duration = Duration::from_secs(15);

impl Attachment {
    /// Returns the faults that go on, in words.
    pub(crate) fn faults(&self) -> Vec<String> {
        let (mut faults, noted_at) = self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let silent = noted_at.elapsed();
        if silent >= LONGEST_LOOK {
            let seconds = silent.as_secs();
            faults.push(format!(
                "the watchdog has waited {seconds} s for the kernel: faults of the interfaces are not noticed meanwhile"
            ));
        }
        faults
    }

    /// Sets the faults that go on, the frames that have passed around the router, and those that its pairs
    /// dropped.
    pub(crate) fn note_faults(&self, faults: Vec<String>, around: u64, dropped_in_pairs: u64) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = (faults, Instant::now());
        self.around.store(around, Ordering::Relaxed);
        self.dropped_in_pairs.store(dropped_in_pairs, Ordering::Relaxed);
    }

    /// Returns the frames lost outside the queues so far.
    pub(crate) fn lost(&self) -> Losses {
        let forwarders = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |losses: &SharedLosses| *losses.lock().unwrap_or_else(PoisonError::into_inner);
        let in_pairs = self.dropped_in_pairs.load(Ordering::Relaxed);
        forwarders.iter().map(of).fold(Losses { in_pairs, ..Losses::default() }, Losses::with)
    }

    /// True if the interfaces are given back to the kernel while frames are lost.
    pub(crate) fn opens_on_fault(&self) -> bool {
        self.on_fault == OnFault::Open
    }

    /// Returns the tallies of these endpoints of [`endpoints`](Self::endpoints), for one forwarder.
    pub(crate) fn tallies(&self, endpoints: &[usize]) -> Tallies {
        let losses = SharedLosses::default();
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).push(losses.clone());
        Tallies::new(endpoints.iter().map(|endpoint| self.tallies[*endpoint].clone()).collect(), losses)
    }

    /// Returns the interfaces of the policy and the near ends of their pairs, as they are now; those that are
    /// gone are left out.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn observe(&self, netlink: &mut Netlink) -> Result<Vec<Link>, Refusal> {
        let own = self.links.iter().map(|link| link.index);
        let near = self.pairs.iter().flat_map(|pairs| pairs.all.iter().map(|pair| pair.index));
        let indices: Vec<u32> = own.chain(near).collect();
        let observed = indices.into_iter().map(|index| netlink.observe(index));
        observed.filter_map(Result::transpose).map(|it| it.map(|(link, _)| link)).collect()
    }

    /// Returns the interfaces, as they were found at the start.
    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the mode.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns an audit for each tap.
    pub(crate) fn audits(&self) -> Vec<Audit> {
        let laws = |tap: &Tap| Laws {
            takes_arrivals: tap.direction != Direction::Outgoing,
            owns_departures: tap.direction != Direction::Incoming,
            is_in_driver: self.is_in_driver(),
            sends: tap.direction != Direction::Incoming,
            is_device: counts_by_itself(&self.links[tap.interface]),
            is_tunnel: self.links[tap.interface].header == Some(LinkHeader::Absent),
        };
        self.taps.iter().map(|tap| Audit::new(laws(tap))).collect()
    }

    /// Returns the interface of a tap, as it was found at the start.
    pub(crate) fn link_of(&self, tap: usize) -> &Link {
        &self.links[self.taps[tap].interface]
    }

    /// Reads what the interface of a tap counts, and what the router counts of it; `None` if it is gone.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn reading(&self, netlink: &mut Netlink, tap: usize) -> Result<Option<Reading>, Refusal> {
        let [from, to] = [&self.tallies[2 * tap], &self.tallies[2 * tap + 1]];
        let is_by_pair = self.taps[tap].direction == Direction::Incoming && !self.is_in_driver();
        let own = || {
            // First what counts last: no frame has then arrived that has not entered.
            let (received, lost) = (from.received(), from.lost());
            let counts = self.leases[tap].counts();
            // Frames of the host that pass at this interface are counted by the lease of the other one.
            let own_sent = if self.mode == Mode::Bridge { self.leases[1 - tap].counts().own_sent } else { 0 };
            Reading {
                counts: Counts { own_sent, passed: self.passed(), ..counts },
                received,
                lost,
                sent: if is_by_pair { from.sent() } else { to.sent() },
                ..Reading::default()
            }
        };
        let before = own();
        let Some((_, interface)) = netlink.observe(self.link_of(tap).index)? else { return Ok(None) };
        let near = match &self.pairs {
            Some(pairs) => netlink.observe(pairs.all[tap].index)?.map(|(_, counts)| counts),
            None => None,
        };
        let now = own();
        Ok(Some(Reading {
            interface,
            near,
            skew: now.own_total().saturating_sub(before.own_total()),
            is_held: self.leases.iter().all(|lease| lease.state() == State::Held),
            has_foreign: !self.programs_before(tap).is_empty(),
            ..now
        }))
    }

    /// Returns the programs of others that have the frames of a tap before the router's.
    pub(crate) fn programs_before(&self, tap: usize) -> Vec<ForeignProgram> {
        self.programs(tap, Redirection::programs_before)
    }

    /// Notes whether programs of others have frames of a tap before the router's.
    pub(crate) fn note_earlier(&self, tap: usize, has_earlier: bool) {
        self.leases[tap].set_has_earlier(has_earlier);
    }

    /// Returns the programs of others that are behind the router's at a tap.
    pub(crate) fn programs_behind(&self, tap: usize) -> Vec<ForeignProgram> {
        self.programs(tap, Redirection::programs_behind)
    }

    fn programs(&self, tap: usize, of: fn(&Redirection) -> Vec<ForeignProgram>) -> Vec<ForeignProgram> {
        let redirections = self.redirections.lock().unwrap_or_else(PoisonError::into_inner);
        let at_it = redirections
            .iter()
            .filter(|(at, redirection)| *at == tap && redirection.interface() == self.link_of(tap).index);
        at_it.flat_map(|(_, redirection)| of(redirection)).collect()
    }

    /// Returns sentences about queueing disciplines at the near end of a tap's pair.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn notes_inside(&self, netlink: &mut Netlink, tap: usize) -> Result<Vec<String>, Refusal> {
        let Some(pairs) = &self.pairs else { return Ok(Vec::new()) };
        let (near, device) = (&pairs.all[tap].near, word(&pairs.all[tap].near));
        let disciplines = netlink.root_disciplines(pairs.all[tap].index)?;
        let sentence = |it: &RootDiscipline| {
            let RootDiscipline { kind, handle, is_filter_block } = it;
            let (what, place) =
                if *is_filter_block { ("filters", "clsact") } else { ("queueing discipline", "root") };
            format!(
                "the {what} `{kind}` {handle} at the router's own interface `{near}` may drop its frames, or delay them: \
                 remove it (`tc qdisc delete dev {device} {place}`)"
            )
        };
        Ok(disciplines.iter().map(sentence).collect())
    }

    /// Returns the name of the near end of a tap's pair; empty if it has none.
    pub(crate) fn near(&self, tap: usize) -> &str {
        self.pairs.as_ref().map_or("", |pairs| &pairs.all[tap].near)
    }
}

/// True if the counters of an interface may be late: a device counts by itself, and a tunnel when its
/// process, or its encryption, has taken the packet.
fn counts_by_itself(link: &Link) -> bool {
    link.kind.is_empty() || link.header == Some(LinkHeader::Absent)
}
