//! Version of this build: number, commit, target.

use std::sync::LazyLock;

/// Version number: `lockgate -V`, and the version of results.
pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// Commit, from the variable `LOCKGATE_COMMIT` that the Makefile sets. A build script that reads it from the
/// repository would compile this crate anew after each commit.
const COMMIT: Option<&str> = option_env!("LOCKGATE_COMMIT");

const LINKING: &str = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };

/// Abilities of this target.
const FEATURES: &str = if cfg!(target_os = "linux") {
    "simulator, page, real packets between namespaces, router"
} else {
    "simulator, page (real packets and router: Linux only)"
};

/// Text of `lockgate --version`: a line each for commit, target and features.
pub(crate) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let commit = COMMIT.filter(|commit| !commit.is_empty()).unwrap_or("unknown");
        let target = env!("LOCKGATE_TARGET");
        format!("{NUMBER}\ncommit    {commit}\ntarget    {target} ({LINKING})\nfeatures  {FEATURES}")
    });
    &TEXT
}
