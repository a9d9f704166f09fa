//! Redirection of an interface's frames to another interface, on their way in or out (tcx programs).
//!
//! ```text
//! Redirection::outgoing(eth0 -> lg0)     the kernel's frames for eth0 leave by lg0 instead
//! Redirection::incoming(eth0 -> lg0)     frames that arrive at eth0 leave by lg0 instead
//! Redirection::reinsert(lg0 -> eth0)     frames that arrive at lg0 arrive at eth0, past `incoming`
//! Redirection::bridged(eth0 -> lg0)      frames that arrive at eth0, a bridge's port, leave by lg0 instead; those for
//!                                        the host itself or for other ports pass, and those for a group do both
//! Redirection::of_host(eth1, from eth0)  frames that the bridge sends by eth1: the host's own pass, or leave by lg0;
//!                                        those that it forwards leave by lg0; those that lg0 has a copy of end here
//! ```
//!
//! Frames of an interface without a link header (tun, `WireGuard`, PPP) get one for Ethernet on their way to
//! `lg0`: addresses of zeros, and their protocol. The kernel takes it away again where `reinsert` puts them
//! back.
//!
//! Each is a program attached by a BPF link: if it is dropped, or the process has ended, frames take the
//! kernel's own way again. All but `reinsert` redirect frames only while a [`Lease`] is held. They are
//! attached before the programs of others. Programs at an interface's egress do not see frames that a packet
//! socket sends past the kernel's queues.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::bpf::{self, AttachType, NAME, ProgramType, TCX_FIRST, XDP_DRIVER_MODE, instruction, skip};
use crate::error::Refusal;
use crate::lease::{Context, Counter, HAS_EARLIER, HAS_OTHER_PORTS, Lease, count};
use crate::netlink::{LinkHeader, index_of};

/// Mark of a frame that [`Redirection::reinsert`] has put back, so that [`Redirection::incoming`] lets it
/// pass. It is cleared there.
const REINSERTED: i32 = 0x4c67_0001;

/// Index (`tc_index`) of a frame that [`Redirection::bridged`] has both redirected and passed, so that
/// [`Redirection::of_host`] ends it.
const COPIED: i32 = 0x4c67;

/// Type of a frame (`PACKET_LOOPBACK`): the host hears what it has sent to a group itself. It has no link
/// header to be redirected by, and has not arrived.
const HEARD: i32 = 5;

/// Offsets in `struct __sk_buff`: the type, the mark, the protocol, the interface of arrival, the index of
/// traffic control, the frame's bytes and their end.
const TYPE: i16 = 4;
const MARK: i16 = 8;
const PROTOCOL: i16 = 16;
const ARRIVED_AT: i16 = 36;
const TC_INDEX: i16 = 44;
const DATA: i16 = 76;
const DATA_END: i16 = 80;

/// Numbers of the helper functions `bpf_skb_store_bytes`, `bpf_clone_redirect`, `bpf_redirect` and
/// `bpf_skb_change_head`, and the flag of `bpf_redirect` for the ingress path (`BPF_F_INGRESS`).
const STORE_BYTES: i32 = 9;
const CLONE_REDIRECT: i32 = 13;
const REDIRECT: i32 = 23;
const CHANGE_HEAD: i32 = 43;
const INGRESS: i32 = 1;

/// Name of the programs that stand for those of others, in tests.
const OTHER: [u8; 16] = *b"other\0\0\0\0\0\0\0\0\0\0\0";

/// Flag of an attachment: behind all other programs.
const LAST: u32 = 0;

/// Bytes of an Ethernet header, which ends with the protocol.
const ETHERNET_HEADER: i32 = 14;

/// Results of a program: it leaves the frame to the next program, or to the kernel; it ends the frame.
const NEXT: i32 = -1;
const END: i32 = 2;

/// First four bytes of the link-local group addresses 01-80-C2-00-00-0X.
const LINK_LOCAL: [u8; 4] = [0x01, 0x80, 0xc2, 0x00];

/// Attached redirection; detached on drop.
#[derive(Debug)]
pub struct Redirection {
    /// Only held: the kernel detaches the program when the last descriptor closes.
    _link: OwnedFd,
    interface: u32,
    attach_type: AttachType,
    /// Identifier of the program; `None` if the kernel does not tell.
    program: Option<u32>,
}

