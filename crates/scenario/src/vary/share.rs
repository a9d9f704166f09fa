//! Shares of a rate of the file: `95% of link`, `95% of link.wan`, `95% of port.a:b.queue.q.rate`.

use lockgate_engine::port_name;
use lockgate_engine::units::Rate;

use super::VaryError;
use crate::path;

/// Splits `95% of link` into `95%` and `link`; other texts have no base.
pub(super) fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(" of ") {
        Some((share, of)) if share.contains('%') && !of.contains('%') => (share.trim(), Some(of.trim())),
        _ => (text.trim(), None),
    }
}

/// Joins a share and its base.
pub(super) fn join(share: &str, of: Option<&str>) -> String {
    match of {
        Some(of) => format!("{share} of {of}"),
        None => share.to_owned(),
    }
}

/// Returns the rate that a share stands for at `path`; `None` if `text` is not a share.
///
/// # Errors
/// If the document has no such rate.
pub(super) fn resolve(text: &str, path: &str, document: &toml::Table) -> Result<Option<String>, VaryError> {
    let (share, Some(of)) = split(text) else { return Ok(None) };
    let wrong = |why: String| VaryError::Share { value: text.to_owned(), why };
    let percent: f64 = share
        .strip_suffix('%')
        .and_then(|number| number.trim().parse().ok())
        .filter(|percent: &f64| percent.is_finite() && *percent > 0.0)
        .ok_or_else(|| wrong(format!("`{share}` is not a percentage above zero")))?;
    let base = if of == "link" { link_of(path, document).map_err(wrong)? } else { of.to_owned() };
    let full = match base.split('.').collect::<Vec<_>>().as_slice() {
        ["link", name] => format!("{base}.rate{}", direction(name, path, document).map_err(wrong)?),
        _ => base,
    };
    let found = find(document, &full).ok_or_else(|| wrong(format!("the file has no `{full}`")))?;
    let rate: Rate = found.parse().map_err(|_| wrong(format!("`{full}` is `{found}`, and no rate")))?;
    let bits = libm::round(rate.as_bits() as f64 * percent / 100.0);
    Ok(Some(Rate::from_bits(bits as u64).to_string()))
}

/// Returns the end of the path of a link's rate: `.up` or `.down`, by the direction in which the port of
/// `path` sends; nothing if the link has one rate.
fn direction(link: &str, path: &str, document: &toml::Table) -> Result<&'static str, String> {
    let table = document.get("link").and_then(|links| links.get(link));
    if !table.and_then(|table| table.get("rate")).is_some_and(toml::Value::is_table) {
        return Ok("");
    }
    let between = table.and_then(|table| table.get("between")).and_then(toml::Value::as_array);
    let ends: Vec<&str> = between.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let port = port_of(path).unwrap_or_default();
    let port = port.split('@').next().unwrap_or_default();
    match ends.as_slice() {
        [first, second] if port == format!("{first}:{second}") => Ok(".up"),
        [first, second] if port == format!("{second}:{first}") => Ok(".down"),
        _ => Err(format!(
            "the link `{link}` has a rate for each direction: write `link.{link}.rate.up` or `link.{link}.rate.down`"
        )),
    }
}

/// Returns the port of a path `port.NAME.…`, with a colon.
pub fn port_of(path: &str) -> Option<String> {
    match path::parse(path).ok()?.as_slice() {
        [section, name, ..] if section == "port" => Some(port_name::canonical(name).into_owned()),
        _ => None,
    }
}

/// Returns the path of the link over which the port of `path` sends.
fn link_of(path: &str, document: &toml::Table) -> Result<String, String> {
    let Some(port) = port_of(path) else {
        return Err(format!("`{path}` is of no port, so `link` is not known"));
    };
    let (ends, link) = port.split_once('@').map_or((&*port, None), |(ends, link)| (ends, Some(link)));
    if let Some(link) = link {
        return Ok(format!("link.{link}"));
    }
    let links = document.get("link").and_then(toml::Value::as_table);
    let joins = |table: &toml::Value| {
        let between = table.get("between").and_then(toml::Value::as_array)?;
        let [one, other] = between.as_slice() else { return None };
        let (one, other) = (one.as_str()?, other.as_str()?);
        Some(ends == format!("{one}:{other}") || ends == format!("{other}:{one}"))
    };
    let mut found = links.into_iter().flatten().filter(|(_, table)| joins(table) == Some(true));
    match (found.next(), found.next()) {
        (Some((name, _)), None) => Ok(format!("link.{name}")),
        (None, _) => Err(format!("no link joins the two nodes of the port `{port}`")),
        (Some(_), Some(_)) => Err(format!("several links join the two nodes of the port `{port}`: name one")),
    }
}

/// Returns the text at a path of the document.
fn find(document: &toml::Table, at: &str) -> Option<String> {
    let segments = path::parse(at).ok()?;
    let mut table = document;
    for (walked, segment) in segments.iter().enumerate() {
        let is_port = walked == 1 && segments[0] == "port";
        let mut entries = table.iter();
        let named = |key: &str| key == segment || (is_port && port_name::canonical(key) == segment.as_str());
        let (_, value) = entries.find(|(key, _)| named(key))?;
        match value {
            toml::Value::Table(inner) => table = inner,
            toml::Value::String(text) if walked + 1 == segments.len() => return Some(text.clone()),
            _ => return None,
        }
    }
    None
}
