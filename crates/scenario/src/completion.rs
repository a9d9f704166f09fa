//! Completions of a scenario's names: addresses of metrics, and paths of settings, segment by segment.

use std::collections::BTreeSet;

use lockgate_measure::group::group_of;
use lockgate_measure::metric::{METRICS, Metric, Statistic, SubjectKind};

use crate::Scenario;

/// Returns the addresses of metrics that begin with `current`, up to the next dot. The text before the last
/// blank or comma stays: `min flow.call.`.
pub fn metrics(scenario: &Scenario, current: &str) -> Vec<String> {
    let start = current.rfind([' ', ',']).map_or(0, |index| index + 1);
    let (before, current) = current.split_at(start);
    let mut addresses = Vec::new();
    let mut add = |subject: String, about: SubjectKind| {
        if subject.starts_with(current) || current.starts_with(&subject) {
            let metrics = METRICS.iter().filter(|metric| metric.about() == about);
            addresses.extend(metrics.flat_map(statistics).map(|metric| format!("{subject}{metric}")));
        }
    };
    add(String::new(), SubjectKind::Run);
    for flow in &scenario.flows {
        add(format!("flow.{}.", segment(&flow.name)), SubjectKind::Flow);
    }
    let groups: BTreeSet<&str> = scenario.flows.iter().filter_map(|flow| group_of(&flow.name)).collect();
    for group in groups {
        add(format!("group.{}.", segment(group)), SubjectKind::Group);
    }
    for port in &scenario.ports {
        let name = segment(&port.name);
        add(format!("port.{name}."), SubjectKind::Port);
        for queue in &port.queues {
            add(format!("port.{name}.queue.{}.", segment(queue)), SubjectKind::Queue);
        }
    }
    next(current, addresses.iter().map(String::as_str))
        .into_iter()
        .map(|next| format!("{before}{next}"))
        .collect()
}

/// Returns the ends of a metric's addresses: `owd.p99`, or `loss`.
fn statistics(metric: &Metric) -> Vec<String> {
    if metric.is_distribution() {
        Statistic::ALL.iter().map(|(_, statistic)| format!("{}.{statistic}", metric.name)).collect()
    } else {
        vec![metric.name.to_owned()]
    }
}

/// Returns a name as a segment of an address.
fn segment(name: &str) -> String {
    if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() }
}

/// Returns the settings of a scenario file that begin with `current`, up to the next dot; a whole path ends
/// with `=`.
pub fn settings(text: &str, current: &str) -> Vec<String> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let mut paths = Vec::new();
    flatten(&toml::Value::Table(table), "", &mut paths);
    next(current, paths.iter().map(String::as_str)).into_iter().collect()
}

/// Adds the path of every value that is not a table.
fn flatten(value: &toml::Value, path: &str, paths: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(value, &below(&segment(&key.replace("->", ":"))), paths);
            }
        }
        toml::Value::Array(values) if values.iter().any(toml::Value::is_table) => {
            for (index, value) in values.iter().enumerate() {
                flatten(value, &below(&index.to_string()), paths);
            }
        }
        _ => paths.push(format!("{path}=")),
    }
}

/// Returns how the paths that begin with `current` go on, up to their next dot outside of quotes.
fn next<'a>(current: &str, paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let part = |path: &str| {
        let mut is_quoted = false;
        let end = path.char_indices().find(|(index, letter)| {
            is_quoted ^= *letter == '"';
            *letter == '.' && !is_quoted && *index >= current.len()
        });
        end.map_or(path.to_owned(), |(dot, _)| path[..=dot].to_owned())
    };
    paths.filter(|path| path.starts_with(current)).map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_path_is_completed_segment_by_segment() {
        let paths = ["flow.call.owd.p99", "flow.call.loss", "flow.\"a.b\".loss", "jain_index"];
        let of = |current: &str| next(current, paths.into_iter()).into_iter().collect::<Vec<_>>();
        assert_eq!(of(""), ["flow.", "jain_index"]);
        assert_eq!(of("flow."), ["flow.\"a.b\".", "flow.call."]);
        assert_eq!(of("flow.call."), ["flow.call.loss", "flow.call.owd."]);
        assert_eq!(of("flow.call.owd"), ["flow.call.owd."]);
        assert_eq!(of("x"), [""; 0]);
    }

    #[test]
    fn metrics_and_settings_are_those_of_the_scenario() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/home.toml");
        let text = std::fs::read_to_string(file).expect("a scenario");
        let files = BTreeMap::<String, Arc<[u8]>>::new();
        let scenario = crate::read(&text, "home.toml", &files, &[]).expect("a scenario");
        assert_eq!(metrics(&scenario, "min flow.ca"), ["min flow.call."]);
        assert!(metrics(&scenario, "flow.call.owd.").contains(&"flow.call.owd.p99".to_owned()));
        assert!(
            metrics(&scenario, "a,port.router:modem.queue.c")
                .contains(&"a,port.router:modem.queue.cake.".to_owned())
        );
        assert_eq!(
            settings(&text, "link.line."),
            ["link.line.between=", "link.line.delay=", "link.line.rate."]
        );
        assert_eq!(settings(&text, "port.router:modem.r"), ["port.router:modem.root="]);
    }
}
