//! `lockgate tc`: commands of Linux's `tc` as scenarios, and their faults.

use std::io::Read as _;
use std::path::Path;

use lockgate::text::wrapped;
use lockgate_engine::units::Rate;
use lockgate_scenario::{MEMORY, PortModel, Scenario};
use lockgate_tc::export::{Device, Exported};
use lockgate_tc::lint::{self, Finding, Machine, Severity};
use lockgate_tc::{Options, Problems, Request, Version, convert, read};
use serde_json::json;

use crate::arguments::{TcCheck, TcCommand, TcExport, TcImport};
use crate::exit::{Exit, Failure};
use crate::output::{self, say, tell};
use crate::{runs, terminal};

/// Limit on the bytes of a text.
const LONGEST_TEXT_BYTES: u64 = 64 << 20;

pub(crate) fn tc(command: &TcCommand) -> Result<Exit, Failure> {
    match command {
        TcCommand::Import(arguments) => import(arguments),
        TcCommand::Export(arguments) => export(arguments),
        TcCommand::Check(arguments) => check(arguments),
    }
}

/// Reads a file, or standard input for `-`; returns its name and its text.
pub(super) fn text_of(file: &Path) -> Result<(String, String), Failure> {
    if file.as_os_str() != "-" {
        let name = file.display().to_string();
        let text = lockgate::files::text_up_to(file, LONGEST_TEXT_BYTES);
        let text = text
            .map_err(|why| Failure::usage(format!("`{name}`: {why}"), "name a file with commands of `tc`"))?;
        return Ok((name, text));
    }
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_TEXT_BYTES + 1).read_to_end(&mut text);
    read.map_err(|error| {
        Failure::run(format!("cannot read standard input: {error}"), "give a file instead")
    })?;
    if text.len() as u64 > LONGEST_TEXT_BYTES {
        let why = lockgate::files::FileError::TooLong(LONGEST_TEXT_BYTES);
        return Err(Failure::usage(format!("standard input: {why}"), "give commands of `tc`"));
    }
    Ok(("standard input".to_owned(), String::from_utf8_lossy(&text).into_owned()))
}

/// Splits `NAME=VALUE`.
pub(super) fn definitions(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let split = |one: &String| {
        let both = one.split_once('=').filter(|(name, _)| !name.is_empty());
        both.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| {
            Failure::usage(format!("`--define {one}` has no value"), "write `--define NAME=VALUE`")
        })
    };
    given.iter().map(split).collect()
}

pub(super) fn report(name: &str, text: &str, problems: &Problems) {
    for problem in problems.iter() {
        tell!("{}\n", problem.shown(name, text));
    }
}

/// Returns name and text of the queues of an interface of this host.
#[cfg(target_os = "linux")]
fn shown(interface: &str) -> Result<(String, String), Failure> {
    use lockgate_monitor::kernel::import;
    Ok((import::origin(interface), import::shown(interface)?))
}

#[cfg(not(target_os = "linux"))]
fn shown(_: &str) -> Result<(String, String), Failure> {
    Err(Failure::Missing {
        message: "only Linux has `tc`".to_owned(),
        help: "give a script instead of `--from`".to_owned(),
    })
}

fn import(arguments: &TcImport) -> Result<Exit, Failure> {
    let (name, text) = match (&arguments.from, &arguments.file) {
        (Some(interface), _) => shown(interface)?,
        (None, Some(file)) => text_of(file)?,
        (None, None) => {
            return Err(Failure::usage("nothing to import", "name a file, or an interface with --from"));
        }
    };
    let kernel = arguments.kernel.kernel.as_deref().map(str::parse::<Version>).transpose();
    let kernel = kernel.map_err(|why| Failure::usage(why.to_string(), "write `--kernel 6.1`"))?;
    let rate = arguments.rate.as_deref().map(str::parse::<Rate>).transpose();
    let rate = rate
        .map_err(|why| Failure::usage(format!("`--rate`: {why}"), "write a rate such as `--rate 50mbit`"))?;
    let options = Options { hz: arguments.kernel.hz, kernel, device: arguments.dev.clone() };
    let definitions = definitions(&arguments.definitions)?;
    let request = Request {
        text: &text,
        origin: &name,
        definitions: &definitions,
        options: &options,
        rate,
        is_lenient: arguments.lenient,
    };
    match convert(&request) {
        Ok(converted) => {
            for problem in &converted.problems {
                tell!("{}\n", problem.shown(&name, &text).replacen("error:", "left out:", 1));
            }
            output::document(converted.scenario.as_bytes());
            Ok(Exit::Ok)
        }
        Err(problems) => {
            report(&name, &text, &problems);
            let count = problems.iter().count();
            let help = if arguments.lenient {
                "nothing of it can be imported"
            } else {
                "`--lenient` leaves out what is not understood"
            };
            terminal::error(&format!("{} in `{name}`: nothing is imported", counted(count, "problem")), help);
            Ok(Exit::Usage)
        }
    }
}

