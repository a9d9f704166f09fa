//! Network of the bench, and the systems that forward: the kernel's bridge alone, with its HTB, or with
//! Lockgate's router.

use std::fmt::{self, Display, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::ends::Passed;
use crate::places::{end, holder, program, sh};

/// Interface of each host.
pub(crate) const HOST_END: &str = "v0";

/// Ethernet address that no host has, because of which the sink's kernel counts a frame and drops it.
pub(crate) const UNUSED: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

/// IP address of the first class; those of the others follow.
pub(crate) const FIRST: [u8; 4] = [10, 64, 0, 0];

/// System that forwards.
#[derive(Clone, Copy)]
pub(crate) enum System {
    /// The kernel's bridge, without a queue.
    Bridge,
    /// The kernel's bridge with its HTB.
    Kernel,
    /// Lockgate's router, with this value of `attach`.
    Lockgate(&'static str),
}

impl Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bridge => write!(f, "kernel's bridge"),
            Self::Kernel => write!(f, "kernel's bridge and HTB"),
            Self::Lockgate(attach) => write!(f, "Lockgate, `{attach}`"),
        }
    }
}

/// Load: the frames that are sent, and the router's processor.
pub(crate) struct Load {
    /// Bytes of a frame.
    pub(crate) length: usize,
    pub(crate) classes: u16,
    /// Frames a second; 0 for as fast as possible.
    pub(crate) rate: u64,
    /// True if sender and router share a processor.
    pub(crate) is_shared: bool,
    pub(crate) millis: u64,
}

/// Measures a system under a load. Returns a row of the table.
pub(crate) fn run(system: System, load: &Load) -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("lockgate-bridge-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let done = Network::new().and_then(|network| network.measure(system, load, &folder));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// Three namespaces in a row (sender, bridge, sink), deleted when the processes that hold them end.
pub(crate) struct Network {
    source: Child,
    bridge: Child,
    sink: Child,
}

impl Drop for Network {
    fn drop(&mut self) {
        end([&mut self.source, &mut self.bridge, &mut self.sink]);
    }
}

impl Network {
    pub(crate) fn new() -> Result<Self, String> {
        let network = Self { source: holder()?, bridge: holder()?, sink: holder()? };
        let (source, bridge, sink) = (network.source.id(), network.bridge.id(), network.sink.id());
        let inside = format!("nsenter -t {bridge} -n ip link");
        sh(&format!("{inside} add name br0 type bridge stp_state 0"))?;
        for (interface, host) in [("w0", source), ("w1", sink)] {
            sh(&format!(
                "ip link add name {interface} netns {bridge} type veth peer name {HOST_END} netns {host}"
            ))?;
            sh(&format!("{inside} set {interface} up master br0"))?;
            sh(&format!("nsenter -t {host} -n ip link set {HOST_END} up"))?;
        }
        sh(&format!("{inside} set br0 up"))?;
        Ok(network)
    }

    /// Returns the processes in the namespaces of the sender, the bridge and the sink.
    pub(crate) fn places(&self) -> [u32; 3] {
        [self.source.id(), self.bridge.id(), self.sink.id()]
    }

    fn measure(&self, system: System, load: &Load, folder: &Path) -> Result<String, String> {
        let router = match system {
            System::Bridge => None,
            System::Kernel => {
                let file = folder.join("tc");
                std::fs::write(&file, tc(load.classes)).map_err(|error| error.to_string())?;
                sh(&format!("nsenter -t {} -n tc -batch {}", self.bridge.id(), file.display()))?;
                None
            }
            System::Lockgate(attach) => Some(route(self, attach, load, folder)?),
        };
        let router_time = || router.as_ref().map_or(0, Route::processor_time);
        let (sent, counted) = (folder.join("sent"), folder.join("counted"));
        let mut counting = Command::new("nsenter")
            .args(["-t", &self.sink.id().to_string(), "-n", &program(), "count"])
            .arg((load.millis + 1_500).to_string())
            .arg(&counted)
            .spawn()
            .map_err(|error| error.to_string())?;
        let before = (router_time(), kernel_threads());
        let order = if load.is_shared { "behind" } else { "first" };
        let (inside, program) = (format!("nsenter -t {} -n", self.source.id()), program());
        let Load { length, classes, rate, millis, .. } = load;
        sh(&format!(
            "{inside} {program} send {length} {classes} {rate} {millis} {order} {}",
            sent.display()
        ))?;
        counting.wait().map_err(|error| error.to_string())?;
        let (router_ns, threads_ns) = (router_time() - before.0, kernel_threads() - before.1);
        let passed = Passed::read(&sent, &counted)?;
        let a_frame = |time: u64| time as f64 / passed.received.max(1) as f64;
        let sender = passed.sender_ns * passed.sent as f64 / passed.received.max(1) as f64;
        Ok(format!(
            "| {system} | {length} | {classes} | {} | {:.0} | {:.0} | {:.3} % | {sender:.0} | {:.0} | {:.0} | {:.0} | {}",
            if load.is_shared { 1 } else { 2 },
            passed.offered_rate,
            passed.received_rate,
            passed.sent.saturating_sub(passed.received) as f64 * 100.0 / passed.sent.max(1) as f64,
            a_frame(router_ns),
            a_frame(threads_ns),
            sender + a_frame(router_ns + threads_ns),
            if passed.refused > 0 { format!("refused calls: {}", passed.refused) } else { String::new() },
        ))
    }
}

/// Returns input for `tc -batch`: HTB with this number of classes, chosen by a hash table of the last byte of
/// the address.
fn tc(classes: u16) -> String {
    let mut text = "qdisc add dev w1 root handle 1: htb default 1\n".to_owned();
    let burst = "burst 125000 cburst 125000 quantum 1514";
    let filter = "filter add dev w1 parent 1: protocol ip prio 1";
    let _ = writeln!(text, "class add dev w1 parent 1: classid 1:1 htb rate 10gbit ceil 10gbit {burst}");
    let _ = writeln!(text, "{filter} handle 10: u32 divisor 256");
    for class in 0..classes {
        let (id, [third, last]) = (11 + class, class.to_be_bytes());
        let table = 0x100 + u16::from(third);
        if last == 0 {
            let _ = writeln!(text, "{filter} handle {table:x}: u32 divisor 256");
            let _ = writeln!(
                text,
                "{filter} u32 ht 10:{third:x}: match ip dst 10.64.{third}.0/24 hashkey mask 0x000000ff at 16 link {table:x}:"
            );
        }
        let _ =
            writeln!(text, "class add dev w1 parent 1:1 classid 1:{id:x} htb rate 1mbit ceil 10gbit {burst}");
        let _ = writeln!(
            text,
            "{filter} u32 ht {table:x}:{last:x}: match ip dst 10.64.{third}.{last}/32 flowid 1:{id:x}"
        );
    }
    let _ = writeln!(
        text,
        "{filter} u32 ht 800:: match ip dst 10.64.0.0/16 hashkey mask 0x0000ff00 at 16 link 10:"
    );
    text
}

/// Returns the processor time of the kernel's threads that handle frames, in nanoseconds.
pub(crate) fn kernel_threads() -> u64 {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let named = all.filter(|one| {
        std::fs::read_to_string(one.path().join("comm")).is_ok_and(|name| name.starts_with("ksoftirqd/"))
    });
    named.map(|one| scheduled(&one.path().join("schedstat"))).sum()
}

/// Reads the time on a processor from a file `schedstat`, in nanoseconds.
pub(crate) fn scheduled(file: &Path) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or_default()
}

