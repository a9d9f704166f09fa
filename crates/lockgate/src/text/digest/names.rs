//! Names of metrics for readers: `call delay p99` for `flow.call.owd.p99`.

use lockgate_measure::metric::{Address, Subject};

/// Words for the names of metrics that are not words.
const WORDS: [(&str, &str); 9] = [
    ("owd", "delay"),
    ("queueing", "queueing delay"),
    ("fct", "completion time"),
    ("ps_fct", "completion time under processor sharing"),
    ("rtt", "round trip"),
    ("mos", "MOS"),
    ("sojourn", "wait"),
    ("ipdv", "delay variation"),
    ("iat", "time between arrivals"),
];

/// Returns the name of the metric at `path`; the path itself if it is none.
pub(super) fn of(path: &str) -> String {
    let Ok(address) = Address::parse(path) else { return path.to_owned() };
    let subject = match &address.subject {
        Subject::Run => String::new(),
        Subject::Flow(name) | Subject::Group(name) | Subject::Port(name) => name.clone(),
        Subject::Bin(group, bin) => format!("{group}, size class {bin}"),
        Subject::Queue(port, queue) => format!("{port} {queue}"),
    };
    let name = address.metric.name;
    let word = WORDS.iter().find(|(metric, _)| *metric == name).map(|(_, word)| (*word).to_owned());
    let mut parts = vec![subject, word.unwrap_or_else(|| name.replace('_', " "))];
    parts.extend(address.statistic.map(|statistic| statistic.name().to_owned()));
    parts.extend(address.member_statistic.map(|over| over.name().to_owned()));
    parts.extend(address.during.map(|during| format!("@ {during}")));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}
