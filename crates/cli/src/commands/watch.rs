//! `lockgate watch`: a run observed and changed while it goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate::units::Duration;
use lockgate::{Recording, Runs, Scenario, Seed, Summary, verdict};
use lockgate_live::control_channel::control_channel;
use lockgate_monitor::server::is_pace;
use lockgate_monitor::view::Messages;
use lockgate_monitor::{Channels, Command, Hub, LiveSession, SimulatedSession};
use lockgate_session::{LONGEST_INTERVAL, SAVED_HEAD, SHORTEST_INTERVAL, Start, saved};

use super::ending::ended_whole;
use crate::arguments::Watch;
use crate::exit::{Exit, Failure};
use crate::live_view::{self, View};
use crate::output::tell;
use crate::results::{self, ResultsDirectory, RunResults, SavedFile};
use crate::{interrupt, runs, terminal};

pub(crate) fn watch(arguments: &Watch) -> Result<Exit, Failure> {
    let every = interval(&arguments.every)?;
    if !is_pace(arguments.pace) {
        let help = "--pace is 0 for as fast as can be, else from 0.001 to 1000000";
        return Err(Failure::usage(format!("a pace of {} cannot be kept", arguments.pace), help));
    }
    let duration = arguments.duration.iter().map(|duration| format!("duration={duration}"));
    let reading = arguments.seeded.reading.with(duration);
    let scenario = reading.read(&arguments.file)?;
    lockgate::memory::estimate(&scenario, 1)?;
    terminal::warnings(&scenario.warnings);
    if arguments.live {
        lockgate::prepare_live()?;
    }
    let save = arguments.save.as_deref().map(|file| save(file, arguments.out.as_deref())).transpose()?;
    let results = arguments
        .out
        .as_deref()
        .map(|out| ResultsDirectory::start(Some(out), &scenario.title))
        .transpose()?;
    interrupt::listen();
    let (hub, channels) = Hub::start()?;
    let messages = channel();
    let messages_sender = messages.0.clone();
    let outputs = WatchOutputs {
        scenario: &scenario,
        seed: arguments.seeded.seed,
        ghost: !arguments.no_ghost,
        results,
        save,
        has_page: arguments.web.is_some(),
        hub: hub.clone(),
        messages_sender,
    };
    let written = if arguments.live {
        live(arguments, outputs, every, channels, messages)?
    } else {
        simulated(arguments, outputs, every, channels, messages)?
    };
    Ok(written.end(arguments))
}

/// Opens the file of `--save`. It must not be in the results directory, because the next run then could not
/// replace that directory.
fn save(file: &Path, out: Option<&Path>) -> Result<SavedFile, Failure> {
    let saved = SavedFile::start(file, SAVED_HEAD).map_err(|error| Failure::saved_file(&error, "--save"))?;
    let out = out.and_then(|out| out.canonicalize().ok());
    if out.is_some() && out == saved.directory() {
        return Err(Failure::usage(
            format!("cannot write `{}`: only results go to the directory of --out", file.display()),
            "name a file elsewhere with --save",
        ));
    }
    Ok(saved)
}

/// Outcome of a watched run.
struct WatchedRun {
    runs: Runs,
    /// The scenario with all changes.
    changed: Scenario,
}

/// Outputs that a watched run writes as soon as it has ended, independent of its view.
struct WatchOutputs<'a> {
    scenario: &'a Scenario,
    seed: u64,
    /// True if each change is told with and without it.
    ghost: bool,
    results: Option<ResultsDirectory>,
    save: Option<SavedFile>,
    /// True if a page is served, which offers the report at the end.
    has_page: bool,
    hub: Arc<Hub>,
    /// Channel of messages to the view.
    messages_sender: Sender<String>,
}

