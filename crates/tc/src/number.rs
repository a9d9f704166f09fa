//! Numbers with units, as `tc` spells them.

use lockgate_engine::units::{Bytes, Duration, Rate};

use crate::lex;

pub(crate) const PICOS_PER_NANO: u64 = 1000;

/// Parses an integer: decimal, hexadecimal with `0x`, or octal with a leading `0`, as in C.
pub(crate) fn integer(text: &str) -> Option<u32> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    u32::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

/// Parses decimal digits.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// Splits a number such as `1.5` from its unit, in lower case; the number is `.0` divided by 10 to the power
/// of `.1`.
fn split(text: &str) -> Option<((u128, u32), String)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (whole, fraction) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    let digits = [whole, fraction].concat();
    // More digits than these leave the range of every unit.
    let number = (digits.len() <= 24).then(|| digits.parse().ok())??;
    Some(((number, u32::try_from(fraction.len()).ok()?), text[end..].to_ascii_lowercase()))
}

/// Multiplies a number by its unit; rounds to the nearest integer.
fn scaled((number, digits): (u128, u32), factor: u64) -> Option<u64> {
    let divisor = 10_u128.checked_pow(digits)?;
    let product = number.checked_mul(u128::from(factor))?.checked_add(divisor / 2)?;
    u64::try_from(product / divisor).ok()
}

/// Parses a rate: bits with powers of 1000 or, with an `i`, of 1024; `bps` are bytes.
pub(crate) fn rate(text: &str) -> Option<Rate> {
    let of_c = || whole(lex::rate(text)?).map(Rate::from_bits);
    exact_rate(text).or_else(of_c)
}

/// Returns a number of C's `strtod`, such as `1e6`, that is none of plain digits.
fn whole(number: f64) -> Option<u64> {
    (0.0..u64::MAX as f64).contains(&number).then_some(number as u64)
}

fn exact_rate(text: &str) -> Option<Rate> {
    let (number, unit) = split(text)?;
    let (prefix, bits) = match (unit.strip_suffix("bit"), unit.strip_suffix("bps")) {
        (Some(prefix), _) => (prefix, 1),
        (_, Some(prefix)) => (prefix, 8),
        _ if unit.is_empty() => ("", 1),
        _ => return None,
    };
    let factor = match prefix {
        "" => 1,
        "k" => 1000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1 << 40,
        _ => return None,
    };
    scaled(number, factor * bits).map(Rate::from_bits)
}

/// Parses a size: bytes or bits with powers of 1024.
pub(crate) fn size(text: &str) -> Option<Bytes> {
    let of_c = || whole(lex::size(text)?).map(Bytes);
    exact_size(text).or_else(of_c)
}

fn exact_size(text: &str) -> Option<Bytes> {
    let (number, unit) = split(text)?;
    let factor = match unit.as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "kbit" => 1 << 7,
        "mbit" => 1 << 17,
        "gbit" => 1 << 27,
        _ => return None,
    };
    scaled(number, factor).map(Bytes)
}

/// Parses a time, rounded to nanoseconds; the unit of a bare number is `bare`.
pub(crate) fn time(text: &str, bare: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let factor = match if unit.is_empty() { bare } else { unit.as_str() } {
        "s" | "sec" | "secs" => 1_000_000_000,
        "ms" | "msec" | "msecs" => 1_000_000,
        "us" | "usec" | "usecs" => 1000,
        "ns" | "nsec" | "nsecs" => 1,
        _ => return None,
    };
    scaled(number, factor)?.checked_mul(PICOS_PER_NANO).map(Duration::from_picos)
}

/// Writes a number in the largest of these units that divides it.
fn in_units(number: u64, units: &[(u64, &str)]) -> String {
    let fits = |(factor, _): &&(u64, &str)| number.is_multiple_of(*factor) && number >= *factor;
    let (factor, unit) = units.iter().find(fits).or(units.last()).unwrap_or(&(1, ""));
    format!("{}{unit}", number / factor)
}

/// Writes a rate: `10mbit`.
pub(crate) fn rate_text(rate: Rate) -> String {
    in_units(rate.as_bits(), &[(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1000, "kbit"), (1, "bit")])
}

/// Writes a time: `20ms`.
pub(crate) fn time_text(time: Duration) -> String {
    in_units(nanos(time), &[(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")])
}

/// Returns a time in nanoseconds, rounded down.
pub(crate) fn nanos(time: Duration) -> u64 {
    time.as_picos() / PICOS_PER_NANO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_tc() {
        for (text, bits) in [("1mbit", 1_000_000), ("125kbps", 1_000_000), ("1.5Kibit", 1536), ("8", 8)] {
            assert_eq!(rate(text), Some(Rate::from_bits(bits)), "{text}");
        }
        for (text, bytes) in
            [("64kb", 65536), ("5k", 5120), ("20000", 20000), ("8kbit", 1024), ("1.5k", 1536), ("1e3", 1000)]
        {
            assert_eq!(size(text), Some(Bytes(bytes)), "{text}");
        }
        assert_eq!(time("5000", "us"), Some(Duration::from_millis(5)));
        assert_eq!(time("10", "s"), Some(Duration::from_secs(10)));
        assert_eq!(time("0.5ms", "s"), Some(Duration::from_micros(500)));
        for text in ["", ".", "-1", "fast", "1x", "1e", "99999999999999999999gbit"] {
            assert_eq!((rate(text), size(text), time(text, "us")), (None, None, None), "{text}");
        }
        assert_eq!(
            (integer("0x10"), integer("010"), integer("0"), integer("+1")),
            (Some(16), Some(8), Some(0), None)
        );
    }

    #[test]
    fn canonical_units_divide() {
        assert_eq!(rate_text(Rate::from_bits(1_500_000)), "1500kbit");
        assert_eq!(rate_text(Rate::from_bits(0)), "0bit");
        assert_eq!(time_text(Duration::from_millis(1500)), "1500ms");
    }
}
