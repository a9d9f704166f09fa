//! Common programs through a router: they work, and none of their bytes is changed.
//!
//! `LOCKGATE_SECONDS` is the length of each run of iperf3, `LOCKGATE_MEGABYTES` the size of the download.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;
use serde_json::Value;

use super::common::{HOSTS, Network, ROUTER_ADDRESSES};
use super::setting::{
    FIFO, Running, dotted, found, has, network, number, policy, quantile, run, run_well, spawn,
};
use super::stream::address;

/// Longest frame of an MTU of 1500, in bytes.
const LONGEST_FRAME: usize = 1_514;

/// Rate of the ports, which this machine sustains easily, and a queue for it.
const RATE: &str = "100mbit";
const FAIR: &str = "{ kind = \"fq_codel\" }";

/// Both ways at once. The iperf3 of one thread reads nothing while a write waits: with its 128 KiB a write,
/// both ends can wait for each other until the end. What `poll` calls writable takes 4 KiB without waiting.
const BOTH_WAYS: &[&str] = &["--bidir", "-l", "4K"];

#[test]
fn iperf3_works_both_ways_with_tcp_and_udp() {
    if !has(&["iperf3"]) {
        return;
    }
    let seconds = number("LOCKGATE_SECONDS", 1).to_string();
    for mode in ["bridge", "egress"] {
        let Some(network) = network(mode) else { return };
        let router = Running::start(&network, &policy(mode, RATE, FAIR), &[]);
        let server = dotted(address(mode, 1));
        for options in [&[][..], &["-R"], &["-P", "8"], BOTH_WAYS, &["-u", "-b", "10M", "-l", "1400"]] {
            let mut serving = spawn(
                &network.hosts[1],
                Command::new("iperf3").arg("-s").stdout(Stdio::null()).stderr(Stdio::null()),
            );
            let arguments =
                [&["-c", &server, "-t", &seconds, "-J", "--connect-timeout", "5000"], options].concat();
            let until = Instant::now() + Duration::from_secs(30);
            // The server may not listen yet, the control connection may end before the figures arrive, and
            // iperf3 itself loses datagrams on a busy machine.
            let (said, received) = loop {
                let output = run(&network.hosts[0], "iperf3", &arguments);
                let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let end = &said["end"];
                let received = end["sum_received"]["bits_per_second"].as_f64();
                let is_whole = end["sum"]["lost_percent"].as_f64().is_none_or(|percent| percent < 2.0);
                match received.or_else(|| end["sum"]["bits_per_second"].as_f64()) {
                    Some(received) if output.status.success() && is_whole => break (said, received),
                    _ => assert!(Instant::now() < until, "{mode} {options:?}: {said}"),
                }
                thread::sleep(Duration::from_millis(50));
            };
            let _ = serving.kill();
            serving.wait().expect("ended");
            let end = &said["end"];
            let lost = end["sum"]["lost_packets"].as_f64();
            println!("{mode}, iperf3 {options:?}: {:.1} Mbit/s, lost {lost:?}", received / 1e6);
            assert!(received > 1e6, "{mode} {options:?}: {said}");
        }
        router.stop();
    }
}

