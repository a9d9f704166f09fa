//! Numbers for readers: three digits and a unit prefix.

/// Formats seconds, such as `1.23 ms`.
pub fn seconds(value: Option<f64>) -> String {
    with_prefix(value, "s")
}

/// Formats the seconds of a time on the clock of a run, to the millisecond, or below a second to the
/// microsecond: two times a little apart are two.
pub fn instant(seconds: f64) -> String {
    let decimals = if seconds < 1.0 { 6 } else { 3 };
    without_zeros(&format!("{seconds:.decimals$}"))
}

/// Formats bits per second, such as `9.98 Mbit/s`.
pub fn rate(value: Option<f64>) -> String {
    with_prefix(value, "bit/s")
}

/// Formats a fraction, such as `0.12 %`.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{} %", three_digits(value * 100.0)))
}

/// Formats a value in the unit of its metric.
pub fn quantity(value: Option<f64>, unit: &str) -> String {
    match unit {
        "s" | "bit/s" | "B" => with_prefix(value, unit),
        "" => value.map_or_else(|| "-".to_owned(), three_digits),
        "packets" => value.map_or_else(|| "-".to_owned(), packets),
        "ratio" => ratio(value),
        _ => value.map_or_else(|| "-".to_owned(), |value| format!("{} {unit}", three_digits(value))),
    }
}

/// Formats a value and half the width of its interval, with their unit once and as many decimals: two digits
/// of the half width, at most three decimals: `31.80 ± 0.40 ms`.
pub fn interval(value: f64, half: f64, unit: &str) -> String {
    let larger = value.abs().max(half);
    let (scale, unit) = match unit {
        "s" | "bit/s" | "B" if larger >= NOTHING => {
            let (scale, prefix) = prefix(larger, unit);
            (scale, format!("{prefix}{unit}"))
        }
        "ratio" => (0.01, "%".to_owned()),
        _ => (1.0, unit.to_owned()),
    };
    let (value, half) = (value / scale, half / scale);
    if half <= 0.0 || !half.is_finite() {
        return format!("{} ± {} {unit}", three_digits(value), three_digits(half)).trim_end().to_owned();
    }
    // Half a unit of the second digit more is the next one: 9.96 has the digits of 10.
    let decimals = (1.0 - libm::floor(libm::log10(half * 1.005))).clamp(0.0, 3.0) as usize;
    let text = |number: f64| format!("{number:.decimals$}");
    let unsigned = |text: String| match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|digit| digit == '0' || digit == '.') => zero.to_owned(),
        _ => text,
    };
    format!("{} ± {} {unit}", unsigned(text(value)), text(half)).trim_end().to_owned()
}

/// Formats a number of packets, without decimals if whole: `1 packet`.
fn packets(value: f64) -> String {
    let number = if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) };
    format!("{number} packet{}", plural(value))
}

/// Formats a number of things, such as `1 queue` or `2 queues`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", plural(number as f64))
}

/// Returns the plural ending of a noun after this number.
pub fn plural(count: f64) -> &'static str {
    if (count - 1.0).abs() < f64::EPSILON { "" } else { "s" }
}

/// Formats an amount of memory, such as `1.5 GiB`; less than one MiB is a fraction of it.
pub fn memory(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1 << 20, "MiB"));
    let amount = bytes as f64 / unit as f64;
    if bytes > 1 << 50 {
        return "more than 1000 TiB".to_owned();
    }
    if amount < 9.95 { format!("{amount:.1} {name}") } else { format!("{amount:.0} {name}") }
}

/// Formats a number without a unit.
pub fn plain(value: f64) -> String {
    three_digits(value)
}

/// Returns text for XML and HTML, in which nothing begins an element or ends an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Removes the zeros at the end of the decimals of a formatted value: `50.0 ms` becomes `50 ms`.
pub fn without_zeros(text: &str) -> String {
    let (number, unit) = text.split_once(' ').map_or((text, ""), |(number, unit)| (number, unit));
    let short =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    if unit.is_empty() { short.to_owned() } else { format!("{short} {unit}") }
}

