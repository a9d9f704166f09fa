//! Paths of single values, such as `link.wan.rate`, and the overrides that set them (`--set`).
//!
//! ```text
//! port.home:server.queue.voice.rate         segments joined by dots
//! port.home->server.queue.voice.rate        the same: a port's other spelling is read, and never printed
//! port."odd.name".root                      a quoted segment may hold dots
//! port.wan.rate                             of the port that names the port `wan` of a policy
//! ```

use core::ops::Range;

use lockgate_engine::port_name;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, Value};

use crate::diagnostic::{Problem, Span};
use crate::file::SECTIONS;
use crate::nearest::suggest;
use crate::table_reader::shorten;

/// Limit on the segments of a path: no value lies deeper.
const MOST_SEGMENTS: usize = 16;

/// The error of a text that is not a path or an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A shell has cut it off at the `>` of a port's name.
    #[error(
        "`{0}-` ends in `-`: a shell took the `>` behind it as a redirection: write `{0}:…` with a colon, or put it in quotes"
    )]
    CutByShell(String),
    /// No `=` between path and value.
    #[error("`{0}` sets nothing: it is written `PATH=VALUE`, such as `link.wan.rate=2mbit`")]
    NoValue(String),
    /// A segment is empty.
    #[error("`{0}` has an empty part: a path is written `link.wan.rate`")]
    Empty(String),
    /// A quote does not end, or text follows it.
    #[error("`{0}` has a quote out of place: a quoted part is written `port.\"a:b\".root`")]
    Quote(String),
    /// More segments than the path of any value has.
    #[error("`{0}` has too many parts: no value lies so deep")]
    TooLong(String),
}

/// Splits a path into segments, with the port's name normalized to a colon.
pub(crate) fn parse(text: &str) -> Result<Vec<String>, PathError> {
    let mut segments = split(text)?;
    canonical(&mut segments);
    Ok(segments)
}

/// Normalizes the name of the port in a path to the spelling with a colon.
pub(crate) fn canonical(segments: &mut [String]) {
    if let [section, port, ..] = segments
        && section == "port"
    {
        *port = port_name::canonical(port).into_owned();
    }
}

/// Returns the key of a table that the path calls `segment`, `walked` segments deep. Ports match in either
/// spelling.
fn written_as<'a>(
    mut keys: impl Iterator<Item = &'a str>,
    section: &str,
    walked: usize,
    segment: &str,
) -> Option<&'a str> {
    let is_port = section == "port" && walked == 1;
    keys.find(|key| *key == segment || (is_port && port_name::canonical(key) == segment))
}

/// Splits `house.toml:wan` into the file and its port, if one is named.
pub(crate) fn split_policy(address: &str) -> (&str, Option<&str>) {
    const END: &str = ".toml";
    match address.find(&format!("{END}:")) {
        Some(at) => (&address[..at + END.len()], Some(&address[at + END.len() + 1..])),
        None if address.ends_with(END) => (address, None),
        None => address.split_once(':').map_or((address, None), |(file, port)| (file, Some(port))),
    }
}

fn split(text: &str) -> Result<Vec<String>, PathError> {
    let mut segments = Vec::new();
    let mut rest = text.trim();
    loop {
        let (segment, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = &rest[1..];
                let end = inner.find(quote).ok_or_else(|| PathError::Quote(shorten(text)))?;
                (&inner[..end], &inner[end + 1..])
            }
            _ => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if segment.trim().is_empty() {
            return Err(PathError::Empty(shorten(text)));
        }
        segments.push(segment.trim().to_owned());
        if segments.len() > MOST_SEGMENTS {
            return Err(PathError::TooLong(shorten(text)));
        }
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(segments),
            None => return Err(PathError::Quote(shorten(text))),
        }
    }
}