/// Frames of a host that leave by a port of its bridge by this interface instead: none, those that it
/// forwards for others (as a router, or from another port), or all.
#[derive(Clone, Copy, Debug)]
pub enum HostFrames<'a> {
    /// All pass.
    None,
    /// Its own pass.
    Forwarded(&'a str),
    /// All leave by it.
    All(&'a str),
}

/// Program of others at an interface's tcx hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignProgram {
    /// Identifier, as `bpftool prog` shows it.
    pub id: u32,
    /// Name; empty if the kernel does not tell it (`CAP_SYS_ADMIN`).
    pub name: String,
}

impl Redirection {
    /// Redirects the frames that the kernel sends by interface `from`, which have this header, while `lease`
    /// is held: they leave by `to`. Both are of this thread's namespace.
    ///
    /// # Errors
    /// Fails if an interface does not exist, the kernel has no tcx (before 6.6), or does not permit it.
    pub fn outgoing(from: &str, header: LinkHeader, to: &str, lease: &Lease) -> Result<Self, Refusal> {
        let check = lease.check(NEXT, Context::Packet);
        Self::attach(from, AttachType::TcxEgress, &[&check[..], &taken(header, index_of(to)?)].concat())
    }

    /// Redirects the frames that arrive at interface `from`, which have this header, while `lease` is held:
    /// they leave by `to`, except those that [`reinsert`](Self::reinsert) has put back, and those that
    /// the host has sent itself and hears.
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    pub fn incoming(from: &str, header: LinkHeader, to: &str, lease: &Lease) -> Result<Self, Refusal> {
        let passing = [
            instruction(0x61, 2, 1, TYPE, 0),       // 0: r2 = frame.pkt_type
            instruction(0x15, 2, 0, 4, HEARD),      // 1: if r2 == HEARD goto 6
            instruction(0x61, 2, 1, MARK, 0),       // 2: r2 = frame.mark
            instruction(0x55, 2, 0, 4, REINSERTED), // 3: if r2 != REINSERTED goto 8
            instruction(0xb7, 2, 0, 0, 0),          // 4: r2 = 0
            instruction(0x63, 1, 2, MARK, 0),       // 5: frame.mark = r2
            instruction(0xb7, 0, 0, 0, NEXT),       // 6: r0 = NEXT
            instruction(0x95, 0, 0, 0, 0),          // 7: return r0
        ];
        let check = lease.check(NEXT, Context::Packet);
        let program = [&passing[..], &check, &taken(header, index_of(to)?)].concat();
        Self::attach(from, AttachType::TcxIngress, &program)
    }

    /// Puts back the frames that arrive at interface `from`: they arrive again at `to`, behind the driver.
    /// `is_last` is true if no [`incoming`](Self::incoming) program is attached at `to`: the frames then need
    /// no mark.
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    pub fn reinsert(from: &str, to: &str, is_last: bool) -> Result<Self, Refusal> {
        let [index, flags, call, end] = redirect(index_of(to)?, INGRESS);
        let mark = if is_last { 0 } else { REINSERTED };
        let program = [
            instruction(0xb7, 2, 0, 0, mark), // 0: r2 = mark
            instruction(0x63, 1, 2, MARK, 0), // 1: frame.mark = r2
            index,                            // 2
            flags,
            call,
            end,
        ];
        Self::attach(from, AttachType::TcxIngress, &program)
    }

    /// Redirects the frames that arrive at interface `from`, a port of a bridge, while `lease` is held: they
    /// leave by `to`. Those for an address of the lease pass. Those for a group leave by `to` and pass,
    /// except link-local groups, which belong to the cable alone. So do those *of* an address that the lease
    /// has behind another port: it has moved, and the bridge learns so.
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    pub fn bridged(from: &str, to: &str, lease: &Lease) -> Result<Self, Refusal> {
        let to = index_of(to)?;
        let check = lease.check(NEXT, Context::Packet);
        let program = [&check[..], &by_destination(to, lease)].concat();
        Self::attach(from, AttachType::TcxIngress, &program)
    }

