//! The page as one file: the built template with the data put in.

use super::ReportData;

/// Where the data goes: the template has this element exactly once, and the `{}` is replaced.
pub const MARKER: &str = r#"<script type="application/json" id="lockgate-data">{}</script>"#;

/// The page with this data in it. A template without the [`MARKER`] gets the element at its end.
pub fn page(template: &str, data: &ReportData) -> String {
    // Writing to memory fails only where a key is not a string, and all keys here are names of fields.
    let json = serde_json::to_string(data).unwrap_or_else(|_| "{}".into());
    // Within JSON `<` stands only in strings, so that it may be written as an escape anywhere: neither a
    // closing tag nor a comment can then end the element early.
    let element = MARKER.replace("{}", &json.replace('<', "\\u003c"));
    match template.split_once(MARKER) {
        Some((before, after)) => [before, &element, after].concat(),
        None => [template, &element].concat(),
    }
}
