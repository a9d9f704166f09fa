//! Output of `tc -d qdisc show`, `class show` and `filter show`, as words of the commands that set it up.
//! Counters, and objects that the kernel makes itself, are left out.

use crate::position::{Located, Position};
use crate::problem::Problem;
use crate::script::Skipped;

/// Reasons for which `mq`, and what stands in all but one of its classes, are left out.
pub(crate) const MQ: &str =
    "it has a queue for each of the device's transmit queues: one is imported as the root";
pub(crate) const FURTHER_QUEUE: &str = "it is a further transmit queue of the device";

/// Commands that a text of `tc show` stands for, and the lines left out.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub commands: Vec<Vec<Located<String>>>,
    pub skipped: Vec<Skipped>,
    /// Counters that say more than a number.
    pub effects: Vec<Problem>,
}

/// Objects of a line and those indented below it.
struct Entry<'a> {
    at: Position,
    head: Vec<Located<&'a str>>,
    body: Vec<Vec<Located<&'a str>>>,
}

/// Returns true if the text is what `tc` prints: its first object names a kind, not an action.
pub(crate) fn is_shown(text: &str) -> bool {
    let actions =
        ["add", "a", "del", "delete", "replace", "change", "chg", "show", "link", "list", "ls", "get"];
    let is_blank = |line: &&str| line.trim().is_empty() || line.starts_with('#') || is_prompt(line);
    text.lines().find(|line| !is_blank(line)).is_some_and(|line| {
        let mut words = line.split_whitespace();
        let is_object = words.next().is_some_and(|word| ["qdisc", "class", "filter"].contains(&word));
        is_object && words.next().is_some_and(|word| !actions.contains(&word))
    })
}

/// Returns true for a line of a terminal at which `tc` was told to print: `root@router:~# tc -s qdisc show`.
fn is_prompt(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(index) = words.iter().position(|word| *word == "tc") else { return false };
    let (before, command) = words.split_at(index);
    let prompt = before.iter().rev().find(|word| **word != "sudo");
    let is_at_prompt = prompt.is_none_or(|word| word.ends_with(['#', '$', '%', '>', '+']));
    let is_object = |word: &&&str| ["qdisc", "class", "filter"].contains(*word);
    let action = command.iter().skip_while(|word| !is_object(word)).nth(1);
    is_at_prompt
        && command.iter().any(|word| is_object(&word))
        && action.is_none_or(|action| ["show", "list", "ls"].contains(action))
}

/// Reads what `tc` prints; objects without a device are on `device`.
pub(crate) fn read(text: &str, device: &str) -> Shown {
    let mut shown = Shown::default();
    let mut multiqueue = Vec::new();
    for entry in entries(text) {
        let words = match entry.head.first().map(|word| word.value) {
            Some("qdisc") => qdisc(&entry, device, &mut multiqueue),
            Some("class") => class(&entry, device),
            Some("filter") => filter(&entry, device),
            _ => Err("it is not an object of `tc`"),
        };
        shown.effects.extend(giants(&entry));
        match words {
            Ok(words) => shown.commands.push(words),
            Err(why) => {
                let what = entry.head.iter().take(4).map(|word| word.value).collect::<Vec<_>>().join(" ");
                shown.skipped.push(Skipped { at: entry.at, what, why });
            }
        }
    }
    resolve_defaults(&mut shown.commands);
    shown
}

/// Returns the finding on packets longer than a class's table of rates, which older kernels count.
fn giants(entry: &Entry<'_>) -> Option<Problem> {
    let [object, _, id, ..] = entry.head.as_slice() else { return None };
    let (count, at) = entry.body.iter().flat_map(|line| line.windows(2)).find_map(|pair| {
        let count = pair[1].parse::<u64>().ok().filter(|_| pair[0].value == "giants:")?;
        Some((count, pair[0].at))
    })?;
    (object.value == "class" && count > 0).then(|| {
        let message =
            format!("`giants: {count}`: so many packets of the class `{}` were longer than its `mtu`, and their time was taken too short", **id);
        Problem::new(at, message).help("give the class its longest packet as `mtu`: with offloads of the device, 64 kB")
    })
}

