//! True delays in the kernel's queues, by its tracepoints `qdisc_enqueue` and `qdisc_dequeue`.
//!
//! ```text
//! trace instance of its own --lines--> reader: address of the packet -> time --> delays by interface
//! ```
//!
//! The kernel traces at the root of an interface only, so a delay is that of the whole tree. Of packets that
//! a device takes in one bunch the first is traced. A packet that is dropped has no second line; its address
//! is forgotten.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use lockgate_measure::monitor::Sample;
use lockgate_measure::recording::SOJOURN_CLASSES;
use lockgate_tc::kernel::Tree;

use super::error::KernelError;

/// Places where the kernel's traces usually are.
const TRACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Events.
const EVENTS: [&str; 2] = ["qdisc_enqueue", "qdisc_dequeue"];

/// Roots that are not traced themselves.
const BY_TRANSMIT_QUEUE: [&str; 3] = ["mq", "mqprio", "cake_mq"];

/// Packets that wait at most; beyond, the oldest addresses are forgotten.
const MOST_WAITING: usize = 1 << 18;

/// Delays of an interval that are kept for an interface.
const KEPT_DELAYS: usize = 1 << 20;

/// Pause of the reader when there is nothing to read.
const PAUSE: Duration = Duration::from_millis(5);

/// Kilobytes of the kernel's buffer, for each processor.
const BUFFER_KB: &str = "2048";

/// Interface, and handle of the discipline at its root: another namespace may have the interface's number,
/// too.
type Root = (u32, u32);

/// Delays since the last sample, by root.
#[derive(Debug, Default)]
struct Delays {
    by_root: BTreeMap<Root, Vec<f64>>,
    /// Events that the kernel had no room for.
    lost: u64,
}

impl Delays {
    /// Returns the delays of a tree. Below a root with a discipline for each transmit queue, each of these is
    /// traced.
    fn of(&self, tree: &Tree) -> Vec<f64> {
        let Some(root) = tree.queues.first().map(|branch| &branch.queue) else { return Vec::new() };
        let is_one = !BY_TRANSMIT_QUEUE.contains(&root.kind.as_str());
        let all = self.by_root.range((tree.interface, 0)..=(tree.interface, u32::MAX));
        all.filter(|((_, handle), _)| !is_one || *handle == root.handle)
            .flat_map(|(_, delays)| delays)
            .copied()
            .collect()
    }
}

/// Totals of an interface since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    classes: [u64; SOJOURN_CLASSES.len()],
    count: u64,
    sum_s: f64,
}

/// Trace under way. It ends, and its instance is removed, when it is dropped.
pub struct Sojourn {
    instance: PathBuf,
    delays: Arc<Mutex<Delays>>,
    ends: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    totals: BTreeMap<u32, Total>,
    lost: u64,
}

fn missing(message: String, help: &str) -> KernelError {
    KernelError::Missing { message, help: help.to_owned() }
}

impl Sojourn {
    /// Starts to trace the interfaces of these indices; all, if there are none. `given` is the folder of
    /// `tracefs`.
    ///
    /// # Errors
    /// If this kernel has no such tracepoints, or this process may not use them.
    pub fn start(given: Option<&Path>, interfaces: &[u32]) -> Result<Self, KernelError> {
        let has_events = |path: &&Path| path.join("events/qdisc/qdisc_dequeue").exists();
        let usual = TRACES.map(Path::new);
        let root =
            given.map_or_else(|| usual.into_iter().find(has_events), |given| Some(given).filter(has_events));
        let Some(root) = root else {
            let directory = given.unwrap_or(usual[0]).display();
            return Err(match fs::read_dir(format!("{directory}/events")) {
                Ok(_) => missing(
                    format!("this kernel has no tracepoint `qdisc_dequeue` in `{directory}`"),
                    "Linux has it since 4.16, `qdisc_enqueue` since 5.15; without them `top` has the delay of Little's law",
                ),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => missing(
                    format!("the kernel's traces in `{directory}` are for root"),
                    "run it as root, or leave `--sojourn` out",
                ),
                Err(_) => missing(
                    format!("the kernel's traces are not mounted at `{directory}`"),
                    "as root: `mount -t tracefs tracefs /sys/kernel/tracing`; or name its folder by `--sojourn=DIR`",
                ),
            });
        };
        let instances = root.join("instances");
        remove_left(&instances);
        let instance = instances.join(format!("lockgate-{}", std::process::id()));
        let refused = |error: std::io::Error| {
            missing(
                format!("the kernel's traces in `{}`: {error}", root.display()),
                "run it as root, or leave `--sojourn` out",
            )
        };
        fs::create_dir(&instance).map_err(refused)?;
        let mut sojourn = Self {
            instance,
            delays: Arc::default(),
            ends: Arc::default(),
            reader: None,
            totals: BTreeMap::new(),
            lost: 0,
        };
        // Dropped on failure, which removes the instance.
        sojourn.arm(interfaces).map_err(refused)?;
        Ok(sojourn)
    }

