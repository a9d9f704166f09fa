//! Interfaces that do not fit, or change while the router runs: a clear error or a documented behaviour, and
//! no frame bypasses the router without a message.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use lockgate_dataplane::clock::MonotonicClock;
use lockgate_dataplane::interfaces::{Interfaces, Options};
use lockgate_dataplane::netlink::Link;
use lockgate_dataplane::socket::SocketChoice;

use super::common::Network;
use super::setting::{FIFO, MODES, Running, dotted, found, head, network, policy, run, run_well, spawn};
use super::stream::{Stream, address};

const RATE: &str = "16mbit";

/// Starts a router that cannot start. Expects its exit code and these words, and that nothing of it is left.
#[track_caller]
pub(crate) fn refused(network: &Network, text: &str, code: i32, words: &[&str]) {
    let before = network.links();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("policy.toml"), text).expect("written");
    for options in [&["--fresh"][..], &["--dry-run"]] {
        let _ = std::fs::remove_file(folder.path().join("log"));
        let status =
            spawn(&network.router, &mut Running::command(folder.path(), options)).wait().expect("ended");
        let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
        assert_eq!(status.code(), Some(code), "{options:?}: {log}");
        for word in words {
            assert!(log.contains(word), "{options:?}: `{word}` is not in\n{log}");
        }
    }
    assert_eq!(network.links(), before, "{words:?}");
}

/// Runs `ip` in the router's namespace, and waits until the kernel has let a port that is up again into its
/// bridge: it does so by a work of its own, up to a second later.
fn ip(network: &Network, arguments: &str) {
    run_well(&network.router, "ip", &arguments.split(' ').collect::<Vec<_>>());
    for _ in 0..200 {
        let is_halted = |link: &Link| link.port.as_ref().is_some_and(|port| port.halted.is_some());
        if !network.links().iter().any(|link| link.is_up && link.has_carrier && is_halted(link)) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interface_that_does_not_fit_is_named() {
    if found("ip").is_none() {
        return super::common::skip("no ip");
    }
    for mode in MODES {
        let Some(network) = network(mode) else { return };
        let good = policy(mode, RATE, FIFO);
        refused(&network, &good.replace("eth2", "eth9"), 2, &["there is no interface `eth9`", "eth1, eth2"]);
        ip(&network, "link set eth2 down");
        refused(&network, &good, 2, &["interface `eth2` is down", "ip link set eth2 up"]);
        ip(&network, "link set eth2 up");
        refused(&network, &good.replace("eth2", "lo"), 2, &["`lo`"]);
        if mode == "bridge" {
            ip(&network, "link add other type bridge");
            ip(&network, "link set eth2 master other");
            refused(&network, &good, 2, &["eth1 and eth2 are not ports of the same bridge"]);
            ip(&network, "link set eth2 nomaster");
            refused(&network, &good, 2, &["eth1 and eth2 are not ports of the same bridge"]);
            ip(&network, "link set eth2 master lockgate");
            ip(&network, "link delete other");
        }
        // An XDP program of another process.
        let options = Options { sockets: SocketChoice::AfXdp, ..Options::default() };
        let clock = MonotonicClock::start();
        let opened = network.router.inside(|| Interfaces::open(&["eth2"], options, clock)).expect("entered");
        let Ok(opened) = opened else { return super::common::skip("no AF_XDP") };
        if mode == "egress" {
            // The program is at the interface's ingress, which mode `egress` does not use.
            Running::start(&network, &good, &[]).stop();
        } else {
            refused(
                &network,
                &good,
                2,
                &["interface `eth2` has an XDP program", "bpftool net show dev eth2"],
            );
        }
        drop(opened);
        let running = Running::start(&network, &good, &[]);
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("policy.toml"), &good).expect("written");
        let status = spawn(&network.router, &mut Running::command(folder.path(), &[])).wait().expect("ended");
        let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
        assert!(status.code() == Some(2) && log.contains("another router runs on `eth"), "{mode}: {log}");
        running.stop();
    }
}

/// Runs `lockgate route --dry-run`. Returns its exit code and what it printed.
pub(crate) fn dry_run(network: &Network, text: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("policy.toml"), text).expect("written");
    dry_run_in(network, folder.path(), &[])
}

