//! Parses the commands that set up a kernel into queueing disciplines, classes and filters.

use core::fmt;

use super::filter::Filter;

/// Objects set up by the commands.
#[derive(Clone, Debug, Default)]
pub(super) struct Commands {
    /// Rate of the link device in bits per second; `None` if the device has no limit.
    pub rate: Option<u64>,
    pub qdiscs: Vec<Qdisc>,
    pub classes: Vec<Class>,
    /// Filters, in the order in which a kernel tries them.
    pub filters: Vec<Filter>,
    /// Delay of packets from the receiver back, in microseconds.
    pub way_back_us: u64,
    /// Device of the link, and devices named in `tc` commands.
    link: Option<String>,
    devices: Vec<String>,
}

/// The handle of a discipline (`10:`) or of a class (`10:1`), both parts hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Handle {
    pub major: u16,
    /// 0 for a discipline.
    pub minor: u16,
}

impl Handle {
    /// Parses `10:` or `10:1`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let part = |text: &str| match text.trim_start_matches("0x") {
            "" => Ok(0),
            digits => u16::from_str_radix(digits, 16).map_err(|_| ()),
        };
        let (major, minor) = text.split_once(':').unwrap_or((text, ""));
        match (part(major), part(minor), text.contains(':')) {
            (Ok(major), Ok(minor), true) if major > 0 => Ok(Self { major, minor }),
            _ => Err(format!("`{text}` is no handle such as `1:` or `1:10`")),
        }
    }

    /// Returns the handle of the discipline that a class belongs to.
    pub(super) fn owner(self) -> Self {
        Self { minor: 0, ..self }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            0 => write!(f, "{:x}:", self.major),
            minor => write!(f, "{:x}:{minor:x}", self.major),
        }
    }
}

/// A queueing discipline.
#[derive(Clone, Debug)]
pub(super) struct Qdisc {
    /// Parent: a class, or a discipline without classes; `None` at the root.
    pub parent: Option<Handle>,
    pub handle: Option<Handle>,
    pub kind: String,
    pub arguments: Vec<String>,
}

/// A class of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Parent: a class, or by default the discipline.
    pub parent: Handle,
    pub id: Handle,
    pub kind: String,
    pub arguments: Vec<String>,
}

impl Commands {
    /// Parses the commands.
    ///
    /// # Errors
    /// Returns the first command that is not supported.
    pub(super) fn read(lines: &[String]) -> Result<Self, String> {
        let mut commands = Self::default();
        for line in lines {
            commands.line(line).map_err(|why| format!("`{line}`: {why}"))?;
        }
        commands.check()?;
        commands.order_filters()?;
        Ok(commands)
    }

    /// Checks the tree: an object without a parent, or on another device, would be lost silently.
    fn check(&self) -> Result<(), String> {
        let roots = self.qdiscs.iter().filter(|qdisc| qdisc.parent.is_none()).count();
        if roots != 1 {
            return Err("there must be one root discipline".to_owned());
        }
        if let Some(other) = self.devices.iter().chain(&self.link).find(|other| **other != self.devices[0]) {
            return Err(format!("`{}` and `{other}`: only one device is understood", self.devices[0]));
        }
        let mut seen = Vec::new();
        for handle in self.qdiscs.iter().filter_map(|qdisc| qdisc.handle) {
            if handle.minor != 0 || seen.contains(&handle) {
                return Err(format!("the handle `{handle}` is no discipline's own"));
            }
            seen.push(handle);
        }
        let kind = |handle: Handle| {
            self.qdiscs.iter().find(|qdisc| qdisc.handle == Some(handle)).map(|qdisc| qdisc.kind.as_str())
        };
        let none = |what: &str, place: Handle| format!("{what} stands in `{place}`, which is not there");
        for class in &self.classes {
            if seen.contains(&class.id) || class.id.minor == 0 || class.id.major != class.parent.major {
                return Err(format!("the class `{}` has no number of its own", class.id));
            }
            seen.push(class.id);
            if kind(class.id.owner()) != Some(class.kind.as_str()) {
                return Err(format!("`{}` is no discipline of kind `{}`", class.id.owner(), class.kind));
            }
            if class.parent.minor != 0 && !self.classes.iter().any(|other| other.id == class.parent) {
                return Err(none(&format!("the class `{}`", class.id), class.parent));
            }
        }
        for qdisc in &self.qdiscs {
            let has_classes = |place: Handle| {
                kind(place.owner()).is_some_and(|kind| ["htb", "hfsc", "cbq", "drr", "qfq"].contains(&kind))
            };
            let is_class = |place: Handle| self.classes.iter().any(|class| class.id == place);
            let place = qdisc
                .parent
                .filter(|place| kind(place.owner()).is_none() || (has_classes(*place) && !is_class(*place)));
            if let Some(place) = place {
                return Err(none(&format!("a `{}`", qdisc.kind), place));
            }
            let twice = |other: &&Qdisc| other.parent == qdisc.parent;
            if self.qdiscs.iter().filter(twice).count() > 1 {
                let place = qdisc.parent.map_or_else(|| "the root".to_owned(), |place| format!("`{place}`"));
                return Err(format!("two disciplines stand in {place}"));
            }
        }
        Ok(())
    }

