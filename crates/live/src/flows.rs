//! Flow of a frame: one of the scenario's, or one that was not planned.

use core::net::IpAddr;

use indexmap::IndexMap;
use lockgate_engine::classify::Fields;
use lockgate_engine::packet::FlowId;
use lockgate_scenario::Scenario;

/// Largest number of unplanned conversations with flow identifiers of their own. Further ones share one.
const MOST_CONVERSATIONS: u32 = 1 << 16;

type Key = (u8, IpAddr, IpAddr, u16, u16);

fn key(fields: &Fields) -> Key {
    (fields.protocol, fields.source, fields.destination, fields.source_port, fields.destination_port)
}

/// Lookup table of flows by addresses and ports.
#[derive(Debug)]
pub(crate) struct Flows {
    known: IndexMap<Key, u32>,
    planned: u32,
    next: u32,
    last: Option<(Key, u32)>,
}

impl Flows {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut known = IndexMap::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            known.entry(key(&flow.fields)).or_insert(index as u32);
        }
        let planned = scenario.flows.len() as u32;
        Self { known, planned, next: planned, last: None }
    }

    /// Returns a packet's flow: below [`planned`](Self::planned) if it is the scenario's. Unknown
    /// conversations get the next identifier.
    pub(crate) fn of(&mut self, fields: &Fields) -> FlowId {
        let key = key(fields);
        if let Some((last, flow)) = self.last
            && last == key
        {
            return FlowId(flow);
        }
        let flow = match self.known.get(&key) {
            Some(flow) => *flow,
            None => self.learn(key),
        };
        self.last = Some((key, flow));
        FlowId(flow)
    }

    #[cold]
    fn learn(&mut self, key: Key) -> u32 {
        let flow = self.next;
        if flow < self.planned + MOST_CONVERSATIONS {
            self.known.insert(key, flow);
            self.next += 1;
        }
        flow
    }

    /// Returns the number of flows of the scenario.
    pub(crate) fn planned(&self) -> u32 {
        self.planned
    }
}