/// Formats `value` in `unit` with the prefix that leaves one to three digits before the point.
fn with_prefix(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return "-".to_owned() };
    if value.abs() < NOTHING {
        return format!("0 {unit}");
    }
    let (scale, prefix) = prefix(value.abs(), unit);
    format!("{} {prefix}{unit}", three_digits(value / scale))
}

/// Size below which a value with a prefix counts as zero.
const NOTHING: f64 = 1e-13;

/// Returns the prefix that leaves one to three digits of `size` before the point, and what it stands for.
fn prefix(size: f64, unit: &str) -> (f64, &'static str) {
    const PREFIXES: [(f64, &str); 8] =
        [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")];
    // Kiloseconds are not in use.
    let largest = if unit == "s" { 1.0 } else { f64::INFINITY };
    let mut fitting = PREFIXES.into_iter().filter(|(scale, _)| *scale <= largest);
    fitting.find(|(scale, _)| size * 1.0005 >= *scale).unwrap_or(PREFIXES[PREFIXES.len() - 1])
}

/// Formats three significant digits, without an exponent.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.099_95 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        assert_eq!(seconds(Some(0.001_234)), "1.23 ms");
        assert_eq!(seconds(Some(39.951)), "40.0 s");
        assert_eq!(seconds(Some(1234.0)), "1234 s");
        assert_eq!(seconds(None), "-");
        assert_eq!(rate(Some(9_984_000.0)), "9.98 Mbit/s");
        assert_eq!(rate(Some(999_999.9)), "1.00 Mbit/s");
        assert_eq!(ratio(Some(0.0012)), "0.120 %");
        assert_eq!(ratio(Some(0.0)), "0 %");
        assert_eq!(quantity(Some(12.0), "packets"), "12 packets");
        assert_eq!(quantity(Some(1.0), "packets"), "1 packet");
        assert_eq!(quantity(Some(11.5), "packets"), "11.5 packets");
        assert_eq!([0, 1, 2].map(|number| count(number, "queue")), ["0 queues", "1 queue", "2 queues"]);
    }

    #[test]
    fn times_of_a_run_have_all_their_digits() {
        let times = [0.0, 30.0, 60.4, 100.1, 12.050_001, 0.000_05].map(instant);
        assert_eq!(times, ["0", "30", "60.4", "100.1", "12.05", "0.00005"]);
    }

    #[test]
    fn zeros_at_the_end_go() {
        for (text, short) in [
            ("50.0 ms", "50 ms"),
            ("1.25 s", "1.25 s"),
            ("1.00 %", "1 %"),
            ("100 kbit/s", "100 kbit/s"),
            ("4.50", "4.5"),
            ("0", "0"),
            ("-", "-"),
        ] {
            assert_eq!(without_zeros(text), short);
        }
    }

    #[test]
    fn an_interval_has_its_unit_once() {
        assert_eq!(interval(0.0318, 0.0004, "s"), "31.80 ± 0.40 ms");
        assert_eq!(interval(-0.000_02, 1.5, "s"), "0.0 ± 1.5 s");
        assert_eq!(interval(182.0, 63.5, "packets"), "182 ± 64 packets");
        assert_eq!(interval(0.75, 0.012, "ratio"), "75.0 ± 1.2 %");
        assert_eq!(interval(0.75, 0.012, ""), "0.750 ± 0.012");
        assert_eq!(interval(0.0, 0.0, "s"), "0 ± 0 s");
        assert_eq!(interval(0.0143, 0.000_005_8, "s"), "14.300 ± 0.006 ms");
        assert_eq!(interval(0.94, 0.207, "s"), "940 ± 207 ms");
        assert_eq!(interval(0.224, 0.009_96, "s"), "224 ± 10 ms");
    }

    #[test]
    fn amounts_of_memory_are_short() {
        assert_eq!(memory(3 << 20), "3.0 MiB");
        assert_eq!(memory(100 << 20), "100 MiB");
        assert_eq!(memory(24 << 30), "24 GiB");
        assert_eq!(memory(u64::MAX), "more than 1000 TiB");
    }
}
