//! Metrics of flows.

use super::Better::{Higher, Lower};
use super::Statistic::{Max, Mean, P50, P99};
use super::groups::{PROCESSOR_SHARING, PS_FCT, SLOWDOWN};
use super::read::{Of, Read, Reading, number, seen};
use super::series::{Fold, Series, Values, bits, counts, of, seconds, tcp};
use super::{Metric, OverMembers, Unit};

/// Metrics of flows, in the order of `summary.json`.
pub(super) const FLOWS: [Metric; 36] = [
    Metric {
        name: "owd",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 7679",
        definition: "one-way delay: from when the source sends a packet to when its last bit arrives; \
             lost packets are not in it",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.owd_s))),
        series: &[
            Series::flow("owd_p50", Fold::Mean, |flow| of(flow, seconds(&flow.series().owd_p50))),
            Series::flow("owd_max", Fold::Max, |flow| of(flow, seconds(&flow.series().owd_max))),
        ],
        values: Some(Values::Flow(|flow| Some(&flow.delays().owd))),
        over_members: Some(OverMembers { rank: 0, statistics: &[P99, Max, P50, Mean] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "owd.bound",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "Le Boudec and Thiran, Network Calculus, 2001",
        definition: "bound on the one-way delay that `lockgate prove` derives: it holds for all traffic within the \
             envelopes, whatever the run; none for TCP, and where no theorem is known",
        read: Read::Flow(Of::Value(|flow| seen(flow.owd_bound_s))),
        over_members: Some(OverMembers { rank: 8, statistics: &[] }),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "queueing",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 7679",
        definition: "the part of the one-way delay spent waiting in queues",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.queueing_s))),
        values: Some(Values::Flow(|flow| Some(&flow.delays().queueing))),
        over_members: Some(OverMembers { rank: 1, statistics: &[P99] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "serialisation",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 7679",
        definition: "the part of the one-way delay spent being put on links and served by routers",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.serialisation_s))),
        values: Some(Values::Flow(|flow| Some(&flow.delays().serialisation))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "propagation",
        unit: Unit::Seconds,
        source: "RFC 7679",
        definition: "the part of the one-way delay spent propagating, mean",
        read: Read::Flow(Of::Value(|flow| seen(flow.propagation_s))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "ipdv",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 3393",
        definition: "delay variation, magnitude: difference of the one-way delays of two packets sent one \
             after the other and received one after the other; a pair broken by loss or \
             reordering is undefined and left out",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.ipdv_s))),
        values: Some(Values::Flow(|flow| Some(&flow.delays().ipdv))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "ipdv_signed_mean",
        unit: Unit::Seconds,
        source: "RFC 3393",
        definition: "mean delay variation with its sign",
        read: Read::Flow(Of::Value(|flow| seen(flow.ipdv_signed_mean_s))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "pdv",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 5481",
        definition: "delay above the smallest one-way delay of the flow",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.pdv_s))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "jitter_rfc3550",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 3550 section 6.4.1",
        definition: "interarrival jitter after the last packet received: the difference of transit times, \
             smoothed by 1/16",
        read: Read::Flow(Of::Value(|flow| seen(flow.jitter_rfc3550_s))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "iat",
        unit: Unit::Seconds,
        better: Some(Lower),
        definition: "inter-arrival time: between the last bits of two packets at the receiver",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.iat_s))),
        values: Some(Values::Flow(|flow| Some(&flow.delays().iat))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "throughput",
        unit: Unit::BitsPerSecond,
        better: Some(Higher),
        definition: "frame bits received during the window, whenever they were sent, a second",
        read: Read::Flow(Of::Value(|flow| seen(flow.throughput_bps))),
        series: &[Series::flow("throughput", Fold::Rate, |flow| bits(flow, |series| &series.received_bytes))],
        over_members: Some(OverMembers { rank: 3, statistics: &[] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "goodput",
        unit: Unit::BitsPerSecond,
        better: Some(Higher),
        source: "RFC 2647 section 3.17",
        definition: "payload bits that arrived during the window a second: without headers, each byte \
             when it arrives first, in order or not; so never more than the throughput",
        read: Read::Flow(Of::Value(|flow| seen(flow.goodput_bps))),
        over_members: Some(OverMembers { rank: 4, statistics: &[] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "loss",
        unit: Unit::Ratio,
        better: Some(Lower),
        source: "RFC 7680",
        definition: "packets lost of those sent in the window",
        read: Read::Flow(Of::Value(|flow| seen(flow.loss_ratio))),
        over_members: Some(OverMembers { rank: 2, statistics: &[] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "reordered",
        unit: Unit::Ratio,
        better: Some(Lower),
        source: "RFC 4737 section 4.1",
        definition: "packets received after one that was sent later, of all received",
        read: Read::Flow(Of::Value(|flow| seen(flow.reordered_ratio))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "fct",
        unit: Unit::Seconds,
        better: Some(Lower),
        definition: "flow completion time: from its start until all it had was delivered",
        read: Read::Flow(Of::Value(|flow| {
            (flow.tcp.is_some() || flow.fct_s.is_some()).then_some(Reading(flow.fct_s))
        })),
        over_members: Some(OverMembers { rank: 7, statistics: &[] }),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "file_bytes",
        unit: Unit::Bytes,
        definition: "size of the file it carries, without headers",
        read: Read::Flow(Of::Value(|flow| number(flow.file.as_ref()?.bytes))),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "ps_fct",
        unit: Unit::Seconds,
        source: PROCESSOR_SHARING,
        definition: PS_FCT,
        read: Read::Flow(Of::Value(|flow| seen(flow.file.as_ref()?.ps_fct_s))),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "slowdown",
        unit: Unit::Number,
        better: Some(Lower),
        source: PROCESSOR_SHARING,
        definition: SLOWDOWN,
        read: Read::Flow(Of::Value(|flow| seen(flow.file.as_ref()?.slowdown))),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "rtt",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 2681",
        definition: "round-trip time of an echo: from when a request is sent until its answer is there; \
             what is not answered is not in it",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.echo.as_ref()?.rtt_s))),
        values: Some(Values::Flow(|flow| Some(&flow.requests.as_ref()?.times))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "rtt_loss",
        unit: Unit::Ratio,
        better: Some(Lower),
        source: "RFC 6673",
        definition: "requests of an echo that were lost, or whose answers were, of those sent in the window",
        read: Read::Flow(Of::Value(|flow| seen(flow.echo.as_ref()?.rtt_loss_ratio))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "answer_gap",
        unit: Unit::Seconds,
        better: Some(Lower),
        definition: "time between two answers of an echo",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.echo.as_ref()?.answer_gap_s))),
        values: Some(Values::Flow(|flow| Some(&flow.requests.as_ref()?.gaps))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "page_load",
        unit: Unit::Seconds,
        better: Some(Lower),
        definition: "from the first request of a page until its last object is there, requests sent in \
             the window",
        read: Read::Flow(Of::Distribution(|flow| Some(&flow.pages.as_ref()?.load_s))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "r_factor",
        unit: Unit::Number,
        better: Some(Higher),
        source: "ITU-T G.107",
        definition: "rating of a call by the E-model, from 0 to 93.2: from the delay between mouth and \
             ear and from what is lost or late, at the fixed playout delay that is best",
        read: Read::Flow(Of::Value(|flow| seen(flow.voice.as_ref()?.r_factor))),
        over_members: Some(OverMembers { rank: 5, statistics: &[] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "mos",
        unit: Unit::Number,
        better: Some(Higher),
        source: "ITU-T G.107 annex B",
        definition: "mean opinion score of that rating, from 1 to 4.5",
        read: Read::Flow(Of::Value(|flow| seen(flow.voice.as_ref()?.mos))),
        over_members: Some(OverMembers { rank: 6, statistics: &[] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "retransmissions",
        unit: Unit::Packets,
        better: Some(Lower),
        source: "RFC 5681",
        definition: "segments the TCP sender sent again in the window",
        read: Read::Flow(Of::Value(|flow| number(flow.tcp.as_ref()?.retransmissions))),
        series: &[Series::flow("retransmissions", Fold::Growth, |flow| {
            tcp(flow, |sample| sample.retransmissions)
        })],
        over_members: Some(OverMembers { rank: 8, statistics: &[] }),
        ..Metric::DEFAULT
    },
    Metric {
        name: "timeouts",
        unit: Unit::Number,
        better: Some(Lower),
        source: "RFC 6298",
        definition: "times the TCP sender's retransmission timer expired in the window",
        read: Read::Flow(Of::Value(|flow| number(flow.tcp.as_ref()?.timeouts))),
        series: &[Series::flow("timeouts", Fold::Growth, |flow| tcp(flow, |sample| sample.timeouts))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "cwnd_mean",
        unit: Unit::Bytes,
        source: "RFC 5681",
        definition: "mean congestion window of the samples in the window, payload",
        read: Read::Flow(Of::Value(|flow| seen(flow.tcp.as_ref()?.cwnd_mean_bytes))),
        series: &[
            Series::flow("cwnd", Fold::Mean, |flow| tcp(flow, |sample| sample.cwnd.0)),
            Series::flow("in_flight", Fold::Mean, |flow| tcp(flow, |sample| sample.in_flight.0)),
        ],
        ..Metric::DEFAULT
    },
    Metric {
        name: "cwnd_min",
        unit: Unit::Bytes,
        source: "RFC 5681",
        definition: "smallest congestion window of the samples in the window, payload",
        read: Read::Flow(Of::Value(|flow| seen(flow.tcp.as_ref()?.cwnd_min_bytes))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "cwnd_max",
        unit: Unit::Bytes,
        source: "RFC 5681",
        definition: "largest congestion window of the samples in the window, payload",
        read: Read::Flow(Of::Value(|flow| seen(flow.tcp.as_ref()?.cwnd_max_bytes))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "rtt_mean",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 6298",
        definition: "mean of the TCP sender's smoothed round-trip time",
        read: Read::Flow(Of::Value(|flow| seen(flow.tcp.as_ref()?.rtt_mean_s))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "sent_packets",
        unit: Unit::Packets,
        definition: "packets the source sent in the window",
        read: Read::Flow(Of::Count(|flow| flow.sent_packets)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "sent_bytes",
        unit: Unit::Bytes,
        definition: "frame bytes the source sent in the window",
        read: Read::Flow(Of::Count(|flow| flow.sent_bytes)),
        series: &[Series::flow("offered", Fold::Rate, |flow| bits(flow, |series| &series.offered_bytes))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "received_packets",
        unit: Unit::Packets,
        better: Some(Higher),
        definition: "packets received of those sent in the window",
        read: Read::Flow(Of::Count(|flow| flow.received_packets)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "received_bytes",
        unit: Unit::Bytes,
        better: Some(Higher),
        definition: "frame bytes received of those sent in the window",
        read: Read::Flow(Of::Count(|flow| flow.received_bytes)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "lost_packets",
        unit: Unit::Packets,
        better: Some(Lower),
        source: "RFC 7680",
        definition: "packets lost of those sent in the window",
        read: Read::Flow(Of::Count(|flow| flow.lost_packets)),
        series: &[Series::flow("lost_packets", Fold::Sum, |flow| {
            of(flow, counts(&flow.series().lost_packets))
        })],
        ..Metric::DEFAULT
    },
    Metric {
        name: "inside_packets",
        unit: Unit::Packets,
        definition: "packets sent in the window that were in the network at the end",
        read: Read::Flow(Of::Count(|flow| flow.inside_packets)),
        ..Metric::DEFAULT
    },
];
