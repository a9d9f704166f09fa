use lockgate_measure::monitor::PortSample;

use super::*;
use crate::read_policy;

fn sample() -> Sample {
    let queue = |name: &str, packets| QueueSample {
        name: name.to_owned(),
        packets,
        bytes: packets * 1000,
        sent_bps: 5e6,
        sent_packets: 90,
        dropped_packets: 10,
        sojourn_p50_s: Some(0.010),
        sojourn_p99_s: Some(0.060),
        sojourn_mean_s: None,
        ..QueueSample::default()
    };
    let port = |name: &str, packets| PortSample {
        name: name.to_owned(),
        queues: vec![
            queue("root", packets + 5),
            queue("voice", packets),
            queue("plan/C1", 2),
            queue("plan/C2", 9),
        ],
        ..PortSample::default()
    };
    Sample { interval_s: 0.5, ports: vec![port("lan:wan", 3), port("wan:lan", 7)], ..Sample::default() }
}

#[test]
fn each_figure_is_read_in_its_unit() {
    let sample = sample();
    for (text, met) in [
        ("class.voice.sojourn.p99 > 50ms", Some(0.060)),
        ("class.voice.sojourn.p99>50ms", Some(0.060)),
        ("class.voice.sojourn.p99 > 60ms", None),
        ("class.voice.sojourn.p99 >= 60ms", Some(0.060)),
        ("class.voice.sojourn.p50 < 20ms", Some(0.010)),
        ("class.voice.sojourn.mean > 0ms", None),
        ("class.voice.backlog.packets > 5p", Some(7.0)),
        ("port.lan:wan.queue.voice.backlog.packets > 5p", None),
        ("port.lan->wan.queue.voice.backlog.packets <= 3p", Some(3.0)),
        ("port.\"wan->lan\".queue.\"voice\".backlog.bytes > 5kB for 5s", Some(7000.0)),
        ("class.voice.sent.rate < 6mbit", Some(5e6)),
        ("class.voice.drops >= 20p", Some(20.0)),
        ("class.voice.drops > 20p", None),
        ("class.voice.loss > 9%", Some(0.1)),
        ("class.voice.loss > 11%", None),
        ("class.plan/*.backlog.packets > 5p", Some(9.0)),
        ("class.plan/*.backlog.packets > 9p", None),
        ("class.pla/*.backlog.packets > 5p", None),
    ] {
        let condition = Condition::parse(text).expect(text);
        assert_eq!(condition.met_by(&sample).map(|met| met.value), met, "{text}");
        assert_eq!(condition.text(), text);
    }
}

#[test]
fn wrong_conditions_say_what_to_write() {
    for (text, word) in [
        ("", "compares nothing"),
        ("> 5ms", "compares nothing"),
        ("class.voice.sojourn.p99", "compares nothing"),
        ("port.lan->wan", "compares nothing"),
        ("class.voice.sojourn.p99 = 5ms", "compares nothing"),
        ("class.voice.sojourn.p98 > 5ms", "did you mean `sojourn.p99`?"),
        ("class.voice > 5ms", "a queue has sojourn.p50"),
        ("flow.voice.loss > 5%", "begins with class.QUEUE"),
        ("class.\"voice.loss > 5%", "not closed"),
        ("class.voice.sojourn.p99 > 50", "unit"),
        ("class.voice.sojourn.p99 > 5mbit", "unit"),
        ("class.voice.loss > 5", "unit"),
        ("class.voice.loss > -5%", "unit"),
        ("class.voice.loss > 5% for ever", "for 5s"),
        ("class.voice.loss > 5% for 2h", "an hour"),
    ] {
        let error = Condition::parse(text).expect_err(text);
        let all = format!("{error} {}", error.help);
        assert!(all.contains(word), "{text}: {all}");
    }
    assert!(Condition::parse(&"x".repeat(2000)).expect_err("long").problem.contains("too long"));
}

#[test]
fn names_are_those_of_the_policy() {
    let policy = read_policy(
        "[router]\nmode = \"bridge\"\ninterfaces = { lan = \"eth1\", wan = \"eth2\" }\n[port.\"lan->wan\"]\nroot = \
         \"top\"\nqueue.top = { kind = \"prio\", children = [\"voice\", \"rest\"] }\nqueue.voice = { kind = \
         \"fifo\", match = [{ dscp = \"EF\" }] }\nqueue.rest = { kind = \"fifo\" }\n",
        "house.toml",
    )
    .expect("a policy");
    let check = |text: &str| Condition::parse(text).expect(text).check(policy.trees());
    assert_eq!(check("class.voice.drops > 1p"), Ok(()));
    assert_eq!(check("port.lan:wan.queue.top.drops > 1p"), Ok(()));
    assert!(check("class.plan/*.drops > 1p").is_err());
    let near = check("class.vioce.drops > 1p").expect_err("unknown");
    assert_eq!(near.to_string(), "the policy has no queue `vioce`");
    assert_eq!(near.help, "did you mean `voice`?");
    assert!(check("port.wan:lan.queue.voice.drops > 1p").expect_err("elsewhere").help.contains("fifo"));
    assert!(check("port.wan:lam.queue.voice.drops > 1p").expect_err("unknown").help.contains("wan:lan"));
}
