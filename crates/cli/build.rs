//! Embeds the files of the papers, and the name of the target.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    papers();
    playground();
    println!("cargo::rustc-env=LOCKGATE_TARGET={}", std::env::var("TARGET").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
}

/// The playground as one file, if `make play` built it before this command; else an empty text.
fn playground() {
    let folder = Path::new("../../web/dist");
    // Of a folder that does not exist cargo would build the command anew each time.
    if folder.is_dir() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let page = std::fs::read(folder.join("play.html")).unwrap_or_default();
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("play.html"), page).expect("the output directory is writable");
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
