//! `OpenWrt`'s `/etc/config/sqm`: sections that stand for the commands of sqm-scripts, a shaper each way.

use std::collections::BTreeMap;

use crate::position::{Located, Position};
use crate::problem::Problem;
use crate::script::Skipped;

/// Commands of a configuration.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub commands: Vec<Vec<Located<String>>>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
}

/// Returns true if a text has the form of a configuration of SQM.
pub(crate) fn is_config(text: &str) -> bool {
    text.lines().any(|line| line.split_whitespace().take(2).eq(["config", "queue"]))
}

/// A section `config queue`.
struct Section {
    at: Position,
    options: BTreeMap<String, Located<String>>,
}

/// Scripts of sqm-scripts that are understood.
const SCRIPTS: [&str; 5] =
    ["piece_of_cake.qos", "layer_cake.qos", "simplest.qos", "simplest_tbf.qos", "simple.qos"];

/// Reads a configuration.
pub(crate) fn commands(text: &str) -> Config {
    let mut config = Config::default();
    for section in sections(text) {
        let text = |name: &str| section.options.get(name).map_or("", |value| value.value.as_str());
        if text("enabled") == "0" {
            let what = format!("config queue of `{}`", text("interface"));
            config.skipped.push(Skipped { at: section.at, what, why: "it is not enabled" });
            continue;
        }
        match section.commands() {
            Ok(lines) => {
                let words = |line: String| -> Vec<Located<String>> {
                    line.split_whitespace().map(|word| Located::new(word.to_owned(), section.at)).collect()
                };
                config.commands.extend(lines.into_iter().map(words));
            }
            Err(problem) => config.problems.push(problem),
        }
    }
    config
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let trimmed = line.trim_start();
        let column = u32::try_from(line.chars().count() - trimmed.chars().count() + 1).unwrap_or(1);
        let mut words = trimmed.splitn(3, char::is_whitespace);
        let (first, name, value) = (words.next(), words.next(), words.next());
        match (first, name, sections.last_mut()) {
            (Some("config"), ..) => {
                sections.push(Section { at: Position { line: number, column }, options: BTreeMap::new() });
            }
            (Some("option"), Some(name), Some(section)) => {
                let value = value.unwrap_or_default().trim().trim_matches(['\'', '"']).to_owned();
                let at = Position { line: number, column };
                section.options.insert(name.trim_matches(['\'', '"']).to_owned(), Located::new(value, at));
            }
            _ => {}
        }
    }
    sections
}

impl Section {
    fn text(&self, name: &str) -> &str {
        self.options.get(name).map_or("", |value| value.value.as_str())
    }

    fn at(&self, name: &str) -> Position {
        self.options.get(name).map_or(self.at, |value| value.at)
    }

    /// Returns the rate of a direction in kbit/s; `None` for no shaper.
    fn rate(&self, name: &str) -> Result<Option<u64>, Problem> {
        match self.text(name) {
            "" | "0" => Ok(None),
            text => {
                let message = format!("`{name} {text}` is no whole number of kbit/s");
                text.parse().map(Some).map_err(|_| Problem::new(self.at(name), message))
            }
        }
    }

    /// Returns the words of `stab`; empty without framing.
    fn stab(&self) -> Result<String, Problem> {
        let layer = match self.text("linklayer") {
            "" | "none" => return Ok(String::new()),
            layer @ ("ethernet" | "atm" | "adsl") => layer,
            other => {
                let message = format!("`linklayer {other}` is not understood");
                return Err(Problem::new(self.at("linklayer"), message)
                    .help("there are `none`, `ethernet` and `atm`"));
            }
        };
        let number = |name: &str| {
            let text = self.text(name);
            let value = if text.is_empty() { Ok(0) } else { text.parse::<i32>() };
            value.map_err(|_| Problem::new(self.at(name), format!("`{name} {text}` is no whole number")))
        };
        let (overhead, mpu) = (number("overhead")?, number("tcMPU")?);
        Ok(format!("stab mpu {mpu} overhead {overhead} linklayer {layer} "))
    }

    /// Returns the words of `cake` for framing.
    fn cake_framing(&self) -> Result<String, Problem> {
        let stab = self.stab()?;
        let words: Vec<&str> = stab.split_whitespace().collect();
        let ["stab", "mpu", mpu, "overhead", overhead, "linklayer", layer] = words.as_slice() else {
            return Ok(String::new());
        };
        let framing = if *layer == "ethernet" { "noatm" } else { "atm" };
        Ok(format!("{framing} overhead {overhead} mpu {mpu}"))
    }

