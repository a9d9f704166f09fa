//! Sender: measures the clock offset, sends on an absolute schedule, measures again, and fetches the report.

use core::net::SocketAddr;
use std::io;
use std::net::UdpSocket;

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::histogram::Histogram;
use lockgate_network::Source;

use super::message::Message;
use super::{Offset, Report, SendReport};
use crate::clock::MonotonicClock;
use crate::cpu_latency::LatencyRequest;
use crate::traffic::stamp::Stamp;

/// Clock probes, before and after.
const PROBES: u32 = 40;

/// Time after which no further clock probe is sent, if one was answered.
const LONGEST_PROBING: Duration = Duration::from_secs(2);

/// Timeout of an answer.
const ANSWER_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(500);

/// Unanswered probes after which the receiver counts as absent.
const MOST_SILENT: u32 = 6;

/// Implausible reports after which the sender gives up.
const MOST_FORGED: u32 = 16;

/// Options of a sender.
pub struct Sender {
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Traffic to send.
    pub source: Source,
    /// Longest sending time. Datagrams that are due later, or unsent by then, are not sent.
    pub lasting: Duration,
    /// DSCP and ECN bits.
    pub traffic_class: u8,
    /// Identifier of this run among the same sender's runs.
    pub session: u32,
}

struct Link {
    socket: UdpSocket,
    clock: MonotonicClock,
    session: u32,
    buffer: Vec<u8>,
}

/// Returns the smallest frame of a datagram, in bytes: Ethernet, IP and UDP headers and the stamp.
pub fn smallest_frame(is_ipv6: bool) -> usize {
    headers(is_ipv6) + Stamp::LENGTH
}

/// Returns the bytes of Ethernet, IP and UDP headers.
fn headers(is_ipv6: bool) -> usize {
    if is_ipv6 { 62 } else { 42 }
}

/// Sends until the source ends, the time is over, or `stop`, called before each datagram, returns true.
///
/// # Errors
/// If the receiver cannot be reached or does not answer.
pub fn send(mut sender: Sender, stop: &dyn Fn() -> bool) -> io::Result<SendReport> {
    let any: SocketAddr = if sender.to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(sender.to)?;
    set_class(&socket, sender.to, sender.traffic_class);
    let mut link =
        Link { socket, clock: MonotonicClock::start(), session: sender.session, buffer: vec![0; 1 << 16] };
    // Without permission for it, datagrams leave later; the report says by how much.
    let _awake = LatencyRequest::begin();
    let before = link.offset()?;
    let mut report = SendReport::default();
    link.send_all(&mut sender, stop, &mut report);
    let after = link.offset()?;
    report.offsets = [before, after];
    report.report = link.finish(&report)?;
    Ok(report)
}

#[cfg(target_os = "linux")]
fn set_class(socket: &UdpSocket, to: SocketAddr, class: u8) {
    // If refused, datagrams are sent without these bits and count all the same.
    let _ = crate::traffic::send::set_class(socket, to.ip(), class);
}

#[cfg(not(target_os = "linux"))]
fn set_class(_: &UdpSocket, _: SocketAddr, _: u8) {}

/// Measures the offset of the clock at the other end of a connected socket, which answers clock probes.
///
/// # Errors
/// If it does not answer.
#[cfg(target_os = "linux")]
pub(crate) fn measure_offset(socket: UdpSocket, clock: MonotonicClock, session: u32) -> io::Result<Offset> {
    Link { socket, clock, session, buffer: vec![0; 1 << 16] }.offset()
}

fn nanos(at: Instant) -> i64 {
    (at.as_picos() / 1_000).cast_signed()
}

impl Link {
    /// Measures the clock offset by the fastest of many exchanges.
    fn offset(&mut self) -> io::Result<Offset> {
        self.socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let mut best: Option<Offset> = None;
        let mut silent = 0;
        let until = self.clock.now() + LONGEST_PROBING;
        for _ in 0..PROBES {
            if best.is_some() && self.clock.now() > until {
                break;
            }
            match self.exchange()? {
                Some(offset) if best.is_none_or(|best| offset.error_ns < best.error_ns) => {
                    best = Some(offset);
                }
                Some(_) => {}
                None => silent += 1,
            }
            if best.is_none() && silent >= MOST_SILENT {
                break;
            }
        }
        let silence = || {
            io::Error::new(
                io::ErrorKind::TimedOut,
                "no receiver answers there, or it serves 64 senders already",
            )
        };
        best.ok_or_else(silence)
    }

