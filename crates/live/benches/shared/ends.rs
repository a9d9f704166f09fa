//! The two programs at the ends of a bench's network: processes of the bench itself.
#![allow(unsafe_code, reason = "sendmmsg on a packet socket, and the choice of a processor")]

use std::fmt::Write as _;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Bytes of the shortest frame that Ethernet has, without its checksum.
pub(crate) const SHORTEST: usize = 60;

/// Destination port of the first class; each class has its own.
pub(crate) const FIRST_PORT: u16 = 5001;

/// Frames sent by one call.
const BATCH: usize = 32;

/// Polling interval of the sink's counter.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Header field by which frames are classified.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "each bench uses one")]
pub(crate) enum Class {
    /// Destination port, from [`FIRST_PORT`] on.
    Port,
    /// Last two bytes of the destination address.
    Address,
}

/// Traffic of the sender.
pub(crate) struct Flood {
    /// Bytes of a frame, from 60 to 1514.
    pub(crate) length: usize,
    /// Number of classes; frames belong to each class in turn.
    pub(crate) classes: u16,
    /// Processor of the sender, and whether its thread has real-time priority there.
    pub(crate) processor: usize,
    pub(crate) is_first: bool,
    /// Ethernet address of the next hop.
    pub(crate) to: [u8; 6],
    pub(crate) source: [u8; 4],
    pub(crate) destination: [u8; 4],
    pub(crate) class: Class,
    /// Frames a second; 0 for as fast as possible.
    pub(crate) rate: u64,
    pub(crate) millis: u64,
}

/// Returns the time of a clock in nanoseconds.
fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Binds this process to one processor.
pub(crate) fn stay_on(processor: usize) {
    // SAFETY: a set of processors is plain data of integers, for which zero is a value; `processor` is below
    // 1024.
    let done = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    assert!(done == 0, "there are two processors");
}

/// Gives this thread real-time priority, so that it sends on a busy machine too. No-op if that is not
/// permitted.
fn be_first() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 is the calling thread, and the kernel reads one `sched_param`.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}

fn frame(flood: &Flood, class: u16) -> Vec<u8> {
    let mut frame = vec![0u8; flood.length];
    let [high, low] = (flood.length as u16 - 14).to_be_bytes();
    frame[..6].copy_from_slice(&flood.to);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..24].copy_from_slice(&[0x45, 0, high, low, 0, 0, 0x40, 0, 64, 17]);
    frame[26..30].copy_from_slice(&flood.source);
    frame[30..34].copy_from_slice(&flood.destination);
    if matches!(flood.class, Class::Address) {
        frame[32..34].copy_from_slice(&class.to_be_bytes());
    }
    let sum: u32 =
        frame[14..34].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(((sum & 0xffff) + (sum >> 16)) as u16)).to_be_bytes());
    frame[34..36].copy_from_slice(&4000u16.to_be_bytes());
    let port = if matches!(flood.class, Class::Port) { FIRST_PORT + class } else { FIRST_PORT };
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame[38..40].copy_from_slice(&(flood.length as u16 - 34).to_be_bytes());
    frame
}

