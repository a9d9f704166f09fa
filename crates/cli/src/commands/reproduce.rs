//! `lockgate reproduce`: papers, their claims against ours.

use std::collections::BTreeMap;
use std::time::Instant;

use lockgate::text;
use lockgate_engine::disciplines::KINDS;
use lockgate_experiment::claims::{
    Folder, JudgedClaim, LiveRequest, Reproduction, Request, Tallies, reproduce as run,
};
use lockgate_measure::report::Comparison;
use lockgate_scenario::Scale;
use serde::Serialize;

use crate::arguments::Reproduce;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::papers::live::PacketRunner;
use crate::papers::{self, PaperRunner};
use crate::results::ResultsDirectory;
use crate::{interrupt, results, terminal};

#[derive(Serialize)]
struct Document<'a> {
    paper: &'a str,
    mode: &'static str,
    seed: u64,
    quick: bool,
    tally: Tallies,
    claims: &'a [JudgedClaim],
    tables: &'a [Comparison],
    notes: &'a [String],
    runs: usize,
    simulated_s: f64,
    packet_hops: u64,
    /// Per run: the scale of those made on real packets, and the reason why others were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<OnPackets<'a>>,
}

#[derive(Serialize)]
struct OnPackets<'a> {
    real_s: f64,
    scales: &'a BTreeMap<String, Scale>,
    not: &'a BTreeMap<String, String>,
    outside: &'a BTreeMap<String, Vec<String>>,
}

/// Name that stands for all papers that come with Lockgate.
const ALL: &str = "all";

/// True if no option says how to run: a list of the papers is wanted. A script that wants runs must not take
/// the list for them.
fn is_bare(arguments: &Reproduce) -> bool {
    let Reproduce { with, quick, live, limit, output, .. } = arguments;
    let has_output = output.json || output.quiet || output.out.is_some();
    !(*quick || *live || has_output || limit.memory.is_some() || !with.is_empty())
}

fn no_paper() -> Failure {
    Failure::usage("no paper is named", "name papers, or `all`; `lockgate reproduce` lists them")
}

/// Lists the papers, and how they are reproduced.
fn list() -> Result<Exit, Failure> {
    let row = |name: &str| {
        let folder = papers::open(name)?;
        let text = folder.text("claims.toml").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("title = "));
        let title = line.unwrap_or_default().trim_matches('"').to_owned();
        Ok::<_, Failure>(vec![name.to_owned(), title])
    };
    let rows = papers::names().into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
    terminal::words(&["paper", "title"], &rows);
    say!();
    terminal::sentence(
        "`lockgate reproduce PAPER --quick` takes less than a minute, `lockgate reproduce all` some.",
    );
    Ok(Exit::Ok)
}

pub(crate) fn reproduce(arguments: &Reproduce) -> Result<Exit, Failure> {
    if arguments.papers.is_empty() && arguments.claim.is_none() {
        return if is_bare(arguments) { list() } else { Err(no_paper()) };
    }
    let names = match arguments.papers.as_slice() {
        [all] if all == ALL => papers::names().into_iter().map(str::to_owned).collect(),
        some => some.to_vec(),
    };
    if arguments.claim.is_some() && names.len() != 1 {
        return Err(Failure::usage("`--claim` is of one paper", "name the paper before it"));
    }
    check_kinds(&arguments.with)?;
    let folders = names.iter().map(|name| papers::open(name)).collect::<Result<Vec<_>, _>>()?;
    if arguments.live {
        lockgate::prepare_live()?;
    }
    let start = |folder: &Folder| {
        let out = match (&arguments.output.out, folders.len()) {
            (Some(out), 1) => Some(out.clone()),
            (Some(out), _) => Some(out.join(&folder.name)),
            (None, _) => None,
        };
        ResultsDirectory::start(out.as_deref(), &folder.name)
    };
    // All result directories are started before the first run, which may take minutes.
    let outs = folders.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    interrupt::listen();
    let mut all = Vec::new();
    for (folder, out) in folders.iter().zip(outs) {
        let reproduction = match one(folder, out, arguments) {
            Ok(reproduction) if !reproduction.interrupted => reproduction,
            Err(failure) if !interrupt::is_requested() => return Err(failure),
            _ => return Ok(Exit::Interrupted),
        };
        all.push(reproduction);
    }
    if arguments.output.json {
        let papers: Vec<_> = all.iter().map(|reproduction| document(reproduction, arguments)).collect();
        crate::results::print_json(&serde_json::json!({ "schema": 2, "papers": papers }))?;
    } else if all.len() > 1 {
        terminal::show(|lines| text::overview(&all, lines));
    }
    let missed = all.iter().flat_map(|reproduction| &reproduction.claims).any(JudgedClaim::fails);
    let is_outside = all.iter().filter_map(|one| one.live.as_ref()).any(|live| !live.outside.is_empty());
    Ok(match (missed, is_outside) {
        (true, _) => Exit::ExpectMissed,
        (false, true) => Exit::Unfaithful,
        (false, false) => Exit::Ok,
    })
}

