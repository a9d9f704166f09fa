//! `lockgate route`: a policy on real interfaces.

#[cfg(target_os = "linux")]
mod reload;
#[cfg(target_os = "linux")]
pub(super) mod view;

#[cfg(target_os = "linux")]
use std::time::Duration;

use crate::arguments::Route;
use crate::exit::{Exit, Failure};

/// Polling interval of the router's end; signals end the wait.
#[cfg(target_os = "linux")]
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Longest life. A time is a 64-bit number of picoseconds, which overflows after 213 days.
#[cfg(target_os = "linux")]
const LONGEST_LIFE: Duration = Duration::from_hours(200 * 24);

/// Returns how frames are handled and sampled.
#[cfg(target_os = "linux")]
fn options(arguments: &Route) -> Result<lockgate_router::router::Options, Failure> {
    use lockgate_session::SHORTEST_INTERVAL;

    /// Longest interval of samples: the control uses samples as signs of life.
    const LONGEST_SAMPLE_INTERVAL: lockgate::units::Duration = lockgate::units::Duration::from_secs(2);

    /// Longest delay of frames to handle several at once.
    const LONGEST_GATHER: lockgate::units::Duration = lockgate::units::Duration::from_millis(5);

    let every = crate::runs::time(&arguments.every)?;
    if !(SHORTEST_INTERVAL..=LONGEST_SAMPLE_INTERVAL).contains(&every) {
        let wrong = format!("`--every {}` is not an interval of samples", arguments.every);
        return Err(Failure::usage(wrong, "it is from 10ms to 2s"));
    }
    let gather = crate::runs::time(&arguments.gather)?;
    if gather > LONGEST_GATHER {
        let wrong = format!("`--gather {}` is too long", arguments.gather);
        return Err(Failure::usage(wrong, "it is from 0s to 5ms"));
    }
    Ok(lockgate_router::router::Options {
        every,
        thread_for_each_port: arguments.threads,
        spin: crate::runs::time(&arguments.spin)?,
        gather,
        priority: (arguments.priority > 0).then(|| i32::from(arguments.priority)),
    })
}

#[cfg(target_os = "linux")]
pub(crate) fn route(arguments: &Route) -> Result<Exit, Failure> {
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    use lockgate_router::control::notify::Notifier;
    use lockgate_router::control::server::{Server, line};
    use lockgate_router::router::{Router, lock_memory};

    use self::reload::Reloads;
    use crate::interrupt;
    use crate::output::tell;

    let lasting = arguments.lasting.as_deref().map(crate::runs::time).transpose()?;
    let options = options(arguments)?;
    let (origin, text) = read(&arguments.file)?;
    if arguments.dry_run {
        return dry_run(arguments, &origin, &text);
    }
    interrupt::serve_router();
    interrupt::listen();
    // Where it is refused, pages may have to be fetched again when a frame arrives.
    lock_memory();
    let claim = claim(arguments)?;
    let boot = claim.boot(&origin, &text, arguments.fresh).map_err(unbootable)?;
    crate::terminal::warnings(&boot.policy.warnings);
    let name = claim.name().to_owned();
    let log = move |text: &str| tell!("{}", line(&name, text));
    interrupt::log_by(log.clone());
    let router = Router::start(boot.policy.clone(), options, log.clone()).map_err(Failure::router)?;
    log_sockets(&router, &log);
    let failed = router.failed();
    let shown = view::start(&boot.policy, arguments, options.every, router.observer(), &log);
    let reloads = Reloads::start(arguments.file.clone(), claim.socket(), log.clone())?;
    let server = Server::start(claim, boot, router, Notifier::from_environment(), Box::new(log.clone()))
        .map_err(|why| Failure::run(&why, why.help()))?;
    let until = lasting.map(|lasting| Instant::now() + Duration::from_nanos(lasting.as_picos() / 1_000));
    let begun = Instant::now();
    let ends = || {
        if interrupt::is_reload_requested() {
            reloads.request();
        }
        interrupt::is_requested()
            || begun.elapsed() >= LONGEST_LIFE
            || failed.load(Ordering::Relaxed)
            || until.is_some_and(|until| Instant::now() >= until)
    };
    let shown = shown.map(|shown| shown.show(&ends)).transpose();
    while !ends() && shown.is_ok() {
        interrupt::wait(POLL_INTERVAL);
    }
    let losses = server.stop().stop().map_err(Failure::router)?;
    interrupt::on_ended();
    shown?;
    log(&format!(
        "ended: the queues are drained, the interfaces are the kernel's; {} frames lost outside the queues",
        losses.total()
    ));
    if begun.elapsed() >= LONGEST_LIFE {
        let message = "a router runs for 200 days, which its clock has room for";
        return Err(Failure::run(message, "start it again; the unit lockgate-route@.service does"));
    }
    Ok(Exit::Ok)
}