/// A running `lockgate route`.
pub(crate) struct Route {
    child: Child,
}

impl Route {
    /// Starts the router of `policy.toml` in the bridge's namespace, on a processor if one is given, and
    /// waits until it answers.
    pub(crate) fn start(
        network: &Network,
        processor: Option<u32>,
        options: &[&str],
        folder: &Path,
    ) -> Result<Self, String> {
        let lockgate = std::env::var_os("LOCKGATE").map(PathBuf::from);
        let lockgate = lockgate.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_lockgate")));
        let inside = |program: &str| {
            let mut command = Command::new("nsenter");
            command.args(["-t", &network.bridge.id().to_string(), "-n", program]).current_dir(folder);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let processors = processor.map_or("0-1023".to_owned(), |processor| processor.to_string());
        let child = inside("taskset")
            .args(["-c", &processors])
            .arg(&lockgate)
            .args(["route", "policy.toml", "--state", "state", "--fresh"])
            .args(options)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut route = Self { child };
        let until = Instant::now() + Duration::from_secs(20);
        let asks =
            || inside(&lockgate.display().to_string()).args(["status", "--router", "./state"]).status();
        while !asks().is_ok_and(|status| status.success()) {
            if Instant::now() > until || route.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Err("the router does not answer".to_owned());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(route)
    }

    /// Returns the processor time of its threads, in nanoseconds.
    pub(crate) fn processor_time(&self) -> u64 {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        tasks.map(|task| scheduled(&task.path().join("schedstat"))).sum()
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        let _ = sh(&format!("kill -TERM {}", self.child.id()));
        let _ = self.child.wait();
    }
}

/// Starts the router of a flood.
fn route(network: &Network, attach: &str, load: &Load, folder: &Path) -> Result<Route, String> {
    let write =
        |name: &str, text: String| std::fs::write(folder.join(name), text).map_err(|error| error.to_string());
    let mut table = "Circuit ID,IPv4,Download Min Mbps,Download Max Mbps\n".to_owned();
    for class in 0..load.classes {
        let [third, last] = class.to_be_bytes();
        let _ = writeln!(table, "s{class},10.64.{third}.{last},1,10000");
    }
    write("plans.csv", table)?;
    write("policy.toml", policy(attach))?;
    Route::start(network, Some(u32::from(!load.is_shared)), &[], folder)
}

/// Returns the policy of a bridge with a class for each subscriber of the table, none of them at its limit.
fn policy(attach: &str) -> String {
    format!(
        r#"subscribers = "plans.csv"
[router]
mode = "bridge"
attach = "{attach}"
interfaces = {{ lan = "w0", wan = "w1" }}
[port."lan->wan"]
root = "shaper"
[port."lan->wan".queue]
shaper = {{ kind = "htb", children = ["line"] }}
line = {{ kind = "class", rate = "10gbit", burst = "125kB", cburst = "125kB", children = ["plan", "rest"] }}
plan = {{ count = "subscribers", kind = "fifo", limit = "1000p", rate = "$download_min", ceil = "$download_max", burst = "125kB", cburst = "125kB", match = [{{ destination = "$ipv4" }}] }}
rest = {{ kind = "fifo", rate = "100mbit" }}
"#
    )
}