/// Joins segments to a path. Quotes a segment if it must, with the kind of quote that it does not contain.
pub fn join(segments: &[String]) -> String {
    let quoted = |segment: &String| match segment {
        plain if !plain.contains(['.', '"', '\'']) => plain.clone(),
        segment if segment.contains('"') => format!("'{segment}'"),
        segment => format!("\"{segment}\""),
    };
    segments.iter().map(quoted).collect::<Vec<_>>().join(".")
}

/// One value of a scenario set from outside: `--set link.wan.rate=2mbit`.
#[derive(Clone, Debug)]
pub struct Override {
    path: Vec<String>,
    /// New value; `None` removes the key.
    value: Option<Value>,
    text: String,
}

impl Override {
    /// Reads `PATH=VALUE`. The value is TOML if it is valid TOML (`16`, `true`, `["a", "b"]`,
    /// `{ kind = "fifo" }`), or else a text (`2mbit`, `fifo`). An absent value (`flow.voice.profile=`)
    /// removes the key from the file.
    ///
    /// # Errors
    /// Fails without a `=`, or without a valid path before it. Reading a scenario checks that the path
    /// exists.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut quote = None;
        let split = text.char_indices().find_map(|(at, letter)| {
            match (quote, letter) {
                (None, '=') => return Some(at),
                (None, '"' | '\'') => quote = Some(letter),
                (Some(open), _) if open == letter => quote = None,
                _ => {}
            }
            None
        });
        let at = split.ok_or_else(|| match port_name::cut_by_shell(text) {
            Some(kept) => PathError::CutByShell(shorten(kept)),
            None => PathError::NoValue(shorten(text)),
        })?;
        Self::new(&text[..at], &text[at + 1..])
    }

    /// Creates an override of `path` by `value`, read as by [`parse`](Self::parse).
    ///
    /// # Errors
    /// Fails if `path` is not a path.
    pub fn new(path: &str, value: &str) -> Result<Self, PathError> {
        let segments = parse(path)?;
        let text = format!("{}={}", path.trim(), value.trim());
        let value = value.trim();
        let value = (!value.is_empty()).then(|| value.parse().unwrap_or_else(|_| Value::from(value)));
        Ok(Self { path: segments, value, text })
    }

    /// Returns the same value at another path.
    #[cfg(feature = "tools")]
    pub(crate) fn at(&self, path: Vec<String>) -> Self {
        let value = self.value.as_ref().map_or_else(String::new, |value| value.to_string().trim().to_owned());
        Self { text: format!("{}={value}", join(&path)), path, value: self.value.clone() }
    }

    /// Returns the segments of the path.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// Returns `PATH=VALUE`, as given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the override as an entry of a `set` table: the path in quotes, and the value as TOML.
    pub fn as_setting(&self) -> String {
        let mut value = self.value.clone().unwrap_or_else(|| Value::from(""));
        value.decor_mut().clear();
        format!("{} = {value}", Value::from(join(&self.path)))
    }

    fn problem(&self, why: &str) -> Problem {
        Problem::new(None, format!("`--set {}` {why}", shorten(&self.text)))
    }

    /// Sets the value in `document`.
    pub(crate) fn apply(&self, document: &mut DocumentMut) -> Result<(), Box<Problem>> {
        let own = self.resolved(document);
        let one = own.as_ref().unwrap_or(self);
        one.create(document);
        one.set(document.as_table_mut(), 0)
    }

    /// Returns the setting of the port in `document` that names the policy's port which the path names:
    /// `port.wan.rate` is that of `[port."router:modem"]` with `policy = "house.toml:wan"`. `None` if the
    /// path names a port of the document, or a policy's port that none or several of its ports name.
    fn resolved(&self, document: &DocumentMut) -> Option<Self> {
        let [section, port, ..] = self.path.as_slice() else { return None };
        if section != "port" {
            return None;
        }
        let mut ports = Vec::new();
        for (name, item) in document.get("port")?.as_table_like()?.iter() {
            if port_name::canonical(name) == *port {
                return None;
            }
            let address = item.as_table_like().and_then(|table| table.get("policy")?.as_str());
            let own = address.and_then(|address| split_policy(address).1);
            if own.is_some_and(|own| port_name::canonical(own) == *port) {
                ports.push(name);
            }
        }
        let [only] = ports.as_slice() else { return None };
        let mut path = self.path.clone();
        path[1] = port_name::canonical(only).into_owned();
        Some(Self { path, ..self.clone() })
    }

    /// Sets the value below `table`, which is the first `walked` segments deep.
    fn set(&self, table: &mut dyn TableLike, walked: usize) -> Result<(), Box<Problem>> {
        let Some(segment) = self.path.get(walked) else {
            return Err(Box::new(self.problem("names a whole entry").help("set a value in it")));
        };
        if walked + 1 == self.path.len() {
            self.put(table, segment);
            return Ok(());
        }
        let keys = table.iter().map(|(key, _)| key);
        let Some(key) = written_as(keys, &self.path[0], walked, segment).map(str::to_owned) else {
            return Err(Box::new(self.absent(walked, table)));
        };
        match table.get_mut(&key) {
            Some(Item::ArrayOfTables(tables)) => {
                let count = tables.len();
                let index = self.path[walked + 1].parse::<usize>().ok();
                if let Some(entry) = index.and_then(|index| tables.get_mut(index)) {
                    self.set(entry, walked + 2)
                } else {
                    let problem = self.problem(&format!("names no entry of `{segment}`"));
                    Err(Box::new(problem.help(format!("there are {count}, counted from 0: `{segment}.0`"))))
                }
            }
            Some(item) => {
                if let Some(inner) = item.as_table_like_mut() {
                    self.set(inner, walked + 1)
                } else {
                    let problem = self.problem(&format!("goes through `{segment}`, which is not a table"));
                    Err(Box::new(
                        problem.help(format!("the path ends there: `{}`", join(&self.path[..=walked]))),
                    ))
                }
            }
            None => Ok(()),
        }
    }

    fn put(&self, table: &mut dyn TableLike, key: &str) {
        let Some(mut value) = self.value.clone() else {
            table.remove(key);
            return;
        };
        match table.get(key).and_then(Item::as_value) {
            Some(old) => *value.decor_mut() = old.decor().clone(),
            None => value.decor_mut().clear(),
        }
        table.insert(key, Item::Value(value));
    }

    /// Creates the tables that a file may leave out: `[record]`, those of ports, that of a queue whose `kind`
    /// is set, and that of a flow whose `from` is.
    fn create(&self, document: &mut DocumentMut) {
        let root = document.as_table_mut();
        match self.path.as_slice() {
            [section, _, ..] if section == "record" && !root.contains_key("record") => {
                root.insert("record", Item::Table(Table::new()));
            }
            [section, member, rest @ ..] if section != "port" && !rest.is_empty() => {
                if let Some(entries) = root.get_mut(section).and_then(Item::as_table_like_mut) {
                    create_member(entries, member);
                    if section == "flow" && *rest == ["from"] && !entries.contains_key(member) {
                        entries.insert(member, Item::Table(Table::new()));
                    }
                    if let Some(entry) = entries.get_mut(member).filter(|_| rest[0] == "clock") {
                        create_tables(entry, rest);
                    }
                }
            }
            [section, port, _, ..] if section == "port" => {
                if !root.contains_key("port") {
                    let mut ports = Table::new();
                    ports.set_implicit(true);
                    root.insert("port", Item::Table(ports));
                }
                let Some(ports) = root.get_mut("port").and_then(Item::as_table_like_mut) else { return };
                let keys = ports.iter().map(|(key, _)| key);
                let key = written_as(keys, section, 1, port).unwrap_or(port).to_owned();
                let port = ports.entry(&key).or_insert_with(|| Item::Table(Table::new()));
                let has_policy = port.as_table_like().is_some_and(|port| port.contains_key("policy"));
                let rest = &self.path[2..];
                if has_policy || rest[0] == "clock" {
                    create_tables(port, rest);
                }
                self.create_queue(port);
            }
            _ => {}
        }
    }

    /// Creates the table `queue` of `port` for a queue that is set, and that of the queue itself if `kind`
    /// is set.
    fn create_queue(&self, port: &mut Item) {
        let [_, _, section, queue, rest @ ..] = self.path.as_slice() else { return };
        let wanted = rest.is_empty() || (rest.len() == 1 && rest[0] == "kind");
        let Some(port) = port.as_table_like_mut().filter(|_| section == "queue") else { return };
        if let Some(queues) = port.get_mut("queue").and_then(Item::as_table_like_mut) {
            create_member(queues, queue);
        }
        if !wanted {
            return;
        }
        let queues = port.entry("queue").or_insert_with(|| {
            let mut queues = Table::new();
            queues.set_implicit(true);
            Item::Table(queues)
        });
        if let Some(queues) = queues.as_table_like_mut().filter(|_| !rest.is_empty())
            && !queues.contains_key(queue)
        {
            queues.insert(queue, Item::Table(Table::new()));
        }
    }

    fn absent(&self, walked: usize, table: &dyn TableLike) -> Problem {
        let segment = &self.path[walked];
        let known: Vec<&str> =
            table.iter().map(|(key, _)| key).chain(SECTIONS.into_iter().filter(|_| walked == 0)).collect();
        let what = match walked {
            0 => "names no part of a scenario".to_owned(),
            _ => format!(
                "names nothing in the file: `{}` has no `{}`",
                join(&self.path[..walked]),
                shorten(segment)
            ),
        };
        let add = match self.path.as_slice() {
            [section, _, queue, name, ..] if section == "port" && queue == "queue" && walked >= 2 => {
                Some(format!(
                    "to add a queue, set its kind first: `--set '{}.kind=fifo'`",
                    join(&[&self.path[..3], core::slice::from_ref(name)].concat())
                ))
            }
            _ => None,
        };
        let near = suggest(segment, known);
        self.problem(&what).help_if(match (near, add) {
            (Some(near), Some(add)) => Some(format!("{near}; {add}")),
            (near, add) => near.or(add),
        })
    }
}