/// Rewrites `default 16`, which some versions print in decimal and some in hexadecimal: to the class that is
/// there.
fn resolve_defaults(commands: &mut [Vec<Located<String>>]) {
    let after = |words: &[Located<String>], name: &str| {
        let index = words.iter().position(|word| word.value == name)?;
        words.get(index + 1).map(|word| word.value.clone())
    };
    let ids: Vec<(Option<String>, u16)> = commands
        .iter()
        .filter(|words| words[0].value == "class")
        .filter_map(|words| {
            let minor = u16::from_str_radix(after(words, "classid")?.split_once(':')?.1, 16).ok()?;
            Some((after(words, "dev"), minor))
        })
        .collect();
    for words in commands.iter_mut().filter(|words| words[0].value == "qdisc") {
        let device = after(words, "dev");
        let has = |minor: u16| ids.iter().any(|(of, id)| *of == device && *id == minor);
        let Some(index) = words.iter().position(|word| word.value == "default") else { continue };
        let Some(value) = words.get_mut(index + 1) else { continue };
        let hexadecimal = u16::from_str_radix(&value.value, 16).ok();
        let decimal = value.value.parse::<u16>().ok();
        if let (Some(hexadecimal), Some(decimal)) = (hexadecimal, decimal)
            && !has(hexadecimal)
            && has(decimal)
        {
            value.value = format!("{decimal:#x}");
        }
    }
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let mut words = Vec::new();
        let mut column = 1;
        for piece in line.split(char::is_whitespace) {
            if !piece.is_empty() {
                words.push(Located::new(piece, Position { line: number, column }));
            }
            column += u32::try_from(piece.chars().count()).unwrap_or(u32::MAX - 1).saturating_add(1);
        }
        let Some(first) = words.first() else { continue };
        let is_head = !line.starts_with(char::is_whitespace);
        match entries.last_mut() {
            Some(entry) if !is_head => entry.body.push(words),
            _ if line.starts_with('#') => {}
            _ => entries.push(Entry { at: first.at, head: words, body: Vec::new() }),
        }
    }
    entries
}

/// Words of a command in work.
struct Writer {
    words: Vec<Located<String>>,
    at: Position,
}

impl Writer {
    fn new(entry: &Entry<'_>, object: &str) -> Self {
        let mut writer = Self { words: Vec::new(), at: entry.at };
        writer.add(&[object, "add"]);
        writer
    }

    fn add(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(|word| Located::new((*word).to_owned(), self.at)));
    }

    fn copy(&mut self, word: Located<&str>) {
        self.words.push(Located::new(word.value.to_owned(), word.at));
    }
}

/// Settings that `tc` prints and does not read, with the number of their values.
const PRINTED_ONLY: [(&str, usize); 14] = [
    ("direct_packets_stat", 1),
    ("ver", 1),
    ("level", 1),
    ("leaf", 1),
    ("refcnt", 1),
    ("bounded", 0),
    ("Scell_log", 1),
    ("ewma", 1),
    ("offloaded", 0),
    ("maxrate", 1),
    ("minrate", 1),
    ("[Unknown", 0),
    ("unknown]", 0),
    ("peakrate_table", 0),
];

/// Words that follow a discipline's kind and handle, or a class's.
fn settings(writer: &mut Writer, kind: &str, words: &[Located<&str>]) {
    let mut rest = words;
    let mut seen: Vec<&str> = Vec::new();
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        // `mpu` and `overhead` are printed with `rate` and with `ceil`.
        if ["mpu", "overhead", "linklayer"].contains(&word.value) && kind != "cake" {
            if seen.contains(&word.value) {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            seen.push(word.value);
        }
        let is_kept = kind == "cbq" && word.value == "bounded";
        if let Some((_, values)) =
            PRINTED_ONLY.iter().find(|(name, _)| *name == word.value).filter(|_| !is_kept)
        {
            rest = rest.get(*values..).unwrap_or_default();
            continue;
        }
        match (kind, word.value) {
            ("tbf", "lat") => writer.copy(Located::new("latency", word.at)),
            // `flows 128/1024` of `sfq`.
            (_, value) if value.contains('/') && kind == "sfq" => {
                let value = value.split('/').next().unwrap_or_default();
                writer.copy(Located::new(value, word.at));
            }
            (_, value) => writer.copy(Located::new(value, word.at)),
        }
    }
}

