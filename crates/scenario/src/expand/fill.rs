//! Fills in the values of one member: lists dealt in turn, `$i`, columns of a table, members of groups.

use std::borrow::Cow;
use std::sync::LazyLock;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Groups, Room, Rows, TABLE, TEXT, VALUE};

/// Keys whose value is a list for every member.
const LISTS: [&str; 6] = ["between", "children", "match", "priomap", "quanta", "alternatives"];

/// Returns true if a list at this key of a group is dealt to its members in turn, and false if it is the
/// value of every member.
pub fn is_dealt(key: &str) -> bool {
    !LISTS.contains(&key)
}

/// Returns the group of nodes whose members an entry names as `sub/*`, if any.
pub(super) fn followed<'a>(written: &'a DeTable<'_>) -> Option<&'a str> {
    let ends = ["from", "to"].into_iter().filter_map(|key| written.get(key));
    let between = written.get("between").and_then(|between| between.get_ref().as_array());
    let mut names = ends.chain(between.into_iter().flatten()).filter_map(|end| end.get_ref().as_str());
    names.find_map(|name| name.strip_suffix("/*"))
}

/// Returns true if members of this entry would differ.
pub(super) fn differs(written: &DeTable<'_>) -> bool {
    fn of(value: &DeValue<'_>) -> bool {
        match value {
            DeValue::String(text) => text.contains('$') || text.ends_with("/*"),
            DeValue::Array(list) => list.iter().any(|value| of(value.get_ref())),
            DeValue::Table(table) => table.values().any(|value| of(value.get_ref())),
            _ => false,
        }
    }
    written.iter().any(|(key, value)| {
        of(value.get_ref()) || (is_dealt(key.get_ref()) && value.get_ref().as_array().is_some())
    })
}

/// Returns the names that follow a `$` in a text.
pub(crate) fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|part| {
        let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        &part[..end.unwrap_or(part.len())]
    })
}

/// Key of a rule that orders it among those of all siblings.
const PREFERENCE: &str = "preference";

/// Returns a whole number as a value. The library creates one only from its text.
fn integer(number: u8) -> Option<DeValue<'static>> {
    static TEXTS: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..=u8::MAX).map(|number| number.to_string()).collect());
    DeValue::parse(&TEXTS[usize::from(number)]).ok().map(Spanned::into_inner)
}

/// Returns a rule for each of the addresses that the text at `end` has, with commas between them. Of prefixes
/// in `rows` that contain each other, the rule of the longest comes first.
fn each_address<'i>(
    rule: &Spanned<DeValue<'i>>,
    end: &str,
    rows: Option<&Rows>,
) -> Vec<Spanned<DeValue<'i>>> {
    let DeValue::Table(table) = rule.get_ref() else { return vec![rule.clone()] };
    let Some((key, value)) = table.get_key_value(end) else { return vec![rule.clone()] };
    let text = value.get_ref().as_str().unwrap_or_default();
    let addresses = text.split(',').map(str::trim).filter(|address| !address.is_empty());
    let with = |address: &str| {
        let mut own = table.clone();
        own.remove(end);
        let text = DeValue::String(Cow::Owned(address.to_owned()));
        own.insert(key.clone(), Spanned::new(value.span(), text));
        let preference = rows.and_then(|rows| rows.preference(address)).and_then(integer);
        if let Some(preference) = preference.filter(|_| !own.contains_key(PREFERENCE)) {
            let key = Spanned::new(key.span(), Cow::Borrowed(PREFERENCE));
            own.insert(key, Spanned::new(value.span(), preference));
        }
        Spanned::new(rule.span(), DeValue::Table(own))
    };
    addresses.map(with).collect()
}

/// One member, and what its values may refer to.
pub(super) struct Fill<'f> {
    /// Number within the group, from 1.
    pub(super) number: u32,
    pub(super) groups: &'f Groups,
    pub(super) rows: Option<&'f Rows>,
    /// Memory that the values of all members take.
    pub(super) room: &'f Room,
}

