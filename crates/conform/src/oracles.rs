//! The list of oracles.
//!
//! To add one: write `oracles/<name>.rs`, then name it in the list below. `lockgate conform`, its reference
//! page and the tests follow from this list.

use crate::oracle::Entry;

macro_rules! oracles {
    ($($module:ident :: $oracle:ident),* $(,)?) => {
        $(mod $module;)*

        /// The oracles, in the order of the list.
        pub const ALL: &[Entry] = &[$(Entry::of::<$module::$oracle>()),*];
    };
}

oracles! {
    busy_periods::BusyPeriods,
    mean_wait::MeanWait,
    pollaczek::Pollaczek,
    full_buffer::FullBuffer,
    cobham::Cobham,
    envelope::Envelope,
    delivery::Delivery,
    by_the_second::ByTheSecond,
    meter_colours::MeterColours,
    changes::Changes,
    byte_rounds::ByteRounds,
    packet_rounds::PacketRounds,
    smaller_quantum::SmallerQuantum,
    latency::Latency,
    first_turn::FirstTurn,
    low_band::LowBand,
    guard::Guard,
    ets_bands::EtsBands,
    fluid::FluidServer,
    gps::GpsLate,
    fair_index::FairIndex,
    slot_index::SlotIndex,
    own_rate::OwnRate,
    tags::Tags,
    many_children::ManyChildren,
    red_average::RedAverage,
    red_gaps::RedGaps,
    red_idle::RedIdle,
    red_adaptive::RedAdaptive,
    choke_share::ChokeShare,
    choke_draw::ChokeDraw,
    codel_schedule::CodelSchedule,
    codel_memory::CodelMemory,
    codel_backlog::CodelBacklog,
    codel_marks::CodelMarks,
    cobalt_schedule::CobaltSchedule,
    cobalt_blue::CobaltBlue,
    cobalt_ebb::CobaltEbb,
    last_packet::LastPacket,
    sparse_flow::SparseFlow,
    fattest_flow::FattestFlow,
    pie_update::PieUpdate,
    pie_target::PieTarget,
    pie_burst::PieBurst,
    pie_alone::PieAlone,
    fq_pie_flows::FqPieFlows,
    dualpi2_update::DualPi2Update,
    dualpi2_hits::DualPi2Hits,
    dualpi2_step::DualPi2Step,
    dualpi2_protection::DualPi2Protection,
    dualpi2_senders::DualPi2Senders,
    cake_gaps::CakeGaps,
    cake_late::CakeLate,
    cake_changes::CakeChanges,
    cake_ingress::CakeIngress,
    cake_flows::CakeFlows,
    cake_hosts::CakeHosts,
    cake_loads::CakeLoads,
    cake_tins::CakeTins,
    cake_voice::CakeVoice,
    cake_ways::CakeWays,
    cake_flood::CakeFlood,
    cake_acks::CakeAcks,
    code_points::CodePoints,
    deadlines::Deadlines,
    buffer_share::BufferShare,
    short_bytes::ShortBytes,
    short_waits::ShortWaits,
    rank_order::RankOrder,
    link_sharing::LinkSharing,
    class_envelope::ClassEnvelope,
    class_guarantee::ClassGuarantee,
    service_deadlines::ServiceDeadlines,
    virtual_shares::VirtualShares,
    upper_limit::UpperLimit,
    coarse_clock::CoarseClock,
    device_ring::DeviceRing,
    cbq_clock::CbqClock,
    cbq_sharing::CbqSharing,
    cbq_rounds::CbqRounds,
    scaled_time::ScaledTime,
    renamed_flows::RenamedFlows,
    idle_child::IdleChild,
    merged_flows::MergedFlows,
}

/// Returns the oracle called `name`.
pub fn named(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
