//! Law of demands: a small file that asks for much is refused, or runs within the memory that is allowed.
//!
//! ```text
//! numbers, counts, lists, parts of the run, braces, tables  ->  run, check, tune, sweep, reproduce
//! peak memory <= limit + own, processor time before a refusal <= 10 s, Ctrl-C ends what goes on
//! ```
//!
//! Files are random. `LOCKGATE_DEMANDS=500` tries that many instead of a few, `250..500` the second half of
//! them, and `LOCKGATE` names a build of the command at full speed, which is held to the time.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Files that are tried by default.
const FILES: u64 = 32;

/// Limit that is given, and memory that the program takes beside it: itself and its allocator.
const LIMIT_MIB: u64 = 512;
const OWN_MIB: u64 = 256;

/// Processor time in which a file is refused; without optimisation, reading takes some eight times as long.
const LONGEST_REFUSAL_S: [f64; 2] = [10.0, 80.0];

/// Time after which a run is interrupted, and then has to end.
const RUN: Duration = Duration::from_secs(4);

/// Random numbers (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Returns a count, of few or of many.
    fn count(&mut self) -> u64 {
        let most = self.pick(&[3, 300, 3_000, 30_000, 300_000, 1_000_000]);
        1 + self.below(most)
    }
}

/// Returns a scenario that asks for much in some of the ways that there are.
fn scenario(random: &mut Random) -> String {
    let (hosts, flows, queues) = (random.count().min(50_000), random.count(), random.count());
    let duration = random.pick(&["20ms", "1s", "1s", "100s", "200000s"]);
    let rate = random.pick(&["1mbit", "1gbit", "400gbit"]);
    let delay = random.pick(&["0ms", "10ms", "100s"]);
    let mut text = format!("duration = \"{duration}\"\n");
    if random.below(3) == 0 {
        let detail = random.pick(&["all", "groups", "totals"]);
        let interval = random.pick(&["1us", "1ms", "100ms"]);
        let _ = writeln!(text, "record = {{ detail = \"{detail}\", interval = \"{interval}\" }}");
    }
    if random.below(5) == 0 {
        text += "record.packets = true\n";
        text = text
            .replace("record = {", "record = { packets = true,")
            .replace(" }\nrecord.packets = true", " }");
    }
    let end = if random.below(2) == 0 {
        let _ = writeln!(text, "node = {{ a = {{}}, r = {{}}, b = {{ count = {hosts} }} }}");
        let _ = writeln!(text, "link.access = {{ between = [\"r\", \"b/*\"], rate = \"{rate}\" }}");
        "b/*"
    } else {
        text += "node = { a = {}, r = {}, b = {} }\n";
        let _ = writeln!(text, "link.access = {{ between = [\"r\", \"b\"], rate = \"{rate}\" }}");
        "b"
    };
    let _ =
        writeln!(text, "link.core = {{ between = [\"a\", \"r\"], rate = \"{rate}\", delay = \"{delay}\" }}");
    let traffic = random.pick(&[
        "size = \"100B\", gap = \"1ms\"",
        "size = \"64B\", gap = \"1ns\"",
        "size = \"1500B\", rate = \"400gbit\"",
        "transport = \"tcp\", bytes = \"unlimited\"",
        "transport = \"tcp\", bytes = \"18EB\"",
        "size = { distribution = \"exponential\", mean = \"1000000kB\" }, gap = \"1ms\"",
    ]);
    let start = random.pick(&["", ", start = { distribution = \"uniform\", min = \"0s\", max = \"1s\" }"]);
    let _ = writeln!(text, "flow.f = {{ from = \"a\", to = \"{end}\", count = {flows}, {traffic}{start} }}");
    if random.below(2) == 0 {
        let kind = random.pick(&["fifo", "fq_codel", "cake", "sfq"]);
        let limit = random.pick(&["", ", limit = \"1000000p\"", ", limit = \"4000000000p\""]);
        let limit = if kind == "cake" { "" } else { limit };
        let _ = writeln!(
            text,
            "[port.\"a:r\".queue]\nd = {{ kind = \"drr\", children = [\"c\", \"rest\"] }}\nc = {{ count = {queues}, kind = \
             \"{kind}\"{limit}, match = [{{ dscp = 46 }}] }}\nrest = {{ kind = \"{kind}\"{limit} }}"
        );
    }
    for part in 0..random.pick(&[0, 0, 1, 30, 300]) {
        let _ = writeln!(
            text,
            "[[expect]]\nthat = \"flow.f/*.owd.p99 @ {part}ms..{}ms\"\nbelow = \"1s\"",
            part + 1
        );
    }
    for change in 0..random.pick(&[0, 0, 0, 3, 300]) {
        let what = random.pick(&[
            "link.core.rate = \"2mbit\"",
            "link.access.rate = \"2mbit\"",
            "flow.f.gap = \"2ms\"",
        ]);
        let _ = writeln!(text, "[[change]]\nat = \"{}us\"\n{what}", 10 + change);
    }
    text
}

