//! Files of the flows, recorded for results that compare completion times.

use core::cmp::Reverse;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Instant};
use lockgate_measure::Recording;
use lockgate_measure::recording::{FileBins, FileRecord};
use lockgate_scenario::model::{Flow, Record, Scenario, Transport};
use lockgate_scenario::tcp::Application;

use crate::applications::{frame_headers, random_files};
use crate::failure::Failure;
use crate::paths::path;

/// Returns the size classes that a scenario requests.
pub(crate) fn file_bins(record: &Record) -> FileBins {
    match record.file_bin_width {
        Some(width) => FileBins::Width(width),
        None if record.file_bins.is_empty() => FileBins::Decades,
        None => FileBins::Edges(record.file_bins.clone()),
    }
}

/// Records the file of each flow and the port on its path at which it is compared with processor sharing:
/// that of the slowest link, or of a slower rate of the port's own. Of equally slow links, one that more
/// files share limits each of them more: an incast over links of one rate waits at its last one.
///
/// # Errors
/// If a law cannot be built. Reading the scenario normally finds this first.
pub(crate) fn record_files(
    scenario: &Scenario,
    seed: Seed,
    recording: &mut Recording,
) -> Result<(), Failure> {
    let drawn = random_files(scenario, seed)?;
    let file = |index: usize| -> Option<(Instant, Option<Bytes>, u32)> {
        let flow = &scenario.flows[index];
        let Transport::Tcp(model) = flow.transport else { return None };
        let start = Instant::ZERO + flow.start;
        match model.application {
            Application::Unlimited => Some((start, None, model.mss)),
            Application::File(bytes) => Some((start, Some(bytes), model.mss)),
            Application::Drawn => drawn[index].map(|(start, bytes)| (start, Some(bytes), model.mss)),
            Application::Stream
            | Application::Echo
            | Application::Pages { .. }
            | Application::Control { .. } => None,
        }
    };
    let with_files = || (0..scenario.flows.len()).filter_map(|index| Some((index, file(index)?)));
    let mut files_at = vec![0_u32; scenario.ports.len()];
    for (index, _) in with_files() {
        path(scenario, index).for_each(|port| files_at[port] += 1);
    }
    for (index, (start, bytes, mss)) in with_files() {
        let slowest = path(scenario, index)
            .min_by_key(|port| (recording_rate(recording, *port), Reverse(files_at[*port])));
        let Some(port) = slowest else { continue };
        let flow = &scenario.flows[index];
        let charged = bytes.map_or(Bytes::ZERO, |bytes| charged(scenario, port, flow, mss, bytes));
        if let Some(record) = recording.flows.get_mut(index) {
            record.file = Some(Box::new(FileRecord { start, bytes, charged, port: port as u32 }));
        }
    }
    Ok(())
}

fn recording_rate(recording: &Recording, port: usize) -> u64 {
    recording.ports.get(port).map_or(u64::MAX, |port| port.setup.rate.as_bits())
}

/// Returns the bytes that `port` or its link charges for a file sent in full segments.
fn charged(scenario: &Scenario, port: usize, flow: &Flow, mss: u32, bytes: Bytes) -> Bytes {
    let port = &scenario.ports[port];
    let link = &scenario.links[port.link];
    let headers = frame_headers(flow);
    let (full, rest) = (bytes.0 / u64::from(mss), (bytes.0 % u64::from(mss)) as u32);
    let last = if rest > 0 { port.charged(link, headers + rest) } else { Bytes::ZERO };
    Bytes(port.charged(link, headers + mss).0.saturating_mul(full).saturating_add(last.0))
}
