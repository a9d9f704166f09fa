//! Shapers under test: Lockgate's in live runs, or the kernel's on a veth between two namespaces.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_measure::recording::Window;

use crate::places::{end, holder, program, sh};

/// Port of the receiver.
const PORT: u16 = 9000;

/// Shaper under test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shaper {
    /// Lockgate's link with the rate under test.
    Link,
    /// Lockgate's token bucket on a fast link.
    Bucket,
    /// The kernel's TBF.
    KernelTbf,
    /// The kernel's HTB, with one class.
    KernelHtb,
}

/// All shapers, in the order in which they are measured.
pub(crate) const ALL: [Shaper; 4] = [Shaper::Link, Shaper::Bucket, Shaper::KernelTbf, Shaper::KernelHtb];

impl Shaper {
    pub(crate) fn is_kernels(self) -> bool {
        matches!(self, Self::KernelTbf | Self::KernelHtb)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Link => "Lockgate, link",
            Self::Bucket => "Lockgate, tbf",
            Self::KernelTbf => "kernel, TBF",
            Self::KernelHtb => "kernel, HTB",
        }
    }
}

/// Bytes of the bucket: two frames or, if that is more, one millisecond, which the kernel needs at high
/// rates.
fn burst(rate: u64) -> u64 {
    (rate / 8 / 1000).max(2 * 1514)
}

/// Limit of the queue in bytes: 60 ms, with a minimum number of frames.
fn limit(rate: u64) -> u64 {
    (rate / 8 * 60 / 1000).max(300_000)
}

/// Figures that a live run reports about itself.
pub(crate) struct Live {
    /// 99th percentile of the lateness at delivery, in seconds.
    pub(crate) late: f64,
    /// Frames that entered Lockgate's network.
    pub(crate) offered: u64,
    /// Processor time of the driver, in seconds.
    pub(crate) cpu: f64,
}

/// Measures a shaper in a live run.
pub(crate) fn live(shaper: Shaper, rate: u64, millis: u64, file: &Path) -> Result<Option<Live>, String> {
    let (line, queue) = match shaper {
        Shaper::Link => (rate, format!("kind = \"fifo\"\nlimit = \"{}B\"", limit(rate))),
        _ => (
            10_000_000_000,
            format!(
                "kind = \"tbf\"\nrate = \"{rate}bit\"\nburst = \"{}B\"\nlimit = \"{}B\"",
                burst(rate),
                limit(rate)
            ),
        ),
    };
    let (program, offered, file) = (program(), millis + 1000, file.display());
    let text = format!(
        r#"title = "shaping"
duration = "{}ms"
[node]
source = {{ command = "{program} send sink:{PORT} {rate} {offered}" }}
sink = {{ command = "{program} receive {PORT} {file} {millis}" }}
[link.line]
between = ["source", "sink"]
rate = "{line}bit"
[port."source->sink".queue.root]
{queue}
# Every scenario has a flow; this one sends next to nothing.
[flow.beat]
from = "sink"
to = "source"
size = "100B"
gap = "100ms"
"#,
        millis + 2500
    );
    let scenario = lockgate_scenario::read(&text, "shaping", &BTreeMap::<String, Arc<[u8]>>::new(), &[])
        .map_err(|problems| problems.to_string())?;
    let outcome =
        lockgate_live::run(&scenario, Seed(1), &mut |_| false).map_err(|error| error.to_string())?;
    let figure = |wanted: &str| {
        let found = outcome.recording.fidelity.iter().find(|(name, _)| name == wanted);
        found.map_or(f64::NAN, |(_, value)| *value)
    };
    Ok(Some(Live {
        late: figure("timer_lateness_p99_s"),
        offered: outcome.recording.flows.iter().map(|flow| flow.totals(Window::WholeRun).sent.packets).sum(),
        cpu: figure("driver_cpu_s"),
    }))
}

/// Two namespaces with a veth pair between them, deleted when the processes that hold them end.
pub(crate) struct Wire {
    near: Child,
    far: Child,
}

impl Wire {
    /// Sets up the namespaces by `unshare`, `nsenter` and `ip`.
    pub(crate) fn new() -> Result<Self, String> {
        let wire = Self { near: holder()?, far: holder()? };
        let (near, far) = (wire.near.id(), wire.far.id());
        sh(&format!("ip link add v0 netns {near} type veth peer name v0 netns {far}"))?;
        for (pid, address) in [(near, "10.9.0.1/24"), (far, "10.9.0.2/24")] {
            sh(&format!("nsenter -t {pid} -n ip addr add {address} dev v0"))?;
            sh(&format!("nsenter -t {pid} -n ip link set v0 up"))?;
        }
        Ok(wire)
    }

    /// Measures one of the kernel's shapers.
    pub(crate) fn run(&self, shaper: Shaper, rate: u64, millis: u64, file: &Path) -> Result<(), String> {
        let (near, far, burst) = (self.near.id(), self.far.id(), burst(rate));
        let tc = format!("nsenter -t {near} -n tc");
        let _ = sh(&format!("{tc} qdisc del dev v0 root"));
        if shaper == Shaper::KernelTbf {
            sh(&format!(
                "{tc} qdisc add dev v0 root tbf rate {rate}bit burst {burst} limit {}",
                limit(rate)
            ))?;
        } else {
            let class = format!("htb rate {rate}bit burst {burst} cburst {burst} quantum 1514");
            sh(&format!("{tc} qdisc add dev v0 root handle 1: htb default 10"))?;
            sh(&format!("{tc} class add dev v0 parent 1: classid 1:10 {class}"))?;
        }
        let (program, file) = (program(), file.display());
        let mut receiver = Command::new("nsenter")
            .args(["-t", &far.to_string(), "-n", "sh", "-c"])
            .arg(format!("exec {program} receive {PORT} {file} {millis}"))
            .spawn()
            .map_err(|error| error.to_string())?;
        let sent =
            sh(&format!("nsenter -t {near} -n {program} send 10.9.0.2:{PORT} {rate} {}", millis + 1000));
        receiver.wait().map_err(|error| error.to_string())?;
        sent
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        end([&mut self.near, &mut self.far]);
    }
}
