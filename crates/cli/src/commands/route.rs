//! `lockgate route`: a policy on real interfaces.

use crate::arguments::Route;
use crate::exit::{Exit, Failure};

#[cfg(target_os = "linux")]
pub(crate) fn route(arguments: &Route) -> Result<Exit, Failure> {
    use std::time::{Duration, Instant};

    use lockgate_router::attach::Plan;
    use lockgate_router::router::{Options, Router};

    use crate::interrupt;
    use crate::output::{say, tell};

    /// Interval at which the end is looked for.
    const LOOK: Duration = Duration::from_millis(50);

    let lasting = arguments.lasting.as_deref().map(time).transpose()?;
    let policy = read(&arguments.file)?;
    for warning in &policy.warnings {
        tell!("{:?}", miette::Report::new(warning.clone()));
    }
    if arguments.dry_run {
        say!("{}", Plan::of(&policy).map_err(Failure::router)?.to_string().trim_end());
        return Ok(Exit::Ok);
    }
    interrupt::listen();
    let options = Options {
        thread_for_each_port: arguments.threads,
        spin: time(&arguments.spin)?,
        ..Options::default()
    };
    let router = Router::start(policy, options, |text| tell!("{text}")).map_err(Failure::router)?;
    match router.packet_sockets() {
        Some(why) => tell!("routing by packet sockets: {why}"),
        None => tell!("routing by AF_XDP"),
    }
    let started = Instant::now();
    let until = lasting.map(|lasting| started + Duration::from_nanos(lasting.as_picos() / 1_000));
    while !interrupt::is_requested() && !router.has_failed() && until.is_none_or(|until| Instant::now() < until) {
        std::thread::sleep(LOOK);
    }
    let losses = router.stop().map_err(Failure::router)?;
    tell!("ended: the queues are drained, the interfaces are the kernel's; {} frames lost on the way", losses.total());
    interrupt::on_ended();
    Ok(Exit::Ok)
}

#[cfg(target_os = "linux")]
fn read(file: &std::path::Path) -> Result<lockgate_scenario::Policy, Failure> {
    let text = lockgate::files::text(file).map_err(|why| Failure::usage(why, "name a policy file"))?;
    Ok(lockgate_scenario::read_policy(&text, &file.display().to_string())?)
}

#[cfg(target_os = "linux")]
fn time(text: &str) -> Result<lockgate_engine::units::Duration, Failure> {
    text.parse().map_err(|_| Failure::usage(format!("`{text}` is no time"), "write one such as `30s` or `10min`"))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn route(_: &Route) -> Result<Exit, Failure> {
    Err(Failure::usage("a router needs Linux", "run it there; `lockgate run` simulates anywhere"))
}
