//! Systems that forward: Lockgate's live router, or the kernel between two veths, each with eight HTB
//! classes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;

use lockgate_engine::random::Seed;

use crate::ends::{FIRST_PORT, Passed};
use crate::places::{end, holder, program, sh};

/// Ethernet addresses: the kernel router's end of the sender's wire, and an unused one, because of which the
/// sink's kernel counts a frame and drops it at once.
const ROUTER: &str = "02:00:00:00:00:02";
const UNUSED: &str = "02:00:00:00:00:99";

/// The gateway of the first host of a live run.
const GATEWAY: &str = "02:4c:47:01:00:00";

/// Classes of the tree.
pub(crate) const CLASSES: u16 = 8;

/// Measurement of a router: cost and remarks, with the counts of both ends.
pub(crate) struct Router {
    pub(crate) passed: Passed,
    /// Processor time of the forwarding thread, in seconds; `None` if the router has no thread of its own.
    pub(crate) cpu: Option<f64>,
    /// Frames for which the router had no room, and the reasons why the run is unfaithful.
    pub(crate) remarks: String,
}

/// Files that the ends write.
pub(crate) struct Files<'a> {
    pub(crate) sender: &'a Path,
    pub(crate) sink: &'a Path,
}

impl Files<'_> {
    fn clear(&self) {
        let _ = std::fs::remove_file(self.sender);
        let _ = std::fs::remove_file(self.sink);
    }
}

/// Runs Lockgate's router live.
pub(crate) fn live(rate: u64, millis: u64, files: &Files<'_>) -> Result<Router, String> {
    files.clear();
    let (program, sender, sink) = (program(), files.sender.display(), files.sink.display());
    let names: Vec<String> = (0..CLASSES).map(|class| format!("\"c{class}\"")).collect();
    let mut text = format!(
        r#"title = "forward"
duration = "{}ms"
[node]
source = {{ address = "10.7.0.1", command = "{program} send eth0 {GATEWAY} 10.7.0.1 10.7.0.3 {rate} {millis} {sender}" }}
router = {{ address = "10.7.0.2" }}
sink = {{ address = "10.7.0.3", command = "ip link set dev eth0 address {UNUSED} && {program} count eth0 {} {sink}" }}
[link.near]
between = ["source", "router"]
rate = "10gbit"
[link.far]
between = ["router", "sink"]
rate = "10gbit"
# Every scenario has a flow; this one sends next to nothing.
[flow.beat]
from = "sink"
to = "source"
size = "100B"
gap = "100ms"
[port."router->sink".queue.root]
kind = "htb"
children = ["line"]
[port."router->sink".queue.line]
kind = "class"
rate = "10gbit"
children = [{}]
"#,
        millis + 1800,
        millis + 1300,
        names.join(", ")
    );
    for class in 0..CLASSES {
        let _ = write!(
            text,
            "[port.\"router->sink\".queue.c{class}]\nkind = \"fifo\"\nrate = \"1gbit\"\nceil = \"10gbit\"\n\
             match = [{{ destination_port = {} }}]\n",
            FIRST_PORT + class
        );
    }
    let scenario = lockgate_scenario::read(&text, "forward", &BTreeMap::<String, Arc<[u8]>>::new(), &[])
        .map_err(|problems| problems.to_string())?;
    let outcome =
        lockgate_live::run(&scenario, Seed(1), &mut |_| false).map_err(|error| error.to_string())?;
    if let Some(failed) = outcome.programs.iter().find(|program| !program.is_well) {
        return Err(format!("{} {}: {}", failed.node, failed.ended, String::from_utf8_lossy(&failed.output)));
    }
    let figure = |wanted: &str| {
        let found = outcome.recording.fidelity.iter().find(|(name, _)| name == wanted);
        found.map_or(f64::NAN, |(_, value)| *value)
    };
    Ok(Router {
        passed: Passed::read(files.sender, files.sink)?,
        cpu: Some(figure("driver_cpu_s")),
        remarks: format!(
            "no room in the ring {}; without a processor {:.1} %",
            figure("ring_overruns"),
            figure("cpu_starved_ratio") * 100.0
        ),
    })
}

