//! Checks expectations on the results: addresses, bounds and their units.

use core::str::FromStr;

use lockgate_engine::units::{Bytes, Duration, Packets, Rate};
use lockgate_measure::bufferbloat::Grade;
use lockgate_measure::metric::{Address, Quantity, Subject, check_path, is_pattern};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flows::{Flows, Group};
use super::ports::Ports;
use super::{Checker, section_of};
use crate::diagnostic::{Problem, Span, one_line};
use crate::expect::{Bound, Expected, Names, Unit};
use crate::file::{ExpectTable, Raw};
use crate::table_reader::{TableLocation, shorten};

/// Returns the lines of `text`, from 1, at which the expectations of `root` begin, in their order.
pub(crate) fn lines(root: &DeTable<'_>, text: &str) -> Vec<u64> {
    let expects = root.get("expect").and_then(|expects| expects.get_ref().as_array());
    let (mut reached, mut line) = (0, 1);
    let count = |from: usize, to: usize| {
        text.get(from..to).map_or(0, |passed| passed.bytes().filter(|byte| *byte == b'\n').count())
    };
    let of = |expect: &Spanned<DeValue<'_>>| {
        let start = expect.span().start.max(reached);
        line += count(reached, start) as u64;
        reached = start;
        line
    };
    expects.into_iter().flatten().map(of).collect()
}

/// A key with one bound: its name, its value, and the constructor of its bound.
type Single<'a> = (&'static str, Option<&'a Raw>, fn(f64) -> Bound);