/// Checks that every further kind is a discipline.
fn check_kinds(kinds: &[String]) -> Result<(), Failure> {
    match kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        Some(kind) => Err(Failure::usage(
            format!("`--with`: there is no discipline `{kind}`"),
            lockgate_scenario::nearest(kind, KINDS.iter().copied()).map_or_else(
                || "`lockgate list` names them".to_owned(),
                |near| format!("did you mean `{near}`?"),
            ),
        )),
        None => Ok(()),
    }
}

fn document<'a>(reproduction: &'a Reproduction, arguments: &Reproduce) -> Document<'a> {
    Document {
        paper: &reproduction.name,
        mode: if arguments.live { "twin" } else { "sim" },
        seed: arguments.seed,
        quick: arguments.quick,
        tally: Tallies::of(&reproduction.claims),
        claims: &reproduction.claims,
        tables: &reproduction.tables,
        notes: &reproduction.notes,
        runs: reproduction.cost.runs,
        simulated_s: reproduction.cost.simulated_s,
        packet_hops: reproduction.cost.packet_hops,
        live: reproduction.live.as_ref().map(|live| OnPackets {
            real_s: live.real_s,
            scales: &live.scales,
            not: &live.not,
            outside: &live.outside,
        }),
    }
}

/// Reproduces a paper, writes its files and prints it.
fn one(folder: &Folder, out: ResultsDirectory, arguments: &Reproduce) -> Result<Reproduction, Failure> {
    let started = Instant::now();
    let quiet = arguments.output.quiet;
    let packets = PacketRunner::new(quiet);
    let request = Request {
        seed: arguments.seed,
        quick: arguments.quick,
        claim: arguments.claim.as_deref(),
        with: &arguments.with,
        live: arguments.live.then_some(LiveRequest { runner: &packets, scale: arguments.scale }),
    };
    let memory = arguments.limit.bytes()?;
    let reproduction = run(folder, &PaperRunner::new(folder, quiet, memory), &request)?;
    if reproduction.interrupted {
        return Ok(reproduction);
    }
    out.write("claims.json", results::json(&document(&reproduction, arguments))?)?;
    let manifest = serde_json::json!({
        "lockgate": crate::version::NUMBER,
        "command": command(folder, arguments),
        "finished": results::now(),
        "scenario_sha256": results::hash(&reproduction.text),
    });
    out.write("scenario.toml", &reproduction.text)?;
    out.write("report.html", papers::report::report(&reproduction, &command(folder, arguments)))?;
    let directory = out.finish(&manifest)?;
    if !arguments.output.json {
        terminal::show(|lines| {
            text::reproduction(&reproduction, lines);
            text::reproduction_cost(&reproduction, started.elapsed(), &directory.join("report.html"), lines);
        });
    }
    Ok(reproduction)
}

/// Returns the command line that repeats this paper.
fn command(folder: &Folder, arguments: &Reproduce) -> String {
    let typed = results::command_line();
    if arguments.papers.is_empty() {
        typed.replacen(" reproduce", &format!(" reproduce {}", folder.name), 1)
    } else {
        typed
    }
}
