//! State of the screen, and the requests of its keys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use lockgate_engine::units::Duration as RunTime;
use lockgate_measure::monitor::{EventSample, PortSample, QueueSample, Sample};
use lockgate_session::{Knob, LONGEST_INTERVAL, PortStatus, SHORTEST_INTERVAL, Status};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::past::{Changes, Past, Point};

/// Part of a port's largest delay that is left after each sample: half of it after about 35.
const DECAY: f64 = 0.98;

/// Ratio by which a port's delay must exceed that of the port above it to change places with it, so that
/// lines do not swap at every sample.
const CLEARLY: f64 = 1.25;

/// Delay in seconds from which packets wait at a port.
const WAITING_S: f64 = 1e-3;

/// Number of events kept for the screen.
const EVENTS: usize = 64;

/// Times in seconds that `z` steps through; `None`: the whole run.
const SPANS_S: [Option<f64>; 3] = [None, Some(10.0), Some(60.0)];

/// Intervals in ms that `[` and `]` step through.
const INTERVALS_MS: [u64; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

/// State of the screen.
pub(crate) struct Screen {
    pub(crate) status: Arc<Status>,
    pub(crate) sample: Option<Arc<Sample>>,
    pub(crate) events: VecDeque<EventSample>,
    /// The past of each queue, by port and queue.
    pub(crate) history: BTreeMap<(usize, u32), Past>,
    pub(crate) changes: Changes,
    /// Time in seconds that the curves show; `None`: the whole run.
    pub(crate) span_s: Option<f64>,
    /// Ports by index, the one with the longest delays first, and how long these are, fading.
    order: Vec<(usize, f64)>,
    /// Ports by index where packets have waited or were lost.
    busy: BTreeSet<usize>,
    /// Port and queue that are selected; `None`: the worst.
    selected: Option<(usize, u32)>,
    /// Index of the selected knob.
    pub(crate) knob: usize,
    /// True while the keys are explained.
    pub(crate) help: bool,
    /// True while the picture is frozen; samples are still collected.
    pub(crate) frozen: bool,
    pub(crate) typing: Typing,
    /// Text that the names of the queues shown, or of their port, contain; empty: all are shown.
    pub(crate) filter: String,
    pub(crate) message: String,
    pub(crate) missed: u64,
    pub(crate) colour: bool,
    /// Effect of the key `q`, in words.
    pub(crate) quits: &'static str,
}

/// Returns the delay of a queue that is shown: the 99th percentile, or the mean if no packet was timed.
fn delay(queue: &QueueSample) -> Option<f64> {
    queue.sojourn_p99_s.or(queue.sojourn_mean_s)
}

/// Text being typed below the picture.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Typing {
    #[default]
    Nothing,
    /// New value of the selected knob.
    Value(String),
    /// The filter of the queues.
    Filter,
}

/// Line of the list of queues.
pub(crate) struct QueueLine<'a> {
    pub(crate) port: &'a PortSample,
    /// Number of queues above it.
    pub(crate) depth: usize,
    pub(crate) queue: &'a QueueSample,
}

/// Request of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum KeyRequest {
    Nothing,
    Quit,
    Set(String),
    Every(RunTime),
    Hold(bool),
}

impl Screen {
    pub(crate) fn new(status: Arc<Status>, colour: bool) -> Self {
        Self {
            status,
            sample: None,
            events: VecDeque::new(),
            history: BTreeMap::new(),
            changes: Changes::default(),
            span_s: None,
            order: Vec::new(),
            busy: BTreeSet::new(),
            selected: None,
            knob: 0,
            help: false,
            frozen: false,
            typing: Typing::Nothing,
            filter: String::new(),
            message: String::new(),
            missed: 0,
            colour,
            quits: "quit; the verdict is printed",
        }
    }

    /// Adds a sample.
    pub(crate) fn take(&mut self, sample: Arc<Sample>) {
        for port in &sample.ports {
            for queue in &port.queues {
                let values = self.history.entry((port.index, queue.index)).or_default();
                values.push(Point::new(sample.at_s, queue.mean_packets, delay(queue)));
            }
        }
        for event in &sample.events {
            self.events.push_front(event.clone());
        }
        self.events.truncate(EVENTS);
        self.changes.take(&sample);
        if !self.frozen || self.sample.is_none() {
            self.sort(&sample);
            self.sample = Some(sample);
        }
    }

    /// Sorts the ports by their delays, the longest first.
    fn sort(&mut self, sample: &Sample) {
        for (_, delay) in &mut self.order {
            *delay *= DECAY;
        }
        for port in &sample.ports {
            let now = port.queues.iter().filter_map(delay).fold(0.0, f64::max);
            let is_hurt = |queue: &QueueSample| queue.pain.is_some() || queue.total.dropped_packets > 0;
            if now >= WAITING_S || port.queues.iter().any(is_hurt) {
                self.busy.insert(port.index);
            }
            match self.order.iter_mut().find(|(index, _)| *index == port.index) {
                Some((_, delay)) => *delay = delay.max(now),
                None => self.order.push((port.index, now)),
            }
        }
        for end in 1..self.order.len() {
            let mut at = end;
            while at > 0 && self.order[at].1 > self.order[at - 1].1 * CLEARLY {
                self.order.swap(at, at - 1);
                at -= 1;
            }
        }
    }

