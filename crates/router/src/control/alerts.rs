//! Alerts of a policy: which of them fire, and the notices of changes. Time is an argument.
//!
//! ```text
//! sample --observe--> quiet -- condition holds `for` its time --> firing -- 10 s without it --> quiet
//!                                       '-- Notice: firing           '-- Notice: resolved
//! ```

use std::time::Duration;

use lockgate_measure::monitor::Sample;
use lockgate_scenario::condition::Met;
use lockgate_scenario::policy::Alert;
use serde::Serialize;

/// Time without its condition after which an alert is resolved. Without it, a value at the bound would send a
/// notice a second.
const CALM: Duration = Duration::from_secs(10);

/// Change of an alert, as a webhook and a command get it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// Name of the router; left to the caller.
    pub router: String,
    /// Time, as in RFC 3339; left to the caller.
    pub at: String,
    /// Name of the alert.
    pub alert: String,
    /// `firing` or `resolved`.
    pub state: &'static str,
    /// Condition.
    pub condition: String,
    /// Port of the queue that meets it; empty when it is resolved.
    pub port: String,
    /// Queue; empty when it is resolved.
    pub queue: String,
    /// Value in words; empty when it is resolved.
    pub value: String,
}

impl Notice {
    /// Returns the notice in one line.
    pub fn line(&self) -> String {
        let Self { alert, state, port, queue, value, .. } = self;
        if queue.is_empty() {
            return format!("alert `{alert}` {state}");
        }
        format!("ALERT `{alert}` {state}: `{queue}` of port {port}: {value}")
    }
}

/// One alert over time.
#[derive(Clone, Debug)]
struct Watched {
    alert: Alert,
    /// Time since when its condition holds in every sample.
    since: Option<Duration>,
    /// Time of the last sample in which it held while it fires; `None`: it does not fire.
    held_at: Option<Duration>,
}

/// Alerts of the policy that runs.
#[derive(Clone, Debug, Default)]
pub struct Alerts(Vec<Watched>);

impl Alerts {
    /// Watches `alerts` instead of those so far. An alert of the same name and condition keeps its state.
    pub fn replace(&mut self, alerts: &[Alert]) {
        let before = core::mem::take(&mut self.0);
        let watched = |alert: &Alert| {
            let known =
                before.iter().find(|it| it.alert.name == alert.name && it.alert.condition == alert.condition);
            let (since, held_at) = known.map_or((None, None), |known| (known.since, known.held_at));
            Watched { alert: alert.clone(), since, held_at }
        };
        self.0 = alerts.iter().map(watched).collect();
    }

    /// Observes a sample at time `now`. Returns the alerts that changed, each with its notice.
    pub fn observe(&mut self, sample: &Sample, now: Duration) -> Vec<(Alert, Notice)> {
        let mut notices = Vec::new();
        for watched in &mut self.0 {
            if let Some(notice) = watched.observe(sample, now) {
                notices.push((watched.alert.clone(), notice));
            }
        }
        notices
    }

    /// Returns the names of the alerts that fire.
    pub fn firing(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|watched| watched.held_at.is_some()).map(|watched| &*watched.alert.name)
    }
}

impl Watched {
    fn observe(&mut self, sample: &Sample, now: Duration) -> Option<Notice> {
        let Some(met) = self.alert.condition.met_by(sample) else {
            self.since = None;
            let is_over = |held_at: &Duration| now.saturating_sub(*held_at) >= CALM;
            self.held_at.filter(is_over)?;
            self.held_at = None;
            return Some(self.notice("resolved", None));
        };
        let since = *self.since.get_or_insert(now);
        if let Some(held_at) = &mut self.held_at {
            *held_at = now;
            return None;
        }
        if now.saturating_sub(since) < self.alert.condition.lasting() {
            return None;
        }
        self.held_at = Some(now);
        Some(self.notice("firing", Some(&met)))
    }

    fn notice(&self, state: &'static str, met: Option<&Met<'_>>) -> Notice {
        Notice {
            router: String::new(),
            at: String::new(),
            alert: self.alert.name.clone(),
            state,
            condition: self.alert.condition.text().to_owned(),
            port: met.map_or_else(String::new, |met| met.port.to_owned()),
            queue: met.map_or_else(String::new, |met| met.queue.to_owned()),
            value: met.map_or_else(String::new, |met| self.alert.condition.shown(met.value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::{PortSample, QueueSample};
    use lockgate_scenario::condition::Condition;

    use super::*;

    fn alert(text: &str) -> Alert {
        let condition = Condition::parse(text).expect("a condition");
        Alert { name: "late".to_owned(), condition, webhook: None, command: Vec::new() }
    }

    fn sample(wait_s: f64) -> Sample {
        let queue = |name: &str, wait_s| QueueSample {
            name: name.to_owned(),
            sojourn_p99_s: Some(wait_s),
            ..QueueSample::default()
        };
        let queues = vec![queue("plan/C1", 0.001), queue("plan/C2", wait_s)];
        let ports = vec![PortSample { name: "wan".to_owned(), queues, ..PortSample::default() }];
        Sample { interval_s: 1.0, ports, ..Sample::default() }
    }

    #[test]
    fn an_alert_fires_after_its_time_and_is_resolved_after_ten_quiet_seconds() {
        let mut alerts = Alerts::default();
        alerts.replace(&[alert("class.plan/*.sojourn.p99 > 50ms for 5s")]);
        let mut told = Vec::new();
        for second in 0..60 {
            // Late from 3 to 6 (too short), from 10 to 30 with a gap at 20.
            let is_late = (3..7).contains(&second) || ((10..30).contains(&second) && second != 20);
            let notices =
                alerts.observe(&sample(if is_late { 0.08 } else { 0.01 }), Duration::from_secs(second));
            told.extend(notices.into_iter().map(|(_, notice)| (second, notice)));
            // The same policy again, as after a confirmation: nothing begins anew.
            alerts.replace(&[alert("class.plan/*.sojourn.p99 > 50ms for 5s")]);
        }
        let [(fired, first), (resolved, last)] = &told[..] else { panic!("{told:?}") };
        assert_eq!((*fired, *resolved), (15, 39));
        assert_eq!(
            (first.queue.as_str(), first.port.as_str(), first.value.as_str()),
            ("plan/C2", "wan", "80.0 ms")
        );
        assert_eq!(first.line(), "ALERT `late` firing: `plan/C2` of port wan: 80.0 ms");
        assert_eq!(last.line(), "alert `late` resolved");
        assert_eq!(alerts.firing().count(), 0);
    }
}
