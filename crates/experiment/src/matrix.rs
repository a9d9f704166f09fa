//! Combinations of values; variables, whose `$name` stands for each of several values.
//!
//! ```text
//! each = { policy = ["lis", "ffs"], gap = [50, 60] }     50 lis, 50 ffs, 60 lis, 60 ffs: gap first
//! rows = [{ asked = 900, offered = "1.03mbit" }, ...]    values that belong together
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::ClaimsError;

/// Value of each variable.
pub(crate) type Variables = BTreeMap<String, String>;

/// Value of a variable: string, number or Boolean, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scalar(pub(crate) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl de::Visitor<'_> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number or a truth")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
            fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Scalar, E> {
                Ok(Scalar(truth.to_string()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Variables with several values each.
pub(crate) type Each = BTreeMap<String, Vec<Scalar>>;
/// Variables whose values belong together, one entry a row.
pub(crate) type Rows = Vec<BTreeMap<String, Scalar>>;

/// Returns every combination of one element of each axis: the first axis slowest. One empty combination if
/// there are no axes.
pub(crate) fn product<T: Clone>(axes: &[Vec<T>]) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let with = |known: &Vec<T>| {
            let add = |element: &T| known.iter().chain([element]).cloned().collect::<Vec<T>>();
            axis.iter().map(add).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Limit on the combinations of one list of variables, and on the texts of one text with braces.
const MOST_COMBINATIONS: usize = 100_000;

/// Returns every combination: each row with every combination of `each`, the first variable by name slowest.
/// One combination without variables if both are empty.
///
/// # Errors
/// If there are more than a hundred thousand.
pub(crate) fn combinations(each: &Each, rows: &Rows) -> Result<Vec<Variables>, ClaimsError> {
    let lengths = each.iter().map(|(name, values)| (name.as_str(), values.len()));
    let lengths: Vec<(&str, usize)> =
        lengths.chain((!rows.is_empty()).then_some(("rows", rows.len()))).collect();
    let count = lengths.iter().fold(1_usize, |count, (_, length)| count.saturating_mul(*length));
    if count > MOST_COMBINATIONS {
        let lists: Vec<String> =
            lengths.iter().map(|(name, length)| format!("{length} of `{name}`")).collect();
        return Err(ClaimsError::Combinations(count, lists.join(" times "), MOST_COMBINATIONS));
    }
    let row = |row: &BTreeMap<String, Scalar>| {
        row.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect::<Variables>()
    };
    let rows: Vec<Variables> =
        if rows.is_empty() { vec![Variables::new()] } else { rows.iter().map(row).collect() };
    let axis = |(name, values): (&String, &Vec<Scalar>)| {
        values.iter().map(|value| Variables::from([(name.clone(), value.0.clone())])).collect()
    };
    let all: Vec<Vec<Variables>> = std::iter::once(rows).chain(each.iter().map(axis)).collect();
    Ok(product(&all).into_iter().map(|parts| parts.into_iter().flatten().collect()).collect())
}

/// Returns the values of a combination as a label.
pub(crate) fn label(variables: &Variables) -> String {
    variables.values().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Replaces each `$name` or `$(name)` in `text` by its value.
///
/// # Errors
/// If a variable does not exist; lists those that do.
pub(crate) fn fill(text: &str, variables: &Variables) -> Result<String, ClaimsError> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let enclosed = after.strip_prefix('(').and_then(|inside| inside.split_once(')'));
        let end = after.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        let (name, after) = enclosed.unwrap_or_else(|| after.split_at(end.unwrap_or(after.len())));
        let value = variables.get(name).ok_or_else(|| {
            let known: Vec<&str> = variables.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            ClaimsError::NoVariable(name.to_owned(), text.to_owned(), known)
        })?;
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Expands braces: `x{a,b}{1,2}` becomes `xa1`, `xa2`, `xb1`, `xb2`.
///
/// # Errors
/// If a brace is not closed, or the texts are more than a hundred thousand or take more than their memory.
pub(crate) fn braces(text: &str) -> Result<Vec<String>, ClaimsError> {
    /// Limit on the bytes of all texts.
    const MOST_BYTES: usize = 64 << 20;

    let mut all = vec![String::new()];
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let Some((list, after)) = rest[open + 1..].split_once('}') else {
            return Err(ClaimsError::OpenBrace(text.to_owned()));
        };
        let parts: Vec<&str> = list.split(',').map(str::trim).collect();
        let count = all.len().saturating_mul(parts.len());
        if count > MOST_COMBINATIONS || count.saturating_mul(text.len()) > MOST_BYTES {
            return Err(ClaimsError::Braces(text.chars().take(60).collect(), count));
        }
        let before = &rest[..open];
        let with =
            |known: &String| parts.iter().map(|part| format!("{known}{before}{part}")).collect::<Vec<_>>();
        all = all.iter().flat_map(with).collect();
        rest = after;
    }
    for known in &mut all {
        known.push_str(rest);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalars(values: &[&str]) -> Vec<Scalar> {
        values.iter().map(|value| Scalar((*value).to_owned())).collect()
    }

    #[test]
    fn combinations_are_the_product_of_the_rows_and_of_what_varies() {
        let each = Each::from([("b".into(), scalars(&["1", "2"])), ("a".into(), scalars(&["x", "y"]))]);
        let labels = |each: &Each, rows: &Rows| {
            combinations(each, rows).expect("few").iter().map(label).collect::<Vec<_>>()
        };
        assert_eq!(labels(&each, &Vec::new()), ["x 1", "x 2", "y 1", "y 2"]);
        let rows = vec![
            BTreeMap::from([("p".into(), Scalar("10".into())), ("q".into(), Scalar("11".into()))]),
            BTreeMap::from([("p".into(), Scalar("20".into())), ("q".into(), Scalar("21".into()))]),
        ];
        let one = Each::from([("a".into(), scalars(&["x", "y"]))]);
        assert_eq!(labels(&one, &rows), ["x 10 11", "y 10 11", "x 20 21", "y 20 21"]);
        assert_eq!(labels(&Each::new(), &Vec::new()), [""], "one without variables");
        let sixty = Each::from(["a", "b", "c", "d"].map(|name| (name.into(), scalars(&["x"; 60]))));
        let why = combinations(&sixty, &Vec::new()).expect_err("too many").to_string();
        assert!(why.contains("makes 12960000 combinations (60 of `a` times 60 of `b`"), "{why}");
    }

    #[test]
    fn variables_are_filled_in_and_unknown_ones_named() {
        let variables = Variables::from([("gap".into(), "50".into()), ("p".into(), "lis".into())]);
        assert_eq!(fill("$p/$gap: $gap", &variables).as_deref(), Ok("lis/50: 50"));
        assert_eq!(fill("$(gap)ms$gap", &variables).as_deref(), Ok("50ms50"));
        assert_eq!(fill("nothing", &variables).as_deref(), Ok("nothing"));
        assert!(fill("$gaps", &variables).is_err_and(|why| why.to_string().contains("gap, p")));
    }

    #[test]
    fn braces_give_every_text() {
        let texts = |text| braces(text).expect("closed");
        assert_eq!(texts("x{a,b}y{1,2}"), ["xay1", "xay2", "xby1", "xby2"]);
        assert_eq!(texts("plain"), ["plain"]);
        assert!(braces("x{a,b").is_err());
        let wide = format!("flow.{}.owd", "{a,b,c,d,e,f,g,h,i,j}".repeat(9));
        assert!(braces(&wide).is_err_and(|why| why.to_string().contains("make 1000000 texts or more")));
    }
}
