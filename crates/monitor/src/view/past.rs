//! Past of a run for the screen: of each queue the last samples as they were, and all of the run in little;
//! the changes, each with a letter; the delay of a port before and after one.

use std::collections::VecDeque;

use lockgate_measure::monitor::{EventSample, PortSample, Sample};
use lockgate_measure::recording::EventKind;

/// Samples kept as they were, and points of the whole run.
const KEPT_SAMPLES: usize = 1024;

/// Time in seconds for which the effect of a change is shown, and over which the delay before it is a mean.
const SHOWN_S: f64 = 10.0;
const BEFORE_S: f64 = 5.0;
/// Time in seconds over which the delay after it is a mean.
const AFTER_S: f64 = 1.0;

/// Smallest and largest backlog and delay of some samples, and the end of the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) at_s: f64,
    /// Mean backlogs, in packets.
    pub(crate) packets: [f64; 2],
    /// 99th percentiles of the time in the port, in seconds, if packets left; the means if there are no
    /// percentiles.
    pub(crate) delay: Option<[f64; 2]>,
}

impl Point {
    /// Creates the point of one sample.
    pub(crate) fn new(at_s: f64, packets: f64, delay: Option<f64>) -> Self {
        Self { at_s, packets: [packets; 2], delay: delay.map(|delay| [delay; 2]) }
    }

    fn joined(self, later: Self) -> Self {
        let both = |one: [f64; 2], other: [f64; 2]| [one[0].min(other[0]), one[1].max(other[1])];
        let delay = match (self.delay, later.delay) {
            (Some(one), Some(other)) => Some(both(one, other)),
            (one, other) => one.or(other),
        };
        Self { at_s: later.at_s, packets: both(self.packets, later.packets), delay }
    }
}

/// Past of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    /// The last samples.
    pub(crate) recent: VecDeque<Point>,
    /// All of the run: each point of `per` samples, the last of `filled`.
    whole: Vec<Point>,
    per: u32,
    filled: u32,
}

impl Past {
    /// Adds a sample.
    pub(crate) fn push(&mut self, point: Point) {
        self.recent.push_back(point);
        if self.recent.len() > KEPT_SAMPLES {
            self.recent.pop_front();
        }
        if self.whole.len() == KEPT_SAMPLES && self.filled == self.per {
            self.whole =
                self.whole.chunks(2).filter_map(|pair| pair.iter().copied().reduce(Point::joined)).collect();
            (self.per, self.filled) = (2 * self.per, 2 * self.per);
        }
        match self.whole.last_mut() {
            Some(last) if self.filled < self.per => {
                (*last, self.filled) = (last.joined(point), self.filled + 1);
            }
            _ => {
                self.whole.push(point);
                (self.per, self.filled) = (self.per.max(1), 1);
            }
        }
    }

    /// Returns the points from `start_s` on: as they were, if they are kept.
    pub(crate) fn since(&self, start_s: f64) -> impl Iterator<Item = &Point> {
        let is_kept = self.recent.front().is_some_and(|first| first.at_s <= start_s)
            || self.recent.len() < KEPT_SAMPLES;
        let (recent, whole) = if is_kept { (Some(&self.recent), None) } else { (None, Some(&self.whole)) };
        let all = recent.into_iter().flatten().chain(whole.into_iter().flatten());
        all.filter(move |point| point.at_s >= start_s)
    }
}

/// A change of the run.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) at_s: f64,
    /// Letter at its tick: `a` for the first; they begin anew after `z`.
    pub(crate) letter: char,
    /// Value that was set, such as `root = fair`.
    what: String,
    /// Port that it is of, or all ports, each with its delay before.
    before: Vec<(String, f64)>,
}

/// Changes, and the delays of the ports of late.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) all: Vec<Change>,
    /// Time, port and its delay of each sample of the last seconds.
    delays: VecDeque<(f64, String, f64)>,
}

impl Changes {
    /// Adds a sample.
    pub(crate) fn take(&mut self, sample: &Sample) {
        for event in sample.events.iter().filter(|event| event.kind == EventKind::Change) {
            self.add(event, sample);
        }
        let delays =
            sample.ports.iter().filter_map(|port| Some((sample.at_s, port.name.clone(), longest(port)?)));
        self.delays.extend(delays);
        while self.delays.front().is_some_and(|(at_s, ..)| *at_s < sample.at_s - BEFORE_S) {
            self.delays.pop_front();
        }
    }

    fn add(&mut self, event: &EventSample, sample: &Sample) {
        let is_of = |port: &&PortSample| {
            event.path.contains(&format!("port.{}.", port.name))
                || event.path.contains(&format!("port.\"{}\".", port.name))
        };
        let of = sample.ports.iter().find(is_of);
        let ports = of.map_or(&sample.ports[..], std::slice::from_ref);
        let before = |port: &PortSample| {
            Some((port.name.clone(), self.mean(&port.name, event.at_s - BEFORE_S, event.at_s)?))
        };
        let before = ports.iter().filter_map(before).collect();
        let key = event.path.rsplit('.').next().unwrap_or(&event.path);
        let letter = char::from(b'a' + (self.all.len() % 26) as u8);
        let what = format!("{key} = {}", event.value);
        self.all.push(Change { at_s: event.at_s, letter, what, before });
    }

