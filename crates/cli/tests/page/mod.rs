//! The data that a report carries.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

/// Returns the data of the report at `path`.
pub(crate) fn report_data(path: &Path) -> Value {
    let page = fs::read_to_string(path).expect("a report");
    let start = r#"id="lockgate-data" data-encoding="gzip">"#;
    let data = page.split_once(start).and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
    let compressed = STANDARD.decode(data).expect("base64");
    serde_json::from_reader(GzDecoder::new(&compressed[..])).expect("JSON")
}