impl Checker<'_> {
    /// Reads the expectations; `times`: the warm-up and the length of the run.
    pub(super) fn expects(
        &mut self,
        root: &DeTable<'_>,
        ports: &Ports,
        flows: &Flows,
        times: Option<(Duration, Duration)>,
    ) -> Vec<Expected> {
        let tables = self.list(root, "expect");
        if tables.is_empty() {
            return Vec::new();
        }
        let flows: Vec<String> = flows.groups.iter().flat_map(Group::all_names).collect();
        let ports: Vec<(String, Vec<String>)> =
            ports.models.iter().map(|port| (port.name.clone(), port.queues.clone())).collect();
        let written = section_of(root, "flow").and_then(|section| section.get_ref().as_table());
        let known = Known {
            names: Names { flows: &flows, ports: &ports },
            written: written.into_iter().flatten().map(|(name, _)| name.get_ref().as_ref()).collect(),
            is_whole: self.problems.is_empty(),
            has_adversary: root.contains_key("adversary"),
        };
        let mut expects = Vec::new();
        for (index, (table, header)) in tables.into_iter().enumerate() {
            let location = TableLocation { what: "this `expect`", table, header: &header };
            let expect = self.expect(location, &known);
            self.check_parts(location, expect.as_ref(), times);
            let line = self.expect_lines.get(index).copied();
            expects.extend(expect.map(|expect| Expected { line, ..expect }));
        }
        expects
    }

    /// Checks that the run has the parts that an expectation names.
    fn check_parts(
        &mut self,
        location: TableLocation<'_, '_>,
        expect: Option<&Expected>,
        times: Option<(Duration, Duration)>,
    ) {
        let (Some(expect), Some((warmup, length))) = (expect, times) else { return };
        let Ok(quantity) = Quantity::parse(&expect.that) else { return };
        let parts = quantity.addresses().filter_map(|address| address.during);
        for why in parts.filter_map(|part| part.outside(warmup, length)) {
            let problem = Problem::new(location.value("that"), why);
            self.note(problem.help(format!("name a part between {warmup} and {length}")));
        }
    }

    /// Reads one expectation.
    fn expect(&mut self, location: TableLocation<'_, '_>, known: &Known<'_>) -> Option<Expected> {
        let noted = self.problems.len();
        let table: ExpectTable = self.whole(location)?;
        let unit = match check_path(&table.that, &known.names) {
            Ok(unit) => Some(unit),
            Err(_) if known.may_be_right(&table.that) => {
                Quantity::parse(&table.that).ok().map(|quantity| quantity.unit())
            }
            Err(why) => {
                let problem = Problem::new(
                    location.value("that"),
                    format!("there is no metric `{}`", shorten(&table.that)),
                );
                self.note(problem.help(why.help()));
                return None;
            }
        };
        let bounds = self.bounds(&table, unit, location, noted);
        let held_by = table.held_by.as_ref().and_then(|raw| self.held_by(raw, &table.that, location));
        if table.proven {
            self.check_proven(&table.that, &bounds, location);
        }
        let is_valid = self.problems.len() == noted;
        is_valid.then_some(Expected {
            that: table.that,
            bounds,
            criterion: table.criterion,
            name: table.name.map(|name| one_line(&name).into_owned()),
            line: None,
            held_by,
            grade: table.grade,
            proven: table.proven,
        })
    }

    /// Reads the bounds of an expectation, at least one; `noted` problems were found before it.
    fn bounds(
        &mut self,
        table: &ExpectTable,
        unit: Option<Unit>,
        location: TableLocation<'_, '_>,
        noted: usize,
    ) -> Vec<Bound> {
        let mut bounds = Vec::new();
        let mut has_bound = table.between.is_some();
        let single: [Single<'_>; 4] = [
            ("below", table.below.as_ref(), Bound::Below),
            ("above", table.above.as_ref(), Bound::Above),
            ("at_most", table.at_most.as_ref(), Bound::AtMost),
            ("at_least", table.at_least.as_ref(), Bound::AtLeast),
        ];
        for (key, raw, bound) in single {
            if let Some(raw) = raw {
                bounds.extend(self.bound(raw, unit, &table.that, location.value(key)).map(bound));
                has_bound = true;
            }
        }
        if let Some(between) = table.between.as_deref() {
            bounds.extend(self.between(between, unit, &table.that, location));
        }
        if is_empty(&bounds) {
            let problem = Problem::new(location.header.clone(), "no value keeps all bounds of this `expect`");
            self.note(problem.help("the lower bound is below the upper one"));
        }
        if let Some(grade) = table.grade {
            if has_bound {
                let problem = Problem::new(location.key("grade"), "a grade is a bound of its own");
                self.note(problem.help("leave the other bounds out, or write a second `[[expect]]`"));
            }
            bounds.extend(self.grade(grade, unit, location));
            has_bound = true;
        }
        if !has_bound && self.problems.len() == noted {
            let problem = Problem::new(location.header.clone(), "this `expect` has no bound");
            self.note(problem.help("add `below`, `above`, `at_most`, `at_least`, `between` or `grade`"));
        }
        bounds
    }

    /// Reads the fraction of several flows or queues that keep a bound.
    fn held_by(&mut self, raw: &Raw, that: &str, location: TableLocation<'_, '_>) -> Option<f64> {
        let fraction = self.bound(raw, Some(Unit::Ratio), "held_by", location.value("held_by"))?;
        let is_many =
            Address::parse(that).is_ok_and(|address| address.is_many() && address.member_statistic.is_none());
        if !(is_many && fraction > 0.0 && fraction <= 1.0) {
            let problem =
                Problem::new(location.key("held_by"), "`held_by` is a part of several flows or queues");
            let help = "write it like `99%`, beside an address such as `flow.call/*.loss`";
            self.note(problem.help(help));
        }
        Some(fraction)
    }

    /// Checks that what must be proven is an upper bound on a delay of flows.
    fn check_proven(&mut self, that: &str, bounds: &[Bound], location: TableLocation<'_, '_>) {
        let is_delay = Quantity::parse(that).is_ok_and(|quantity| {
            let address = &quantity.of;
            let named = ["owd", "owd.bound"].contains(&address.metric.name);
            quantity.less.is_none() && named && address.during.is_none()
        });
        let is_upper = bounds.iter().all(|bound| matches!(bound, Bound::Below(_) | Bound::AtMost(_)));
        if is_delay && is_upper {
            return;
        }
        let wrong =
            if is_delay { "a proof bounds a delay from above" } else { "only delays of flows are proven" };
        let problem = Problem::new(location.value("proven"), wrong);
        self.note(
            problem.help("write `that = \"flow.call.owd.max\"`, `at_most = \"20ms\"` and `proven = true`"),
        );
    }

    /// Returns the bound of a grade.
    fn grade(&mut self, grade: Grade, unit: Option<Unit>, location: TableLocation<'_, '_>) -> Option<Bound> {
        let wrong = match (unit, grade.limit()) {
            (Some(unit), _) if unit != Unit::Seconds => "a grade is of a time",
            (_, None) => "every line has the grade `F` or a better one",
            (_, Some(limit)) => return Some(Bound::Below(limit)),
        };
        let help =
            "write `grade = \"A\"` beside `that = \"flow.loaded.rtt.p95 - flow.idle.rtt.p50\"`, for example";
        self.note(Problem::new(location.value("grade"), wrong).help(help));
        None
    }

    /// Reads the two bounds of `between`.
    fn between(
        &mut self,
        raw: &[Raw],
        unit: Option<Unit>,
        that: &str,
        location: TableLocation<'_, '_>,
    ) -> Option<Bound> {
        let [low, high] = raw else {
            let wrong = format!("`between` has two bounds, not {}", raw.len());
            self.note(
                Problem::new(location.value("between"), wrong).help("write `between = [\"5ms\", \"20ms\"]`"),
            );
            return None;
        };
        let low = self.bound(low, unit, that, location.element("between", 0));
        let high = self.bound(high, unit, that, location.element("between", 1));
        let (low, high) = low.zip(high)?;
        if low > high {
            let problem = Problem::new(location.value("between"), "no value is between these bounds");
            self.note(problem.help("write the lower bound first"));
            return None;
        }
        Some(Bound::Between(low, high))
    }

    /// Reads a bound, in base units.
    fn bound(&mut self, raw: &Raw, unit: Option<Unit>, that: &str, span: Span) -> Option<f64> {
        let read = match unit {
            Some(unit) => in_unit(raw, unit, that),
            None => in_any_unit(raw),
        };
        read.map_err(|(wrong, allowed)| self.note(Problem::new(span, wrong).help(allowed))).ok()
    }
}