/// Returns the claims of a paper that asks for many runs or observations.
fn claims(random: &mut Random) -> String {
    let list = |count: u64| (0..count).map(|one| one.to_string()).collect::<Vec<_>>().join(",");
    let each = |random: &mut Random| {
        let lists = (0..random.below(5)).map(|name| {
            let length = random.pick(&[2, 60, 300]);
            format!("v{name} = [{}]", list(length))
        });
        format!("{{ {} }}", lists.collect::<Vec<_>>().join(", "))
    };
    let braces = "{a,b,c,d,e,f,g,h,i,j}".repeat(random.below(10) as usize);
    let mut text = "title = \"t\"\npaper = \"p\"\nscenario = \"s.toml\"\n".to_owned();
    for run in 0..=random.below(20) {
        let (own, variables) = (each(random), "/$v0/$v1/$v2/$v3");
        let lists = own.matches("= [").count() as u64;
        let variables = variables.split('/').take(lists as usize + 1).collect::<Vec<_>>().join("/");
        let _ = writeln!(text, "[[run]]\nname = \"r{run}{variables}\"\nscenario = \"s.toml\"\neach = {own}");
    }
    let _ = writeln!(
        text,
        "[[claim]]\nid = \"a\"\nwhere = \"1\"\ntext = \"t\"\npaper = \"p\"\ndecide = \"d\"\nat_most = 1.0\nvalue = \
         \"mean([{}: flow.{}.loss])\"\neach = {}",
        random.pick(&["r0", "r{0,1}/0/0", "r0/$v0/$v1"]),
        if braces.is_empty() { "f" } else { &braces },
        each(random)
    );
    text
}

/// Writes the files of a demand. Returns the arguments of the command.
fn demand(random: &mut Random, folder: &Path) -> Vec<String> {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
    let small = "duration = \"1ms\"\nnode = { a = {}, b = {} }\nlink.l = { between = [\"a\", \"b\"], rate = \"1gbit\" }\n\
                 flow.f = { from = \"a\", to = \"b\", size = \"100B\", gap = \"1ms\" }\n";
    let words: Vec<String> = match random.below(8) {
        0 | 1 => {
            write("s.toml", small);
            write("claims.toml", &claims(random));
            ["reproduce", ".", "--out", "o"].map(str::to_owned).to_vec()
        }
        2 => {
            write("s.toml", small);
            let vary = |path: &str, count: u64| format!("--vary={path}=1mbit..900mbit log {count}");
            let (first, second) =
                (vary("link.l.rate", random.count()), vary("port.a:b.rate", random.count()));
            vec!["sweep".to_owned(), "s.toml".to_owned(), first, second, "--into=o".to_owned()]
        }
        3 => {
            let mut rows = String::new();
            for row in 0..random.count().min(60_000) {
                let (high, middle, low) = (row >> 16, (row >> 8) & 255, row & 255);
                let _ = writeln!(rows, "C{row},D,P,10.{high}.{middle}.{low},1,1,2,2");
            }
            let head =
                "Circuit ID,Device ID,Parent Node,IPv4,Download Min,Upload Min,Download Max,Upload Max\n";
            write("t.csv", &format!("{head}{rows}"));
            let text = scenario(random).replacen('\n', "\nsubscribers = \"t.csv\"\n", 1);
            write("s.toml", &text.replacen("b = { count =", "b = { count = \"subscribers\", was =", 1));
            ["run", "s.toml", "--quiet", "--out", "o"].map(str::to_owned).to_vec()
        }
        4 | 5 => {
            write("s.toml", &scenario(random));
            ["check", "s.toml"].map(str::to_owned).to_vec()
        }
        _ => {
            write("s.toml", &scenario(random));
            ["run", "s.toml", "--quiet", "--out", "o"].map(str::to_owned).to_vec()
        }
    };
    words.into_iter().chain([format!("--memory={LIMIT_MIB}MiB")]).collect()
}

