#![allow(clippy::print_stdout, reason = "an example")]
//! A simulation in steps: after two seconds the link becomes twice as fast.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_session::{Sampler, Session, Start};
use lockgate_sim::Simulation;

const TEXT: &str = r#"
duration = "4s"
node.a = {}
node.b = {}
link.wan = { between = ["a", "b"], rate = "1mbit" }
flow.bulk = { from = "a", to = "b", size = "1250B", gap = "5ms" }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    let scenario = lockgate_scenario::read(TEXT, "example", &files, &[]).map_err(|why| why.to_string())?;
    let every = Duration::from_millis(500);
    let mut session = Session::new(&scenario, Start { mode: "sim", seed: 1, pace: 0.0, every });
    let (mut sampler, mut run) = (Sampler::new(every), Simulation::new(&scenario, Seed(1))?);
    run.record_samples();
    let mut now = Instant::ZERO;
    while now < scenario.end() {
        now = sampler.next(now);
        run.step_until(now)?;
        let view = run.observe();
        sampler.look(view.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
        if !sampler.is_due(now) {
            continue;
        }
        let ports = view.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
        let mut sample = sampler.close(now, ports, view.flows, view.events);
        session.advance(now);
        session.complete(&mut sample);
        let port = &sample.ports[0];
        println!("{:.1} s: {:.2} Mbit/s", sample.at_s, port.sent_bps / 1e6);
        if now == Instant::ZERO + Duration::from_secs(2) {
            let at = now + Duration::from_micros(1);
            let change = session.prepare(&["link.wan.rate=2mbit".to_owned()], None, at, &files);
            session.accept(change.map_err(|refused| refused.problems[0].message.clone())?);
            run.change(session.scenario().clone());
        }
    }
    Ok(())
}