    //= https://www.rfc-editor.org/rfc/rfc5905#section-8
    fn exchange(&mut self) -> io::Result<Option<Offset>> {
        let sent_ns = nanos(self.clock.now());
        self.socket.send(&Message::Probe { session: self.session, sent_ns }.to_bytes())?;
        loop {
            let length = match self.socket.recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if is_patience(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            let back_ns = nanos(self.clock.now());
            let Some(Message::Echo { session, sent_ns: asked, came_ns, answered_ns }) =
                Message::read(&self.buffer[..length])
            else {
                continue;
            };
            if session != self.session || asked != sent_ns {
                continue;
            }
            let there = came_ns.saturating_sub(sent_ns);
            let back = answered_ns.saturating_sub(back_ns);
            let took = back_ns.saturating_sub(sent_ns).saturating_sub(answered_ns.saturating_sub(came_ns));
            return Ok(Some(Offset {
                at_ns: sent_ns,
                offset_ns: i64::midpoint(there, back),
                error_ns: took.max(0) / 2,
            }));
        }
    }

    fn send_all(&mut self, sender: &mut Sender, stop: &dyn Fn() -> bool, report: &mut SendReport) {
        let headers = headers(sender.to.is_ipv6());
        let start = self.clock.now();
        let end = start + sender.lasting;
        let mut slip: Histogram = Histogram::default();
        let mut payload = vec![0; 1 << 16];
        loop {
            let next = sender.source.next();
            if next == Instant::NEVER || stop() {
                break;
            }
            let due = start + next.since(Instant::ZERO);
            let now = self.clock.now();
            if now >= end {
                report.behind = now.since(due);
                break;
            }
            if due > now {
                // Sleeps in steps, to react to `stop`.
                let nap = due.since(now).min(Duration::from_millis(100));
                std::thread::sleep(std::time::Duration::from_nanos(nap.as_picos() / 1_000));
                continue;
            }
            let header = sender.source.send(next);
            let length = (header.length as usize).saturating_sub(headers);
            report.padded += u64::from(length < Stamp::LENGTH);
            let length = length.clamp(Stamp::LENGTH, 65_000);
            // A distinct length keeps a datagram from being parsed as a message.
            let length = if length == super::message::LENGTH { length + 1 } else { length };
            let stamp = Stamp { flow: self.session, sequence: header.sequence, sent: now };
            payload[..Stamp::LENGTH].copy_from_slice(&stamp.to_bytes());
            slip.record(now.since(due).as_picos());
            match self.socket.send(&payload[..length]) {
                Ok(_) => {
                    report.sent += 1;
                    report.sent_bytes += (length + headers) as u64;
                }
                Err(_) => report.errors += 1,
            }
        }
        let quantiles = slip.quantiles([0.5, 0.99]).unwrap_or_default();
        report.slip = quantiles.map(Duration::from_picos);
    }

    /// Fetches the receiver's report on the sent datagrams.
    fn finish(&mut self, sent: &SendReport) -> io::Result<Report> {
        let mut refused = 0;
        for _ in 0..MOST_SILENT {
            let finish = Message::Finish { session: self.session, offsets: sent.offsets };
            self.socket.send(&finish.to_bytes())?;
            while refused < MOST_FORGED
                && let Ok(length) = self.socket.recv(&mut self.buffer)
            {
                if let Some(Message::Report { session, report }) = Message::read(&self.buffer[..length])
                    && session == self.session
                {
                    if report.is_plausible(sent.sent, sent.sent_bytes) {
                        return Ok(report);
                    }
                    refused += 1;
                }
            }
        }
        let why = if refused > 0 {
            "the receiver's report counts what was not sent"
        } else {
            "the receiver did not report"
        };
        Err(io::Error::new(io::ErrorKind::TimedOut, why))
    }
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