/// Runs it in a folder with a policy.
fn dry_run_in(network: &Network, folder: &Path, options: &[&str]) -> (Option<i32>, String) {
    let mut command = Running::command(folder, &[&["--dry-run"], options].concat());
    let output =
        spawn(&network.router, command.stdout(Stdio::piped()).stderr(Stdio::piped())).wait_with_output();
    let output = output.expect("ended");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_dry_run_refuses_what_a_start_refuses_and_says_what_loses_its_effect() {
    if found("ip").is_none() || found("tc").is_none() {
        return super::common::skip("no ip and tc");
    }
    let Some(bridged) = network("bridge") else { return };
    let good = policy("bridge", RATE, FIFO);
    ip(&bridged, "link add above type bridge");
    ip(&bridged, "link set above up");
    refused(&bridged, &good.replace("eth2", "above"), 2, &["`above` is a bridge, which cannot be a port"]);
    ip(&bridged, "link set eth2 nomaster");
    let carries = ["link", "add", "upper", "link", "eth2", "type", "macvlan"];
    if run(&bridged.router, "ip", &carries).status.success() {
        refused(&bridged, &good, 2, &["`eth2` carries `upper` (macvlan)", "ip link delete upper"]);
    } else {
        super::common::skip("this kernel has no macvlan");
    }
    let Some(network) = network("egress") else { return };
    let good = policy("egress", RATE, FIFO);
    let shaper = "qdisc replace dev eth2 root tbf rate 1mbit burst 10kb latency 50ms";
    run_well(&network.router, "tc", &shaper.split(' ').collect::<Vec<_>>());
    let (code, said) = dry_run(&network, &good);
    assert!(code == Some(0) && said.contains("discipline `tbf`") && said.contains("has no effect"), "{said}");
    let router = Running::start(&network, &good, &[]);
    for mode in ["egress", "ingress", "both"] {
        let other = good.replace("\"egress\"", &format!("\"{mode}\""));
        let (code, said) = dry_run(&network, &other);
        assert!(code == Some(2) && said.contains("another router runs on `eth2`"), "{mode}: {said}");
    }
    router.stop();
}

#[test]
fn a_dry_run_knows_the_longest_frames_of_a_start() {
    // What the kernel permits to a veth, with pages of 4096 bytes.
    const LARGEST_MTU: u32 = 3_506;
    if found("ip").is_none() {
        return super::common::skip("no ip");
    }
    let Some(network) = super::setting::network_of("bridge", LARGEST_MTU) else { return };
    network.whole_frames();
    let set = |mtu: u32| {
        ip(&network, &format!("link set eth2 mtu {mtu}"));
        run_well(&network.hosts[1], "ip", &["link", "set", "b0", "mtu", &mtu.to_string()]);
    };
    let of =
        |mode: &str, keys: &str| policy(mode, RATE, FIFO).replace("[router]", &format!("[router]\n{keys}"));
    let in_driver = of("bridge", "attach = \"xdp\"");
    Running::start(&network, &in_driver, &[]).stop();
    set(LARGEST_MTU + 1);
    let options = Options { sockets: SocketChoice::AfXdp, ..Options::default() };
    let opened = network.router.inside(|| Interfaces::open(&["eth2"], options, MonotonicClock::start()));
    let Err(refusal) = opened.expect("entered") else { return super::common::skip("another page size") };
    assert_eq!(refusal.why.raw_os_error(), Some(34), "out of range: {refusal}");
    refused(
        &network,
        &in_driver,
        2,
        &["`eth2` has an MTU of 3507, and XDP carries 3506 at most", "mtu 3506"],
    );
    Running::start(&network, &of("bridge", ""), &[]).stop();
    // Behind the driver, frames come by a pair whose MTU has room for tags.
    for mode in ["egress", "bridge"] {
        let by_af_xdp = of(mode, "io = \"af_xdp\"");
        set(LARGEST_MTU - 64 + 1);
        ip(&network, "link set eth1 mtu 1500");
        refused(
            &network,
            &by_af_xdp,
            2,
            &["`eth2` has an MTU of 3443, and `io = \"af_xdp\"` carries 3442 at most", "mtu 3442"],
        );
        set(LARGEST_MTU - 64);
        Running::start(&network, &by_af_xdp, &[]).stop();
    }
}

#[test]
fn a_dry_run_says_which_policy_a_start_would_run() {
    let Some(network) = network("egress") else { return };
    let text = policy("egress", RATE, FIFO);
    let folder = std::sync::Arc::new(tempfile::tempdir().expect("a folder"));
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, &text).expect("written");
    let (code, said) = dry_run_in(&network, folder.path(), &[]);
    assert!(code == Some(0) && !said.contains("NOT run"), "{said}");
    assert!(!folder.path().join("state").exists(), "a dry-run leaves nothing");
    let router = Running::start_in(&network, folder.clone(), &[]);
    let (code, said) = dry_run_in(&network, folder.path(), &[]);
    let pid = format!("a router named `policy` runs already, pid {}", router.id());
    assert!(code == Some(1) && said.contains(&pid), "{said}");
    router.stop();
    std::fs::write(&file, text.replace("rate = \"16mbit\"", "rate = \"17mbit\"")).expect("written");
    let (code, said) = dry_run_in(&network, folder.path(), &[]);
    let words = "the file `policy.toml` does NOT run: it differs from policy 1 (`policy.toml`)";
    assert!(code == Some(0) && said.contains(words) && said.contains("which a start would run"), "{said}");
    assert!(said.contains(": 16mbit, ") && !said.contains("17mbit"), "the rate of a start: {said}");
    let (code, said) = dry_run_in(&network, folder.path(), &["--fresh"]);
    assert!(said.contains(": 17mbit, "), "{said}");
    assert!(code == Some(0) && said.contains("--fresh: policy 1 (`policy.toml`) is not used"), "{said}");
    // The policy that a start would run does not fit any more; the file does.
    std::fs::write(&file, text.replace("eth2", "eth1")).expect("written");
    super::common::ip(&network.router, "link set eth2 down");
    let (code, said) = dry_run_in(&network, folder.path(), &[]);
    let words =
        "a start would run the policy `policy.toml`, the last confirmed one: interface `eth2` is down";
    assert!(code == Some(2) && said.contains(words) && said.contains("--fresh"), "{said}");
    let status = spawn(&network.router, &mut Running::command(folder.path(), &[])).wait().expect("ended");
    assert_eq!(status.code(), Some(2), "a start is refused");
    let (code, said) = dry_run_in(&network, folder.path(), &["--fresh"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn without_rights_nothing_is_begun() {
    let Some(network) = network("egress") else { return };
    let before = network.links();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("policy.toml"), policy("egress", RATE, FIFO)).expect("written");
    let path = folder.path();
    std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).expect("set");
    let command = Running::command(path, &["--fresh"]);
    // Other users may not run a program in a home directory.
    let copy = path.join("lockgate");
    std::fs::copy(command.get_program(), &copy).expect("copied");
    let mut unprivileged = Command::new(&copy);
    unprivileged.args(command.get_args()).current_dir(path).uid(65_534).gid(65_534);
    unprivileged.stdout(Stdio::null()).stderr(Stdio::piped());
    let output = spawn(&network.router, &mut unprivileged).wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    // Without user namespaces, the network namespace already fails.
    let is_named = said.contains("(CAP_NET_ADMIN)") || said.contains("network namespace");
    assert!(is_named && said.contains("lockgate doctor --router"), "{said}");
    let output = spawn(&network.router, unprivileged.arg("--dry-run").stdout(Stdio::piped()));
    let output = output.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stdout);
    let words = "a start by this user is refused: it lacks CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF";
    assert!(output.status.code() == Some(0) && said.contains(words), "{said}");
    assert_eq!(network.links(), before);
}

