//! Tunnel interface whose packets this process has (tun), for tests: an interface without a link header.
#![allow(unsafe_code, reason = "ioctl(2)")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::error::Refusal;

/// Open tunnel interface; deleted on drop.
#[derive(Debug)]
pub struct Tun(File);

impl Tun {
    /// Makes the interface called `name` in the calling thread's namespace.
    ///
    /// # Errors
    /// If the kernel has no tunnels, or does not permit it (`CAP_NET_ADMIN`).
    pub fn open(name: &str) -> Result<Self, Refusal> {
        let refused = |error| Refusal::new(format!("make the tunnel `{name}` (CAP_NET_ADMIN)"), error);
        let file = File::options().read(true).write(true).open("/dev/net/tun").map_err(refused)?;
        // SAFETY: `ifreq` is plain data of integers and a pointer, for which zero is a value.
        let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
            *to = from.cast_signed();
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: `request` is a whole `ifreq` whose name ends in a zero byte; the kernel reads it and writes
        // the name.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        if done < 0 { Err(refused(io::Error::last_os_error())) } else { Ok(Self(file)) }
    }

    /// Returns the next packet that the kernel sends by the interface; `None` if none comes within 50 ms.
    ///
    /// # Errors
    /// If the interface is down or gone.
    pub fn receive(&self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        if poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&PATIENCE))? == 0 {
            return Ok(None);
        }
        (&self.0).read(packet).map(Some)
    }

    /// Lets a packet arrive at it.
    ///
    /// # Errors
    /// If the interface is down, or the packet is not of IP.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.0).write_all(packet)
    }
}
