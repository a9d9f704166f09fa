//! `lockgate top`, and `tc` in a namespace of its own: what the kernel shows is what was exported, and what
//! is counted is what `tc -s` prints. Needs namespaces, `ip` and `tc`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use lockgate_testing::skipped;

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");

/// Two ends of a cable, one of which is `v0`, and an address without a host.
const CABLE: &str = "
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up
ip addr add 10.0.0.1/24 dev v0 && ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev v0
";

/// Runs a script of the shell in a network namespace that vanishes with it; `None` if this host has none, or
/// its kernel not the disciplines.
fn inside(directory: &Path, script: &str) -> Option<String> {
    let possible = format!(
        "set -e\n{CABLE}\ntc qdisc add dev v0 root handle 1: htb\ntc qdisc add dev v1 root tbf rate 1mbit burst 5k latency 1s"
    );
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["-rn", "bash", "-c", script])
            .current_dir(directory)
            .env("LOCKGATE", LOCKGATE)
            .output()
            .ok()
    };
    if !run(&possible).is_some_and(|output| output.status.success()) {
        skipped("needs `unshare -rn`, `ip`, `tc`, HTB and TBF");
        return None;
    }
    let output = run(&format!("set -e\n{CABLE}\n{script}")).expect("it ran before");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{said}\n{errors}");
    Some(said.into_owned())
}

const SHAPER: &str = "
tc qdisc add dev v0 root handle 1: htb default 20
tc class add dev v0 parent 1: classid 1:1 htb rate 2mbit ceil 2mbit
tc class add dev v0 parent 1:1 classid 1:10 htb rate 400kbit ceil 500kbit prio 0
tc class add dev v0 parent 1:1 classid 1:20 htb rate 1mbit ceil 2mbit prio 1
tc qdisc add dev v0 parent 1:10 handle 10: pfifo limit 5
tc qdisc add dev v0 parent 1:20 handle 20: tbf rate 1500kbit burst 3kb latency 2s
tc filter add dev v0 parent 1: protocol ip prio 1 u32 match ip dport 5060 0xffff flowid 1:10
";

/// Returns the counters that `tc -s` prints, by handle: bytes, packets, dropped, overlimits, and packets that
/// wait.
fn counters(text: &str) -> BTreeMap<String, Vec<u64>> {
    let mut found = BTreeMap::new();
    let mut handle = String::new();
    let numbers = |line: &str| -> Vec<u64> {
        line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
    };
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["qdisc" | "class", _, name, ..] => (*name).clone_into(&mut handle),
            ["Sent", ..] => {
                let numbers = numbers(line);
                found.insert(handle.clone(), numbers[..4].to_vec());
            }
            ["backlog", _, packets, ..] => {
                found.get_mut(&handle).expect("counters").extend(numbers(packets));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn counters_are_those_of_tc() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SHAPER}
        for n in $(seq 300); do echo {text} > /dev/udp/10.0.0.2/5060; echo {text} > /dev/udp/10.0.0.2/9; done
        sleep 3
        $LOCKGATE top v0 --once --json --every 100ms 2>/dev/null
        echo =====; tc -s qdisc show dev v0; tc -s class show dev v0
        echo =====; $LOCKGATE top v0 --once --every 50ms 2>/dev/null",
        text = "x".repeat(400)
    );
    let Some(said) = inside(directory.path(), &script) else { return };
    let parts: Vec<&str> = said.split("=====\n").collect();
    let top: Value = serde_json::from_str(parts[0]).expect("JSON of top");
    let queues = top["devices"][0]["queues"].as_array().expect("queues");
    let mut shown = BTreeMap::new();
    for queue in queues {
        let names = ["sent_bytes", "sent_packets", "dropped", "overlimits", "backlog_packets"];
        let values = names.map(|name| queue[name].as_u64().expect("a counter")).to_vec();
        shown.insert(queue["handle"].as_str().expect("a handle").to_owned(), values);
    }
    assert_eq!(shown, counters(parts[1]));
    assert!(shown["1:"][1] > 100 && shown["10:"][2] > 0, "packets passed, and some were dropped: {shown:?}");
    let class = queues.iter().find(|queue| queue["handle"] == "1:10").expect("the class");
    assert_eq!(
        (class["htb"]["rate_bps"].as_u64(), class["htb"]["ceil_bps"].as_u64()),
        (Some(400_000), Some(500_000))
    );
    assert!(class["own"]["lends"].as_u64().expect("lends") > 0, "{class}");
    for part in ["v0 1:", "    1:10", "      10:", "htb class"] {
        assert!(parts[2].contains(part), "{part}: {}", parts[2]);
    }
}

