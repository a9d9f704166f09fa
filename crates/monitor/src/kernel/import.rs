//! Queues of an interface and of the intermediate devices to which it redirects: as `tc` prints them, and as
//! a scenario.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

use lockgate_tc::{Options, Request, convert};

use super::error::KernelError;

/// Most devices that are followed.
const MOST_DEVICES: usize = 16;

/// Runs `tc` and returns what it prints.
fn tc(arguments: &[&str]) -> Result<String, KernelError> {
    let output = Command::new("tc").args(arguments).output().map_err(|error| KernelError::Missing {
        message: format!("cannot run `tc`: {error}"),
        help: "install iproute2, or give a script instead of `--from`".to_owned(),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(KernelError::run(
            format!("`tc {}`: {}", arguments.join(" "), said.trim()),
            "name an interface of this host",
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns a line with the words before `at` blanks, the device, and the rest.
fn with_device(line: &str, words: usize, device: &str) -> String {
    match line.match_indices(' ').nth(words - 1) {
        Some((at, _)) => format!("{} dev {device}{}", &line[..at], &line[at..]),
        None => line.to_owned(),
    }
}

/// Returns the import of an interface's queues, what is not understood left out; `None` if nothing can be
/// imported.
pub(super) fn scenario(interface: &str) -> Option<String> {
    let text = shown(interface).ok()?;
    let (options, origin) = (Options::default(), origin(interface));
    let request = Request {
        text: &text,
        origin: &origin,
        definitions: &[],
        options: &options,
        rate: None,
        is_lenient: true,
    };
    Some(convert(&request).ok()?.scenario)
}

/// Returns the name of an interface's queues as the origin of a scenario.
pub fn origin(interface: &str) -> String {
    format!("the queues of {interface}")
}

/// Returns the disciplines, classes and filters of an interface as text, as `tc` prints them.
///
/// # Errors
/// If `tc` is not installed, or there is no such interface.
pub fn shown(interface: &str) -> Result<String, KernelError> {
    let mut waiting = vec![interface.to_owned()];
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut text = String::new();
    while let Some(device) = waiting.pop() {
        if !known.insert(device.clone()) || known.len() > MOST_DEVICES {
            continue;
        }
        let mut parents: Vec<String> = Vec::new();
        for what in ["qdisc", "class"] {
            for line in tc(&["-d", what, "show", "dev", &device])?.lines() {
                let is_object = line.starts_with(what);
                if let ("qdisc", true, Some(handle)) = (what, is_object, line.split(' ').nth(2)) {
                    parents.push(handle.to_owned());
                }
                text += &if is_object { with_device(line, 3, &device) } else { line.to_owned() };
                text.push('\n');
            }
        }
        for parent in parents.iter().filter(|parent| *parent != "0:") {
            // Disciplines without filters refuse.
            let Ok(filters) = tc(&["-d", "filter", "show", "dev", &device, "parent", parent]) else {
                continue;
            };
            for line in filters.lines() {
                let is_object = line.starts_with("filter ");
                let rest = line.strip_prefix("filter ").unwrap_or(line);
                if is_object {
                    let _ = write!(text, "filter dev {device} parent {parent} {rest}");
                } else {
                    text += line;
                }
                text.push('\n');
                let target = rest.split_once("to device ").map(|(_, target)| target);
                waiting.extend(target.and_then(|target| target.split([')', ' ']).next()).map(str::to_owned));
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_stand_where_tc_prints_them() {
        assert_eq!(
            with_device("qdisc htb 1: root refcnt 2", 3, "eth0"),
            "qdisc htb 1: dev eth0 root refcnt 2"
        );
        assert_eq!(with_device("class htb 1:1", 3, "eth0"), "class htb 1:1");
    }
}
