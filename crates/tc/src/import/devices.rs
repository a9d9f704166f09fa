//! Import of all devices of a script: those with queues, and how `mirred` joins them.

use super::account::{Account, Count};
use super::conditions::Conditions;
use super::objects::Objects;
use super::regions::Regions;
use super::{Environment, Port, import_as};
use crate::handle::Handle;
use crate::language::Version;
use crate::position::Position;
use crate::problem::{Problem, Problems};
use crate::syntax::{Command, Commands, Filter, FilterAction, Object, Police};

/// Properties of the machine that commands are for, and a choice among its devices.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ticks per second of the kernel's timers, at least 1.
    pub hz: u32,
    /// Version of Linux; `None` for any.
    pub kernel: Option<Version>,
    /// Device; `None` for all that belong to one line.
    pub device: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { hz: 250, kernel: None, device: None }
    }
}

/// Queues of a device.
#[derive(Clone, Debug)]
pub struct DevicePort {
    /// Device.
    pub device: String,
    /// Its queues.
    pub port: Port,
    /// Device whose arrivals it takes, if `mirred` sends them to it.
    pub arrivals_of: Option<String>,
}

/// Meter of what arrives at a device.
#[derive(Clone, Debug, PartialEq)]
pub struct IngressMeter {
    /// Device.
    pub device: String,
    /// Meter.
    pub police: Police,
    /// True if every packet that arrives passes it.
    pub is_for_all: bool,
}

/// Devices of a script.
#[derive(Clone, Debug)]
pub struct Devices {
    /// Devices with queues, those of what leaves first.
    pub ports: Vec<DevicePort>,
    /// Meters of what arrives.
    pub meters: Vec<IngressMeter>,
    /// Parts without effect in a scenario, with the reasons.
    pub left_out: Vec<String>,
    /// Words of the commands.
    pub words: Count,
}

/// Redirection of what arrives at a device.
struct Redirection {
    from: String,
    to: String,
}

/// Actions of the filters at the hooks of devices.
#[derive(Default)]
struct Hooks {
    redirections: Vec<Redirection>,
    meters: Vec<IngressMeter>,
    left_out: Vec<String>,
    account: Account,
    problems: Vec<Problem>,
}

/// Returns the devices with a queue, each where it is named first.
fn names_of(commands: &Commands) -> Vec<(&str, Position)> {
    let mut names: Vec<(&str, Position)> = Vec::new();
    for command in &commands.0 {
        let is_queue = matches!(&command.object, Object::Qdisc(qdisc) if !qdisc.kind.is_hook());
        if is_queue && !names.iter().any(|(name, _)| *name == *command.device) {
            names.push((&command.device, command.device.at));
        }
    }
    names
}

/// Returns the problem of commands that set up no queue, or none of the device that is chosen.
fn no_queue(commands: &Commands, options: &Options, names: &[(&str, Position)]) -> Problem {
    let start = commands.0.first().map(Command::at).unwrap_or_default();
    match &options.device {
        Some(device) if !names.is_empty() => {
            let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            Problem::new(start, format!("no command sets up a queue of the device `{device}`"))
                .help(format!("the commands set up `{}`", all.join("`, `")))
        }
        _ => Problem::new(start, "no command sets up a queue")
            .help("a queue is set up by `tc qdisc add dev DEV root KIND`"),
    }
}

/// Imports all devices that `commands` set up, or the one that is chosen.
///
/// # Errors
/// Returns what a scenario cannot express, of all devices; and if the devices do not belong to one line.
pub fn import_devices(commands: &Commands, options: &Options) -> Result<Devices, Problems> {
    let names = names_of(commands);
    let hooks = Hooks::of(commands);
    let mut problems = hooks.problems;
    let is_chosen = |name: &str| options.device.as_deref().is_none_or(|device| device == name);
    let chosen: Vec<_> = names.iter().copied().filter(|(name, _)| is_chosen(name)).collect();
    let target = |name: &str| hooks.redirections.iter().find(|redirection| redirection.to == name);
    // A device of the other direction belongs to the line whose arrivals it takes.
    let lines: Vec<_> = chosen.iter().filter(|(name, _)| target(name).is_none()).collect();
    if lines.len() > 1 {
        let all: Vec<&str> = chosen.iter().map(|(name, _)| *name).collect();
        let message = format!("the script sets up {} devices: `{}`", all.len(), all.join("`, `"));
        problems.push(Problem::new(lines[1].1, message).help("choose one with `--dev NAME`"));
        return Err(
            Problems::joined(problems).unwrap_or_else(|| Problem::new(lines[1].1, "several devices").into())
        );
    }
    let mut ports = Vec::new();
    for (name, _) in &chosen {
        let own = commands.0.iter().filter(|command| *command.device == **name);
        let own = Commands(own.cloned().collect());
        match import_as(&own, &Environment { hz: options.hz, flows: &[] }, options.kernel, true) {
            Ok(port) => {
                let arrivals_of = target(name).map(|redirection| redirection.from.clone());
                ports.push(DevicePort { device: (*name).to_owned(), port, arrivals_of });
            }
            Err(found) => problems.extend(found.iter().cloned()),
        }
    }
    if let Some(problems) = Problems::joined(problems) {
        return Err(problems);
    }
    let is_relevant = |meter: &IngressMeter| is_chosen(&meter.device);
    let meters: Vec<_> = hooks.meters.into_iter().filter(is_relevant).collect();
    if ports.is_empty() && meters.is_empty() {
        return Err(no_queue(commands, options, &names).into());
    }
    ports.sort_by_key(|port| port.arrivals_of.is_some());
    let mut left_out = hooks.left_out;
    let mut account = hooks.account;
    for port in &ports {
        account.join(&port.port.account);
    }
    for redirection in &hooks.redirections {
        let Redirection { from, to } = redirection;
        if is_chosen(from) && !names.iter().any(|(name, _)| name == to) {
            left_out.push(format!(
                "what arrives at `{from}`: it goes to `{to}`, where no command sets up a queue"
            ));
        }
    }
    let mut devices: Vec<&str> = ports.iter().map(|port| port.device.as_str()).collect();
    devices.extend(ports.iter().filter_map(|port| port.arrivals_of.as_deref()));
    devices.extend(meters.iter().map(|meter| meter.device.as_str()));
    let (rest, words) = account.rest(commands, &devices);
    left_out.extend(rest);
    Ok(Devices { ports, meters, left_out, words })
}