    /// Sorts filters by preference. A filter without one gets the smallest so far minus one, starting at
    /// 49152.
    fn order_filters(&mut self) -> Result<(), String> {
        let mut ranked: Vec<(Handle, u32, Filter)> = Vec::new();
        for mut filter in core::mem::take(&mut self.filters) {
            let least =
                ranked.iter().filter(|(at, _, _)| *at == filter.parent).map(|(_, rank, _)| *rank).min();
            let rank =
                filter.preference.unwrap_or_else(|| least.map_or(49_152, |least| least.saturating_sub(1)));
            filter.preference = Some(rank);
            ranked.push((filter.parent, rank, filter));
        }
        ranked.sort_by_key(|(_, rank, _)| *rank);
        self.filters = ranked.into_iter().map(|(_, _, filter)| filter).collect();
        for filter in &self.filters {
            if !self.qdiscs.iter().any(|qdisc| qdisc.handle == Some(filter.parent)) {
                return Err(format!("a filter stands in `{}`, which is no discipline", filter.parent));
            }
            if filter.class.owner() != filter.parent || filter.class.minor == 0 {
                return Err(format!("the filter's `{}` is no class of `{}`", filter.class, filter.parent));
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with("link ") {
            return self.link(line);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["tc", "-n", host, "qdisc", "add", "dev", _, "root", "netem", ref rest @ ..] => {
                self.netem(host, rest)
            }
            ["tc", object @ ("qdisc" | "filter"), "add" | "replace", "dev", device, ref rest @ ..]
            | ["tc", object @ "class", "add" | "replace" | "change", "dev", device, ref rest @ ..] => {
                self.devices.push(device.to_owned());
                match object {
                    "qdisc" => self.qdisc(rest),
                    "class" => self.class(rest, words[2] == "change"),
                    _ => Filter::read(rest).map(|filter| self.filters.push(filter)),
                }
            }
            _ => Err("this command is not understood".to_owned()),
        }
    }

    /// Reads the delay of the receiver's device, which delays packets on the way back.
    fn netem(&mut self, host: &str, mut words: &[&str]) -> Result<(), String> {
        if host != "b" {
            return Err(format!("`netem` of the receiver `b` is understood, not that of `{host}`"));
        }
        while let [word, value, rest @ ..] = words {
            match *word {
                "delay" => self.way_back_us = super::parameter::micros(value)?,
                // The limit must exceed the packets in flight: a shorter queue would lose packets.
                "limit" if value.parse::<u32>().is_ok_and(|limit| limit >= 10_000) => {}
                _ => return Err(format!("`{word} {value}` of `netem` is not understood")),
            }
            words = rest;
        }
        words.first().map_or(Ok(()), |word| Err(format!("`{word}` of `netem` is not understood")))
    }

    /// Reads `link sl0: ..., rate 10000000 bit/s of L2 bytes ...`
    fn link(&mut self, line: &str) -> Result<(), String> {
        if self.rate.is_some() {
            return Err("there is a link already".to_owned());
        }
        let name = line.split_whitespace().nth(1).unwrap_or_default();
        self.link = Some(name.trim_end_matches(':').to_owned());
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
        let (mut parent, mut handle) = (None, None);
        loop {
            match rest {
                ["root", more @ ..] => rest = more,
                ["parent", place, more @ ..] => {
                    parent = Some(Handle::read(place)?);
                    rest = more;
                }
                ["handle", name, more @ ..] => {
                    handle = Some(Handle::read(name)?);
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

    fn class(&mut self, words: &[&str], is_change: bool) -> Result<(), String> {
        let mut rest = words;
        let (mut parent, mut id) = (None, None);
        while let [key @ ("parent" | "classid"), value, more @ ..] = rest {
            let place = if *key == "parent" { &mut parent } else { &mut id };
            *place = Some(Handle::read(value)?);
            rest = more;
        }
        let ([kind, arguments @ ..], Some(id)) = (rest, id) else {
            return Err("a class is written `parent P classid C KIND ...`".to_owned());
        };
        // The bands of `ets` exist from the start: commands only change them.
        if is_change && *kind != "ets" {
            return Err("a class that is changed later is not understood".to_owned());
        }
        self.classes.push(Class {
            parent: parent.unwrap_or(id.owner()),
            id,
            kind: (*kind).to_owned(),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Commands, String> {
        Commands::read(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    const DRR: [&str; 3] = [
        "tc qdisc add dev sl0 root handle 10: drr",
        "tc class add dev sl0 parent 10: classid 10:1 drr quantum 1500",
        "tc qdisc add dev sl0 parent 10:1 handle 21: pfifo limit 50",
    ];

    #[test]
    fn commands_become_objects() {
        let more = [
            "link sl0: store-and-forward serialising device, rate 10000000 bit/s of L2 bytes, in front of r1",
            "tc filter add dev sl0 parent 10: protocol ip prio 1 u32 match ip dport 9000 0xffff flowid 10:1",
            "tc -n b qdisc add dev b0 root netem delay 40ms limit 100000",
        ];
        let commands = read(&[&DRR[..], &more[..]].concat()).expect("understood");
        assert_eq!((commands.rate, commands.way_back_us), (Some(10_000_000), 40_000));
        assert_eq!(commands.qdiscs[1].parent, Some(Handle { major: 0x10, minor: 1 }));
        assert_eq!(commands.classes[0].arguments, ["quantum", "1500"]);
        assert_eq!(commands.filters[0].conditions.toml(), "{ destination_port = 9000 }");
    }

    #[test]
    fn filters_are_tried_by_preference() {
        let filter =
            |words: &str| format!("tc filter add dev sl0 parent 10: protocol ip {words} flowid 10:1");
        let filters = [
            filter("u32 match ip dport 1 0xffff"),
            filter("u32 match ip dport 2 0xffff"),
            filter("prio 7 u32 match ip dport 3 0xffff"),
            filter("pref 5 u32 match ip dport 4 0xffff"),
        ];
        let lines: Vec<&str> = DRR.into_iter().chain(filters.iter().map(String::as_str)).collect();
        let commands = read(&lines).expect("understood");
        let ranks: Vec<_> = commands.filters.iter().map(|filter| filter.preference).collect();
        assert_eq!(ranks, [Some(5), Some(7), Some(49_151), Some(49_152)]);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (line, word) in [
            ("ip link set dev r1 mtu 9000", "not understood"),
            ("tc qdisc add dev sl0 parent 10:2 handle 10: pfifo", "handle"),
            ("tc qdisc add dev sl0 parent 30:2 handle 31: pfifo", "`30:2`, which is not there"),
            ("tc qdisc add dev sl0 parent 10:1 handle 31: pfifo", "two disciplines"),
            ("tc qdisc add dev sl0 parent 10:2", "kind"),
            ("tc qdisc add dev r1 parent 10:2 pfifo", "only one device"),
            ("tc class add dev sl0 parent 10:7 classid 10:8 drr quantum 1", "`10:7`, which is not there"),
            ("tc class add dev sl0 parent 10: classid 10:2 htb rate 1mbit", "no discipline of kind `htb`"),
            ("tc class add dev sl0 parent 10: classid 10:1 drr quantum 1", "number of its own"),
            ("tc class change dev sl0 classid 10:1 drr quantum 1", "changed later"),
            ("tc filter add dev sl0 parent 20: matchall flowid 20:1", "no discipline"),
            ("tc filter add dev sl0 parent 10: matchall flowid 20:1", "no class of `10:`"),
            ("tc -n b qdisc add dev b0 root netem delay 40ms 10ms", "`10ms` of `netem`"),
            ("tc -n b qdisc add dev b0 root netem delay 40ms loss 1%", "`loss 1%` of `netem`"),
            ("tc -n b qdisc add dev b0 root netem delay 40ms limit 100", "`limit 100` of `netem`"),
            ("tc -n a qdisc add dev a0 root netem delay 40ms", "not that of `a`"),
            ("link sl0: rate fast", "rate"),
            ("link sl1: rate 10 bit/s", "only one device"),
        ] {
            let why = read(&[&DRR[..], &[line]].concat()).expect_err(line);
            assert!(why.contains(word), "{line}: {why}");
        }
        assert!(read(&[]).expect_err("nothing").contains("root"));
    }
}