    fn arm(&mut self, interfaces: &[u32]) -> std::io::Result<()> {
        let at = |name: &str| self.instance.join(name);
        // The clock of all processors; that of the start is one for each.
        fs::write(at("trace_clock"), "mono")?;
        fs::write(at("buffer_size_kb"), BUFFER_KB)?;
        let filter: Vec<String> = interfaces.iter().map(|index| format!("ifindex=={index}")).collect();
        for event in EVENTS {
            if !filter.is_empty() {
                fs::write(at(&format!("events/qdisc/{event}/filter")), filter.join("||"))?;
            }
        }
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let pipe = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(at("trace_pipe"))?;
        for event in EVENTS {
            fs::write(at(&format!("events/qdisc/{event}/enable")), "1")?;
        }
        let (delays, ends) = (self.delays.clone(), self.ends.clone());
        let reader = std::thread::Builder::new().name("sojourn".to_owned());
        self.reader = Some(reader.spawn(move || read(pipe, &delays, &ends))?);
        Ok(())
    }

    /// Returns events that were lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Sets the delays of the roots of a sample.
    pub(crate) fn fill<'a>(&mut self, sample: &mut Sample, trees: impl Iterator<Item = &'a Tree>) {
        let new = core::mem::take(&mut *self.delays.lock().unwrap_or_else(PoisonError::into_inner));
        self.lost += new.lost;
        for (port, tree) in sample.ports.iter_mut().zip(trees) {
            let Some(root) = port.queues.iter_mut().find(|queue| queue.parent.is_none()) else { continue };
            let total = self.totals.entry(tree.interface).or_default();
            let mut delays = new.of(tree);
            delays.sort_by(f64::total_cmp);
            root.sojourn_mean_s = None;
            if !delays.is_empty() {
                let at = |share: f64| delays[((delays.len() - 1) as f64 * share).round() as usize];
                let sum: f64 = delays.iter().sum();
                root.sojourn_mean_s = Some(sum / delays.len() as f64);
                (root.sojourn_p50_s, root.sojourn_p99_s) = (Some(at(0.5)), Some(at(0.99)));
                total.count += delays.len() as u64;
                total.sum_s += sum;
                for (count, most) in total.classes.iter_mut().zip(SOJOURN_CLASSES) {
                    *count += delays.partition_point(|delay| *delay <= most.as_secs_f64()) as u64;
                }
            }
            root.total.sojourn_classes = total.classes;
            root.total.sojourn_count = total.count;
            root.total.sojourn_sum_s = total.sum_s;
        }
    }
}

