//! The digest of a small run, as lines.

use crate::{Options, no_files, parse_settings, read_text};

use super::*;

/// A call and pages beside two backups, on a line with a deep FIFO: the call misses its bound.
const SCENARIO: &str = r#"title = "A small home"
duration = "10s"
warmup = "2s"
node.home = {}
node.server = {}
link.line = { between = ["home", "server"], rate = "5mbit", delay = "8ms" }
port."home:server".queue.buffer = { kind = "fifo", limit = "60kB" }
flow.call = { from = "home", to = "server", profile = "g711" }
flow.web = { from = "home", to = "server", transport = "tcp", pages = { objects = 2, object = "20kB", think = "1s" } }
flow.backup = { from = "home", to = "server", transport = "tcp", bytes = "unlimited", count = 2 }
[[expect]]
that = "group.backup.goodput.sum"
above = "3mbit"
[[expect]]
that = "flow.call.owd.p99"
below = "50ms"
"#;

fn digest(columns: Option<usize>, settings: &[&str]) -> Vec<String> {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let settings = parse_settings(&settings).expect("settings");
    let scenario = read_text(SCENARIO, "s.toml", &no_files(), &settings).expect("a scenario");
    let mut runs = crate::run(&scenario, &Options::default()).expect("it runs");
    for recording in &mut runs.recordings {
        recording.engine.wall_s = 0.02;
    }
    let summary = crate::summarise(&scenario, &runs.recordings).expect("a summary");
    let surface = Surface { columns, is_terminal: columns.is_some(), colours: false };
    let directory = Some(Path::new("runs/a-small-home-20261126"));
    Digest { summary: &summary, runs: &runs, directory, hint: "(--tables for all)" }.lines(&surface)
}

#[test]
fn a_small_home_at_four_widths() {
    for columns in [60, 79, 120, 200] {
        let lines = digest(Some(columns), &[]);
        let text = lines.join("\n") + "\n";
        let file = format!("{}/src/text/digest/tests/{columns}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("LOCKGATE_SCREENS").is_some_and(|value| value == "write") {
            std::fs::write(&file, &text).expect("written");
        }
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text == known, "{file} differs (LOCKGATE_SCREENS=write writes it):\n{text}");
        for line in lines {
            assert!(width(&line) <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn a_pipe_has_the_columns_without_curves() {
    let lines = digest(None, &[]);
    assert!(!lines.concat().contains('█'), "{lines:#?}");
    let titles: Vec<&str> =
        lines.iter().find(|line| line.starts_with("flow")).expect("titles").split_whitespace().collect();
    assert_eq!(titles[..4], ["flow", "p50", "p99", "max"], "{lines:#?}");
}

#[test]
fn the_missed_are_first_and_return_flows_are_left_out() {
    let lines = digest(None, &[]);
    let first = lines.iter().position(|line| line.starts_with('✗')).expect("a missed one");
    assert!(lines[first].contains("call") && lines[first + 1].starts_with("✓ backup"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("backup ×2")), "{lines:#?}");
    assert!(!lines.concat().contains("/return"), "{lines:#?}");
    assert!(
        lines.last().is_some_and(|line| line.starts_with("✗ 1 of 2 missed   report: runs/")),
        "{lines:#?}"
    );
}

/// The effect of a change is said before the longest wait: values before and after it.
#[test]
fn a_change_is_told_before_and_after() {
    let settings = [
        "port.home:server.queue.fair.kind=fq_codel",
        "port.home:server.root=buffer",
        "port.home:server.alternatives=[\"fair\"]",
        "change=[{ at = \"6s\", set = { \"port.home:server.root\" = \"fair\" } }]",
    ];
    let lines = digest(None, &settings);
    let wait = lines.iter().position(|line| line.starts_with("Longest wait")).expect("a wait");
    let told = &lines[wait - 1];
    assert!(
        told.contains(" before, ") && told.contains(" after; ") && told.contains(" = fair: "),
        "{lines:#?}"
    );
}

#[test]
fn of_many_flows_the_worst_are_shown() {
    let flows: Vec<String> = (0..14)
        .map(|flow| {
            format!(
                "flow.f{flow}={{ from = \"home\", to = \"server\", size = \"{}B\", gap = \"100ms\" }}",
                100 + flow
            )
        })
        .collect();
    let lines = digest(None, &flows.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(lines.contains(&"and 7 more rows, none with a longer p99".to_owned()), "{lines:#?}");
}

#[test]
fn numbers_lose_their_last_zeros_only() {
    assert_eq!(brief("20.0 s"), "20 s");
    assert_eq!(brief("below 1.50 ms, for 90.0 %"), "below 1.5 ms, for 90 %");
    assert_eq!(brief("200 p"), "200 p");
    assert_eq!(brief("a 1.0.0 v2.00"), "a 1.0.0 v2.00");
}
