//! Controllers of a rate before lines that move: what each law makes of the uplink and of the downlink,
//! beside the best static cap and the causal oracle.
//!
//! A sample runs by default. The table of uplinks: `LOCKGATE_LAWS=1 cargo test --workspace --test autorate
//! --release uplinks -- --nocapture`; `downlinks` is that of the other direction. `LOCKGATE_LINES=DIRECTORY`
//! adds recorded lines. `LOCKGATE_CELLS=sample` has one round trip and two kinds of traffic, a number so many
//! seeds; without it, all round trips and traffic, and one seed. `paths` has lines whose path changes.
#![allow(clippy::print_stdout, reason = "the table is wanted")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockgate_autorate::Law;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant, Rate};
use lockgate_measure::recording::{EventKind, Recording};
use lockgate_scenario::Scenario;
use lockgate_sim::{Control, Progress, Simulation, run};

/// Index of the port that is shaped, of an uplink.
const SHAPED: usize = 2;

/// Direction of a line that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// The shaper stands before the line.
    Up,
    /// The shaper stands behind the line, and acts through the senders only.
    Down,
}

impl Direction {
    /// Returns the port of the line, and that of the shaper.
    fn ports(self) -> (&'static str, &'static str) {
        match self {
            Self::Up => ("modem:isp", "gateway:modem"),
            Self::Down => ("isp:modem", "gateway:home"),
        }
    }
}

/// Shortest time without an opportunity that is an outage, in milliseconds.
const OUTAGE_MS: u32 = 1000;

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
        line(
            "satellite, handovers",
            "law = \"leo\", rate = \"15mbit\", swing = 0.7, outage_every = \"20s\", outage = \"1500ms\"",
        ),
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

/// Senders, from `FROM` to `TO`.
const TRAFFIC: [(&str, &str); 4] = [
    ("bulk", "[flow.bulk]\nFROM_TO\ntransport = 'tcp'\nbytes = 'unlimited'\n"),
    ("eight", "[flow.bulk]\nFROM_TO\ntransport = 'tcp'\nbytes = 'unlimited'\ncount = 8\n"),
    (
        "call",
        "[flow.bulk]\nFROM_TO\ntransport = 'tcp'\nbytes = 'unlimited'\n\
         [flow.call]\nFROM_TO\ntransport = 'udp'\nprofile = 'g711'\n",
    ),
    (
        "on/off",
        "[flow.files]\nFROM_TO\ntransport = 'tcp'\nfile = '3MB'\ncount = 8\n\
         every = { distribution = 'exponential', mean = '6s' }\n",
    ),
];

/// Returns a home whose gateway shapes towards a modem with a deep buffer.
fn text(line: &Line, rtt_ms: u64, flows: &str, autorate: &str) -> String {
    directed(line, Direction::Up, 60, rtt_ms, flows, autorate)
}

/// Returns a home whose gateway shapes for a line in a direction; the buffer before the line is deep.
fn directed(
    line: &Line,
    direction: Direction,
    seconds: u64,
    rtt_ms: u64,
    flows: &str,
    autorate: &str,
) -> String {
    let (of_line, shaped) = direction.ports();
    let (key, other, ends) = match direction {
        Direction::Up => ("up", "down", "from = 'home'\nto = 'server'"),
        Direction::Down => ("down", "up", "from = 'server'\nto = 'home'"),
    };
    format!(
        r#"
title = "a line that moves"
duration = "{seconds}s"
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
rate = {{ {key} = "10mbit", {other} = "100mbit" }}
trace = {{ {key} = {trace} }}
[link.core]
between = ["isp", "server"]
rate = "1gbit"
delay = "{half}us"
[port."{of_line}"]
queue.buffer = {{ kind = "fifo", limit = "2MB" }}
[port."{shaped}"]
queue.home = {{ kind = "cake" }}
{autorate}
{flows}
"#,
        trace = line.trace,
        half = rtt_ms * 500,
        flows = flows.replace("FROM_TO", ends),
    )
}

fn read(line: &Line, text: &str) -> Scenario {
    let files: BTreeMap<String, Arc<[u8]>> = line.file.iter().cloned().collect();
    match lockgate_scenario::read(text, "test.toml", &files, &[]) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems:?}\n{text}"),
    }
}