/// Creates the tables in `item` that a path to a value in them goes through.
fn create_tables(mut item: &mut Item, path: &[String]) {
    for segment in path.iter().rev().skip(1).rev() {
        let is_inline = matches!(item, Item::Value(_));
        let Some(table) = item.as_table_like_mut() else { return };
        item = table.entry(segment).or_insert_with(|| {
            if is_inline {
                return Item::Value(Value::InlineTable(toml_edit::InlineTable::new()));
            }
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
    }
}

/// Creates the table of a member of a group of `entries`, such as `call/17`, for the member's own values.
fn create_member(entries: &mut dyn TableLike, member: &str) {
    let Some((group, own)) = member.split_once('/') else { return };
    let has_names =
        || entries.get(group).and_then(Item::as_table_like).is_some_and(|it| it.contains_key("name"));
    let is_member = entries.contains_key(group) && (own.parse::<u32>().is_ok() || has_names());
    if is_member && !entries.contains_key(member) {
        entries.insert(member, Item::Table(Table::new()));
    }
}

/// Returns the overrides with the path of each as `text` has it: a policy's port is that which names it.
pub fn resolved(text: &str, overrides: &[Override]) -> Vec<Override> {
    let document: DocumentMut = text.parse().unwrap_or_default();
    overrides.iter().map(|one| one.resolved(&document).unwrap_or_else(|| one.clone())).collect()
}

/// Returns the text with every override applied, or the problems of the overrides. A text that is not TOML
/// is returned unchanged: reading it gives the errors.
pub(crate) fn apply_all(text: &str, overrides: &[Override]) -> Result<String, Vec<Problem>> {
    if overrides.is_empty() {
        return Ok(text.to_owned());
    }
    let Ok(mut document) = text.parse::<DocumentMut>() else { return Ok(text.to_owned()) };
    let problems: Vec<Problem> =
        overrides.iter().filter_map(|one| one.apply(&mut document).err().map(|problem| *problem)).collect();
    if problems.is_empty() { Ok(document.to_string()) } else { Err(problems) }
}

/// Returns `text`, which is valid, in a form that a `[[change]]` can be appended to: changes written as one
/// inline value, such as an override of all of them, become tables.
pub(crate) fn extensible(text: &str) -> String {
    let is_value = |line: &str| {
        let rest = line.trim_start().strip_prefix("change");
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    if !text.lines().any(is_value) {
        return text.to_owned();
    }
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    let Some(Item::Value(Value::Array(changes))) = document.get("change") else { return text.to_owned() };
    let tables: Option<ArrayOfTables> =
        changes.iter().map(|change| Some(change.as_inline_table()?.clone().into_table())).collect();
    let Some(tables) = tables else { return text.to_owned() };
    document.remove("change");
    if !tables.is_empty() {
        document.insert("change", Item::ArrayOfTables(tables));
    }
    document.to_string()
}

/// Returns the position in `root` of the value of each override, for those that have one.
pub(crate) fn spans(root: &toml::de::DeTable<'_>, overrides: &[Override]) -> Vec<(Span, String)> {
    let find = |one: &Override| -> Option<Range<usize>> {
        let (first, rest) = one.path.split_first()?;
        let mut value = root.get(first.as_str())?;
        for (walked, segment) in rest.iter().enumerate() {
            value = match value.get_ref() {
                toml::de::DeValue::Table(table) => {
                    let keys = table.keys().map(|key| &**key.get_ref());
                    table.get(written_as(keys, first, walked + 1, segment)?)?
                }
                toml::de::DeValue::Array(list) => list.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(value.span())
    };
    overrides.iter().filter_map(|one| Some((find(one)?, one.text.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, set: &str) -> String {
        apply_all(text, &[Override::parse(set).expect("an override")])
            .unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    #[test]
    fn a_change_may_be_written_at_the_end() {
        let kept = "title = \"change = none\"\n[[change]]\nat = \"1s\"\n";
        assert_eq!(extensible(kept), kept);
        assert_eq!(extensible("a = 1\nchange = []\n[node]\nb = {}\n"), "a = 1\n[node]\nb = {}\n");
        let text = "change = [{ at = \"1s\", set = { l.rate = \"1mbit\" } }, { at = \"2s\", set = {} }]\n[node]\nb = {}\n";
        let more = extensible(text) + "[[change]]\nat = \"3s\"\nset = {}\n";
        let (before, after) =
            (text.parse::<toml::Table>().expect("TOML"), more.parse::<toml::Table>().expect("TOML"));
        let changes = |table: &toml::Table| table["change"].as_array().expect("changes").clone();
        assert_eq!(
            (before["node"].clone(), changes(&before)),
            (after["node"].clone(), changes(&after)[..2].to_vec())
        );
        assert_eq!(changes(&after).len(), 3);
    }

    #[test]
    fn what_is_joined_is_split_into_the_same() {
        for segments in
            [["link", "wan", "rate"], ["port", "a.b:c", "x"], ["a \"b\"", "it's", "\"quoted\".name"]]
        {
            let segments: Vec<String> = segments.map(str::to_owned).into();
            assert_eq!(parse(&join(&segments)).as_ref(), Ok(&segments), "{}", join(&segments));
        }
    }

    #[test]
    fn paths_are_split_at_dots_outside_quotes() {
        let parts = |text: &str| parse(text).map(|parts| parts.join("|"));
        assert_eq!(
            parts("port.home->server.queue.voice.rate").as_deref(),
            Ok("port|home:server|queue|voice|rate")
        );
        assert_eq!(parts("port.home:server.root").as_deref(), Ok("port|home:server|root"));
        assert_eq!(parts("port.\"a.b\".root").as_deref(), Ok("port|a.b|root"));
        assert_eq!(parts("a..b"), Err(PathError::Empty("a..b".to_owned())));
        assert_eq!(parts("a.\"b"), Err(PathError::Quote("a.\"b".to_owned())));
        assert_eq!(parts("a.\"b\"c"), Err(PathError::Quote("a.\"b\"c".to_owned())));
        assert!(matches!(Override::parse("duration"), Err(PathError::NoValue(_))));
        // The rest of `port.home->server.root=x` after an unquoted shell redirection.
        let cut = Override::parse("port.home-").expect_err("it is cut off").to_string();
        assert!(cut.contains("write `port.home:…`") && cut.contains("quotes"), "{cut}");
    }

    #[test]
    fn either_spelling_of_a_port_finds_the_other() {
        for written in ["a->b", "a:b"] {
            let text = format!("[port.\"{written}\".queue.q]\nkind = \"fifo\" # here\n");
            for asked in ["a->b", "a:b"] {
                let set = after(&text, &format!("port.{asked}.queue.q.kind=sfq"));
                assert_eq!(set, text.replace("fifo", "sfq"), "{written} asked as {asked}");
            }
        }
    }

    #[test]
    fn a_queue_is_added_by_its_kind() {
        let text = "[port.\"a->b\"]\nroot = \"q\"\n";
        let added = after(text, "port.a:b.queue.q.kind=fifo");
        assert_eq!(added, format!("{text}\n[port.\"a->b\".queue.q]\nkind = \"fifo\"\n"));
        assert!(
            after("", "port.a:b.queue.q.kind=fifo").contains("[port.\"a:b\".queue.q]\nkind = \"fifo\"\n")
        );
        let whole = after(text, "port.a:b.queue.q={ kind = \"sfq\" }");
        let read = |text: &str| text.parse::<toml::Table>().expect("TOML");
        assert_eq!(read(&whole)["port"]["a->b"]["queue"]["q"]["kind"].as_str(), Some("sfq"));
        let wrong = apply_all(text, &[Override::parse("port.a:b.queue.q.limit=5p").expect("an override")]);
        let help = wrong.expect_err("it has no kind")[0].help_text().unwrap_or_default().to_owned();
        assert!(help.contains("`--set 'port.a:b.queue.q.kind=fifo'`"), "{help}");
    }

    #[test]
    fn an_override_changes_its_value_and_nothing_else() {
        let text = "duration = \"10s\" # long\n[link.wan] # slow\nrate = \"1mbit\" # here\n";
        assert_eq!(after(text, "link.wan.rate=2mbit"), text.replace("1mbit", "2mbit"));
        assert_eq!(after(text, "link.wan.delay=5ms"), format!("{text}delay = \"5ms\"\n"));
        assert_eq!(after(text, "duration=20s"), text.replace("10s", "20s"));
        assert!(after(text, "port.a->b.ring=16").ends_with("[port.\"a:b\"]\nring = 16\n"));
        assert!(after(text, "record.packets=true").ends_with("[record]\npackets = true\n"));
        assert_eq!(after("a = 1\nb = 2\n", "a="), "b = 2\n", "no value takes the key away");
        let list = "[[expect]]\nthat = \"x\"\nbelow = \"1ms\"\n";
        assert_eq!(after(list, "expect.0.below=2ms"), list.replace("1ms", "2ms"));
    }

    #[test]
    fn a_path_that_names_nothing_is_answered_with_the_nearest() {
        let text = "[link.wan]\nrate = \"1mbit\"\n";
        let wrong = |set: &str| {
            let problems =
                apply_all(text, &[Override::parse(set).expect("an override")]).expect_err("must be refused");
            format!("{} / {}", problems[0].message(), problems[0].help_text().unwrap_or_default())
        };
        assert!(wrong("link.wam.rate=2mbit").contains("`link` has no `wam` / did you mean `wan`?"));
        assert!(wrong("lnik.wan.rate=2mbit").ends_with("did you mean `link`?"));
        assert!(wrong("link.wan.rate.x=2").contains("`link.wan.rate`"));
    }
}
