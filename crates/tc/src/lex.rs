//! Numbers as the parser of `tc` reads them: C's `strtoul` and `strtod`, with the suffixes of each type.

/// Value of the largest 32-bit field, as a real number.
const FIELD: f64 = u32::MAX as f64;

/// Reads digits in a base (0: by their prefix) with a sign; the number and the rest, `None` without a digit.
fn digits(text: &str, base: u32) -> Option<(i128, &str)> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    let hexadecimal = hexadecimal.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (base, body) = match (base, hexadecimal) {
        (0 | 16, Some(rest)) => (16, rest),
        (0, None) if unsigned.starts_with('0') => (8, unsigned),
        (0, None) => (10, unsigned),
        (base, _) => (base, unsigned),
    };
    let end = body.find(|c: char| !c.is_digit(base)).unwrap_or(body.len());
    let number = body[..end].chars().fold(0_i128, |sum, digit| {
        let next = sum * i128::from(base) + i128::from(digit.to_digit(base).unwrap_or(0));
        next.min(i128::from(u64::MAX))
    });
    (end > 0).then_some((sign * number, &body[end..]))
}

/// Reads a whole word as a number from 0 to `most`.
pub(crate) fn unsigned(text: &str, base: u32, most: u64) -> Option<u64> {
    let (number, rest) = digits(text, base)?;
    u64::try_from(number).ok().filter(|number| rest.is_empty() && *number <= most)
}

/// Reads a whole word as a number of 32 bits with a sign.
pub(crate) fn signed(text: &str, base: u32) -> Option<i64> {
    let (number, rest) = digits(text, base)?;
    i32::try_from(number).ok().filter(|_| rest.is_empty()).map(i64::from)
}

/// Reads a decimal number whose upper bits are lost, as in a C `int`.
pub(crate) fn wrapped(text: &str) -> Option<i64> {
    let (number, rest) = digits(text, 10)?;
    rest.is_empty().then_some(i64::from(number as i32))
}

/// Reads a real number, also hexadecimal, `inf` and `nan`; the number and the rest.
pub(crate) fn real(text: &str) -> Option<(f64, &str)> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let lower = unsigned.to_ascii_lowercase();
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        if lower.starts_with(word) {
            return Some((sign * value, &unsigned[word.len()..]));
        }
    }
    if lower.starts_with("0x") && lower[2..].starts_with(|c: char| c.is_ascii_hexdigit()) {
        let (number, rest) = digits(unsigned, 16)?;
        return Some((sign * number as f64, rest));
    }
    let count = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = count(unsigned);
    let mut end = whole;
    if unsigned[end..].starts_with('.') {
        let fraction = count(&unsigned[end + 1..]);
        if whole + fraction == 0 {
            return None;
        }
        end += 1 + fraction;
    }
    if end == 0 {
        return None;
    }
    if unsigned[end..].starts_with(['e', 'E']) {
        let after = &unsigned[end + 1..];
        let signs = usize::from(after.starts_with(['-', '+']));
        let exponent = count(&after[signs..]);
        if exponent > 0 {
            end += 1 + signs + exponent;
        }
    }
    let number: f64 = unsigned[..end].trim_end_matches('.').parse().ok()?;
    Some((sign * number, &unsigned[end..]))
}

/// Reads a rate in bits a second.
pub(crate) fn rate(text: &str) -> Option<f64> {
    let (number, unit) = real(text)?;
    let unit = unit.to_ascii_lowercase();
    let (prefix, bits) = match (unit.strip_suffix("bit"), unit.strip_suffix("bps")) {
        (Some(prefix), _) => (prefix, 1.0),
        (_, Some(prefix)) => (prefix, 8.0),
        _ if unit.is_empty() => ("", 1.0),
        _ => return None,
    };
    let (letter, base) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, 1024.0_f64),
        None => (prefix, 1000.0),
    };
    let power = match letter {
        "" if prefix.is_empty() => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    Some(number * bits * base.powi(power))
}