    /// Handles the frames that a bridge sends by its port `at` while `lease`, that of the frames that arrive
    /// at its port `other`, is held: those that arrived there end if [`bridged`](Self::bridged) has
    /// redirected them too, or the host has them, and the others are handled as `frames` says.
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    pub fn of_host(at: &str, other: &str, frames: HostFrames<'_>, lease: &Lease) -> Result<Self, Refusal> {
        // A frame for a group that has no mark has a copy all the same, unless it came around the program
        // there: programs behind may overwrite the mark. A frame for the host ends, which has it: the bridge
        // floods it, because it does not know an interface above it. Others came before the lease was held.
        let own = lease.if_address(7, 2);
        let groups = [
            instruction(0x15, 9, 0, 3, 0),                   // if r9 == 0 goto own
            instruction(0x79, 5, 1, HAS_EARLIER, 0),         // r5 = terms.has_earlier
            instruction(0x15, 5, 0, skip(own.len() + 3), 0), // if r5 == 0 goto end
            instruction(0x05, 0, 0, skip(own.len()), 0),     // goto next
        ];
        let next = [
            instruction(0xb7, 0, 0, 0, NEXT), // next: r0 = NEXT
            instruction(0x95, 0, 0, 0, 0),    // return r0
        ];
        let address = read_addresses(groups.len() + own.len()); // too short: goto next
        let rest = [&address[..], &groups, &own, &next].concat();
        let arrived = [
            &[
                instruction(0x61, 5, 6, TC_INDEX, 0),              // r5 = frame.tc_index
                instruction(0x15, 5, 0, skip(rest.len()), COPIED), // if r5 == COPIED goto end
            ],
            &rest[..],
            &[
                instruction(0xb7, 0, 0, 0, END), // end: r0 = END
                instruction(0x95, 0, 0, 0, 0),   // return r0
            ],
        ]
        .concat();
        let other = index_of(other)?.cast_signed();
        let ends = [
            instruction(0x61, 4, 6, ARRIVED_AT, 0), // r4 = frame.ingress_ifindex
            instruction(0x55, 4, 0, skip(arrived.len()), other), // if r4 != other skip
        ];
        let ends = [&ends[..], &arrived].concat();
        let own = pass(Counter::OwnSent);
        let redirected = |to| Ok(counted_redirect(index_of(to)?, Counter::OwnRedirected));
        let own = match frames {
            HostFrames::None => own.to_vec(),
            HostFrames::All(to) => redirected(to)?.to_vec(),
            // What has arrived anywhere is not the host's own.
            HostFrames::Forwarded(to) => {
                let is_own = instruction(0x55, 4, 0, skip(own.len()), 0); // if r4 != 0 skip
                [&[is_own][..], &own, &redirected(to)?].concat()
            }
        };
        let check = lease.check_uncounted(NEXT, Context::Packet);
        Self::attach(at, AttachType::TcxEgress, &[&check[..], &ends, &own].concat())
    }

    /// Ends the way of the frames that arrive at an interface, or leave by it, through its programs: they
    /// pass, and the programs behind see none (`TCX_PASS`). For tests of what programs of others do.
    #[doc(hidden)]
    pub fn hide(at: &str, is_leaving: bool) -> Result<Self, Refusal> {
        let attach_type = if is_leaving { AttachType::TcxEgress } else { AttachType::TcxIngress };
        let program = [instruction(0xb7, 0, 0, 0, 0), instruction(0x95, 0, 0, 0, 0)];
        Self::attach_as(at, attach_type, ProgramType::Classifier, &program, TCX_FIRST, OTHER)
    }

    /// Attaches a program behind those at an interface, which lets each frame pass (`TCX_PASS`) and so clears
    /// its mark. For tests, as [`hide`](Self::hide).
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    #[doc(hidden)]
    pub fn follow(at: &str, is_leaving: bool) -> Result<Self, Refusal> {
        let attach_type = if is_leaving { AttachType::TcxEgress } else { AttachType::TcxIngress };
        let program = [instruction(0xb7, 0, 0, 0, 0), instruction(0x95, 0, 0, 0, 0)];
        Self::attach_as(at, attach_type, ProgramType::Classifier, &program, LAST, OTHER)
    }

    /// Attaches a program to the driver of an interface, which lets each frame pass (`XDP_PASS`). For tests,
    /// as [`hide`](Self::hide).
    ///
    /// # Errors
    /// As for [`outgoing`](Self::outgoing).
    #[doc(hidden)]
    pub fn pass_in_driver(at: &str) -> Result<Self, Refusal> {
        const XDP_PASS: i32 = 2;
        let program = [instruction(0xb7, 0, 0, 0, XDP_PASS), instruction(0x95, 0, 0, 0, 0)];
        Self::attach_as(at, AttachType::Xdp, ProgramType::Xdp, &program, XDP_DRIVER_MODE, OTHER)
    }

    fn attach(interface: &str, attach_type: AttachType, program: &[u64]) -> Result<Self, Refusal> {
        Self::attach_as(interface, attach_type, ProgramType::Classifier, program, TCX_FIRST, NAME)
    }

