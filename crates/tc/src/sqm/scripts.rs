//! The commands that the scripts of sqm-scripts run for a section.
//!
//! Rates are kbit/s. What a script does with `tc` is written here as `tc` commands, whose words have the
//! positions of the options that they come from; the import then reads them like those of any script.

use super::config::Section;
use crate::position::{Located, Position};
use crate::problem::Problem;
use crate::script::Skipped;

/// Scripts that are understood.
const SCRIPTS: [&str; 5] =
    ["piece_of_cake.qos", "layer_cake.qos", "simplest.qos", "simplest_tbf.qos", "simple.qos"];

/// Options of the rates, up and down, and what sqm-scripts set without them.
const RATES: [(&str, u64); 2] = [("upload", 2302), ("download", 14_698)];

/// Largest packet of a device in bytes, which sizes of queues are computed from.
const MTU: u64 = 1500;

/// Packets of a queue without `ilimit` or `elimit`.
const LIMIT: u64 = 1001;

/// Least bytes of a burst or turn: a full packet and 48 bytes more, in cells of ATM.
const LEAST_BURST: u64 = (MTU + 48).div_ceil(48) * 53;

/// Target and interval of `codel` on a fast line, in microseconds.
const TARGET: u64 = 5000;
const INTERVAL: u64 = 100_000;

/// Bits of the longest packet of a slow line, 33 cells of ATM.
const SLOW_PACKET: u64 = 33 * 53 * 8;

/// Classes of packets by TOS byte on the way in.
const CODES_IN: [(u8, u16); 7] =
    [(0x00, 12), (0x20, 13), (0x10, 11), (0xb8, 11), (0xc0, 11), (0xe0, 11), (0x90, 11)];

/// Classes of packets by TOS byte on the way out: the firewall's marks of CS1, CS6, EF, AF42 and low delay.
const CODES_OUT: [(u8, u16); 5] = [(0x20, 13), (0xc0, 11), (0xb8, 11), (0x90, 11), (0x10, 11)];

const FIREWALL: &str = "it gives packets their marks by code point; filters by code point stand for it";
const MARKED_IN_ANY_CASE: &str = "`cake` marks instead of drops in any case, if packets can be marked";
const LIMITED_BY_MEMORY: &str = "the script sets no limit of `cake`";
const BY_ROUND_TRIP: &str = "the script sets no target of `cake`: `rtt` in its options does";
const BEHIND: &str = "the firewall clears code points behind the queue";
const ONE_TIER: &str = "the script has one tier in any case";
const NO_LINK_LAYER: &str = "`linklayer` is `none`";
const UNSHAPED: &str = "nothing is shaped in this direction";
const EXACT: &str = "sizes are exact here, without a table";
const IS_CAKE: &str = "the script sets up `cake` in any case";

type Line = Vec<Located<String>>;

/// Adds words to a line.
fn say(line: &mut Line, at: Position, text: &str) {
    line.extend(text.split_whitespace().map(|word| Located::new(word.to_owned(), at)));
}

/// Framing of the line, as the scripts give it to `stab`, `cake` or the classes of `htb`.
#[derive(Default)]
struct Framing {
    stab: Line,
    cake: Line,
    classes: Line,
}

/// One direction of a section.
struct Direction {
    device: String,
    rate: Located<u64>,
    is_up: bool,
    /// Words for the discipline, from `eqdisc_opts` or `iqdisc_opts`.
    options: Line,
    /// Packets of a queue that is no `cake`.
    limit: Option<Located<String>>,
    target: Option<Located<String>>,
    ecn: Option<Located<String>>,
}

struct Script<'a> {
    section: &'a mut Section,
    name: String,
    /// Discipline of the queues.
    qdisc: Located<String>,
    framing: Framing,
    /// True if squash options make one tier of what arrives.
    ignores_codes: bool,
    clears_codes: bool,
    lines: Vec<Line>,
}

