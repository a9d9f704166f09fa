//! Parameters of CBQ as written, and the settings of each class computed from them.

use serde::{Deserialize, Serialize};

use super::bands::BANDS;
use super::estimator::{Arithmetic, Ticks, Tuning, ticks_of};
use crate::discipline::Invalid;
use crate::units::{Bytes, Duration, Rate};

/// Flavour of class based queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// Linux 2.2 and 2.4, whose clock gains time and never pays it back.
    #[serde(rename = "linux-2.2")]
    Linux22,
    /// Linux from 2.6 until it was taken out in 6.3, in its own ticks and tables.
    #[default]
    Linux,
    /// ALTQ on BSD.
    Altq,
}

impl Flavour {
    /// Returns the arithmetic of its times.
    pub(super) fn arithmetic(self) -> Arithmetic {
        match self {
            Self::Linux => Arithmetic::Kernel,
            Self::Linux22 | Self::Altq => Arithmetic::Exact,
        }
    }
}

/// Action on a class that is over its limit and cannot borrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Overlimit {
    /// The class waits for a packet's time at its rate and `offtime`; the rest of its debt is forgiven.
    #[default]
    Classic,
    /// As `classic`, but for the highest class from which it might have borrowed.
    Rclassic,
    /// The class is set aside for that time and `penalty`, even if a lender becomes free meanwhile.
    Delay,
    /// As `classic`, and for `penalty` it has priority `prio2`.
    Lowprio,
    /// A packet of the class is dropped, then as `classic`.
    Drop,
    /// The class waits until its average is back at zero, and nothing is forgiven: the regulator of the
    /// paper.
    Wait,
}

/// Order of turns among ALTQ's classes of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RoundRobin {
    /// By bytes, in proportion to their weights.
    #[default]
    Weighted,
    /// Packet by packet.
    Packet,
}

/// Parameters of `cbq`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Flavour: `linux-2.2`, `linux` (2.6 to 6.2) or `altq`.
    #[serde(default)]
    pub flavour: Flavour,
    /// Rate of the link as CBQ assumes it, used to compute the end of a packet. It does not limit the link.
    pub bandwidth: Rate,
    /// The mean packet, from which bursts and pauses are worked out.
    #[serde(default = "avpkt")]
    pub avpkt: Bytes,
    /// Idle times are averaged with weight 2 to the minus this, 1 to 31; always 5 in `altq`.
    #[serde(default = "ewma")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31)))]
    pub ewma: u8,
    /// The largest packet of the link without its header, which bounds quanta.
    #[serde(default = "mtu")]
    pub mtu: Bytes,
    /// `altq`: classes of one priority take turns by bytes (`weighted`) or by `packet`; `weighted` by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_robin: Option<RoundRobin>,
    /// `altq`: if every class is over its limit, the first that may borrow sends; off by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficient: Option<bool>,
    /// `altq`: a class that must sleep takes the pause of the highest class it might have borrowed from;
    /// on by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrow_offtime: Option<bool>,
    /// `altq`: if no class may send, borrowing is allowed a level higher; on by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjust_cutoff: Option<bool>,
    /// `altq`: the timer's tick: a sleep takes at least two of them. 0 by default, besides what the port's
    /// clock does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<Duration>,
}

fn avpkt() -> Bytes {
    Bytes(1000)
}

fn ewma() -> u8 {
    5
}

fn mtu() -> Bytes {
    Bytes(1500)
}

