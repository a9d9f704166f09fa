//! `lockgate run`: runs a scenario and writes a report.

use std::path::Path;

use lockgate::results::SavedFile;
use lockgate::results::card::{HEAD, card};
use lockgate::text;
use lockgate::{Detail, Recording, Runs, Scenario, Seed, figures, memory, shell, verdict};
use lockgate_export::{members, series};
use lockgate_measure::metric::Subject;
use lockgate_measure::report::WorstPacket;
use lockgate_measure::summary::Summary;
use lockgate_scenario::{Subscribers, nearest};
use serde::Serialize;

use super::ending::{end, ended};
use crate::arguments::Run;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::results::{self, ResultsDirectory, RunResults};
use crate::{interrupt, runs, terminal};

/// Estimate above which a run prints its memory, in bytes: 512 MiB.
const SAID_BYTES: u64 = 512 << 20;

pub(crate) fn run(arguments: &Run) -> Result<Exit, Failure> {
    let duration = arguments.duration.iter().map(|duration| format!("duration={duration}"));
    let reading = arguments.seeded.reading.with(duration);
    let overrides = &reading.overrides;
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let seeds = seeds(arguments)?;
    let mut scenario = reading.read(file)?;
    scenario.record.packets |= arguments.packets;
    scenario.record.capture |= arguments.capture;
    if !arguments.output.quiet {
        terminal::warnings(&scenario.warnings);
        runs::tell_line(file, &scenario, overrides);
    }
    let looked_for = flows(&arguments.worst, &scenario)?;
    let needed = memory::estimate(&scenario, usize::from(arguments.repeat))?;
    if needed >= SAID_BYTES && !arguments.output.quiet {
        tell!("this takes about {} of memory", figures::memory(needed));
    }
    if !arguments.output.quiet {
        tell_detail(&scenario);
    }
    if arguments.live || arguments.twin {
        lockgate::prepare_live()?;
    }
    let series = arguments.series.as_deref().map(SeriesFile::start).transpose()?;
    let members = arguments.members.as_deref().map(MembersFile::start).transpose()?;
    let drawn = arguments.card.as_deref().map(card_file).transpose()?;
    let results = ResultsDirectory::start(arguments.output.out.as_deref(), &scenario.title)?;
    interrupt::listen();
    if arguments.twin {
        return super::twin::twin(arguments, &scenario, &seeds, results);
    }
    let runs = if arguments.live {
        runs::live(&scenario, &seeds, arguments.output.quiet)?
    } else {
        runs::simulate(&scenario, &seeds, arguments.jobs, arguments.output.quiet)?
    };
    if let (Some(series), Some(first)) = (series, runs.recordings.first()) {
        series.write(first)?;
    }
    let mut summary = lockgate::summarise(&scenario, &runs.recordings)?;
    let ghosts = if arguments.no_ghost {
        Vec::new()
    } else {
        runs::add_effects(&scenario, &runs, arguments.jobs, arguments.output.quiet, &mut summary)?
    };
    if let Some(file) = members {
        file.write(&scenario, &summary)?;
    }
    if let (Some(file), Some(first)) = (drawn, runs.recordings.first()) {
        let picture = card(&scenario.title, &summary, first, &results::command_line());
        file.write(picture).map_err(|error| Failure::saved_file(&error, "--card"))?;
    }
    let worst = worst_packets(arguments, &scenario, overrides, &looked_for, (&runs, &summary))?;
    let written =
        RunResults { ghosts, worst: worst.clone(), ..RunResults::new(&scenario, &seeds, &runs, &summary) };
    let directory = results::write(results, written)?;
    let shown: Vec<_> = worst.iter().filter(|packet| looked_for.contains(&packet.flow)).collect();
    print(arguments, &runs, &summary, &shown, &directory)?;
    Ok(ended(&runs, verdict::holds(&summary)))
}

/// Prints the results of the runs, and the worst packets of the flows that were asked for.
fn print(
    arguments: &Run,
    runs: &Runs,
    summary: &Summary,
    worst: &[&WorstPacket],
    directory: &Path,
) -> Result<(), Failure> {
    let quiet = arguments.output.quiet;
    if arguments.output.json {
        return crate::results::print_json(&Printed { summary: &summary.written(), worst: worst.to_vec() });
    }
    if !quiet && !arguments.tables {
        terminal::digest(summary, runs, Some(directory));
    } else {
        if !quiet {
            terminal::show(|lines| {
                text::tables(summary, lines);
                text::programs(runs, lines);
                text::cost(runs, lines);
            });
            say!();
        }
        end(summary, runs, quiet, directory);
    }
    if !quiet {
        terminal::show(|lines| worst.iter().for_each(|packet| text::worst(packet, lines)));
    }
    Ok(())
}

/// Document of `--json`: the summary, and the packets of `--worst`.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    worst: Vec<&'a WorstPacket>,
}

/// Returns the flows of `--worst`, whose names may begin with `flow.`.
fn flows(wanted: &[String], scenario: &Scenario) -> Result<Vec<String>, Failure> {
    let names = || scenario.flows.iter().map(|flow| flow.name.as_str());
    let flow = |text: &String| {
        let bare = text.strip_prefix("flow.").unwrap_or(text);
        let found = names().find(|name| *name == bare || name == text);
        found.map(str::to_owned).ok_or_else(|| {
            let help = match nearest(bare, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its flows are {}", names().take(20).collect::<Vec<_>>().join(", ")),
            };
            Failure::usage(format!("the scenario has no flow `{bare}`"), help)
        })
    };
    wanted.iter().map(flow).collect()
}

