//! Results of requests and answers.

use serde::{Deserialize, Serialize};

use super::{Distribution, ratio};
use crate::recording::{FlowRecord, RequestKind, Requests, Totals, Window};

/// Results of a flow's echo requests. Those sent during the warm-up are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EchoSummary {
    /// Requests sent.
    pub requests: u64,
    /// Requests answered.
    pub answers: u64,
    /// Round-trip time (RFC 2681), in seconds.
    pub rtt_s: Distribution,
    /// Fraction of the requests of which they or their answers were lost (RFC 6673); those in the network
    /// at the end do not count as lost.
    pub rtt_loss_ratio: Option<f64>,
    /// Time between successive answers, in seconds.
    pub answer_gap_s: Distribution,
}

/// Results of a flow's requests for pages. Those sent during the warm-up are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PagesSummary {
    /// Pages requested.
    pub requests: u64,
    /// Pages loaded completely.
    pub loaded: u64,
    /// Time from the first request of a page until its last object has arrived, in seconds.
    pub load_s: Distribution,
}

/// Returns the results of a flow's echo requests, if it makes any. `flow` returns the record of the flow with
/// an index, of the same time.
pub(super) fn echo<'r>(
    record: &FlowRecord,
    flow: impl Fn(usize) -> Option<&'r FlowRecord>,
) -> Option<EchoSummary> {
    let requests = record.requests.as_deref()?;
    let (asked, lost) = match requests.kind {
        RequestKind::Pages => return None,
        RequestKind::Echo => (requests.asked, 0),
        RequestKind::DatagramEcho { answers } => {
            let there = record.totals(Window::AfterWarmup);
            let back = flow(answers).map(|back| back.totals(Window::AfterWarmup));
            let both = |of: fn(&Totals) -> u64| of(&there) + back.as_ref().map_or(0, of);
            // An answer that was lost in the window may be to a request before it.
            let known = requests.answered + both(|totals| totals.inside.packets);
            let lost = both(|totals| totals.lost.packets);
            (there.sent.packets, lost.min(there.sent.packets.saturating_sub(known)))
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

/// Returns the results of a flow's requests for pages, if it makes any.
pub(super) fn pages(record: &FlowRecord) -> Option<PagesSummary> {
    let Requests { kind: RequestKind::Pages, asked, answered, times, .. } = record.requests.as_deref()?
    else {
        return None;
    };
    Some(PagesSummary { requests: *asked, loaded: *answered, load_s: Distribution::of_picos(times) })
}
