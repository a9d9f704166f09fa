//! Lines of a reference run that set up its machine: `tc` commands, and two notations of reference files.
//!
//! `link sl0: ... rate 10000000 bit/s ...` is a device that serialises packets at that rate;
//! `tc -n b qdisc add dev b0 root netem delay 40ms` delays packets from the receiver back.

use lockgate_engine::units::Duration;
use lockgate_tc::value::ValueType;
use lockgate_tc::{Commands, Environment, Port, Problems, Value};

/// Smallest limit of `netem`, in packets: a shorter queue would lose packets in flight.
const ENOUGH: u32 = 10_000;

/// Setup of a machine.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    /// Rate of the link device in bits per second; `None` if the device has no limit.
    pub rate: Option<u64>,
    /// Delay of packets from the receiver back.
    pub return_delay: Duration,
    commands: Commands,
    lines: &'a [String],
}

impl<'a> Setup<'a> {
    /// Parses the lines.
    ///
    /// # Errors
    /// Returns the first line that is not supported.
    pub(super) fn read(lines: &'a [String]) -> Result<Self, String> {
        let (mut rate, mut link, mut return_delay) = (None, None, Duration::default());
        let mut text = String::new();
        for line in lines {
            let words: Vec<_> = line.split_whitespace().collect();
            let named = |why: String| format!("`{line}`: {why}");
            match words[..] {
                ["link", name, ..] => {
                    if link.replace(name.trim_end_matches(':')).is_some() {
                        return Err(named("there is a link already".to_owned()));
                    }
                    rate = Some(link_rate(&words).map_err(named)?);
                }
                ["tc", "-n", host, "qdisc", "add", "dev", _, "root", "netem", ref rest @ ..] => {
                    return_delay = netem(host, rest).map_err(named)?;
                }
                _ => text.push_str(line),
            }
            // One line of the text for each line of the file: positions lead back to it.
            text.push('\n');
        }
        let commands = lockgate_tc::parse(&text).map_err(|problems| quoted(lines, &problems))?;
        let other = commands.0.iter().find(|command| link.is_some_and(|link| *link != **command.device));
        if let (Some(link), Some(other)) = (link, other) {
            return Err(format!("`{link}` and `{}`: only one device is understood", *other.device));
        }
        Ok(Self { rate, return_delay, commands, lines })
    }

    /// Imports the commands.
    ///
    /// # Errors
    /// Returns the first line that a scenario cannot express.
    pub(super) fn port(&self, environment: &Environment<'_>) -> Result<Port, String> {
        lockgate_tc::import(&self.commands, environment).map_err(|problems| quoted(self.lines, &problems))
    }
}

/// True if lines set up a machine without a queue.
pub(super) fn has_no_queue(lines: &[String]) -> bool {
    Setup::read(lines).is_ok_and(|setup| setup.commands.0.is_empty())
}

/// Returns the first problem, after the line that causes it.
fn quoted(lines: &[String], problems: &Problems) -> String {
    let problem = problems.first();
    let line = (problem.at.line as usize).checked_sub(1).and_then(|index| lines.get(index));
    line.map_or_else(|| problem.message.clone(), |line| format!("`{line}`: {}", problem.message))
}

/// Returns the rate of `link sl0: ..., rate 10000000 bit/s of L2 bytes ...`.
fn link_rate(words: &[&str]) -> Result<u64, String> {
    let mut words = words.iter().skip_while(|word| **word != "rate").skip(1);
    let rate = words.next().and_then(|word| word.parse().ok()).filter(|rate| *rate > 0);
    if !words.next().is_some_and(|unit| unit.starts_with("bit/s")) {
        return Err("a link has a `rate` in `bit/s`".to_owned());
    }
    rate.ok_or_else(|| "the rate is not a number".to_owned())
}

/// Returns the delay of the receiver's device, which delays packets on the way back.
fn netem(host: &str, mut words: &[&str]) -> Result<Duration, String> {
    if host != "b" {
        return Err(format!("`netem` of the receiver `b` is understood, not that of `{host}`"));
    }
    let mut delay = Duration::default();
    while let [word, value, rest @ ..] = words {
        match (*word, ValueType::Time.read(value)) {
            ("delay", Some(Value::Time(time))) => delay = time,
            ("limit", _) if value.parse::<u32>().is_ok_and(|limit| limit >= ENOUGH) => {}
            _ => return Err(format!("`{word} {value}` of `netem` is not understood")),
        }
        words = rest;
    }
    words.first().map_or(Ok(delay), |word| Err(format!("`{word}` of `netem` is not understood")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRR: [&str; 3] = [
        "tc qdisc add dev sl0 root handle 10: drr",
        "tc class add dev sl0 parent 10: classid 10:1 drr quantum 1500",
        "tc qdisc add dev sl0 parent 10:1 handle 21: pfifo limit 50",
    ];

    fn lines(more: &[&str]) -> Vec<String> {
        DRR.iter().chain(more).map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn links_and_return_delays_are_read() {
        let lines = lines(&[
            "link sl0: store-and-forward serialising device, rate 10000000 bit/s of L2 bytes, in front of r1",
            "tc -n b qdisc add dev b0 root netem delay 40ms limit 100000",
        ]);
        let setup = Setup::read(&lines).expect("understood");
        assert_eq!((setup.rate, setup.return_delay), (Some(10_000_000), Duration::from_millis(40)));
        assert_eq!(setup.commands.0.len(), 3);
    }

    #[test]
    fn refusals_quote_the_line() {
        for (line, word) in [
            ("tc -n b qdisc add dev b0 root netem delay 40ms 10ms", "`10ms` of `netem`"),
            ("tc -n b qdisc add dev b0 root netem delay 40ms loss 1%", "`loss 1%` of `netem`"),
            ("tc -n b qdisc add dev b0 root netem delay 40ms limit 100", "`limit 100` of `netem`"),
            ("tc -n a qdisc add dev a0 root netem delay 40ms", "not that of `a`"),
            ("link sl0: rate fast", "rate"),
            ("link sl1: rate 10 bit/s", "only one device"),
            ("ip link set dev r1 mtu 9000", "`ip link set dev r1 mtu 9000`: `ip` is not understood"),
        ] {
            let why = Setup::read(&lines(&[line])).expect_err(line);
            assert!(why.contains(word), "{line}: {why}");
        }
    }
}