/// Returns the table of a controller of an uplink of this mean rate.
fn controller(law: &str, mean: Rate, more: &str) -> String {
    controller_of(Direction::Up, law, mean, more)
}

/// Returns the table of a controller for a line of this mean rate.
fn controller_of(direction: Direction, law: &str, mean: Rate, more: &str) -> String {
    let part = |percent: u64| mean.as_bits() * percent / 100;
    let (_, shaped) = direction.ports();
    format!(
        "[port.\"{shaped}\".autorate]\nline = \"line\"\nlaw = \"{law}\"\nmin = \"{}bit\"\nmax = \"{}bit\"\nstart = \"{}bit\"\n\
         probes = {{ to = [\"isp\", \"server\"], every = \"300ms\" }}\n{more}",
        part(2),
        part(400),
        part(70),
    )
}

/// What a run gave: utilisation of what the line allowed, the 95th and 99th percentile of the delay behind,
/// and the mean time of its files in seconds, 0 without files; one that is not complete counts up to the end.
#[derive(Clone, Copy, Debug)]
struct Cell {
    used: f64,
    p95_ms: f64,
    p99_ms: f64,
    files_s: f64,
}

impl Cell {
    fn of(recording: &Recording) -> Self {
        Self::of_line(recording, Direction::Up)
    }

    fn of_line(recording: &Recording, direction: Direction) -> Self {
        let (line, _) = direction.ports();
        let port = recording.ports.iter().find(|port| port.setup.name == line).expect("the line");
        let waits = port.sojourn(0);
        let ms = |part: f64| waits.quantile(part).map_or(0.0, |value| value as f64 / 1e9);
        let end = Instant::ZERO + recording.duration;
        let used = port.utilisation(end).unwrap_or(0.0);
        let files = recording.flows.iter().filter_map(|flow| {
            let start = flow.file.as_ref().filter(|file| file.bytes.is_some())?.start;
            Some(flow.completed().unwrap_or(end.since(start)).as_secs_f64())
        });
        let files: Vec<f64> = files.collect();
        let files_s = files.iter().sum::<f64>() / files.len().max(1) as f64;
        Self { used, p95_ms: ms(0.95), p99_ms: ms(0.99), files_s }
    }

