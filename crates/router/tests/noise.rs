//! Requests and conditions with random faults: refused with a fix, or read; never a panic.

use lockgate_router::control::protocol::Request;
use lockgate_scenario::condition::Condition;

const LINES: [&str; 4] = [
    "{\"do\":\"apply\",\"origin\":\"new.toml\",\"policy\":\"[router]\\n\",\"confirm_within_ms\":120000,\"revert_if\":\"class.q.drops > 1p\"}",
    "{\"do\":\"confirm\"}",
    "{\"do\":\"rollback\",\"steps\":3}",
    "{\"do\":\"status\"}",
];

const CONDITIONS: [&str; 4] = [
    "class.voice.sojourn.p99 > 50ms",
    "port.lan->wan.queue.\"a.b\".backlog.bytes >= 64kB for 5s",
    "class.voice.loss <= 0.5% for 1min",
    "port.wan.queue.voice.sent.rate < 1.5mbit",
];

/// Pseudo-random numbers by a linear congruential generator (Knuth's MMIX).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Removes, doubles, swaps or replaces a few bytes.
    fn damage(&mut self, text: &str) -> Vec<u8> {
        const BYTES: &[u8] = b"<>=.\"-: 0f\\{}[],\xc3\xff\n\0%";
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len().max(1));
            match self.below(4) {
                _ if bytes.is_empty() => bytes.push(b'x'),
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, BYTES[self.below(BYTES.len())]),
                2 => bytes[at] = BYTES[self.below(BYTES.len())],
                _ => bytes.truncate(at),
            }
        }
        bytes
    }
}

#[test]
fn damaged_requests_are_read_or_refused() {
    let (mut draws, mut read) = (Draws(1), 0);
    for round in 0..20_000 {
        let line = draws.damage(LINES[round % LINES.len()]);
        match Request::read(&line) {
            Ok(request) => {
                let again = serde_json::to_vec(&request).expect("plain data");
                assert_eq!(Request::read(&again), Ok(request));
                read += 1;
            }
            Err(refusal) => assert!(!refusal.message.is_empty() && !refusal.help.is_empty()),
        }
    }
    assert!((100..19_000).contains(&read), "{read} of 20000 read");
}

#[test]
fn damaged_conditions_are_read_or_refused() {
    let (mut draws, mut read) = (Draws(2), 0);
    for round in 0..20_000 {
        let bytes = draws.damage(CONDITIONS[round % CONDITIONS.len()]);
        let text = String::from_utf8_lossy(&bytes);
        match Condition::parse(&text) {
            Ok(condition) => {
                assert_eq!(Condition::parse(condition.text()), Ok(condition));
                read += 1;
            }
            Err(error) => assert!(!error.problem.is_empty() && !error.help.is_empty(), "{text}"),
        }
    }
    assert!((500..19_000).contains(&read), "{read} of 20000 read");
}