/// Discipline of a device with one for each transmit queue.
struct Multiqueue {
    device: String,
    /// Major number of its handle; empty for 0.
    major: String,
    /// True if it has the settings of its parts, as `cake_mq`.
    is_whole: bool,
}

fn qdisc(
    entry: &Entry<'_>,
    device: &str,
    multiqueue: &mut Vec<Multiqueue>,
) -> Result<Vec<Located<String>>, &'static str> {
    let [_, kind, handle, rest @ ..] = entry.head.as_slice() else { return Err("it is cut off") };
    let mut rest = rest;
    let mut device = device.to_owned();
    let mut parent = None;
    let mut is_root = false;
    while let Some((word, after)) = rest.split_first() {
        match (word.value, after) {
            ("dev", [name, more @ ..]) => (device, rest) = (name.value.to_owned(), more),
            ("parent", [word, more @ ..]) => (parent, rest) = (Some(*word), more),
            ("refcnt", [_, more @ ..]) => rest = more,
            ("root", _) => (is_root, rest) = (true, after),
            ("offloaded" | "[Unknown", _) => rest = after,
            _ => break,
        }
    }
    if kind.value == "noqueue" {
        return Err("the device has no queue");
    }
    if kind.value == "mq" || kind.value == "cake_mq" && is_root {
        let is_whole = kind.value == "cake_mq" && !rest.is_empty();
        let major = handle.value.trim_end_matches(':').trim_start_matches('0').to_owned();
        multiqueue.push(Multiqueue { device: device.clone(), major, is_whole });
        if !is_whole {
            return Err(MQ);
        }
    }
    let mut writer = Writer::new(entry, "qdisc");
    writer.add(&["dev", &device]);
    if !["ingress", "clsact"].contains(&kind.value) {
        add_parent(&mut writer, parent, &device, multiqueue)?;
    }
    if handle.value != "0:" {
        writer.add(&["handle"]);
        writer.copy(*handle);
    }
    for line in &entry.body {
        if line.first().is_some_and(|word| word.value == "linklayer") {
            writer.add(&["stab"]);
            for word in line {
                writer.copy(*word);
            }
        }
    }
    writer.copy(*kind);
    if kind.value != "ingress" && kind.value != "clsact" {
        settings(&mut writer, kind.value, rest);
    }
    Ok(writer.words)
}

/// Writes the parent of a discipline; the first transmit queue of a device is imported as the root.
fn add_parent(
    writer: &mut Writer,
    parent: Option<Located<&str>>,
    device: &str,
    multiqueue: &[Multiqueue],
) -> Result<(), &'static str> {
    let Some(parent) = parent else {
        writer.add(&["root"]);
        return Ok(());
    };
    let above = parent.value.split_once(':').map(|(major, _)| major);
    let whole = multiqueue.iter().find(|of| of.device == device && Some(of.major.as_str()) == above);
    match whole.map(|of| of.is_whole) {
        Some(true) => return Err("it is a part of the root's, which is imported as one"),
        Some(false) if parent.value.ends_with(":1") => writer.add(&["root"]),
        None if !parent.value.starts_with(':') => {
            writer.add(&["parent"]);
            writer.copy(parent);
        }
        _ => return Err(FURTHER_QUEUE),
    }
    Ok(())
}

