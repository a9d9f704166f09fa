//! Names of ports: `from:to`, or `from:to@link` if several links join the two nodes.
//!
//! `from->to` is an older spelling of the same name, accepted wherever a port is named. Output uses the
//! colon, because a shell takes the `>` for a redirection. Names of nodes contain neither a colon nor a
//! `>`.

use std::borrow::Cow;

/// Returns the name with a colon, for either spelling.
#[must_use]
pub fn canonical(name: &str) -> Cow<'_, str> {
    match name.split_once("->") {
        Some((from, to)) => Cow::Owned(format!("{from}:{to}")),
        None => Cow::Borrowed(name),
    }
}

/// Returns the name with an arrow. Random streams are named by it, so that the draws stay those of the
/// older spelling.
#[must_use]
pub fn with_arrow(name: &str) -> Cow<'_, str> {
    match name.split_once(':') {
        Some((from, to)) => Cow::Owned(format!("{from}->{to}")),
        None => Cow::Borrowed(name),
    }
}

/// Returns the part before the `-` of a path that a shell has cut off at the `>` of a port's arrow; `None`
/// for other texts.
#[must_use]
pub fn cut_by_shell(path: &str) -> Option<&str> {
    path.trim().strip_suffix('-').filter(|kept| kept.starts_with("port.") && kept.matches('.').count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_name() {
        for (name, arrow) in [("a:b", "a->b"), ("a:b@up", "a->b@up"), ("a-:b", "a-->b"), ("odd", "odd")] {
            assert_eq!((canonical(arrow), with_arrow(name)), (name.into(), arrow.into()));
            assert_eq!((canonical(name), with_arrow(arrow)), (name.into(), arrow.into()));
        }
    }

    #[test]
    fn a_path_cut_off_at_an_arrow_is_known() {
        assert_eq!(cut_by_shell("port.home-"), Some("port.home"));
        for whole in ["port.home:server.queue.q-", "link.wan-", "port.home:server", "x=-"] {
            assert_eq!(cut_by_shell(whole), None, "{whole}");
        }
    }
}