/// Returns byte number `index` of the download.
fn content(index: u64) -> u8 {
    (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Serves one HTTP request with this number of bytes.
fn serve(listener: &TcpListener, bytes: u64) {
    let (mut stream, _) = listener.accept().expect("a client");
    let mut request = [0; 1_000];
    assert!(stream.read(&mut request).expect("a request") > 0);
    write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {bytes}\r\n\r\n").expect("sent");
    for start in (0..bytes).step_by(1 << 16) {
        let chunk: Vec<u8> = (start..bytes.min(start + (1 << 16))).map(content).collect();
        stream.write_all(&chunk).expect("sent");
    }
}

fn listen(host: &Namespace, port: u16) -> TcpListener {
    let at = SocketAddr::from(([0, 0, 0, 0], port));
    super::common::open_socket(host, || TcpListener::bind(at))
}

#[test]
fn a_download_arrives_byte_for_byte() {
    if !has(&["curl"]) {
        return;
    }
    let bytes = number("LOCKGATE_MEGABYTES", 20) * 1_000_000;
    for mode in ["bridge", "ingress"] {
        let Some(network) = network(mode) else { return };
        let router = Running::start(&network, &policy(mode, "1gbit", FAIR), &[]);
        let listener = listen(&network.hosts[1], 8_080);
        let serving = thread::spawn(move || serve(&listener, bytes));
        let url = format!("http://{}:8080/file", dotted(address(mode, 1)));
        let began = Instant::now();
        let mut curl = spawn(
            &network.hosts[0],
            Command::new("curl").args(["--silent", "--show-error", &url]).stdout(Stdio::piped()),
        );
        let mut read = curl.stdout.take().expect("piped");
        let (mut index, mut buffer) = (0, vec![0; 1 << 16]);
        loop {
            let count = read.read(&mut buffer).expect("read");
            if count == 0 {
                break;
            }
            let wrong = (index..).zip(&buffer[..count]).find(|(index, byte)| content(*index) != **byte);
            assert_eq!(wrong, None, "{mode}");
            index += count as u64;
        }
        assert!(curl.wait().expect("ended").success() && index == bytes, "{mode}: {index} bytes");
        serving.join().expect("no panic");
        println!("{mode}, curl: {bytes} bytes as they were, in {:?}", began.elapsed());
        router.stop();
    }
}

#[test]
fn ping_and_traceroute_see_a_cable_or_one_router() {
    if !has(&["ping", "traceroute"]) {
        return;
    }
    for mode in ["bridge", "egress", "ingress"] {
        let Some(network) = network(mode) else { return };
        let router = Running::start(&network, &policy(mode, RATE, FAIR), &[]);
        let other = dotted(address(mode, 1));
        let ping = |size: &str| {
            run(
                &network.hosts[0],
                "ping",
                &["-c", "20", "-i", "0.01", "-W", "5", "-M", "do", "-s", size, &other],
            )
        };
        let output = ping("1472");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains(" 0% packet loss"), "{mode}: {said}");
        println!("{mode}, ping -s 1472 -M do: {}", said.lines().last().unwrap_or_default());
        assert!(!ping("1473").status.success(), "{mode}: longer than the MTU");
        let said = run_well(&network.hosts[0], "traceroute", &["-n", "-q", "1", "-w", "5", &other]);
        let hops: Vec<&str> =
            said.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
        let gateway = dotted(ROUTER_ADDRESSES[0]);
        let expected = if mode == "bridge" { vec![&*other] } else { vec![&*gateway, &*other] };
        assert_eq!(hops, expected, "{mode}: {said}");
        router.stop();
    }
}

/// Returns the command for a program of busybox: the program itself if this host has it, otherwise busybox.
fn busybox(program: &'static str) -> Option<Command> {
    if let Some(path) = found(program) {
        return Some(Command::new(path));
    }
    let path = found("busybox")?;
    let knows = Command::new(&path).arg("--list").output().ok()?;
    let is_known = String::from_utf8_lossy(&knows.stdout).lines().any(|line| line == program);
    is_known.then(|| {
        let mut command = Command::new(path);
        command.arg(program);
        command
    })
}

#[test]
fn a_host_gets_its_address_by_dhcp() {
    let (Some(mut server), Some(mut client)) = (busybox("udhcpd"), busybox("udhcpc")) else {
        super::common::skip("no udhcpd and udhcpc");
        return;
    };
    let Some(network) = network("bridge") else { return };
    let router = Running::start(&network, &policy("bridge", RATE, FAIR), &[]);
    let [host, far] = HOSTS;
    let configuration = format!(
        "start 10.3.0.100\nend 10.3.0.100\ninterface {far}\nlease_file leases\npidfile pid\noption subnet \
         255.255.255.0\noption router 10.3.0.2\n"
    );
    router.write("udhcpd.conf", &configuration);
    router.write("leases", "");
    router.write("got.sh", "#!/bin/sh\necho \"$1 $ip $router\" >> got\n");
    let folder = router.folder();
    let runnable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("got.sh"), runnable).expect("set");
    let quiet = |command: &mut Command| {
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    };
    quiet(server.args(["-f", "-S", "udhcpd.conf"]));
    quiet(client.args(["-f", "-n", "-q", "-t", "10", "-T", "1", "-i", host, "-s", "./got.sh"]));
    let mut serving = spawn(&network.hosts[1], &mut server);
    let status = spawn(&network.hosts[0], &mut client).wait().expect("ended");
    serving.kill().expect("killed");
    serving.wait().expect("ended");
    let got = std::fs::read_to_string(folder.path().join("got")).unwrap_or_default();
    assert!(status.success() && got.contains("bound 10.3.0.100 10.3.0.2"), "{got}");
    router.stop();
}