/// Returns the commands of a section.
pub(super) fn lines(section: &mut Section) -> Result<Vec<Line>, Problem> {
    let at = section.at;
    let script = section.take("script").unwrap_or(Located::new(String::new(), at));
    let interface = section.take("interface");
    let name = script.value.clone();
    if !SCRIPTS.contains(&name.as_str()) {
        let message = format!("`script {name}` is not understood");
        let help = format!("there are `{}`", SCRIPTS.join("`, `"));
        return Err(Problem::new(script.at, message).help(help));
    }
    let interface = interface.ok_or_else(|| Problem::new(at, "the section has no `interface`"))?;
    let qdisc = qdisc(section, &name);
    let framing = framing(section, qdisc.as_str())?;
    let mut is_on = |name: &str| section.take(name).is_none_or(|value| value.value == "1");
    let (ignores_codes, clears_codes) = (is_on("squash_ingress"), is_on("squash_dscp"));
    let mut script = Script { section, name, qdisc, framing, ignores_codes, clears_codes, lines: Vec::new() };
    for is_up in [true, false] {
        let Some(direction) = script.direction(&interface, is_up)? else { continue };
        if !is_up {
            script.redirect(&interface, &direction.device);
        }
        script.shape(&direction);
    }
    script.name_squash();
    Ok(script.lines)
}

/// Returns the discipline of the queues.
fn qdisc(section: &mut Section, script: &str) -> Located<String> {
    let given = section.take("qdisc");
    let is_cake = ["piece_of_cake.qos", "layer_cake.qos"].contains(&script);
    let at = given.as_ref().map_or(section.at, |given| given.at);
    let Some(given) = given.filter(|_| !is_cake) else {
        if is_cake {
            let is_other = section.take("qdisc").is_some_and(|given| given.value != "cake");
            if is_other {
                section.leave_out("qdisc", IS_CAKE);
            }
        }
        return Located::new(if is_cake { "cake" } else { "fq_codel" }.to_owned(), at);
    };
    if script == "simplest_tbf.qos" && given.starts_with("cake") {
        section.leave_out("qdisc", "the script has `fq_codel` in its place");
        return Located::new("fq_codel".to_owned(), at);
    }
    given
}

/// Returns a whole number of an option, 0 if it is absent.
fn number(section: &mut Section, name: &str) -> Result<Located<i64>, Problem> {
    let Some(text) = section.take(name) else { return Ok(Located::new(0, section.at)) };
    match text.parse() {
        Ok(number) => Ok(Located::new(number, text.at)),
        Err(_) => Err(Problem::new(text.at, format!("`{name} {}` is no whole number", text.value))),
    }
}

/// Returns the framing of the line for a discipline.
fn framing(section: &mut Section, qdisc: &str) -> Result<Framing, Problem> {
    let layer = section.take("linklayer").filter(|layer| layer.value != "none");
    let table = ["tcMTU", "tcTSIZE"];
    let Some(layer) = layer else {
        for name in ["overhead", "tcMPU", "linklayer_adaptation_mechanism"].iter().chain(&table) {
            section.leave_out(name, NO_LINK_LAYER);
        }
        return Ok(Framing::default());
    };
    let (overhead, mpu) = (number(section, "overhead")?, number(section, "tcMPU")?);
    let mechanism = section.take("linklayer_adaptation_mechanism");
    let default = if qdisc == "cake" { "cake" } else { "tc_stab" };
    let wanted = mechanism.as_ref().map_or(default, |name| name.value.as_str());
    let wanted = if wanted == "default" { default } else { wanted };
    let words = |line: &mut Line| {
        say(line, mpu.at, &format!("mpu {}", mpu.value));
        say(line, overhead.at, &format!("overhead {}", overhead.value));
    };
    let is_of_tc = ["ethernet", "atm", "adsl"].contains(&layer.as_str());
    let mut framing = Framing::default();
    match wanted {
        "cake" if qdisc == "cake" => {
            if layer.value == "atm" {
                say(&mut framing.cake, layer.at, "atm");
            }
            words(&mut framing.cake);
        }
        "tc_stab" | "htb_private" if !is_of_tc => {
            let message = format!("`linklayer {}` is not understood", layer.value);
            let help = "there are `none`, `ethernet`, `atm` and `adsl`";
            return Err(Problem::new(layer.at, message).help(help));
        }
        "tc_stab" => {
            say(&mut framing.stab, layer.at, &format!("stab linklayer {}", layer.value));
            words(&mut framing.stab);
        }
        "htb_private" if qdisc != "cake" => {
            say(&mut framing.classes, layer.at, &format!("linklayer {}", layer.value));
            words(&mut framing.classes);
        }
        _ => {
            let why = "the scripts adapt nothing by it for this discipline";
            for name in ["linklayer_adaptation_mechanism", "linklayer", "overhead", "tcMPU"] {
                section.leave_out(name, why);
            }
        }
    }
    for name in table {
        section.leave_out(name, EXACT);
    }
    Ok(framing)
}

