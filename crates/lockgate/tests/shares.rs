//! Shares and means of queues: every share is of the packets of which it is a part, equal senders are told
//! from unlucky ones, and backlogs are those of queueing theory.

use lockgate::{Options, Scenario, Seed, Summary};
use lockgate_engine::random::Random;
use serde_json::Value;

fn read(text: &str) -> Scenario {
    lockgate::read_text(text, "it", &lockgate::no_files(), &[])
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn run(text: &str, seeds: u64) -> Summary {
    let scenario = read(text);
    let seeds = (1..=seeds).map(Seed).collect();
    let runs = lockgate::run(&scenario, &Options { seeds, ..Options::default() }).expect("it runs");
    lockgate::summarise(&scenario, &runs.recordings).expect("its metrics")
}

/// Returns a scenario whose queues are full when the warm-up ends, by several kinds of senders, with a queue
/// that is replaced on the way.
fn overloaded(random: &mut Random) -> String {
    let mut one = |of: &[&str]| of[random.below(of.len() as u32) as usize].to_owned();
    let kind = one(&["fifo", "codel", "red", "pie", "fq_codel", "sfq", "cake", "tbf", "choke", "drr"]);
    let queue = match kind.as_str() {
        "red" => "kind = \"red\", min = \"10kB\", max = \"30kB\", limit = \"90kB\"".to_owned(),
        "tbf" => "kind = \"tbf\", rate = \"1mbit\", burst = \"5kB\", limit = \"90kB\"".to_owned(),
        "choke" => "kind = \"choke\", min = \"10p\", max = \"30p\", limit = \"90p\"".to_owned(),
        "drr" => "kind = \"drr\", children = [\"x\", \"y\"]".to_owned(),
        kind => format!("kind = \"{kind}\""),
    };
    let below = "queue.x = { kind = \"fifo\", limit = \"200p\", match = [{ flow = \"a\" }] }\n\
                 queue.y = { kind = \"fifo\", limit = \"5p\" }\n";
    let below = if kind == "drr" { below } else { "" };
    let limit = one(&["3p", "100p", "1000p"]);
    let (warmup, rate) = (one(&["0s", "1s", "1900ms", "1999ms"]), one(&["300kbit", "1mbit", "5mbit"]));
    let stop = one(&["500ms", "1s", "1001ms", "2s"]);
    let (change, echo) = (one(&["1s", "1500ms", "1950ms"]), one(&["3ms", "20ms", "700ms"]));
    format!(
        "duration = \"2s\"\nwarmup = \"{warmup}\"\nnode = {{ h = {{}}, m = {{}}, r = {{}} }}\n\
         link.l = {{ between = [\"h\", \"m\"], rate = \"20mbit\", loss = \"1%\" }}\n\
         link.k = {{ between = [\"m\", \"r\"], rate = \"{rate}\", delay = \"40ms\", loss = \"5%\" }}\n\
         [port.\"m:r\"]\nroot = \"q\"\nqueue.q = {{ {queue} }}\n{below}\
         queue.other = {{ kind = \"fifo\", limit = \"{limit}\" }}\n\
         [flow]\na = {{ from = \"h\", to = \"r\", transport = \"udp\", size = \"500B\", rate = \"8mbit\", stop = \"{stop}\" }}\n\
         b = {{ from = \"h\", to = \"r\", transport = \"udp\", size = \"98B\", gap = \"{echo}\", echo = true }}\n\
         c = {{ from = \"h\", to = \"r\", transport = \"tcp\", bytes = \"unlimited\" }}\n\
         d = {{ from = \"r\", to = \"h\", profile = \"g711\" }}\n\
         [[change]]\nat = \"{change}\"\nset = {{ port.\"m:r\".root = \"other\" }}\n\
         [[expect]]\nthat = \"flow.b.rtt_loss @ 0s..300ms\"\nat_least = 0\n\
         [[expect]]\nthat = \"flow.b.rtt_loss @ 1s..1100ms\"\nat_least = 0\n\
         [[expect]]\nthat = \"flow.a.loss @ 100ms..1900ms\"\nat_least = 0\n"
    )
    .replace("@ 0s..300ms", if warmup == "0s" { "@ 0s..300ms" } else { "@ 1999ms..2s" })
    .replace("@ 1s..1100ms", if warmup == "0s" { "@ 1s..1100ms" } else { "@ 1999ms..2s" })
    .replace("@ 100ms..1900ms", if warmup == "0s" { "@ 100ms..1900ms" } else { "@ 1999ms..2s" })
}

/// Collects the values whose name says that they are shares.
fn shares(name: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| shares(key, value, found)),
        Value::Array(list) => list.iter().for_each(|value| shares(name, value, found)),
        value if name.ends_with("_ratio") && name != "used_ratio" => {
            found.extend(value.as_f64().map(|value| (name.to_owned(), value)));
        }
        _ => {}
    }
}

/// Returns the percentages of a text, with the text: those of an excess over a bound or another value are
/// not shares.
fn percentages(text: &str) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(" %") {
        let after = text[at + " %".len()..].trim_start();
        let before = text[..at].rsplit(|letter: char| !(letter.is_ascii_digit() || letter == '.')).next();
        let is_excess = ["above", "below", "more", "less"].iter().any(|word| after.starts_with(word));
        if let Some(number) = before.and_then(|number| number.parse::<f64>().ok()).filter(|_| !is_excess) {
            found.push((text.to_owned(), number / 100.0));
        }
    }
    found
}

