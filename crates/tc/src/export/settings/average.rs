//! Limits of disciplines that drop by an average: `tc` computes the average's weight and the slope of the
//! probability as powers of two, and refuses what has none (tc-red(8), tc-choke(8)).

use crate::language::Kind;

/// Bits of the kernel's numbers.
const BITS: u32 = 32;

/// Largest limit of `choke`.
const MOST_PACKETS: f64 = 131_071.0;

/// Returns the power of two of the average's weight: the smallest that lets a burst of so many packets pass
/// before the average exceeds `min`.
fn weight(min: f64, burst: f64, packet: f64) -> Option<u32> {
    let excess = burst + 1.0 - min / packet;
    if excess < 1.0 {
        return None;
    }
    let reaches = |power: &u32| {
        let weight = 0.5_f64.powi(power.cast_signed());
        excess <= (1.0 - (1.0 - weight).powf(burst)) / weight
    };
    (1..BITS).find(reaches)
}

/// Returns true if the slope of the probability is a power of two of the kernel.
fn has_slope(min: f64, max: f64, probability: f64) -> bool {
    if max <= min {
        return max >= min;
    }
    let mut slope = probability / (max - min);
    for _ in 0..BITS {
        if slope > 1.0 {
            return true;
        }
        slope *= 2.0;
    }
    false
}

/// Checks the words of a discipline.
///
/// # Errors
/// Returns what `tc` or the kernel refuses.
pub(super) fn check(kind: Kind, words: &[String]) -> Result<(), String> {
    let of = |name: &str| {
        let index = words.iter().position(|word| word == name)?;
        words.get(index + 1)?.parse::<f64>().ok()
    };
    let need = |name: &str| of(name).ok_or_else(|| format!("`{kind}` without a `{name}` that `tc` takes"));
    let (limit, packet) = (need("limit")?, need("avpkt")?);
    let (min, max) = (need("min")?, need("max")?);
    let probability = of("probability").unwrap_or(0.02);
    // `choke` counts packets.
    let unit = if kind == Kind::Choke { packet } else { 1.0 };
    if kind == Kind::Choke && limit > MOST_PACKETS {
        return Err(format!("`limit {limit}` of `choke`: the kernel takes up to {MOST_PACKETS} packets"));
    }
    if kind == Kind::Choke && (max > limit || min >= max) {
        return Err(format!("`max {max}` of `choke`: `tc` takes it between `min` and `limit`"));
    }
    let default = ((2.0 * min + max) * unit / (3.0 * packet)).floor();
    let burst = of("burst").filter(|burst| *burst > 0.0).unwrap_or(default);
    let power = weight(min * unit, burst, packet);
    let power = power.ok_or_else(|| {
        format!("`burst {burst}` of `{kind}`: for a `min` of {min}, `tc` finds no weight of the average")
    })?;
    if !has_slope(min * unit, max * unit, probability) {
        return Err(format!(
            "`probability {probability}` of `{kind}`: `tc` finds no slope from `min` to `max`"
        ));
    }
    let bits = |threshold: f64| BITS - (threshold as u32).leading_zeros();
    if max < min || bits(min).max(bits(max)) + power >= BITS {
        return Err(format!(
            "`max {max}` of `{kind}`: with a `burst` of {burst} the kernel's average overflows"
        ));
    }
    Ok(())
}
