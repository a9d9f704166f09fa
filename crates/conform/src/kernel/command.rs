//! The commands that set a kernel up, as objects: queueing disciplines, classes, filters.

/// What the commands set up.
#[derive(Clone, Debug, Default)]
pub(super) struct Commands {
    /// Bits a second of a link device; `None` where the device is without limit.
    pub rate: Option<u64>,
    pub qdiscs: Vec<Qdisc>,
    pub classes: Vec<Class>,
    pub filters: Vec<Filter>,
    /// How long packets take back from the receiver, in microseconds.
    pub way_back_us: u64,
}

/// A queueing discipline.
#[derive(Clone, Debug)]
pub(super) struct Qdisc {
    /// The class it stands in; `None` at the root.
    pub parent: Option<String>,
    /// Its handle, such as `10:`.
    pub handle: String,
    pub kind: String,
    pub arguments: Vec<String>,
}

/// A class of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// A handle or a class.
    pub parent: String,
    /// Such as `1:11`.
    pub id: String,
    pub arguments: Vec<String>,
}

/// Which packets go to a class.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// The class.
    pub class: String,
    /// What must be so, all of it: keys and values of a scenario's `match`. Without any, all packets.
    pub conditions: Vec<(&'static str, u32)>,
}

impl Commands {
    /// Reads the commands.
    ///
    /// # Errors
    /// The first that is not understood.
    pub(super) fn read(lines: &[String]) -> Result<Self, String> {
        let mut commands = Self::default();
        for line in lines {
            commands.line(line).map_err(|why| format!("`{line}`: {why}"))?;
        }
        if commands.qdiscs.iter().filter(|qdisc| qdisc.parent.is_none()).count() == 1 {
            Ok(commands)
        } else {
            Err("there must be one root discipline".to_owned())
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with("link ") {
            return self.link(line);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["tc", "-n", _, "qdisc", "add", "dev", _, "root", "netem", "delay", delay, ..] => {
                self.way_back_us = super::parameter::micros(delay)?;
                Ok(())
            }
            ["tc", object @ ("qdisc" | "class" | "filter"), "add" | "replace", "dev", _, ref rest @ ..] => {
                match object {
                    "qdisc" => self.qdisc(rest),
                    "class" => self.class(rest),
                    _ => self.filter(rest),
                }
            }
            _ => Err("this command is not understood".to_owned()),
        }
    }

    /// `link sl0: ..., rate 10000000 bit/s of L2 bytes ...`
    fn link(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace().skip_while(|word| *word != "rate").skip(1);
        let rate = words.next().and_then(|word| word.parse().ok()).filter(|rate| *rate > 0);
        if !words.next().is_some_and(|unit| unit.starts_with("bit/s")) {
            return Err("a link has a `rate` in `bit/s`".to_owned());
        }
        self.rate = Some(rate.ok_or_else(|| "the rate is not a number".to_owned())?);
        Ok(())
    }

    fn qdisc(&mut self, words: &[&str]) -> Result<(), String> {
        let mut rest = words;
        let (mut parent, mut handle) = (None, String::new());
        loop {
            match rest {
                ["root", more @ ..] => rest = more,
                ["parent", place, more @ ..] => {
                    parent = Some((*place).to_owned());
                    rest = more;
                }
                ["handle", name, more @ ..] => {
                    (*name).clone_into(&mut handle);
                    rest = more;
                }
                [kind, arguments @ ..] => {
                    let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
                    self.qdiscs.push(Qdisc { parent, handle, kind: (*kind).to_owned(), arguments });
                    return Ok(());
                }
                [] => return Err("a discipline has a kind".to_owned()),
            }
        }
    }

    fn class(&mut self, words: &[&str]) -> Result<(), String> {
        let ["parent", parent, "classid", id, _, arguments @ ..] = words else {
            return Err("a class is written `parent P classid C KIND ...`".to_owned());
        };
        self.classes.push(Class {
            parent: (*parent).to_owned(),
            id: (*id).to_owned(),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        });
        Ok(())
    }

    fn filter(&mut self, words: &[&str]) -> Result<(), String> {
        let mut rest = words;
        let mut conditions = Vec::new();
        loop {
            match rest {
                [
                    "parent" | "protocol" | "prio" | "pref" | "handle" | "ip_proto" | "skip_sw" | "eth_type",
                    _,
                    more @ ..,
                ]
                | ["u32" | "flower" | "matchall", more @ ..]
                | ["match", "u32", "0", "0", more @ ..]
                | ["match", "ip", "protocol", _, "0xff", more @ ..] => rest = more,
                ["match", "ip", "dport", port, "0xffff", more @ ..] | ["dst_port", port, more @ ..] => {
                    conditions.push(("destination_port", number(port)?));
                    rest = more;
                }
                ["match", "ip", "sport", port, "0xffff", more @ ..] | ["src_port", port, more @ ..] => {
                    conditions.push(("source_port", number(port)?));
                    rest = more;
                }
                ["match", "ip", "tos" | "dsfield", value, "0xff" | "0xfc", more @ ..] => {
                    // The two bits of ECN belong to the network.
                    conditions.push(("tos", number(value)? & 0xfc));
                    rest = more;
                }
                ["flowid" | "classid", class, ..] => {
                    self.filters.push(Filter { class: (*class).to_owned(), conditions });
                    return Ok(());
                }
                [word, ..] => return Err(format!("`{word}` of a filter is not understood")),
                [] => return Err("a filter names its class by `flowid`".to_owned()),
            }
        }
    }
}

/// A whole number, also with `0x`.
fn number(text: &str) -> Result<u32, String> {
    let read = text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u32::from_str_radix(digits, 16));
    read.map_err(|_| format!("`{text}` is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Commands, String> {
        Commands::read(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn commands_become_objects() {
        let commands = read(&[
            "link sl0: store-and-forward serialising device, rate 10000000 bit/s of L2 bytes, in front of r1",
            "tc qdisc add dev sl0 root handle 10: drr",
            "tc class add dev sl0 parent 10: classid 10:1 drr quantum 1500",
            "tc qdisc add dev sl0 parent 10:1 handle 21: pfifo limit 50",
            "tc filter add dev sl0 parent 10: protocol ip prio 1 u32 match ip dport 9000 0xffff flowid 10:1",
            "tc -n b qdisc add dev b0 root netem delay 40ms limit 100000",
        ])
        .expect("understood");
        assert_eq!((commands.rate, commands.way_back_us), (Some(10_000_000), 40_000));
        assert_eq!(commands.qdiscs[1].parent.as_deref(), Some("10:1"));
        assert_eq!(commands.classes[0].arguments, ["quantum", "1500"]);
        assert_eq!(commands.filters[0].conditions, [("destination_port", 9000)]);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (line, word) in [
            ("ip link set dev r1 mtu 9000", "not understood"),
            ("tc qdisc add dev r1 root handle 1:", "kind"),
            ("tc filter add dev r1 parent 1: u32 match ip src 10.0.0.1/32 flowid 1:1", "filter"),
            ("link sl0: rate fast", "rate"),
        ] {
            let why = read(&[line]).expect_err(line);
            assert!(why.contains(word) && why.contains(line), "{why}");
        }
        assert!(read(&[]).expect_err("nothing").contains("root"));
    }
}
