//! Words for readers in place of addresses: `flow.call.owd.p99` is the `delay p99` of `call`.

use lockgate_engine::port_name;

use crate::metric::{Address, MemberStatistic, Metric, Statistic, Subject, segments};
use crate::summary::Summary;

/// Subject and quantity of an address, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Subject: `call`, `fair at router:client`; empty for the whole run.
    pub subject: String,
    /// Measured quantity: `delay p99`, `goodput sum`.
    pub quantity: String,
}

impl Words {
    /// Returns the words for an address; the address itself as the quantity if it is none.
    pub fn of(path: &str) -> Self {
        if let Some((of, less)) = path.split_once(" - ") {
            let [of, less] = [of, less].map(Self::of);
            let quantity = format!("{} less {}", of.in_sentence(), less.in_sentence());
            return Self { subject: String::new(), quantity };
        }
        let Ok(address) = Address::parse(path) else {
            return Self { subject: String::new(), quantity: path.to_owned() };
        };
        Self { subject: subject(&address), quantity: quantity(&address) }
    }

    /// Returns both as part of a sentence: `call delay p99`.
    pub fn in_sentence(&self) -> String {
        format!("{} {}", self.subject, self.quantity).trim_start().to_owned()
    }

    /// Returns both, such as `call: delay p99`.
    pub fn joined(&self) -> String {
        if self.subject.is_empty() {
            return self.quantity.clone();
        }
        format!("{}: {}", self.subject, self.quantity)
    }
}

/// Returns the words for an address in a line: `call: delay p99`.
pub fn label(path: &str) -> String {
    Words::of(path).joined()
}

fn subject(address: &Address) -> String {
    match &address.subject {
        Subject::Run => String::new(),
        // A statistic over members is one of the group.
        Subject::Flow(name) if name == "*" => "all flows".to_owned(),
        Subject::Flow(name) if address.member_statistic.is_some() => {
            name.strip_suffix("/*").unwrap_or(name).to_owned()
        }
        Subject::Flow(name) | Subject::Group(name) | Subject::Port(name) => name.clone(),
        Subject::Bin(group, number) => format!("{group}, sizes {number}"),
        Subject::Queue(port, queue) => format!("{queue} at {port}"),
    }
}

/// Returns the words for the flows, queues or ports that a pattern stands for: `video flows`, `plan queues at
/// bng:olt`.
pub(super) fn members(address: &Address) -> String {
    let named = |pattern: &str, noun: &str| match pattern.strip_suffix("/*") {
        Some(group) => format!("{group} {noun}"),
        None if pattern == "*" => noun.to_owned(),
        None => format!("{noun} {pattern}"),
    };
    match &address.subject {
        Subject::Flow(name) => named(name, "flows"),
        Subject::Port(name) => named(name, "ports"),
        Subject::Queue(port, queue) => format!("{} at {port}", named(queue, "queues")),
        Subject::Run | Subject::Group(_) | Subject::Bin(..) => subject(address),
    }
}

fn quantity(address: &Address) -> String {
    let mut text = metric(address.metric);
    if let Some(statistic) = address.statistic {
        text.push(' ');
        text.push_str(statistic_words(statistic));
    }
    if let Some(over) = address.member_statistic {
        text.push(' ');
        text.push_str(match over {
            MemberStatistic::Plain(Statistic::Max) => "largest",
            MemberStatistic::Plain(Statistic::Min) => "smallest",
            MemberStatistic::Plain(statistic) => statistic_words(statistic),
            over => over.name(),
        });
    }
    if let Some(during) = address.during {
        text.push_str(" from ");
        text.push_str(&during.to_string().replace("..", " to "));
    }
    text
}

fn statistic_words(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::P50 => "median",
        Statistic::P999 => "p99.9",
        other => other.name(),
    }
}

/// Returns the words for a metric; one without an entry is named as in addresses.
pub fn metric(metric: &Metric) -> String {
    let words = match metric.name {
        "owd" => "delay",
        "ipdv" => "delay variation",
        "ipdv_signed_mean" => "mean delay variation",
        "queueing" => "queueing delay",
        "pdv" => "delay above the least",
        "jitter_rfc3550" => "jitter",
        "iat" => "time between arrivals",
        "reordered" => "reordering",
        "fct" => "completion time",
        "ps_fct" => "ideal completion time",
        "rtt" => "round trip",
        "rtt_loss" => "round-trip loss",
        "rtt_mean" => "round trip mean",
        "r_factor" => "R",
        "mos" => "MOS",
        "jain_index" => "Jain",
        "cwnd_mean" => "congestion window mean",
        "cwnd_min" => "congestion window min",
        "cwnd_max" => "congestion window max",
        "sojourn" => "wait",
        "scheduling_mean" => "wait for the ring mean",
        "requests_met" => "requests met",
        name => return name.replace('_', " "),
    };
    words.to_owned()
}

/// Returns the words for a queue and its port: ``the fifo at isp:modem``, or with its own name ``fair
/// (fq_codel) at router:client``.
pub(super) fn queue(port: &str, name: &str, kind: &str) -> String {
    if name == kind { format!("the {kind} at {port}") } else { format!("{name} ({kind}) at {port}") }
}

/// Returns the words for the paths of settings, in headings beside each other: `cake bandwidth` for
/// `port.isp:modem.queue.cake.bandwidth`, with its port only if another has the same words: `cake bandwidth
/// at isp:modem`.
pub fn settings<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let words: Vec<[String; 2]> = paths.into_iter().map(setting).collect();
    let is_alone = |short: &String| words.iter().filter(|other| other[0] == *short).count() == 1;
    words.iter().map(|[short, long]| if is_alone(short) { short } else { long }.clone()).collect()
}

/// Returns the words for the path of a setting without its port, and with it.
fn setting(path: &str) -> [String; 2] {
    let of = |words: &str| words.replace('_', " ");
    let segments = segments(path).unwrap_or_default();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (port, quantity) = match segments.as_slice() {
        ["port", port, "root"] => {
            // A comparison of queues says nowhere else where they are.
            let words = format!("queue at {}", port_name::canonical(port));
            return [words.clone(), words];
        }
        ["port", port, "queue", rest @ ..] if !rest.is_empty() => (port, of(&rest.join(" "))),
        ["port", port, rest @ ..] if !rest.is_empty() => (port, of(&rest.join(" "))),
        ["flow" | "link" | "node", name, rest @ ..] if !rest.is_empty() => {
            let words = format!("{name} {}", of(&rest.join(" ")));
            return [words.clone(), words];
        }
        _ => return [of(path), of(path)],
    };
    let port = port_name::canonical(port);
    [quantity.clone(), format!("{quantity} at {port}")]
}

impl Summary {
    /// Returns the worst of the flows or queues that an address stands for, and its value.
    pub(super) fn worst_of(&self, address: &Address) -> Option<(String, f64)> {
        let values = self.values(address);
        let mut found: Vec<(&str, f64)> =
            values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let sign = if crate::metric::more_is_better(address.metric) { 1.0 } else { -1.0 };
        found.sort_by(|one, other| (sign * one.1).total_cmp(&(sign * other.1)));
        found.first().map(|(name, value)| ((*name).to_owned(), *value))
    }
}
