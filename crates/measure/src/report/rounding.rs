//! Rounding of the numbers that a page carries.

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Rounds to six significant digits: enough for a figure, at half the size of the page. A report calls it for
/// every point it draws.
pub(super) fn short(value: f64) -> f64 {
    short_by_arithmetic(value).unwrap_or_else(|| format!("{value:.5e}").parse().unwrap_or(value))
}

/// Rounds to six significant digits by arithmetic. Six digits and a power of ten up to 10^22 are exact
/// doubles, so their quotient or product is the double nearest to the decimal number. Returns `None` if the
/// digits are in doubt (near a half), or if the power is not exact.
fn short_by_arithmetic(value: f64) -> Option<f64> {
    let magnitude = value.abs();
    if magnitude < 1e6 && magnitude.fract() == 0.0 {
        return Some(value);
    }
    let mut shift = 5 - libm::floor(libm::log10(magnitude)) as i32;
    let scaled = |shift: i32| {
        let power = *EXACT_POWERS.get(shift.unsigned_abs() as usize)?;
        Some(if shift < 0 { magnitude / power } else { magnitude * power })
    };
    // The logarithm may be off by one near a power of ten.
    let mut digits = scaled(shift)?;
    if digits >= 1e6 {
        shift -= 1;
    } else if digits < 1e5 {
        shift += 1;
    }
    digits = scaled(shift)?;
    if !(1e5..1e6).contains(&digits) || (digits - digits.trunc() - 0.5).abs() < 1e-6 {
        return None;
    }
    let rounded = digits.round();
    let power = EXACT_POWERS[shift.unsigned_abs() as usize];
    Some((if shift < 0 { rounded * power } else { rounded / power }).copysign(value))
}

pub(super) fn shorts(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| short(*value)).collect()
}

#[cfg(test)]
mod tests {
    use super::{short, short_by_arithmetic};

    /// Both ways to round agree, on the bits, over all magnitudes and beside every power of ten and half.
    #[test]
    fn arithmetic_rounds_as_decimal_text_does() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut drawn = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let (mut compared, mut by_arithmetic) = (0, 0);
        let mut compare = |value: f64| {
            let text: f64 = format!("{value:.5e}").parse().expect("a number");
            assert_eq!(short(value).to_bits(), text.to_bits(), "{value:e}");
            compared += 1;
            by_arithmetic += u32::from(short_by_arithmetic(value).is_some());
        };
        for exponent in -15..16 {
            let power = 10_f64.powi(exponent);
            for near in
                [power, power.next_up(), power.next_down(), -power, 1.234_565 * power, 9.999_995 * power]
            {
                compare(near);
            }
            for _ in 0..2_000 {
                compare(power * (drawn() % 1_000_000_000) as f64 / 1e8);
            }
        }
        for value in [0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, 5e-324] {
            compare(value);
        }
        assert!(by_arithmetic * 10 > compared * 9, "{by_arithmetic} of {compared}");
    }
}