/// Peak of the resident memory in MiB and processor time in seconds of a process, as long as it exists.
fn taken(child: &Child) -> Option<(u64, f64)> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id())).ok();
    let status = read("status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let peak: u64 = peak.split_whitespace().next()?.parse().ok()?;
    let stat = read("stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some((peak >> 10, ticks / 100.0))
}

#[test]
fn small_files_that_ask_for_much_stay_within_their_memory() {
    let files = std::env::var("LOCKGATE_DEMANDS").map_or(0..FILES, |wanted| {
        let (first, end) = wanted.split_once("..").unwrap_or(("0", &wanted));
        let number = |text: &str| text.parse().expect("LOCKGATE_DEMANDS is a count, or FIRST..END");
        number(first)..number(end)
    });
    let program = std::env::var_os("LOCKGATE");
    let longest_refusal = LONGEST_REFUSAL_S[usize::from(program.is_none() && cfg!(debug_assertions))];
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_lockgate").into());
    let (mut refused, mut ran, mut interrupted, mut most) = (0, 0, 0, (0_u64, 0.0_f64, Duration::ZERO));
    for seed in files.clone() {
        let folder = tempfile::tempdir().expect("a folder");
        let words = demand(&mut Random(seed), folder.path());
        let log = fs::File::create(folder.path().join("log")).expect("a file");
        let mut child = Command::new(&program)
            .args(&words)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("lockgate runs");
        let (begun, mut peak, mut cpu, mut asked) = (Instant::now(), 0, 0.0_f64, None);
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            (peak, cpu) = taken(&child).unwrap_or((peak, cpu));
            // `check` ends by itself, and shows how long a refusal takes.
            if asked.is_none() && words[0] != "check" && begun.elapsed() > RUN {
                let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                assert!(kill.is_ok_and(|kill| kill.success()), "interrupted");
                asked = Some(Instant::now());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let said = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        let what = || {
            let text = fs::read_to_string(folder.path().join("s.toml")).unwrap_or_default();
            format!("file {seed}, {words:?}: {status}, {peak} MiB, {cpu} s: {said}\n{text:.2000}")
        };
        assert!(peak <= LIMIT_MIB + OWN_MIB, "{}", what());
        // A signal ends what reads a file at once.
        let is_ended = status.code().map_or(asked.is_some(), |code| [0, 1, 2, 3, 4, 130].contains(&code));
        assert!(is_ended, "{}", what());
        assert!(!said.contains("panicked"), "{}", what());
        let is_refused = status.code() == Some(2);
        let reading = if is_refused || words[0] == "check" { cpu } else { 0.0 };
        assert!(reading <= longest_refusal, "{}", what());
        refused += usize::from(is_refused);
        ran += usize::from(!is_refused);
        let wait = asked.map_or(Duration::ZERO, |asked| asked.elapsed());
        interrupted += usize::from(asked.is_some());
        if wait > Duration::from_secs(2) {
            println!("ended {wait:?} after Ctrl-C: {}", what());
        }
        most = (most.0.max(peak), most.1.max(reading), most.2.max(wait));
    }
    println!(
        "files {files:?}: {refused} refused, {ran} run, {interrupted} of these interrupted; at most {} MiB, {} s of \
         processor before a refusal, {:?} after Ctrl-C",
        most.0, most.1, most.2
    );
    assert!(refused > 0 && ran > 0, "both happen");
}
