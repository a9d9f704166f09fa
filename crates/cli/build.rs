//! Takes in the built page of reports, or says what to do without it; and the papers' files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    papers();
    let page = Path::new("../../web/dist/report.html");
    println!("cargo::rerun-if-changed={}", page.display());
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let template = std::fs::read_to_string(page).unwrap_or_else(|_| {
        println!("cargo::warning=web/dist/report.html is not built: reports will have no figures (run `make web`)");
        "<!doctype html><title>Lockgate report</title><p>This build of Lockgate has no figures: its page was not built \
         (<code>make web</code>). The numbers are in summary.json.</p>\
         <script type=\"application/json\" id=\"lockgate-data\">{}</script>"
            .to_owned()
    });
    std::fs::write(Path::new(&out).join("report.html"), template).expect("the output directory is writable");
}

/// Every `papers/<name>/*.{toml,txt}`, so that a paper is a folder and nothing else.
fn papers() {
    println!("cargo::rerun-if-changed=../../papers");
    let sorted = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("the papers are readable");
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let papers = Path::new("../../papers").canonicalize().expect("the papers are there");
    let mut list = String::from(
        "/// Every paper: its name, and its files.\nconst PAPERS: &[(&str, &[(&str, &str)])] = &[\n",
    );
    for paper in sorted(&papers).iter().filter(|paper| paper.join("claims.toml").is_file()) {
        println!("cargo::rerun-if-changed={}", paper.display());
        let _ = writeln!(list, "    ({:?}, &[", name(paper));
        for file in sorted(paper)
            .iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == "toml" || ending == "txt"))
        {
            println!("cargo::rerun-if-changed={}", file.display());
            let _ =
                writeln!(list, "        ({:?}, include_str!({:?})),", name(file), file.display().to_string());
        }
        list.push_str("    ]),\n");
    }
    list.push_str("];\n");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("papers.rs"), list).expect("the output directory is writable");
}