/// Router advertisement (RFC 4861) of the prefix `2001:db8:77::/64`, as a frame.
fn advertisement() -> Vec<u8> {
    let source = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99];
    let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    // Hop limit 64, no flags, a router for 1800 s; option 3: prefix of 64 bits, on the link and for
    // addresses.
    let mut message = vec![134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    message.extend([3, 4, 64, 0xc0, 0, 0, 0x70, 0x80, 0, 0, 0x38, 0x40, 0, 0, 0, 0]);
    message.extend([0x20, 1, 0xd, 0xb8, 0, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let length = message.len() as u8;
    let pseudo = [&source[..], &group, &[0, 0, 0, length, 0, 0, 0, 58], &message].concat();
    let words = pseudo.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut frame = vec![0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x99, 0x86, 0xdd];
    frame.extend([0x60, 0, 0, 0, 0, length, 58, 255]);
    [&frame[..], &source, &group, &message].concat()
}

#[test]
fn a_host_configures_its_ipv6_address() {
    use lockgate_dataplane::dataplane::Dataplane;
    use lockgate_dataplane::socket::SocketChoice;

    let Some(network) = network("bridge") else { return };
    let host = HOSTS[0];
    let settings = format!("/proc/sys/net/ipv6/conf/{host}");
    let set = network.hosts[0].inside(|| {
        // `addr_gen_mode` 0: the kernel generates addresses again, which these hosts have disabled.
        let keys = [("accept_ra", "1"), ("addr_gen_mode", "0")];
        keys.iter().all(|(key, value)| std::fs::write(format!("{settings}/{key}"), value).is_ok())
    });
    if !set.expect("entered") {
        super::common::skip("no IPv6");
        return;
    }
    let router = Running::start(&network, &policy("bridge", RATE, FAIR), &[]);
    let mut sender = network.open(1, SocketChoice::Packet, LONGEST_FRAME);
    let addresses = || {
        let read = network.hosts[0].inside(|| std::fs::read_to_string("/proc/thread-self/net/if_inet6"));
        read.expect("entered").expect("readable")
    };
    let until = Instant::now() + Duration::from_secs(20);
    while !addresses().contains("20010db80077") {
        assert!(Instant::now() < until, "no address: {}", addresses());
        sender.transmit(0, &[&advertisement()]).expect("there");
        thread::sleep(Duration::from_millis(200));
    }
    router.stop();
}

/// Number of connections that fill the queue within a few seconds; a single one would need a minute.
const BULK: usize = 24;

/// Fills the queue from the first host to the second by TCP until `stop` is set.
fn fill(network: &Network, mode: &str, stop: &Arc<AtomicBool>) -> Vec<thread::JoinHandle<()>> {
    let listener = listen(&network.hosts[1], 9_000);
    let to = SocketAddr::from((address(mode, 1), 9_000));
    // All connections are opened before the queue fills, which would drop their first segments.
    let connected: Vec<TcpStream> = (0..BULK)
        .map(|_| {
            let near =
                network.hosts[0].inside(|| TcpStream::connect(to)).expect("entered").expect("connected");
            let (mut far, _) = listener.accept().expect("a client");
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while far.read(&mut buffer).is_ok_and(|count| count > 0) {}
            });
            near
        })
        .collect();
    let write = |mut near: TcpStream| {
        let stop = stop.clone();
        thread::spawn(move || {
            let chunk = vec![0; 1 << 14];
            near.set_write_timeout(Some(Duration::from_millis(50))).expect("set");
            while !stop.load(Ordering::Relaxed) {
                // A full socket is intended.
                let _ = near.write(&chunk);
            }
            // Discards the data that is still in the socket: the connection is reset.
            let _ = rustix::net::sockopt::set_socket_linger(&near, Some(Duration::ZERO));
        })
    };
    connected.into_iter().map(write).collect()
}

/// Opens a connection to an echo of 64 bytes over TCP.
fn echo(network: &Network, mode: &str) -> TcpStream {
    let listener = listen(&network.hosts[1], 7_000);
    let to = SocketAddr::from((address(mode, 1), 7_000));
    let near = network.hosts[0].inside(|| TcpStream::connect(to)).expect("entered").expect("connected");
    let (mut far, _) = listener.accept().expect("a client");
    near.set_nodelay(true).expect("set");
    far.set_nodelay(true).expect("set");
    thread::spawn(move || {
        let mut bytes = [0; 64];
        while far.read_exact(&mut bytes).is_ok() && far.write_all(&bytes).is_ok() {}
    });
    near
}

/// Measures round trips for this time, at most one in 10 ms, like the keystrokes of a user.
fn round_trips(near: &mut TcpStream, lasting: Duration) -> Vec<Duration> {
    let (began, mut trips) = (Instant::now(), Vec::new());
    while began.elapsed() < lasting {
        let sent = Instant::now();
        let mut bytes = [trips.len() as u8; 64];
        near.write_all(&bytes).expect("sent");
        near.read_exact(&mut bytes).expect("received");
        trips.push(sent.elapsed());
        thread::sleep(Duration::from_millis(10).saturating_sub(sent.elapsed()));
    }
    trips.sort_unstable();
    trips
}