    fn attach_as(
        interface: &str,
        attach_type: AttachType,
        kind: ProgramType,
        program: &[u64],
        flags: u32,
        name: [u8; 16],
    ) -> Result<Self, Refusal> {
        let index = index_of(interface)?;
        let refused = |what: &str| {
            let what = format!("{what} `{interface}` (CAP_BPF and CAP_NET_ADMIN, Linux 6.6)");
            move |error| Refusal::new(what, error)
        };
        let program = bpf::load(name, kind, program).map_err(refused("load a program for"))?;
        let link = bpf::attach(program.as_fd(), index, attach_type, flags)
            .map_err(refused("attach a program to interface"))?;
        let program = bpf::program_id(program.as_fd()).ok();
        Ok(Self { _link: link, interface: index, attach_type, program })
    }

    /// Returns the index of the interface that it is attached to.
    pub fn interface(&self) -> u32 {
        self.interface
    }

    /// Returns the programs of others that have the frames before this one; none if the kernel does not list
    /// them.
    pub fn programs_before(&self) -> Vec<ForeignProgram> {
        let all = bpf::programs(self.interface, self.attach_type).unwrap_or_default();
        let own = self.program.and_then(|program| all.iter().position(|id| *id == program));
        own.map_or_else(Vec::new, |own| foreign(&all[..own]))
    }

    /// Returns the programs of others that have the frames after this one; none if the kernel does not list
    /// them.
    pub fn programs_behind(&self) -> Vec<ForeignProgram> {
        let all = bpf::programs(self.interface, self.attach_type).unwrap_or_default();
        let own = self.program.and_then(|program| all.iter().position(|id| *id == program));
        own.map_or_else(Vec::new, |own| foreign(&all[own + 1..]))
    }
}

/// Returns the programs at the tcx hooks of an interface of this thread's namespace, in their order: of
/// arriving frames, and of leaving ones.
///
/// # Errors
/// If the kernel has no tcx (before 6.6), or does not permit it (`CAP_NET_ADMIN`).
pub fn programs_at(interface: u32) -> io::Result<[Vec<ForeignProgram>; 2]> {
    let of = |attach_type| bpf::programs(interface, attach_type).map(|ids| foreign(&ids));
    Ok([of(AttachType::TcxIngress)?, of(AttachType::TcxEgress)?])
}

fn foreign(ids: &[u32]) -> Vec<ForeignProgram> {
    ids.iter().map(|&id| ForeignProgram { id, name: bpf::program_name(id).unwrap_or_default() }).collect()
}

/// Returns the end of a program that counts a frame and lets it pass.
fn pass(counter: Counter) -> [u64; 3] {
    [
        count(counter),
        instruction(0xb7, 0, 0, 0, NEXT), // r0 = NEXT
        instruction(0x95, 0, 0, 0, 0),    // return r0
    ]
}

/// Returns the end of a program that counts a frame with this header and redirects it, as an Ethernet frame.
fn taken(header: LinkHeader, to: u32) -> Vec<u64> {
    if header != LinkHeader::Absent {
        return counted_redirect(to, Counter::Redirected).to_vec();
    }
    let [index, flags, call, end] = redirect(to, 0);
    vec![
        count(Counter::Redirected),
        instruction(0xbf, 1, 6, 0, 0),                   // r1 = frame
        instruction(0xb7, 2, 0, 0, ETHERNET_HEADER),     // r2 = room
        instruction(0xb7, 3, 0, 0, 0),                   // r3 = 0
        instruction(0x85, 0, 0, 0, CHANGE_HEAD),         // r0 = bpf_skb_change_head(r1, r2, r3)
        instruction(0x15, 0, 0, 2, 0),                   // if r0 == 0 skip
        instruction(0xb7, 0, 0, 0, END),                 // r0 = END: no memory
        instruction(0x95, 0, 0, 0, 0),                   // return r0
        instruction(0x61, 2, 6, PROTOCOL, 0),            // r2 = frame.protocol
        instruction(0x6b, 10, 2, -2, 0),                 // [r10 - 2] = r2
        instruction(0xbf, 1, 6, 0, 0),                   // r1 = frame
        instruction(0xb7, 2, 0, 0, ETHERNET_HEADER - 2), // r2 = offset
        instruction(0xbf, 3, 10, 0, 0),                  // r3 = r10
        instruction(0x07, 3, 0, 0, -2),                  // r3 -= 2
        instruction(0xb7, 4, 0, 0, 2),                   // r4 = length
        instruction(0xb7, 5, 0, 0, 0),                   // r5 = 0
        instruction(0x85, 0, 0, 0, STORE_BYTES),         // bpf_skb_store_bytes(...)
        index,
        flags,
        call,
        end,
    ]
}

/// Returns the end of a program that counts a frame and redirects it.
fn counted_redirect(interface: u32, counter: Counter) -> [u64; 5] {
    let [index, flags, call, end] = redirect(interface, 0);
    [count(counter), index, flags, call, end]
}

