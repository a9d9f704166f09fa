//! Metrics of ports and of their queues.

use super::Better::{Higher, Lower};
use super::read::{Of, Read, seen};
use super::series::{Fold, Series, Values, counts, packets, rates, seconds};
use super::{Metric, Unit};
use crate::recording::PortRecord;

/// Metrics of ports, then of queues, in the order of `summary.json`.
pub(super) const PORTS: [Metric; 17] = [
    Metric {
        name: "utilisation",
        unit: Unit::Ratio,
        better: Some(Higher),
        source: "RFC 5136 section 2.3",
        definition: "bits sent, the link's overhead included, of those it could send in the window; of a port \
             with a rate of its own below that of its link, of those that this rate allows",
        read: Read::Port(Of::Value(|port| seen(port.utilisation))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "rate",
        unit: Unit::BitsPerSecond,
        definition: "rate at the start of the run: that of the link, or a smaller one of the port's own",
        read: Read::Port(Of::Value(|port| seen(Some(port.rate_bps)))),
        parts: false,
        ..Metric::DEFAULT
    },
    Metric {
        name: "capacity",
        unit: Unit::BitsPerSecond,
        source: "RFC 5136 section 2.3",
        definition: "mean rate that the link could have carried in the window: of a trace, or of a rate that \
             changes; of a port with a rate of its own below that of its link, the mean of this rate",
        read: Read::Port(Of::Value(|port| seen(port.capacity_bps))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "requests_met",
        unit: Unit::Ratio,
        definition: "of the device ring's requests for a packet in the window, those that the scheduler \
             answered with one",
        read: Read::Port(Of::Value(|port| seen(Some(port.requests_met_ratio?)))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "requests_contended",
        unit: Unit::Ratio,
        definition: "of the packets the device ring got from the scheduler in the window, those for which \
             two or more of the root's queues had one waiting: how often there was anything to \
             decide",
        read: Read::Port(Of::Value(|port| seen(Some(port.requests_contended_ratio?)))),
        ..Metric::DEFAULT
    },
    Metric {
        name: "sojourn",
        unit: Unit::Seconds,
        better: Some(Lower),
        source: "RFC 8289",
        definition: "from a packet's arrival at the port until its transmission begins, by the queue it \
             was in; a packet that a replaced tree handed over is not in it, because it waited in \
             another queue before",
        read: Read::Queue(Of::Distribution(|queue| Some(&queue.sojourn_s))),
        values: Some(Values::Queue(PortRecord::sojourn)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "scheduling_mean",
        unit: Unit::Seconds,
        better: Some(Lower),
        definition: "mean time from a packet's arrival at the port until the scheduler gave it to the \
             device ring, where there is one",
        read: Read::Queue(Of::Value(|queue| seen(Some(queue.scheduling_mean_s?)))),
        series: &[Series::queue("scheduling_mean", Fold::Mean, |series| seconds(&series.scheduling))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "enqueued_packets",
        unit: Unit::Packets,
        definition: "packets offered to the queue in the window, dropped ones among them",
        read: Read::Queue(Of::Count(|queue| queue.enqueued_packets)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "offered_bytes",
        unit: Unit::Bytes,
        definition: "frame bytes offered to the queue in the window",
        read: Read::Queue(Of::Count(|queue| queue.offered_bytes)),
        series: &[Series::queue("offered", Fold::Rate, |series| rates(&series.offered_bytes))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "sent_packets",
        unit: Unit::Packets,
        definition: "packets that left the queue by its front in the window",
        read: Read::Queue(Of::Count(|queue| queue.sent_packets)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "sent_bytes",
        unit: Unit::Bytes,
        definition: "frame bytes that left the queue by its front in the window",
        read: Read::Queue(Of::Count(|queue| queue.sent_bytes)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "throughput",
        unit: Unit::BitsPerSecond,
        better: Some(Higher),
        definition: "frame bits that left the queue by its front in the window a second of the time that \
             the queue was in the port's tree",
        read: Read::Queue(Of::Value(|queue| seen(queue.throughput_bps))),
        series: &[Series::queue("throughput", Fold::Rate, |series| rates(&series.sent_bytes))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "dropped_packets",
        unit: Unit::Packets,
        better: Some(Lower),
        definition: "packets dropped in the window, here or below",
        read: Read::Queue(Of::Count(|queue| queue.dropped_packets)),
        series: &[Series::queue("dropped_packets", Fold::Sum, |series| counts(&series.dropped_packets))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "marked_packets",
        unit: Unit::Packets,
        source: "RFC 3168",
        definition: "packets marked with congestion experienced in the window, here or below",
        read: Read::Queue(Of::Count(|queue| queue.marked_packets)),
        ..Metric::DEFAULT
    },
    Metric {
        name: "backlog_packets",
        unit: Unit::Packets,
        better: Some(Lower),
        definition: "packets waiting at the end of the run",
        read: Read::Queue(Of::Count(|queue| queue.backlog_packets)),
        series: &[Series::queue("backlog_packets", Fold::Mean, |series| packets(&series.backlog))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "peak_backlog_packets",
        unit: Unit::Packets,
        better: Some(Lower),
        definition: "the most packets that waited at once in the window",
        read: Read::Queue(Of::Count(|queue| queue.peak_backlog_packets)),
        series: &[Series::queue("peak_backlog_packets", Fold::Max, |series| packets(&series.peak))],
        ..Metric::DEFAULT
    },
    Metric {
        name: "mean_backlog_packets",
        unit: Unit::Packets,
        better: Some(Lower),
        source: "Little, A Proof for the Queuing Formula L = \u{3bb}W (1961)",
        definition: "mean number of packets that waited (Lq of queueing theory: without the one in \
             transmission), by Little's law: the sum of the waits of the packets sent in the window, of its \
             length; the mean over time, but for packets that waited across an end of the window or were \
             dropped after a wait",
        read: Read::Queue(Of::Value(|queue| seen(queue.mean_backlog_packets))),
        ..Metric::DEFAULT
    },
];