    fn commands(&self) -> Result<Vec<String>, Problem> {
        let script = self.text("script");
        if !SCRIPTS.contains(&script) {
            let message = format!("`script {script}` is not understood");
            let help = format!("there are `{}`", SCRIPTS.join("`, `"));
            return Err(Problem::new(self.at("script"), message).help(help));
        }
        let interface = self.text("interface");
        if interface.is_empty() {
            return Err(Problem::new(self.at, "the section has no `interface`"));
        }
        let (down, up) = (self.rate("download")?, self.rate("upload")?);
        let mut lines = Vec::new();
        if let Some(up) = up {
            self.direction(script, interface, up, true, &mut lines)?;
        }
        if let Some(down) = down {
            let ifb = format!("ifb4{interface}");
            lines.push(format!("qdisc add dev {interface} handle ffff: ingress"));
            lines.push(format!(
                "filter add dev {interface} parent ffff: protocol all prio 10 matchall action mirred egress redirect dev {ifb}"
            ));
            self.direction(script, &ifb, down, false, &mut lines)?;
        }
        Ok(lines)
    }

    /// Adds the commands of one direction.
    fn direction(
        &self,
        script: &str,
        device: &str,
        rate: u64,
        is_up: bool,
        lines: &mut Vec<String>,
    ) -> Result<(), Problem> {
        let ecn = self.text(if is_up { "egress_ecn" } else { "ingress_ecn" });
        let ecn = if ecn.eq_ignore_ascii_case("ECN") || ecn.is_empty() && !is_up { "ecn" } else { "noecn" };
        let leaf = match self.text("qdisc") {
            "" | "cake" => "fq_codel",
            other => other,
        };
        let leaf_settings = match leaf {
            "fq_codel" => format!(" limit 1001 flows 1024 {ecn}"),
            "codel" => format!(" {ecn}"),
            _ => String::new(),
        };
        let add = "qdisc add dev";
        match script {
            "piece_of_cake.qos" | "layer_cake.qos" => {
                let tins = match (script, is_up) {
                    ("layer_cake.qos", _) => "diffserv3",
                    _ => "besteffort",
                };
                let side = if is_up { "" } else { " ingress wash" };
                let more = self.text(if is_up { "eqdisc_opts" } else { "iqdisc_opts" });
                lines.push(format!(
                    "{add} {device} root handle 1: cake bandwidth {rate}kbit {tins}{side} {} {more}",
                    self.cake_framing()?
                ));
            }
            "simplest_tbf.qos" => {
                let burst = (rate * 1000 / 8 / 1000).max(1600);
                lines.push(format!(
                    "{add} {device} root handle 1: {}tbf rate {rate}kbit burst {burst} latency 300ms",
                    self.stab()?
                ));
                lines.push(format!("{add} {device} parent 1: handle 110: {leaf}{leaf_settings}"));
            }
            "simplest.qos" => {
                lines.push(format!("{add} {device} root handle 1: {}htb default 10", self.stab()?));
                lines.push(format!(
                    "class add dev {device} parent 1: classid 1:1 htb rate {rate}kbit ceil {rate}kbit"
                ));
                lines.push(format!("class add dev {device} parent 1:1 classid 1:10 htb rate {rate}kbit ceil {rate}kbit prio 0"));
                lines.push(format!("{add} {device} parent 1:10 handle 110: {leaf}{leaf_settings}"));
            }
            _ => self.simple(device, rate, leaf, &leaf_settings, lines)?,
        }
        Ok(())
    }

    /// Adds the three tiers of `simple.qos`: marks 1 to 3 select them.
    fn simple(
        &self,
        device: &str,
        rate: u64,
        leaf: &str,
        leaf_settings: &str,
        lines: &mut Vec<String>,
    ) -> Result<(), Problem> {
        let class = "class add dev";
        lines.push(format!("qdisc add dev {device} root handle 1: {}htb default 12", self.stab()?));
        lines.push(format!(
            "{class} {device} parent 1: classid 1:1 htb quantum 1500 rate {rate}kbit ceil {rate}kbit"
        ));
        let (priority, ceil) = ((rate / 3).max(1), rate.saturating_sub(16).max(1));
        let share = (rate / 6).max(1);
        lines.push(format!("{class} {device} parent 1:1 classid 1:11 htb quantum 1500 rate {}kbit ceil {priority}kbit prio 1", priority.min(128)));
        for minor in [12, 13] {
            lines.push(format!("{class} {device} parent 1:1 classid 1:{minor} htb quantum 1500 rate {share}kbit ceil {ceil}kbit prio {}", minor - 10));
        }
        for minor in [11, 12, 13] {
            lines.push(format!(
                "qdisc add dev {device} parent 1:{minor} handle {minor}0: {leaf}{leaf_settings}"
            ));
        }
        for mark in 1..=3 {
            lines.push(format!("filter add dev {device} parent 1: protocol ip prio {mark} handle {mark}/0xff fw classid 1:1{mark}"));
        }
        Ok(())
    }
}
