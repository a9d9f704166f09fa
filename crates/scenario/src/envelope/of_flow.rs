//! Envelope of a flow, and what it offers.

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Rate};
use lockgate_traffic::Emission;

use super::{Envelope, MOST_PACKETS, NoEnvelope, TokenBucket, derived, lengths};
use crate::model::Flow;

impl Flow {
    /// Returns its envelope: as stated, or else derived from its traffic until `end`.
    ///
    /// # Errors
    /// The reason why it has none.
    pub fn envelope(&self, end: Duration) -> Result<Envelope, NoEnvelope> {
        if let Some(envelope) = &self.envelope {
            return Ok(Envelope::clone(envelope));
        }
        let mut envelope = derived(&self.traffic.config, || self.emissions(Seed(1), end))?;
        // A limit on all that it sends is a bucket that never fills.
        let packets = self.packets.map(|packets| Bytes(packets.saturating_mul(envelope.longest.0)));
        let all = [packets, self.bytes].into_iter().flatten().min();
        envelope.buckets.extend(all.map(|burst| TokenBucket { rate: Rate::from_bits(0), burst }));
        Ok(envelope)
    }

    /// Returns the shortest and the longest of its frames, as far as its traffic says.
    pub fn lengths(&self) -> Option<[Bytes; 2]> {
        if let Some(envelope) = &self.envelope {
            return Some([envelope.shortest, envelope.longest]);
        }
        lengths(&self.traffic.config)
    }

    /// Returns the packets that it offers until `end` in the run with `seed`, at most a million.
    pub fn emissions(&self, seed: Seed, end: Duration) -> Vec<Emission> {
        let mut emissions = Vec::new();
        let Ok(mut arrivals) = self.traffic.arrivals(seed, &self.name) else { return emissions };
        loop {
            let before = emissions.len();
            arrivals.fill(&mut emissions);
            let is_late = emissions.last().is_none_or(|last| last.at > end);
            if emissions.len() == before || is_late || emissions.len() > MOST_PACKETS {
                break;
            }
        }
        emissions.truncate(MOST_PACKETS);
        emissions.retain(|emission| emission.at <= end);
        emissions
    }
}
