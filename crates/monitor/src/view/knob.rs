//! One step of a knob, up or down.

use lockgate_session::Knob;

/// Returns the next value of a knob: the next choice, or a number a quarter larger or a fifth smaller with
/// its unit unchanged. `None` if the value is neither.
pub(crate) fn step(knob: &Knob, up: bool) -> Option<String> {
    let value = knob.value.as_deref()?;
    if !knob.choices.is_empty() {
        return next_choice(&knob.choices, value, up);
    }
    match value {
        "true" => return Some("false".to_owned()),
        "false" => return Some("true".to_owned()),
        _ => {}
    }
    let split = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(split);
    if let Ok(whole) = number.parse::<u64>() {
        let stepped =
            if up { whole.saturating_add((whole / 4).max(1)) } else { whole - (whole / 5).max(1).min(whole) };
        // No step to zero, which has another meaning than a small value.
        return (stepped > 0).then(|| format!("{stepped}{unit}"));
    }
    let number: f64 = number.parse().ok()?;
    let stepped = if up { number * 1.25 } else { number / 1.25 };
    let text = format!("{stepped:.3}");
    Some(format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.')))
}

fn next_choice(choices: &[String], value: &str, up: bool) -> Option<String> {
    let count = choices.len();
    let at = choices.iter().position(|choice| choice == value).unwrap_or(0);
    choices.get(if up { (at + 1) % count } else { (at + count - 1) % count }).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stepped(value: &str, up: bool) -> Option<String> {
        let knob = Knob {
            path: String::new(),
            key: String::new(),
            value: Some(value.to_owned()),
            is_default: false,
            takes: String::new(),
            about: String::new(),
            choices: Vec::new(),
        };
        step(&knob, up)
    }

    #[test]
    fn numbers_keep_their_unit() {
        assert_eq!(stepped("100p", true).as_deref(), Some("125p"));
        assert_eq!(stepped("100p", false).as_deref(), Some("80p"));
        assert_eq!(stepped("1", true).as_deref(), Some("2"));
        assert_eq!(stepped("1p", false), None, "nothing is not little");
        assert_eq!(stepped("1.5mbit", true).as_deref(), Some("1.875mbit"));
        assert_eq!(stepped("true", true).as_deref(), Some("false"));
        assert_eq!(stepped("fifo", true), None);
    }
}