/// The document in the form of `tc` has the keys and the values of `tc`'s own, but for options and counts of
/// references.
#[test]
fn a_document_has_the_form_of_tc() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SHAPER}
        for n in $(seq 100); do echo {text} > /dev/udp/10.0.0.2/5060; echo {text} > /dev/udp/10.0.0.2/9; done
        sleep 2
        $LOCKGATE top v0 --once --tc --every 50ms 2>/dev/null
        echo =====; tc -s -j qdisc show dev v0",
        text = "x".repeat(400)
    );
    let Some(said) = inside(directory.path(), &script) else { return };
    let documents: Vec<Vec<Value>> =
        said.split("=====\n").map(|part| serde_json::from_str(part).expect("JSON")).collect();
    let [ours, theirs] = &documents[..] else { panic!("{said}") };
    assert_eq!((ours.len(), theirs.len()), (3, 3), "{said}");
    for queue in theirs {
        let same = ours.iter().find(|known| known["handle"] == queue["handle"]).expect("the discipline");
        for (name, value) in queue.as_object().expect("an object") {
            if ["options", "refcnt", "dev"].contains(&name.as_str()) {
                continue;
            }
            assert_eq!(&same[name], value, "{name} of {queue}");
        }
    }
    assert!(ours.iter().all(|queue| queue["dev"] == "v0" && queue["packets"].as_u64() > Some(0)), "{said}");
}

/// Policies that a kernel with HTB, TBF, FIFO, u32, ingress and mirred has.
const POLICIES: [&str; 4] = [
    "qdisc add dev v0 root handle 1: htb default 30 r2q 10
class add dev v0 parent 1: classid 1:1 htb rate 20mbit ceil 20mbit
class add dev v0 parent 1:1 classid 1:10 htb rate 1mbit ceil 2mbit prio 0
class add dev v0 parent 1:1 classid 1:20 htb rate 5mbit ceil 20mbit prio 1 quantum 3000
class add dev v0 parent 1:1 classid 1:30 htb rate 14mbit ceil 20mbit prio 2
qdisc add dev v0 parent 1:10 handle 10: pfifo limit 50
qdisc add dev v0 parent 1:20 handle 20: bfifo limit 60000
qdisc add dev v0 parent 1:30 handle 30: tbf rate 3mbit burst 10kb latency 50ms
filter add dev v0 parent 1: protocol ip prio 1 u32 match ip protocol 17 0xff match ip dport 5060 0xffff flowid 1:10
filter add dev v0 parent 1: protocol ip prio 2 u32 match ip tos 0xb8 0xfc flowid 1:10
filter add dev v0 parent 1: protocol ip prio 3 u32 match ip dst 203.0.113.0/24 flowid 1:20
",
    "qdisc add dev v0 root handle 1: htb default 20
class add dev v0 parent 1: classid 1:1 htb rate 100mbit
class add dev v0 parent 1:1 classid 1:2 htb rate 60mbit ceil 100mbit
class add dev v0 parent 1:1 classid 1:20 htb rate 40mbit ceil 100mbit burst 15k cburst 15k
class add dev v0 parent 1:2 classid 1:10 htb rate 20mbit ceil 60mbit
class add dev v0 parent 1:2 classid 1:11 htb rate 40mbit ceil 60mbit
qdisc add dev v0 parent 1:10 handle 10: htb default 2
class add dev v0 parent 10: classid 10:1 htb rate 1mbit ceil 2mbit
class add dev v0 parent 10: classid 10:2 htb rate 3mbit ceil 5mbit
filter add dev v0 parent 10: protocol ip prio 1 u32 match ip sport 4096 0xf000 flowid 10:1
filter add dev v0 parent 1: protocol ip prio 1 u32 match ip src 198.51.100.0/24 flowid 1:10
filter add dev v0 parent 1: protocol ip prio 2 u32 match ip src 192.0.2.0/24 match ip protocol 6 0xff flowid 1:11
",
    "qdisc add dev v0 root handle 1: tbf rate 8mbit burst 20kb latency 40ms peakrate 12mbit mtu 1600\n",
    "qdisc add dev v0 root handle 1: htb
class add dev v0 parent 1: classid 1:10 htb rate 1mbit ceil 1mbit
class add dev v0 parent 1: classid 1:11 htb rate 2mbit ceil 2mbit
filter add dev v0 parent 1: protocol ip prio 1 u32 match ip dst 10.0.0.7/32 flowid 1:10
filter add dev v0 parent 1: protocol ip prio 2 u32 match ip dst 10.0.0.8/32 flowid 1:11
",
];