/// Returns the worst packets of the flows of `--worst`, and, unless that is refused, of those that are
/// judged.
fn worst_packets(
    arguments: &Run,
    scenario: &Scenario,
    overrides: &[String],
    looked_for: &[String],
    (runs, summary): (&Runs, &Summary),
) -> Result<Vec<WorstPacket>, Failure> {
    let Some(first) = runs.recordings.first() else { return Ok(Vec::new()) };
    let mut names = looked_for.to_vec();
    if !arguments.no_ghost {
        let judged = lockgate::judged_flows(first, summary);
        names.extend(judged);
        names.sort_unstable();
        names.dedup();
    }
    if names.is_empty() || runs.stopped_early {
        return Ok(Vec::new());
    }
    let file = arguments.file.iter().map(|file| shell::word(&file.to_string_lossy()));
    let set = overrides.iter().map(|setting| format!("--set {}", shell::word(setting)));
    let command = file.chain(set).collect::<Vec<_>>().join(" ");
    let stop = &interrupt::is_requested;
    let found =
        lockgate::worst_packets(scenario, Seed(arguments.seeded.seed), first, &names, &command, stop)?;
    for name in looked_for.iter().filter(|name| !found.iter().any(|packet| packet.flow == **name)) {
        tell!(
            "flow `{name}` has no worst packet: it received nothing after the warm-up, or is recorded briefly"
        );
    }
    Ok(found)
}

/// Prepares the file of the card, before anything runs.
fn card_file(path: &Path) -> Result<SavedFile, Failure> {
    if path.extension().is_none_or(|ending| ending != "svg") {
        return Err(Failure::usage(
            format!("`--card {}` is no name of an SVG file", path.display()),
            "end it with `.svg`; the button Share of the report makes a PNG of the same picture",
        ));
    }
    SavedFile::start(path, HEAD).map_err(|error| Failure::saved_file(&error, "--card"))
}

/// Returns the seeds: successive ones from `--seed` on.
fn seeds(arguments: &Run) -> Result<Vec<Seed>, Failure> {
    let seeds = (0..u64::from(arguments.repeat)).map(|run| arguments.seeded.seed.checked_add(run).map(Seed));
    seeds.collect::<Option<_>>().ok_or_else(|| {
        Failure::usage(
            format!("there are no {} seeds from {} on", arguments.repeat, arguments.seeded.seed),
            format!("the largest is {}: begin with a smaller `--seed`", u64::MAX),
        )
    })
}

/// File for the series of a run.
struct SeriesFile {
    saved: SavedFile,
    is_flent: bool,
}

impl SeriesFile {
    /// Prepares the file, before anything runs.
    fn start(path: &Path) -> Result<Self, Failure> {
        let is_flent = path.to_string_lossy().ends_with(".flent.gz");
        // Both formats begin with a mark of their own.
        let head: &[u8] = if is_flent { b"\x1f\x8b" } else { b"PAR1" };
        let saved =
            SavedFile::start_bytes(path, head).map_err(|error| Failure::saved_file(&error, "--series"))?;
        Ok(Self { saved, is_flent })
    }

    fn write(&self, recording: &Recording) -> Result<(), Failure> {
        let write = if self.is_flent { series::flent } else { series::parquet };
        let bytes = write(recording, Vec::new())
            .map_err(|error| Failure::run(error, "this is a fault of Lockgate: run it without --series"))?;
        self.saved.write(bytes).map_err(|error| Failure::saved_file(&error, "--series"))
    }
}

/// File for the results of members of groups.
struct MembersFile {
    saved: SavedFile,
    is_csv: bool,
}

impl MembersFile {
    /// Prepares the file, before anything runs.
    fn start(path: &Path) -> Result<Self, Failure> {
        let is_csv = path.extension().is_some_and(|ending| ending == "csv");
        let saved = SavedFile::start(path, if is_csv { members::HEAD } else { "PAR1" });
        Ok(Self { saved: saved.map_err(|error| Failure::saved_file(&error, "--members"))?, is_csv })
    }

    fn write(&self, scenario: &Scenario, summary: &Summary) -> Result<(), Failure> {
        let subscribers = Subscribers::of(scenario);
        let columns = subscribers.as_ref().map(Subscribers::columns).unwrap_or_default();
        let values = |subject: &Subject| match subject {
            Subject::Flow(name) => subscribers.as_ref()?.of_flow(name),
            Subject::Queue(_, name) => subscribers.as_ref()?.of_queue(name),
            _ => None,
        };
        let origin = members::Origin { columns: &columns, values: &values };
        let bytes = if self.is_csv {
            members::csv(summary, &origin).into_bytes()
        } else {
            members::parquet(summary, &origin, Vec::new()).map_err(|error| {
                Failure::run(error, "this is a fault of Lockgate: run it without --members")
            })?
        };
        self.saved.write(bytes).map_err(|error| Failure::saved_file(&error, "--members"))
    }
}

/// Prints how many members of groups are recorded and why, unless all are.
fn tell_detail(scenario: &Scenario) {
    let detail = scenario.detail();
    if detail == Detail::All {
        return;
    }
    let why = match scenario.record.detail {
        Some(_) => "as the scenario says".to_owned(),
        None => format!("for {} flows and queues; `record.detail` sets it", scenario.recorded()),
    };
    terminal::notice(&format!("members of groups are recorded with detail `{}`, {why}", detail.name()));
}