/// Sends the traffic, and writes start and end, the frames that the kernel took and refused, and the
/// processor time.
pub(crate) fn send(interface: &str, flood: &Flood, file: &str) {
    stay_on(flood.processor);
    let socket = open(interface).expect("a packet socket (CAP_NET_RAW)");
    let mut frames: Vec<Vec<u8>> = (0..flood.classes).map(|class| frame(flood, class)).collect();
    let mut vectors: Vec<libc::iovec> = frames
        .iter_mut()
        .map(|frame| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() })
        .collect();
    // A multiple of the batch, because every call sends a whole batch.
    let count = vectors.len().next_multiple_of(BATCH);
    let mut messages: Vec<libc::mmsghdr> = (0..count)
        .map(|index| {
            let vector = &mut vectors[index % frames.len()];
            // SAFETY: message headers are plain data of integers and pointers, for which zero is a value.
            let mut message: libc::mmsghdr = unsafe { core::mem::zeroed() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let mut next = 0;
    // The sink and the router may be started later.
    sleep(Duration::from_millis(700));
    if flood.is_first {
        be_first();
    }
    let start = nanos(ClockId::Monotonic);
    let (mut sent, mut refused, mut worked, mut now) = (0u64, 0u64, 0, start);
    while now < start + flood.millis * 1_000_000 {
        let due = (u128::from(now - start) * u128::from(flood.rate) / 1_000_000_000) as u64;
        if flood.rate == 0 || sent + refused < due {
            let cpu = nanos(ClockId::ThreadCPUTime);
            let batch = &mut messages[next..next + BATCH];
            next = (next + BATCH) % count;
            // SAFETY: every message is filled in, with one vector over a frame; all outlive the call.
            let done = unsafe { libc::sendmmsg(socket.as_raw_fd(), batch.as_mut_ptr(), BATCH as u32, 0) };
            match u64::try_from(done) {
                Ok(done) => sent += done,
                Err(_) => refused += 1,
            }
            // Only the time of the call, without the time between calls.
            worked += nanos(ClockId::ThreadCPUTime) - cpu;
        }
        now = nanos(ClockId::Monotonic);
    }
    std::fs::write(file, format!("{start} {now} {sent} {refused} {worked}")).expect("written");
}

/// Opens a socket that sends past the queues of an interface of this namespace, and receives nothing.
fn open(interface: &str) -> io::Result<OwnedFd> {
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: the name ends in a zero byte; no other value owns the descriptor; the address is plain data of
    // integers; each call reads exactly the size of the value that it is given.
    unsafe {
        let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let on: libc::c_int = 1;
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        let option = (&raw const on).cast();
        let bypass = libc::PACKET_QDISC_BYPASS;
        if libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, bypass, option, size) < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut address: libc::sockaddr_ll = core::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()).cast_signed();
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        if libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(socket)
    }
}

/// Writes the number of frames that have arrived at an interface of this namespace, over `millis` ms.
pub(crate) fn count(interface: &str, millis: u64, file: &str) {
    let end = nanos(ClockId::Monotonic) + millis * 1_000_000;
    let mut text = String::new();
    loop {
        let now = nanos(ClockId::Monotonic);
        let table = std::fs::read_to_string("/proc/thread-self/net/dev").expect("interfaces");
        let row = table.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:")));
        let packets = row.and_then(|row| row.split_whitespace().nth(1)).expect("a counter");
        let _ = writeln!(text, "{now} {packets}");
        if now > end {
            break;
        }
        sleep(POLL_INTERVAL);
    }
    std::fs::write(file, text).expect("written");
}

/// Counts of both ends.
pub(crate) struct Passed {
    /// Frames that the sender's kernel took, and calls that it refused.
    pub(crate) sent: u64,
    pub(crate) refused: u64,
    /// Frames that arrived at the sink.
    pub(crate) received: u64,
    /// Frames a second, offered and received, without the first tenth of the time.
    pub(crate) offered_rate: f64,
    pub(crate) received_rate: f64,
    /// Processor time of the sender for each frame, in ns. It includes the kernel's work on the sender's
    /// thread.
    pub(crate) sender_ns: f64,
}

impl Passed {
    /// Reads the files of the ends.
    pub(crate) fn read(sender: &Path, sink: &Path) -> Result<Self, String> {
        let read = |file: &Path| {
            let text = std::fs::read_to_string(file).map_err(|error| format!("an end failed: {error}"))?;
            let numbers = text.split_whitespace().map(str::parse::<u64>);
            numbers.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
        };
        let [start, end, sent, refused, cpu] = read(sender)?[..] else {
            return Err("the sender wrote nothing".to_owned());
        };
        let looks: Vec<(u64, u64)> = read(sink)?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
            return Err("the sink wrote nothing".to_owned());
        };
        let settled = start + (end - start) / 10;
        let within: Vec<_> = looks.iter().filter(|look| (settled..=end).contains(&look.0)).collect();
        let (Some(from), Some(to)) = (within.first(), within.last()) else {
            return Err("the sink was not there while frames came".to_owned());
        };
        Ok(Self {
            sent,
            refused,
            received: last.1 - first.1,
            offered_rate: sent as f64 * 1e9 / (end - start) as f64,
            received_rate: (to.1 - from.1) as f64 * 1e9 / (to.0 - from.0).max(1) as f64,
            sender_ns: cpu as f64 / sent.max(1) as f64,
        })
    }
}