/// Objects that an expectation may address.
struct Known<'a> {
    names: Names<'a>,
    /// Flows as the file names them, also those that could not be read.
    written: Vec<&'a str>,
    /// True if the rest of the file has no problem: there are no other objects.
    is_whole: bool,
    has_adversary: bool,
}

impl Known<'_> {
    /// Returns true if an address that was not found may be right once the other problems of the file are
    /// mended.
    fn may_be_right(&self, that: &str) -> bool {
        let Ok(quantity) = Quantity::parse(that) else { return false };
        let is_open = |subject: &Subject| match subject {
            Subject::Flow(name) | Subject::Group(name) | Subject::Bin(name, _) => {
                let root = name.split('/').next().unwrap_or_default();
                let is_written = |flow: &str| flow.split('/').next() == Some(root);
                // Patterns, flows of an adversary and of a controller's probes are known only as a whole.
                is_pattern(name)
                    || self.has_adversary
                    || root.starts_with("probe-")
                    || self.written.iter().any(|flow| is_written(flow))
            }
            Subject::Run | Subject::Port(_) | Subject::Queue(..) => true,
        };
        !self.is_whole && quantity.addresses().all(|address| is_open(&address.subject))
    }
}

/// True if no value is within all bounds.
fn is_empty(bounds: &[Bound]) -> bool {
    let ends = |bound: &Bound| match *bound {
        Bound::Below(high) | Bound::AtMost(high) => (f64::NEG_INFINITY, high),
        Bound::Above(low) | Bound::AtLeast(low) => (low, f64::INFINITY),
        Bound::Between(low, high) => (low, high),
    };
    let low = bounds.iter().map(|bound| ends(bound).0).fold(f64::NEG_INFINITY, f64::max);
    let high = bounds.iter().map(|bound| ends(bound).1).fold(f64::INFINITY, f64::min);
    // Bounds that do not contain their ends may meet, but then nothing is in between.
    low >= high && !bounds.iter().all(|bound| bound.holds(low))
}

