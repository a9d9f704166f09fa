//! Faults of `tc` commands that a kernel refuses, or takes in silence although they cannot be meant.
//!
//! Every finding has the position of the word, the reason and a fix. Commands that only Lockgate does not
//! understand are no findings.

mod classes;
mod devices;
mod filters;
mod limits;
mod line;

use crate::import::devices::faults;
use crate::position::Position;
use crate::problem::Problem;
use crate::reading::{Form, Reading};
use crate::syntax::{Class, Commands, Filter, Qdisc};

/// Weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The kernel refuses the command, or does something else than it says.
    Error,
    /// The kernel takes the command, and its result is hardly what is meant.
    Warning,
    /// Effect of a command that is easily read as something else.
    Note,
}

impl Severity {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Position of the word.
    pub at: Position,
    /// Weight.
    pub severity: Severity,
    /// Name of the rule, such as `rates-over-parent`.
    pub rule: &'static str,
    /// Reason.
    pub message: String,
    /// Fix.
    pub help: String,
}

/// Machine that the commands are for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Ticks per second of the kernel's timers.
    pub hz: u32,
    /// Largest packet of a device in bytes, without the 14 of Ethernet.
    pub mtu: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self { hz: 250, mtu: 1500 }
    }
}

/// Commands of one device.
pub(crate) struct Device<'a> {
    name: &'a str,
    commands: Commands,
    qdiscs: Vec<&'a Qdisc>,
    classes: Vec<&'a Class>,
    filters: Vec<&'a Filter>,
}

/// Findings in work.
pub(crate) struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    fn add(
        &mut self,
        severity: Severity,
        rule: &'static str,
        at: Position,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.all.push(Finding { at, severity, rule, message: message.into(), help: help.into() });
    }

    fn warn(
        &mut self,
        rule: &'static str,
        at: Position,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Warning, rule, at, message, help);
    }
}

/// Checks commands.
pub fn check(reading: &Reading, machine: &Machine) -> Vec<Finding> {
    let mut findings = Findings { all: Vec::new() };
    if let Some((message, help)) = &reading.nothing {
        findings.add(
            Severity::Error,
            "nothing-read",
            Position { line: 1, column: 1 },
            message.clone(),
            *help,
        );
    }
    let commands = &reading.commands;
    let devices = devices_of(commands);
    for problem in &reading.problems {
        let is_refused = reading.refusals.iter().any(|(at, _)| at.line == problem.at.line);
        if problem.is_limit() && reading.form == Form::Commands && !is_refused {
            let help = "`tc` and the kernel take it; the rest of the command is not checked further";
            findings.add(Severity::Note, "unread", problem.at, problem.message.clone(), help);
        } else if problem.is_limit() && reading.form == Form::Sqm {
            // Of a section with such an option, nothing is checked.
            findings.problem(problem, "unread");
        } else if problem.is_limit() {
            let help = problem.help.as_deref().unwrap_or("is it misspelt?");
            let help = format!("the command is not checked, because Lockgate does not know the word; {help}");
            findings.warn("unread", problem.at, problem.message.clone(), help);
        } else {
            let own = reading.refusals.iter().rev().find(|(at, _)| *at <= problem.at);
            let is_by_kernel = own.is_some_and(|(_, refusal)| refusal.is_by_kernel());
            findings.problem(problem, if is_by_kernel { "kernel" } else { "syntax" });
        }
    }
    for effect in &reading.effects {
        let help = effect.help.clone().unwrap_or_default();
        findings.warn("kernel-effect", effect.at, effect.message.clone(), help);
    }
    // The kernel takes these: an error is only what `tc` or the kernel refuses.
    // Of a line with a word that is not read, what is missing may be that word.
    let is_read = |problem: &Problem| reading.problems.iter().all(|unread| unread.at.line != problem.at.line);
    for problem in faults(commands).into_iter().filter(is_read) {
        let help = problem.help.unwrap_or_default();
        findings.warn("structure", problem.at, problem.message, help);
    }
    for device in &devices {
        classes::check(device, machine, &mut findings);
        filters::check(device, &mut findings);
        limits::check(device, machine, &mut findings);
        line::check(device, machine, &mut findings);
    }
    devices::check(&devices, &mut findings);
    let mut all = findings.all;
    all.sort_by(|a, b| (a.at, a.severity, a.rule).cmp(&(b.at, b.severity, b.rule)));
    all.dedup_by(|a, b| a.at == b.at && a.message == b.message);
    all
}

impl Findings {
    fn problem(&mut self, problem: &Problem, rule: &'static str) {
        // Commands have the help of their form, so that this is one of the conditions of a filter.
        let help = problem.help.clone();
        let help = help.unwrap_or_else(|| "correct the matches of the filter, or leave it out".to_owned());
        self.add(Severity::Error, rule, problem.at, problem.message.clone(), help);
    }
}

fn devices_of(commands: &Commands) -> Vec<Device<'_>> {
    use crate::syntax::Object;
    let mut devices: Vec<Device<'_>> = Vec::new();
    for command in &commands.0 {
        let name = command.device.as_str();
        let index = devices.iter().position(|device| device.name == name).unwrap_or_else(|| {
            let (qdiscs, classes, filters) = (Vec::new(), Vec::new(), Vec::new());
            let own = commands.0.iter().filter(|command| command.device.as_str() == name);
            let own = Commands(own.cloned().collect());
            devices.push(Device { name, commands: own, qdiscs, classes, filters });
            devices.len() - 1
        });
        match &command.object {
            Object::Qdisc(qdisc) => devices[index].qdiscs.push(qdisc),
            Object::Class(class) => devices[index].classes.push(class),
            Object::Filter(filter) => devices[index].filters.push(filter),
        }
    }
    devices
}