/// Sizes that the kernel keeps as times of 64 ns, and `tc` prints rounded.
const ROUNDED: [&str; 3] = ["burst", "cburst", "mtu"];

/// Requires that two scripts are the same, rounded sizes within a percent.
fn assert_same(ours: &str, shown: &str) {
    let (ours_lines, shown_lines): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), shown.lines().collect());
    assert_eq!(ours_lines.len(), shown_lines.len(), "{ours}\n{shown}");
    for (one, other) in ours_lines.iter().zip(&shown_lines) {
        let (one_words, other_words): (Vec<&str>, Vec<&str>) =
            (one.split(' ').collect(), other.split(' ').collect());
        assert_eq!(one_words.len(), other_words.len(), "{one}\n{other}");
        for (index, (one_word, other_word)) in one_words.iter().zip(&other_words).enumerate() {
            let is_rounded = index > 0 && ROUNDED.contains(&one_words[index - 1]);
            let numbers = (one_word.parse::<f64>(), other_word.parse::<f64>());
            let is_near = matches!(numbers, (Ok(a), Ok(b)) if is_rounded && (a - b).abs() <= 1.0 + a / 100.0);
            assert!(is_near || one_word == other_word, "{one_word}, shown {other_word}\n{one}\n{other}");
        }
    }
}

