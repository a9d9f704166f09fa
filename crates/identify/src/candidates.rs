//! Candidates: the queues that a line may have, each a scenario with a few unknown parameters.
//!
//! To add one: write `candidates/<name>.rs`, and enter it in the list (`candidates!`), which declares its
//! module. Fit, odds, output and the confusion matrix follow from the list.

use core::fmt::Write;

use lockgate_engine::units::{Bytes, Duration, Limit, Packets, Rate};

use crate::probe::FULL;

/// Values of the parameters of a line with its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Rate in bit/s.
    pub rate: f64,
    /// Rate in bit/s at which a burst leaves, for shapers and policers.
    pub peak: f64,
    /// Longest wait in the queue, in seconds at `rate`: the limit.
    pub wait: f64,
    /// True if the limit counts full packets instead of bytes.
    pub in_packets: bool,
    /// True if PIE follows RFC 8033 in what Linux does otherwise.
    pub is_rfc: bool,
    /// Depth of the token bucket, in bytes.
    pub bucket: f64,
    /// Least depth of it that is searched.
    pub least_bucket: f64,
    /// Target delay of a control law, in seconds.
    pub target: f64,
    /// Interval of a control law, in seconds.
    pub interval: f64,
    /// Drop probability of RED at its upper threshold.
    pub probability: f64,
    /// Lower threshold of RED, as a share of the upper.
    pub low: f64,
    /// Probability of a loss that no queue explains.
    pub loss: f64,
}

impl Setting {
    /// Returns the limit of the queue: at least one full frame.
    pub fn limit(&self) -> Limit {
        let bytes = (self.wait * self.rate / 8.0).max(1600.0);
        if self.in_packets {
            Limit::Packets(Packets((bytes / f64::from(FULL)).round() as u64))
        } else {
            Limit::Bytes(Bytes(bytes as u64))
        }
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits(self.rate.max(1000.0) as u64)
    }

    /// Returns the bucket's depth: at least five full frames, because a smaller one is not told from none; or
    /// one, on real lines.
    pub fn bucket(&self) -> Bytes {
        Bytes(self.bucket.max(self.least_bucket) as u64)
    }

    /// Returns the flavour of PIE.
    pub fn flavour(&self) -> &'static str {
        if self.is_rfc { "rfc" } else { "linux" }
    }

    /// Returns the target delay.
    pub fn target(&self) -> Duration {
        micros(self.target)
    }

    /// Returns the interval of the control law.
    pub fn interval(&self) -> Duration {
        micros(self.interval)
    }
}

/// Depth in bytes below which a bucket is not told from none.
pub const LEAST_BUCKET: f64 = 7570.0;

/// Depth in bytes of the bucket that a shaper has at least: one frame. Of a kernel's shaper no transmission
/// takes time, and its timers lose credit: a FIFO before a line does not stand for it.
pub const ONE_FRAME: f64 = 1_600.0;

/// Returns seconds as whole microseconds, at least one.
fn micros(seconds: f64) -> Duration {
    Duration::from_picos((seconds * 1e6).max(1.0) as u64 * 1_000_000)
}

/// Unknown parameter of a candidate, besides its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Limit of the queue, searched from the longest wait that was seen.
    Wait,
    /// Limit of a queue that a control law keeps short: as [`Wait`](Self::Wait), or never reached.
    Room,
    /// Unit of the limit: bytes or packets.
    Unit,
    /// Bucket, searched from the longest burst that passed.
    Bucket,
    /// Flavour of PIE: Linux or RFC 8033.
    Flavour,
    /// Target delay, searched from the usual ones.
    Target,
    /// Interval of a control law.
    Interval,
    /// Upper threshold of RED, searched from the longest wait that was seen.
    Threshold,
    /// Drop probability of RED.
    Probability,
    /// Lower threshold of RED.
    Low,
}

impl Unknown {
    /// Sets the parameter. A unit is packets, and a flavour that of the RFC, if the value is more than zero.
    pub fn set(self, setting: &mut Setting, value: f64) {
        match self {
            Self::Wait | Self::Room => setting.wait = value,
            Self::Unit => setting.in_packets = value > 0.0,
            Self::Flavour => setting.is_rfc = value > 0.0,
            Self::Bucket => setting.bucket = value,
            // Beyond these a law no longer acts, and the queue is a FIFO.
            Self::Target => setting.target = value.clamp(0.001, 0.06),
            Self::Threshold => setting.target = value,
            Self::Interval => setting.interval = value.clamp(0.02, 0.25),
            Self::Probability => setting.probability = value.clamp(0.005, 0.5),
            Self::Low => setting.low = value.clamp(0.1, 0.7),
        }
    }

    /// Returns the value of the parameter; `None` if it has no steps.
    pub fn get(self, setting: &Setting) -> Option<f64> {
        match self {
            Self::Wait | Self::Room => Some(setting.wait),
            Self::Unit | Self::Flavour => None,
            Self::Bucket => Some(setting.bucket),
            Self::Target | Self::Threshold => Some(setting.target),
            Self::Interval => Some(setting.interval),
            Self::Probability => Some(setting.probability),
            Self::Low => Some(setting.low),
        }
    }

