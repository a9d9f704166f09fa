//! Requests and answers in a few numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use super::build::ratio;
use crate::recording::{Asks, FlowRecord, Recording, Requests, Window};

/// What came of a flow's requests to send them back. Those sent during the warm-up are not in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EchoSummary {
    /// Requests sent.
    pub requests: u64,
    /// Requests answered.
    pub answers: u64,
    /// Round-trip time (RFC 2681), in seconds.
    pub rtt_s: Distribution,
    /// Requests of which they or their answers were lost, of all (RFC 6673); those under way at the end are not lost.
    pub rtt_loss_ratio: Option<f64>,
    /// Time between two answers, in seconds.
    pub answer_gap_s: Distribution,
}

/// What came of a flow's requests for pages. Those sent during the warm-up are not in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PagesSummary {
    /// Pages asked for.
    pub requests: u64,
    /// Pages that were there whole.
    pub loaded: u64,
    /// From the first request of a page until its last object is there, in seconds.
    pub load_s: Distribution,
}

/// What came of the echoes a flow asked for.
pub(super) fn echo(recording: &Recording, record: &FlowRecord) -> Option<EchoSummary> {
    let requests = record.requests.as_deref()?;
    let (asked, lost) = match requests.asks {
        Asks::Pages => return None,
        Asks::Echo => (requests.asked, 0),
        Asks::DatagramEcho { answers } => {
            let there = record.totals(Window::AfterWarmup);
            let back = recording.flows.get(answers).map(|back| back.totals(Window::AfterWarmup));
            (there.sent.packets, there.lost.packets + back.map_or(0, |back| back.lost.packets))
        }
    };
    Some(EchoSummary {
        requests: asked,
        answers: requests.answered,
        rtt_s: Distribution::of_picos(&requests.times),
        rtt_loss_ratio: ratio(lost as f64, asked as f64),
        answer_gap_s: Distribution::of_picos(&requests.gaps),
    })
}

/// What came of the pages a flow asked for.
pub(super) fn pages(record: &FlowRecord) -> Option<PagesSummary> {
    let Requests { asks: Asks::Pages, asked, answered, times, .. } = record.requests.as_deref()? else {
        return None;
    };
    Some(PagesSummary { requests: *asked, loaded: *answered, load_s: Distribution::of_picos(times) })
}