impl Script<'_> {
    fn is_cake(&self) -> bool {
        self.qdisc.value == "cake"
    }

    /// Reads the options of a direction; `None` if it is not shaped.
    fn direction(&mut self, interface: &str, is_up: bool) -> Result<Option<Direction>, Problem> {
        let (rate_name, default) = RATES[usize::from(!is_up)];
        let [options, limit, target, ecn] = if is_up {
            ["eqdisc_opts", "elimit", "etarget", "egress_ecn"]
        } else {
            ["iqdisc_opts", "ilimit", "itarget", "ingress_ecn"]
        };
        let rate = if let Some(text) = self.section.take(rate_name) {
            let message = format!("`{rate_name} {}` is no whole number of kbit/s", text.value);
            let rate = text.parse().map_err(|_| Problem::new(text.at, message))?;
            Located::new(rate, text.at)
        } else {
            let why = "it is not given, and sqm-scripts have a rate for that case";
            let what = format!("{rate_name} '{default}'");
            self.section.notes.push(Skipped { at: self.section.at, what, why });
            Located::new(default, self.section.at)
        };
        if rate.value == 0 {
            for name in [options, limit, target, ecn] {
                self.section.leave_out(name, UNSHAPED);
            }
            return Ok(None);
        }
        let mut words = Line::new();
        if let Some(text) = self.section.take(options) {
            say(&mut words, text.at, &text.value);
        }
        let device = if is_up {
            interface.to_owned()
        } else {
            // A device's name has at most 15 letters.
            format!("ifb4{interface}").chars().take(15).collect()
        };
        let mut own = [None, None, None];
        if self.is_cake() {
            for (name, why) in
                [(limit, LIMITED_BY_MEMORY), (target, BY_ROUND_TRIP), (ecn, MARKED_IN_ANY_CASE)]
            {
                self.section.leave_out(name, why);
            }
        } else {
            own = [limit, target, ecn].map(|name| self.section.take(name));
            self.name_unfit([limit, target, ecn]);
        }
        let [limit, target, ecn] = own;
        Ok(Some(Direction { device, rate, is_up, options: words, limit, target, ecn }))
    }

    /// Names options that the discipline of the queues does not have.
    fn name_unfit(&mut self, [_, target, ecn]: [&str; 3]) {
        let has_delay = self.qdisc.ends_with("codel") || self.qdisc.ends_with("pie");
        if !has_delay {
            self.section.leave_out(target, "the discipline has no target of delay");
            if !self.qdisc.ends_with("red") {
                self.section.leave_out(ecn, "the discipline marks nothing");
            }
        }
    }

    /// Names squash options that the script does not use.
    fn name_squash(&mut self) {
        let is_cake = self.is_cake();
        match self.name.as_str() {
            "layer_cake.qos" => {}
            "piece_of_cake.qos" => self.section.leave_out("squash_ingress", ONE_TIER),
            "simple.qos" => {
                self.section.leave_out("squash_dscp", BEHIND);
                if !is_cake {
                    let what = "the firewall of `simple.qos`".to_owned();
                    self.section.notes.push(Skipped { at: self.section.at, what, why: FIREWALL });
                }
            }
            _ => {
                self.section.leave_out("squash_dscp", "the script leaves code points as they are");
                self.section.leave_out("squash_ingress", ONE_TIER);
            }
        }
    }

    /// Adds a command.
    fn run(&mut self, parts: &[(Position, &str)]) {
        let mut line = Line::new();
        for (at, text) in parts {
            say(&mut line, *at, text);
        }
        self.lines.push(line);
    }

    /// Sends what arrives to a device with queues.
    fn redirect(&mut self, interface: &Located<String>, ifb: &str) {
        let (at, dev) = (interface.at, &interface.value);
        self.run(&[(at, &format!("qdisc add dev {dev} handle ffff: ingress"))]);
        self.run(&[(
            at,
            &format!(
                "filter add dev {dev} parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev {ifb}"
            ),
        )]);
    }

    /// Adds the commands of a direction.
    fn shape(&mut self, direction: &Direction) {
        match (self.name.as_str(), self.is_cake()) {
            (_, true) => self.cake(direction),
            ("simplest_tbf.qos", _) => self.bucket(direction),
            ("simple.qos", _) if direction.is_up || !self.ignores_codes => self.tiers(direction),
            _ => self.one_tier(direction),
        }
    }

    fn cake(&mut self, direction: &Direction) {
        let (at, rate) = (self.section.at, direction.rate.value);
        let is_back = !direction.is_up;
        let is_one = is_back && self.ignores_codes;
        let is_washed = is_back && self.clears_codes;
        let own: &[(&str, bool)] = match self.name.as_str() {
            "piece_of_cake.qos" => &[("besteffort", true), ("nat", true), ("wash", is_washed)],
            "layer_cake.qos" => {
                &[("diffserv3", !is_one), ("besteffort", is_one), ("nat", true), ("wash", is_washed)]
            }
            "simplest.qos" => &[("besteffort", true)],
            _ => &[("besteffort", is_one)],
        };
        let mut line = Line::new();
        say(&mut line, at, &format!("qdisc add dev {} root", direction.device));
        line.extend(self.framing.stab.iter().cloned());
        say(&mut line, self.qdisc.at, "cake");
        say(&mut line, direction.rate.at, &format!("bandwidth {rate}kbit"));
        line.extend(self.framing.cake.iter().cloned());
        for (word, _) in own.iter().filter(|(_, is_set)| *is_set) {
            say(&mut line, at, word);
        }
        line.extend(direction.options.iter().cloned());
        self.lines.push(line);
    }

    /// Adds the root of a direction: the handle 1:, and the framing of the line.
    fn root(&mut self, direction: &Direction, words: &str) {
        let at = self.section.at;
        let mut line = Line::new();
        say(&mut line, at, &format!("qdisc add dev {} root handle 1:", direction.device));
        line.extend(self.framing.stab.iter().cloned());
        say(&mut line, direction.rate.at, words);
        if words.starts_with("tbf") {
            line.extend(self.framing.classes.iter().cloned());
        }
        self.lines.push(line);
    }

    fn bucket(&mut self, direction: &Direction) {
        let rate = direction.rate.value;
        self.root(direction, &format!("tbf rate {rate}kbit burst {} latency 300ms", burst(rate)));
        self.leaf(direction, "1:", 110, None);
    }

    /// Adds a class of `htb`.
    fn class(&mut self, direction: &Direction, parent: &str, minor: u16, words: &str) {
        let mut line = Line::new();
        let quantum = burst(direction.rate.value);
        let text = format!(
            "class add dev {} parent {parent} classid 1:{minor} htb quantum {quantum} {words}",
            direction.device
        );
        say(&mut line, direction.rate.at, &text);
        line.extend(self.framing.classes.iter().cloned());
        self.lines.push(line);
    }

    fn one_tier(&mut self, direction: &Direction) {
        let rate = direction.rate.value;
        let whole = format!("rate {rate}kbit ceil {rate}kbit burst {0} cburst {0}", burst(rate));
        self.root(direction, "htb default 10");
        self.class(direction, "1:", 1, &whole);
        self.class(direction, "1:1", 10, &format!("{whole} prio 0"));
        self.leaf(direction, "1:10", 110, None);
    }

    /// Adds three tiers: 1:11 for what is urgent, 1:12 for the rest, 1:13 for what may wait.
    fn tiers(&mut self, direction: &Direction) {
        let rate = direction.rate.value;
        let bursts = format!("burst {0} cburst {0}", burst(rate));
        self.root(direction, "htb default 12");
        self.class(direction, "1:", 1, &format!("rate {rate}kbit ceil {rate}kbit {bursts}"));
        let (urgent, quanta) = if direction.is_up { (128, [300, 300, 300]) } else { (32, [500, 1500, 300]) };
        self.class(direction, "1:1", 11, &format!("rate {urgent}kbit ceil {}kbit prio 1", rate / 3));
        let (share, ceil) = (rate / 6, rate.saturating_sub(16));
        for minor in [12, 13] {
            let prio = minor - 10;
            let words = format!("rate {share}kbit ceil {ceil}kbit {bursts} prio {prio}");
            self.class(direction, "1:1", minor, &words);
        }
        for (minor, quantum) in [11, 12, 13].into_iter().zip(quanta) {
            self.leaf(direction, &format!("1:{minor}"), minor * 10, Some(quantum));
        }
        let (at, dev) = (self.section.at, &direction.device);
        let add = format!("filter add dev {dev} parent 1: protocol");
        let marks = if direction.is_up { 3 } else { 0 };
        for mark in 1..=marks {
            self.run(&[(at, &format!("{add} ip prio {mark} handle {mark}/0xff fw classid 1:1{mark}"))]);
        }
        let codes: &[(u8, u16)] = if direction.is_up { &CODES_OUT } else { &CODES_IN };
        for (rank, (tos, minor)) in (marks + 1..).zip(codes) {
            let words = format!("{add} ip prio {rank} u32 match ip tos {tos:#04x} 0xfc classid 1:{minor}");
            self.run(&[(at, &words)]);
        }
        self.run(&[(at, &format!("{add} all prio 999 u32 match ip protocol 0 0x00 flowid 1:12"))]);
    }

    /// Adds the discipline of a queue.
    fn leaf(&mut self, direction: &Direction, parent: &str, handle: u16, quantum: Option<u32>) {
        let at = self.section.at;
        let name = self.qdisc.value.clone();
        let mut line = Line::new();
        say(&mut line, at, &format!("qdisc add dev {} parent {parent} handle {handle}:", direction.device));
        say(&mut line, self.qdisc.at, &name);
        let has_delay = name.ends_with("codel") || name.ends_with("pie");
        let default = match name.as_str() {
            "bfifo" => Some(LIMIT * MTU),
            "pfifo_fast" | "sfq" | "pfifo" => Some(LIMIT),
            _ => has_delay.then_some(LIMIT),
        };
        match (&direction.limit, default) {
            (Some(limit), _) => say(&mut line, limit.at, &format!("limit {}", limit.value)),
            (None, Some(limit)) => say(&mut line, at, &format!("limit {limit}")),
            (None, None) => {}
        }
        if has_delay {
            self.target(direction, &mut line);
        }
        if has_delay || name.ends_with("red") {
            match &direction.ecn {
                Some(ecn) if ecn.value == "NOECN" => say(&mut line, ecn.at, "noecn"),
                Some(ecn) if ecn.value != "ECN" => say(&mut line, ecn.at, &ecn.value),
                other => say(&mut line, other.as_ref().map_or(at, |ecn| ecn.at), "ecn"),
            }
        }
        if let Some(quantum) = quantum.filter(|_| name.ends_with("fq_codel") || name == "fq_pie") {
            say(&mut line, at, &format!("quantum {quantum}"));
        }
        if name.ends_with("fq_codel") || name == "sfq" {
            say(&mut line, at, "flows 1024");
        }
        line.extend(direction.options.iter().cloned());
        self.lines.push(line);
    }

    /// Adds the target: what is given, or what a packet takes on a slow line.
    fn target(&mut self, direction: &Direction, line: &mut Line) {
        let at = direction.target.as_ref().map_or(direction.rate.at, |target| target.at);
        let given = direction.target.as_ref().map_or("auto", |target| target.value.as_str());
        let unit = given.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_number = unit.len() < given.len();
        match unit.to_ascii_lowercase().as_str() {
            "auto" => {
                let target = (SLOW_PACKET * 1000 / direction.rate.value.max(1)).max(TARGET);
                match self.qdisc.as_str() {
                    name if name.ends_with("codel") => {
                        let interval = INTERVAL - TARGET + target;
                        say(line, at, &format!("target {target}us interval {interval}us"));
                    }
                    "pie" => say(line, at, &format!("target {target}us")),
                    _ => {}
                }
            }
            "default" => {}
            "s" | "sec" | "secs" | "ms" | "msec" | "msecs" | "us" | "usec" | "usecs" if is_number => {
                say(line, at, &format!("target {given}"));
            }
            _ => {
                let why = "it is no time such as `5ms`, so the script sets none";
                self.section.leave_out(if direction.is_up { "etarget" } else { "itarget" }, why);
            }
        }
    }
}

/// Returns the bytes that a rate sends in a millisecond: the burst, and the turn of a class.
fn burst(rate: u64) -> u64 {
    (rate / 8).max(LEAST_BURST)
}
