//! Parser of actions.

use super::{Refusal, begun, missing, parser};
use crate::language::Sort;
use crate::lex;
use crate::position::{Located, Position};
use crate::words::Cursor;

/// Actions that decide what becomes of a packet.
const CONTROLS: [&str; 8] = ["drop", "shot", "continue", "pass", "ok", "reclassify", "pipe", "trap"];

/// Actions with words.
const KINDS: [&str; 16] = [
    "police",
    "mirred",
    "gact",
    "skbedit",
    "connmark",
    "ctinfo",
    "vlan",
    "csum",
    "nat",
    "ct",
    "sample",
    "pedit",
    "skbmod",
    "tunnel_key",
    "simple",
    "mpls",
];

const WORD: u64 = u32::MAX as u64;

/// Actions of a filter.
#[derive(Debug, Default)]
pub(super) struct Actions {
    /// Reason for which the kernel refuses one, whatever the state is.
    pub refused: Option<(Position, String)>,
}

impl Actions {
    fn refuse(&mut self, at: Position, message: &str) {
        self.refused.get_or_insert((at, message.to_owned()));
    }
}

/// Returns true for the name of an action.
pub(super) fn is_action(word: &str) -> bool {
    CONTROLS.contains(&word) || KINDS.contains(&word)
}

/// Reads the actions after the word `action`.
pub(super) fn actions(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<Actions, Refusal> {
    let mut all = Actions::default();
    let mut is_first = true;
    let mut last = word;
    loop {
        // Between two actions the word may be left out.
        let mut has_word = is_first;
        while cursor.peek() == Some("action") {
            last = cursor.next().unwrap_or(last);
            has_word = true;
        }
        let Some(next) = cursor.peek() else {
            return if has_word { Err(missing(last)) } else { Ok(all) };
        };
        if !has_word && !is_action(next) && next != "goto" && next != "jump" {
            return Ok(all);
        }
        action(cursor, last, &mut all)?;
        is_first = false;
    }
}

fn action(cursor: &mut Cursor<'_, '_>, before: Located<&str>, all: &mut Actions) -> Result<(), Refusal> {
    let word = cursor.next().ok_or_else(|| missing(before))?;
    match word.value {
        "police" => police(cursor, word, all)?,
        "mirred" => mirred(cursor, word)?,
        "skbedit" => edit(cursor, word)?,
        "gact" => gact(cursor, None, word)?,
        name if CONTROLS.contains(&name) || ["goto", "jump", "random", "index"].contains(&name) => {
            gact(cursor, Some(word), word)?;
        }
        "connmark" => connmark(cursor, word)?,
        "ctinfo" => info(cursor, word)?,
        "vlan" => vlan(cursor, word, all)?,
        "csum" => sums(cursor, word)?,
        "nat" => translation(cursor, word)?,
        "simple" => pairs(cursor, word, &["sdata"], &["sdata"])?,
        "sample" => pairs(cursor, word, &["rate", "group", "trunc", "index"], &["rate", "group"])?,
        "ct" => track(cursor, word)?,
        "pedit" => edit_bytes(cursor, word)?,
        "skbmod" => modify(cursor, word)?,
        "tunnel_key" => tunnel(cursor, word)?,
        other => {
            let refusal = parser(word.at, format!("the action `{other}` is not known"));
            let known = CONTROLS.into_iter().chain(KINDS);
            return Err(match super::nearest(other, known) {
                Some(near) => refusal.help(format!("did you mean `{near}`?")),
                None => refusal,
            });
        }
    }
    if cursor.skip("cookie") {
        let text = cursor.next().ok_or_else(|| missing(word))?;
        if text.len() % 2 != 0 || !text.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return Err(parser(text.at, format!("`cookie {}` is not of hexadecimal digits", *text)));
        }
    }
    if cursor.skip("hw_stats") {
        cursor.next().ok_or_else(|| missing(word))?;
    }
    cursor.skip("no_percpu");
    Ok(())
}