    /// Returns whether it uses more of the line than another; or, `by_files`, has its files there sooner, if
    /// there are any. Of the same files all laws carry the same, and a file that begins in the warm-up uses
    /// the less, the sooner it is there.
    fn carries_more(self, other: Self, by_files: bool) -> bool {
        if by_files && self.files_s > 0.0 { self.files_s < other.files_s } else { self.used > other.used }
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

/// Returns whether a line has an outage.
fn has_outages(line: &Line) -> bool {
    let plain = text(line, 40, TRAFFIC[0].1, "");
    let links = read(line, &plain).links;
    let times = links[2].trace[0].as_ref().map(|trace| trace.times_ms().to_vec()).unwrap_or_default();
    times.windows(2).any(|pair| pair[1] - pair[0] >= OUTAGE_MS)
}

/// Cells by line, round trip and traffic, and in each of them by law.
type Cells = BTreeMap<(String, u64, &'static str), BTreeMap<String, Vec<Cell>>>;

/// Runs of one direction: round trips, kinds of traffic, seeds, seconds of each run.
struct Plan {
    rtts: &'static [u64],
    traffics: &'static [(&'static str, &'static str)],
    seeds: u64,
    seconds: u64,
}

impl Plan {
    fn chosen() -> Self {
        let cells = std::env::var("LOCKGATE_CELLS").unwrap_or_default();
        let (rtts, traffics): (&[u64], _) =
            if cells == "sample" { (&[40], &TRAFFIC[..2]) } else { (&[20, 40, 100], &TRAFFIC[..]) };
        Self { rtts, traffics, seeds: cells.parse().unwrap_or(1), seconds: 60 }
    }
}

#[test]
fn uplinks() {
    tables(Direction::Up);
}

#[test]
fn downlinks() {
    tables(Direction::Down);
}

/// Prints the table of a direction, lines with outages apart.
fn tables(direction: Direction) {
    if std::env::var_os("LOCKGATE_LAWS").is_none() {
        println!("skipped without LOCKGATE_LAWS");
        return;
    }
    let plan = Plan::chosen();
    let lines: Vec<(u64, Line)> = (1..=plan.seeds)
        .flat_map(|seed| generated(seed).into_iter().chain(recorded()).map(move |line| (seed, line)))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some((seed, line)) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.push((has_outages(line), *seed, cells_of(line, direction, *seed, &plan)));
        }
        found
    };
    let mut found: Vec<_> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    // In the order of the seeds, whichever thread was first.
    found.sort_by_key(|(_, seed, _)| *seed);
    let (mut cells, mut with_outages) = (Cells::new(), Cells::new());
    for (is_out, _, of_line) in found {
        let into = if is_out { &mut with_outages } else { &mut cells };
        for (key, laws) in of_line {
            for (law, more) in laws {
                into.entry(key.clone()).or_default().entry(law).or_default().extend(more);
            }
        }
    }
    for (title, cells) in
        [("Lines without outages", &cells), ("Lines with outages of a second or more", &with_outages)]
    {
        println!("\n### {title}\n");
        print_table(cells);
    }
}

/// Runs all laws on a line, in all round trips and kinds of traffic.
fn cells_of(line: &Line, direction: Direction, seed: u64, plan: &Plan) -> Cells {
    let (mut cells, mean) = (Cells::new(), mean_of(line));
    for rtt in plan.rtts.iter().copied() {
        for (name, flows) in plan.traffics {
            let run = |law: &str, more: &str| {
                let table = controller_of(direction, law, mean, more);
                let text = directed(line, direction, plan.seconds, rtt, flows, &table);
                Cell::of_line(&simulate(line, &text, seed), direction)
            };
            add_cells(cells.entry((line.name.clone(), rtt, name)).or_default(), mean, rtt, &run);
        }
    }
    cells
}

/// Adds what each law gives, and the best of the static caps.
fn add_cells(of: &mut BTreeMap<String, Vec<Cell>>, mean: Rate, rtt: u64, run: &dyn Fn(&str, &str) -> Cell) {
    for law in [Law::Brake, Law::DeltaSteps, Law::SafeRates, Law::Ratio, Law::Oracle] {
        of.entry(law.name().to_owned()).or_default().push(run(law.name(), ""));
    }
    let cap = |percent: u64| {
        let rate = format!("fixed = {{ rate = \"{}bit\" }}", mean.as_bits() * percent / 100);
        run("fixed", &rate)
    };
    let best = CAPS.iter().map(|percent| cap(*percent));
    let best = best.max_by(|a, b| a.power(rtt).total_cmp(&b.power(rtt)));
    of.entry("static".to_owned()).or_default().extend(best);
}

fn print_table(cells: &Cells) {
    const ROWS: [&str; 6] = ["brake", "delta-steps", "safe-rates", "ratio", "static", "oracle"];
    println!(
        "| line | RTT | traffic | {} |\n| --- | --- | --- |{}",
        ROWS.join(" | "),
        " --- |".repeat(ROWS.len())
    );
    let (mut used, mut delay) = (BTreeMap::<_, Vec<f64>>::new(), BTreeMap::<_, Vec<f64>>::new());
    // By traffic: comparisons, better and worse by utilisation, and by the time of files.
    let mut counts = BTreeMap::<_, [usize; 5]>::new();
    for ((line, rtt, traffic), of) in cells {
        let of = |law: &str| {
            let part = |value: fn(&Cell) -> f64| median(&mut of[law].iter().map(value).collect::<Vec<_>>());
            Cell {
                used: part(|cell| cell.used),
                p95_ms: part(|cell| cell.p95_ms),
                p99_ms: part(|cell| cell.p99_ms),
                files_s: part(|cell| cell.files_s),
            }
        };
        let mut row = format!("| {line} | {rtt} | {traffic} |");
        for law in ROWS {
            let cell = of(law);
            let _ = write!(row, " {:.2} / {:.0} / {:.0} |", cell.used, cell.p95_ms, cell.p99_ms);
        }
        println!("{row}");
        let (brake, oracle) = (of("brake"), of("oracle"));
        for law in &ROWS[..5] {
            used.entry(*law).or_default().push(of(law).used / oracle.used.max(0.01));
            delay.entry(*law).or_default().push(of(law).p95_ms / oracle.p95_ms.max(1.0));
        }
        for law in &ROWS[1..4] {
            let peer = of(law);
            let is_better = |one: Cell, other: Cell, by_files| {
                usize::from(one.carries_more(other, by_files) && one.p95_ms < other.p95_ms)
            };
            let found = [false, true]
                .map(|by_files| [is_better(brake, peer, by_files), is_better(peer, brake, by_files)]);
            let row = [1, found[0][0], found[0][1], found[1][0], found[1][1]];
            for traffic in [*traffic, "all"] {
                let of = counts.entry(traffic).or_default();
                of.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
            }
        }
    }
    println!("\n| median over the oracle | utilisation | p95 |\n| --- | --- | --- |");
    for law in &ROWS[..5] {
        let of = |all: &mut BTreeMap<_, Vec<f64>>| median(all.entry(*law).or_default());
        println!("| {law} | {:.2} | {:.2} |", of(&mut used), of(&mut delay));
    }
    println!(
        "\n| `brake` beside a peer | comparisons | better on both axes | worse | better by the time of files | worse |\n\
         | --- | --- | --- | --- | --- | --- |"
    );
    for (traffic, [count, better, worse, sooner, later]) in counts {
        println!("| {traffic} | {count} | {better} | {worse} | {sooner} | {later} |");
    }
}

/// Parameters of `brake`, the defaults first, then each halved and doubled as far as its range goes (of `eta`
/// what it leaves free); `LOCKGATE_LAW_KEYS` has others, with `;` between them.
const VARIANTS: &str = "growth = 0.3; growth = 0.15; growth = 0.6; target = \"1500us\"; target = \"6ms\"; \
                        drain = \"62500us\"; drain = \"250ms\"; full = \"2500us\"; full = \"10ms\"; span = \"40ms\"; \
                        span = \"120ms\"; eta = 0.96; eta = 0.99";

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
        let (used, p95, p99) = over(&cells, &oracle);
        println!("| {variant} | {used:.3} | {p95:.2} | {p99:.2} |");
    }
}