    fn mean(&self, port: &str, from_s: f64, to_s: f64) -> Option<f64> {
        let within =
            self.delays.iter().filter(|(at_s, name, _)| name == port && (from_s..=to_s).contains(at_s));
        let (sum, count) = within.fold((0.0, 0_u32), |(sum, count), (.., delay)| (sum + delay, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Returns the effect of the last change in the ten seconds after it: its letter, what was set, the port
    /// that it is of, else the one with the longest delay before or now, and its mean delays before and now.
    pub(crate) fn effect(&self, now_s: f64) -> Option<(char, &str, String, f64, f64)> {
        let last = self.all.last().filter(|change| now_s > change.at_s && now_s <= change.at_s + SHOWN_S)?;
        let from_s = (now_s - AFTER_S).max(last.at_s);
        let of_port = |(port, before): &'_ (String, f64)| {
            Some((port.clone(), *before, self.mean(port, from_s, now_s)?))
        };
        let longest = last.before.iter().filter_map(of_port);
        let longest =
            longest.max_by(|(_, one, then), (_, other, now)| one.max(*then).total_cmp(&other.max(*now)));
        let (port, before, after) = longest?;
        Some((last.letter, &last.what, port, before, after))
    }
}

/// Returns the longest delay of a port's queues.
fn longest(port: &PortSample) -> Option<f64> {
    let delays = port.queues.iter().filter_map(|queue| queue.sojourn_p99_s.or(queue.sojourn_mean_s));
    delays.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::QueueSample;

    use super::*;

    #[test]
    fn a_run_of_any_length_is_kept_with_its_extremes() {
        let mut past = Past::default();
        for number in 0..10_000_u32 {
            let delay = if number == 1_234 { 9.0 } else { 0.001 };
            past.push(Point::new(f64::from(number), f64::from(number % 7), Some(delay)));
        }
        assert!(past.whole.len() <= KEPT_SAMPLES && past.recent.len() == KEPT_SAMPLES);
        let whole: Vec<&Point> = past.since(0.0).collect();
        let most = whole.iter().filter_map(|point| point.delay).map(|delay| delay[1]).fold(0.0, f64::max);
        assert!((most - 9.0).abs() < 1e-9, "the only long delay, long ago: {most}");
        assert_eq!((whole[0].packets[0], whole[whole.len() - 1].at_s), (0.0, 9_999.0));
        let short: Vec<f64> = past.since(9_990.0).map(|point| point.at_s).collect();
        assert_eq!(short.len(), 10, "the last samples are as they were: {short:?}");
    }

    #[test]
    fn the_effect_of_a_change_is_told_for_ten_seconds() {
        let mut changes = Changes::default();
        let mut told = Vec::new();
        for number in 1..300_u32 {
            let at_s = f64::from(number) / 10.0;
            let queue = QueueSample {
                sojourn_p99_s: Some(if at_s < 10.0 { 0.9 } else { 0.02 }),
                ..QueueSample::default()
            };
            let ports =
                vec![PortSample { name: "a:b".to_owned(), queues: vec![queue], ..PortSample::default() }];
            let event = EventSample {
                at_s: 10.0,
                kind: EventKind::Change,
                path: "port.a:b.root".to_owned(),
                value: "fair".to_owned(),
                moved_packets: None,
                forced_out_packets: 0,
                text: String::new(),
                before: Vec::new(),
            };
            let events = if number == 100 { vec![event] } else { Vec::new() };
            changes.take(&Sample { at_s, ports, events, ..Sample::default() });
            let effect = changes.effect(at_s).map(|(letter, what, port, before, after)| {
                (letter, format!("{what} {port}"), (before * 1e3).round(), (after * 1e3).round())
            });
            told.extend(effect.map(|effect| (number, effect)));
        }
        let (first, last) = (&told[0], &told[told.len() - 1]);
        assert_eq!((first.0, last.0), (101, 200));
        assert_eq!(last.1, ('a', "root = fair a:b".to_owned(), 900.0, 20.0));
    }

    #[test]
    fn the_effect_of_a_change_of_a_link_is_told_where_packets_wait_then() {
        let mut changes = Changes::default();
        for number in 1..150_u32 {
            let at_s = f64::from(number) / 10.0;
            let port = |name: &str, delay: f64| {
                let queue = QueueSample { sojourn_p99_s: Some(delay), ..QueueSample::default() };
                PortSample { name: name.to_owned(), queues: vec![queue], ..PortSample::default() }
            };
            // The queue moves from the first port, the longest until now, to the second.
            let [one, other] = if at_s < 10.0 { [0.015, 0.001] } else { [0.0001, 0.3] };
            let event = EventSample {
                at_s: 10.0,
                kind: EventKind::Change,
                path: "link.line.rate".to_owned(),
                value: "5mbit".to_owned(),
                moved_packets: None,
                forced_out_packets: 0,
                text: String::new(),
                before: Vec::new(),
            };
            let events = if number == 100 { vec![event] } else { Vec::new() };
            let ports = vec![port("a:b", one), port("b:c", other)];
            changes.take(&Sample { at_s, ports, events, ..Sample::default() });
        }
        let (.., port, before, after) = changes.effect(14.9).expect("an effect");
        assert_eq!((port.as_str(), (before * 1e3).round(), (after * 1e3).round()), ("b:c", 1.0, 300.0));
    }
}
