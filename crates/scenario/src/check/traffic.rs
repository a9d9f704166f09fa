//! Warns of valid traffic that is probably a mistake: more packets than a run can simulate, captures that
//! are not replayed whole.

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_traffic::Replay;
use toml::de::DeTable;

use super::Checker;
use super::flows::Flows;
use crate::diagnostic::{Problem, Span};
use crate::model::{Flow, Transport};
use crate::table_reader::{TableLocation, shorten};
use crate::tcp::{Application, TcpModel};

/// Packets of a flow above which a warning is given.
const MANY: f64 = 1e9;

/// Packets simulated per second of real time, approximately; used by the warning.
const SIMULATED: f64 = 5e6;

impl Checker<'_> {
    /// Warns of flows that send more packets than a run can simulate, and of captures that are not replayed
    /// whole.
    pub(super) fn warn_traffic(&mut self, root: &DeTable<'_>, flows: &Flows, end: Instant) {
        for entry in Self::section_again(root, "flow") {
            let Some(group) = flows.get(entry.name) else { continue };
            let Some(flow) = &group.flow else { continue };
            let location = entry.location();
            let start = Instant::ZERO + flow.start;
            self.doubt_packets(flow, group.members.len(), (start, end), of_traffic(location));
            self.doubt_capture(flow, (start, end), &location.inner("replay", "file"));
        }
    }

    /// Warns if `members` flows like `flow` send too many packets between `from` and `end`.
    pub(super) fn doubt_packets(
        &mut self,
        flow: &Flow,
        members: usize,
        (from, end): (Instant, Instant),
        span: Span,
    ) {
        let packets = expected_packets(flow, from, end) * members as f64;
        if packets <= MANY {
            return;
        }
        let name = shorten(&flow.name);
        let problem = Problem::new(span, format!("`flow.{name}` sends about {packets:.0e} packets"));
        self.warn(problem.help(format!(
            "to simulate them takes {} or so: send fewer, by a longer `gap`, or by `stop` or `packets`",
            long(packets / SIMULATED)
        )));
    }

    /// Warns if a replayed capture has lost packets, or if the run ends before the capture.
    pub(super) fn doubt_capture(&mut self, flow: &Flow, (from, end): (Instant, Instant), span: &Span) {
        let Some(config) = &flow.traffic.config.replay else { return };
        let Some(capture) = flow.traffic.files.replays.get(&config.file) else { return };
        let file = shorten(&config.file);
        for (what, help) in losses(capture) {
            self.warn(Problem::new(span.clone(), format!("the capture `{file}` {what}")).help(help));
        }
        let span_s = capture.span().as_secs_f64() / config.speed;
        let time_s = until(flow, end).since(from).as_secs_f64();
        let is_bounded = flow.packets.is_some() || flow.bytes.is_some();
        if span_s > time_s && !is_bounded {
            let all = capture.packets.len();
            let sent = capture.packets.partition_point(|(at, _)| at.as_secs_f64() / config.speed < time_s);
            let problem = Problem::new(
                span.clone(),
                format!("the capture `{file}` is longer than its flow: {sent} of its {all} packets are sent"),
            );
            self.warn(problem.help(format!(
                "it takes {span_s:.3} s and the flow has {time_s:.3} s: let the run last longer, or set `speed` or \
                 `longest_gap`"
            )));
        }
    }
}

/// Returns a long time in words, in the largest suitable unit.
fn long(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(365.0 * 86_400.0, "years"), (86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| seconds >= 2.0 * unit).unwrap_or((60.0, "minutes"));
    format!("{:.0} {name}", seconds / unit)
}

/// Largest frame of a line of 1500 bytes, with a VLAN tag and the frame check sequence.
const FULL_FRAME: u32 = 1_522;

/// Returns what a capture has lost, and the consequences.
fn losses(capture: &Replay) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let kept = capture.packets.len();
    if capture.is_cut {
        all.push((
            format!("ends in the middle of a packet: {kept} packets before it are replayed"),
            "it was cut, or its recording was interrupted; what came after is not known".to_owned(),
        ));
    }
    if capture.oversize > 0 {
        all.push((
            format!(
                "has {} packets longer than a frame can be, which are replayed as the longest",
                capture.oversize
            ),
            "such packets are put together by a network card (offload): switch that off to capture frames"
                .to_owned(),
        ));
    }
    if let Some((count, longest)) = capture.longer_than(FULL_FRAME).filter(|_| capture.oversize == 0) {
        all.push((
            format!("has {count} packets longer than a frame of a line of 1500 bytes, up to {longest} bytes"),
            "if its line had no jumbo frames, they were captured before a network card cut them, or after it joined \
             them (offload): `longest_frame = \"1514B\"` cuts them into frames"
                .to_owned(),
        ));
    }
    if capture.carried > 0 {
        all.push((
            format!(
                "has {} packets whose time has a fraction of more than a second, which is carried over",
                capture.carried
            ),
            "the file may be of microseconds and say nanoseconds, or the reverse: its gaps are then wrong by 1000"
                .to_owned(),
        ));
    }
    if capture.out_of_order > 0 {
        all.push((
            format!(
                "has {} packets with an earlier time than the one before, which are put in order",
                capture.out_of_order
            ),
            "`reordercap` writes it in order".to_owned(),
        ));
    }
    all
}

/// Returns the time at which a flow stops at the latest.
fn until(flow: &Flow, end: Instant) -> Instant {
    flow.stop.map_or(end, |stop| (Instant::ZERO + stop).min(end))
}

/// Returns the expected number of packets, or of an application's writes, between two instants; 0 if
/// unknown.
fn expected_packets(flow: &Flow, from: Instant, end: Instant) -> f64 {
    let of_traffic = match flow.transport {
        Transport::Udp => true,
        Transport::Tcp(TcpModel { application, .. }) => {
            matches!(application, Application::Stream | Application::Echo)
        }
        Transport::UdpReturn { .. } | Transport::TcpReturn { .. } | Transport::Outside { .. } => false,
    };
    let arrivals = of_traffic.then(|| flow.traffic.arrivals(Seed(0), &flow.name).ok()).flatten();
    let Some(arrivals) = arrivals else { return 0.0 };
    let rate = arrivals.packet_rate().unwrap_or(0.0);
    let mut packets = rate * until(flow, end).since(from).as_secs_f64();
    if let Some(replay) = flow.traffic.config.replay.as_ref().filter(|replay| !replay.repeat) {
        let capture = flow.traffic.files.replays.get(&replay.file);
        packets = packets.min(capture.map_or(0.0, |capture| capture.packets.len() as f64));
    }
    packets = flow.packets.map_or(packets, |most| packets.min(most as f64));
    // A packet has at least one byte.
    flow.bytes.map_or(packets, |most| packets.min(most.0 as f64))
}

/// Returns the position of the key that gives a flow's rate of sending.
fn of_traffic(location: TableLocation<'_, '_>) -> Span {
    let key = ["gap", "rate", "replay", "profile"].into_iter().find(|key| location.has(key));
    key.map_or_else(|| location.header.clone(), |key| location.value(key))
}
