//! Bands of `prio` and `ets`: their number, and the map from priorities to bands.

use lockgate_engine::units::Bytes;

use crate::import::settings::value_of;
use crate::language::Kind;
use crate::problem::Problem;
use crate::syntax::Qdisc;
use crate::value::Value;

/// Linux's priority of a forwarded packet, indexed by four bits of its TOS byte, `0x1e` (tc-prio(8)).
const PRIORITIES: [u8; 16] = [0, 1, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];

/// Default band of a priority in `prio` (tc-prio(8)).
const BANDS: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Returns Linux's priority of a packet with this TOS byte.
pub(super) fn priority(tos: u8) -> u8 {
    PRIORITIES[usize::from((tos & 0x1e) >> 1)]
}

/// Bands of `prio` or `ets`: their number, and that of each priority, which is under it.
pub(crate) struct BandMap {
    pub(super) count: usize,
    pub(super) bands: [usize; 16],
}

/// Returns the bands of a discipline.
///
/// # Errors
/// If the kernel refuses them.
pub(crate) fn band_map(qdisc: &Qdisc) -> Result<BandMap, Problem> {
    let is_prio = matches!(*qdisc.kind, Kind::Prio | Kind::PfifoFast);
    let count = count(qdisc, is_prio)?;
    let bands = bands(qdisc, is_prio, count)?;
    Ok(BandMap { count, bands })
}

/// Returns the problem of a word.
fn wrong(qdisc: &Qdisc, name: &str, message: String, help: String) -> Problem {
    let setting = qdisc.settings.iter().find(|setting| *setting.name == name);
    Problem::new(setting.map_or(qdisc.kind.at, |setting| setting.name.at), message).help(help)
}

/// Returns the number of bands.
fn count(qdisc: &Qdisc, is_prio: bool) -> Result<usize, Problem> {
    let number = |name: &str| match value_of(&qdisc.settings, name) {
        Some(Value::Number(number)) => usize::try_from(*number).ok(),
        _ => None,
    };
    let quanta = match value_of(&qdisc.settings, "quanta") {
        Some(Value::Sizes(sizes)) => sizes.as_slice(),
        _ => &[],
    };
    let least = number("strict").unwrap_or(0).saturating_add(quanta.len());
    let count = number("bands").unwrap_or(if is_prio { 3 } else { least });
    let fewest = if is_prio { 2 } else { 1 };
    if !(fewest..=16).contains(&count) {
        let is_given = |name: &&str| value_of(&qdisc.settings, name).is_some();
        let named = ["bands", "quanta", "strict"].into_iter().find(is_given).unwrap_or("bands");
        let message = format!("`bands {count}` is not from {fewest} to 16");
        return Err(wrong(qdisc, named, message, format!("the kernel takes {fewest} to 16 bands")));
    }
    if !is_prio && least > count {
        let message = format!("`strict` and `quanta` are of {least} bands, and there are {count}");
        let fewer = if quanta.is_empty() { "a smaller `strict`" } else { "fewer `quanta`" };
        return Err(wrong(qdisc, "bands", message, format!("write `bands {least}`, or {fewer}")));
    }
    if quanta.contains(&Bytes::ZERO) {
        let message = "`quanta 0`: a band of none would never send".to_owned();
        let help = "give each band at least a frame, such as 1514".to_owned();
        return Err(wrong(qdisc, "quanta", message, help));
    }
    Ok(count)
}

/// Returns the band of each priority.
fn bands(qdisc: &Qdisc, is_prio: bool, count: usize) -> Result<[usize; 16], Problem> {
    let given = match value_of(&qdisc.settings, "priomap") {
        Some(Value::Numbers(numbers)) => numbers.as_slice(),
        _ => &[],
    };
    let wrong = |message: String| {
        let help = format!("write a band from 0 to {} for each of the 16 priorities", count - 1);
        wrong(qdisc, "priomap", message, help)
    };
    if given.len() > 16 {
        return Err(wrong(format!("`priomap` has {} of 16 numbers", given.len())));
    }
    if is_prio && !matches!(given.len(), 0 | 16) {
        return Err(wrong(format!("`priomap` of {} of 16 numbers is not understood", given.len())));
    }
    let mut bands = [0; 16];
    for (priority, band) in bands.iter_mut().enumerate() {
        *band = match given.get(priority) {
            Some(given) => usize::try_from(*given).unwrap_or(usize::MAX),
            None if is_prio => BANDS[priority],
            // `ets` maps priorities that are not listed to its last band.
            None => count - 1,
        };
        if *band >= count {
            let which = if given.is_empty() { "the default `priomap`" } else { "`priomap`" };
            return Err(wrong(format!("{which} leads to band {band} of {count}")));
        }
    }
    Ok(bands)
}