impl Drop for Sojourn {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for event in EVENTS {
            let _ = fs::write(self.instance.join(format!("events/qdisc/{event}/enable")), "0");
        }
        // The instance is busy while its pipe is open.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Removes the instances of processes that were killed.
fn remove_left(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("lockgate-")?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn read(mut pipe: fs::File, delays: &Mutex<Delays>, ends: &AtomicBool) {
    let (mut buffer, mut text) = (vec![0; 1 << 16], Vec::new());
    let mut pairs = Pairs::default();
    while !ends.load(Ordering::Relaxed) {
        match pipe.read(&mut buffer) {
            Ok(0) => std::thread::sleep(PAUSE),
            Ok(length) => {
                text.extend_from_slice(&buffer[..length]);
                let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                let mut found = delays.lock().unwrap_or_else(PoisonError::into_inner);
                for line in text[..end].split(|byte| *byte == b'\n') {
                    pairs.line(&String::from_utf8_lossy(line), &mut found);
                }
                drop(found);
                text.drain(..end);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                std::thread::sleep(PAUSE);
            }
            Err(_) => return,
        }
    }
}

/// Packets that wait: address to the time of their arrival, in seconds.
#[derive(Debug, Default)]
struct Pairs(BTreeMap<(Root, u64), f64>);

impl Pairs {
    /// Takes a line: `task-12 [000] d... 12.345678: qdisc_enqueue: enqueue ifindex=3 ...
    /// skbaddr=00000000abcd1234`.
    fn line(&mut self, line: &str, delays: &mut Delays) {
        if let Some((_, lost)) = line.split_once("[LOST ") {
            delays.lost += lost.split(' ').next().and_then(|lost| lost.parse::<u64>().ok()).unwrap_or(0);
            return;
        }
        let Some((head, event)) = line.split_once(": qdisc_") else { return };
        let time = head.rsplit(' ').next().and_then(|time| time.parse::<f64>().ok());
        let field = |name: &str| event.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let interface = field("ifindex").and_then(|index| index.parse::<u32>().ok());
        let hexadecimal = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let address = field("skbaddr").and_then(hexadecimal);
        let handle = field("handle").and_then(hexadecimal).and_then(|handle| u32::try_from(handle).ok());
        let (Some(time), Some(root), Some(address)) = (time, interface.zip(handle), address) else { return };
        if event.starts_with("enqueue") {
            if self.0.len() >= MOST_WAITING {
                self.0.clear();
            }
            self.0.insert((root, address), time);
        } else if event.starts_with("dequeue")
            && let Some(since) = self.0.remove(&(root, address))
        {
            let all = delays.by_root.entry(root).or_default();
            if all.len() < KEPT_DELAYS {
                all.push((time - since).max(0.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lockgate_tc::kernel::KernelQueue;

    use super::*;

    #[test]
    fn a_delay_is_from_the_queue_to_the_device() {
        let (mut pairs, mut delays) = (Pairs::default(), Delays::default());
        for line in [
            "            bash-812     [001] b..1.    10.000000: qdisc_enqueue: enqueue ifindex=3 qdisc handle=0x10000 parent=0xFFFFFFFF skbaddr=00000000aa",
            "            bash-812     [001] b..1.    10.001000: qdisc_enqueue: enqueue ifindex=3 qdisc handle=0x10000 parent=0xFFFFFFFF skbaddr=00000000bb",
            // On another interface.
            "            bash-812     [001] b..1.    10.002000: qdisc_dequeue: dequeue ifindex=4 qdisc handle=0x10000 parent=0xFFFFFFFF txq_state=0x0 packets=1 skbaddr=00000000aa",
            "          <idle>-0       [000] ..s1.    10.250000: qdisc_dequeue: dequeue ifindex=3 qdisc handle=0x10000 parent=0xFFFFFFFF txq_state=0x0 packets=1 skbaddr=00000000aa",
            // The other one was dropped, and its address is used again.
            "            bash-812     [001] b..1.    11.000000: qdisc_enqueue: enqueue ifindex=3 qdisc handle=0x10000 parent=0xFFFFFFFF skbaddr=00000000bb",
            "          <idle>-0       [000] ..s1.    11.500000: qdisc_dequeue: dequeue ifindex=3 qdisc handle=0x10000 parent=0xFFFFFFFF txq_state=0x0 packets=1 skbaddr=00000000bb",
            "          <idle>-0       [000] ..s1.    11.600000: qdisc_dequeue: dequeue ifindex=3 qdisc handle=0x10000 parent=0xFFFFFFFF txq_state=0x0 packets=0 skbaddr=0000000000",
            "CPU:1 [LOST 17 EVENTS]",
            "a line of something else: qdisc_x",
        ] {
            pairs.line(line, &mut delays);
        }
        assert_eq!(delays.lost, 17);
        let found = &delays.by_root[&(3, 0x1_0000)];
        assert_eq!(found.len(), 2);
        assert!((found[0] - 0.25).abs() < 1e-6 && (found[1] - 0.5).abs() < 1e-6, "{found:?}");
        assert!(pairs.0.is_empty() && delays.by_root.len() == 1);
    }

    #[test]
    fn delays_of_another_namespace_are_told_apart_by_the_handle() {
        let by_root = BTreeMap::from([
            ((2, 0x1_0000), vec![9.0]),
            ((3, 0x1_0000), vec![1.0]),
            ((3, 0x8001_0000), vec![2.0]),
        ]);
        let delays = Delays { by_root, lost: 0 };
        let of = |kind: &str, handle: u32| {
            let root =
                KernelQueue { handle, parent: u32::MAX, kind: kind.to_owned(), ..KernelQueue::default() };
            delays.of(&Tree::of(3, "eth0", vec![root]))
        };
        assert_eq!((of("htb", 0x1_0000), of("cake", 0x8001_0000)), (vec![1.0], vec![2.0]));
        assert_eq!((of("mq", 0), of("htb", 0x2_0000)), (vec![1.0, 2.0], vec![]));
    }

    #[test]
    fn a_missing_trace_is_said_with_its_remedy() {
        let directory = tempfile::tempdir().expect("a directory");
        let refused = |path: &Path| match Sojourn::start(Some(path), &[]) {
            Err(KernelError::Missing { message, .. }) => message,
            _ => panic!("refused as missing"),
        };
        assert!(refused(directory.path()).contains("not mounted"));
        fs::create_dir(directory.path().join("events")).expect("a folder");
        assert!(refused(directory.path()).contains("no tracepoint"));
    }
}