fn class(entry: &Entry<'_>, device: &str) -> Result<Vec<Located<String>>, &'static str> {
    let [_, kind, id, rest @ ..] = entry.head.as_slice() else { return Err("it is cut off") };
    if !["htb", "hfsc", "cbq", "drr", "qfq", "ets"].contains(&kind.value) {
        return Err("the discipline makes it itself");
    }
    let mut rest = rest;
    let mut device = device.to_owned();
    let mut parent = None;
    while let Some((word, after)) = rest.split_first() {
        match (word.value, after) {
            ("dev", [name, more @ ..]) => (device, rest) = (name.value.to_owned(), more),
            ("parent", [word, more @ ..]) => (parent, rest) = (Some(*word), more),
            ("leaf", [_, more @ ..]) => rest = more,
            ("root", _) => rest = after,
            _ => break,
        }
    }
    // The root class of `hfsc` is the discipline itself.
    if rest.is_empty() && kind.value == "hfsc" {
        return Err("it is the discipline itself");
    }
    let mut writer = Writer::new(entry, "class");
    writer.add(&["dev", &device]);
    if let Some(parent) = parent {
        writer.add(&["parent"]);
        writer.copy(parent);
    }
    writer.add(&["classid"]);
    writer.copy(*id);
    writer.copy(*kind);
    settings(&mut writer, kind.value, rest);
    Ok(writer.words)
}

/// Parts of a filter's lines.
#[derive(Default)]
struct FilterParts<'a> {
    /// Handle that names it, `fh` or `handle`.
    handle: Option<&'a str>,
    divisor: Option<&'a str>,
    /// Table and bucket.
    bucket: Option<(&'a str, &'a str)>,
    link: Option<&'a str>,
    class: Option<&'a str>,
}

fn filter(entry: &Entry<'_>, device: &str) -> Result<Vec<Located<String>>, &'static str> {
    let mut rest = &entry.head[1..];
    let mut writer = Writer::new(entry, "filter");
    let mut before = Vec::new();
    let mut device = device.to_owned();
    let mut parent = None;
    while let Some((word, after)) = rest.split_first() {
        match (word.value, after) {
            ("dev", [name, more @ ..]) => (device, rest) = (name.value.to_owned(), more),
            ("parent", [word, more @ ..]) => (parent, rest) = (Some(word.value), more),
            ("protocol" | "pref", [value, more @ ..]) => {
                before.extend([*word, *value]);
                rest = more;
            }
            ("root" | "ingress" | "egress", _) => (parent, rest) = (Some(word.value), after),
            _ => break,
        }
    }
    let (kind, rest) = rest.split_first().ok_or("it is cut off")?;
    writer.add(&["dev", &device]);
    match parent {
        Some(word @ ("root" | "ingress" | "egress")) => writer.add(&[word]),
        Some(parent) => writer.add(&["parent", parent]),
        // `tc filter show dev DEV` of the root leaves it out.
        None => writer.add(&["root"]),
    }
    for word in before {
        writer.copy(word);
    }
    let parts = filter_parts(rest);
    let actions =
        entry.body.iter().any(|line| line.iter().any(|word| ["action", "police"].contains(&word.value)));
    match kind.value {
        "u32" => u32_words(&mut writer, entry, &parts, actions)?,
        "fw" => {
            let mark = parts.handle.ok_or("it has no mark")?;
            writer.add(&["handle", mark, "fw"]);
        }
        _ if parts.class.is_none() && !actions => return Err("it is the head of a list of filters"),
        other => {
            writer.add(&[other]);
            if other == "flower" {
                flower_words(&mut writer, entry);
            }
        }
    }
    if let Some(class) = parts.class {
        writer.add(&["flowid", class]);
    }
    action_words(&mut writer, entry);
    Ok(writer.words)
}

fn filter_parts<'a>(words: &[Located<&'a str>]) -> FilterParts<'a> {
    let mut parts = FilterParts::default();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let value = after.first().map(|word| word.value);
        let mut length = 1;
        match word.value {
            "fh" | "handle" => (parts.handle, length) = (value, 2),
            "ht" if after.len() > 1 => {
                if after[1].value == "bkt" {
                    parts.bucket = value.zip(after.get(2).map(|word| word.value));
                    length = 4;
                } else if after[1].value == "divisor" {
                    parts.divisor = after.get(2).map(|word| word.value);
                    length = 3;
                }
            }
            "divisor" => (parts.divisor, length) = (value, 2),
            "link" => (parts.link, length) = (value, 2),
            "flowid" | "classid" | "*flowid" => {
                // A filter without a class is printed as `terminal flowid not_in_hw`, formerly as `flowid
                // ???`.
                parts.class = value.filter(|class| class.contains(':'));
                length = if parts.class.is_some() || value == Some("???") { 2 } else { 1 };
            }
            _ => {}
        }
        rest = &rest[length.min(rest.len())..];
    }
    parts
}