/// Reads a control that may stand at the end of an action.
fn control(cursor: &mut Cursor<'_, '_>) -> Result<bool, Refusal> {
    let Some(next) = cursor.peek() else { return Ok(false) };
    if CONTROLS.contains(&next) {
        cursor.next();
        return Ok(true);
    }
    if next != "goto" && next != "jump" {
        return Ok(false);
    }
    let Some(word) = cursor.next() else { return Ok(false) };
    if word.value == "goto" && !cursor.skip("chain") {
        return Err(parser(word.at, "`goto` needs `chain NUMBER`"));
    }
    number(cursor, word, WORD)?;
    Ok(true)
}

fn number(cursor: &mut Cursor<'_, '_>, word: Located<&str>, most: u64) -> Result<u64, Refusal> {
    let text = cursor.next().ok_or_else(|| missing(word))?;
    lex::unsigned(text.value, 0, most)
        .ok_or_else(|| parser(text.at, format!("`{} {}`: it takes a number up to {most}", *word, *text)))
}

/// Reads `index NUMBER`, if it stands there.
fn index(cursor: &mut Cursor<'_, '_>) -> Result<bool, Refusal> {
    let Some(word) = cursor.peek().filter(|word| *word == "index").and_then(|_| cursor.next()) else {
        return Ok(false);
    };
    number(cursor, word, WORD).map(|_| true)
}

fn gact(cursor: &mut Cursor<'_, '_>, own: Option<Located<&str>>, word: Located<&str>) -> Result<(), Refusal> {
    match own {
        Some(own) if own.value == "index" => {
            number(cursor, own, WORD)?;
            return Ok(());
        }
        Some(own) if own.value == "goto" => {
            if !cursor.skip("chain") {
                return Err(parser(own.at, "`goto` needs `chain NUMBER`"));
            }
            number(cursor, own, WORD)?;
        }
        Some(own) if own.value == "jump" => {
            number(cursor, own, WORD)?;
        }
        Some(_) => {}
        None => {
            if index(cursor)? {
                return Ok(());
            }
            if !control(cursor)? {
                return Err(parser(word.at, "`gact` has no action such as `drop`"));
            }
        }
    }
    if cursor.skip("random") {
        let kind = cursor.next().ok_or_else(|| missing(word))?;
        if !["netrand", "determ"].contains(&kind.value) {
            return Err(parser(kind.at, format!("`random {}`: there are `netrand` and `determ`", *kind)));
        }
        if !control(cursor)? {
            return Err(missing(kind));
        }
        number(cursor, kind, 10_000)?;
    }
    index(cursor).map(|_| ())
}