impl Fill<'_> {
    /// Returns the member's value. `deals`: a list gives each member one of its elements.
    pub(super) fn value<'i>(&self, value: &Spanned<DeValue<'i>>, deals: bool) -> Spanned<DeValue<'i>> {
        if !self.room.take(VALUE) {
            return Spanned::new(value.span(), DeValue::Boolean(false));
        }
        let filled = match value.get_ref() {
            DeValue::String(text) => DeValue::String(self.text(text)),
            DeValue::Array(list) if deals && !list.is_empty() => {
                let element = (self.number as usize - 1) % list.len();
                return self.value(&list[element], false);
            }
            DeValue::Array(list) => {
                DeValue::Array(list.iter().map(|value| self.value(value, false)).collect())
            }
            DeValue::Table(table) => {
                self.room.take(TABLE);
                let direction = |key: &str| deals && ["up", "down"].contains(&key);
                let entries = table
                    .iter()
                    .map(|(key, value)| (key.clone(), self.value(value, direction(key.get_ref()))));
                DeValue::Table(entries.collect())
            }
            other => other.clone(),
        };
        Spanned::new(value.span(), filled)
    }

    /// Returns the member's rules. A column of addresses makes a rule for each of them, and none if it is
    /// empty.
    pub(super) fn rules<'i>(&self, value: &Spanned<DeValue<'i>>) -> Spanned<DeValue<'i>> {
        let DeValue::Array(written) = value.get_ref() else { return self.value(value, false) };
        let mut all: Vec<Spanned<DeValue<'i>>> = Vec::new();
        let mut first = None;
        for rule in written {
            let mut filled = vec![self.value(rule, false)];
            for end in ["source", "destination"] {
                let text = rule.get_ref().as_table().and_then(|rule| rule.get(end)?.get_ref().as_str());
                if text.is_some_and(|text| text.contains('$')) {
                    first.get_or_insert_with(|| filled[0].clone());
                    filled = filled.iter().flat_map(|rule| each_address(rule, end, self.rows)).collect();
                }
            }
            all.extend(filled);
        }
        // Without any rule the queue would take every packet: the empty address is an error.
        let rules = if all.is_empty() { first.into_iter().collect() } else { all.into_iter().collect() };
        Spanned::new(value.span(), DeValue::Array(rules))
    }

    /// Returns a text with `$i` and the columns of the table filled in, and `sub/*` as one member.
    fn text<'i>(&self, text: &Cow<'i, str>) -> Cow<'i, str> {
        if let Some(group) = text.strip_suffix("/*")
            && let Some(members) = self.groups.members("node", group)
        {
            return Cow::Owned(format!("{group}/{}", (self.number - 1) % members.max(1) + 1));
        }
        if !self.room.take(TEXT * text.len() as u64) || !text.contains('$') {
            return text.clone();
        }
        let mut parts = text.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            // `$i0` is the member's number with a zero behind it.
            let is_number = part
                .strip_prefix('i')
                .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
            let end = if is_number { 1 } else { end.unwrap_or(part.len()) };
            let (name, rest) = part.split_at(end);
            if let Some(value) = self.variable(name) {
                if !self.room.take(TEXT * value.len() as u64) {
                    break;
                }
                filled += &value;
            } else {
                filled.push('$');
                filled += name;
            }
            filled += rest;
        }
        Cow::Owned(filled)
    }

    /// Returns the name that a text with variables gives to the member.
    pub(super) fn name(&self, text: &str) -> String {
        self.text(&Cow::Borrowed(text)).trim().to_owned()
    }

    fn variable(&self, name: &str) -> Option<Cow<'_, str>> {
        if name == "i" {
            return Some(Cow::Owned(self.number.to_string()));
        }
        self.rows?.get(self.number as usize - 1, name).map(Cow::Borrowed)
    }
}