/// Logs by which sockets frames come and leave, and the priority of the threads.
#[cfg(target_os = "linux")]
fn log_sockets(router: &lockgate_router::router::Router, log: &dyn Fn(&str)) {
    match router.packet_sockets() {
        Some(why) => log(&format!("frames come by packet sockets: {why}")),
        None => log("frames come by AF_XDP"),
    }
    if let Some(why) = router.packet_senders() {
        log(&format!("frames leave by packet sockets: {why}"));
    }
    log(&router.priority());
}

/// Prints what a start would change, and which policy it would run. Fails as a start would, and changes
/// nothing.
#[cfg(target_os = "linux")]
fn dry_run(arguments: &Route, origin: &str, text: &str) -> Result<Exit, Failure> {
    use lockgate_router::attach::Plan;
    use lockgate_router::control::Misfit;
    use lockgate_router::control::claim::{Boot, PreviewError};
    use lockgate_router::failure::Failure as RouterFailure;

    use crate::output::say;

    let policy = lockgate_scenario::read_policy(text, origin).map_err(problems)?;
    crate::terminal::warnings(&policy.warnings);
    let (name, directories) = place(arguments)?;
    let boot = Boot::preview(&name, &directories, (origin, text), arguments.fresh);
    let boot = boot.map_err(|error| match error {
        PreviewError::Claim(why) => Failure::run(&why, why.help()),
        PreviewError::Boot(why) => unbootable(why),
    })?;
    let instead = boot.unused_file().map(|_| Plan::of(&boot.policy)).transpose();
    let instead = instead.map_err(|failure| {
        Failure::router(match failure {
            RouterFailure::Misfit(Misfit { problem, help }) => RouterFailure::Misfit(Misfit {
                problem: format!(
                    "a start would run the policy `{}`, the last confirmed one: {problem}",
                    boot.origin
                ),
                help: format!("{help}; --fresh starts from the file"),
            }),
            other => other,
        })
    })?;
    // The file must fit, too, but what is shown is what a start would do.
    let plan = Plan::of(&policy).map_err(Failure::router)?;
    say!("{}", instead.unwrap_or(plan).to_string().trim_end());
    for note in &boot.notes {
        say!("{}", crate::terminal::visible(note));
    }
    let is_service = std::env::var_os("STATE_DIRECTORY").is_some();
    if arguments.state.is_none() && !is_service && !rustix::process::geteuid().is_root() {
        let state = directories.state.display().to_string();
        say!(
            "the state is that of this user, `{}`: a start by root or by systemd has another, and may run another policy",
            crate::terminal::visible(&state)
        );
    }
    Ok(Exit::Ok)
}

/// Reads a policy's file, and the table of subscribers that it names. Returns its name and its text.
pub(super) fn read(file: &std::path::Path) -> Result<(String, String), Failure> {
    let origin = file.display().to_string();
    let text = lockgate::files::text(file)
        .map_err(|why| Failure::usage(format!("cannot read `{origin}`: {why}"), "name a policy file"))?;
    if !lockgate_scenario::is_policy(&text) {
        let message = format!("`{origin}` is not a policy of a router: it has no table `router`");
        return Err(Failure::usage(message, "add `[router]` with `mode` and `interfaces`"));
    }
    let files = lockgate::files::Beside::new(file);
    let text = lockgate_scenario::embed_tables(&text, &files)
        .map_err(|why| Failure::usage(why, "the table is looked for beside the policy"))?;
    Ok((origin, text))
}

/// Returns the router's name and its directories.
#[cfg(target_os = "linux")]
fn place(arguments: &Route) -> Result<(String, lockgate_router::control::directories::Directories), Failure> {
    use lockgate_router::control::directories::{Directories, Environment};

    let stem = || arguments.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = arguments.name.clone().or_else(stem).unwrap_or_default();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_root = rustix::process::geteuid().is_root();
    let directories =
        Directories::of(&name, arguments.state.as_deref(), Environment { is_root, variable: &variable })
            .map_err(|error| Failure::usage(&error, error.help()))?;
    Ok((name, directories))
}

/// Claims the router's name.
#[cfg(target_os = "linux")]
fn claim(arguments: &Route) -> Result<lockgate_router::control::claim::Claim, Failure> {
    let (name, directories) = place(arguments)?;
    lockgate_router::control::claim::Claim::take(&name, &directories)
        .map_err(|why| Failure::run(&why, why.help()))
}

/// Converts the failure to find a policy to start with.
#[cfg(target_os = "linux")]
fn unbootable(error: lockgate_router::control::claim::BootError) -> Failure {
    use lockgate_router::control::claim::BootError;

    match error {
        BootError::File(found) => Failure::Scenario(found),
        error => Failure::run(&error, error.help()),
    }
}

#[cfg(target_os = "linux")]
fn problems(problems: lockgate_scenario::Problems) -> Failure {
    Failure::Scenario(Box::new(problems))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn route(_: &Route) -> Result<Exit, Failure> {
    Err(Failure::usage("a router needs Linux", "run it there; `lockgate run` simulates anywhere"))
}
