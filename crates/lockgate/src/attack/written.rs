//! Found traffic in a scenario: as replayed packets in its model, and as captures and settings of its file.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::units::Duration;
use lockgate_scenario::{Envelope, Flow, Scenario, Traffic};
use lockgate_traffic::{LoadedFiles, Replay, ReplayConfig, TrafficConfig};

use super::genome::{Burst, Genome, MOST_PACKETS};
use super::{Captures, NANOS, Packets, Range, nanos};
use crate::figures;

/// Keys of a flow that a capture replaces.
const REPLACED: [&str; 8] = ["gap", "rate", "size", "payload", "batch", "profile", "bursts", "stop"];

/// Files of found traffic.
pub(super) struct Written {
    pub(super) captures: Captures,
    /// Settings that replace the traffic of a scenario by the captures.
    pub(super) settings: Vec<String>,
    /// Names of the flows, with the number of their packets.
    pub(super) flows: Vec<(String, usize)>,
}

impl Range<'_> {
    /// Returns the scenario with the traffic of a genome.
    pub(super) fn armed(&self, genome: &Genome) -> Scenario {
        let mut scenario = self.scenario.clone();
        for (flow, start) in self.moved.iter().zip(&genome.starts) {
            let flow = &mut scenario.flows[*flow];
            flow.start = Duration::from_picos(start.saturating_mul(1000));
            flow.start_law = None;
        }
        for (weapon, packets) in self.weapons.iter().zip(self.traffic(genome)) {
            let flow = &mut scenario.flows[weapon.flow];
            (flow.start_law, flow.stop) = (None, None);
            let Some(first) = packets.first() else {
                flow.start = self.scenario.duration;
                continue;
            };
            let file = file_of(&flow.name);
            let Ok(replay) = Replay::read(&capture(&packets)) else { continue };
            let mut files = LoadedFiles::none();
            files.replays.insert(file.clone(), Arc::new(replay));
            let replay =
                ReplayConfig { file, speed: 1.0, longest_gap: None, longest_frame: None, repeat: false };
            let config = TrafficConfig { replay: Some(replay), ..TrafficConfig::default() };
            flow.traffic = Traffic { config: Arc::new(config), files };
            flow.start = Duration::from_picos(first.0 * 1000);
        }
        scenario
    }

    /// Returns the captures of a genome, the settings that replay them, and the flows with their packets.
    pub(super) fn written(&self, genome: &Genome) -> Written {
        let duration = nanos(self.scenario.duration);
        let mut settings = vec![format!("duration={duration}ns")];
        if !self.scenario.adversary.is_empty() {
            settings.push("adversary=".to_owned());
        }
        for (flow, start) in self.moved.iter().zip(&genome.starts) {
            let name = &self.scenario.flows[*flow].name;
            settings.push(format!("flow.\"{name}\".start={start}ns"));
        }
        let mut written = Written { captures: BTreeMap::new(), settings, flows: Vec::new() };
        for (weapon, packets) in self.weapons.iter().zip(self.traffic(genome)) {
            let flow = &self.scenario.flows[weapon.flow];
            let path = format!("flow.\"{}\"", flow.name);
            let is_added = self.scenario.adversary.contains(&weapon.flow);
            let start = packets.first().map_or(duration, |first| first.0);
            written.flows.push((flow.name.clone(), packets.len()));
            let settings = &mut written.settings;
            if is_added {
                let [from, to] = [flow.from, flow.to].map(|node| &self.scenario.nodes[node].name);
                settings.extend([format!("{path}.from={from}"), format!("{path}.to={to}")]);
            } else {
                // A member of a group has its own values beside those of the group.
                let nothing = if flow.name.contains('/') { "\"\"" } else { "" };
                let replaced = REPLACED.iter().filter(|key| !packets.is_empty() || **key == "stop");
                settings.extend(replaced.map(|key| format!("{path}.{key}={nothing}")));
                settings.extend(voice_of(flow).map(|codec| format!("{path}.voice={codec}")));
            }
            settings.push(format!("{path}.start={start}ns"));
            if packets.is_empty() {
                let silent = || format!("{path}.size={}B", weapon.envelope.longest.0);
                settings.extend(is_added.then(silent));
                settings.extend(is_added.then(|| format!("{path}.gap=1s")));
                continue;
            }
            if flow.envelope.is_none() {
                settings.push(format!("{path}.envelope={}", stated(&weapon.envelope)));
            }
            let mut file = file_of(&flow.name);
            while written.captures.contains_key(&file) {
                file = format!("again-{file}");
            }
            settings.push(format!("{path}.replay={{ file = \"{file}\" }}"));
            written.captures.insert(file, capture(&packets));
        }
        written
    }

    /// Returns the traffic of a genome in words.
    pub(super) fn lines(&self, genome: &Genome) -> Vec<String> {
        let time = |nanos: u64| figures::seconds(Some(nanos as f64 / NANOS as f64));
        let moved = self.moved.iter().zip(&genome.starts).zip(&self.rules.starts);
        let moved = moved.filter(|((_, start), own)| start != own).map(|((flow, start), _)| {
            format!("{} starts at {}", self.scenario.flows[*flow].name, time(*start))
        });
        let mut lines: Vec<String> = moved.collect();
        for (weapon, gene) in self.weapons.iter().zip(&genome.bursts) {
            let (name, envelope) = (&self.scenario.flows[weapon.flow].name, &weapon.envelope);
            for (number, Burst { pause, packets, length }) in gene.iter().enumerate() {
                let range = envelope.longest.0 - envelope.shortest.0;
                let length = envelope.shortest.0 + range * u64::from(*length) / 255;
                let when = match number {
                    0 => format!("from {} on", time(self.begin + pause)),
                    _ => format!("{} later", time(*pause)),
                };
                let packets = match *packets as usize {
                    MOST_PACKETS.. => "all packets that its envelope lets through".to_owned(),
                    few => {
                        format!("{} as soon as its envelope lets them", figures::count(few as u64, "packet"))
                    }
                };
                lines.push(format!("{name}: {when}, {packets}, {length} B each"));
            }
        }
        lines
    }
}

/// Returns the codec of a flow, which its profile may have set.
fn voice_of(flow: &Flow) -> Option<&'static str> {
    flow.voice.map(lockgate_scenario::Codec::name)
}

/// Returns an envelope as a file states it.
fn stated(envelope: &Envelope) -> String {
    let filling = envelope.buckets.iter().filter(|bucket| !bucket.rate.is_zero());
    let buckets: Vec<String> = filling
        .map(|bucket| {
            format!("{{ rate = \"{}bit\", burst = \"{}B\" }}", bucket.rate.as_bits(), bucket.burst.0)
        })
        .collect();
    let Envelope { shortest, longest, .. } = envelope;
    format!(
        "{{ buckets = [{}], shortest = \"{}B\", longest = \"{}B\" }}",
        buckets.join(", "),
        shortest.0,
        longest.0
    )
}

fn file_of(flow: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    format!("{}.pcap", flow.chars().map(plain).collect::<String>())
}

/// Returns a capture of packets without content: each with its time, since the first, and its length.
fn capture(packets: &Packets) -> Arc<[u8]> {
    let first = packets.first().map_or(0, |first| first.0);
    let mut bytes = Vec::with_capacity(24 + 16 * packets.len());
    // Magic number of nanoseconds, version 2.4, no offset, no accuracy, largest capture, Ethernet.
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (at, length) in packets {
        let since = at - first;
        for word in [(since / NANOS) as u32, (since % NANOS) as u32, 0, *length] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes.into()
}
