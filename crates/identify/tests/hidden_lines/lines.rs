//! Hidden lines: drawn from a seed, with queues, clocks, losses and traffic of others that the judge is not
//! told.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use lockgate_engine::random::{Random, Seed};
use lockgate_identify::{Line, Observation, Others, Probe, Prober};

/// Line with a queue that the judge is not told.
pub(crate) struct HiddenLine {
    /// Name of its family, as the candidates have it.
    pub(crate) family: &'static str,
    /// Rate in bit/s.
    pub(crate) rate: f64,
    /// Limit of the queue in seconds at the rate; zero if it has none that counts.
    pub(crate) wait: f64,
    /// Depth of the bucket in bytes; zero without one.
    pub(crate) bucket: f64,
    /// Target delay of its law in seconds; zero without one.
    pub(crate) target: f64,
    /// Description of the rest.
    pub(crate) text: String,
    line: Line,
    pub(crate) others: Others,
    jitter: f64,
    offset: f64,
    drift: f64,
    seed: u64,
}

/// Families that are drawn, in turn.
pub(crate) const FAMILIES: [&str; 14] = [
    "fifo",
    "fifo-head",
    "shaper",
    "policer",
    "red",
    "codel",
    "pie",
    "sfq",
    "fq_codel",
    "fq_pie",
    "cake",
    "prio",
    "drr",
    "dualpi2",
];

struct Draw(Random);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    fn log(&mut self, low: f64, high: f64) -> f64 {
        (self.between(low.ln(), high.ln())).exp()
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.below(of.len() as u32) as usize]
    }
}

/// What a queue is drawn with.
struct Queue {
    text: String,
    bucket: f64,
    wait: f64,
    target: f64,
}

/// Returns a shaper or policer, and the depth of its bucket in bytes.
fn bucketed(family: &str, rate: f64, bytes: u64, draw: &mut Draw) -> (String, f64) {
    let bits = rate as u64;
    let mut bucket = draw.log(9_000.0, 400_000.0).min(rate / 8.0).max(9_000.0);
    let burst = bucket as u64;
    let excess = burst / 2;
    let text = match (family, draw.0.below(3)) {
        ("shaper", _) => {
            format!(
                "queue.q = {{ kind = \"tbf\", rate = \"{bits}bit\", burst = \"{burst}B\", limit = \"{bytes}B\" }}\n"
            )
        }
        (_, 0) => {
            bucket += excess as f64;
            format!(
                "queue.q = {{ kind = \"policer\", rate = \"{bits}bit\", burst = \"{burst}B\", excess_burst = \"{excess}B\" }}\n"
            )
        }
        _ => format!("queue.q = {{ kind = \"policer\", rate = \"{bits}bit\", burst = \"{burst}B\" }}\n"),
    };
    (text, bucket)
}

fn red(bits: u64, bytes: u64, draw: &mut Draw) -> String {
    let max = bytes.max(12_000);
    let min = (max as f64 * draw.between(0.25, 0.45)) as u64;
    let percent = draw.log(2.0, 15.0);
    format!(
        "queue.q = {{ kind = \"red\", min = \"{min}B\", max = \"{max}B\", limit = \"{}B\", avpkt = \"1000B\", \
         probability = \"{percent:.3}%\", bandwidth = \"{bits}bit\" }}\n",
        max * 4
    )
}

fn queue(family: &str, rate: f64, draw: &mut Draw) -> Queue {
    let bits = rate as u64;
    let least = (12.0 * 1442.0 * 8.0 / rate).max(0.015);
    let wait = draw.log(least, (least * 3.0).max(0.5));
    let bytes = (wait * rate / 8.0) as u64;
    let packets = (bytes / 1442).max(10);
    let limit = if draw.0.below(2) == 0 { format!("{bytes}B") } else { format!("{packets}p") };
    let mut bucket = 0.0;
    let target = draw.log(3.0, 20.0);
    let big = "limit = \"10000p\"".to_owned();
    let own = if draw.0.below(2) == 0 { big } else { format!("limit = \"{}p\"", packets.max(60)) };
    let fifo = format!("kind = \"fifo\", limit = \"{limit}\"");
    let classes = format!(
        "queue.urgent = {{ {fifo}, match = [{{ dscp = \"EF\" }}] }}\nqueue.usual = {{ {fifo}, match = [{{ dscp = 0 }}] }}\n\
         queue.late = {{ {fifo} }}\n"
    );
    let text = match family {
        "fifo" => format!("queue.q = {{ {fifo} }}\n"),
        "fifo-head" => format!("queue.q = {{ {fifo}, overflow = \"head\" }}\n"),
        "shaper" | "policer" => {
            let (text, depth) = bucketed(family, rate, bytes, draw);
            bucket = depth;
            text
        }
        "red" => red(bits, bytes, draw),
        "codel" | "fq_codel" => {
            format!("queue.q = {{ kind = \"{family}\", {own}, target = \"{}us\" }}\n", (target * 1e3) as u64)
        }
        "pie" | "fq_pie" => {
            let flavour = draw.one(&["rfc", "linux"]);
            format!(
                "queue.q = {{ kind = \"{family}\", {own}, target = \"{}us\", flavour = \"{flavour}\" }}\n",
                (target * 2e3) as u64
            )
        }
        "sfq" => {
            let depth = packets.max(20);
            format!(
                "queue.q = {{ kind = \"sfq\", limit = \"{depth}p\", depth = {depth}, divisor = 1024, quantum = \"1514B\" }}\n"
            )
        }
        "cake" => {
            let rtt = draw.one(&[100, 100, 60, 30]);
            format!("queue.q = {{ kind = \"cake\", bandwidth = \"{bits}bit\", rtt = \"{rtt}ms\" }}\n")
        }
        "prio" | "drr" => format!(
            "root = \"q\"\nqueue.q = {{ kind = \"{family}\", children = [\"urgent\", \"usual\", \"late\"] }}\n{classes}"
        ),
        _ => format!("queue.q = {{ kind = \"dualpi2\", {own}, target = \"{}us\" }}\n", (target * 2e3) as u64),
    };
    let wait = if matches!(family, "fifo" | "fifo-head" | "shaper") { wait } else { 0.0 };
    let target = match family {
        "codel" | "fq_codel" => target * 1e-3,
        "pie" | "fq_pie" | "dualpi2" => target * 2e-3,
        _ => 0.0,
    };
    Queue { text, bucket, wait, target }
}

