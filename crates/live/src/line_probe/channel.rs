//! Connection between client and server: frames over TCP, read without blocking.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use lockgate_engine::units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::wire::{Frame, LONGEST_BODY};
use super::{Error, SILENCE};
use crate::clock::MonotonicClock;

/// Longest time for which the other end may not take what is written.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connection.
pub(super) struct Channel {
    stream: TcpStream,
    inbox: Vec<u8>,
    clock: MonotonicClock,
}

/// Waits until one of these can be read, or for `longest`.
pub(super) fn wait(descriptors: &[BorrowedFd<'_>], longest: Duration) {
    let mut all: Vec<PollFd<'_>> =
        descriptors.iter().map(|descriptor| PollFd::new(descriptor, PollFlags::IN)).collect();
    let nanos = (longest.as_picos() / 1_000).min(999_999_999).cast_signed();
    let _ = poll(&mut all, Some(&Timespec { tv_sec: 0, tv_nsec: nanos as _ }));
}

impl Channel {
    pub(super) fn new(stream: TcpStream, clock: MonotonicClock) -> Result<Self, Error> {
        let set = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        set.map_err(Error::refused("prepare the connection"))?;
        Ok(Self { stream, inbox: Vec::new(), clock })
    }

    /// Sends a frame.
    pub(super) fn send(&mut self, frame: &Frame) -> Result<(), Error> {
        let bytes = frame.to_bytes();
        let mut rest = &bytes[..];
        let until = self.clock.now() + PATIENCE;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(Error::Ended),
                Ok(count) => rest = &rest[count..],
                Err(error) if is_later(&error) && self.clock.now() < until => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                Err(_) => return Err(Error::Ended),
            }
        }
        Ok(())
    }

    /// Returns the next frame, if all of it is there.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Error> {
        let mut buffer = [0; 1 << 14];
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(Error::Ended),
                Ok(count) => self.inbox.extend(&buffer[..count]),
                Err(error) if is_later(&error) => return Ok(None),
                Err(_) => return Err(Error::Ended),
            }
        }
    }

    /// Takes the first frame of what was read.
    fn take(&mut self) -> Result<Option<Frame>, Error> {
        let Some(&length) = self.inbox.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(length) as usize;
        if length > LONGEST_BODY {
            return Err(Error::Ended);
        }
        let Some(body) = self.inbox.get(4..4 + length) else { return Ok(None) };
        let frame = Frame::read(body).ok_or(Error::Ended)?;
        self.inbox.drain(..4 + length);
        match frame {
            Frame::Refused(1) => Err(Error::Token),
            Frame::Refused(2) => Err(Error::Version),
            Frame::Refused(3) => Err(Error::Silence),
            Frame::Refused(4) => Err(Error::Spent),
            Frame::Refused(6) => Err(Error::Busy),
            Frame::Refused(_) => Err(Error::Ended),
            frame => Ok(Some(frame)),
        }
    }

    /// Returns the next frame that is no report, within `longest`.
    pub(super) fn wait(&mut self, longest: Duration, stop: &dyn Fn() -> bool) -> Result<Frame, Error> {
        let until = self.clock.now() + longest;
        while self.clock.now() < until {
            if stop() {
                return Err(Error::Interrupted);
            }
            match self.next()? {
                Some(Frame::Heard { .. }) => {}
                Some(frame) => return Ok(frame),
                None => wait(&[self.as_fd()], Duration::from_millis(50)),
            }
        }
        Err(Error::Silence)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Progress of a round by the receiver's reports.
pub(super) struct Progress {
    heard: u32,
    since: Instant,
}

impl Progress {
    /// Begins with a round that is sent from `now` on.
    pub(super) fn new(now: Instant) -> Self {
        Self { heard: 0, since: now }
    }

    /// Reads the reports so far.
    ///
    /// # Errors
    /// If no packet was heard of for two seconds, or the connection ended.
    pub(super) fn listen(&mut self, channel: &mut Channel, now: Instant) -> Result<(), Error> {
        while let Some(frame) = channel.next()? {
            match frame {
                Frame::Heard { count } if count > self.heard => {
                    *self = Self { heard: count, since: now };
                }
                Frame::Heard { .. } => {}
                _ => return Err(Error::Ended),
            }
        }
        if now > self.since + SILENCE { Err(Error::Silence) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (Channel, Channel) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (far, _) = listener.accept().expect("accepted");
        let open = |stream| Channel::new(stream, MonotonicClock::start()).expect("prepared");
        (open(near), open(far))
    }

    #[test]
    fn a_sender_stops_after_two_seconds_without_news() {
        let (mut near, mut far) = pair();
        let at = |millis: u64| Instant::ZERO + Duration::from_millis(millis);
        let mut progress = Progress::new(at(100));
        assert!(progress.listen(&mut near, at(2_100)).is_ok());
        far.send(&Frame::Heard { count: 5 }).expect("sent");
        wait(&[near.as_fd()], Duration::from_millis(900));
        assert!(progress.listen(&mut near, at(2_100)).is_ok());
        // The same number again is no news.
        far.send(&Frame::Heard { count: 5 }).expect("sent");
        wait(&[near.as_fd()], Duration::from_millis(900));
        assert!(progress.listen(&mut near, at(4_100)).is_ok());
        assert!(matches!(progress.listen(&mut near, at(4_101)), Err(Error::Silence)));
    }

    #[test]
    fn frames_that_arrive_in_pieces_are_read_and_endless_ones_refused() {
        let (mut near, mut far) = pair();
        let bytes = Frame::Arm { round: 1, count: 2 }.to_bytes();
        for byte in &bytes {
            far.stream.write_all(&[*byte]).expect("written");
        }
        let read = near.wait(Duration::from_secs(9), &|| false).expect("a frame");
        assert_eq!(read, Frame::Arm { round: 1, count: 2 });
        far.stream.write_all(&[0xff; 8]).expect("written");
        assert!(matches!(near.wait(Duration::from_secs(9), &|| false), Err(Error::Ended)));
    }
}