/// A class's share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Rate of the class: always guaranteed, and its maximum if it cannot borrow.
    pub rate: Rate,
    /// The link's rate in the formulas of `maxburst` and `minburst`; that of the discipline by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Rate>,
    /// Linux: bytes a round at average weight; at least 1.5 times `avpkt` is taken. 1514B by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allot: Option<Bytes>,
    /// Classes of one priority take turns in proportion to this; `rate` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Rate>,
    /// Linux: 1 to 8, the lowest number is served first, 8 by default. `altq`: 0 to 7, the highest number
    /// first, 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 8)))]
    pub prio: Option<u8>,
    /// Number of packets of `avpkt` that it may send at once after silence. Linux: 20 by default; `altq`:
    /// 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maxburst: Option<u32>,
    /// Packets that it sends at once when a pause at its limit ends: makes the pauses long. Linux: 0 by
    /// default, no pause beyond the packet's own time; `altq`: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minburst: Option<u32>,
    /// Lower bound, below zero, of the scaled average of idle times. Linux: unbounded by default; `altq`:
    /// the time of a packet of `mtu` at the class's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minidle: Option<Duration>,
    /// The class's mean packet; that of the discipline by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// The class's weight in averaging, 1 to 31; that of the discipline by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31)))]
    pub ewma: Option<u8>,
    /// The class never borrows: above its rate it waits.
    #[serde(default)]
    pub bounded: bool,
    /// Packets of the class and of those below it are not charged to its ancestors.
    #[serde(default)]
    pub isolated: bool,
    /// The class has no limit at all; its packets are charged to its ancestors.
    #[serde(default)]
    pub exempt: bool,
    /// Action if it is over its limit and cannot borrow. `altq` has one action only: the class sleeps.
    #[serde(default)]
    pub overlimit: Overlimit,
    /// Additional time for which `delay` sets it aside, and duration of `lowprio`.
    #[serde(default)]
    pub penalty: Duration,
    /// The priority that `lowprio` gives it, 1 to 8; 8 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 8)))]
    pub prio2: Option<u8>,
}

/// Settings of a class or of the link.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub tuning: Tuning,
    /// Index of its ring; the first is served first.
    pub band: usize,
    /// Index of its ring while it is penalised.
    pub second_band: usize,
    /// Bytes a round.
    pub quantum: i128,
    pub bounded: bool,
    pub isolated: bool,
    pub exempt: bool,
    pub overlimit: Overlimit,
    pub penalty: Ticks,
}

