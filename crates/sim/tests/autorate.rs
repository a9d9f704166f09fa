//! Controllers of a rate before lines that move: what each law makes of the uplink, beside the best static
//! cap and the causal oracle.
//!
//! A sample runs by default. The table: `LOCKGATE_LAWS=1 cargo test --workspace --test autorate --release --
//! --nocapture`. `LOCKGATE_LINES=DIRECTORY` adds recorded lines, `LOCKGATE_CELLS=all` all round trips, kinds
//! of traffic and ten seeds.
#![allow(clippy::print_stdout, reason = "the table is wanted")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use lockgate_autorate::Law;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_measure::recording::{EventKind, Recording};
use lockgate_scenario::Scenario;
use lockgate_sim::{Control, Progress, Simulation, run};

/// Index of the port of the line, and of the port that is shaped.
const LINE: usize = 4;
const SHAPED: usize = 2;

/// Parts of a line's mean rate that are tried as static caps, in percent.
const CAPS: [u64; 6] = [30, 50, 70, 80, 90, 100];

/// A line: its name, the value of `trace.up`, and the content of the file if it names one.
struct Line {
    name: String,
    trace: String,
    file: Option<(String, Arc<[u8]>)>,
}

fn generated(seed: u64) -> Vec<Line> {
    let line = |name: &str, keys: &str| Line {
        name: name.to_owned(),
        trace: format!("{{ {keys}, length = \"60s\", seed = {seed} }}"),
        file: None,
    };
    vec![
        line("constant", "law = \"markov\", rate = \"10mbit\", swing = 0"),
        line("markov", "law = \"markov\", rate = \"10mbit\", swing = 0.7, hold = \"2s\""),
        line("cell", "law = \"cellular\", rate = \"8mbit\", swing = 0.8, hold = \"1s\""),
        line("fast cell", "law = \"cellular\", rate = \"8mbit\", swing = 0.8, hold = \"300ms\""),
        line("satellite", "law = \"leo\", rate = \"15mbit\", swing = 0.5"),
        line("peak hour", "law = \"daytime\", rate = \"10mbit\", swing = 0.7"),
        line(
            "drive",
            "law = \"markov\", rate = \"6mbit\", swing = 0.8, hold = \"3s\", outage_every = \"15s\", outage = \"2s\"",
        ),
    ]
}

fn recorded() -> Vec<Line> {
    let Some(directory) = std::env::var_os("LOCKGATE_LINES") else { return Vec::new() };
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .expect("a directory")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    let line = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let bytes: Arc<[u8]> = std::fs::read(&path).expect("a trace").into();
        Line { trace: format!("{name:?}"), file: Some((name.clone(), bytes)), name }
    };
    paths.into_iter().map(line).collect()
}

/// Senders of an uplink.
const TRAFFIC: [(&str, &str); 4] = [
    ("bulk", "[flow.bulk]\nfrom = 'home'\nto = 'server'\ntransport = 'tcp'\nbytes = 'unlimited'\n"),
    (
        "eight",
        "[flow.bulk]\nfrom = 'home'\nto = 'server'\ntransport = 'tcp'\nbytes = 'unlimited'\ncount = 8\n",
    ),
    (
        "call",
        "[flow.bulk]\nfrom = 'home'\nto = 'server'\ntransport = 'tcp'\nbytes = 'unlimited'\n\
         [flow.call]\nfrom = 'home'\nto = 'server'\ntransport = 'udp'\nprofile = 'g711'\n",
    ),
    (
        "on/off",
        "[flow.files]\nfrom = 'home'\nto = 'server'\ntransport = 'tcp'\nfile = '3MB'\ncount = 8\n\
         every = { distribution = 'exponential', mean = '6s' }\n",
    ),
];

