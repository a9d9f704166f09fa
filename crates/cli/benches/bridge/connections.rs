//! Cost of real TCP: a connection to each subscriber, through the kernel's bridge with HTB or through
//! Lockgate's router.
//!
//! Frames of the kernel's TCP are long ones that a device would divide ("super-frames"), which a flood of
//! single frames does not show. The cost is the processor time of all that has a part: the programs at both
//! ends, whose system calls do most of the kernel's work, the router, and the kernel's own threads for
//! frames.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::places::{program, sh};
use crate::systems::{Network, Route, kernel_threads, scheduled};

/// Rate of each subscriber, in bits a second: 49 have 540 Mbit/s together.
const PLAN: u64 = 11_020_000;
const SUBSCRIBERS: u16 = 49;

/// A queue holds 50 ms.
const QUEUE_BYTES: u64 = PLAN / 8 / 20;

/// Time after which the connections have their rates.
const WARM_UP: Duration = Duration::from_secs(2);

const PORT: u16 = 5001;

/// What forwards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The kernel's bridge, with HTB and a queue of 50 ms for each subscriber.
    Kernel,
    /// Lockgate, with the same.
    Lockgate,
    /// Lockgate, with FQ-CoDel for each subscriber.
    FqCodel,
    /// The same, by a clock of 4 ms, so that several segments of a subscriber leave at once.
    Coarse,
    /// The same, with super-frames that stay whole in the queues, as in the kernel's.
    Whole,
    /// The kernel's policy by the clock of 4 ms, with super-frames that stay whole.
    WholeFifo,
}

impl Way {
    pub(crate) const ALL: [Self; 6] =
        [Self::Kernel, Self::Lockgate, Self::FqCodel, Self::Coarse, Self::Whole, Self::WholeFifo];

    fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel's bridge, HTB, 50 ms",
            Self::Lockgate => "Lockgate, HTB, 50 ms",
            Self::FqCodel => "Lockgate, HTB, FQ-CoDel",
            Self::Coarse => "Lockgate, HTB, FQ-CoDel, clock of 4 ms",
            Self::Whole => "Lockgate, HTB, FQ-CoDel, clock of 4 ms, whole super-frames",
            Self::WholeFifo => "Lockgate, HTB, 50 ms, clock of 4 ms, whole super-frames",
        }
    }
}

fn subscriber(index: u16) -> Ipv4Addr {
    let [third, last] = (index + 1).to_be_bytes();
    Ipv4Addr::new(10, 64, third, last)
}

/// Receives by all addresses; writes the bytes of each that came in `millis` after the warm-up to a file.
pub(crate) fn receive(millis: u64, file: &str) {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).expect("a port");
    let counters: Vec<_> = (0..SUBSCRIBERS).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for counter in &counters {
        let (mut stream, _) = listener.accept().expect("a connection");
        let counter = counter.clone();
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 18];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                counter.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
    }
    let read = || counters.iter().map(|counter| counter.load(Ordering::Relaxed)).collect::<Vec<_>>();
    sleep(WARM_UP);
    let (before, since) = (read(), Instant::now());
    sleep(Duration::from_millis(millis));
    let (after, passed) = (read(), since.elapsed().as_secs_f64());
    let rates: Vec<f64> =
        before.iter().zip(&after).map(|(a, b)| (b - a) as f64 * 8.0 / passed / 1e6).collect();
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    std::fs::write(file, format!("{} {least}", rates.iter().sum::<f64>())).expect("written");
}

/// Sends to each address, as fast as TCP does.
pub(crate) fn send(millis: u64) {
    let until = Instant::now() + WARM_UP + Duration::from_millis(millis + 500);
    let threads: Vec<_> = (0..SUBSCRIBERS)
        .map(|index| {
            thread::spawn(move || {
                let mut stream = TcpStream::connect((subscriber(index), PORT)).expect("a connection");
                let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
                let buffer = vec![0; 1 << 17];
                while Instant::now() < until {
                    let _ = stream.write(&buffer);
                }
            })
        })
        .collect();
    for thread in threads {
        let _ = thread.join();
    }
}

/// Returns the time that a process, all of its threads, had a processor so far, in nanoseconds.
fn time_of(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.map(|task| scheduled(&task.path().join("schedstat"))).sum()
}

/// Measures one way. Returns a row of the table.
pub(crate) fn run(way: Way, millis: u64) -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("lockgate-tcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let done = Network::new().and_then(|network| measure(&network, way, millis, &folder));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// Returns a command in the namespace of a place, ahead of other programs of the machine, as the router is.
fn inside(place: u32) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "-20", "nsenter", "-t", &place.to_string(), "-n"]).stdin(Stdio::null());
    command
}

/// Returns the round-trip times that `ping` has printed, in milliseconds, sorted.
fn round_trips(said: &[u8]) -> Vec<f64> {
    let mut times: Vec<f64> = String::from_utf8_lossy(said)
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split_whitespace().next()?.parse().ok())
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