    /// Returns the values to begin with, if `seen` has what was estimated.
    pub fn grid(self, seen: &Setting) -> Vec<f64> {
        match self {
            Self::Wait => vec![seen.wait],
            Self::Room => vec![seen.wait, seen.wait * 40.0],
            Self::Unit | Self::Flavour => vec![0.0, 1.0],
            Self::Bucket => vec![seen.bucket, seen.bucket * 2.0],
            Self::Target => vec![0.005, 0.015, 0.03],
            Self::Interval => vec![0.1],
            Self::Threshold => vec![seen.wait * 0.85, seen.wait * 0.5],
            Self::Probability => vec![0.02, 0.1],
            Self::Low => vec![1.0 / 3.0],
        }
    }
}

/// Target delays of a fine search, in seconds: each 1.3 times the one before.
const TARGETS: [f64; 11] =
    [0.0025, 0.0033, 0.0042, 0.0055, 0.0071, 0.0093, 0.012, 0.0157, 0.0204, 0.0265, 0.0345];

impl Unknown {
    /// Returns the values of a fine search, if `seen` has what was estimated, or fitted.
    pub fn fine(self, seen: &Setting) -> Vec<f64> {
        match self {
            Self::Target => TARGETS.to_vec(),
            // Packets that a law drops at the head do not wait to the end: the limit is beyond that wait.
            Self::Room => [1.0, 1.4, 2.0, 40.0].map(|factor| factor * seen.wait).to_vec(),
            // Which of two flows loses a packet at a full queue depends on less than one, and the longest
            // wait tells a limit within one.
            Self::Wait => {
                let step = (0.01 * seen.wait).max(f64::from(FULL) * 8.0 / seen.rate / 6.0);
                (-5..=5).map(|steps| seen.wait + f64::from(steps) * step).collect()
            }
            _ => self.grid(seen),
        }
    }
}

/// Queue that a line may have.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Name in output.
    pub name: &'static str,
    /// Sentence for a person: its mechanism.
    pub sentence: &'static str,
    /// Parameters to search, besides rate and loss.
    pub unknown: &'static [Unknown],
    /// Names of the candidates that it is if its law does not act, or if all packets are in one class.
    pub simpler: &'static [&'static str],
    /// True if the queue shapes or polices: the line behind it is faster than the rate.
    pub has_bucket: bool,
    /// True if each flow has a queue of its own: the traffic of others takes no more than its share.
    pub is_fair: bool,
    /// True if the candidate draws random numbers.
    pub draws: bool,
    /// Writes the queues of the port as lines of TOML below `[port."line:receiver"]`.
    pub queues: fn(&Setting) -> String,
}

impl Candidate {
    /// Queue for all traffic that shapes nothing and draws nothing, to start from.
    const DEFAULT: Self = Self {
        name: "",
        sentence: "",
        unknown: &[],
        simpler: &[],
        has_bucket: false,
        is_fair: false,
        draws: false,
        queues: |_| String::new(),
    };
}

macro_rules! candidates {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        /// All candidates.
        pub const ALL: &[Candidate] = &[$($module::CANDIDATE),*];
    };
}

candidates! {
    fifo,
    fifo_head,
    shaper,
    policer,
    red,
    codel,
    pie,
    sfq,
    fq_codel,
    fq_pie,
    cake,
    prio,
    drr,
    dualpi2,
}

impl Candidate {
    /// Returns the candidate of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|candidate| candidate.name == name)
    }

    /// Writes the line with its queue as a scenario: `sender`, `line` and `receiver`, joined by a fast link
    /// and the line itself, whose one-way delay is `delay` seconds. Without flows.
    pub fn to_toml(&self, setting: &Setting, delay: f64) -> String {
        self.to_toml_with(setting, None, delay)
    }

    /// Writes the same with the queue of the way back, from `receiver`, if it is known.
    pub fn to_toml_with(&self, setting: &Setting, back: Option<(&Self, &Setting)>, delay: f64) -> String {
        let mut text = String::new();
        let fast = Rate::from_bits((setting.peak.max(setting.rate) * 10.0).clamp(1e9, 1e12) as u64);
        let mut rate = format!("\"{}\"", self.line_rate(setting));
        if let Some((candidate, setting)) = back {
            rate = format!("{{ up = {rate}, down = \"{}\" }}", candidate.line_rate(setting));
        }
        let _ = write!(
            text,
            "[node]\nsender = {{}}\nline = {{}}\nreceiver = {{}}\n\n\
             [link.access]\nbetween = [\"sender\", \"line\"]\nrate = \"{fast}\"\n\n\
             [link.line]\nbetween = [\"line\", \"receiver\"]\nrate = {rate}\n",
        );
        if delay > 0.0 {
            let _ = writeln!(text, "delay = \"{}\"", micros(delay));
        }
        if setting.loss > 0.0 {
            let _ = writeln!(text, "loss = \"{}%\"", setting.loss * 100.0);
        }
        let _ = write!(text, "\n[port.\"line:receiver\"]\n{}", (self.queues)(setting));
        if let Some((candidate, setting)) = back {
            let _ = write!(text, "\n[port.\"receiver:line\"]\n{}", (candidate.queues)(setting));
        }
        text
    }

    /// Returns the rate of the line that has this queue.
    fn line_rate(&self, setting: &Setting) -> Rate {
        // A line that is hardly faster than its bucket's rate is a queue without a bucket. A shaper of flows
        // lets no burst pass that would show how fast the line is.
        let least = setting.rate * if self.is_fair { 5.0 } else { 1.5 };
        let rate = if self.has_bucket { setting.peak.max(least) } else { setting.rate };
        Rate::from_bits(rate.max(1000.0) as u64)
    }
}
