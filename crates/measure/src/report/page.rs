//! The page as one file: the built template with the data inserted.

use super::ReportData;

/// Element for the data: the template has it exactly once, and its `{}` is replaced.
pub const MARKER: &str = r#"<script type="application/json" id="lockgate-data">{}</script>"#;

/// Returns the page with this data. If the template lacks the [`MARKER`], appends the element.
pub fn page(template: &str, data: &ReportData) -> String {
    // Writing to memory fails only if a key is not a string, and all keys here are names of fields.
    let json = serde_json::to_string(data).unwrap_or_else(|_| "{}".into());
    // JSON contains `<` only within strings, where an escape is equivalent: then neither a closing tag nor
    // a comment can end the element early.
    let element = MARKER.replace("{}", &json.replace('<', "\\u003c"));
    match template.split_once(MARKER) {
        Some((before, after)) => [before, &element, after].concat(),
        None => [template, &element].concat(),
    }
}
