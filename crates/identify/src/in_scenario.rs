//! Prober inside a scenario: a probe is simulated between two hosts of its network, beside its traffic.
//!
//! ```text
//! the scenario's own network: from ... to --very fast--> identify      stamps where `to` hands it on
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Duration;
use lockgate_measure::recording::Packets;
use lockgate_scenario::Scenario;
use lockgate_sim::{Control, Failure};
use lockgate_traffic::{LoadedFiles, Replay, ReplayConfig, TrafficConfig};

use crate::identify::Prober;
use crate::probe::{Arrival, Observation, Probe};

/// Number of flows that a probe may have.
pub const FLOWS: usize = 10;

/// Name of the node behind the receiver, and of the link to it.
pub const RECEIVER: &str = "identify";

/// Time after the last packet for which a run waits for arrivals.
const LINGER: Duration = Duration::from_secs(8);

/// Settings that add the flows of a probe from the node `from` to the node `to`, as `PATH=VALUE`. A scenario
/// that is read with them can be probed.
pub fn settings(from: &str, to: &str) -> Vec<String> {
    let quoted = |text: &str| format!("{text:?}");
    let mut all = vec![
        format!("node.{RECEIVER}={{}}"),
        format!("link.{RECEIVER}={{ between = [{}, \"{RECEIVER}\"], rate = \"1000gbit\" }}", quoted(to)),
        "record.packets=true".to_owned(),
    ];
    all.extend((0..FLOWS).map(|flow| {
        let from = quoted(from);
        format!("flow.{RECEIVER}-{flow}={{ from = {from}, to = \"{RECEIVER}\", transport = \"udp\", size = \"142B\", gap = \"1s\" }}")
    }));
    all
}

/// Prober inside a scenario.
pub struct InScenario {
    scenario: Scenario,
    seed: Seed,
    /// Index of the flow of the scenario for each flow of a probe.
    flows: Vec<usize>,
    /// Index of the port at which arrivals are stamped.
    port: usize,
}

/// The error of a scenario that was read without the settings of a probe.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A flow or the port of the probe is missing.
    #[error("the scenario has no flows for a probe: read it with `settings`")]
    NotPrepared,
    /// The simulation failed.
    #[error("the simulation failed: {0}")]
    Failed(#[from] Failure),
}

impl InScenario {
    /// Prepares probes in a scenario that was read with [`settings`] for the receiver `to`. If `is_alone`,
    /// its own traffic does not run.
    ///
    /// # Errors
    /// If the settings are missing.
    pub fn new(mut scenario: Scenario, to: &str, seed: Seed, is_alone: bool) -> Result<Self, ScenarioError> {
        let named = |name: &str| scenario.flows.iter().position(|flow| flow.name == name);
        let flows: Option<Vec<usize>> = (0..FLOWS).map(|flow| named(&format!("{RECEIVER}-{flow}"))).collect();
        let flows = flows.ok_or(ScenarioError::NotPrepared)?;
        let port = scenario.port(&format!("{to}:{RECEIVER}")).ok_or(ScenarioError::NotPrepared)?;
        for (index, flow) in scenario.flows.iter_mut().enumerate() {
            if is_alone && !flows.contains(&index) {
                flow.start = Duration::MAX;
                flow.start_law = None;
            }
        }
        scenario.warmup = Duration::ZERO;
        Ok(Self { scenario, seed, flows, port })
    }

    /// Gives each flow of the scenario the packets of a flow of the probe.
    fn load(&mut self, probe: &Probe) {
        for (number, &index) in self.flows.iter().enumerate() {
            let own: Vec<_> = probe.packets().filter(|sent| usize::from(sent.flow) == number).collect();
            let flow = &mut self.scenario.flows[index];
            let Some(first) = own.first() else {
                flow.packets = Some(0);
                continue;
            };
            flow.packets = None;
            flow.start = Duration::from_picos(first.at);
            flow.traffic_class = first.traffic_class;
            let since = |at: u64| Duration::from_picos(at - first.at);
            let packets = own.iter().map(|sent| (since(sent.at), sent.length)).collect();
            let file = format!("probe of flow {number}");
            let replay = ReplayConfig {
                file: file.clone(),
                speed: 1.0,
                longest_gap: None,
                longest_frame: None,
                repeat: false,
            };
            let replays = BTreeMap::from([(file, Arc::new(Replay { packets, ..Replay::default() }))]);
            flow.traffic.config =
                Arc::new(TrafficConfig { replay: Some(replay), ..TrafficConfig::default() });
            flow.traffic.files = LoadedFiles { replays, ..LoadedFiles::none() };
        }
        self.scenario.duration = probe.span() + LINGER;
    }
}

impl Prober for InScenario {
    type Error = ScenarioError;

    fn send(&mut self, probe: &mut Probe) -> Result<Observation, ScenarioError> {
        self.load(probe);
        let outcome = lockgate_sim::run(&self.scenario, self.seed, &mut |_| Control::Continue)?;
        // By flow and number: when it arrived.
        let mut arrived: BTreeMap<(u32, u32), Arrival> = BTreeMap::new();
        for row in outcome.recording.packets.iter().flat_map(Packets::iter) {
            if row.port as usize == self.port {
                let at = row.arrived.as_picos().cast_signed();
                arrived.insert((row.flow.0, row.sequence), Arrival { at, traffic_class: row.traffic_class });
            }
        }
        let mut numbers = [0u32; FLOWS];
        let rounds = probe.rounds.iter().map(|round| {
            let one = |sent: &crate::probe::Sent| {
                let flow = usize::from(sent.flow) % FLOWS;
                let number = numbers[flow];
                numbers[flow] += 1;
                arrived.get(&(self.flows[flow] as u32, number)).copied()
            };
            round.packets.iter().map(one).collect()
        });
        let rounds = rounds.collect::<Vec<Vec<_>>>();
        Ok(Observation { rounds })
    }
}
