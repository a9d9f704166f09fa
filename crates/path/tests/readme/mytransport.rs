use lockgate_path::{Dscp, Duration, Ecn, Instant, Path, Summary};

/// The transport under test: a window of packets that grows, and is halved by a mark or a loss.
struct Sender {
    window: f64,
    threshold: f64,
    sent: u32,
    acknowledged: u32,
    /// The window is not cut twice for one round trip.
    cut_until: u32,
    backs_off: bool,
    answers_marks: bool,
}

impl Sender {
    fn may_send(&self) -> bool {
        f64::from(self.sent - self.acknowledged) < self.window
    }

    /// Each acknowledgement has the number of the packet that arrived, and whether it was marked.
    fn on_acknowledgement(&mut self, number: u32, marked: bool) {
        let is_lost = number > self.acknowledged;
        self.acknowledged = number + 1;
        let congested = self.backs_off && (is_lost || (marked && self.answers_marks));
        if congested && number >= self.cut_until {
            self.window = (self.window / 2.0).max(2.0);
            self.threshold = self.window;
            self.cut_until = self.sent;
        } else if !congested {
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        }
    }
}

/// Runs the transport for ten seconds.
fn run(backs_off: bool, answers_marks: bool) -> Summary {
    let mut path =
        Path::between("client", "server").rate("10mbit").delay("20ms").queue("fq_codel").build().unwrap();
    let [client, server] = path.ends();
    let mut sender = Sender {
        window: 10.0,
        threshold: f64::MAX,
        sent: 0,
        acknowledged: 0,
        cut_until: 0,
        backs_off,
        answers_marks,
    };
    let (mut now, end) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(10));
    loop {
        while sender.may_send() {
            let mut packet = [0; 1200];
            packet[..4].copy_from_slice(&sender.sent.to_be_bytes());
            path.send(now, client, &packet, Ecn::Ect0, Dscp::DEFAULT).unwrap();
            sender.sent += 1;
        }
        // The next arrival at either end. A transport with timers passes its next timer instead of `end`.
        let Some(arrived) = path.receive(end).unwrap() else { break };
        now = arrived.at;
        let number = u32::from_be_bytes(arrived.bytes[..4].try_into().unwrap());
        if arrived.end == server {
            let mut answer = number.to_be_bytes().to_vec();
            answer.push(arrived.ecn.is_marked().into());
            path.send(now, server, answer, Ecn::NotCapable, Dscp::DEFAULT).unwrap();
        } else {
            sender.on_acknowledgement(number, arrived.bytes[4] == 1);
        }
    }
    path.finish().unwrap().summary().unwrap()
}

/// Half of the packets wait less than 15 ms, and hardly any is lost, while the line is in use.
fn judge(summary: &Summary) -> Result<(), String> {
    let flow = &summary.flows["client-server"];
    let rate = flow.throughput_bps.unwrap_or(0.0);
    let waits = flow.queueing_s.p50.unwrap_or(0.0);
    let loss = flow.loss_ratio.unwrap_or(0.0);
    if rate > 8e6 && waits < 0.015 && loss < 0.001 {
        return Ok(());
    }
    Err(format!(
        "{:.1} Mbit/s, half wait more than {:.0} ms, {:.2} % lost",
        rate / 1e6,
        waits * 1e3,
        loss * 100.0
    ))
}

#[test]
fn the_transport_keeps_its_queue_short() {
    judge(&run(true, true)).unwrap();
}

#[test]
fn a_transport_that_ignores_marks_is_caught() {
    judge(&run(true, false)).unwrap_err();
}

#[test]
fn a_transport_that_never_backs_off_is_caught() {
    judge(&run(false, true)).unwrap_err();
}
