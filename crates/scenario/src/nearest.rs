//! The known name nearest to one that is not known.

/// The name among `known` that `name` was probably meant to be; `None` where none is near.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    // Long enough for any real name; the distance costs the product of the lengths.
    let wanted: String = plain(name).chars().take(64).collect();
    if wanted.is_empty() {
        return None;
    }
    let allowed = (wanted.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A help line: the nearest of `known`, else all of them (as far as they fit a line or two).
pub(crate) fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    if let Some(near) = nearest(name, known.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    one_of(known)
}

/// "it is `a`", "it is one of `a`, `b`", with no more names than one can read.
pub(crate) fn one_of<'a>(known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const SHOWN: usize = 24;
    let mut names: Vec<String> = known.into_iter().take(SHOWN + 1).map(|name| format!("`{name}`")).collect();
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
}