/// Returns the end of a program: `return bpf_redirect(interface, flags)`.
fn redirect(interface: u32, flags: i32) -> [u64; 4] {
    [
        instruction(0xb7, 1, 0, 0, interface.cast_signed()), // r1 = interface
        instruction(0xb7, 2, 0, 0, flags),                   // r2 = flags
        instruction(0x85, 0, 0, 0, REDIRECT),                // r0 = bpf_redirect(r1, r2)
        instruction(0x95, 0, 0, 0, 0),                       // return r0
    ]
}

/// Returns the end of a program that redirects a frame to an interface, lets it pass, or does both, by its
/// addresses.
fn by_destination(to: u32, lease: &Lease) -> Vec<u64> {
    let redirected = counted_redirect(to, Counter::Redirected);
    let own = pass(Counter::OwnReceived);
    let both = [
        count(Counter::Redirected),
        instruction(0xbf, 1, 6, 0, 0),                // r1 = frame
        instruction(0xb7, 2, 0, 0, to.cast_signed()), // r2 = interface
        instruction(0xb7, 3, 0, 0, 0),                // r3 = 0
        instruction(0x85, 0, 0, 0, CLONE_REDIRECT),   // bpf_clone_redirect(r1, r2, r3)
        instruction(0xb7, 2, 0, 0, COPIED),           // r2 = COPIED
        instruction(0x63, 6, 2, TC_INDEX, 0),         // frame.tc_index = r2
        instruction(0xb7, 0, 0, 0, NEXT),             // r0 = NEXT
        instruction(0x95, 0, 0, 0, 0),                // return r0
    ];
    // From here on the ends follow: `own`, `both`, `redirected`.
    let to_redirected = |left: usize| skip(left + own.len() + both.len());
    let moved = lease.if_address(8, 1 + own.len());
    let moved = [
        &[
            instruction(0x79, 5, 1, HAS_OTHER_PORTS, 0), // r5 = terms.has_other_ports
            instruction(0x15, 5, 0, to_redirected(moved.len() + 1), 0), // if r5 == 0 goto redirected
        ],
        &moved[..], // if the sender is behind another port goto both
        &[instruction(0x05, 0, 0, to_redirected(0), 0)], // goto redirected
    ]
    .concat();
    let link_local = i32::from_ne_bytes(LINK_LOCAL);
    let groups = [
        instruction(0x15, 9, 0, 2, 0), // if r9 == 0 skip
        // If r7 (32 bits) == LINK_LOCAL goto redirected, else goto both.
        instruction(0x16, 7, 0, to_redirected(1 + moved.len()), link_local),
        instruction(0x05, 0, 0, skip(moved.len() + own.len()), 0),
    ];
    let addresses = lease.if_address(7, groups.len() + moved.len()); // goto own
    let rest = [&addresses[..], &groups, &moved, &own, &both].concat();
    [&read_addresses(rest.len())[..], &rest, &redirected].concat()
}

/// Returns instructions that read the destination of a frame into register 7 and its source into 8, as the
/// lease has addresses, and into 9 whether the destination is a group. They skip as many more instructions if
/// the frame is too short.
fn read_addresses(skipped: usize) -> Vec<u64> {
    // Register 3 has the frame's bytes, 4 their end.
    let short = [
        instruction(0x61, 3, 6, DATA, 0),     // r3 = frame.data
        instruction(0x61, 4, 6, DATA_END, 0), // r4 = frame.data_end
        instruction(0xbf, 5, 3, 0, 0),        // r5 = r3
        instruction(0x07, 5, 0, 0, 12),       // r5 += 12
    ];
    let read = [
        instruction(0x61, 7, 3, 0, 0),  // r7 = first four bytes
        instruction(0x69, 5, 3, 4, 0),  // r5 = the next two
        instruction(0x67, 5, 0, 0, 32), // r5 <<= 32
        instruction(0x4f, 7, 5, 0, 0),  // r7 |= r5
        instruction(0x61, 8, 3, 6, 0),  // r8 = four bytes of the source
        instruction(0x69, 5, 3, 10, 0), // r5 = the next two
        instruction(0x67, 5, 0, 0, 32), // r5 <<= 32
        instruction(0x4f, 8, 5, 0, 0),  // r8 |= r5
        instruction(0x71, 9, 3, 0, 0),  // r9 = first byte
        instruction(0x57, 9, 0, 0, 1),  // r9 &= 1: a group
    ];
    let if_short = instruction(0x2d, 5, 4, skip(read.len() + skipped), 0); // if r5 > r4 skip
    [&short[..], &[if_short], &read].concat()
}
