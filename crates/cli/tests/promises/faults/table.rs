//! Table of the faults that are inflicted on a running router: docs/guides/router/faults.md in a form that
//! runs.

use super::{Act, Fate, Fault};

const ALL: &[&str] = &["bridge", "egress", "ingress", "both"];
const EGRESS: &[&str] = &["egress"];
const BRIDGE: &[&str] = &["bridge"];

/// Modes in which the router sends by the interface, and those whose pairs can be deleted one by one.
const SENDING: &[&str] = &["bridge", "egress", "both"];
const ONE_INTERFACE: &[&str] = &["egress", "both"];

/// Returns the faults.
pub(super) fn faults() -> Vec<Fault> {
    use Act::{
        Connections, FarIp, Follow, Halt, Hide, Hogs, Ip, Limit, Move, Nothing, PassInDriver, Queues, Reload,
        Signal, Tc,
    };
    use Fate::{Around, Cut, Divided, Ended, Lost, Open, Shaped, TooLong, Waits};
    const TBF: &str = "qdisc replace dev eth2 root tbf rate 1mbit burst 10kb latency 50ms";
    let fault = |name, modes, [begin, end]: [Act; 2], said, fate| Fault {
        name,
        modes,
        keys: "",
        is_before_start: false,
        begin,
        end,
        said,
        fate,
    };
    let down = [Ip("link set OWN down"), Ip("link set OWN up")];
    let unplugged = [FarIp("link set b0 down"), FarIp("link set b0 up")];
    let closed = [Ip("link set eth2 down"), Ip("link set eth2 up")];
    let shortened = [Ip("link set eth2 mtu 1400"), Ip("link set eth2 mtu 1500")];
    let unmade = [FarIp("link delete b0"), Nothing];
    let shaper = [Tc(TBF), Tc("qdisc delete dev eth2 root")];
    let queues = [Queues(2), Queues(1)];
    let around = "passed around the router: tcx program";
    let behind = "is behind the router's program";
    let before = "the router's program is attached before";
    let bypass = "has no effect: the router's frames bypass it";
    let in_driver = "has another XDP program: frames that it takes pass by the router";
    let full = "the kernel's table of connections is full";
    let down_said = "interface `eth2` is down: frames for it are lost";
    let mtu_said = "has an MTU of 1400 bytes";
    vec![
        fault("own interface down", ALL, down, "is down: bring it up", Open),
        fault("own interface deleted", ONE_INTERFACE, [Ip("link delete OWN"), Nothing], "is gone", Ended),
        fault("own interface moved", ONE_INTERFACE, [Move, Nothing], "is gone", Ended),
        fault("tcx program before the router's", ALL, [Hide, Nothing], around, Around),
        fault("tcx program behind the router's", ALL, [Follow, Nothing], behind, Shaped),
        Fault {
            is_before_start: true,
            ..fault("tcx program there before the start", ALL, [Hide, Nothing], before, Shaped)
        },
        fault("XDP program appears", ALL, [PassInDriver, Nothing], in_driver, Shaped),
        fault("queueing discipline set at the root", SENDING, shaper, bypass, Shaped),
        fault("carrier lost", EGRESS, unplugged, "interface `eth2` has no carrier", Waits),
        fault("interface down", &["bridge", "egress"], closed, down_said, Lost),
        fault("other end of the cable deleted", EGRESS, unmade, "it is gone", Cut),
        fault("MTU lowered", EGRESS, shortened, mtu_said, Divided),
        Fault { keys: "io = \"packet\"", ..fault("MTU lowered", BRIDGE, shortened, mtu_said, TooLong) },
        Fault {
            keys: "attach = \"xdp\"",
            ..fault("receive queue added (xdp)", BRIDGE, queues, "uses 2 receive queues", Open)
        },
        fault("table of connections full", EGRESS, [Connections, Nothing], full, Shaped),
        Fault {
            is_before_start: true,
            ..fault("four busy programs", ALL, [Hogs, Nothing], "frames are forwarded with", Shaped)
        },
        fault("memory limit reached", EGRESS, [Limit, Nothing], "", Ended),
        fault("SIGSTOP for 2 s", ALL, [Halt, Nothing], "took the kernel's way", Shaped),
        fault("SIGHUP", ONE_INTERFACE, [Reload, Nothing], "SIGHUP: policy 2 runs", Shaped),
        fault("SIGTERM", ONE_INTERFACE, [Signal("-TERM"), Nothing], "ended: the queues are drained", Ended),
        fault("SIGKILL", ALL, [Signal("-KILL"), Nothing], "", Ended),
    ]
}