fn measure(network: &Network, way: Way, millis: u64, folder: &Path) -> Result<String, String> {
    let [source, bridge, sink] = network.places();
    sh(&format!("nsenter -t {source} -n ip address add 10.64.255.254/16 dev v0"))?;
    for index in 0..SUBSCRIBERS {
        sh(&format!("nsenter -t {sink} -n ip address add {}/16 dev v0", subscriber(index)))?;
    }
    let router = if way == Way::Kernel {
        let file = folder.join("tc");
        std::fs::write(&file, tc()).map_err(|error| error.to_string())?;
        sh(&format!("nsenter -t {bridge} -n tc -batch {}", file.display()))?;
        None
    } else {
        Some(start(network, way, folder)?)
    };
    let result = folder.join("received");
    let mut receiver = inside(sink)
        .args([&program(), "receive", &millis.to_string()])
        .arg(&result)
        .spawn()
        .map_err(|error| error.to_string())?;
    sleep(Duration::from_millis(200));
    let mut sender = inside(source)
        .args([&program(), "connect", &millis.to_string()])
        .spawn()
        .map_err(|error| error.to_string())?;
    sleep(WARM_UP);
    let ping = inside(source)
        .args(["ping", "-n", "-i", "0.02", "-w", &(millis / 1000).to_string(), &subscriber(0).to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let time = || router.as_ref().map_or(0, Route::processor_time);
    let read = || [time_of(sender.id()), time_of(receiver.id()), time(), kernel_threads()];
    let (before, since) = (read(), Instant::now());
    sleep(Duration::from_millis(millis));
    let passed = since.elapsed().as_nanos() as f64;
    let after = read();
    let shares: Vec<f64> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| after.saturating_sub(*before) as f64 * 100.0 / passed)
        .collect();
    let ping = ping.wait_with_output().map_err(|error| error.to_string())?;
    receiver.wait().map_err(|error| error.to_string())?;
    sender.wait().map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(&result).map_err(|error| error.to_string())?;
    let mut words = text.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (rate, least) = (words.next().unwrap_or(0.0), words.next().unwrap_or(0.0));
    let times = round_trips(&ping.stdout);
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or(f64::NAN);
    Ok(format!(
        "| {} | {rate:.1} | {:.3} | {:.1}, {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} % |",
        way.name(),
        least * 1e6 / PLAN as f64,
        at(50),
        at(99),
        shares[0],
        shares[1],
        shares[2],
        shares[3],
        shares.iter().sum::<f64>(),
    ))
}

/// Returns input for `tc -batch`: HTB with a class for each subscriber.
fn tc() -> String {
    let mut text = "qdisc add dev w1 root handle 1: htb default 1\n\
                    class add dev w1 parent 1: classid 1:1 htb rate 10gbit ceil 10gbit\n\
                    filter add dev w1 parent 1: protocol ip prio 1 handle 100: u32 divisor 256\n"
        .to_owned();
    for index in 0..SUBSCRIBERS {
        let (class, address) = (0x100 + index, subscriber(index));
        let _ = writeln!(
            text,
            "class add dev w1 parent 1:1 classid 1:{class:x} htb rate {PLAN} ceil {PLAN} burst 20000 cburst 20000"
        );
        let _ = writeln!(text, "qdisc add dev w1 parent 1:{class:x} bfifo limit {QUEUE_BYTES}");
        let _ = writeln!(
            text,
            "filter add dev w1 parent 1: protocol ip prio 1 u32 ht 100:{:x}: match ip dst {address}/32 flowid 1:{class:x}",
            index + 1
        );
    }
    text + "filter add dev w1 parent 1: protocol ip prio 1 u32 ht 800:: match ip dst 10.64.0.0/16 \
            hashkey mask 0x000000ff at 16 link 100:\n"
}

fn start(network: &Network, way: Way, folder: &Path) -> Result<Route, String> {
    let plan = PLAN as f64 / 1e6;
    let mut table = "Circuit ID,IPv4,Download Min Mbps,Download Max Mbps\n".to_owned();
    for index in 0..SUBSCRIBERS {
        let _ = writeln!(table, "s{index},{},{plan},{plan}", subscriber(index));
    }
    let queue = match way {
        Way::FqCodel | Way::Coarse | Way::Whole => "kind = \"fq_codel\"".to_owned(),
        Way::Kernel | Way::Lockgate | Way::WholeFifo => {
            format!("kind = \"fifo\", limit = \"{QUEUE_BYTES}B\"")
        }
    };
    let (clock, options): (&str, &[&str]) = match way {
        Way::Coarse | Way::Whole | Way::WholeFifo => {
            ("clock = { source = \"jiffies\", hz = 250 }", &["--gather", "1ms"])
        }
        _ => ("", &[]),
    };
    let whole = match way {
        Way::Whole => "super_frames = \"16kB\"",
        Way::WholeFifo => "super_frames = \"64kB\"",
        _ => "",
    };
    let policy = format!(
        r#"subscribers = "plans.csv"
[router]
mode = "bridge"
interfaces = {{ lan = "w0", wan = "w1" }}
{whole}
[port."lan->wan"]
{clock}
root = "shaper"
[port."lan->wan".queue]
shaper = {{ kind = "htb", children = ["line"] }}
line = {{ kind = "class", rate = "10gbit", burst = "125kB", cburst = "125kB", children = ["plan", "rest"] }}
plan = {{ count = "subscribers", {queue}, rate = "$download_min", ceil = "$download_max", burst = "20kB", cburst = "20kB", match = [{{ destination = "$ipv4" }}] }}
rest = {{ kind = "fifo", rate = "100mbit" }}
"#
    );
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text);
    write("plans.csv", table)
        .and_then(|()| write("policy.toml", policy))
        .map_err(|error| error.to_string())?;
    Route::start(network, None, options, folder)
}