impl HiddenLine {
    /// Draws line number `index` of the set of `seed`.
    pub(crate) fn draw(seed: u64, index: usize) -> Self {
        let family = FAMILIES[index % FAMILIES.len()];
        let mut draw = Draw(Random::stream(Seed(seed), &format!("hidden/{index}")));
        let rate = draw.log(0.5e6, 500e6);
        let delay = draw.log(0.001, 0.150);
        let busy = if draw.0.below(2) == 0 { 0.0 } else { draw.between(0.05, 0.3) };
        let loss = if draw.0.below(5) < 3 { 0.0 } else { draw.log(0.0002, 0.005) };
        let jitter = if draw.0.below(2) == 0 { 5e-6 } else { draw.log(2e-5, 3e-4) };
        let (offset, drift) = (draw.between(-0.5, 0.5), draw.between(-5e-5, 5e-5));
        let queue = queue(family, rate, &mut draw);
        let has_peak = queue.bucket > 0.0 || family == "cake";
        let line_rate = if has_peak { rate * draw.one(&[4.0, 10.0]) } else { rate };
        let text = format!(
            "duration = \"1s\"\nflow.f = {{ from = \"a\", to = \"b\", size = \"142B\", gap = \"1s\" }}\nnode = {{ a = {{}}, b = {{}} }}\nlink.l = {{ between = [\"a\", \"b\"], rate = \"{}bit\", \
             delay = \"{}us\", loss = \"{:.4}%\" }}\n[port.\"a:b\"]\n{}",
            line_rate as u64,
            (delay * 1e6) as u64,
            loss * 100.0,
            queue.text
        );
        let files = BTreeMap::<String, Arc<[u8]>>::new();
        let scenario = lockgate_scenario::read(&text, "hidden", &files, &[])
            .unwrap_or_else(|why| panic!("{why:?} in {text}"));
        let line = Line::of(&scenario, "a:b").expect("the port");
        let others = Others { rate: busy * rate, length: draw.one(&[1442, 1442, 600]) };
        let text = format!(
            "{:.1} ms, loss {:.2} %, jitter {:.0} us, others {:.0} %; {}",
            delay * 1e3,
            loss * 100.0,
            jitter * 1e6,
            busy * 100.0,
            queue.text.trim_end().replace('\n', "; ")
        );
        let Queue { bucket, wait, target, .. } = queue;
        let seed = seed * 1_000_003 + index as u64;
        Self { family, rate, wait, bucket, target, text, line, others, jitter, offset, drift, seed }
    }

    /// Limits with which it is probed: those of the command, more for a fast line.
    pub(crate) fn limits(&self) -> lockgate_identify::Limits {
        let default = lockgate_identify::Limits::default();
        if self.rate < 12e6 {
            return default;
        }
        let bytes = (self.rate * 14.0 / 8.0).min(150e6) as u64;
        lockgate_identify::Limits {
            most: (self.rate * 4.0).max(1e8),
            bytes: bytes.max(default.bytes),
            ..default
        }
    }
}

impl Prober for HiddenLine {
    type Error = Infallible;

    fn send(&mut self, probe: &mut Probe) -> Result<Observation, Infallible> {
        let mut observed = self.line.pass(probe, self.others, Seed(self.seed)).expect("a queue");
        let mut noise = Random::stream(Seed(self.seed), "hidden/jitter");
        for arrival in observed.rounds.iter_mut().flatten() {
            let late = -(1.0 - noise.unit()).ln() * self.jitter;
            if let Some(arrival) = arrival {
                let at = arrival.at as f64;
                arrival.at = (at + (late + self.offset) * 1e12 + at * self.drift) as i64;
            }
        }
        Ok(observed)
    }
}
