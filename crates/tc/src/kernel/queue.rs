//! A discipline or class of the kernel, read from its attributes and written back.

use serde::{Serialize, Serializer};

use super::attributes::{Attributes, Malformed, add, find};
use super::layout::layout;
use super::statistics::Statistics;
use crate::handle::Handle;

/// Attributes of `struct tcmsg` (`rtnetlink.h`).
pub(super) const KIND: u16 = 1;
pub(super) const OPTIONS: u16 = 2;
const STATS2: u16 = 7;

/// Attributes of the options of a class of `htb` (`pkt_sched.h`).
const HTB_PARMS: u16 = 1;
const HTB_RATE64: u16 = 6;
const HTB_CEIL64: u16 = 7;

layout! {
    /// `struct tc_ratespec`.
    pub(super) struct RateSpec {
        cell_log: u8,
        linklayer: u8,
        overhead: u16,
        cell_align: i16,
        mpu: u16,
        rate: u32,
    }
}

layout! {
    /// Rest of `struct tc_htb_opt` after its rates.
    struct HtbRest {
        buffer: u32,
        cbuffer: u32,
        quantum: u32,
        level: u32,
        prio: u32,
    }
}

/// Parameters of a class of `htb` by which its figures are understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HtbRates {
    /// Rate, in bits a second.
    pub rate_bps: u64,
    /// Ceil, in bits a second.
    pub ceil_bps: u64,
    /// Bytes of a turn.
    pub quantum: u32,
    /// Level: 0 for a leaf.
    pub level: u32,
    /// Priority.
    pub priority: u32,
}

impl HtbRates {
    /// Reads the options of a class; `None` if they are not those of a class.
    fn read(options: &[u8]) -> Option<Self> {
        let parms = find(options, HTB_PARMS)?;
        let (rate, ceil) = (RateSpec::read(parms), RateSpec::read(parms.get(RateSpec::LENGTH..)?));
        let rest = HtbRest::read(parms.get(2 * RateSpec::LENGTH..)?);
        let wide = |kind: u16, narrow: u32| {
            let wide = find(options, kind).and_then(<[u8]>::first_chunk);
            wide.map_or(u64::from(narrow), |bytes| u64::from_ne_bytes(*bytes)).min(u64::MAX / 8) * 8
        };
        Some(Self {
            rate_bps: wide(HTB_RATE64, rate.rate),
            ceil_bps: wide(HTB_CEIL64, ceil.rate),
            quantum: rest.quantum,
            level: rest.level,
            priority: rest.prio,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let narrow = |bps: u64| u32::try_from(bps / 8).unwrap_or(u32::MAX);
        add(out, HTB_PARMS, |out| {
            RateSpec { rate: narrow(self.rate_bps), ..RateSpec::default() }.write(out);
            RateSpec { rate: narrow(self.ceil_bps), ..RateSpec::default() }.write(out);
            HtbRest { quantum: self.quantum, level: self.level, prio: self.priority, ..HtbRest::default() }
                .write(out);
        });
        for (kind, bps) in [(HTB_RATE64, self.rate_bps), (HTB_CEIL64, self.ceil_bps)] {
            if bps / 8 > u64::from(u32::MAX) {
                add(out, kind, |out| out.extend((bps / 8).to_ne_bytes()));
            }
        }
    }
}

/// A queueing discipline, or a class, with its counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelQueue {
    /// Index of the interface.
    #[serde(skip)]
    pub interface: u32,
    /// Handle.
    #[serde(serialize_with = "handle")]
    pub handle: u32,
    /// Handle of the parent.
    #[serde(serialize_with = "handle")]
    pub parent: u32,
    /// True for a class.
    pub is_class: bool,
    /// Kind, such as `htb`.
    pub kind: String,
    /// Rates of a class of `htb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub htb: Option<HtbRates>,
    /// Counters.
    #[serde(flatten)]
    pub statistics: Statistics,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn handle<S: Serializer>(handle: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*handle))
}

/// Returns a handle as `tc` prints it.
pub(crate) fn text(handle: u32) -> String {
    match handle {
        u32::MAX => "root".to_owned(),
        0xffff_fff1 => "ingress".to_owned(),
        handle => Handle { major: (handle >> 16) as u16, minor: handle as u16 }.to_string(),
    }
}

/// Returns the kind of the discipline or class with these attributes.
///
/// # Errors
/// If it has none.
pub fn kind(attributes: &[u8]) -> Result<&str, Malformed> {
    let kind = find(attributes, KIND).ok_or(Malformed("a discipline without a kind"))?;
    let kind = kind.split(|byte| *byte == 0).next().unwrap_or_default();
    let kind = str::from_utf8(kind).map_err(|_| Malformed("a kind that is not text"))?;
    if kind.is_empty() { Err(Malformed("a kind without a name")) } else { Ok(kind) }
}

impl KernelQueue {
    /// Reads the attributes of a discipline or class whose header has these handles.
    ///
    /// # Errors
    /// If it has no kind.
    pub fn read(
        interface: u32,
        (handle, parent): (u32, u32),
        is_class: bool,
        attributes: &[u8],
    ) -> Result<Self, Malformed> {
        let kind = kind(attributes)?.to_owned();
        let mut queue = Self { interface, handle, parent, is_class, kind, ..Self::default() };
        queue.read_figures(attributes);
        Ok(queue)
    }

    /// Reads the figures of these attributes; false if they are of another queue.
    pub(super) fn read_again(&mut self, handles: (u32, u32), is_class: bool, attributes: &[u8]) -> bool {
        let kind = find(attributes, KIND).unwrap_or_default();
        let is_same = (self.handle, self.parent, self.is_class) == (handles.0, handles.1, is_class)
            && kind.strip_prefix(self.kind.as_bytes()).is_some_and(|rest| matches!(rest, [] | [0, ..]));
        if is_same {
            self.read_figures(attributes);
        }
        is_same
    }

    fn read_figures(&mut self, attributes: &[u8]) {
        (self.htb, self.statistics) = (None, Statistics::default());
        for (attribute, value) in Attributes(attributes) {
            match attribute {
                OPTIONS if self.is_class && self.kind == "htb" => self.htb = HtbRates::read(value),
                STATS2 => self.statistics = Statistics::read(&self.kind, self.is_class, value),
                _ => {}
            }
        }
    }

    /// Returns the attributes, as the kernel writes them.
    pub fn attributes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        add(&mut out, KIND, |out| {
            out.extend(self.kind.bytes());
            out.push(0);
        });
        if let Some(htb) = &self.htb {
            add(&mut out, OPTIONS, |out| htb.write(out));
        }
        add(&mut out, STATS2, |out| self.statistics.write(out));
        out
    }

    /// Returns its name: the handle, that of its parent if it has none of its own.
    pub fn name(&self) -> String {
        if self.handle == 0 { format!("0: at {}", text(self.parent)) } else { text(self.handle) }
    }
}
