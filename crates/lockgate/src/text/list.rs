//! Lists of disciplines, distributions, traffic profiles and metrics, and an entry of them in full, as text.

use lockgate_engine::disciplines::Family;
use lockgate_measure::metric::{METRICS, MemberStatistic, Statistic};
use lockgate_scenario::reference::{Parameter, Reference, reference, references};
use lockgate_scenario::tables::{TableReference, tables};
use lockgate_traffic::{laws, profile};

use super::lines::Lines;

/// Adds the list of this name, the keys of a table of scenario files, or a discipline's parameters and
/// guarantees. Returns false if nothing has this name.
pub fn list(name: &str, lines: &mut Lines) -> bool {
    match name {
        "disciplines" => disciplines(lines),
        "distributions" => distributions(lines),
        "profiles" => profiles(lines),
        "metrics" => metrics(lines),
        name => match (tables().into_iter().find(|table| table.name == name), reference(name)) {
            (Some(table), _) => keys(&table, lines),
            (None, Some(reference)) => discipline(&reference, lines),
            (None, None) => return false,
        },
    }
    true
}

fn disciplines(lines: &mut Lines) {
    let references = references();
    for family in Family::ALL {
        let members = references.iter().filter(|reference| reference.family == family.name());
        let row = |reference: &Reference| {
            vec![
                reference.kind.to_owned(),
                reference.summary.to_owned(),
                reference.children_briefly().to_owned(),
            ]
        };
        lines.heading(family.name());
        lines.words(&["kind", "does", "children"], &members.map(row).collect::<Vec<_>>());
    }
    lines.line("");
    lines.sentence(
        "`lockgate list KIND` shows source, parameters, guarantees and an example; see also distributions, profiles, metrics",
    );
}

fn distributions(lines: &mut Lines) {
    let rows: Vec<Vec<String>> = laws::descriptions()
        .iter()
        .map(|law| {
            let parameters: Vec<String> =
                law.parameters.iter().map(|parameter| parameter.field.name().to_owned()).collect();
            vec![law.name.to_owned(), law.summary.to_owned(), parameters.join(", "), law.source.to_owned()]
        })
        .collect();
    lines.words(&["distribution", "what", "parameters", "source"], &rows);
    lines.line("");
    lines.line("example: gap = { distribution = \"exponential\", mean = \"20ms\" }");
}

fn profiles(lines: &mut Lines) {
    let rows: Vec<Vec<String>> = profile::descriptions()
        .iter()
        .map(|profile| vec![profile.name.to_owned(), profile.summary.to_owned(), profile.source.to_owned()])
        .collect();
    lines.words(&["profile", "what", "source"], &rows);
    lines.line("");
    lines.line("example: profile = \"g711\"");
}

fn metrics(lines: &mut Lines) {
    let rows: Vec<Vec<String>> = METRICS
        .iter()
        .map(|metric| {
            let about = format!("{:?}", metric.about()).to_lowercase();
            let statistic = if metric.is_distribution() { ".mean .p99 ..." } else { "" };
            vec![
                format!("{}{statistic}", metric.name),
                about,
                metric.unit.symbol().to_owned(),
                metric.definition.to_owned(),
                metric.source.to_owned(),
            ]
        })
        .collect();
    lines.words(&["metric", "of a", "unit", "definition", "source"], &rows);
    let statistics = Statistic::ALL.map(|(_, name)| name).join(", ");
    lines.line("");
    lines.sentence(&format!(
        "a distribution has one of: {statistics}\n\
         over several flows or queues follows one of: {}\n\
         examples: flow.voice.owd.p99, port.home:server.queue.voice.sojourn.p99, group.call.owd.p99.worst, \
         group.backup.goodput.sum, flow.*.loss.mean",
        MemberStatistic::names()
    ));
}

/// Adds the keys of a table of scenario files.
fn keys(table: &TableReference, lines: &mut Lines) {
    lines.heading(&format!("{}: {}", table.name, table.notation));
    lines.sentence(&table.doc);
    if !table.notes.is_empty() {
        lines.sentence(table.notes);
    }
    parameters("keys", &table.keys, lines);
}

fn discipline(reference: &Reference, lines: &mut Lines) {
    lines.heading(&format!("{}: {}", reference.kind, reference.summary));
    lines.sentence(&format!("family: {}", reference.family));
    lines.sentence(&format!("source: {}", reference.source));
    lines.sentence(&format!("children: {}", reference.children));
    let conserving = if reference.work_conserving { "yes" } else { "no: it makes packets wait" };
    lines.sentence(&format!("work conserving: {conserving}"));
    let reorders = if reference.reorders { "yes" } else { "no" };
    lines.line(&format!("packets of one flow may overtake each other: {reorders}"));
    lines.heading("guarantees");
    for guarantee in reference.guarantees {
        lines.sentence(&format!("- {} ({})", guarantee.statement, guarantee.oracles.join(", ")));
    }
    parameters("parameters", &reference.parameters, lines);
    parameters("written on each child", &reference.shares, lines);
    lines.heading("example");
    reference.template().trim_end().lines().for_each(|line| lines.line(line));
}

fn parameters(title: &str, parameters: &[Parameter], lines: &mut Lines) {
    if parameters.is_empty() {
        return;
    }
    lines.heading(title);
    let rows: Vec<Vec<String>> = parameters
        .iter()
        .map(|parameter| {
            let default = match (&parameter.default, parameter.required) {
                (Some(default), _) => default.clone(),
                (None, true) => "required".to_owned(),
                (None, false) => "-".to_owned(),
            };
            vec![parameter.name.clone(), parameter.takes.clone(), default, parameter.doc.clone()]
        })
        .collect();
    lines.words(&["name", "takes", "default", "what"], &rows);
}
