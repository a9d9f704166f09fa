//! Reference pages in Markdown: disciplines, traffic and metrics, from the lists that they describe.

use std::collections::BTreeMap;
use std::fmt::Write;

use lockgate_measure::metric::{METRICS, MemberStatistic, Statistic};
use lockgate_traffic::{laws, profile};

use super::{Parameter, Reference, references};

/// Head of the page: what holds for every kind, and the parameters that a queue and its parent share.
const SHARES: &str = r#"
Unless its list says otherwise a kind has no children, is work conserving, and keeps the order of a flow. Behind a
parameter stand its type and its default.

A queue's table holds its own parameters and, beside them, what its parent must know of it (below each parent under
*Written on each child*). Where both have a parameter of one name, the value beside is the queue's own, and the
parent's stands in `share`:

```
[port."a:b".queue.bulk]        # a child of an `htb`
kind = "fq_codel"
quantum = "300B"               # of fq_codel's flows
rate = "5mbit"                 # only htb has a rate: no doubt
share = { quantum = "1514B" }  # of htb's class
```

`lockgate check` warns where the parent goes without.
"#;

/// Returns the reference page of the disciplines, in Markdown, without a head.
pub fn disciplines() -> String {
    let mut page = format!("# Disciplines\n{SHARES}");
    let mut described = BTreeMap::new();
    for mut reference in references() {
        for parameter in reference.parameters.iter_mut().chain(&mut reference.shares) {
            refer(parameter, reference.kind, &mut described);
        }
        discipline(&mut page, &reference);
    }
    page
}

/// Replaces the description of a parameter by the kind that had the same before, unless it is short.
fn refer(parameter: &mut Parameter, kind: &'static str, described: &mut BTreeMap<String, &'static str>) {
    const SHORT: usize = 40;
    if parameter.doc.len() > SHORT {
        let first = *described.entry(parameter.doc.clone()).or_insert(kind);
        if first != kind {
            parameter.doc = format!("as of `{first}`");
        }
    }
}

fn discipline(page: &mut String, reference: &Reference) {
    let _ = writeln!(
        page,
        "\n## {}\n\n{} ({}).\n",
        reference.kind,
        sentence(reference.summary),
        reference.family
    );
    let _ = writeln!(page, "- source: {}", reference.source);
    if reference.children != "none" {
        let _ = writeln!(page, "- children: {}", reference.children);
    }
    if !reference.work_conserving {
        page.push_str("- not work conserving\n");
    }
    if reference.reorders {
        page.push_str("- may reorder within a flow\n");
    }
    for guarantee in reference.guarantees {
        let oracles = guarantee.oracles.join("`, `");
        let _ = writeln!(page, "- guarantee: {} (`{oracles}`)", guarantee.statement);
    }
    parameters(page, "Parameters", &reference.parameters);
    parameters(page, "Written on each child", &reference.shares);
    let _ = writeln!(page, "\n```toml\n{}\n```", reference.template().trim_end());
}

fn parameters(page: &mut String, title: &str, parameters: &[Parameter]) {
    if parameters.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n{title}:\n");
    for parameter in parameters {
        let _ = writeln!(page, "{}", parameter.entry());
    }
}

/// Returns the reference page of distributions and profiles, in Markdown, without a head.
pub fn traffic() -> String {
    let mut page = "# Distributions of gaps and sizes\n".to_owned();
    for law in laws::descriptions() {
        let _ = writeln!(page, "\n## {}\n\n{}. Source: {}.\n", law.name, sentence(law.summary), law.source);
        for parameter in law.parameters {
            let _ = writeln!(page, "- `{}`: {}", parameter.field.name(), parameter.doc.replace('\n', " "));
        }
    }
    page += "\n# Profiles\n";
    for profile in profile::descriptions() {
        let _ = writeln!(
            page,
            "\n## {}\n\n{}. {}\n\nSource: {}.",
            profile.name,
            sentence(profile.summary),
            profile.doc,
            profile.source
        );
        if let Some(written_out) = profile.written_out {
            let _ = writeln!(page, "\n```toml\n{}\n```", written_out.trim_end());
        }
    }
    page
}

/// Returns the reference page of the metrics, in Markdown, without a head.
pub fn metrics() -> String {
    let mut page =
        "# Metrics\n\nEach has one definition: of what it is, its unit, and its source in brackets.\n\n"
            .to_owned();
    for metric in METRICS {
        let about = format!("{:?}", metric.about()).to_lowercase();
        let name = if metric.is_distribution() {
            format!("{}.STATISTIC", metric.name)
        } else {
            metric.name.to_owned()
        };
        let unit = metric.unit.symbol();
        let of = if unit.is_empty() { about } else { format!("{about}, {unit}") };
        let source = if metric.source.is_empty() { String::new() } else { format!(" ({})", metric.source) };
        let _ = writeln!(page, "- `{name}` ({of}): {}{source}", metric.definition.replace('\n', " "));
    }
    let statistics = Statistic::ALL.map(|(_, name)| name).join(", ");
    let _ = write!(
        page,
        "\nSTATISTIC is one of {statistics}.\n\n\
         A name that stands for several flows or queues (`flow.*`, `flow.call/*`, `group.call`) is followed by the \
         metric and a statistic over them, one of {}: `group.call.owd.p99.worst`, `group.backup.goodput.sum`. Worst \
         is the largest delay or loss, the smallest throughput or rating. The statistic is over those that have a \
         value. Without one the address is of each of them: the worst, and no value if nothing was observed of one that \
         can have the metric.\n",
        MemberStatistic::names()
    );
    page
}

impl Reference {
    /// Returns a discipline's part of a scenario, as a template.
    pub fn template(&self) -> String {
        let mut text = format!("[port.\"a:b\".queue.link]\nkind = \"{}\"\n{}", self.kind, self.example);
        let leaf = |name: &str, extra: &str| {
            format!("\n[port.\"a:b\".queue.{name}]\nkind = \"fifo\"\n{}{extra}", self.share_example)
        };
        if self.children.starts_with("at least one") {
            text += "children = [\"voice\", \"rest\"]\n";
            text += &leaf("voice", "match = [{ protocol = \"udp\", destination_port = 5060 }]\n");
            let rest = leaf("rest", "");
            if self.children.contains("class") {
                text += &rest.replace("kind = \"fifo\"", "kind = \"class\"\nchildren = [\"bulk\"]");
                text += &leaf("bulk", "");
            } else {
                text += &rest;
            }
        }
        text
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
