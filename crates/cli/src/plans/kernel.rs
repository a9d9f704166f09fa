//! Offer of a variant as commands of `tc`, if it varies the queues of one port.

use std::collections::BTreeSet;
use std::path::Path;

use lockgate::Scenario;
use lockgate::shell::{quoted, word};
use lockgate_scenario::MEMORY;
use lockgate_tc::export::{Device, export, marks};

use crate::runs;

/// Returns true if a setting is about this port.
fn is_of(setting: &str, port: &str) -> bool {
    let Some(path) = setting.strip_prefix("port.") else { return false };
    let names = [port.to_owned(), port.replacen(':', "->", 1)];
    names.iter().any(|name| {
        let rest = path.strip_prefix(name.as_str());
        let rest = rest.or_else(|| path.strip_prefix(&format!("\"{name}\"")));
        rest.is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Returns the line that says how the kernel is set up like a variant, or why it cannot be; `None` if the
/// variants do not differ in the queues of one port. `varied` are the settings of the variant, `settings` all
/// of the run.
pub(crate) fn offer(file: &Path, varied: &[String], settings: &[String]) -> Option<String> {
    let scenario: Scenario = runs::read_file(file, settings, MEMORY).ok()?;
    let touched: BTreeSet<usize> = (0..scenario.ports.len())
        .filter(|index| varied.iter().any(|setting| is_of(setting, &scenario.ports[*index].name)))
        .collect();
    let mut touched = touched.into_iter();
    let (Some(index), None) = (touched.next(), touched.next()) else { return None };
    let port = &scenario.ports[index];
    // A port with a rate of its own is a router's: `tc` has a shaper in its place.
    if port.pace.rate.is_some() {
        return None;
    }
    let text = lockgate::files::text(file).unwrap_or_default();
    let device = Device { name: "eth0", ifb: None, has_queues: false };
    let exported = export(&port.tree, Some(&scenario), &marks(&text, &port.name), &device);
    if let Some(why) = exported.refused.first() {
        return Some(format!("not with `tc`: {why}"));
    }
    let (file, port) = (word(&file.display().to_string()), word(&port.name));
    let mut command = format!("the same as `tc`: lockgate tc export {file} --port {port} --dev eth0");
    for setting in settings {
        command = format!("{command} --set {}", quoted(setting));
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_their_port() {
        for setting in ["port.a:b.root=cake", "port.a->b.queue.q.limit=1p", "port.\"a->b\".root=x"] {
            assert!(is_of(setting, "a:b"), "{setting}");
        }
        for setting in ["link.a:b.rate=1mbit", "port.a:bc.root=x", "port.b:a.root=x"] {
            assert!(!is_of(setting, "a:b"), "{setting}");
        }
    }
}