/// Returns the faults in the structure of every device's commands: objects without a parent, and filters to
/// other disciplines.
pub(crate) fn faults(commands: &Commands) -> Vec<Problem> {
    let mut names: Vec<&str> = commands.0.iter().map(|command| command.device.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut faults = Vec::new();
    for name in names {
        let own = Commands(commands.0.iter().filter(|command| *command.device == name).cloned().collect());
        let has_queue = own.qdiscs().any(|qdisc| !qdisc.kind.is_hook());
        if let Err(found) = Objects::new(&own, true)
            && has_queue
        {
            faults.extend(found.iter().filter(|problem| !problem.is_limit()).cloned());
        }
    }
    faults
}

/// A filter whose packets earlier ones take, to another class at least in part.
pub(crate) struct Hidden {
    pub at: Position,
    pub class: Handle,
    /// Lines of the earlier filters, and their classes; the packets of none of them alone if they are
    /// several.
    pub by: Vec<(u32, Handle)>,
    /// Packets of the filter in words, if they are known.
    pub packets: Option<String>,
}

/// Returns the filters of a device that no packet reaches; those behind one that takes every packet are not
/// among them.
pub(crate) fn hidden(commands: &Commands) -> Vec<Hidden> {
    let Ok(objects) = Objects::new(commands, true) else { return Vec::new() };
    let rules = &objects.rules[..objects.rules.len().min(MOST_COMPARED)];
    let regions = Regions::of(rules);
    let mut all = Vec::new();
    for (index, later) in rules.iter().enumerate() {
        let one = rules[..index].iter().find(|before| before.hides(later));
        let by = one.map_or_else(|| regions.covering(rules, index), |one| vec![one]);
        let is_for_all = by.iter().any(|by| by.conditions.is_everything());
        if !is_for_all && by.iter().any(|by| by.class != later.class) {
            all.push(Hidden {
                at: later.at,
                class: later.class,
                by: by.into_iter().map(|by| (by.at.line, by.class)).collect(),
                packets: regions.words(index),
            });
        }
    }
    all
}

/// Limit on the filters of a device that are compared with those before.
const MOST_COMPARED: usize = 4000;

impl Hooks {
    fn of(commands: &Commands) -> Self {
        let mut hooks = Self::default();
        let mut filtered = Vec::new();
        for command in &commands.0 {
            let Object::Filter(filter) = &command.object else { continue };
            if filter.parent.is_hook() {
                hooks.filter(&command.device, filter);
                if !filter.actions.is_empty() {
                    hooks.account.take(&filter.words);
                    filtered.push(command.device.as_str());
                }
            }
        }
        for command in &commands.0 {
            let Object::Qdisc(qdisc) = &command.object else { continue };
            if qdisc.kind.is_hook() && filtered.contains(&command.device.as_str()) {
                hooks.account.take(&qdisc.words);
            }
        }
        hooks
    }

    fn filter(&mut self, device: &str, filter: &Filter) {
        let line = filter.classifier.at.line;
        for action in &filter.actions {
            match &**action {
                FilterAction::Redirect(to) => {
                    let is_known = self.redirections.iter().any(|known| known.from == device && known.to == *to);
                    if !is_known {
                        self.redirections.push(Redirection { from: device.to_owned(), to: to.clone() });
                    }
                }
                FilterAction::Police(police) => {
                    self.left_out.extend(police.differences(line));
                    let is_for_all = Conditions::of_filter(filter).is_ok_and(|conditions| conditions.is_everything());
                    self.meters.push(IngressMeter { device: device.to_owned(), police: *police, is_for_all });
                }
                FilterAction::Pass => {}
                FilterAction::Priority(handle) => self.left_out.push(format!(
                    "`skbedit priority {handle}` of line {line}: it selects a class of the root discipline of `{device}`, if it has one of that handle; write it as the `match` of a queue"
                )),
                FilterAction::FromConnection(name) => self.left_out.push(format!(
                    "`{name}` of line {line}: it restores the mark before the queue; flows have their `mark` from the start"
                )),
                FilterAction::Mark(_) => self.left_out.push(format!(
                    "`skbedit mark` of line {line}: flows have their `mark` from the start"
                )),
                other => {
                    let message = format!("the action `{other}` on what arrives is not understood");
                    self.problems.push(Problem::new(action.at, message));
                }
            }
        }
    }
}