/// Returns the bytes a second of a field of 64 bits.
pub(crate) fn bytes(rate: f64) -> u64 {
    let bytes = rate / 8.0;
    match bytes {
        _ if bytes.is_nan() => 1 << 63,
        _ if bytes.is_infinite() => 0,
        _ if bytes < 0.0 => (bytes as i64) as u64,
        _ => bytes as u64,
    }
}

/// Reads a size in bytes, of 32 bits; `bit` has powers of 1024, too.
pub(crate) fn size(text: &str) -> Option<f64> {
    let (number, unit) = real(text)?;
    let kilo = 1024.0_f64;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => kilo,
        "m" | "mb" => kilo.powi(2),
        "g" | "gb" => kilo.powi(3),
        "kbit" => kilo / 8.0,
        "mbit" => kilo.powi(2) / 8.0,
        "gbit" => kilo.powi(3) / 8.0,
        _ => return None,
    };
    Some((number * factor).trunc()).filter(|size| (0.0..=FIELD).contains(size))
}

/// Reads a time in microseconds.
pub(crate) fn time(text: &str) -> Option<f64> {
    let (number, unit) = real(text)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" => 1e6,
        "ms" | "msec" | "msecs" => 1e3,
        "" | "us" | "usec" | "usecs" => 1.0,
        _ => return None,
    };
    Some(number * factor)
}

/// Reads a time in nanoseconds, of a field of 32 bits.
pub(crate) fn nanos(text: &str) -> Option<f64> {
    let (number, unit) = real(text)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "" | "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        _ => return None,
    };
    Some(number * factor).filter(|time| (0.0..=FIELD).contains(time))
}

/// Returns the 32 bits that C stores of a real number.
pub(crate) fn field(number: f64) -> u32 {
    if number.is_finite() { (number as i64) as u32 } else { 0 }
}

/// Reads the handle of a class: `1:10`, `1`, which is `0:1`, `:10`, `root`, `none`.
pub(crate) fn class_id(text: &str) -> Option<u32> {
    match text {
        "root" => return Some(u32::MAX),
        "none" => return Some(0),
        _ => {}
    }
    let part = |text: &str| unsigned(text, 16, 0xffff).and_then(|part| u32::try_from(part).ok());
    match text.split_once(':') {
        Some((major, minor)) => {
            let major = if major.is_empty() { 0 } else { part(major)? };
            // A handle of a discipline ends with its colon.
            let minor = if minor.is_empty() { 0 } else { part(minor)? };
            Some(major << 16 | minor)
        }
        None => unsigned(text, 16, u64::from(u32::MAX)).and_then(|id| u32::try_from(id).ok()),
    }
}

/// Reads the handle of a discipline: `1:`, `1`, `none`; what stands after the colon is not read.
pub(crate) fn qdisc_handle(text: &str) -> Option<u32> {
    if text == "none" {
        return Some(0);
    }
    let (major, rest) = digits(text, 16)?;
    let is_end = rest.is_empty() || rest.starts_with(':');
    u32::try_from(major).ok().filter(|major| is_end && *major < 1 << 16).map(|major| major << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        assert_eq!(unsigned("0x10", 0, 99), Some(16));
        assert_eq!(unsigned("010", 0, 99), Some(8));
        assert_eq!((unsigned("08", 0, 99), unsigned("-1", 0, 99), unsigned("1k", 0, 99)), (None, None, None));
        assert_eq!((signed("-4", 0), wrapped("4294967295")), (Some(-4), Some(-1)));
        assert_eq!(rate("1e6bit"), Some(1e6));
        assert_eq!((rate("1.mbit"), rate(".5mbit"), rate("1Mb")), (Some(1e6), Some(5e5), None));
        assert_eq!((size("10kbit"), size("1500b"), size("5gb")), (Some(1280.0), Some(1500.0), None));
        assert_eq!((time("5"), time("0.5ms"), time("1min")), (Some(5.0), Some(500.0), None));
        assert_eq!((class_id("1:10"), class_id("1"), class_id("1:10000")), (Some(0x1_0010), Some(1), None));
        assert_eq!((qdisc_handle("1:5"), qdisc_handle(":1")), (Some(0x1_0000), None));
    }
}