impl Config {
    /// Checks all parameters; returns the settings of the classes in pre-order, then those of the link.
    pub(super) fn settings(&self, shares: &[Share]) -> Result<Vec<Settings>, Invalid> {
        self.check()?;
        let mut all = Vec::with_capacity(shares.len() + 1);
        for (class, share) in shares.iter().enumerate() {
            all.push(self.settings_of(share).map_err(|invalid| invalid.on_child(class))?);
        }
        self.set_quanta(&mut all, shares);
        all.push(self.link()?);
        Ok(all)
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.bandwidth.is_zero() {
            return Err(Invalid::new("bandwidth", "is the rate of the link, such as `10mbit`"));
        }
        if self.avpkt == Bytes::ZERO {
            return Err(Invalid::new("avpkt", "is the mean packet, such as `1000B`"));
        }
        if self.mtu == Bytes::ZERO {
            return Err(Invalid::new("mtu", "is the largest packet of the link, such as `1500B`"));
        }
        self.check_ewma(self.ewma)?;
        if self.flavour != Flavour::Altq {
            let given = [
                ("round_robin", self.round_robin.is_some()),
                ("efficient", self.efficient.is_some()),
                ("borrow_offtime", self.borrow_offtime.is_some()),
                ("adjust_cutoff", self.adjust_cutoff.is_some()),
                ("tick", self.tick.is_some()),
            ];
            if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
                return Err(Invalid::new(field, "belongs to `flavour = \"altq\"`"));
            }
        }
        Ok(())
    }

    fn check_ewma(&self, ewma: u8) -> Result<(), Invalid> {
        if self.flavour == Flavour::Altq && ewma != 5 {
            return Err(Invalid::new("ewma", format!("is always 5 in `altq`, not `{ewma}`")));
        }
        if !(1..=31).contains(&ewma) {
            return Err(Invalid::new("ewma", format!("is from 1 to 31, not `{ewma}`")));
        }
        Ok(())
    }

    /// Returns the ring of a priority.
    fn band(&self, field: &'static str, prio: u8) -> Result<usize, Invalid> {
        let (first, last) = if self.flavour == Flavour::Altq { (0, 7) } else { (1, 8) };
        if !(first..=last).contains(&prio) {
            return Err(Invalid::new(
                field,
                format!("is from {first} to {last} in this flavour, not `{prio}`"),
            ));
        }
        Ok(if self.flavour == Flavour::Altq { BANDS - 1 - usize::from(prio) } else { usize::from(prio) - 1 })
    }

    fn settings_of(&self, share: &Share) -> Result<Settings, Invalid> {
        let is_altq = self.flavour == Flavour::Altq;
        if share.exempt && share.bounded {
            return Err(Invalid::new(
                "exempt",
                "and `bounded` exclude each other: it has no limit, or a hard one",
            ));
        }
        if is_altq && share.overlimit != Overlimit::Classic {
            return Err(Invalid::new("overlimit", "is `classic` in `altq`: a class over its limit sleeps"));
        }
        let nothing = [
            ("weight", share.weight == Some(Rate::from_bits(0))),
            ("allot", share.allot == Some(Bytes::ZERO)),
        ];
        if let Some((field, _)) = nothing.into_iter().find(|(_, nothing)| *nothing) {
            return Err(Invalid::new(field, "of zero gives it no turn: leave it out or make it more"));
        }
        let prio = share.prio.unwrap_or(if is_altq { 1 } else { 8 });
        let prio2 = share.prio2.map_or(Ok(BANDS - 1), |prio| self.band("prio2", prio))?;
        Ok(Settings {
            tuning: self.tuning(share)?,
            band: self.band("prio", prio)?,
            second_band: prio2,
            quantum: 1,
            bounded: share.bounded,
            isolated: share.isolated,
            exempt: share.exempt,
            overlimit: share.overlimit,
            penalty: self.flavour.arithmetic().of(share.penalty),
        })
    }

    fn tuning(&self, share: &Share) -> Result<Tuning, Invalid> {
        let bandwidth = share.bandwidth.unwrap_or(self.bandwidth);
        if bandwidth.is_zero() {
            return Err(Invalid::new("bandwidth", "is the rate of the link, such as `10mbit`"));
        }
        if share.rate.is_zero() {
            return Err(Invalid::new("rate", "of zero lets nothing pass: give it a rate such as `1mbit`"));
        }
        if share.rate > bandwidth {
            return Err(Invalid::new(
                "rate",
                format!("must not be over the link's `bandwidth`, which is {bandwidth}"),
            ));
        }
        let avpkt = share.avpkt.unwrap_or(self.avpkt);
        if avpkt == Bytes::ZERO {
            return Err(Invalid::new("avpkt", "is the mean packet, such as `1000B`"));
        }
        let ewma = share.ewma.unwrap_or(self.ewma);
        self.check_ewma(ewma)?;
        let arithmetic = self.flavour.arithmetic();
        let time = |rate: Rate| match arithmetic {
            Arithmetic::Exact => rate.time_for(avpkt).as_picos() as f64,
            Arithmetic::Kernel => avpkt.0 as f64 / (rate.as_bits() as f64 / 8.0),
        };
        let burst =
            Burst { kept: 1.0 - libm::exp2(-f64::from(ewma)), link: time(bandwidth), own: time(share.rate) };
        let (maxidle, offtime, minidle) = if self.flavour == Flavour::Altq {
            let largest = Ticks::from(share.rate.time_for(self.mtu).as_picos());
            (
                burst.maxidle_altq(share.maxburst.unwrap_or(16)),
                burst.offtime_altq(share.minburst.unwrap_or(2)),
                -largest,
            )
        } else {
            (
                burst.maxidle(share.maxburst.unwrap_or(20)),
                burst.offtime(share.minburst.unwrap_or(0)),
                Ticks::MIN >> 18,
            )
        };
        let too_long = |field| Invalid::new(field, "makes a time longer than any run: make it less");
        let finite = |field, time: f64| {
            let picos = if arithmetic == Arithmetic::Exact { time } else { time * 1e12 };
            u64::try_from(picos as i128).map_err(|_| too_long(field))
        };
        let (maxidle_picos, offtime_picos) = (finite("maxburst", maxidle)?, finite("minburst", offtime)?);
        let scale = f64::from(1_u32 << ewma);
        Ok(Tuning {
            arithmetic,
            rate: share.rate,
            ewma: u32::from(ewma),
            maxidle: match arithmetic {
                Arithmetic::Exact => Ticks::from(maxidle_picos) << ewma,
                Arithmetic::Kernel => ticks_of(maxidle * scale * 1e6),
            },
            minidle: share.minidle.map_or(minidle, |floor| -arithmetic.of(floor)),
            offtime: match arithmetic {
                Arithmetic::Exact => Ticks::from(offtime_picos),
                Arithmetic::Kernel => ticks_of(offtime * 1e6),
            },
            longest_gap: self.longest_gap(),
        })
    }

    /// Returns the length of a long silence: 2^27 ticks of a microsecond in Linux 2.2, of 64 ns later; 2 s
    /// in ALTQ.
    fn longest_gap(&self) -> Ticks {
        match self.flavour {
            Flavour::Linux22 => (1 << 27) * 1_000_000,
            Flavour::Linux => 1 << 27,
            Flavour::Altq => 2_000_000_000_000,
        }
    }

    /// Settings of the link: its scaled maxidle is the time of a mean packet.
    fn link(&self) -> Result<Settings, Invalid> {
        let share = Share {
            rate: self.bandwidth,
            bandwidth: None,
            allot: None,
            weight: None,
            prio: None,
            maxburst: Some(0),
            minburst: Some(0),
            minidle: None,
            avpkt: None,
            ewma: None,
            bounded: true,
            isolated: true,
            exempt: false,
            overlimit: Overlimit::Classic,
            penalty: Duration::ZERO,
            prio2: None,
        };
        self.settings_of(&share)
    }

    /// Computes the quanta, which depend on the other classes of a band.
    ///
    /// Linux: weight times allot times the number of classes, over the sum of their weights; zero or more
    /// than 32 `mtu` becomes half an `mtu` and a byte. ALTQ: weight times `mtu` times their number over the
    /// sum.
    fn set_quanta(&self, all: &mut [Settings], shares: &[Share]) {
        let weight = |share: &Share| u128::from(share.weight.unwrap_or(share.rate).as_bits());
        let mut bands = [(0_u128, 0_u128); BANDS];
        for (settings, share) in all.iter().zip(shares) {
            let (count, sum) = &mut bands[settings.band];
            *count += 1;
            *sum += weight(share);
        }
        let mtu = u128::from(self.mtu.0);
        for (settings, share) in all.iter_mut().zip(shares) {
            let (count, sum) = bands[settings.band];
            let avpkt = share.avpkt.unwrap_or(self.avpkt).0;
            let allot = share.allot.map_or(1514, |allot| allot.0).max(avpkt.saturating_add(avpkt / 2));
            let bytes = if self.flavour == Flavour::Altq { mtu } else { u128::from(allot) };
            let quantum =
                weight(share).checked_mul(bytes).and_then(|all| all.checked_mul(count)).map(|all| all / sum);
            let quantum = match quantum {
                Some(0) if self.flavour == Flavour::Altq => 1,
                Some(quantum) if self.flavour == Flavour::Altq => quantum,
                Some(quantum) if (1..=32 * mtu).contains(&quantum) => quantum,
                _ => mtu / 2 + 1,
            };
            settings.quantum = i128::try_from(quantum).unwrap_or(i128::MAX >> 8);
        }
    }
}