/// Delay of the longest slot of a line whose path changes each 15 s, in milliseconds.
const PATHS_MS: [u64; 4] = [0, 4, 8, 20];

/// Prints what `brake` makes of lines whose path changes, with seeds that no other table judges.
#[test]
fn paths() {
    if std::env::var_os("LOCKGATE_LAWS").is_none() {
        println!("skipped without LOCKGATE_LAWS");
        return;
    }
    let lines = generated(11);
    println!("| longest slot, ms | utilisation | p95 |\n| --- | --- | --- |");
    for longest in PATHS_MS {
        let slots = format!(
            "jitter = {{ distribution = \"exponential\", mean = \"500us\" }}\n\
             slots = {{ every = \"15s\", delay = \"{longest}ms\" }}\n[link.core]"
        );
        let keys = if longest > 0 { &*slots } else { "[link.core]" };
        let run = |law: &str| -> Vec<Cell> {
            let cell = |line: &Line, flows: &str| {
                let text = text(line, 40, flows, &controller(law, mean_of(line), ""));
                Cell::of(&simulate(line, &text.replace("[link.core]", keys), 1))
            };
            let both = |line| TRAFFIC[..2].iter().map(move |(_, flows)| (line, *flows));
            lines.iter().flat_map(both).map(|(line, flows)| cell(line, flows)).collect()
        };
        let (used, p95, _) = over(&run("brake"), &run("oracle"));
        println!("| {longest} | {used:.3} | {p95:.2} |");
    }
}

/// Returns the medians of utilisation, p95 and p99, each over the oracle's.
fn over(cells: &[Cell], oracle: &[Cell]) -> (f64, f64, f64) {
    let part = |value: fn(&Cell) -> f64, least: f64| {
        let parts = cells.iter().zip(oracle).map(|(cell, oracle)| value(cell) / value(oracle).max(least));
        median(&mut parts.collect::<Vec<_>>())
    };
    (part(|cell| cell.used, 0.01), part(|cell| cell.p95_ms, 1.0), part(|cell| cell.p99_ms, 1.0))
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
    assert!(notes.iter().any(|note| note.text.contains("the line is queueing")), "{notes:?}");
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
