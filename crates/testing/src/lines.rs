//! Lines of tc-cake(8), each with the bytes on the wire by hand, and all places where one is stated.

/// Word of `cake`, and what it stands for.
pub struct Line {
    /// The word.
    pub word: &'static str,
    /// Bytes beyond the packet; `None`: the frame counts.
    bytes: Option<i64>,
    mpu: u64,
    framing: &'static str,
    /// Bytes on the wire of packets of [`PACKETS`], in frames of Ethernet and without a link header.
    pub lengths: [[u64; 4]; 2],
}

/// Lengths of packets.
pub const PACKETS: [u64; 4] = [40, 104, 576, 1500];

/// Bytes of a link header: of Ethernet, and none.
pub const HEADERS: [u64; 2] = [14, 0];

/// Rate of the line in all places.
pub const RATE: u64 = 5_000_000;

const fn line(word: &'static str, bytes: i64, mpu: u64, framing: &'static str, lengths: [u64; 4]) -> Line {
    Line { word, bytes: Some(bytes), mpu, framing, lengths: [lengths; 2] }
}

const fn of_frames(word: &'static str, framing: &'static str, lengths: [[u64; 4]; 2]) -> Line {
    Line { word, bytes: None, mpu: 0, framing, lengths }
}

/// By hand: packet and bytes, at least the minimum, then 53 for every 48 begun, or one more for every 64.
pub const LINES: [Line; 19] = [
    line("ethernet", 38, 84, "noatm", [84, 142, 614, 1538]),
    line("docsis", 18, 64, "noatm", [64, 122, 594, 1518]),
    line("conservative", 48, 0, "atm", [106, 212, 689, 1749]),
    line("pppoe-ptm", 30, 0, "ptm", [72, 137, 616, 1554]),
    line("bridged-ptm", 22, 0, "ptm", [63, 128, 608, 1546]),
    line("pppoa-vcmux", 10, 0, "atm", [106, 159, 689, 1696]),
    line("pppoa-llc", 14, 0, "atm", [106, 159, 689, 1696]),
    line("pppoe-vcmux", 32, 0, "atm", [106, 159, 689, 1696]),
    line("pppoe-llcsnap", 40, 0, "atm", [106, 159, 689, 1749]),
    line("bridged-vcmux", 24, 0, "atm", [106, 159, 689, 1696]),
    line("bridged-llcsnap", 32, 0, "atm", [106, 159, 689, 1696]),
    line("ipoa-vcmux", 8, 0, "atm", [53, 159, 689, 1696]),
    line("ipoa-llcsnap", 16, 0, "atm", [106, 159, 689, 1696]),
    line("no_overhead", 0, 0, "noatm", [40, 104, 576, 1500]),
    line("ether-vlan", 4, 0, "noatm", [44, 108, 580, 1504]),
    // Without bytes the frame counts, so that its link header does.
    of_frames("raw", "noatm", [[54, 118, 590, 1514], [40, 104, 576, 1500]]),
    of_frames("noatm", "noatm", [[54, 118, 590, 1514], [40, 104, 576, 1500]]),
    of_frames("atm", "atm", [[106, 159, 689, 1696], [53, 159, 636, 1696]]),
    of_frames("ptm", "ptm", [[55, 120, 600, 1538], [41, 106, 585, 1524]]),
];

impl Line {
    /// Returns true if links and ports have its name: if it is more than a modifier of `tc`.
    pub fn has_name(&self) -> bool {
        self.bytes.is_some() && !["no_overhead", "ether-vlan"].contains(&self.word)
    }

    /// Returns its keys beyond a packet, with `less` bytes of it in front.
    pub fn keys(&self, less: u64) -> Vec<String> {
        let bytes = self.bytes.map(|bytes| format!("overhead = \"{}B\"", bytes - less.cast_signed()));
        let mpu = (self.mpu > 0).then(|| format!("mpu = \"{}B\"", self.mpu));
        bytes.into_iter().chain(mpu).chain([format!("framing = \"{}\"", self.framing)]).collect()
    }

    /// Returns ports that state it, at their own rate or at that of a queue, for frames with `header` bytes
    /// before the packet, which take `length` on the wire.
    pub fn ports(&self, header: u64, length: u64) -> Vec<(&'static str, String)> {
        let (of_packets, of_frames) = (self.keys(0), self.keys(header).join(", "));
        // Buckets of one packet, so that the next waits for its whole time.
        let buckets = format!("burst = \"{length}B\"");
        let raw = if self.word == "raw" { ", raw = true" } else { "" };
        let fifo = "queue.q = { kind = \"fifo\" }\n";
        let mut ports = vec![
            ("port in bytes", format!("rate = \"5mbit\"\n{}\n{fifo}", of_packets.join("\n"))),
            (
                "cake",
                format!(
                    "queue.q = {{ kind = \"cake\", bandwidth = \"5mbit\", {}{raw} }}\n",
                    of_packets.join(", ")
                ),
            ),
            ("tbf", format!("queue.q = {{ kind = \"tbf\", rate = \"5mbit\", {buckets}, {of_frames} }}\n")),
            (
                "htb",
                format!(
                    "root = \"h\"\nqueue.h = {{ kind = \"htb\", children = [\"q\"] }}\n\
                     queue.q = {{ kind = \"fifo\", rate = \"5mbit\", {buckets}, c{buckets}, {of_frames} }}\n"
                ),
            ),
        ];
        if self.has_name() {
            ports.push(("port by name", format!("rate = \"5mbit\"\noverhead = \"{}\"\n{fifo}", self.word)));
        }
        ports
    }
}
