//! Bare event loop: the same chain of three routers with nothing but events, rings and counters, so the speed
//! that a simulator of it can come near.
//!
//! ```text
//! source i --arrive--> access link i --arrive--> router 0, 1 or 2 --arrive--> the next router ... --> delivered
//! ```
//!
//! A packet is 16 bytes, a queue is a ring, and the earliest of 17 fixed slots (3 routers, 7 access links, 7
//! sources) wins a binary tree. Times are nanoseconds.

use std::hint::black_box;

use lockgate_dataplane::clock::cpu_time;

const ROUTERS: usize = 3;
const SOURCES: usize = 7;
const LINKS: usize = ROUTERS + SOURCES;

/// Router at which each source's access link ends.
const ENTRY: [usize; SOURCES] = [0, 0, 0, 1, 1, 2, 2];

const PACKET_BITS: f64 = 1058.0 * 8.0;
const ROUTER_RATES: [f64; ROUTERS] = [429e3, 715e3, 1e6];
const ACCESS_RATE: f64 = 100e6;

/// Slots of a ring, and the packets that a link holds: 1000 that wait, and one that is sent.
const RING: usize = 1024;
const LIMIT: usize = 1001;

#[derive(Clone, Copy, Default)]
struct Packet {
    sent: u64,
    source: u64,
}

struct Ring {
    packets: Vec<Packet>,
    head: usize,
    count: usize,
}

/// Times of fixed slots, and the winners of a binary tree over them.
struct Times {
    times: [u64; Self::SLOTS],
    winners: [u32; 2 * Self::SLOTS],
}

impl Times {
    const SLOTS: usize = (LINKS + SOURCES).next_power_of_two();

    fn new() -> Self {
        let mut winners = [0; 2 * Self::SLOTS];
        for slot in 0..Self::SLOTS {
            winners[Self::SLOTS + slot] = slot as u32;
        }
        for node in (1..Self::SLOTS).rev() {
            winners[node] = winners[2 * node];
        }
        Self { times: [u64::MAX; Self::SLOTS], winners }
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, time: u64) {
        self.times[slot] = time;
        let (mut winner, mut earliest) = (slot as u32, time);
        let mut node = Self::SLOTS + slot;
        while node > 1 {
            let other = self.winners[node ^ 1];
            let others = self.times[other as usize];
            if others < earliest || (others == earliest && other < winner) {
                (winner, earliest) = (other, others);
            }
            node >>= 1;
            self.winners[node] = winner;
        }
    }
}

struct Chain {
    times: Times,
    rings: Vec<Ring>,
    /// Time that each link takes for a packet.
    serialization: [u64; LINKS],
    transmitted: u64,
    dropped: u64,
    delivered: u64,
    delay: u64,
}

impl Chain {
    #[inline(always)]
    fn arrive(&mut self, link: usize, packet: Packet, now: u64) {
        let ring = &mut self.rings[link];
        if ring.count >= LIMIT {
            self.dropped += 1;
            return;
        }
        ring.packets[(ring.head + ring.count) & (RING - 1)] = packet;
        ring.count += 1;
        if ring.count == 1 {
            self.times.set(link, now + self.serialization[link]);
        }
    }

    #[inline(always)]
    fn depart(&mut self, link: usize, now: u64) {
        let ring = &mut self.rings[link];
        let packet = ring.packets[ring.head & (RING - 1)];
        ring.head = (ring.head + 1) & (RING - 1);
        ring.count -= 1;
        self.transmitted += 1;
        let next = if ring.count > 0 { now + self.serialization[link] } else { u64::MAX };
        self.times.set(link, next);
        if link >= ROUTERS {
            self.arrive(ENTRY[link - ROUTERS], packet, now);
        } else if link + 1 < ROUTERS {
            self.arrive(link + 1, packet, now);
        } else {
            self.delivered += 1;
            self.delay += now - packet.sent;
        }
    }
}

/// Returns the packet-hops per CPU-second of one run: exponential gaps with this mean at each source.
pub(crate) fn run(mean_gap_ms: u64, seconds: u64, seed: u64) -> f64 {
    let rate = |link: usize| ROUTER_RATES.get(link).copied().unwrap_or(ACCESS_RATE);
    let mut chain = Chain {
        times: Times::new(),
        rings: (0..LINKS)
            .map(|_| Ring { packets: vec![Packet::default(); RING], head: 0, count: 0 })
            .collect(),
        serialization: core::array::from_fn(|link| (PACKET_BITS * 1e9 / rate(link)).round() as u64),
        transmitted: 0,
        dropped: 0,
        delivered: 0,
        delay: 0,
    };
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut gap = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-uniform.ln() * mean_gap_ms as f64 * 1e6) as u64
    };
    for source in 0..SOURCES {
        chain.times.set(LINKS + source, gap());
    }
    let end = seconds * 1_000_000_000;
    let before = cpu_time();
    loop {
        let slot = chain.times.winners[1] as usize;
        let now = chain.times.times[slot];
        if now >= end {
            break;
        }
        if let Some(source) = slot.checked_sub(LINKS) {
            chain.arrive(ROUTERS + source, Packet { sent: now, source: source as u64 }, now);
            chain.times.set(slot, now + gap());
        } else {
            chain.depart(slot, now);
        }
    }
    let passed = cpu_time().as_secs_f64() - before.as_secs_f64();
    black_box((chain.delivered, chain.delay, chain.dropped, chain.rings[0].packets[0].source));
    chain.transmitted as f64 / passed.max(1e-9)
}