/// True if the hosts reach each other.
fn reaches(network: &Network, mode: &str) -> bool {
    let other = dotted(address(mode, 1));
    run(&network.hosts[0], "ping", &["-c", "3", "-i", "0.05", "-W", "2", &other]).status.success()
}

#[test]
fn an_interface_may_go_down_and_change_while_the_router_runs() {
    if found("ip").is_none() || found("ping").is_none() {
        return super::common::skip("no ip and ping");
    }
    for mode in MODES {
        let Some(network) = network(mode) else { return };
        let router = Running::start(&network, &policy(mode, RATE, FIFO), &[]);
        let stream = Stream::start(&network, mode, 500, 500, 5_000);
        thread::sleep(Duration::from_millis(300));
        ip(&network, "link set eth2 down");
        router.expect("ALARM: interface `eth2` is down: frames for it are lost");
        let faults = router.status()["bypass"]["faults"].to_string();
        assert!(faults.contains("interface `eth2` is down"), "{mode}: {faults}");
        ip(&network, "link set eth2 up");
        router.expect("interface `eth2` is up");
        let faults = router.status()["bypass"]["faults"].to_string();
        assert!(!faults.contains("is down"), "{mode}: {faults}");
        ip(&network, "link set eth2 mtu 1400");
        router.expect("interface `eth2` has an MTU of 1400 bytes, before 1500");
        ip(&network, "link set eth2 mtu 1500");
        router.expect("interface `eth2` has an MTU of 1500 bytes, before 1400");
        ip(&network, "link set eth2 mtu 3000");
        router.expect("start the router again to carry longer frames");
        ip(&network, "link set eth2 mtu 1500");
        if mode == "bridge" {
            ip(&network, "link set eth2 nomaster");
            router.expect("interface `eth2` is a port of no bridge");
            ip(&network, "link set eth2 master lockgate");
        }
        assert!(reaches(&network, mode), "{mode}");
        let ended = stream.end();
        println!("{mode}: lost {} of {}", ended.sent.len() - ended.arrived.len(), ended.sent.len());
        let (last, sent) = (ended.arrived.last().expect("datagrams").0 as usize, ended.sent.len());
        assert!(last + 1 == sent, "{mode}: traffic goes on: {last} of {sent}");
        let log = router.stop();
        assert!(!log.contains("stands still"), "{log}");
    }
}

