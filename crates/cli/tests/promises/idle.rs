//! A router without frames: how often it wakes.

use std::fs;
use std::time::{Duration, Instant};

use super::setting::{FIFO, Running, loopback, number, policy};

/// Returns how often each thread of a process has slept so far, by name.
fn sleeps(process: u32) -> Vec<(String, u64)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs").flatten();
    let of = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let field =
            |key: &str| status.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()));
        let id = task.file_name().to_string_lossy().into_owned();
        Some((format!("{} {id}", field("Name:")?), field("voluntary_ctxt_switches:")?.parse().ok()?))
    };
    tasks.filter_map(of).collect()
}

/// With its page, as the unit starts it. A busy machine wakes it less often, never more.
#[test]
fn an_idle_router_sleeps() {
    const MOST_WAKEUPS: f64 = 20.0;
    let seconds = number("LOCKGATE_SECONDS", 5);
    let Some(network) = super::setting::network("egress") else { return };
    loopback(&network);
    let router = Running::start(&network, &policy("egress", "8mbit", FIFO), &["--web", "127.0.0.1:0"]);
    // The hosts look for routers and neighbours at first.
    std::thread::sleep(Duration::from_secs(3));
    let (begun, before, used) = (Instant::now(), sleeps(router.id()), router.processor_time());
    std::thread::sleep(Duration::from_secs(seconds));
    let (passed, after, used) =
        (begun.elapsed().as_secs_f64(), sleeps(router.id()), router.processor_time().saturating_sub(used));
    let mut all = 0.0;
    for (name, count) in &after {
        let since = before.iter().find(|it| it.0 == *name).map_or(0, |it| it.1);
        let rate = (count - since) as f64 / passed;
        all += rate;
        if rate > 0.0 {
            println!("{name}: {rate:.1} a second");
        }
    }
    assert!(router.metrics(&network.router).contains("node_qdisc_bytes_total"), "its page is there");
    let share = used.as_secs_f64() / passed * 100.0;
    println!("idle: {all:.1} wake-ups a second, {share:.2} % of a processor (a build for tests)");
    assert!(all < MOST_WAKEUPS, "{all} wake-ups a second");
    router.stop();
}