/// Three namespaces in a row (sender, router, sink), deleted when the processes that hold them end.
pub(crate) struct Kernel {
    source: Child,
    router: Child,
    sink: Child,
}

impl Kernel {
    /// Sets up the namespaces by `unshare`, `nsenter`, `ip` and `tc`.
    pub(crate) fn new() -> Result<Self, String> {
        let kernel = Self { source: holder()?, router: holder()?, sink: holder()? };
        let [source, router, sink] = kernel.pids();
        sh(&format!("ip link add v0 netns {source} type veth peer name v0 netns {router}"))?;
        sh(&format!("ip link add v1 netns {router} type veth peer name v0 netns {sink}"))?;
        sh(&format!("nsenter -t {router} -n ip link set v0 address {ROUTER}"))?;
        for (pid, interface, address) in [
            (source, "v0", "10.7.1.1/24"),
            (router, "v0", "10.7.1.2/24"),
            (router, "v1", "10.7.2.2/24"),
            (sink, "v0", "10.7.2.3/24"),
        ] {
            sh(&format!("nsenter -t {pid} -n ip addr add {address} dev {interface}"))?;
            sh(&format!("nsenter -t {pid} -n ip link set {interface} up"))?;
        }
        sh(&format!("nsenter -t {router} -n ip neigh replace 10.7.2.3 lladdr {UNUSED} dev v1"))?;
        sh(&format!(
            "nsenter -t {router} -n sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; \
             for all in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $all; done'"
        ))?;
        let tc = format!("nsenter -t {router} -n tc");
        sh(&format!("{tc} qdisc add dev v1 root handle 1: htb default 11"))?;
        let burst = "burst 125000 cburst 125000 quantum 1514";
        sh(&format!("{tc} class add dev v1 parent 1: classid 1:1 htb rate 10gbit ceil 10gbit {burst}"))?;
        for class in 0..CLASSES {
            let (id, port) = (11 + class, FIRST_PORT + class);
            sh(&format!(
                "{tc} class add dev v1 parent 1:1 classid 1:{id} htb rate 1gbit ceil 10gbit {burst}"
            ))?;
            let port = format!("match ip dport {port} 0xffff");
            sh(&format!("{tc} filter add dev v1 parent 1: protocol ip prio 1 u32 {port} flowid 1:{id}"))?;
        }
        Ok(kernel)
    }

    fn pids(&self) -> [u32; 3] {
        [self.source.id(), self.router.id(), self.sink.id()]
    }

    /// Sends through the router. With `alone`, sends to an unused address on the near wire instead, so that
    /// only the sender works.
    pub(crate) fn run(
        &self,
        alone: bool,
        rate: u64,
        millis: u64,
        files: &Files<'_>,
    ) -> Result<Router, String> {
        files.clear();
        let [source, router, sink] = self.pids();
        let (program, sender) = (program(), files.sender.display());
        let (counted, to) = if alone { (router, UNUSED) } else { (sink, ROUTER) };
        let mut counting = Command::new("nsenter")
            .args(["-t", &counted.to_string(), "-n", &program, "count", "v0"])
            .arg((millis + 1300).to_string())
            .arg(files.sink)
            .spawn()
            .map_err(|error| error.to_string())?;
        let sent = sh(&format!(
            "nsenter -t {source} -n {program} send v0 {to} 10.7.1.1 10.7.2.3 {rate} {millis} {sender}"
        ));
        counting.wait().map_err(|error| error.to_string())?;
        sent?;
        Ok(Router { passed: Passed::read(files.sender, files.sink)?, cpu: None, remarks: String::new() })
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        end([&mut self.source, &mut self.router, &mut self.sink]);
    }
}
