//! Translates settings of `tc` to parameters of a scenario, as the rows of [`crate::language`] say. Every
//! import reports which settings it left out.

use lockgate_scenario::reference::Parameter;

use crate::language::{Kind, Meaning, When};
use crate::problem::Problem;
use crate::syntax::Setting;
use crate::value::Value;

/// Parameters of a queue, in the order of the settings.
pub(crate) type Parameters = Vec<(&'static str, Value)>;

/// Returns the reason why a setting has no effect in a scenario; `None` if it has one. In a script
/// (`is_general`) also settings without a counterpart are left out.
pub(super) fn reason(
    kind: Kind,
    setting: &Setting,
    all: &[Setting],
    is_general: bool,
) -> Option<&'static str> {
    let left_out = kind.word(*setting.name)?.left_out?;
    let is_set = |other: &Setting| *other.name == *setting.name && other.value == Value::Switch(true);
    // The last of competing words holds, so that one that clears is no default.
    if setting.value == Value::Switch(false) && all.iter().any(is_set) {
        return None;
    }
    let is_it = match left_out.when {
        When::Always => true,
        When::With(value) => setting.value.to_string() == value,
        When::Zero => is_zero(&setting.value),
        When::Off => setting.value == Value::Switch(false),
        When::Without(name) => value_of(all, name).is_none(),
        When::Beside(names) => names.iter().all(|name| value_of(all, name).is_some()),
    };
    (is_it && (is_general || !left_out.is_in_scripts_only)).then_some(left_out.why)
}

/// Returns true for a number, a size or a time of zero.
fn is_zero(value: &Value) -> bool {
    let text = value.to_string();
    text.trim_end_matches(char::is_alphabetic).parse() == Ok(0.0)
}

/// Translates one setting to parameters; `None` if none of these is meant.
pub(super) fn meaning(kind: Kind, setting: &Setting, known: &[Parameter]) -> Option<Parameters> {
    let is_known = |name: &str| known.iter().any(|parameter| parameter.name == name);
    kind.word(*setting.name)?.parameters(&setting.value, is_known)
}

/// Returns true for settings that the tree as a whole says, such as those that sort packets into classes.
pub(super) fn is_of_tree(kind: Kind, name: &str) -> bool {
    kind.word(name).is_some_and(|word| word.meaning == Meaning::Tree)
}

/// Translates settings to parameters among `known`: of words that set the same, the last one holds.
/// Settings left out are added to `left_out`; with `is_general` also those with an effect that a scenario
/// cannot have.
///
/// # Errors
/// Returns the first setting that a scenario does not have, or that `tc` does not take twice.
pub(super) fn translate(
    kind: Kind,
    settings: &[Setting],
    known: &[Parameter],
    left_out: &mut Vec<String>,
    is_general: bool,
) -> Result<Parameters, Problem> {
    let mut parameters = Parameters::new();
    for (index, setting) in settings.iter().enumerate() {
        let Some(word) = kind.word(*setting.name) else { continue };
        let is_again = |other: &Setting| kind.word(*other.name).is_some_and(|of| of.group() == word.group());
        if word.is_once && settings[..index].iter().any(is_again) {
            return Err(Problem::new(setting.name.at, format!("`{}` of `{kind}` is given twice", word.name)));
        }
        parameters.retain(|(name, _)| !word.clears.contains(name));
        if let Some(why) = reason(kind, setting, settings, is_general) {
            left_out.push(format!("`{setting}` of `{kind}`: {why}"));
            continue;
        }
        if word.meaning == Meaning::Tree {
            continue;
        }
        let parts = meaning(kind, setting, known).ok_or_else(|| {
            let message =
                format!("`{}` of `{kind}` is not known to our `{}`", word.name, kind.in_scenarios());
            Problem::new(setting.name.at, message)
        })?;
        for (name, value) in parts {
            let before = parameters.iter_mut().find(|(other, _)| *other == name).map(|(_, before)| before);
            if let (Some(Value::Offset(sum)), Value::Offset(more), Meaning::Line | Meaning::Overhead(_)) =
                (before, &value, word.meaning)
            {
                *sum += more;
                continue;
            }
            parameters.retain(|(other, _)| *other != name);
            parameters.push((name, value));
        }
    }
    Ok(parameters)
}

/// Returns the value of a setting, if it is given: the last one holds.
pub(crate) fn value_of<'a>(settings: &'a [Setting], name: &str) -> Option<&'a Value> {
    settings.iter().rfind(|setting| *setting.name == name).map(|setting| &setting.value)
}

#[cfg(test)]
mod tests;