#[test]
fn the_kernel_has_the_frames_while_the_routers_own_interface_drops_them() {
    if found("ip").is_none() || found("ping").is_none() {
        return super::common::skip("no ip and ping");
    }
    for mode in MODES {
        let Some(network) = network(mode) else { return };
        let router = Running::start(&network, &policy(mode, RATE, FIFO), &[]);
        let links = network.links();
        let own: Vec<&str> =
            links.iter().map(|link| link.name.as_str()).filter(|name| name.starts_with("lg")).collect();
        assert!(!own.is_empty(), "{mode}: {links:?}");
        let why = |router: &Running| router.status()["bypass"]["why"].as_str().unwrap_or_default().to_owned();
        for (harm, cure, words) in
            [("down", "up", "is down: bring it up"), ("mtu 400", "mtu 1564", "has an MTU of 400 bytes")]
        {
            for name in &own {
                ip(&network, &format!("link set {name} {harm}"));
            }
            let said = format!("given back to the kernel: the router's own interface `{}` {words}", own[0]);
            router.expect(&said);
            assert!(why(&router).contains(words), "{mode}: {}", why(&router));
            assert!(reaches(&network, mode), "{mode}, {harm}: the kernel does not have the line");
            for name in &own {
                ip(&network, &format!("link set {name} {cure}"));
            }
            let until = std::time::Instant::now() + super::setting::PATIENCE;
            while !why(&router).is_empty() {
                assert!(std::time::Instant::now() < until, "{mode}: {}", router.log());
                thread::sleep(Duration::from_millis(20));
            }
            let before = router.status()["bypass"]["frames"].as_u64();
            assert!(reaches(&network, mode), "{mode}, {cure}: {}", router.log());
            assert_eq!(
                router.status()["bypass"]["frames"].as_u64(),
                before,
                "{mode}: the router has the line"
            );
        }
        router.stop();
        // Deleted, or moved to another namespace: it cannot come back.
        for gone in ["delete", "move"] {
            let router = Running::start(&network, &policy(mode, RATE, FIFO), &[]);
            let mut resident = spawn(&network.hosts[0], Command::new("sleep").arg("60"));
            let own = own.last().expect("one");
            match gone {
                "delete" => ip(&network, &format!("link delete {own}")),
                _ => ip(&network, &format!("link set {own} netns {}", resident.id())),
            }
            let (code, log) = router.wait();
            resident.kill().expect("killed");
            resident.wait().expect("ended");
            assert_eq!(code, Some(1), "{mode}, {gone}: {log}");
            assert!(log.contains("it is gone") || log.contains("os error"), "{mode}, {gone}: {log}");
            assert!(reaches(&network, mode), "{mode}, {gone}: the kernel does not have the line");
            let left = network.links();
            assert!(!left.iter().any(|link| link.name.starts_with("lg")), "{mode}, {gone}: {left:?}");
        }
    }
}

