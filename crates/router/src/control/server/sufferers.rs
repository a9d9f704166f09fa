//! Queues that hurt for seconds, for the log: one message when it begins, reminders, and one when it ends.

use std::time::Duration;

use lockgate_measure::monitor::{Hurt, Sample, worst};

/// Time over which a queue must be beyond the bounds in each sample, whichever it is, before it is logged.
const LASTING: Duration = Duration::from_secs(10);

/// Time after which it is logged again.
const REMINDER: Duration = Duration::from_mins(10);

/// Time without a queue that hurts after which the end is logged.
const CALM: Duration = Duration::from_secs(10);

/// Port and queue.
type Name = (String, String);

/// The queues that hurt, over time.
#[derive(Debug, Default)]
pub(super) struct Sufferers {
    /// Time since when each sample has a queue that hurts: the worst may be another each time.
    since: Option<Duration>,
    /// The worst queue, and the time since when it is the worst.
    worst: Option<(Name, Duration)>,
    /// The queue last logged, and when; `None` after the end.
    logged: Option<(Name, Duration)>,
    /// Time of the last sample in which a queue hurt.
    hurt_at: Duration,
}

impl Sufferers {
    /// Observes a sample at time `now`. Returns the message for the log.
    pub(super) fn observe(&mut self, sample: &Sample, now: Duration) -> Option<String> {
        let Some(hurt) = worst(sample).filter(Hurt::hurts) else {
            (self.since, self.worst) = (None, None);
            let is_over = now.saturating_sub(self.hurt_at) >= CALM;
            let ((port, queue), _) = self.logged.take_if(|_| is_over)?;
            return Some(format!("`{queue}` of port {port} hurts no longer, nor does another queue"));
        };
        self.hurt_at = now;
        let name = (hurt.port.clone(), hurt.queue.clone());
        let since = *self.since.get_or_insert(now);
        let worst_since = match &self.worst {
            Some((known, since)) if *known == name => *since,
            _ => now,
        };
        self.worst = Some((name.clone(), worst_since));
        let has_lasted = |since: Duration| now.saturating_sub(since) >= LASTING;
        let is_due = match &self.logged {
            None => has_lasted(since),
            // Queues that are the worst in turn are logged as one, so that the log stays short.
            Some((known, at)) => {
                now.saturating_sub(*at) >= REMINDER || *known != name && has_lasted(worst_since)
            }
        };
        if !is_due {
            return None;
        }
        self.logged = Some((name, now));
        Some(hurt.to_string())
    }
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::{PortSample, QueueSample};

    use super::*;

    fn sample(queue: &str, wait_s: f64) -> Sample {
        let queue = QueueSample {
            name: queue.to_owned(),
            sent_packets: 100,
            sojourn_p99_s: Some(wait_s),
            ..QueueSample::default()
        };
        let ports = vec![PortSample { name: "wan".to_owned(), queues: vec![queue], ..PortSample::default() }];
        Sample { ports, ..Sample::default() }
    }

    #[test]
    fn a_queue_that_hurts_for_ten_seconds_is_logged_once_and_its_end_too() {
        let mut sufferers = Sufferers::default();
        let mut log = Vec::new();
        for second in 0..60 {
            // A second's rest at 8 s begins the ten seconds again.
            let wait_s = if second == 8 || second >= 30 { 0.001 } else { 0.5 };
            let said = sufferers.observe(&sample("plan/C7", wait_s), Duration::from_secs(second));
            log.extend(said.map(|text| (second, text)));
        }
        let [(begun, first), (ended, last)] = &log[..] else { panic!("{log:?}") };
        assert_eq!((*begun, *ended), (19, 39));
        assert!(first.starts_with("`plan/C7` of port wan: packets waited"), "{first}");
        assert!(last.contains("hurts no longer"), "{last}");
    }

    #[test]
    fn queues_that_are_the_worst_in_turn_are_logged_too() {
        let mut sufferers = Sufferers::default();
        let mut log = Vec::new();
        for second in 0..700 {
            // From 620 s on it is the same.
            let queue = if second % 2 == 0 || second >= 620 { "plan/C7" } else { "plan/C8" };
            let said = sufferers.observe(&sample(queue, 0.5), Duration::from_secs(second));
            log.extend(said.map(|text| (second, text.contains("plan/C7"))));
        }
        assert_eq!(log, [(10, true), (610, true)], "the worst at that time");
        for second in 700..720 {
            let said = sufferers.observe(&sample("plan/C8", 0.5), Duration::from_secs(second));
            log.extend(said.map(|text| (second, text.contains("plan/C7"))));
        }
        assert_eq!(log[2..], [(710, false)], "another one, for ten seconds");
    }

    #[test]
    fn a_reminder_comes_after_ten_minutes() {
        let mut sufferers = Sufferers::default();
        let times = (0..1_400)
            .filter(|second| sufferers.observe(&sample("q", 0.5), Duration::from_secs(*second)).is_some());
        assert_eq!(times.collect::<Vec<_>>(), [10, 610, 1_210]);
    }
}