type Wrong = (String, String);

fn in_unit(raw: &Raw, unit: Unit, that: &str) -> Result<f64, Wrong> {
    let that = shorten(that);
    let (what, example) = match unit {
        Unit::Seconds => ("a time", "`20ms`"),
        Unit::BitsPerSecond => ("a rate", "`10mbit`"),
        Unit::Bytes => ("a size", "`64kB`"),
        Unit::Packets => ("a number of packets", "`100p`"),
        Unit::Ratio => ("a fraction", "`0.01` or `1%`"),
        Unit::Number => ("a number", "`0.95`"),
    };
    let wrong =
        |detail: String| (format!("`{that}` is {what}, and `{}` is none", shorten(&raw.to_string())), detail);
    let plain = || format!("write it like {example}");
    match (unit, raw) {
        (Unit::Seconds, Raw::Text(text)) => read::<Duration>(text).map(Duration::as_secs_f64).map_err(wrong),
        (Unit::BitsPerSecond, Raw::Text(text)) => {
            read::<Rate>(text).map(|rate| rate.as_bits() as f64).map_err(wrong)
        }
        (Unit::Bytes, Raw::Text(text)) => read::<Bytes>(text).map(|bytes| bytes.0 as f64).map_err(wrong),
        (Unit::Packets, Raw::Text(text)) => {
            read::<Packets>(text).map(|packets| packets.0 as f64).map_err(wrong)
        }
        // A percentage of one: Jain's index may be written so.
        (Unit::Ratio | Unit::Number, Raw::Text(text)) => ratio(text).ok_or_else(|| wrong(plain())),
        (Unit::Ratio | Unit::Number, Raw::Number(number)) if number.is_finite() => Ok(*number),
        (Unit::Seconds | Unit::BitsPerSecond | Unit::Bytes | Unit::Packets, Raw::Number(_)) => {
            Err(wrong(format!("it needs a unit: write it like {example}")))
        }
        _ => Err(wrong(plain())),
    }
}

/// Reads a bound without knowing the unit of its metric: the unit of the value decides.
fn in_any_unit(raw: &Raw) -> Result<f64, Wrong> {
    match raw {
        Raw::Number(number) if number.is_finite() => Ok(*number),
        Raw::Number(number) => {
            Err((format!("`{number}` is not a bound"), "a bound is a finite number".to_owned()))
        }
        Raw::Text(text) => read::<Duration>(text)
            .map(Duration::as_secs_f64)
            .or_else(|_| read::<Bytes>(text).map(|bytes| bytes.0 as f64))
            .or_else(|_| read::<Packets>(text).map(|packets| packets.0 as f64))
            .or_else(|why| ratio(text).ok_or(why))
            .or_else(|_| read::<Rate>(text).map(|rate| rate.as_bits() as f64))
            .map_err(|why| {
                let allowed = if why.contains("bytes") && why.contains("bits") {
                    why
                } else {
                    "write it with its unit, such as `20ms`, `10mbit`, `64kB`, `100p` or `1%`; or as a number"
                        .to_owned()
                };
                (format!("`{}` is not a bound", shorten(text)), allowed)
            }),
    }
}

/// Parses a number in quotes, or a percentage: `1%` is 0.01. A ratio may exceed 1, so this is not a
/// probability.
fn ratio(text: &str) -> Option<f64> {
    let (number, whole) = text.trim().strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let number: f64 = number.trim().parse().ok()?;
    Some(number / whole).filter(|ratio| ratio.is_finite())
}

fn read<T: FromStr>(text: &str) -> Result<T, String>
where
    T::Err: core::fmt::Display,
{
    text.parse().map_err(|error: T::Err| {
        let said = error.to_string();
        said.split_once("`: ")
            .or_else(|| said.split_once(": "))
            .map_or(said.clone(), |(_, why)| why.to_owned())
    })
}