fn u32_words(
    writer: &mut Writer,
    entry: &Entry<'_>,
    parts: &FilterParts<'_>,
    has_actions: bool,
) -> Result<(), &'static str> {
    if let Some(divisor) = parts.divisor {
        let handle = parts.handle.ok_or("it has no handle")?;
        if divisor == "1" {
            return Err("it is the head of a list of filters");
        }
        writer.add(&["handle", handle, "u32", "divisor", divisor]);
        return Ok(());
    }
    if parts.class.is_none() && parts.link.is_none() && !has_actions {
        return Err("it is the head of a list of filters");
    }
    writer.add(&["u32"]);
    if let Some((table, bucket)) = parts.bucket {
        let is_root = table.len() == 3 && table.starts_with('8');
        if !is_root {
            writer.add(&["ht", &format!("{table}:{bucket}:")]);
        }
    }
    let mut has_match = false;
    for line in &entry.body {
        match line.as_slice() {
            [first, bits, at, offset, ..] if first.value == "match" && at.value == "at" => {
                let (value, mask) = bits.value.split_once('/').ok_or("its `match` is not understood")?;
                writer.at = first.at;
                writer.add(&[
                    "match",
                    "u32",
                    &format!("0x{value}"),
                    &format!("0x{mask}"),
                    "at",
                    offset.value,
                ]);
                has_match = true;
            }
            [hash, mask_word, mask, at, offset, ..] if hash.value == "hash" && mask_word.value == "mask" => {
                let _ = at;
                let mask = mask.value.strip_prefix("0x").unwrap_or(mask.value);
                writer.add(&["hashkey", "mask", &format!("0x{mask}"), "at", offset.value]);
            }
            [first, ..] if first.value == "match" => return Err("its `match` is not understood"),
            _ => {}
        }
    }
    if !has_match && parts.link.is_none() {
        writer.add(&["match", "u32", "0", "0", "at", "0"]);
    }
    if let Some(link) = parts.link {
        writer.add(&["link", link]);
    }
    Ok(())
}

fn flower_words(writer: &mut Writer, entry: &Entry<'_>) {
    for line in &entry.body {
        match line.as_slice() {
            [key, value, ..]
                if key.value.contains('_') && !["not_in_hw", "in_hw", "skip_hw"].contains(&key.value) =>
            {
                writer.copy(*key);
                writer.copy(*value);
            }
            _ => {}
        }
    }
}

/// Writes the actions: `action order 1: mirred (Egress Redirect to device ifb0) stolen`, and the old form of
/// `police`.
fn action_words(writer: &mut Writer, entry: &Entry<'_>) {
    for line in &entry.body {
        let words: Vec<&str> = line.iter().map(|word| word.value).collect();
        writer.at = line.first().map_or(entry.at, |word| word.at);
        let action = match words.as_slice() {
            ["action", "order", _, action @ ..] => action,
            ["police", ..] => words.as_slice(),
            _ => continue,
        };
        match action {
            ["mirred", "(Egress", what, "to", "device", device, ..] => {
                let device = device.trim_end_matches(')');
                writer.add(&["action", "mirred", "egress", &what.to_ascii_lowercase(), "dev", device]);
            }
            ["police", _, rest @ ..] => {
                writer.add(&["action", "police"]);
                let mut rest = rest;
                while let [key, value, after @ ..] = rest {
                    if ["rate", "burst", "mtu", "peakrate", "action"].contains(key) {
                        let value = value.split('/').next().unwrap_or_default();
                        writer.add(&[key, value]);
                    }
                    rest = after;
                }
            }
            ["gact", "action", verdict, ..] => writer.add(&["action", verdict]),
            [name, rest @ ..] => {
                writer.add(&["action", name]);
                writer.add(rest.split(|word| ["pipe", "index"].contains(word)).next().unwrap_or_default());
            }
            [] => {}
        }
    }
}
