//! Finds the known name nearest to an unknown one.

/// Longest name that is compared, in bytes: names have at most 64 letters, and ports two names.
const LONGEST_NAME_BYTES: usize = 160;

/// Limit on the pairs of letters compared, in the order of `known`: 4000 names of eight letters.
const MOST_COMPARED: usize = 250_000;

/// Returns the name in `known` that `name` was probably meant to be; `None` if none is near. A name longer
/// than any known one can be is near none.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(name, &mut known.into_iter())
}

/// The same, compiled once for all iterators.
fn nearest_of<'a>(name: &str, known: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST_NAME_BYTES {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = plain(name);
    if wanted.is_empty() {
        return None;
    }
    let letters = wanted.chars().count();
    let allowed = (letters / 3).max(1);
    let mut compared = 0;
    known
        .filter(|candidate| candidate.len() <= LONGEST_NAME_BYTES)
        .map(|candidate| (plain(candidate), candidate))
        // A larger difference in length implies a larger distance.
        .filter(|(plain, _)| plain.chars().count().abs_diff(letters) <= allowed)
        .take_while(|(plain, _)| {
            compared += letters * plain.len();
            compared <= MOST_COMPARED
        })
        .map(|(plain, candidate)| (strsim::osa_distance(&wanted, &plain), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Keys of other tools, with the keys of scenarios that mean the same.
const SYNONYMS: [(&str, &str); 13] = [
    ("latency", "delay"),
    ("propagation", "delay"),
    ("protocol", "transport"),
    ("bandwidth", "rate"),
    ("speed", "rate"),
    ("capacity", "rate"),
    ("source", "from"),
    ("destination", "to"),
    ("src", "source"),
    ("dst", "destination"),
    ("sport", "source_port"),
    ("dport", "destination_port"),
    ("ceiling", "ceil"),
];

/// Returns the key in `known` that `name` was probably meant to be: a synonym, or else the nearest.
pub(crate) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let mut word = SYNONYMS.iter().filter(|(other, _)| name.eq_ignore_ascii_case(other));
    let same = word.find_map(|(_, key)| known.clone().into_iter().find(|known| known == key));
    same.or_else(|| nearest(name, known))
}

/// Returns a help line: the nearest of `known`, or else all of them (as far as they fit a line or two).
pub(crate) fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    if let Some(near) = nearest(name, known.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    one_of(known)
}

/// Returns "it is `a`" or "it is one of `a`, `b`"; limited to a readable number of names.
pub(crate) fn one_of<'a>(known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    one_of_all(&mut known.into_iter())
}

/// The same, compiled once for all iterators.
fn one_of_all(known: &mut dyn Iterator<Item = &str>) -> Option<String> {
    const SHOWN: usize = 24;
    let mut names: Vec<String> = known.take(SHOWN + 1).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        "…".clone_into(&mut names[SHOWN]);
    }
    match names.as_slice() {
        [] => None,
        [only] => Some(format!("it is {only}")),
        _ => Some(format!("it is one of {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let kinds = ["fifo", "prio", "fq_codel", "tbf"];
        assert_eq!(nearest("fq-codle", kinds), Some("fq_codel"));
        assert_eq!(nearest("FIFO", kinds), Some("fifo"));
        assert_eq!(nearest("tfb", kinds), Some("tbf"));
        assert_eq!(nearest("hfsc", kinds), None);
        assert_eq!(nearest("", kinds), None);
        assert_eq!(suggest("hfsc", ["a", "b"]).as_deref(), Some("it is one of `a`, `b`"));
        assert_eq!(suggest("x", []), None);
    }

    #[test]
    fn what_is_compared_is_bounded() {
        let mut seen = 0;
        let many: Vec<String> = (0..100_000).map(|number| format!("node{number:060}")).collect();
        let known = many.iter().map(String::as_str).inspect(|_| seen += 1);
        assert!(nearest(&"node".repeat(16), known).is_none());
        assert!(seen * 64 * 64 <= MOST_COMPARED + 64 * 64, "{seen} names of 64 letters");
        let long = "n".repeat(1_000);
        assert_eq!(nearest(&long, ["node", long.as_str()]), None, "no name is that long");
        assert_eq!(nearest("node", [long.as_str(), "nod"]), Some("nod"));
    }

    #[test]
    fn words_of_other_tools_are_known() {
        assert_eq!(meant("latency", ["rate", "delay"]), Some("delay"));
        assert_eq!(meant("Bandwidth", ["between", "rate"]), Some("rate"));
        assert_eq!(meant("protocol", ["from", "transport"]), Some("transport"));
        assert_eq!(meant("latency", ["rate", "loss"]), None, "where there is no such key");
        assert_eq!(meant("dealy", ["rate", "delay"]), Some("delay"));
    }
}