/// Exports a policy, applies it in a namespace, and imports what the kernel shows: the same commands.
fn round(policy: &str, arrives: bool) {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    std::fs::write(at.join("policy.tc"), policy).expect("written");
    let (options, port) = if arrives { (" --ifb ifb0", "there:here") } else { ("", "here:there") };
    let script = format!(
        "$LOCKGATE tc import policy.tc > first.toml
        $LOCKGATE tc export first.toml --port here:there --dev v0{options} > first.sh
        sh -e first.sh 2> warnings.txt
        $LOCKGATE tc import --from v0 > again.toml
        $LOCKGATE tc export again.toml --port {port} --dev v0{options} > again.sh"
    );
    if inside(at, &script).is_none() {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(at.join(name)).expect("a script");
    assert_same(&read("first.sh"), &read("again.sh"));
}

#[test]
fn what_is_exported_is_what_the_kernel_shows() {
    for policy in POLICIES {
        round(policy, false);
    }
}

#[test]
fn what_arrives_is_redirected_as_exported() {
    for policy in &POLICIES[..2] {
        round(policy, true);
    }
}

/// Returns the samples of a stream.
fn samples(stream: &str) -> Vec<Value> {
    let lines = stream.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter_map(|line| line.get("sample").cloned()).collect()
}

#[test]
fn a_stream_is_shown_and_recorded_elsewhere() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SHAPER}
        for n in $(seq 50); do echo {text} > /dev/udp/10.0.0.2/9; done &
        timeout -s INT 3 $LOCKGATE top v0 --stream --every 50ms > stream.ndjson 2> said || true
        wait
        $LOCKGATE top --from stream.ndjson --json --record page.html > shown.ndjson 2> recorded
        echo no stream | $LOCKGATE top --from - --plain 2>&1 || echo code $?
        $LOCKGATE top --from nothing.ndjson 2>&1 || echo code $?
        $LOCKGATE top v0 --stream --record x 2>&1 || echo code $?
        echo a letter > letter.html
        $LOCKGATE top v0 --record letter.html 2>&1 || echo code $?
        $LOCKGATE top v0 --sojourn=/nowhere 2>&1 || echo code $?",
        text = "x".repeat(400)
    );
    let Some(said) = inside(directory.path(), &script) else { return };
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).expect(name);
    let stream = read("stream.ndjson");
    let head: Value = serde_json::from_str(stream.lines().next().expect("a head")).expect("JSON");
    assert_eq!(head["head"]["devices"][0][0], "v0");
    let sent = samples(&stream);
    assert!(sent.len() > 3, "{} samples", sent.len());
    // What is shown elsewhere is what was sent.
    let shown: Vec<Value> =
        read("shown.ndjson").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(shown, sent);
    let ended = read("said");
    assert!(
        ended.contains("ending the view; the queues stay as they are") && !ended.contains("results"),
        "{ended}"
    );
    let page = read("page.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("queues of v0"), "a page");
    assert!(read("recorded").contains("recorded: page.html"));
    for why in [
        "line 1 is not one of `lockgate top --stream`",
        "cannot read `nothing.ndjson`",
        "cannot be used with",
        "letter.html",
        "the kernel's traces are not mounted at `/nowhere`",
    ] {
        assert!(said.contains(why), "{why}: {said}");
    }
    assert_eq!((said.matches("code 2").count(), said.matches("code 4").count()), (4, 1), "{said}");
    assert_eq!(read("letter.html"), "a letter\n");
}

#[test]
fn knobs_change_the_kernel_and_are_undone() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "{SHAPER}
        ip link set lo up
        export LOCKGATE_TOKEN=of-this-test
        $LOCKGATE top v0 --set --plain --web 127.0.0.1:8180 > /dev/null 2> said &
        top=$!
        for n in $(seq 100); do grep -q page: said && break; sleep 0.1; done
        set_() {{ $LOCKGATE set \"$@\" 2>&1 || echo code $?; }}
        set_ port.v0.queue.1:10.rate=300kbit port.v0.queue.20:.limit=90kB
        echo =====; tc class show dev v0 classid 1:10; tc -r qdisc show dev v0
        set_ port.v0.queue.10:.limit=9p --for 2s > /dev/null
        echo =====; tc qdisc show dev v0
        for n in $(seq 100); do tc qdisc show dev v0 | grep -q 'limit 5p' && break; sleep 0.1; done
        echo =====; tc qdisc show dev v0
        echo =====; set_ port.v0.queue.1:10.prio=1; set_ port.v0.queue.9:.limit=1p; set_ port.v1.queue.10:.limit=1p
        set_ port.v0.queue.1:10.ceil=fast; set_ wan.rate=1mbit
        set_ port.v0.queue.1:20.ceil=1mbit port.v0.queue.1:20.prio=1
        tc class show dev v0 classid 1:20
        set_ port.v0.queue.10:.limit=7p --for 1h > /dev/null
        kill -INT $top; wait $top || true
        echo =====; tc qdisc show dev v0"
    );
    let Some(said) = inside(directory.path(), &script) else { return };
    let parts: Vec<&str> = said.split("=====\n").collect();
    let [_, changed, for_a_time, restored, refused, ended] = &parts[..] else { panic!("{said}") };
    assert!(changed.contains("rate 300Kbit ceil 500Kbit"), "{changed}");
    // The burst is the same within a tick.
    assert!(["burst 1600b", "burst 1599b"].iter().any(|burst| changed.contains(burst)), "{changed}");
    assert!(changed.contains("rate 1500Kbit") && changed.contains("limit 90000b"), "{changed}");
    assert!(for_a_time.contains("limit 9p") && restored.contains("limit 5p"), "{said}");
    for why in [
        "it has `rate`, `ceil`",
        "`v0` has no queue `9:`",
        "`v1` has no queue",
        "fast",
        "is not a value of a queue",
    ] {
        assert!(refused.contains(why), "{why}: {refused}");
    }
    // All of a setting or nothing.
    assert!(refused.contains("ceil 2Mbit"), "{refused}");
    assert!(ended.contains("limit 5p"), "what was set for a time ends with the view: {ended}");
}

