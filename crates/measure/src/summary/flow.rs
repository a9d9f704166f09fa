//! Results of a flow.

use lockgate_engine::units::Duration;

use super::{Distribution, FlowSummary, PICOS, TcpLimits, TcpSummary, VoiceSummary, ratio, requests};
use crate::emodel::Codec;
use crate::recording::{Brief, FlowRecord, TcpLimit, TcpRecord, Window};

/// Returns the results of a flow in a window of so many seconds, without its file and echo.
pub(super) fn flow(record: &FlowRecord, window: f64) -> FlowSummary {
    let totals = record.totals(Window::AfterWarmup);
    let (delays, brief) = (record.delays(), record.brief());
    let received = brief.map_or(delays.owd.count(), |brief| brief.owd.count());
    let [owd_s, queueing_s, pdv_s] = match brief {
        Some(Brief { owd, queueing, .. }) => {
            [Distribution::of_picos(owd), Distribution::of_picos(queueing), Distribution::above_min(owd)]
        }
        None => [
            Distribution::of_picos(&delays.owd),
            Distribution::of_picos(&delays.queueing),
            Distribution::above_min(&delays.owd),
        ],
    };
    FlowSummary {
        owd_bound_s: None,
        no_bound: None,
        sent_packets: totals.sent.packets,
        sent_bytes: totals.sent.bytes.0,
        received_packets: totals.received.packets,
        received_bytes: totals.received.bytes.0,
        lost_packets: totals.lost.packets,
        lost_by: record.lost_by().map(|(why, packets)| (why.name().to_owned(), packets)).collect(),
        inside_packets: totals.inside.packets,
        throughput_bps: ratio(record.received_in_window().bytes.0 as f64 * 8.0, window),
        goodput_bps: ratio(record.payload_in_window().0 as f64 * 8.0, window),
        loss_ratio: ratio(totals.lost.packets as f64, totals.sent.packets as f64),
        reordered_ratio: ratio(delays.reordered as f64, received as f64),
        owd_s,
        queueing_s,
        serialisation_s: Distribution::of_picos(&delays.serialisation),
        propagation_s: ratio(delays.propagation_sum as f64 / PICOS, received as f64),
        ipdv_s: Distribution::of_picos(&delays.ipdv),
        ipdv_signed_mean_s: delays.ipdv_signed_mean().map(|mean| mean / PICOS),
        pdv_s,
        jitter_rfc3550_s: (!delays.iat.is_empty() || (brief.is_some() && received > 1))
            .then(|| delays.jitter().as_secs_f64()),
        iat_s: Distribution::of_picos(&delays.iat),
        fct_s: record.completed().map(Duration::as_secs_f64),
        file: None,
        echo: None,
        pages: requests::pages(record),
        voice: record.setup.codec.map(|codec| voice(codec, record, totals.lost.packets)),
        tcp: record.tcp.as_deref().map(tcp),
    }
}

fn voice(codec: &Codec, record: &FlowRecord, lost: u64) -> VoiceSummary {
    match record.brief() {
        Some(brief) => VoiceSummary::of(codec, &brief.owd, lost),
        None => VoiceSummary::of(codec, &record.delays().owd, lost),
    }
}

fn tcp(record: &TcpRecord) -> TcpSummary {
    let samples = record.window().count() as f64;
    let windows = || record.window().map(|sample| sample.cwnd.0 as f64);
    let rtts: Vec<f64> = record.window().filter_map(|sample| sample.rtt).map(Duration::as_secs_f64).collect();
    TcpSummary {
        congestion: record.congestion.to_owned(),
        retransmissions: record.counted(|sample| sample.retransmissions),
        timeouts: record.counted(|sample| sample.timeouts),
        recoveries: record.counted(|sample| sample.recoveries),
        mark_reductions: record.counted(|sample| sample.mark_reductions),
        undone: record.counted(|sample| sample.undone),
        cwnd_mean_bytes: ratio(windows().sum(), samples),
        cwnd_min_bytes: windows().reduce(f64::min),
        cwnd_max_bytes: windows().reduce(f64::max),
        rtt_mean_s: ratio(rtts.iter().sum(), rtts.len() as f64),
        limits: limits(record),
    }
}

fn limits(record: &TcpRecord) -> Option<TcpLimits> {
    let observed = record.window().filter(|sample| sample.limit.is_some()).count() as f64;
    let share = |limit| {
        let count = record.window().filter(|sample| sample.limit == Some(limit)).count();
        ratio(count as f64, observed)
    };
    Some(TcpLimits {
        application_ratio: share(TcpLimit::Application)?,
        receive_window_ratio: share(TcpLimit::ReceiveWindow)?,
        congestion_window_ratio: share(TcpLimit::CongestionWindow)?,
        pacing_ratio: share(TcpLimit::Pacing)?,
    })
}