impl WatchOutputs<'_> {
    /// Writes the results, then the saved session. A failure of one does not prevent the other.
    fn write_all(self, run: Result<WatchedRun, Failure>) -> WrittenOutput {
        let mut written = WrittenOutput { exit: Exit::Failed, ..WrittenOutput::default() };
        match run {
            Ok(run) => {
                match summed_up(&run, self.results, self.seed, self.ghost, self.has_page) {
                    Ok(summed) => {
                        let directory = summed.directory.as_ref();
                        let results = directory.map_or_else(String::new, |path| path.display().to_string());
                        self.hub.conclude(summed.summary.verdict(), summed.report, results);
                        (written.exit, written.directory) = (summed.exit, summed.directory);
                        written.verdict = verdict::line(&summed.summary, &run.runs);
                        written.ran = Some((summed.summary, run.runs));
                    }
                    Err(failure) => written.failures.push(failure),
                }
                let saved =
                    self.save.map(|file| file.write(saved(&self.hub.status(), &lockgate::results::now())));
                let failed = saved.and_then(Result::err);
                written.failures.extend(failed.map(|error| Failure::saved_file(&error, "--save")));
            }
            Err(failure) => written.failures.push(failure),
        }
        let failed = written.failures.first().map(|failure| format!("; {failure}")).unwrap_or_default();
        let ended = if written.verdict.is_empty() { "ended" } else { &written.verdict };
        let _ = self.messages_sender.send(format!("{ended}{}{failed}", written.results()));
        written
    }
}

/// Summary of a watched run, and the results that were written.
struct SummedUp {
    summary: Summary,
    exit: Exit,
    directory: Option<PathBuf>,
    /// Its report, for the page.
    report: Option<String>,
}

/// Output that a watched run has written.
#[derive(Default)]
struct WrittenOutput {
    exit: Exit,
    directory: Option<PathBuf>,
    failures: Vec<Failure>,
    /// The verdict in a line; empty if the run failed.
    verdict: String,
    ran: Option<(Summary, Runs)>,
}

impl WrittenOutput {
    fn results(&self) -> String {
        let shown = |directory: &PathBuf| format!("; results in {}", directory.display());
        self.directory.as_ref().map(shown).unwrap_or_default()
    }

    /// Prints the verdict and the results: after a screen the digest of the run, after lines only the
    /// verdict. If lines were shown and a page is served, serves the page until a signal arrives.
    fn end(self, arguments: &Watch) -> Exit {
        let is_plain = live_view::is_plain(&view_of(arguments));
        if let Some((summary, runs)) = self.ran.as_ref().filter(|_| !is_plain) {
            terminal::digest(summary, runs, self.directory.as_deref());
        } else {
            if !self.verdict.is_empty() {
                tell!("{}", self.verdict);
            }
            if let Some(directory) = &self.directory {
                tell!("report: {}", directory.join("report.html").display());
            }
        }
        let results = self.results();
        let exit = self.failures.into_iter().fold(self.exit, |_, failure| failure.report());
        if arguments.web.is_some() && is_plain && !interrupt::is_requested() {
            interrupt::on_ended();
            tell!("ended; the page stays until Ctrl-C{results}");
            while !interrupt::is_requested() {
                thread::sleep(WallTime::from_millis(50));
            }
        }
        exit
    }
}

fn simulated(
    arguments: &Watch,
    outputs: WatchOutputs<'_>,
    every: Duration,
    channels: Channels,
    messages: Messages,
) -> Result<WrittenOutput, Failure> {
    let (scenario, hub) = (outputs.scenario, &outputs.hub.clone());
    let seed = arguments.seeded.seed;
    let start = Start { mode: "sim", seed, pace: arguments.pace, every };
    let mut session = SimulatedSession::new(scenario, start, channels, interrupt::flag());
    let frames = hub.subscribe();
    if let Some(address) = arguments.web {
        tell!("{}", live_view::serve(address, &view_of(arguments), hub)?);
    }
    Ok(thread::scope(|scope| {
        let run = scope.spawn(move || {
            let run = play(scenario, seed, &mut session);
            // Drops the samples' channel, so that the hub receives the end.
            let changed = session.leave();
            outputs.write_all(run.map(|(recording, interrupted)| {
                let runs =
                    Runs { recordings: vec![recording], stopped_early: interrupted, ..Runs::default() };
                WatchedRun { runs, changed }
            }))
        });
        let shown = live_view::show(&view_of(arguments), hub, frames, messages);
        joined(hub, run, shown)
    }))
}

