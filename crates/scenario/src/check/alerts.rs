//! Checks the alerts of a policy: their conditions, and what is done when they fire.

use serde::Deserialize;
use toml::de::DeTable;

use super::Checker;
use crate::condition::{Condition, ConditionError};
use crate::diagnostic::Problem;
use crate::policy::{Alert, PolicyPort, Webhook};
use crate::table_reader::{TableLocation, shorten};

/// Alerts of a policy, at most.
const MOST_ALERTS: usize = 100;

/// Alert of a router: a condition on a queue, and what is done when it begins to hold and when it ends.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AlertTable {
    /// Name; by default the condition.
    #[serde(default)]
    name: Option<String>,
    /// Condition on a queue, such as `class.voice.sojourn.p99 > 50ms for 10s`.
    #[serde(rename = "if")]
    when: String,
    /// Address to which the alert is posted as JSON, such as `http://127.0.0.1:9095/hook`.
    #[serde(default)]
    webhook: Option<String>,
    /// Command that is run, and its arguments; the alert is its standard input.
    #[serde(default)]
    command: Option<Vec<String>>,
}

impl Checker<'_> {
    /// Reads the alerts of a policy with these ports.
    pub(super) fn alerts(&mut self, root: &DeTable<'_>, ports: &[PolicyPort]) -> Vec<Alert> {
        let tables = self.list(root, "alert");
        if let Some((_, header)) = tables.get(MOST_ALERTS) {
            let problem = Problem::new(header.clone(), format!("a policy has at most {MOST_ALERTS} alerts"));
            self.note(
                problem.help("watch several queues by one alert: `class.plan/*` is any member of `plan`"),
            );
            return Vec::new();
        }
        // With problems elsewhere in the file, an unknown queue may be right: not checked.
        let known = self.problems.is_empty().then_some(ports);
        let mut alerts: Vec<Alert> = Vec::new();
        for (table, header) in tables {
            let location = TableLocation { what: "this `alert`", table, header: &header };
            let Some(alert) = self.alert(location, known) else { continue };
            if alerts.iter().any(|other| other.name == alert.name) {
                let problem =
                    Problem::new(header, format!("two alerts are called `{}`", shorten(&alert.name)));
                self.note(problem.help("give each a `name` of its own"));
                continue;
            }
            alerts.push(alert);
        }
        alerts
    }

    fn alert(&mut self, location: TableLocation<'_, '_>, ports: Option<&[PolicyPort]>) -> Option<Alert> {
        let table: AlertTable = self.whole(location)?;
        let condition = Condition::parse(&table.when).and_then(|condition| {
            ports.map_or(Ok(()), |ports| {
                condition.check(ports.iter().map(|port| (&*port.name, &*port.tree)))
            })?;
            Ok(condition)
        });
        let condition = match condition {
            Ok(condition) => condition,
            Err(ConditionError { problem, help }) => {
                self.note(Problem::new(location.value("if"), problem).help(help));
                return None;
            }
        };
        let name = table.name.unwrap_or_else(|| condition.text().to_owned());
        if name.trim().is_empty() || name.chars().count() > 200 || name.contains(char::is_control) {
            let problem = Problem::new(location.value("name"), "no alert is called so");
            self.note(problem.help("a name is one line of 1 to 200 letters"));
            return None;
        }
        let webhook = match table.webhook.as_deref().map(Webhook::parse) {
            None => None,
            Some(Ok(webhook)) => Some(webhook),
            Some(Err(why)) => {
                let problem = Problem::new(location.value("webhook"), format!("`webhook` {why}"));
                self.note(problem.help("write `http://HOST:PORT/PATH`; for https let a `command` run curl"));
                return None;
            }
        };
        let command = table.command.unwrap_or_default();
        if location.has("command") && command.first().is_none_or(|program| !program.starts_with('/')) {
            let problem =
                Problem::new(location.value("command"), "`command` begins with the path of a program");
            self.note(problem.help("write it like `command = [\"/usr/bin/logger\", \"-t\", \"lockgate\"]`"));
            return None;
        }
        Some(Alert { name, condition, webhook, command })
    }
}
