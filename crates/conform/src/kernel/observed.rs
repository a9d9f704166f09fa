//! Results of one simulated run, in the quantities of the kernel's results.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::{Loss, PacketRow, Packets, Recording};

use super::Experiment;

/// Results of a flow of datagrams within a window: the packets received in it, whenever they were sent, and
/// the loss of those sent in it, except within [`SETTLING`] of the end of the run. Of these, a packet that
/// waits at the end is lost, as the kernel's receiver never sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Packets whose loss is counted.
    pub sent: u64,
    /// Packets not received, of those.
    lost: u64,
    /// Packets received within the window, whenever they were sent.
    pub received: u64,
    pub received_bytes: u64,
    /// Packets received within the window with a mark.
    marked: u64,
    delay_sum_us: f64,
    delay_min_us: f64,
    pub delay_max_us: f64,
    /// Sum of delays in microseconds, and packets, by the second since the start in which they were sent.
    seconds: Vec<(f64, u64)>,
}

impl Observed {
    pub(super) fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }

    /// Returns the fraction of the packets received that are marked.
    pub(super) fn marked(&self) -> f64 {
        if self.received == 0 { 0.0 } else { self.marked as f64 / self.received as f64 }
    }

    pub(super) fn mean_delay_us(&self) -> Option<f64> {
        (self.received > 0).then(|| self.delay_sum_us / self.received as f64)
    }

    pub(super) fn delay_range_us(&self) -> f64 {
        self.delay_max_us - self.delay_min_us
    }

    /// Returns mean delays by second, in milliseconds.
    pub(super) fn by_second(&self) -> Vec<Option<f64>> {
        self.seconds.iter().map(|(sum, count)| (*count > 0).then(|| sum / *count as f64 / 1e3)).collect()
    }

    fn receive(&mut self, bytes: u32, delay_us: f64) {
        self.delay_min_us = if self.received == 0 { delay_us } else { self.delay_min_us.min(delay_us) };
        self.delay_max_us = self.delay_max_us.max(delay_us);
        self.delay_sum_us += delay_us;
        self.received += 1;
        self.received_bytes += u64::from(bytes);
    }

    fn receive_in_second(&mut self, second: usize, delay_us: f64) {
        // A run is at most 1e6 s long, which limits the length.
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, (0.0, 0));
        }
        self.seconds[second].0 += delay_us;
        self.seconds[second].1 += 1;
    }
}

/// Time before the end of a run within which packets do not count as sent, in seconds.
const SETTLING: f64 = 0.5;

/// A recording, with access to the rows of its bottleneck.
pub(super) struct Bottleneck<'a> {
    recording: &'a Recording,
    port: u32,
    /// Delay from the sender to the bottleneck.
    access: Duration,
}

impl<'a> Bottleneck<'a> {
    /// Creates the view of a recording.
    ///
    /// # Errors
    /// Fails if the recording has no bottleneck port or kept no packets.
    pub(super) fn new(recording: &'a Recording) -> Result<Self, String> {
        let find = |name: &str| recording.ports.iter().position(|port| port.setup.name == name);
        let port = find("r:b").ok_or_else(|| "the run has no bottleneck".to_owned())?;
        let access = find("a:r").map(|index| recording.ports[index].setup.delay).unwrap_or_default();
        if recording.packets.is_none() {
            return Err("the run kept no packets".to_owned());
        }
        Ok(Self { recording, port: port as u32, access })
    }

    fn rows(&self) -> impl Iterator<Item = PacketRow> + '_ {
        let rows = self.recording.packets.iter().flat_map(Packets::iter);
        rows.filter(|row| row.port == self.port)
    }

    /// Returns the time at which the packet of this row was sent.
    fn sent(&self, row: &PacketRow) -> Instant {
        row.arrived - self.access
    }

    /// Returns the delay from arrival at the bottleneck to the receiver, in microseconds; `None` for a
    /// packet that was not received.
    fn delay_us(&self, row: &PacketRow) -> Option<f64> {
        if row.drop.is_some() {
            return None;
        }
        let setup = &self.recording.ports[self.port as usize].setup;
        let waited = row.departed?.since(row.arrived);
        let sending = setup.rate.time_for(Bytes(u64::from(row.length)));
        Some((waited.as_secs_f64() + sending.as_secs_f64() + setup.delay.as_secs_f64()) * 1e6)
    }

    /// Returns the index of a flow.
    pub(super) fn flow(&self, name: &str) -> Option<u32> {
        self.recording.flows.iter().position(|flow| flow.setup.name == name).map(|index| index as u32)
    }

    /// Returns the results of a flow within a window, in seconds.
    pub(super) fn observe(&self, flow: u32, window: [f64; 2]) -> Observed {
        let mut observed = Observed::default();
        let end = self.recording.duration.as_secs_f64();
        for row in self.rows().filter(|row| row.flow.0 == flow) {
            let sent = self.sent(&row).as_secs_f64();
            let delay = self.delay_us(&row);
            if let Some(delay) = delay {
                observed.receive_in_second(sent as usize, delay);
            }
            // Both clocks are exact; the file is rounded to a nanosecond.
            let is_within = |time: f64| time >= window[0] - 1e-9 && time <= window[1] + 1e-9;
            if is_within(sent) && sent <= end - SETTLING + 1e-9 {
                observed.sent += 1;
                observed.lost += u64::from(delay.is_none_or(|delay| sent + delay / 1e6 > end));
            }
            if let Some(delay) = delay.filter(|delay| is_within(sent + delay / 1e6)) {
                observed.receive(row.length, delay);
                observed.marked += u64::from(row.is_marked());
            }
        }
        observed
    }

    /// Returns the number of packets dropped for one of these reasons, of those sent before `until` seconds.
    pub(super) fn drops(&self, reasons: &[DropReason], until: f64) -> f64 {
        let is_one = |row: &PacketRow| reasons.iter().any(|reason| row.drop == Some(Loss::Queue(*reason)));
        self.sent_before(until).filter(is_one).count() as f64
    }

    /// Returns the number of packets received with a mark, of those sent before `until` seconds.
    pub(super) fn marks(&self, until: f64) -> f64 {
        let is_received = |row: &PacketRow| row.is_marked() && row.departed.is_some() && row.drop.is_none();
        self.sent_before(until).filter(is_received).count() as f64
    }

    fn sent_before(&self, until: f64) -> impl Iterator<Item = PacketRow> + '_ {
        self.rows().filter(move |row| self.sent(row).as_secs_f64() < until)
    }

    /// Returns the drops of packets of connections, and the mean delay of those that arrived from 5 s on,
    /// in microseconds.
    pub(super) fn connections(&self, experiment: &Experiment) -> (f64, Option<f64>) {
        let flows: Vec<_> = experiment.tcp().filter_map(|(name, _)| self.flow(name)).collect();
        let (mut drops, mut sum, mut count) = (0.0, 0.0, 0.0);
        for row in self.rows().filter(|row| flows.contains(&row.flow.0)) {
            drops += f64::from(u8::from(row.drop.is_some()));
            if let Some(delay) = self.delay_us(&row).filter(|_| row.arrived.as_secs_f64() >= 5.0) {
                sum += delay;
                count += 1.0;
            }
        }
        (drops, (count > 0.0).then(|| sum / count))
    }
}