/// Returns a home whose gateway shapes towards a modem with a deep buffer.
fn text(line: &Line, rtt_ms: u64, flows: &str, autorate: &str) -> String {
    format!(
        r#"
title = "uplink"
duration = "60s"
warmup = "5s"
[node]
home = {{}}
gateway = {{}}
modem = {{}}
isp = {{}}
server = {{}}
[link.lan]
between = ["home", "gateway"]
rate = "1gbit"
[link.cable]
between = ["gateway", "modem"]
rate = "1gbit"
[link.line]
between = ["modem", "isp"]
rate = {{ up = "10mbit", down = "100mbit" }}
trace = {{ up = {trace} }}
[link.core]
between = ["isp", "server"]
rate = "1gbit"
delay = "{half}us"
[port."modem:isp"]
queue.buffer = {{ kind = "fifo", limit = "2MB" }}
[port."gateway:modem"]
queue.home = {{ kind = "cake" }}
{autorate}
{flows}
"#,
        trace = line.trace,
        half = rtt_ms * 500,
    )
}

fn read(line: &Line, text: &str) -> Scenario {
    let files: BTreeMap<String, Arc<[u8]>> = line.file.iter().cloned().collect();
    match lockgate_scenario::read(text, "test.toml", &files, &[]) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems:?}\n{text}"),
    }
}

/// Returns the table of a controller before a line of this mean rate.
fn controller(law: &str, mean: Rate, more: &str) -> String {
    let part = |percent: u64| mean.as_bits() * percent / 100;
    format!(
        "[port.\"gateway:modem\".autorate]\nlaw = \"{law}\"\nmin = \"{}bit\"\nmax = \"{}bit\"\nstart = \"{}bit\"\n\
         probes = {{ to = [\"isp\", \"server\"], every = \"300ms\" }}\n{more}",
        part(2),
        part(400),
        part(70),
    )
}

/// What a run gave: utilisation of what the line allowed, and the 95th and 99th percentile of the delay
/// behind.
#[derive(Clone, Copy, Debug)]
struct Cell {
    used: f64,
    p95_ms: f64,
    p99_ms: f64,
}

impl Cell {
    fn of(recording: &Recording) -> Self {
        let port = &recording.ports[LINE];
        assert_eq!(port.setup.name, "modem:isp");
        let waits = port.sojourn(0);
        let ms = |part: f64| waits.quantile(part).map_or(0.0, |value| value as f64 / 1e9);
        let used = port.utilisation(Instant::ZERO + recording.duration).unwrap_or(0.0);
        Self { used, p95_ms: ms(0.95), p99_ms: ms(0.99) }
    }

    /// Returns its power: utilisation by the round trip that it takes.
    fn power(self, rtt_ms: u64) -> f64 {
        self.used * rtt_ms as f64 / (rtt_ms as f64 + self.p95_ms)
    }
}

fn simulate(line: &Line, text: &str, seed: u64) -> Recording {
    run(&read(line, text), Seed(seed), &mut |_| Control::Continue).expect("a run").recording
}

