//! Exports of random valid scenarios of each kind are read, checked and imported again without a fault.
//!
//! `LOCKGATE_EXPORTS=DIR` writes the exports, 200 of each kind, as one script a kind, which
//! `exports/verdicts.sh` puts to a real `tc` and kernel. What these took of the first ones stands in
//! `exports/accepted.txt`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use lockgate_engine::random::{Random, Seed};
use lockgate_scenario::Scenario;
use lockgate_scenario::reference::{Parameter, Reference, cached};
use lockgate_tc::export::{Device, Exported, Marks, export};
use lockgate_tc::lint::{self, Machine, Severity};
use lockgate_tc::{Options, Request, convert, read};

/// Kinds of scenarios that Linux has.
const KINDS: [&str; 18] = [
    "fifo", "cake", "cbq", "choke", "codel", "drr", "dualpi2", "ets", "fq_codel", "fq_pie", "hfsc", "htb",
    "pie", "prio", "qfq", "red", "sfq", "tbf",
];

/// Exports that a real `tc` and kernel took, the first [`FIRST`] of each kind that the kernel has.
const ACCEPTED: &str = include_str!("exports/accepted.txt");
const FIRST: usize = 4;

/// Parameters of Linux's own variants.
const LINUX: [&str; 5] = ["cbq", "fq_pie", "pie", "red", "policer"];

struct Maker {
    random: Random,
}

impl Maker {
    fn one_in(&mut self, count: u32) -> bool {
        self.random.below(count) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.random.below(of.len() as u32) as usize]
    }

    /// Returns a number of random magnitude, often a round one.
    fn number(&mut self, digits: u32) -> u64 {
        let scale = 10_u64.pow(self.random.below(digits));
        let digits = 1 + u64::from(self.random.below(999));
        if self.one_in(2) { digits * scale } else { digits * scale + u64::from(self.random.below(100)) }
    }

    /// Returns a value of a parameter in TOML; `None` for a type of its own.
    fn value(&mut self, parameter: &Parameter) -> Option<String> {
        let quoted = |number: u64, unit: &str| format!("\"{number}{unit}\"");
        let takes = parameter.takes.as_str();
        Some(match takes {
            "rate" => quoted(self.number(8).max(8), "bit"),
            "rate | table" if self.one_in(2) => quoted(self.number(7).max(1000), "bit"),
            "rate | table" => format!(
                "{{ m1 = \"{}bit\", d = \"{}us\", m2 = \"{}bit\" }}",
                self.number(7),
                self.number(4),
                self.number(7)
            ),
            "size" => quoted(self.number(5), "B"),
            "size, also below zero" => format!("\"{}{}B\"", self.pick(&["", "-"]), self.random.below(70)),
            "limit" | "number of packets" => {
                let number = self.number(4);
                let unit = if takes == "limit" { self.pick(&["p", "p", "B"]) } else { "p" };
                quoted(number, unit)
            }
            "threshold" => {
                let number = self.number(3);
                quoted(number, self.pick(&["p", "us", "ms"]))
            }
            "duration" => {
                let number = self.number(3);
                quoted(number, self.pick(&["ns", "us", "us", "ms", "ms", "s"]))
            }
            "probability" => (f64::from(self.random.below(1000)) / 1000.0).to_string(),
            "number" => (f64::from(self.random.below(100_000)) / 1000.0).to_string(),
            "power of two" => (1_u64 << self.random.below(17)).to_string(),
            "whole number" => {
                let digits = 1 + self.random.below(4);
                self.number(digits).to_string()
            }
            "true | false" => self.pick(&["true", "false"]).to_owned(),
            choices if choices.contains(" | ") => {
                let all: Vec<&str> = choices.split(" | ").collect();
                match self.pick(&all) {
                    word @ ("true" | "false") => word.to_owned(),
                    word => format!("\"{word}\""),
                }
            }
            _ => return None,
        })
    }

    /// Returns random parameters in place of some of an example's.
    fn parameters(&mut self, kind: &str, all: &[Parameter], example: &str, rarity: u32) -> String {
        let mut table: toml::Table = example.parse().unwrap_or_default();
        for parameter in all {
            if parameter.name == "flavour" {
                if LINUX.contains(&kind) {
                    table.insert("flavour".to_owned(), "linux".into());
                }
                continue;
            }
            if !self.one_in(rarity) {
                continue;
            }
            let value =
                self.value(parameter).and_then(|value| format!("v = {value}").parse::<toml::Table>().ok());
            table.extend(
                value.into_iter().map(|mut value| (parameter.name.clone(), value.remove("v").expect("v"))),
            );
        }
        let mut text = String::new();
        for (name, value) in &table {
            let _ = write!(text, ", {name} = {value}");
        }
        text
    }

    /// Returns the text of a scenario with a port of this kind.
    fn scenario(&mut self, reference: &Reference, rarity: u32) -> String {
        let kind = reference.kind;
        let own = self.parameters(kind, &reference.parameters, reference.example, rarity);
        let count = match reference.children_briefly() {
            "classes" | "at least one" => 2 + self.random.below(3),
            "none or one" => self.random.below(2),
            _ => 0,
        };
        let names: Vec<String> = (0..count).map(|index| format!("c{index}")).collect();
        let children = if count == 0 { String::new() } else { format!(", children = {names:?}") };
        let mut text = format!(
            "duration = \"1s\"\nnode = {{ a = {{}}, b = {{}} }}\nlink.l = {{ between = [\"a\", \"b\"], rate = \"10mbit\" }}\n[port.\"a:b\"]\nroot = \"top\"\nqueue.top = {{ kind = \"{kind}\"{own}{children} }}\n"
        );
        for (index, name) in names.iter().enumerate() {
            let share = self.parameters(kind, &reference.shares, reference.share_example, rarity);
            let is_rest = index + 1 == names.len();
            let rule = if is_rest {
                String::new()
            } else {
                format!(", match = [{{ destination_port = {} }}]", 5000 + index)
            };
            let _ = writeln!(text, "queue.{name} = {{ kind = \"fifo\", limit = \"50p\"{share}{rule} }}");
        }
        text.push_str(
            "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nrate = \"1mbit\"\nsize = \"1000B\"\n",
        );
        text
    }

    /// Returns a scenario that is valid.
    fn valid(&mut self, reference: &Reference) -> (String, Scenario) {
        // Fewer parameters at each try.
        for rarity in 2..200 {
            let text = self.scenario(reference, rarity);
            let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
            if let Ok(scenario) = lockgate_scenario::read(&text, "random", &files, &[]) {
                return (text, scenario);
            }
        }
        panic!("no valid scenario of `{}` among many", reference.kind);
    }
}

