//! Scenarios to start from: those that `lockgate new` writes.

/// A scenario to start from.
pub(crate) struct Start {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Subject, in a line.
    pub(crate) about: &'static str,
    /// The file.
    pub(crate) text: &'static str,
}

macro_rules! starts {
    ($($name:literal $file:literal $about:literal),* $(,)?) => {
        /// Every scenario to start from: files of `scenarios/`, which the tests run.
        pub(crate) const STARTS: &[Start] = &[$(Start {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../scenarios/", $file)),
        }),*];
    };
}

starts! {
    "home" "home.toml" "a cable line: a call, a game and pages beside a backup; twelve shapers to compare",
    "voip" "calls-and-pages.toml" "a call, an echo and page loads beside bulk transfers, with MOS and page times",
    "dsl" "dsl.toml" "a DSL line that charges ATM cells, shaped with and without counting them",
    "isp" "isp.toml" "ten thousand subscribers with plans behind one router",
    "campus" "campus-classes.toml" "departments that lend to each other, by HTB or H-FSC",
    "l4s" "l4s.toml" "TCP Prague beside CUBIC through DualPI2",
    "incast" "incast.toml" "forty servers answer one client of a data centre at once, by DCTCP",
    "lab" "voice-beside-bulk.toml" "the smallest: two hosts, a queue, a call and an upload",
}

/// Returns the names of all scenarios to start from.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STARTS.iter().map(|start| start.name)
}