/// Formulas of `tc` in seconds, and of ALTQ's daemon in picoseconds; for Linux 2.2 those of `tc` in
/// picoseconds.
struct Burst {
    /// 1 - W.
    kept: f64,
    /// Time of a mean packet on the link.
    link: f64,
    /// Time of a mean packet at the class's rate.
    own: f64,
}

impl Burst {
    /// `(1-W)^-packets - 1`.
    fn growth(&self, packets: f64) -> f64 {
        libm::pow(self.kept, -packets) - 1.0
    }

    fn maxidle(&self, maxburst: u32) -> f64 {
        let least = self.link * (1.0 - self.kept);
        let room = (self.own - self.link).max(0.0);
        if room > 0.0 && maxburst > 0 { least.max(room * self.growth(f64::from(maxburst))) } else { least }
    }

    fn offtime(&self, minburst: u32) -> f64 {
        let room = (self.own - self.link).max(0.0);
        match minburst {
            _ if room <= 0.0 => 0.0,
            0 => 0.0,
            1 => room * self.growth(1.0),
            more => room * (1.0 + self.growth(f64::from(more) - 1.0) / (1.0 - self.kept)),
        }
    }

    /// Idle time that a class needs per packet; for a class as fast as the link, a packet's time.
    fn silence(&self) -> f64 {
        if self.own > self.link { self.own - self.link } else { self.link }
    }

    fn maxidle_altq(&self, maxburst: u32) -> f64 {
        self.silence() * self.growth(f64::from(maxburst)).max(1.0 - self.kept)
    }

    fn offtime_altq(&self, minburst: u32) -> f64 {
        if minburst == 0 {
            return 0.0;
        }
        self.silence() * (1.0 + self.growth(f64::from(minburst) - 1.0) / (1.0 - self.kept))
    }
}