fn export(arguments: &TcExport) -> Result<Exit, Failure> {
    let scenario = runs::read_file(&arguments.file, &arguments.overrides, MEMORY)?;
    let port = port_of(&scenario, arguments.port.as_deref())?;
    let text = lockgate::files::text(&arguments.file).unwrap_or_default();
    let marks = lockgate_tc::export::marks(&text, &port.name);
    let dev = device_word(&arguments.dev)?;
    let ifb = arguments.ifb.as_deref().map(device_word).transpose()?;
    let device = Device { name: &dev, ifb: ifb.as_deref(), has_queues: arguments.mq };
    let mut exported = lockgate_tc::export::export(&port.tree, Some(&scenario), &marks, &device);
    if port.pace.rate.is_some() {
        exported.refuse("the `rate` of the port itself: give it to a `tbf` or `htb` at the root".to_owned());
    }
    output::document(exported.script().as_bytes());
    Ok(refusals(&exported))
}

/// Returns the name of a device as a word of a script.
fn device_word(name: &str) -> Result<String, Failure> {
    if lockgate_scenario::policy::is_device_name(name) {
        return Ok(lockgate::shell::word(name));
    }
    let help = "a name has 1 to 15 bytes, without spaces, `/` and `:`; `ip link` lists them";
    Err(Failure::usage(format!("no device is called `{name}`"), help))
}

/// Reports what could not be exported.
fn refusals(exported: &Exported) -> Exit {
    if exported.refused.is_empty() {
        return Exit::Ok;
    }
    for why in &exported.refused {
        terminal::error(why, "the kernel cannot say it: it stands as a comment in the script");
    }
    Exit::Failed
}

/// Returns the port of this name, or the only one with queues.
fn port_of<'a>(scenario: &'a Scenario, name: Option<&str>) -> Result<&'a PortModel, Failure> {
    let queued: Vec<&PortModel> = scenario
        .ports
        .iter()
        .filter(|port| {
            port.tree.queues().len() > 1 || port.tree.queues().iter().any(|queue| queue.kind != "fifo")
        })
        .collect();
    let names = |ports: &[&PortModel]| {
        ports.iter().map(|port| format!("`{}`", port.name)).collect::<Vec<_>>().join(", ")
    };
    let found = match name {
        Some(name) => {
            let name = name.replacen("->", ":", 1);
            scenario.ports.iter().find(|port| port.name == name)
        }
        None if queued.len() == 1 => queued.first().copied(),
        None => None,
    };
    let message = match name {
        Some(name) => format!("there is no port `{name}`"),
        None if queued.is_empty() => "no port has queues besides a FIFO".to_owned(),
        None => "several ports have queues".to_owned(),
    };
    let all: Vec<&PortModel> = scenario.ports.iter().collect();
    let known = if queued.is_empty() { names(&all) } else { names(&queued) };
    found.ok_or_else(|| Failure::usage(message, format!("name one with `--port`: {known}")))
}

fn counted(count: usize, what: &str) -> String {
    lockgate::figures::count(count as u64, what)
}

fn check(arguments: &TcCheck) -> Result<Exit, Failure> {
    let definitions = definitions(&arguments.definitions)?;
    let machine = Machine { hz: arguments.hz, mtu: arguments.mtu.into() };
    let mut exit = Exit::Ok;
    let mut documents = Vec::new();
    for file in &arguments.files {
        let (name, text) = text_of(file)?;
        let reading = read(&text, &definitions, "eth0");
        let findings = lint::check(&reading, &machine);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            exit = Exit::Usage;
        }
        if arguments.json {
            documents.extend(findings.iter().map(|finding| document(&name, finding)));
        } else if arguments.github {
            for finding in &findings {
                annotate(&name, finding);
            }
        } else {
            print(&name, &text, &findings, reading.commands.0.len());
        }
    }
    if arguments.json {
        crate::results::print_json(&documents)?;
    }
    Ok(exit)
}

fn document(file: &str, finding: &Finding) -> serde_json::Value {
    json!({
        "file": file,
        "line": finding.at.line,
        "column": finding.at.column,
        "severity": finding.severity.name(),
        "rule": finding.rule,
        "message": finding.message,
        "help": finding.help,
    })
}

fn annotate(file: &str, finding: &Finding) {
    let name = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let (line, column) = (finding.at.line.to_string(), finding.at.column.to_string());
    let properties =
        [("file", file), ("line", line.as_str()), ("col", column.as_str()), ("title", finding.rule)];
    output::command(name, &properties, &format!("{}; {}", finding.message, finding.help));
}

fn print(file: &str, text: &str, findings: &[Finding], commands: usize) {
    let columns = terminal::surface().columns;
    for finding in findings {
        let problem =
            lockgate_tc::Problem::new(finding.at, finding.message.clone()).help(finding.help.clone());
        let shown = problem.shown(file, text);
        let shown =
            format!("{}[{}]{}", finding.severity.name(), finding.rule, shown.trim_start_matches("error"));
        for line in shown.lines() {
            // Words alone: a quoted command stays above its mark.
            let is_words = line.starts_with("help: ") || line.starts_with(finding.severity.name());
            match columns.filter(|_| is_words) {
                Some(columns) => wrapped(line, columns, "  ").iter().for_each(|line| say!("{line}")),
                None => say!("{line}"),
            }
        }
        say!();
    }
    let of = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    say!(
        "{file}: {} read, {}, {}, {}",
        counted(commands, "command"),
        counted(of(Severity::Error), "error"),
        counted(of(Severity::Warning), "warning"),
        counted(of(Severity::Note), "note")
    );
}