fn mean_of(line: &Line) -> Rate {
    let plain = text(line, 40, TRAFFIC[0].1, "");
    read(line, &plain).links[2].mean_rate(0)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[test]
fn the_laws_beside_the_best_static_cap_and_the_oracle() {
    if std::env::var_os("LOCKGATE_LAWS").is_none() {
        println!("skipped without LOCKGATE_LAWS");
        return;
    }
    let all = std::env::var_os("LOCKGATE_CELLS").is_some();
    let (rtts, traffics, seeds): (&[u64], _, _) =
        if all { (&[20, 40, 100], &TRAFFIC[..], 10) } else { (&[40], &TRAFFIC[..2], 1) };
    let laws = [Law::Brake, Law::DeltaSteps, Law::SafeRates, Law::Ratio, Law::Oracle];
    let mut cells: BTreeMap<(String, u64, &str), BTreeMap<String, Vec<Cell>>> = BTreeMap::new();
    for seed in 1..=seeds {
        for line in generated(seed).into_iter().chain(recorded()) {
            let mean = mean_of(&line);
            for (rtt, (name, flows)) in
                rtts.iter().flat_map(|rtt| traffics.iter().map(move |flows| (*rtt, flows)))
            {
                let of = cells.entry((line.name.clone(), rtt, name)).or_default();
                for law in laws {
                    let text = text(&line, rtt, flows, &controller(law.name(), mean, ""));
                    let cell = Cell::of(&simulate(&line, &text, seed));
                    of.entry(law.name().to_owned()).or_default().push(cell);
                }
                let cap = |percent: u64| {
                    let rate = format!("fixed = {{ rate = \"{}bit\" }}", mean.as_bits() * percent / 100);
                    let text = text(&line, rtt, flows, &controller("fixed", mean, &rate));
                    Cell::of(&simulate(&line, &text, seed))
                };
                let best = CAPS.iter().map(|percent| cap(*percent));
                let best = best.max_by(|a, b| a.power(rtt).total_cmp(&b.power(rtt)));
                of.entry("static".to_owned()).or_default().extend(best);
            }
        }
    }
    print_table(&cells);
}

fn print_table(cells: &BTreeMap<(String, u64, &str), BTreeMap<String, Vec<Cell>>>) {
    const ROWS: [&str; 6] = ["brake", "delta-steps", "safe-rates", "ratio", "static", "oracle"];
    println!(
        "| line | RTT | traffic | {} |\n| --- | --- | --- |{}",
        ROWS.join(" | "),
        " --- |".repeat(ROWS.len())
    );
    let (mut used, mut delay) = (Vec::new(), Vec::new());
    let (mut better, mut worse, mut count) = (0, 0, 0);
    for ((line, rtt, traffic), of) in cells {
        let of = |law: &str| {
            let part = |value: fn(&Cell) -> f64| median(&mut of[law].iter().map(value).collect::<Vec<_>>());
            Cell {
                used: part(|cell| cell.used),
                p95_ms: part(|cell| cell.p95_ms),
                p99_ms: part(|cell| cell.p99_ms),
            }
        };
        let mut row = format!("| {line} | {rtt} | {traffic} |");
        for law in ROWS {
            let cell = of(law);
            let _ = write!(row, " .{:02.0} / {:.0} / {:.0} |", cell.used * 100.0, cell.p95_ms, cell.p99_ms);
        }
        println!("{row}");
        let (brake, oracle) = (of("brake"), of("oracle"));
        used.push(brake.used / oracle.used.max(0.01));
        delay.push(brake.p95_ms / oracle.p95_ms.max(1.0));
        for law in &ROWS[1..4] {
            let peer = of(law);
            count += 1;
            better += usize::from(brake.used > peer.used && brake.p95_ms < peer.p95_ms);
            worse += usize::from(brake.used < peer.used && brake.p95_ms > peer.p95_ms);
        }
    }
    println!(
        "medians of brake over oracle: utilisation {:.2}, p95 {:.2}; of {count} comparisons with a peer better on \
         both axes {better}, worse on both {worse}",
        median(&mut used),
        median(&mut delay)
    );
}

/// Parameters of `brake`, each halved and doubled; `LOCKGATE_LAW_KEYS` has others, with `;` between them.
const VARIANTS: &str = "target = \"10ms\"; target = \"5ms\"; target = \"20ms\"; drain = \"125ms\"; drain = \"500ms\"; \
                        full = \"2500us\"; full = \"10ms\"; growth = 0.15; growth = 0.6; span = \"40ms\"; \
                        span = \"120ms\"; eta = 0.96; eta = 1.0";

#[test]
fn sensitivity_of_brake() {
    if std::env::var_os("LOCKGATE_LAWS").is_none() {
        println!("skipped without LOCKGATE_LAWS");
        return;
    }
    let variants = std::env::var("LOCKGATE_LAW_KEYS").unwrap_or(VARIANTS.to_owned());
    let lines: Vec<Line> = generated(1).into_iter().chain(recorded()).collect();
    let run = |law: &str, more: &str| {
        let cell = |line: &Line, flows: &str| {
            let text = text(line, 40, flows, &controller(law, mean_of(line), more));
            Cell::of(&simulate(line, &text, 1))
        };
        let both = |line| TRAFFIC[..2].iter().map(move |(_, flows)| (line, *flows));
        lines.iter().flat_map(both).map(|(line, flows)| cell(line, flows)).collect::<Vec<_>>()
    };
    let oracle = run("oracle", "");
    println!("| `brake` | utilisation | p95 | p99 |\n| --- | --- | --- | --- |");
    for variant in variants.split(';').map(str::trim) {
        let cells = run("brake", &format!("brake = {{ {variant} }}"));
        let part = |value: fn(&Cell) -> f64, least: f64| {
            let parts =
                cells.iter().zip(&oracle).map(|(cell, oracle)| value(cell) / value(oracle).max(least));
            median(&mut parts.collect::<Vec<_>>())
        };
        let (used, p95) = (part(|cell| cell.used, 0.01), part(|cell| cell.p95_ms, 1.0));
        println!("| {variant} | {used:.3} | {p95:.2} | {:.2} |", part(|cell| cell.p99_ms, 1.0));
    }
}

fn cell_line() -> Line {
    generated(1).remove(2)
}

#[test]
fn brake_keeps_the_buffer_short_and_says_why() {
    let line = cell_line();
    let mean = mean_of(&line);
    let plain = Cell::of(&simulate(&line, &text(&line, 40, TRAFFIC[0].1, ""), 1));
    let text = text(&line, 40, TRAFFIC[0].1, &controller("brake", mean, ""));
    let recording = simulate(&line, &text, 1);
    let shaped = Cell::of(&recording);
    println!("plain {plain:?}\nshaped {shaped:?}");
    assert!(shaped.p95_ms < plain.p95_ms / 4.0, "{shaped:?} beside {plain:?}");
    assert!(shaped.used > 0.75, "{shaped:?}");
    let notes: Vec<_> = recording.events.iter().filter(|event| event.kind == EventKind::Note).collect();
    assert!(notes.len() > 5, "{notes:?}");
    assert!(notes.iter().any(|note| note.text.contains("a queue behind")), "{notes:?}");
    assert_eq!(recording.ports[SHAPED].setup.name, "gateway:modem");
}

#[test]
fn a_run_in_steps_is_the_run_in_one() {
    let line = cell_line();
    let text = text(&line, 20, TRAFFIC[2].1, &controller("brake", mean_of(&line), ""))
        .replace("\"60s\"\nwarmup", "\"8s\"\nwarmup");
    let whole = simulate(&line, &text, 3);
    let scenario = read(&line, &text);
    let mut simulation = Simulation::new(&scenario, Seed(3)).expect("a network");
    let step = Duration::from_micros(3_333);
    while simulation.step_until(simulation.now() + step).expect("a step") == Progress::Reached {}
    let stepped = simulation.finish().expect("a balanced account").recording;
    assert_eq!(stepped.events, whole.events);
    for (one, other) in stepped.ports.iter().zip(&whole.ports) {
        assert_eq!(one.transmitted(), other.transmitted(), "{}", one.setup.name);
    }
}

#[test]
fn observing_only_changes_nothing() {
    let line = cell_line();
    let mean = mean_of(&line);
    let fixed = format!("rate = \"{}bit\"", mean.as_bits() / 2);
    let short = |text: String| text.replace("\"60s\"\nwarmup", "\"8s\"\nwarmup");
    let plain = simulate(&line, &short(text(&line, 20, TRAFFIC[0].1, &fixed)), 3);
    let table = controller("brake", mean, "observe_only = true").replace("probes", "# probes");
    let observed = simulate(&line, &short(text(&line, 20, TRAFFIC[0].1, &format!("{fixed}\n{table}"))), 3);
    for (one, other) in observed.ports.iter().zip(&plain.ports) {
        assert_eq!(one.transmitted(), other.transmitted(), "{}", one.setup.name);
    }
    assert!(observed.events.len() > plain.events.len(), "its steps are recorded");
}