    /// Returns the index of the selected line.
    pub(crate) fn line(&self) -> usize {
        let lines = self.lines();
        let Some((port, index)) = self.selected else { return 0 };
        let is_selected = |line: &QueueLine<'_>| (line.port.index, line.queue.index) == (port, index);
        // A queue that was replaced has left its port.
        let is_beside = |line: &QueueLine<'_>| line.port.index == port;
        lines.iter().position(is_selected).or(lines.iter().position(is_beside)).unwrap_or(0)
    }

    /// Returns true if a port is left out: of a network and without a filter, one with a single queue that
    /// never received a packet, or where none has waited, so that busy ones fit the first screen.
    fn is_left_out(&self, port: &PortSample) -> bool {
        let is_of_a_host = self.status.mode == "route" || self.status.mode == "kernel";
        let is_selected = self.selected.is_some_and(|(selected, _)| selected == port.index);
        let [queue] = port.queues.as_slice() else { return false };
        let is_idle = queue.total.offered_packets == 0
            || !is_of_a_host && !self.busy.is_empty() && !self.busy.contains(&port.index);
        is_idle && !is_selected && self.filter.is_empty()
    }

    /// Returns the number of ports that are left out.
    pub(crate) fn left_out(&self) -> usize {
        let ports = self.sample.iter().flat_map(|sample| &sample.ports);
        ports.filter(|port| self.is_left_out(port)).count()
    }

