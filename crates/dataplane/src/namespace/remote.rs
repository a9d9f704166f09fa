//! Network namespace that is reached by its sockets alone: no thread of this process enters it.
//!
//! ```text
//! RemoteNamespace::new --clone--> child in a new network namespace: opens the sockets, then ends
//!          ^---------- descriptors, which both share -----------'
//! ```
//!
//! Entering a network namespace requires `CAP_SYS_ADMIN`, but a socket stays in the namespace in which it was
//! opened. Without that capability, a new user namespace owns the network namespace: anyone may make one, and
//! the capabilities of this process extend to it (`capabilities(7)`, decision 117).
#![allow(unsafe_code, reason = "clone(2)")]

use core::ptr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Namespace, OWN, SocketKind, may_make_namespaces};
use crate::error::Refusal;
use crate::netlink::Netlink;

/// Stack of the child, in words of 16 bytes: 64 KiB.
const STACK: usize = 4_096;

/// New network namespace without a name, with a fixed number of sockets.
#[derive(Debug)]
pub struct RemoteNamespace {
    namespace: Namespace,
    netlink: Arc<Mutex<Netlink>>,
    /// Unused sockets, or the error of opening each.
    unused: Mutex<Vec<(SocketKind, rustix::io::Result<OwnedFd>)>>,
}

impl RemoteNamespace {
    /// Creates a namespace with an `AF_XDP` socket and three packet sockets for each of `interfaces`
    /// interfaces.
    ///
    /// # Errors
    /// If the kernel permits neither a network namespace (`CAP_SYS_ADMIN`) nor a user namespace.
    pub fn new(interfaces: usize) -> Result<Self, Refusal> {
        let kinds = (0..interfaces).flat_map(|_| {
            // To receive by, and to send single frames and super-frames by.
            [SocketKind::AfXdp, SocketKind::Packet, SocketKind::Packet, SocketKind::Packet]
        });
        let mut unused: Vec<_> = kinds.map(|kind| (kind, Err(Errno::BADF))).collect();
        let opened = in_new_namespace(|| {
            for (kind, socket) in &mut unused {
                *socket = kind.open();
            }
            let namespace = rustix::fs::open(OWN, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            Ok((namespace, SocketKind::Netlink.open()?))
        });
        let (namespace, netlink) = opened.flatten().map_err(refused)?;
        // Some hosts permit user namespaces, and deny the capabilities in them.
        let errors = unused.iter().filter_map(|(_, socket)| socket.as_ref().err());
        if let Some(denied) = errors.copied().find(|error| [Errno::PERM, Errno::ACCESS].contains(error)) {
            return Err(refused(denied));
        }
        Ok(Self {
            namespace: Namespace(namespace),
            netlink: Arc::new(Mutex::new(Netlink::by(netlink)?)),
            unused: Mutex::new(unused),
        })
    }

    /// Returns the namespace as an object that interfaces can be put into.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Returns its netlink socket, locked.
    pub fn netlink(&self) -> MutexGuard<'_, Netlink> {
        self.netlink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns its netlink socket, to be kept.
    pub(crate) fn shared_netlink(&self) -> Arc<Mutex<Netlink>> {
        self.netlink.clone()
    }

    /// Takes a socket of this kind.
    ///
    /// # Errors
    /// If the kernel refused it, or all are in use.
    pub(crate) fn take_socket(&self, kind: SocketKind) -> rustix::io::Result<OwnedFd> {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let index = unused.iter().position(|(it, _)| *it == kind).ok_or(Errno::MFILE)?;
        unused.swap_remove(index).1
    }
}

fn refused(error: Errno) -> Refusal {
    let what = if may_make_namespaces() {
        "make a network namespace"
    } else {
        "make a network namespace by a user namespace (allow user namespaces, or add CAP_SYS_ADMIN)"
    };
    Refusal::new(what, error)
}

/// Call of a function in a child process.
struct Call<F, R> {
    work: Option<F>,
    result: Option<R>,
}

impl<F: FnOnce() -> R, R> Call<F, R> {
    extern "C" fn run(call: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `call` is the `Call<F, R>` of `in_new_namespace`, whose thread is suspended: nothing else
        // refers to it.
        let call = unsafe { &mut *call.cast::<Self>() };
        call.result = call.work.take().map(|work| work());
        0
    }
}

/// Runs `work` in a new network namespace: in a child process that shares the memory and the descriptors of
/// this one, and ends with `work`. The calling thread is suspended until then. `work` must only make system
/// calls: it must not block, allocate or panic.
fn in_new_namespace<F: FnOnce() -> R, R>(work: F) -> rustix::io::Result<R> {
    let owner = if may_make_namespaces() { 0 } else { libc::CLONE_NEWUSER };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_NEWNET | owner;
    let mut call = Call { work: Some(work), result: None };
    let mut stack = vec![0_u128; STACK];
    let top = stack.as_mut_ptr_range().end;
    let signals = BlockedSignals::new();
    // SAFETY: `call` and the stack outlive the child: CLONE_VFORK suspends this thread until it has ended.
    // Both have the same thread-local data, which only one of them uses at a time. No signal handler runs in
    // the child, because all signals are blocked.
    let child = unsafe { libc::clone(Call::<F, R>::run, top.cast(), flags, (&raw mut call).cast()) };
    let made = if child < 0 { Err(last_error()) } else { Ok(()) };
    drop(signals);
    made?;
    // SAFETY: the child is this process's own; no status is written.
    while unsafe { libc::waitpid(child, ptr::null_mut(), libc::__WALL) } < 0 && last_error() == Errno::INTR {}
    call.result.ok_or(Errno::CHILD)
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// All signals of the calling thread, blocked until dropped.
struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn new() -> Self {
        // SAFETY: a set is plain data, for which zero is a value. All pointers are to sets that live here.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = core::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self { before }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set was filled in by `new`; the former one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}
