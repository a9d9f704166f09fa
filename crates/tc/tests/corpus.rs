//! Verdicts of `tc check` beside those of a real `tc` and a real kernel (tests/corpus).

use std::collections::{BTreeMap, BTreeSet};

use lockgate_tc::lint::{self, Finding, Machine, Severity};
use lockgate_tc::read;

const CORPUS: &str = include_str!("corpus/verdicts.txt");

/// Lines on which the two differ, each with the reason.
const DIFFERENCES: &str = include_str!("corpus/differences.txt");

/// Line of a script and the verdict on it: `.` taken, `p` refused by the parser, `k` by the kernel, `-` no
/// command.
type Line<'a> = (char, &'a str);

fn scripts() -> Vec<(&'static str, Vec<Line<'static>>)> {
    let mut all = Vec::new();
    for block in CORPUS.split("\n= ").skip(1) {
        let mut lines = block.lines();
        let name = lines.next().unwrap_or_default();
        let line = |line: &'static str| {
            let (verdict, text) = line.split_once('\t').unwrap_or(("-", ""));
            (verdict.chars().next().unwrap_or('-'), text)
        };
        all.push((name, lines.map(line).collect()));
    }
    all
}

/// Returns the verdict of `tc check` on each line.
fn verdicts(lines: &[Line<'_>]) -> Vec<(char, String)> {
    let text: Vec<&str> = lines.iter().map(|(_, text)| *text).collect();
    let reading = read(&text.join("\n"), &[], "eth0");
    let findings = lint::check(&reading, &Machine::default());
    let mut own = vec![('.', String::new()); lines.len()];
    // The kernel takes a filter to a class that is not there, and does something else than it says.
    let is_refusal =
        |finding: &&Finding| finding.severity == Severity::Error && finding.rule != "class-absent";
    for finding in findings.iter().filter(is_refusal) {
        let by_kernel = finding.rule == "kernel";
        if let Some(own) = own.get_mut((finding.at.line as usize).wrapping_sub(1))
            && own.0 == '.'
        {
            *own = (if by_kernel { 'k' } else { 'p' }, finding.message.clone());
        }
    }
    own
}

#[test]
fn verdicts_are_those_of_tc_and_the_kernel() {
    let listed: BTreeSet<&str> =
        DIFFERENCES.lines().filter_map(|line| line.split_once('\t')).map(|(place, _)| place).collect();
    let (mut count, mut found, mut kinds) = (0, BTreeMap::new(), BTreeMap::<&str, [u32; 4]>::new());
    let mut apart = 0;
    for (name, lines) in scripts() {
        let own = verdicts(&lines);
        for (index, ((verdict, text), (own, why))) in lines.iter().zip(own).enumerate() {
            if *verdict == '-' {
                continue;
            }
            count += 1;
            let family = kinds.entry(name.split('-').next().unwrap_or_default()).or_default();
            family[0] += 1;
            let agrees = (*verdict == '.') == (own == '.');
            family[1] += u32::from(agrees);
            family[2] += u32::from(*verdict == own);
            apart += u32::from(*verdict == own);
            if !agrees {
                found.insert(format!("{name}:{}", index + 1), format!("{verdict} not {own}\t{text}\t{why}"));
            }
        }
    }
    let agreed = count - found.len();
    println!("{agreed} of {count} lines agree, {apart} by the same author");
    for (family, [lines, agree, same, _]) in &kinds {
        println!("{family:10} {lines:5} {agree:5} {same:5}");
    }
    if let Ok(file) = std::env::var("DIFFERENCES") {
        let all: Vec<String> = found.iter().map(|(place, what)| format!("{place}\t{what}")).collect();
        std::fs::write(file, all.join("\n")).unwrap();
    }
    let unlisted: Vec<_> = found.iter().filter(|(place, _)| !listed.contains(place.as_str())).collect();
    let healed: Vec<_> = listed.iter().filter(|place| !found.contains_key(**place)).collect();
    assert!(unlisted.is_empty(), "not in differences.txt: {unlisted:#?}");
    assert!(healed.is_empty(), "these agree now, and stand in differences.txt: {healed:?}");
    assert!(count >= 3000 && agreed * 100 >= count * 99, "{agreed} of {count} agree");
}