fn exported(scenario: &Scenario) -> Exported {
    let port = scenario.ports.iter().find(|port| port.name == "a:b").expect("a port");
    export(&port.tree, Some(scenario), &Marks::new(), &Device { name: "eth0", ifb: None, has_queues: false })
}

#[test]
fn every_export_is_read_without_a_fault() {
    let directory = std::env::var_os("LOCKGATE_EXPORTS").map(std::path::PathBuf::from);
    let count = if directory.is_some() { 200 } else { 8 };
    for kind in KINDS {
        let reference = cached(kind).expect("a kind");
        let mut maker = Maker { random: Random::stream(Seed(1), kind) };
        let (mut script, mut refused) = (String::new(), 0);
        let mut written_first = Vec::new();
        for number in 0..count {
            let (text, scenario) = maker.valid(reference);
            let written = exported(&scenario);
            refused += usize::from(!written.refused.is_empty());
            let lines = written.script();
            let commands = lines.lines().filter(|line| line.starts_with("tc ") && number < FIRST);
            written_first.extend(commands.map(|line| format!("{kind} {number}: {line}")));
            let reading = read(&lines, &[], "eth0");
            assert_eq!(reading.problems, [], "{text}\n{lines}");
            let found = lint::check(&reading, &Machine::default());
            // A port without a queue of its own has no commands.
            let is_fault = |finding: &&lint::Finding| {
                finding.severity == Severity::Error && finding.rule != "nothing-read"
            };
            let faults: Vec<_> = found.iter().filter(is_fault).collect();
            assert!(faults.is_empty(), "{faults:?}\n{text}\n{lines}");
            let request = Request {
                text: &lines,
                origin: "",
                definitions: &[],
                options: &Options::default(),
                rate: None,
                is_lenient: false,
            };
            let is_whole = written.refused.is_empty();
            if let Err(problems) = convert(&request) {
                assert!(!is_whole, "{problems}\n{text}\n{lines}");
            }
            let _ = write!(script, "# {number}\n{lines}tc qdisc del dev eth0 root\n");
        }
        let start = format!("{kind} ");
        let taken: Vec<&str> = ACCEPTED.lines().filter(|line| line.starts_with(&start)).collect();
        if directory.is_none() && !taken.is_empty() {
            assert_eq!(written_first, taken, "put the exports to a kernel again: tests/exports/verdicts.sh");
        }
        println!("{kind}: {count} exports, {refused} with a part that Linux cannot have");
        if let Some(directory) = &directory {
            std::fs::write(directory.join(format!("{kind}.sh")), script).expect("a script");
        }
    }
}