/// Without a folder the usual ones are looked up.
#[test]
fn traces_need_no_folder() {
    for sojourn in ["--sojourn", "--sojourn=/nowhere"] {
        let output = Command::new(LOCKGATE).args(["top", "none", sojourn]).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("there is no interface `none`"), "{sojourn}: {errors}");
    }
}

#[test]
fn delays_are_those_of_the_packets() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-mn", "bash", "-c", script]).current_dir(directory.path());
        command.env("LOCKGATE", LOCKGATE).output().ok()
    };
    let mount = format!(
        "set -e\nmkdir -p traces && mount -t tracefs none traces\ntest -e traces/events/qdisc/qdisc_enqueue\n{CABLE}"
    );
    let shaped = format!("{mount}\ntc qdisc add dev v0 root tbf rate 800kbit burst 2kb latency 5s\n");
    if !run(&shaped).is_some_and(|output| output.status.success()) {
        skipped("needs root, tracepoints of queues, and TBF");
        return;
    }
    // 100 frames of 1000 bytes, one in 10 ms: sent at once, they wait 47 s together.
    let script = format!(
        "{shaped}
        (sleep 1; date +%s.%N > begun; for n in $(seq 100); do echo -n {text} > /dev/udp/10.0.0.2/9; done
         date +%s.%N > ended) &
        timeout -s INT 8 $LOCKGATE top v0 --sojourn=traces --stream --every 100ms > stream.ndjson || true
        ls traces/instances",
        text = "x".repeat(958)
    );
    let output = run(&script).expect("it ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Other tests may trace, too; of ours nothing is left.
    let stream = std::fs::read_to_string(directory.path().join("stream.ndjson")).expect("a stream");
    let last = samples(&stream).pop().expect("a sample");
    let root = &last["ports"][0]["queues"][0];
    let (count, sum) = (root["total"]["sojourn_count"].as_u64(), root["total"]["sojourn_sum_s"].as_f64());
    let (count, sum) = (count.expect("a count") as f64, sum.expect("a sum"));
    assert!(count >= 90.0, "{count} delays: {root}");
    // No packet waits for less than if all had been sent at once, less the time that sending takes. Frames of
    // the kernel's own, which do not wait, add nothing to the sum.
    let time = |name: &str| {
        let text = std::fs::read_to_string(directory.path().join(name)).expect("a time");
        text.trim().parse::<f64>().expect("seconds")
    };
    let sending = time("ended") - time("begun");
    assert!(sum / 100.0 + sending > 0.4, "{sum} s, sent in {sending} s: {root}");
    let classes = root["total"]["sojourn_classes"].as_array().expect("classes");
    assert!(classes.last().and_then(Value::as_u64) <= Some(count as u64), "{root}");
}
