//! Anonymous network namespace: it lives as long as its file descriptor.

mod remote;

use core::ffi::CStr;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
};

use crate::error::Refusal;

pub use remote::RemoteNamespace;

/// File of the calling thread's network namespace.
const OWN: &CStr = c"/proc/thread-self/ns/net";

/// Network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Creates an empty namespace; its loopback interface is down.
    ///
    /// # Errors
    /// If the kernel does not permit it.
    pub fn new() -> Result<Self, Refusal> {
        // On a thread of its own, because the caller must keep its namespace.
        on_thread(|| {
            unshare(UnshareFlags::NEWNET).map_err(|error| refused("make a network namespace", error))?;
            let opened = rustix::fs::open(OWN, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
            opened.map(Self).map_err(|error| refused("open a network namespace (is /proc mounted?)", error))
        })
    }

    /// Opens the namespace that `ip netns` knows by `name`, or the one at the path `name`, such as
    /// `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// If there is none, or this process may not open it.
    pub fn open(name: &str) -> Result<Self, Refusal> {
        let path = if name.contains('/') { name.to_owned() } else { format!("/run/netns/{name}") };
        let opened = File::open(path).map(|file| Self(file.into()));
        opened.map_err(|error| Refusal::new(format!("open the network namespace `{name}`"), error))
    }

    /// Moves the calling thread into it, permanently.
    ///
    /// # Errors
    /// If the kernel does not permit it.
    pub fn enter(&self) -> Result<(), Refusal> {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| refused("enter a network namespace", error))
    }

    /// Runs `work` on a thread inside it.
    ///
    /// # Errors
    /// If the kernel does not permit entering it.
    pub fn inside<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, Refusal> {
        on_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// Netlink socket for links, addresses and routes.
    Netlink,
    /// `AF_XDP` socket.
    AfXdp,
    /// Packet socket; its calls do not block.
    Packet,
    /// Packet socket for packets without a link header; its calls do not block.
    PacketWithoutHeader,
}

impl SocketKind {
    /// Opens a socket in the calling thread's namespace.
    pub(crate) fn open(self) -> rustix::io::Result<OwnedFd> {
        let (family, kind, flags) = match self {
            Self::Netlink => (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::empty()),
            Self::AfXdp => (AddressFamily::XDP, SocketType::RAW, SocketFlags::empty()),
            Self::Packet => (AddressFamily::PACKET, SocketType::RAW, SocketFlags::NONBLOCK),
            Self::PacketWithoutHeader => (AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::NONBLOCK),
        };
        socket_with(family, kind, flags | SocketFlags::CLOEXEC, None)
    }
}

/// Returns the namespaces that `ip netns` has named, except those that this process may not open.
pub fn named_namespaces() -> Vec<(String, Namespace)> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let open = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        Some((name, Namespace(File::open(entry.path()).ok()?.into())))
    };
    entries.filter_map(open).collect()
}

fn on_thread<R: Send>(work: impl FnOnce() -> Result<R, Refusal> + Send) -> Result<R, Refusal> {
    let thread = std::thread::scope(|scope| scope.spawn(work).join());
    thread.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn refused(what: &str, error: rustix::io::Errno) -> Refusal {
    Refusal::new(what, error)
}

#[allow(unsafe_code, reason = "rustix marks it so because sharing of file descriptors may end by it")]
fn unshare(what: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: none of the flags used here (NEWNET, NEWUSER, NEWNS, NEWPID) includes FILES, so the table of
    // file descriptors stays shared between all threads.
    unsafe { rustix::thread::unshare_unsafe(what) }
}

/// Moves the calling thread into a new mount namespace, and its later children into a new process namespace.
///
/// # Errors
/// If the kernel does not permit it.
pub fn unshare_mounts_and_processes() -> rustix::io::Result<()> {
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWPID)
}

/// True if this process may make network namespaces without entering a user namespace. Starts no thread.
pub fn may_make_namespaces() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Moves this process into a new user namespace with root's rights there, so that an ordinary user may make
/// network namespaces. File access still happens as that user. Must be called before any thread is started.
///
/// # Errors
/// If the kernel does not permit it, or other threads run.
pub fn enter_user_namespace() -> Result<(), Refusal> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER).map_err(|error| refused("make a user namespace", error))?;
    let write = |file: &str, text: String| {
        fs::write(file, text).map_err(|error| Refusal::new("set up a user namespace", error))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))
}
