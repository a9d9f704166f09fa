//! `lockgate list`: disciplines, distributions, traffic profiles, metrics, and tables of scenario files.

use lockgate_engine::disciplines::Family;
use lockgate_measure::metric::{METRICS, MemberStatistic, Statistic};
use lockgate_scenario::nearest;
use lockgate_scenario::reference::{Parameter, Reference, reference, references};
use lockgate_scenario::tables::{TableReference, tables};
use lockgate_traffic::{laws, profile};
use serde_json::json;

use crate::arguments::List;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::terminal;

pub(crate) fn list(arguments: &List) -> Result<Exit, Failure> {
    let name = arguments.name.as_deref().unwrap_or("disciplines");
    if arguments.json {
        crate::results::print_json(&document(name)?)?;
        return Ok(Exit::Ok);
    }
    match name {
        "disciplines" => disciplines(),
        "distributions" => distributions(),
        "profiles" => profiles(),
        "metrics" => metrics(),
        name => match (tables().into_iter().find(|table| table.name == name), reference(name)) {
            (Some(table), _) => keys(&table),
            (None, Some(reference)) => discipline(&reference),
            (None, None) => return Err(unknown(name)),
        },
    }
    Ok(Exit::Ok)
}

fn unknown(name: &str) -> Failure {
    let all = names();
    let help = match nearest(name, all.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? `lockgate list` shows the disciplines"),
        None => format!(
            "`lockgate list` shows the disciplines; other lists are {}, and the tables of a file: {}",
            LISTS[1..].join(", "),
            tables().iter().map(|table| table.name).collect::<Vec<_>>().join(", ")
        ),
    };
    Failure::usage(format!("there is no list and no discipline called `{name}`"), help)
}

/// Lists that are neither of a discipline nor of a table.
const LISTS: [&str; 4] = ["disciplines", "distributions", "profiles", "metrics"];

/// Returns everything that `lockgate list` can be asked for.
pub(crate) fn names() -> Vec<String> {
    let lists = LISTS.into_iter().map(str::to_owned);
    lists.chain(kinds()).chain(tables().into_iter().map(|table| table.name.to_owned())).collect()
}

/// Returns the kinds of disciplines.
pub(crate) fn kinds() -> Vec<String> {
    references().into_iter().map(|reference| reference.kind.to_owned()).collect()
}

fn document(name: &str) -> Result<serde_json::Value, Failure> {
    Ok(match name {
        "disciplines" => json!(references()),
        "distributions" => json!(
            laws::descriptions()
                .iter()
                .map(|law| json!({ "name": law.name, "summary": law.summary, "source": law.source }))
                .collect::<Vec<_>>()
        ),
        "profiles" => json!(
            profile::descriptions()
                .iter()
                .map(|profile| json!({ "name": profile.name, "summary": profile.summary, "source": profile.source }))
                .collect::<Vec<_>>()
        ),
        "metrics" => json!(METRICS),
        name => match tables().into_iter().find(|table| table.name == name) {
            Some(table) => json!(table),
            None => json!(reference(name).ok_or_else(|| unknown(name))?),
        },
    })
}

fn disciplines() {
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
        terminal::heading(family.name());
        terminal::words(&["kind", "does", "children"], &members.map(row).collect::<Vec<_>>());
    }
    say!();
    terminal::sentence(
        "`lockgate list KIND` shows source, parameters, guarantees and an example; see also distributions, profiles, metrics",
    );
}

fn distributions() {
    let rows: Vec<Vec<String>> = laws::descriptions()
        .iter()
        .map(|law| {
            let parameters: Vec<String> =
                law.parameters.iter().map(|parameter| parameter.field.name().to_owned()).collect();
            vec![law.name.to_owned(), law.summary.to_owned(), parameters.join(", "), law.source.to_owned()]
        })
        .collect();
    terminal::words(&["distribution", "what", "parameters", "source"], &rows);
    say!("\nexample: gap = {{ distribution = \"exponential\", mean = \"20ms\" }}");
}

fn profiles() {
    let rows: Vec<Vec<String>> = profile::descriptions()
        .iter()
        .map(|profile| vec![profile.name.to_owned(), profile.summary.to_owned(), profile.source.to_owned()])
        .collect();
    terminal::words(&["profile", "what", "source"], &rows);
    say!("\nexample: profile = \"g711\"");
}

fn metrics() {
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
    terminal::words(&["metric", "of a", "unit", "definition", "source"], &rows);
    let statistics = Statistic::ALL.map(|(_, name)| name).join(", ");
    say!();
    terminal::sentence(&format!(
        "a distribution has one of: {statistics}\n\
         over several flows or queues follows one of: {}\n\
         examples: flow.voice.owd.p99, port.home:server.queue.voice.sojourn.p99, group.call.owd.p99.worst, \
         group.backup.goodput.sum, flow.*.loss.mean",
        MemberStatistic::names()
    ));
}

/// Prints the keys of a table of scenario files.
fn keys(table: &TableReference) {
    terminal::heading(&format!("{}: {}", table.name, table.notation));
    terminal::sentence(&table.doc);
    if !table.notes.is_empty() {
        terminal::sentence(table.notes);
    }
    parameters("keys", &table.keys);
}

fn discipline(reference: &Reference) {
    terminal::heading(&format!("{}: {}", reference.kind, reference.summary));
    terminal::sentence(&format!("family: {}", reference.family));
    terminal::sentence(&format!("source: {}", reference.source));
    terminal::sentence(&format!("children: {}", reference.children));
    let conserving = if reference.work_conserving { "yes" } else { "no: it makes packets wait" };
    terminal::sentence(&format!("work conserving: {conserving}"));
    say!("packets of one flow may overtake each other: {}", if reference.reorders { "yes" } else { "no" });
    terminal::heading("guarantees");
    for guarantee in reference.guarantees {
        terminal::sentence(&format!("- {guarantee}"));
    }
    parameters("parameters", &reference.parameters);
    parameters("written on each child", &reference.shares);
    terminal::heading("example");
    say!("{}", reference.template().trim_end());
}

fn parameters(title: &str, parameters: &[Parameter]) {
    if parameters.is_empty() {
        return;
    }
    terminal::heading(title);
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
    terminal::words(&["name", "takes", "default", "what"], &rows);
}
