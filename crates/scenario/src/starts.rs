//! Draws the starts of flows that are laws.

use std::borrow::Cow;

use lockgate_engine::random::{Random, Seed};

use crate::model::{Flow, Scenario, Transport};
use crate::tcp::Application;

impl Scenario {
    /// Returns the scenario with every start drawn from `seed`, each flow from a random stream of its own
    /// name; unchanged if no start is a law. Simulated and live runs use it, and so draw the same starts. A
    /// flow's control connection and return flow start with it.
    #[must_use]
    pub fn with_starts(&self, seed: Seed) -> Cow<'_, Self> {
        if self.flows.iter().all(|flow| flow.start_law.is_none()) {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        // Control connections come after the flows they control, and return flows after both.
        for index in 0..drawn.flows.len() {
            let start = drawn.flows[index].leader().map(|of| drawn.flows[of].start);
            let flow = &mut drawn.flows[index];
            let Some(law) = flow.start_law.take() else { continue };
            flow.start = start.unwrap_or_else(|| {
                flow.start + law.draw(&mut Random::stream(seed, &format!("flow/{}/start", flow.name)))
            });
        }
        Cow::Owned(drawn)
    }
}

impl Flow {
    /// Returns the index of the flow that it starts with, if it is a control connection or a return flow.
    pub(crate) fn leader(&self) -> Option<usize> {
        match self.transport {
            Transport::TcpReturn { of } | Transport::UdpReturn { of } => Some(of),
            Transport::Tcp(model) => match model.application {
                Application::Control { of } => Some(of),
                _ => None,
            },
            Transport::Outside { of, .. } => of,
            Transport::Udp => None,
        }
    }
}
