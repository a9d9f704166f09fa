//! Parser of filters.

use super::actions::{self, Actions};
use super::matches::{self, protocol};
use super::objects::chains::{ALL, Detail, Request};
use super::objects::{HOOK, ROOT};
use super::{Refusal, Verb, begun, class_id, estimator, missing, name_of, once, parser, value_of};
use crate::lex;
use crate::position::{Located, Position};
use crate::words::Cursor;

/// Kinds of filters.
const KINDS: [&str; 10] =
    ["u32", "flower", "fw", "matchall", "basic", "flow", "cgroup", "route", "bpf", "tcindex"];

/// Reads a command on a filter.
pub(super) fn filter(
    cursor: &mut Cursor<'_, '_>,
    verb: Verb,
    at: Position,
) -> Result<(Option<String>, Request), Refusal> {
    let (mut device, mut own, mut chain) = (None, None, None);
    let (mut parent, mut preference, mut handle, mut kind) = (0, 0, None, None);
    while let Some(word) = cursor.next() {
        let word_value = word.value;
        match word_value {
            "dev" => once(&mut device, word, name_of(cursor, word)?)?,
            "root" | "ingress" | "egress" | "parent" if parent != 0 => {
                return Err(parser(word.at, format!("`{word_value}` gives a second parent")));
            }
            "root" => parent = ROOT,
            "ingress" => parent = HOOK | 0xfff2,
            "egress" => parent = HOOK | 0xfff3,
            "parent" => parent = class_id(cursor, word)?,
            "handle" => {
                let text = value_of(cursor, word)?;
                once(&mut handle, word, text)?;
            }
            short if begun(short, &["preference", "priority"]).is_some() || short == "prio" => {
                let text = cursor.next().ok_or_else(|| missing(word))?;
                if preference != 0 {
                    return Err(parser(word.at, format!("`{word_value}` is given twice")));
                }
                let wrong = || parser(text.at, format!("`{word_value} {}`: it takes 1 to 65535", *text));
                preference = lex::unsigned(text.value, 0, 0xffff).ok_or_else(wrong)? as u32;
            }
            short if begun(short, &["protocol"]).is_some() => {
                let text = cursor.next().ok_or_else(|| missing(word))?;
                let wrong = || parser(text.at, format!("`protocol {}` is not known", *text));
                once(&mut own, word, protocol(text.value).ok_or_else(wrong)?)?;
            }
            short if begun(short, &["chain"]).is_some() => {
                let text = cursor.next().ok_or_else(|| missing(word))?;
                let read = lex::unsigned(text.value, 0, u64::from(u32::MAX));
                let wrong = || parser(text.at, format!("`chain {}` is not a number", *text));
                once(&mut chain, word, read.ok_or_else(wrong)? as u32)?;
            }
            short if begun(short, &["estimator"]).is_some() => estimator(cursor, word)?,
            _ => {
                kind = Some(word);
                break;
            }
        }
    }
    let mut read = Read::new(own, handle);
    if let Some(kind) = kind {
        read.kind(cursor, kind)?;
    } else if let Some(handle) = handle {
        return Err(parser(handle.at, "`handle` needs the kind of the filter"));
    }
    let kind = kind.map(|kind| Located::new(kind.value.to_owned(), kind.at));
    let Read { detail, class, number, refused, .. } = read;
    // A filter is for all packets unless its protocol is given; a deletion is then for any.
    let own = own.or((verb != Verb::Delete).then_some(ALL));
    let (protocol, chain, handle) = (own, chain.unwrap_or(0), number);
    let request =
        Request { verb, at, parent, preference, protocol, chain, kind, handle, class, detail, refused };
    Ok((device, request))
}

/// A filter while its words are read.
struct Read<'a> {
    protocol: u16,
    handle: Option<Located<&'a str>>,
    number: u32,
    detail: Detail,
    class: Option<u32>,
    refused: Option<(Position, String)>,
}