#[test]
fn small_messages_pass_a_full_queue_with_cake_and_wait_with_fifo() {
    for mode in ["bridge", "egress"] {
        let Some(network) = network(mode) else { return };
        let mut medians = Vec::new();
        // A thousand full frames at 10 Mbit/s: 1.2 s.
        for queue in ["{ kind = \"fifo\", limit = \"1000p\" }", "{ kind = \"cake\" }"] {
            let router = Running::start(&network, &policy(mode, "10mbit", queue), &[]);
            let stop = Arc::new(AtomicBool::new(false));
            let mut near = echo(&network, mode);
            let filling = fill(&network, mode, &stop);
            thread::sleep(Duration::from_secs(3));
            let trips = round_trips(&mut near, Duration::from_secs(number("LOCKGATE_SECONDS", 3)));
            let [p50, p99] = [0.5, 0.99].map(|share| quantile(&trips, share));
            println!("{mode}, {queue}: {} round trips, p50 {p50:?}, p99 {p99:?}", trips.len());
            medians.push(p50);
            stop.store(true, Ordering::Relaxed);
            // The reset empties its queue.
            for thread in filling {
                thread.join().expect("no panic");
            }
            router.stop();
        }
        assert!(medians[0] > Duration::from_millis(300), "{mode}: the queue is full: {medians:?}");
        assert!(medians[1] < medians[0] / 4, "{mode}: {medians:?}");
    }
}

/// Reads the frames of a capture: a pcap file, or the enhanced packet blocks of a pcapng. Bytes that the
/// capture did not keep are filled up.
fn frames_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let is_new = bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    let mut is_big = bytes[0] == 0xa1;
    let (mut at, mut frames) = (if is_new { 0 } else { 24 }, Vec::new());
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 16) {
        if is_new && rest.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            is_big = rest[8] == 0x1a;
        }
        let word = |index: usize| {
            let four = [rest[index], rest[index + 1], rest[index + 2], rest[index + 3]];
            (if is_big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }) as usize
        };
        let (start, kept, original, next) = match is_new {
            true if word(0) == 6 => (28, word(20), word(24), word(4)),
            true => (0, 0, 0, word(4)),
            false => (16, word(8), word(12), 16 + word(8)),
        };
        if (14..=LONGEST_FRAME).contains(&original) {
            let mut frame = rest[start..start + kept].to_vec();
            frame.resize(original, 0x5a);
            frames.push(frame);
        }
        at += next;
    }
    frames
}

/// Returns the captures of this repository, and those of the folder `LOCKGATE_CAPTURES`.
fn captures() -> Vec<std::path::PathBuf> {
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let more = std::env::var_os("LOCKGATE_CAPTURES").map(std::path::PathBuf::from);
    let folders = more.into_iter().chain([repository.join("crates/traffic/tests/captures")]);
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "pcap" || it == "pcapng"));
    files.sort();
    files
}

#[test]
fn captures_leave_as_they_came() {
    use lockgate_dataplane::dataplane::Dataplane;
    use lockgate_dataplane::socket::SocketChoice;
    use lockgate_engine::units::Duration;

    for io in ["af_xdp", "packet"] {
        let Some(network) = network("bridge") else { return };
        network.single_frames();
        let text = policy("bridge", "1gbit", FIFO).replace("mode =", &format!("io = \"{io}\"\nmode ="));
        let router = Running::start(&network, &text, &[]);
        for from in [0, 1] {
            let mut sender = network.open(from, SocketChoice::Packet, LONGEST_FRAME);
            let mut receiver = network.open(1 - from, SocketChoice::Packet, LONGEST_FRAME);
            for file in captures() {
                let frames = frames_of(&std::fs::read(&file).expect("a capture"));
                let name = file.file_name().unwrap_or_default().display();
                assert!(!frames.is_empty(), "{name}");
                for batch in frames.chunks(50) {
                    for frame in batch {
                        assert_eq!(sender.transmit(0, &[frame]).expect("there").taken, 1, "{name}");
                    }
                    let mut arrived =
                        super::common::receive(&mut receiver, batch.len(), Duration::from_secs(5));
                    // Frames without an IP packet may go ahead of others.
                    let mut expected = batch.to_vec();
                    arrived.sort();
                    expected.sort();
                    assert!(arrived == expected, "{io}, {name}: {} of {}", arrived.len(), expected.len());
                }
                println!("{io}, from host {from}: {} frames of {name} as they were", frames.len());
            }
        }
        router.stop();
    }
}
