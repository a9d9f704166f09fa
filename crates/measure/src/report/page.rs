//! The page as one file: the built template with the data inserted.
//!
//! The data are JSON, compressed by gzip and written in base64: series of hundreds of flows shrink to a
//! sixteenth, so that the page of a large network still opens at once. The page decompresses them with the
//! browser's `DecompressionStream`. Decision 116. Title, verdict and expectations are also written as
//! elements, so that they are on the screen before the data are read, and without any script.

use std::io::BufWriter;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderStringWriter;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{ReportData, answer};

/// Element for the data: the template has it exactly once, and [`page`] replaces it.
pub const MARKER: &str = r#"<script type="application/json" id="lockgate-data">{}</script>"#;

/// Element with compressed data, up to its content.
const COMPRESSED: &str = r#"<script type="text/plain" id="lockgate-data" data-encoding="gzip">"#;

/// Element in which the page builds its contents.
const ROOT: &str = r#"<div id="page"></div>"#;
const ROOT_OPEN: &str = r#"<div id="page">"#;
const ROOT_CLOSE: &str = "</div>";

/// Returns the page with this data. If the template lacks the [`MARKER`], appends the element.
pub fn page(template: &str, data: ReportData) -> String {
    let data = data.readable();
    // Base64 has no `<`: nothing in the data can end the element early.
    let element = [COMPRESSED, &compressed(&data), "</script>"].concat();
    match template.split_once(MARKER) {
        Some((before, after)) => match before.split_once(ROOT) {
            Some((head, between)) => {
                let answer = answer::elements(&data);
                [head, ROOT_OPEN, &answer, ROOT_CLOSE, between, &element, after].concat()
            }
            None => [before, &element, after].concat(),
        },
        None => [template, &element].concat(),
    }
}

/// Returns the data as JSON, compressed by gzip, in base64. The same data give the same text.
fn compressed(data: &ReportData) -> String {
    let gzip = GzEncoder::new(EncoderStringWriter::new(&STANDARD), Compression::default());
    let mut json = BufWriter::new(gzip);
    // Writing to memory fails only if a key is not a string, and all keys here are names of fields.
    let written = serde_json::to_writer(&mut json, data);
    debug_assert!(written.is_ok(), "report data are always JSON");
    let gzip = json.into_inner().ok().and_then(|gzip| gzip.finish().ok());
    gzip.map(EncoderStringWriter::into_inner).unwrap_or_default()
}