    /// Returns the queues in the order of the lines, those of the worst port first, without the ports that
    /// are left out. With a filter, only its matches and the queues above them are returned.
    pub(crate) fn lines(&self) -> Vec<QueueLine<'_>> {
        let mut lines = Vec::new();
        let filter = self.filter.to_lowercase();
        let ports = self.sample.iter().flat_map(|sample| &sample.ports);
        let by_index: BTreeMap<usize, &PortSample> = ports.map(|port| (port.index, port)).collect();
        for port in self.order.iter().filter_map(|(index, _)| by_index.get(index).copied()) {
            if self.is_left_out(port) {
                continue;
            }
            let is_wanted = filter.is_empty() || port.name.to_lowercase().contains(&filter);
            let mut found: BTreeSet<u32> = BTreeSet::new();
            for queue in port.queues.iter().rev() {
                if is_wanted || found.contains(&queue.index) || queue.name.to_lowercase().contains(&filter) {
                    found.insert(queue.index);
                    found.extend(queue.parent);
                }
            }
            let mut depths: BTreeMap<u32, usize> = BTreeMap::new();
            for queue in port.queues.iter().filter(|queue| found.contains(&queue.index)) {
                let depth = queue.parent.and_then(|parent| depths.get(&parent)).map_or(0, |depth| depth + 1);
                depths.insert(queue.index, depth);
                lines.push(QueueLine { port, depth, queue });
            }
        }
        lines
    }

    /// Returns the knobs of the selected queue; for a root also the choice of the tree, and those of the
    /// link.
    pub(crate) fn knobs(&self) -> Vec<&Knob> {
        let lines = self.lines();
        let Some(QueueLine { port, depth, queue }) = lines.get(self.line()) else { return Vec::new() };
        let Some(port) = self.status.ports.get(port.index) else { return Vec::new() };
        let own = port.queues.iter().find(|(name, _)| *name == queue.name);
        let mut knobs: Vec<&Knob> = own.into_iter().flat_map(|(_, knobs)| knobs).collect();
        if *depth == 0 {
            knobs.extend(&port.root);
            let link = self.status.links.iter().find(|link| link.name == port.link);
            knobs.extend(link.into_iter().flat_map(|link| &link.knobs));
        }
        knobs
    }

    /// Returns true if something can be set.
    pub(crate) fn has_knobs(&self) -> bool {
        let of_port =
            |port: &PortStatus| port.root.is_some() || port.queues.iter().any(|(_, knobs)| !knobs.is_empty());
        self.status.ports.iter().any(of_port) || self.status.links.iter().any(|link| !link.knobs.is_empty())
    }

    /// Returns true if a port has another tree.
    pub(crate) fn has_trees(&self) -> bool {
        let mut roots = self.status.ports.iter().filter_map(|port| port.root.as_ref());
        roots.any(|root| root.choices.len() > 1)
    }

    /// Returns true if the interval of samples can be set: that of a router is an option of its start.
    pub(crate) fn has_interval(&self) -> bool {
        self.status.mode != "route"
    }

    /// Returns true if time can be held: that of a simulation.
    pub(crate) fn can_be_held(&self) -> bool {
        !["live", "kernel", "route"].contains(&self.status.mode)
    }

    /// Handles a key.
    pub(crate) fn press(&mut self, key: KeyEvent) -> KeyRequest {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return KeyRequest::Quit;
        }
        // Keys turn the knobs of the queue that is shown, also if another one becomes the worst.
        if self.selected.is_none() {
            self.select(0);
        }
        if core::mem::take(&mut self.help) {
            return KeyRequest::Nothing;
        }
        match core::mem::take(&mut self.typing) {
            Typing::Value(typed) => return self.typed(typed, key.code),
            Typing::Filter => {
                self.filter_typed(key.code);
                return KeyRequest::Nothing;
            }
            Typing::Nothing => {}
        }
        match key.code {
            KeyCode::Esc if !self.filter.is_empty() => {
                self.filter.clear();
                self.select(0);
            }
            KeyCode::Char('q') | KeyCode::Esc => return KeyRequest::Quit,
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char('/') => self.typing = Typing::Filter,
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::Right | KeyCode::Tab => self.turn(1),
            KeyCode::Left | KeyCode::BackTab => self.turn(-1),
            KeyCode::Char('+' | '=') => return self.step(true),
            KeyCode::Char('-') => return self.step(false),
            KeyCode::Enter => {
                let value = self.knobs().get(self.knob).and_then(|knob| knob.value.clone());
                if !self.knobs().is_empty() {
                    self.typing = Typing::Value(value.unwrap_or_default());
                }
            }
            KeyCode::Char('r') => return self.swap_root(),
            KeyCode::Char(' ') => self.frozen = !self.frozen,
            KeyCode::Char('z') => {
                let at = SPANS_S.iter().position(|span| *span == self.span_s).unwrap_or(0);
                self.span_s = SPANS_S[(at + 1) % SPANS_S.len()];
            }
            KeyCode::Char('h') if self.can_be_held() => {
                return KeyRequest::Hold(!self.status.held);
            }
            KeyCode::Char('[') if self.has_interval() => return self.interval(false),
            KeyCode::Char(']') if self.has_interval() => return self.interval(true),
            _ => {}
        }
        KeyRequest::Nothing
    }

    fn typed(&mut self, mut typed: String, key: KeyCode) -> KeyRequest {
        match key {
            KeyCode::Esc => return KeyRequest::Nothing,
            KeyCode::Enter => {
                return self
                    .knobs()
                    .get(self.knob)
                    .map_or(KeyRequest::Nothing, |knob| KeyRequest::Set(format!("{}={typed}", knob.path)));
            }
            KeyCode::Backspace => {
                typed.pop();
            }
            KeyCode::Char(letter) => typed.push(letter),
            _ => {}
        }
        self.typing = Typing::Value(typed);
        KeyRequest::Nothing
    }

    fn filter_typed(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => {}
            KeyCode::Esc => self.filter.clear(),
            _ => {
                match key {
                    KeyCode::Backspace => drop(self.filter.pop()),
                    KeyCode::Char(letter) => self.filter.push(letter),
                    _ => {}
                }
                self.typing = Typing::Filter;
            }
        }
        self.select(0);
    }

    fn select(&mut self, by: isize) {
        let line = self.line();
        let lines = self.lines();
        let line = line.saturating_add_signed(by).min(lines.len().saturating_sub(1));
        let selected = lines.get(line).map(|line| (line.port.index, line.queue.index));
        (self.selected, self.knob) = (selected, 0);
    }

    fn turn(&mut self, by: isize) {
        let count = self.knobs().len();
        self.knob = self.knob.saturating_add_signed(by).min(count.saturating_sub(1));
    }

    fn step(&mut self, up: bool) -> KeyRequest {
        let Some(knob) = self.knobs().get(self.knob).copied().cloned() else { return KeyRequest::Nothing };
        if let Some(value) = if up { &knob.higher } else { &knob.lower } {
            return KeyRequest::Set(format!("{}={value}", knob.path));
        }
        self.message = format!("{} has no step; press Enter and type", knob.key);
        KeyRequest::Nothing
    }

    fn swap_root(&mut self) -> KeyRequest {
        let lines = self.lines();
        let port = lines.get(self.line()).and_then(|line| self.status.ports.get(line.port.index));
        let Some(root) = port.and_then(|port| port.root.clone()) else { return KeyRequest::Nothing };
        if root.choices.len() < 2 {
            "this port has one tree only".clone_into(&mut self.message);
            return KeyRequest::Nothing;
        }
        root.higher.map_or(KeyRequest::Nothing, |value| KeyRequest::Set(format!("{}={value}", root.path)))
    }

    fn interval(&self, longer: bool) -> KeyRequest {
        let now = (self.status.every_s * 1e3).round() as u64;
        let next = if longer {
            INTERVALS_MS.into_iter().find(|step| *step > now)
        } else {
            INTERVALS_MS.into_iter().rev().find(|step| *step < now)
        };
        next.map_or(KeyRequest::Nothing, |millis| {
            KeyRequest::Every(RunTime::from_millis(millis).max(SHORTEST_INTERVAL).min(LONGEST_INTERVAL))
        })
    }
}
