//! A simulation of one minute at the pace of the clock, served at port 8080 and printed as lines.
#![allow(clippy::print_stdout, reason = "an example")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, atomic::AtomicBool};

use lockgate_engine::{random::Seed, units::Duration};
use lockgate_monitor::server::{self, Guard, Shared};
use lockgate_monitor::view::lines::Part;
use lockgate_monitor::{Hub, SimulatedSession, view};
use lockgate_session::Start;

const TEXT: &str = r#"
duration = "60s"
node = { a = {}, b = {} }
link.wan = { between = ["a", "b"], rate = "1mbit" }
flow.bulk = { from = "a", to = "b", size = "1250B", gap = "9ms" }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    let scenario = lockgate_scenario::read(TEXT, "example", &files, &[]).map_err(|why| why.to_string())?;
    let (hub, channels) = Hub::start()?;
    let guard = Arc::new(Guard { names: Vec::new(), token: None, read_only: None });
    let shared = Shared { hub: hub.clone(), guard, page: "see /metrics".into(), now: String::new };
    println!("http://{}/metrics", server::start(([127, 0, 0, 1], 8080).into(), shared)?);
    let start = Start { mode: "sim", seed: 1, pace: 1.0, every: Duration::from_millis(500) };
    let (interrupt, frames) = (AtomicBool::new(false), hub.subscribe());
    let mut print = |part: Part<'_>| {
        println!("{part:?}");
        ControlFlow::Continue(())
    };
    std::thread::scope(|scope| {
        let mut session = SimulatedSession::new(&scenario, start, channels, &interrupt);
        let scenario = &scenario;
        scope.spawn(move || lockgate_sim::watched(scenario, Seed(1), &mut session).map(drop));
        view::lines::print(&hub, frames, false, &interrupt, &mut print);
    });
    Ok(())
}