fn mirred(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let (mut way, mut does, mut device, mut has_index) = (false, false, false, false);
    while let Some(next) = cursor.peek() {
        match next {
            "egress" | "ingress" if !does => way = true,
            short if begun(short, &["redirect"]).is_some() || begun(short, &["mirror"]).is_some() => {
                if !way {
                    break;
                }
                does = true;
            }
            "index" => {
                index(cursor)?;
                has_index = true;
                continue;
            }
            "dev" if !device => {
                let dev = cursor.next().unwrap_or(word);
                if !does {
                    return Err(parser(
                        dev.at,
                        "`mirred` is `egress redirect dev DEVICE` or `egress mirror dev DEVICE`",
                    ));
                }
                cursor.next().ok_or_else(|| missing(dev))?;
                device = true;
                continue;
            }
            _ => break,
        }
        cursor.next();
    }
    if !(device && does || has_index && !way) {
        return Err(parser(
            word.at,
            "`mirred` is `egress redirect dev DEVICE` or `egress mirror dev DEVICE`",
        ));
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

/// Refuses a word after an action that is neither an action nor a word of the filter.
fn end_of(cursor: &Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let Some(next) = cursor.peek() else { return Ok(()) };
    let is_more = is_action(next)
        || ["action", "cookie", "hw_stats", "no_percpu", "flowid", "classid", "match", "index"]
            .contains(&next);
    if is_more { Ok(()) } else { Err(parser(word.at, format!("`{next}` of `{}` is not known", *word))) }
}

fn edit(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let mut is_any = false;
    while let Some(next) = cursor.peek() {
        let known = ["queue_mapping", "priority", "mark", "ptype", "inheritdsfield", "index"];
        let Some(name) = begun(next, &known).filter(|_| next.len() > 2 || next == "p") else { break };
        if begun(next, &["pipe"]).is_some() {
            break;
        }
        let own = cursor.next().unwrap_or(word);
        is_any = true;
        if name == "inheritdsfield" {
            continue;
        }
        let text = cursor.next().ok_or_else(|| missing(own))?;
        let is_right = match name {
            "priority" => lex::class_id(text.value).is_some(),
            "mark" => {
                let (value, mask) = text.split_once('/').unwrap_or((text.value, "0"));
                lex::unsigned(value, 0, WORD).is_some() && lex::unsigned(mask, 0, WORD).is_some()
            }
            "queue_mapping" => lex::unsigned(text.value, 10, 0xffff).is_some(),
            "ptype" => ["host", "broadcast", "multicast", "otherhost"].contains(&text.value),
            _ => lex::unsigned(text.value, 0, WORD).is_some(),
        };
        if !is_right {
            return Err(parser(text.at, format!("`{name} {}` of `skbedit` is not valid", *text)));
        }
    }
    if !is_any {
        return Err(parser(word.at, "`skbedit` has nothing to set"));
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

fn connmark(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    if let Some(zone) = cursor.peek().filter(|next| *next == "zone").and_then(|_| cursor.next()) {
        number(cursor, zone, 0xffff)?;
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

fn info(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    while let Some(next) = cursor.peek().filter(|next| ["dscp", "cpmark", "zone"].contains(next)) {
        let own = cursor.next().unwrap_or(word);
        let is_number = cursor.peek().is_some_and(|text| lex::unsigned(text, 0, WORD).is_some());
        if next != "cpmark" && !is_number {
            return Err(parser(own.at, format!("`{next}` of `ctinfo` has no mask")));
        }
        if is_number {
            let mask = number(cursor, own, WORD)?;
            // Six bits side by side hold the code point.
            let is_six =
                mask == 0 || (mask >> mask.trailing_zeros()).trailing_ones() >= 6 && mask.count_ones() == 6;
            if next == "dscp" && !is_six {
                return Err(parser(own.at, "the mask of `ctinfo dscp` is not of six bits side by side"));
            }
            if next == "dscp" && cursor.peek().is_some_and(|text| lex::unsigned(text, 0, WORD).is_some()) {
                cursor.next();
            }
        }
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

fn vlan(cursor: &mut Cursor<'_, '_>, word: Located<&str>, all: &mut Actions) -> Result<(), Refusal> {
    let does = cursor.next().ok_or_else(|| missing(word))?;
    let (mut has_id, known) = (false, ["push", "pop", "modify"]);
    let Some(name) = begun(does.value, &known) else {
        return Err(parser(does.at, format!("`vlan {}` is not `push`, `pop` or `modify`", *does)));
    };
    while let Some(next) = cursor.peek().filter(|next| ["id", "protocol", "priority"].contains(next)) {
        let own = cursor.next().unwrap_or(word);
        match next {
            "id" => {
                has_id = true;
                let id = number(cursor, own, 0xffff)?;
                if id > 0xfff {
                    all.refuse(own.at, "the `id` of a VLAN is at most 4095");
                }
            }
            "priority" => {
                number(cursor, own, 7)?;
            }
            _ => {
                let text = cursor.next().ok_or_else(|| missing(own))?;
                if super::matches::protocol(text.value).is_none() {
                    return Err(parser(text.at, format!("`protocol {}` is not known", *text)));
                }
            }
        }
    }
    if name != "pop" && !has_id {
        return Err(parser(word.at, format!("`vlan {name}` has no `id`")));
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

fn sums(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let known = ["ip4h", "icmp", "igmp", "tcp", "udp", "udplite", "sctp", "iph", "ip"];
    let mut is_any = false;
    while cursor.peek().is_some_and(|next| known.contains(&next) || next == "and" || next == "+") {
        cursor.next();
        is_any = true;
    }
    if !is_any {
        return Err(parser(word.at, "`csum` names no header"));
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

fn translation(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let way = cursor.next().ok_or_else(|| missing(word))?;
    if !["ingress", "egress"].contains(&way.value) {
        return Err(parser(way.at, format!("`nat {}` is not `ingress` or `egress`", *way)));
    }
    for _ in 0..2 {
        let text = cursor.next().ok_or_else(|| missing(word))?;
        if !super::matches::is_address(text.value, false) {
            return Err(parser(text.at, format!("`{}` is not an address", *text)));
        }
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

/// Reads words with one value each, of which some must be there.
fn pairs(
    cursor: &mut Cursor<'_, '_>,
    word: Located<&str>,
    known: &[&str],
    must: &[&str],
) -> Result<(), Refusal> {
    let mut seen = Vec::new();
    while let Some(next) = cursor.peek().filter(|next| known.contains(next)) {
        let own = cursor.next().unwrap_or(word);
        cursor.next().ok_or_else(|| missing(own))?;
        seen.push(next);
    }
    match must.iter().find(|name| !seen.contains(name)) {
        Some(name) => Err(parser(word.at, format!("`{}` has no `{name}`", *word))),
        None => control(cursor).map(|_| ()),
    }
}

fn track(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let mut is_nat = false;
    let mut commits = false;
    while let Some(next) = cursor
        .peek()
        .filter(|next| ["zone", "mark", "label", "commit", "force", "clear", "nat"].contains(next))
    {
        let own = cursor.next().unwrap_or(word);
        is_nat |= next == "nat";
        commits |= next == "commit";
        if ["zone", "mark", "label"].contains(&next) {
            cursor.next().ok_or_else(|| missing(own))?;
        }
    }
    if is_nat && !commits {
        return Err(parser(word.at, "`nat` of `ct` needs `commit`"));
    }
    control(cursor)?;
    index(cursor)?;
    end_of(cursor, word)
}

fn edit_bytes(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    cursor.skip("ex");
    let mut is_any = false;
    while cursor.skip("munge") {
        is_any = true;
        let word_at = cursor.next().ok_or_else(|| missing(word))?;
        let field = cursor.next().ok_or_else(|| missing(word_at))?;
        let is_known = match word_at.value {
            "ip" => {
                ["src", "dst", "tos", "dsfield", "ttl", "protocol", "ihl", "nofrag", "firstfrag", "ce", "df"]
                    .contains(&field.value)
            }
            "offset" | "eth" | "tcp" | "udp" | "ip6" => true,
            _ => false,
        };
        if !is_known {
            return Err(parser(field.at, format!("`munge {} {}` of `pedit` is not known", *word_at, *field)));
        }
        while cursor.peek().is_some_and(|next| {
            !is_action(next) && next != "munge" && next != "action" && next != "flowid" && next != "classid"
        }) {
            cursor.next();
        }
    }
    if !is_any {
        return Err(parser(word.at, "`pedit` has no `munge`"));
    }
    control(cursor).map(|_| ())
}

fn modify(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let does = cursor.next().ok_or_else(|| missing(word))?;
    match does.value {
        "set" => pairs(cursor, word, &["smac", "dmac", "etype"], &[]),
        "swap" => cursor.next().map(|_| ()).ok_or_else(|| missing(does)),
        "ecn" => Ok(()),
        other => Err(parser(does.at, format!("`skbmod {other}` is not known"))),
    }
}

fn tunnel(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    let does = cursor.next().ok_or_else(|| missing(word))?;
    match does.value {
        "unset" => control(cursor).map(|_| ()),
        "set" => {
            let known = ["id", "src_ip", "dst_ip", "dst_port", "tos", "ttl"];
            pairs(cursor, word, &known, &["src_ip", "dst_ip"])
        }
        other => Err(parser(does.at, format!("`tunnel_key {other}` is not known"))),
    }
}

/// Reads a meter.
pub(super) fn police(
    cursor: &mut Cursor<'_, '_>,
    word: Located<&str>,
    all: &mut Actions,
) -> Result<(), Refusal> {
    let mut seen: Vec<&'static str> = Vec::new();
    let (mut rate, mut burst, mut mtu, mut peak) = (0.0, 0.0, 0.0, 0.0);
    let mut is_any = false;
    while let Some(next) = cursor.peek() {
        let Some((name, sort)) = police_word(next) else {
            if index(cursor)? {
                seen.push("index");
            } else if !end_of_meter(cursor)? {
                break;
            }
            is_any = true;
            continue;
        };
        let own = cursor.next().unwrap_or(word);
        is_any = true;
        let may_repeat = ["overhead", "linklayer", "mpu"].contains(&name);
        if seen.contains(&name) && !may_repeat {
            return Err(parser(own.at, format!("`{name}` of `police` is given twice")));
        }
        seen.push(name);
        let text = cursor.next().ok_or_else(|| missing(own))?;
        let read = sort.read(text.value).ok_or_else(|| {
            parser(text.at, format!("`{next} {}` of `police`: it takes {}", *text, sort.in_words()))
        })?;
        match name {
            "rate" => rate = read,
            "burst" => burst = read,
            "mtu" => mtu = read,
            "peakrate" => peak = read,
            _ => {}
        }
    }
    let has = |name: &str| seen.contains(&name);
    let refuse = |message: &str| Err(parser(word.at, message));
    if !is_any {
        return refuse("`police` has no `rate`");
    }
    if has("pkts_rate") != has("pkts_burst") {
        return refuse("`police` takes `pkts_rate` with `pkts_burst`");
    }
    if has("rate") && has("pkts_rate") {
        return refuse("`police` takes a rate of bytes or of packets");
    }
    if !(rate > 0.0 || has("avrate") || has("mtu") || has("pkts_rate") || has("index")) {
        return refuse("`police` has no `rate`");
    }
    if (rate > 0.0) != (burst > 0.0) {
        return refuse("`police` takes a `rate` with its `burst`");
    }
    if peak > 0.0 && mtu == 0.0 {
        return refuse("`peakrate` of `police` needs `mtu`");
    }
    if has("avrate") {
        all.refuse(word.at, "`avrate` of `police` needs a rate estimator");
    }
    Ok(())
}

fn police_word(word: &str) -> Option<(&'static str, Sort)> {
    let known = [
        ("burst", "burst", Sort::Cells),
        ("buffer", "burst", Sort::Cells),
        ("maxburst", "burst", Sort::Cells),
        ("mtu", "mtu", Sort::Cells),
        ("minburst", "mtu", Sort::Cells),
        ("mpu", "mpu", Sort::Size),
        ("rate", "rate", Sort::Rate),
        ("avrate", "avrate", Sort::Rate),
        ("peakrate", "peakrate", Sort::Rate),
        ("overhead", "overhead", Sort::Whole(10, 0xffff)),
        ("linklayer", "linklayer", Sort::Of(&["ethernet", "atm", "adsl"])),
        ("pkts_rate", "pkts_rate", Sort::Whole(10, WORD)),
        ("pkts_burst", "pkts_burst", Sort::Whole(10, WORD)),
    ];
    let is_short = |name: &str| name == "burst" && word.len() > 1 && name.starts_with(word);
    known.into_iter().find(|(name, ..)| *name == word || is_short(name)).map(|(_, of, sort)| (of, sort))
}

/// Reads what becomes of packets beyond the rate, if it stands there: anywhere among the words, also again.
fn end_of_meter(cursor: &mut Cursor<'_, '_>) -> Result<bool, Refusal> {
    let Some(next) = cursor.peek() else { return Ok(false) };
    if next != "conform-exceed" {
        // Beginnings of two letters and more are enough; `jump` and `trap` are none of its words.
        let is_short = |name: &&str| next.len() > 1 && name.starts_with(next);
        if CONTROLS[..7].iter().any(is_short) {
            cursor.next();
            return Ok(true);
        }
        return if next == "goto" { control(cursor) } else { Ok(false) };
    }
    let Some(own) = cursor.next() else { return Ok(false) };
    let text = cursor.next().ok_or_else(|| missing(own))?;
    let is_control = |word: &str| CONTROLS[..7].contains(&word) || lex::signed(word, 0).is_some();
    let mut parts = text.split('/');
    let (first, second, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if !is_control(first) || second.is_some_and(|second| !is_control(second)) || more.is_some() {
        return Err(parser(text.at, format!("`conform-exceed {}` is not as `drop` or `drop/pass`", *text)));
    }
    Ok(true)
}