#[test]
fn a_router_ends_where_an_interface_is_gone_and_starts_where_it_is_back() {
    if found("ip").is_none() {
        return super::common::skip("no ip");
    }
    for mode in MODES {
        let Some(network) = network(mode) else { return };
        let text = policy(mode, RATE, FIFO);
        let router = Running::start(&network, &text, &[]);
        let folder = router.folder();
        ip(&network, "link delete eth2");
        // A new interface of the same name: its frames would bypass this router.
        ip(&network, "link add eth2 type veth peer name line");
        ip(&network, "link set line up");
        ip(&network, "link set eth2 up");
        let (code, log) = router.wait();
        assert_eq!(code, Some(1), "{mode}: {log}");
        assert!(log.contains("interface `eth2`: it is gone"), "{mode}: {log}");
        let left = network.links();
        assert!(!left.iter().any(|link| link.name.starts_with("lg")), "{mode}: {left:?}");
        if mode == "bridge" {
            ip(&network, "link set eth2 master lockgate");
        }
        Running::start_in(&network, folder, &[]).stop();
    }
}

#[test]
fn queues_of_an_interface_may_change_while_the_router_runs() {
    if found("ip").is_none() || found("ethtool").is_none() || found("ping").is_none() {
        return super::common::skip("no ip, ethtool and ping");
    }
    let Some(network) = Network::make(1_500) else { return };
    // Cables whose router ends have four queues.
    for side in 0..2 {
        let mut resident = Command::new("sleep");
        let mut resident = spawn(&network.hosts[side], resident.arg("60"));
        let [near, far] = [format!("q{side}"), format!("p{side}")];
        ip(&network, &format!("link add {near} numrxqueues 4 numtxqueues 4 type veth peer name {far}"));
        ip(&network, &format!("link set {far} netns {}", resident.id()));
        ip(&network, &format!("link set {near} up"));
        let address = format!("10.3.0.{}/24", side + 1);
        run_well(&network.hosts[side], "ip", &["link", "set", &far, "up"]);
        run_well(&network.hosts[side], "ip", &["address", "add", &address, "dev", &far]);
        resident.kill().expect("killed");
        resident.wait().expect("ended");
    }
    let text = policy("bridge", RATE, FIFO).replace("eth1", "q0").replace("eth2", "q1");
    let router = Running::start(&network, &text, &[]);
    let stream = Stream::start(&network, "bridge", 500, 500, 5_000);
    for count in ["1", "4", "2"] {
        for name in ["q0", "q1"] {
            run_well(&network.router, "ethtool", &["-L", name, "rx", count, "tx", count]);
        }
        thread::sleep(Duration::from_millis(200));
        assert!(reaches(&network, "bridge"), "{count} queues");
    }
    let ended = stream.end();
    println!("lost {} of {}", ended.sent.len() - ended.arrived.len(), ended.sent.len());
    let log = router.stop();
    assert!(log.contains("; 0 frames lost"), "{log}");
}

#[test]
fn a_policy_for_other_interfaces_is_refused_and_the_old_one_runs() {
    let Some(network) = network("egress") else { return };
    let text = policy("egress", RATE, FIFO);
    let router = Running::start(&network, &text, &[]);
    for (wrong, words) in [
        (text.replace("eth2", "eth1"), "the interfaces (wan = eth1) are not those of the running router"),
        (text.replace("egress", "ingress"), "mode `ingress` is not that of the running router"),
        (format!("{}[port.wan]\nring = 16\nqueue.q = {FIFO}\n", head("egress", "")), "`ring` of port `wan`"),
    ] {
        router.write("new.toml", &wrong);
        let output = router.control(&["apply", "new.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{said}");
    }
    assert_eq!(router.status()["policy"].as_str(), Some(&*text));
    router.stop();
}
