//! Names of the flows and ports of a run, and addresses checked against them.

use super::address::{Address, Subject, nearest};
use super::error::{MetricError, unknown};
use super::quantity::{MINUS, Quantity};
use super::{Unit, is_pattern, matches};
use crate::group::group_of;

/// Names of the flows and ports of a run.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Names of its flows.
    pub flows: &'a [String],
    /// Names of its ports, each with its queues.
    pub ports: &'a [(String, Vec<String>)],
}

/// Checks an address, or a difference of two, against the names of a run and returns its unit.
///
/// # Errors
/// Returns [`MetricError::Unknown`], with the nearest name.
pub fn check_path(path: &str, names: &Names<'_>) -> Result<Unit, MetricError> {
    if let Some((of, less)) = path.split_once(MINUS) {
        check_path(of.trim(), names)?;
        check_path(less.trim(), names)?;
        return Ok(Quantity::parse(path)?.unit());
    }
    let address = Address::parse(path)?;
    let among = |what: &str, name: &str, known: &mut dyn Iterator<Item = &String>| {
        let known: Vec<&str> = known.map(String::as_str).collect();
        if known.contains(&name)
            || (is_pattern(name) && what != "port" && known.iter().any(|known| matches(name, known)))
        {
            return Ok(());
        }
        let group = name.strip_suffix("/*").filter(|_| what == "flow");
        if let Some(group) = group {
            let mut groups: Vec<&str> = known.into_iter().filter_map(group_of).collect();
            groups.dedup();
            let why = format!("there is no group of flows `{group}`");
            return Err(unknown(path, why, nearest(group, groups.into_iter())));
        }
        Err(unknown(path, format!("there is no {what} `{name}`"), nearest(name, known.into_iter())))
    };
    match &address.subject {
        Subject::Run => {}
        Subject::Flow(flow) => among("flow", flow, &mut names.flows.iter())?,
        Subject::Group(group) | Subject::Bin(group, _) => {
            let mut groups: Vec<String> =
                names.flows.iter().filter_map(|flow| group_of(flow)).map(str::to_owned).collect();
            groups.dedup();
            among("group of flows", group, &mut groups.iter())?;
        }
        Subject::Port(port) => among("port", port, &mut names.ports.iter().map(|(port, _)| port))?,
        Subject::Queue(port, queue) => {
            among("port", port, &mut names.ports.iter().map(|(port, _)| port))?;
            let queues = names.ports.iter().filter(|(known, _)| known == port).flat_map(|(_, queues)| queues);
            among("queue", queue, &mut { queues })?;
        }
    }
    Ok(address.unit())
}
