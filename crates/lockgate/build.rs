//! Embeds the built page of reports for the feature `results`: compressed, or a page that says how to build
//! it.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_RESULTS").is_none() {
        return;
    }
    let page = Path::new("../../web/dist/report.html");
    println!("cargo::rerun-if-changed={}", page.display());
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let template = std::fs::read_to_string(page).unwrap_or_else(|_| {
        println!("cargo::warning=web/dist/report.html is not built: reports will have no figures (run `make web`)");
        "<!doctype html><title>Lockgate report</title><p>This build of Lockgate has no figures: its page was not built \
         (<code>make web</code>). The numbers are in summary.json.</p>\
         <script type=\"application/json\" id=\"lockgate-data\">{}</script>"
            .to_owned()
    });
    let file =
        File::create(Path::new(&out).join("report.html.zlib")).expect("the output directory is writable");
    let mut encoder = ZlibEncoder::new(file, Compression::best());
    encoder.write_all(template.as_bytes()).and_then(|()| encoder.finish()).expect("the page is written");
}
