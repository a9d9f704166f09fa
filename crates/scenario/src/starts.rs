//! Starts that are laws: when each flow begins under a seed.

use std::borrow::Cow;

use lockgate_engine::random::{Random, Seed};

use crate::model::{Scenario, Transport};
use crate::tcp::Application;

impl Scenario {
    /// The scenario with every start drawn from `seed`, each flow from a stream of its own name; as it is where no start
    /// is a law. Simulated and live runs start from it, and so draw the same. What belongs to a flow, its control
    /// connection and its other direction, starts with it.
    #[must_use]
    pub fn with_starts(&self, seed: Seed) -> Cow<'_, Self> {
        if self.flows.iter().all(|flow| flow.start_law.is_none()) {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        // Control connections stand behind what they control, and other directions behind all of them.
        for place in 0..drawn.flows.len() {
            let of = match drawn.flows[place].transport {
                Transport::TcpReturn { of } | Transport::UdpReturn { of } => Some(of),
                Transport::Tcp(model) => match model.application {
                    Application::Control { of } => Some(of),
                    _ => None,
                },
                Transport::Udp => None,
            };
            let start = of.map(|of| drawn.flows[of].start);
            let flow = &mut drawn.flows[place];
            let Some(law) = flow.start_law.take() else { continue };
            flow.start = start.unwrap_or_else(|| {
                flow.start + law.draw(&mut Random::stream(seed, &format!("flow/{}/start", flow.name)))
            });
        }
        Cow::Owned(drawn)
    }
}