#[test]
fn every_share_is_of_the_packets_of_which_it_is_a_part() {
    let mut random = Random::stream(Seed(1), "shares");
    let (mut seen, mut dropped) = (0, 0);
    for _ in 0..150 {
        let text = overloaded(&mut random);
        let summary = run(&text, 1);
        let mut found = Vec::new();
        shares("", &serde_json::to_value(summary.written()).expect("JSON"), &mut found);
        for (path, value) in &summary.written().metrics {
            let is_share =
                ["loss", "utilisation", "reordered", "jain_index"].iter().any(|end| path.ends_with(end));
            found.extend(value.filter(|_| is_share).map(|value| (path.clone(), value)));
        }
        for expect in &summary.expect {
            found.extend(expect.value.map(|value| (expect.that.clone(), value)));
        }
        for sentence in summary.verdict().sentences() {
            dropped += usize::from(sentence.contains(" % dropped there"));
            found.extend(percentages(&sentence));
        }
        seen += found.len();
        for (what, share) in found {
            assert!((0.0..=1.0).contains(&share), "{what} is {share}: {text}");
        }
    }
    assert!(seen > 3_000 && dropped > 50, "{seen} shares, {dropped} sentences");
}

/// Queues of one server with Poisson arrivals: the mean number that waits.
#[test]
fn the_mean_backlog_is_that_of_queueing_theory() {
    let queue = |size: &str| {
        format!(
            "duration = \"20000s\"\nwarmup = \"100s\"\nnode = {{ a = {{}}, b = {{}} }}\n\
             link.l = {{ between = [\"a\", \"b\"], rate = \"10mbit\" }}\n\
             port.\"a:b\" = {{ root = \"q\", queue = {{ q = {{ kind = \"fifo\", limit = \"100000p\" }} }} }}\n\
             flow.f = {{ from = \"a\", to = \"b\", transport = \"udp\", size = {size}, \
             gap = {{ distribution = \"exponential\", mean = \"10ms\" }} }}\n"
        )
    };
    // 8 ms of service: the load is 0.8. M/M/1: Lq = rho^2 / (1 - rho); M/D/1: half of that.
    let exponential = "{ distribution = \"exponential\", mean = \"10kB\" }";
    for (size, theory) in [(exponential, 3.2), ("\"10kB\"", 1.6)] {
        let summary = run(&queue(size), 1);
        let queue = &summary.ports["a:b"].queues["q"];
        let mean = queue.mean_backlog_packets.expect("packets waited");
        assert!((mean / theory - 1.0).abs() < 0.05, "{size}: {mean}, expected {theory}");
        let waits = queue.sojourn_s.mean.expect("waits") * queue.sojourn_s.count as f64;
        assert!((mean * 19_900.0 / waits - 1.0).abs() < 1e-9, "Little's law");
        assert_eq!(summary.metric("port.a:b.queue.q.mean_backlog_packets"), Ok(mean));
    }
}

/// Two senders into one port; `more` replaces a part.
fn senders(from: &str, to: &str) -> Vec<String> {
    let text = "duration = \"1s\"\nnode = { a = {}, b = {}, s = {}, r = {} }\n\
                link.a = { between = [\"a\", \"s\"], rate = \"1gbit\", delay = \"1us\" }\n\
                link.b = { between = [\"b\", \"s\"], rate = \"1gbit\", delay = \"1us\" }\n\
                link.out = { between = [\"s\", \"r\"], rate = \"1gbit\", delay = \"1us\" }\n\
                [port.\"s:r\"]\nroot = \"q\"\nqueue.q = { kind = \"fifo\", limit = \"100kB\" }\n\
                [flow]\na = { from = \"a\", to = \"r\", transport = \"udp\", size = \"1500B\", rate = \"900mbit\" }\n\
                b = { from = \"b\", to = \"r\", transport = \"udp\", size = \"1500B\", rate = \"900mbit\" }\n";
    assert!(text.contains(from), "{from}");
    run(&text.replace(from, to), 1).warnings
}

#[test]
fn drops_that_an_order_at_ties_decides_are_said_with_the_cure() {
    let fifo = "queue.q = { kind = \"fifo\", limit = \"100kB\" }";
    let class = |children: &str| {
        format!(
            "queue.q = {{ kind = \"prio\", children = {children} }}\nqueue.x = {{ kind = \"fifo\", limit = \"50p\", match = [{{ flow = \"a\" }}] }}\nqueue.y = {{ kind = \"fifo\", limit = \"50p\" }}"
        )
    };
    let one =
        "queue.q = { kind = \"prio\", children = [\"y\"] }\nqueue.y = { kind = \"fifo\", limit = \"50p\" }";
    let rate = "rate = \"900mbit\" }\nb";
    let drawn = "gap = { distribution = \"exponential\", mean = \"13333ns\" } }\nb";
    for (from, to, is_tie) in [
        (fifo, fifo, true),
        // A drawn start changes the flow on which the drops fall, not that they fall on one.
        (
            rate,
            "start = { distribution = \"uniform\", min = \"0s\", max = \"13us\" }, rate = \"900mbit\" }\nb",
            true,
        ),
        (fifo, one, true),
        (rate, drawn, false),
        (rate, "rate = \"100mbit\" }\nb", false),
        (fifo, "queue.q = { kind = \"fq_codel\" }", false),
        (fifo, &class("[\"x\", \"y\"]"), false),
        (
            "link.out = { between = [\"s\", \"r\"], rate = \"1gbit\"",
            "link.out = { between = [\"s\", \"r\"], rate = \"2gbit\"",
            false,
        ),
    ] {
        let warnings = senders(from, to);
        let said = warnings.iter().find(|warning| warning.contains("send alike"));
        assert_eq!(said.is_some(), is_tie, "{to}: {warnings:?}");
        assert!(said.is_none_or(|said| said.contains("draw `gap`")), "{warnings:?}");
    }
}