impl<'a> Read<'a> {
    fn new(protocol: Option<u16>, handle: Option<Located<&'a str>>) -> Self {
        Self {
            protocol: protocol.unwrap_or(ALL),
            handle,
            number: 0,
            detail: Detail::Plain,
            class: None,
            refused: None,
        }
    }

    /// Reads the words of a kind up to the end of the command.
    fn kind(&mut self, cursor: &mut Cursor<'_, '_>, kind: Located<&str>) -> Result<(), Refusal> {
        match kind.value {
            "u32" => self.u32(cursor),
            "fw" => self.fw(cursor),
            "matchall" | "basic" | "flow" | "cgroup" | "route" | "bpf" | "tcindex" | "rsvp" => {
                self.plain(cursor, kind)
            }
            "flower" => self.flower(cursor),
            other => {
                let message = format!("filters of kind `{other}` are not known");
                if cursor.next().is_none() {
                    self.refused = Some((kind.at, message));
                    return Ok(());
                }
                let refusal = parser(kind.at, message);
                Err(match super::nearest(other, KINDS.into_iter()) {
                    Some(near) => refusal.help(format!("did you mean `{near}`?")),
                    None => refusal.help(format!("there are `{}`", KINDS.join("`, `"))),
                })
            }
        }
    }

    /// Reads a word that several kinds have; false if it is another.
    fn common(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        word: Located<&str>,
        has_police: bool,
    ) -> Result<bool, Refusal> {
        if begun(word.value, &["classid"]).is_some() || word.value == "flowid" {
            self.class = Some(class_id(cursor, word)?);
        } else if begun(word.value, &["action"]).is_some() {
            self.actions(cursor, word)?;
        } else if has_police && begun(word.value, &["police"]).is_some() {
            let mut actions = Actions::default();
            actions::police(cursor, word, &mut actions)?;
            self.refuse(actions.refused);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn refuse(&mut self, why: Option<(Position, String)>) {
        if self.refused.is_none() {
            self.refused = why;
        }
    }

    fn actions(&mut self, cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
        let actions = actions::actions(cursor, word)?;
        self.refuse(actions.refused);
        Ok(())
    }

    fn u32(&mut self, cursor: &mut Cursor<'_, '_>) -> Result<(), Refusal> {
        if let Some(handle) = self.handle {
            let message = || format!("`handle {}` of `u32` is not as `2:`, `2:1:5` or `800::800`", *handle);
            let wrong = || parser(handle.at, message());
            self.number = matches::table_handle(handle.value).ok_or_else(wrong)?;
        }
        let (mut divisor, mut table, mut link) = (0, 0, 0);
        let (mut has_match, mut is_any) = (false, false);
        while let Some(word) = cursor.next() {
            is_any = true;
            let wrong =
                |text: Located<&str>| parser(text.at, format!("`{} {}` of `u32` is not valid", *word, *text));
            match word.value {
                short if begun(short, &["match"]).is_some() => {
                    matches::selector(cursor, word)?;
                    has_match = true;
                }
                "ht" => {
                    let text = value_of(cursor, word)?;
                    table = matches::table_handle(text.value).ok_or_else(|| wrong(text))? & 0xffff_f000;
                }
                "link" => {
                    let text = value_of(cursor, word)?;
                    let read = matches::table_handle(text.value).filter(|_| !text.starts_with("0x"));
                    link = read.ok_or_else(|| wrong(text))?;
                }
                "order" => {
                    let text = value_of(cursor, word)?;
                    lex::unsigned(text.value, 0, u64::from(u32::MAX)).ok_or_else(|| wrong(text))?;
                }
                short if begun(short, &["divisor"]).is_some() => {
                    let text = value_of(cursor, word)?;
                    let read = lex::unsigned(text.value, 0, 256).filter(|number| number.is_power_of_two());
                    let wrong =
                        || parser(text.at, format!("`divisor {}` is not a power of two up to 256", *text));
                    divisor = read.ok_or_else(wrong)? as u32;
                }
                "offset" => matches::offset(cursor, word)?,
                "hashkey" => matches::hash_key(cursor, word)?,
                "sample" => {
                    matches::selector(cursor, word)?;
                    if cursor.skip("divisor") {
                        value_of(cursor, word)?;
                    }
                }
                "indev" => value_of(cursor, word).map(|_| ())?,
                "skip_hw" => {}
                "skip_sw" => self.refuse(Some((word.at, NO_HARDWARE.to_owned()))),
                _ => {
                    if !self.common(cursor, word, true)? {
                        return Err(unknown("u32", word, &U32));
                    }
                }
            }
        }
        if divisor == 0 && !has_match && is_any {
            self.refuse(Some((cursor.at, "a filter `u32` needs a `match`".to_owned())));
        }
        self.detail = Detail::U32 { divisor, table, link };
        Ok(())
    }

    fn fw(&mut self, cursor: &mut Cursor<'_, '_>) -> Result<(), Refusal> {
        let mut mask = None;
        if let Some(handle) = self.handle {
            let wrong = || {
                parser(
                    handle.at,
                    format!("`handle {}` of `fw` is not a mark such as `5` or `0x1/0xff`", *handle),
                )
            };
            let most = u64::from(u32::MAX);
            let (number, own) =
                handle.split_once('/').map_or((handle.value, None), |(number, own)| (number, Some(own)));
            self.number = lex::unsigned(number, 0, most).ok_or_else(wrong)? as u32;
            mask = own
                .map(|own| lex::unsigned(own, 0, most).ok_or_else(wrong))
                .transpose()?
                .map(|mask| mask as u32);
        }
        let mut is_any = false;
        while let Some(word) = cursor.next() {
            is_any = true;
            let is_flow = begun(word.value, &["flowid"]).is_some();
            if is_flow {
                self.class = Some(class_id(cursor, word)?);
            } else if word.value == "indev" {
                cursor.next().ok_or_else(|| missing(word))?;
            } else if !self.common(cursor, word, true)? {
                return Err(unknown("fw", word, &["classid", "flowid", "indev", "police", "action"]));
            }
        }
        if !is_any && self.number > 0 {
            self.refuse(Some((
                cursor.at,
                "a filter `fw` with a handle needs a `classid` or an action".to_owned(),
            )));
        }
        self.detail = if is_any || self.number > 0 { Detail::Fw { mask } } else { Detail::Plain };
        Ok(())
    }

    /// Reads kinds without much of their own.
    fn plain(&mut self, cursor: &mut Cursor<'_, '_>, kind: Located<&str>) -> Result<(), Refusal> {
        if let Some(handle) = self.handle {
            // These kinds take what the number begins with.
            self.number = lex::unsigned(handle.value, 0, u64::from(u32::MAX)).unwrap_or(0) as u32;
        }
        let (name, mut is_any) = (kind.value, false);
        while let Some(word) = cursor.next() {
            is_any = true;
            let is_known = match (name, word.value) {
                ("matchall", "skip_hw" | "verbose") => true,
                ("matchall", "skip_sw") => {
                    self.refuse(Some((word.at, NO_HARDWARE.to_owned())));
                    true
                }
                ("basic" | "cgroup", "match") => {
                    matches::conditions(cursor, word)?;
                    // The parser wants a word after the tree.
                    if cursor.peek().is_none() {
                        let message = format!("`match` of `{name}` must not be the last word");
                        return Err(parser(word.at, message));
                    }
                    true
                }
                (
                    "flow",
                    "hash" | "map" | "baseclass" | "divisor" | "rshift" | "addend" | "keys" | "key" | "mask"
                    | "xor" | "or" | "perturb",
                ) => {
                    flow_word(cursor, word)?;
                    true
                }
                ("route", "from" | "to" | "fromif") | ("tcindex", "hash" | "mask" | "shift") => {
                    value_of(cursor, word)?;
                    true
                }
                ("bpf", _) => return Ok(()),
                ("cgroup" | "flow", "classid" | "flowid") => false,
                _ => {
                    let is_flow = name != "matchall" && begun(word.value, &["flowid"]).is_some();
                    if is_flow {
                        self.class = Some(class_id(cursor, word)?);
                    }
                    is_flow || self.common(cursor, word, name != "matchall")?
                }
            };
            if !is_known {
                return Err(unknown(
                    name,
                    word,
                    &["classid", "flowid", "action", "match", "police", "skip_hw"],
                ));
            }
        }
        let why = match name {
            "matchall" if !is_any => "a filter `matchall` needs a `flowid` or an action",
            "basic" if !is_any => "a filter `basic` needs its words",
            "flow" if !is_any => "a filter `flow` needs its keys",
            "flow" | "cgroup" if self.number == 0 => "a filter of this kind needs a `handle`",
            "route" if self.number > 0 => "the `handle` of `route` is made of its words",
            _ => return Ok(()),
        };
        self.refuse(Some((kind.at, why.to_owned())));
        Ok(())
    }

    fn flower(&mut self, cursor: &mut Cursor<'_, '_>) -> Result<(), Refusal> {
        if let Some(handle) = self.handle {
            let read = lex::unsigned(handle.value, 0, u64::from(u32::MAX));
            self.number = read.ok_or_else(|| {
                parser(handle.at, format!("`handle {}` of `flower` is not a number", *handle))
            })? as u32;
        }
        let mut keys = matches::Flower::new(self.protocol);
        while let Some(word) = cursor.next() {
            match word.value {
                "skip_hw" | "verbose" => {}
                "skip_sw" => self.refuse(Some((word.at, NO_HARDWARE.to_owned()))),
                _ => {
                    if !keys.key(cursor, word)? && !self.common(cursor, word, false)? {
                        return Err(unknown("flower", word, matches::FLOWER));
                    }
                }
            }
        }
        self.detail = Detail::Flower(keys.written);
        Ok(())
    }
}

/// Words of `u32`.
const U32: [&str; 9] = ["match", "divisor", "link", "ht", "hashkey", "flowid", "classid", "police", "action"];

/// Reason for which filters in hardware only are refused.
const NO_HARDWARE: &str = "`skip_sw`: the device has no filters in hardware";

fn unknown(kind: &str, word: Located<&str>, known: &[&'static str]) -> Refusal {
    let refusal = parser(word.at, format!("`{}` of a filter of kind `{kind}` is not known", *word));
    match super::nearest(word.value, known.iter().copied()) {
        Some(near) => refusal.help(format!("did you mean `{near}`?")),
        None if actions::is_action(word.value) => refusal.help(format!("write `action {}`", *word)),
        None => refusal,
    }
}

/// Reads a word of `flow`.
fn flow_word(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<(), Refusal> {
    const KEYS: [&str; 17] = [
        "src",
        "dst",
        "proto",
        "proto-src",
        "proto-dst",
        "iif",
        "priority",
        "mark",
        "nfct",
        "nfct-src",
        "nfct-dst",
        "nfct-proto-src",
        "nfct-proto-dst",
        "rt-classid",
        "sk-uid",
        "sk-gid",
        "vlan-tag",
    ];
    match word.value {
        "hash" | "map" => Ok(()),
        "keys" | "key" => {
            let text = cursor.next().ok_or_else(|| missing(word))?;
            match text.split(',').find(|key| !KEYS.contains(key) && *key != "rxhash") {
                Some(key) => Err(parser(text.at, format!("`{key}` is no key of `flow`"))),
                None => Ok(()),
            }
        }
        "baseclass" => class_id(cursor, word).map(|_| ()),
        _ => {
            let text = cursor.next().ok_or_else(|| missing(word))?;
            let most = u64::from(u32::MAX);
            lex::unsigned(text.value, 0, most)
                .map(|_| ())
                .or_else(|| lex::time(text.value).map(|_| ()))
                .ok_or_else(|| parser(text.at, format!("`{} {}` of `flow` is not valid", *word, *text)))
        }
    }
}
