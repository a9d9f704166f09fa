//! Theorems that derivations name.

/// Theorem with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Theorem {
    /// Delay of a FIFO queue.
    Fifo,
    /// Delay of a priority class.
    Priority,
    /// Delay below deficit round robin.
    DeficitRounds,
    /// Delay below round robin by packets.
    PacketRounds,
    /// Delay below weighted fair queueing and WF2Q+.
    Pgps,
    /// Delay below self-clocked fair queueing.
    SelfClocked,
    /// Delay below start-time fair queueing.
    StartTime,
    /// Delay of earliest deadline first.
    Deadlines,
    /// Delay of a token bucket filter.
    Shaper,
    /// Delay of a class with a token bucket.
    TokenClass,
    /// Delay of a leaf with a real-time service curve.
    ServiceCurve,
    /// Arrivals on a cycle.
    FixedPoint,
    /// Delay of any work-conserving order.
    BusyPeriod,
    /// Envelope behind a policer.
    Policer,
    /// Last packet at the speed of the line.
    LineSpeed,
    /// Envelope after a delay.
    Jitter,
    /// Envelope after a service curve.
    Output,
    /// Envelope of what one line carries.
    LineShaping,
    /// Sum of the delays of the servers.
    TotalFlow,
    /// Convolution of what the servers leave.
    SeparateFlow,
    /// Envelope of what the sources state.
    Envelope,
}

impl Theorem {
    /// Returns its name, as derivations use it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "FIFO",
            Self::Priority => "strict priority",
            Self::DeficitRounds => "DRR",
            Self::PacketRounds => "WRR",
            Self::Pgps => "PGPS",
            Self::SelfClocked => "SCFQ",
            Self::StartTime => "STFQ",
            Self::Deadlines => "EDF",
            Self::Shaper => "greedy shaper",
            Self::TokenClass => "HTB",
            Self::ServiceCurve => "H-FSC",
            Self::FixedPoint => "fixed point",
            Self::BusyPeriod => "busy period",
            Self::Policer => "policer",
            Self::LineSpeed => "line speed",
            Self::Jitter => "jitter",
            Self::Output => "output",
            Self::LineShaping => "line shaping",
            Self::TotalFlow => "total flow analysis",
            Self::SeparateFlow => "pay bursts only once",
            Self::Envelope => "envelope",
        }
    }

    /// Returns the theorem in one sentence.
    pub const fn statement(self) -> &'static str {
        match self {
            Self::Fifo => "delay <= h(A, C t), the horizontal deviation of all arrivals from the rate",
            Self::Priority => {
                "service = C t - A_higher(t) - L_lower: one lower packet blocks, higher ones pass"
            }
            Self::DeficitRounds => {
                "others send at most Q_j + d_j before the first turn and Q_j for each further Q_i"
            }
            Self::PacketRounds => {
                "others send at most w_j L_j before the first turn and for each w_i packets"
            }
            Self::Pgps => "delay <= h(A, r t) + L_max/C, with r the child's share of the rate",
            Self::SelfClocked => "delay <= h(A, r t) + sum of L_j/C over the other children",
            Self::StartTime => "delay <= h(A - l, r t) + sum of L_j/C over the other children + l/C",
            Self::Deadlines => "delay <= d + x if sum of A_i(t - d_i) + L_later <= C (t + x) for all t",
            Self::Shaper => "delay <= max of h(A, C t) and h(A - B, R t) + L/C: a shaper adds no more",
            Self::TokenClass => {
                "service r (t - l/r - K/(C - R)): others with tokens send at most R t + sum(b_j + L_j), K with one packet"
            }
            Self::ServiceCurve => {
                "delay <= h(A, S) + L_max/C if the real-time curves sum to no more than C t"
            }
            Self::FixedPoint => {
                "arrivals that reproduce themselves around a cycle hold, if the network begins empty"
            }
            Self::BusyPeriod => "delay <= first t with A(t) <= C t, in whatever order packets are sent",
            Self::Policer => "no more than the bucket passes in any interval",
            Self::LineSpeed => "delay <= h(A - l, service) + l/C: the packet itself takes the whole line",
            Self::Jitter => "output A(t + D - d): packets gather by no more than their delays differ",
            Self::Output => "output (A / service)(t) + L, the deconvolution and one packet",
            Self::LineShaping => "a line ends at most L_max + C t in any interval t",
            Self::TotalFlow => "end to end <= sum of the delay bounds of the queues",
            Self::SeparateFlow => "end to end <= h(A, convolution of what each queue leaves the flow)",
            Self::Envelope => "in any interval t at most the least of burst + rate t",
        }
    }

    /// Returns where it is proven.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Fifo => {
                "Cruz, IEEE Trans. IT 37 (1991); Le Boudec and Thiran, Network Calculus, theorem 1.4.2"
            }
            Self::Priority => "Bouillard, Boyer and Le Corronc, Deterministic Network Calculus, theorem 7.6",
            Self::DeficitRounds => {
                "Boyer, Stea and Mangoua Sofack, VALUETOOLS 2012; Tabatabaee and Le Boudec, RTAS 2021, theorem 1"
            }
            Self::PacketRounds => {
                "Bouillard, Boyer and Le Corronc, Deterministic Network Calculus, section 8.2.4"
            }
            Self::Pgps => "Parekh and Gallager, IEEE/ACM ToN 1 (1993), theorem 1; Goyal, Lam and Vin, 1995",
            Self::SelfClocked => "Golestani, INFOCOM 1994; Goyal, Lam and Vin, 1995",
            Self::StartTime => "Goyal, Vin and Cheng, SIGCOMM 1996, theorem 4",
            Self::Deadlines => {
                "Georgiadis, Guerin and Parekh, INFOCOM 1994; Liebeherr, Wrege and Ferrari, ToN 4 (1996)"
            }
            Self::Shaper => "Le Boudec and Thiran, Network Calculus, theorem 1.5.2",
            Self::TokenClass => {
                "Lockgate, docs/decisions/157; after Stiliadis and Varma, Latency-rate servers, ToN 6 (1998)"
            }
            Self::ServiceCurve => {
                "Stoica, Zhang and Ng, SIGCOMM 1997, theorem 1; Sariowan, Cruz and Polyzos, 1995"
            }
            Self::FixedPoint => {
                "Thomas, Le Boudec and Mifdaoui, RTSS 2019, theorem 1; Le Boudec and Thiran, section 6.3.2"
            }
            Self::BusyPeriod => "Le Boudec and Thiran, Network Calculus, section 1.4",
            Self::Policer => "RFC 2697; Le Boudec and Thiran, Network Calculus, section 1.2.2",
            Self::LineSpeed => "Mohammadpour, Stai and Le Boudec, IEEE Networking Letters 1 (2019)",
            Self::Jitter => "Bouillard, Boyer and Le Corronc, Deterministic Network Calculus, theorem 5.3",
            Self::Output => "Le Boudec and Thiran, Network Calculus, theorems 1.4.3 and 1.7.1",
            Self::LineShaping => "Mifdaoui and Leydier, CRTS 2017; Thomas, Le Boudec and Mifdaoui, RTSS 2019",
            Self::TotalFlow => "Schmitt and Zdarsky, VALUETOOLS 2006",
            Self::SeparateFlow => {
                "Le Boudec and Thiran, Network Calculus, theorem 1.4.6 and proposition 6.4.1"
            }
            Self::Envelope => "RFC 2697; Le Boudec and Thiran, Network Calculus, section 1.2",
        }
    }
}
