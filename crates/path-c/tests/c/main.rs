//! The C interface: its header is the generated one, and C programs use it under sanitizers and valgrind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lockgate_testing::skipped;

/// Libraries of the system that the static library needs (`rustc --print native-static-libs`).
const SYSTEM: [&str; 4] = ["-lm", "-lpthread", "-ldl", "-lgcc_s"];
const SANITIZERS: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_header_is_current() {
    let config = cbindgen::Config::from_file(here("cbindgen.toml")).expect("a configuration");
    let sources = cbindgen::Builder::new().with_config(config);
    let sources = sources.with_src(here("src/exports.rs")).with_src(here("src/handle.rs"));
    let mut written = Vec::new();
    sources.generate().expect("a header").write(&mut written);
    let written = String::from_utf8(written).expect("text");
    let file = here("include/lockgate_path.h");
    if std::env::var_os("LOCKGATE_RENEW").is_some() {
        fs::write(&file, &written).expect("the header is written");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == written, "LOCKGATE_RENEW=1 cargo test --workspace --test c writes {}", file.display());
}

/// Compiles a program with the static library that the tests have built, beside this test; `None` without a
/// compiler.
fn compiled(source: &str, options: &[&str], to: &Path) -> Option<PathBuf> {
    let program = to.join("program");
    let tests = std::env::current_exe().expect("a test program");
    let library = tests.with_file_name("liblockgate_path_c.a");
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-I"])
        .arg(here("include"))
        .args(options)
        .arg(here(source))
        .arg(library)
        .args(SYSTEM)
        .arg("-o")
        .arg(&program)
        .output();
    let Ok(output) = output else {
        skipped("there is no C compiler");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && said.contains("asan") {
        skipped("the C compiler has no sanitizers");
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(program)
}

fn holds(output: &Output) {
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{:?}\n{}", output.status.code(), texts.join("\n"));
}

/// Runs the example, which asserts that the line is used, marks arrive, and `fq_codel` halves the delay of
/// a FIFO.
#[test]
fn a_window_of_c_holds_under_sanitizers() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled("examples/window.c", SANITIZERS, folder.path()) else { return };
    let output = Command::new(program).output().expect("it runs");
    holds(&output);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn wrong_calls_are_errors_with_a_text_under_sanitizers() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled("tests/c/misuse.c", SANITIZERS, folder.path()) else { return };
    holds(&Command::new(program).arg(folder.path()).output().expect("it runs"));
}

#[test]
fn valgrind_finds_no_fault_and_no_leak() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled("tests/c/misuse.c", &[], folder.path()) else { return };
    let valgrind = Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect"])
        .arg(program)
        .arg(folder.path())
        .output();
    let Ok(output) = valgrind else { return skipped("there is no valgrind") };
    holds(&output);
}

#[test]
fn the_header_is_one_for_cpp_too() {
    let include = "#include \"lockgate_path.h\"\nint main() { return lockgate_path_next(nullptr) == 0; }\n";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.cpp");
    fs::write(&file, include).expect("a file");
    let output = Command::new("c++")
        .args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
        .arg(here("include"))
        .arg(file)
        .output();
    let Ok(output) = output else { return skipped("there is no C++ compiler") };
    holds(&output);
}