fn live(
    arguments: &Watch,
    outputs: WatchOutputs<'_>,
    every: Duration,
    channels: Channels,
    messages: Messages,
) -> Result<WrittenOutput, Failure> {
    let (scenario, hub) = (outputs.scenario, &outputs.hub.clone());
    let halt = Arc::new(AtomicBool::new(false));
    let (driver_end, observer_end) = control_channel(every);
    let seed = arguments.seeded.seed;
    let start = Start { mode: "live", seed, pace: 1.0, every };
    let session = LiveSession::new(scenario, start, channels, observer_end, halt.clone());
    let frames = hub.subscribe();
    if let Some(address) = arguments.web {
        tell!("{}", live_view::serve(address, &view_of(arguments), hub)?);
    }
    Ok(thread::scope(|scope| {
        let session = scope.spawn(move || session.serve());
        let run = scope.spawn(move || {
            let mut stop = |_| halt.load(Ordering::Relaxed) || interrupt::is_requested();
            let outcome = lockgate_live::watched(scenario, Seed(seed), &mut stop, Some(driver_end));
            let changed = session.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outputs.write_all(outcome.map_err(Failure::live).map(|outcome| {
                let runs = Runs {
                    recordings: vec![outcome.recording],
                    stopped_early: outcome.stopped_early,
                    unfaithful: outcome.unfaithful,
                    programs: outcome.programs.into_iter().map(Into::into).collect(),
                };
                WatchedRun { runs, changed }
            }))
        });
        let shown = live_view::show(&view_of(arguments), hub, frames, messages);
        joined(hub, run, shown)
    }))
}

/// Stops the run if the view ended first, and waits for its output.
fn joined(hub: &Hub, run: ScopedJoinHandle<'_, WrittenOutput>, shown: Result<(), Failure>) -> WrittenOutput {
    hub.tell(Command::Stop);
    let mut written = run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    written.failures.extend(shown.err());
    written
}

fn interval(text: &str) -> Result<Duration, Failure> {
    text.parse::<Duration>()
        .ok()
        .filter(|every| (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(every))
        .ok_or_else(|| {
            Failure::usage(format!("`--every {text}` is not an interval of samples"), "it is from 10ms to 5s")
        })
}

fn play(
    scenario: &Scenario,
    seed: u64,
    session: &mut SimulatedSession<'_>,
) -> Result<(Recording, bool), Failure> {
    let wall = WallInstant::now();
    let cpu = lockgate_live::clock::thread_cpu_time();
    let outcome = lockgate_sim::watched(scenario, Seed(seed), session)
        .map_err(|failure| Failure::run(failure, "please report this with the scenario and the seed"))?;
    let mut recording = outcome.recording;
    recording.engine.wall_s = wall.elapsed().as_secs_f64();
    recording.engine.cpu_s = lockgate_live::clock::thread_cpu_time().as_secs_f64() - cpu.as_secs_f64();
    Ok((recording, outcome.stopped_early))
}

/// Returns the options of the view.
fn view_of(arguments: &Watch) -> View<'_> {
    View {
        web: arguments.web,
        names: &arguments.names,
        read_only: arguments.read_only.then_some("start it without --read-only"),
        changes_host: false,
        plain: arguments.plain,
        json: arguments.json,
        quits: "end the run; the verdict is printed",
    }
}

/// Returns the exit code of a watched run without results: quitting the view is a success.
fn watched(runs: &Runs) -> Exit {
    match (runs.stopped_early && interrupt::is_requested(), runs.unfaithful.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, false) => Exit::Unfaithful,
        (false, true) => Exit::Ok,
    }
}

/// Summarises a watched run, and writes its results if a directory was named. With `has_page`, also makes its
/// report for the page.
fn summed_up(
    run: &WatchedRun,
    results: Option<ResultsDirectory>,
    seed: u64,
    ghost: bool,
    has_page: bool,
) -> Result<SummedUp, Failure> {
    let (scenario, runs) = (&run.changed, &run.runs);
    let mut summary = lockgate::summarise(scenario, &runs.recordings)?;
    // The screen belongs to the view.
    let ghosts =
        if ghost { runs::add_effects(scenario, runs, None, true, &mut summary)? } else { Vec::new() };
    let seeds = [Seed(seed)];
    let written = RunResults { ghosts, ..RunResults::new(scenario, &seeds, runs, &summary) };
    let report = if has_page { written.page() } else { None };
    let Some(results) = results else {
        return Ok(SummedUp { summary, exit: watched(runs), directory: None, report });
    };
    let directory = results::write(results, written)?;
    // Quitting the view is no interruption.
    let interrupted = runs.stopped_early && interrupt::is_requested();
    let exit = if interrupted { Exit::Interrupted } else { ended_whole(runs, verdict::holds(&summary)) };
    Ok(SummedUp { summary, exit, directory: Some(directory), report })
}
