//! Line of IP packets between the hosts within a VLAN and `PPPoE`: this machine's kernel may have neither, so
//! threads write and remove the headers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::socket::SocketChoice;
use lockgate_dataplane::tun::Tun;
use lockgate_engine::units::Duration;

use crate::common::{Network, skip};

/// Names of the tunnels' ends at the hosts.
pub(crate) const ENDS: [&str; 2] = ["ppp0", "ppp1"];

/// VLAN 100, then a session of `PPPoE`: version, code, number.
const HEADER: [u8; 10] = [0x81, 0, 0, 100, 0x88, 0x64, 0x11, 0, 0, 1];

/// Bytes of the Ethernet addresses, and of all in front of a packet: the length and PPP's protocol follow the
/// header.
const ADDRESSES: usize = 12;
const FRONT: usize = ADDRESSES + HEADER.len() + 4;

/// PPP's protocol for IP 4.
const IP4: [u8; 2] = [0, 0x21];

/// Line; it ends on drop.
pub(crate) struct Tagged {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Tagged {
    /// Makes an interface at each host; `None`, noted as skipped, if this kernel has no tunnels.
    pub(crate) fn start(network: &Network) -> Option<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for (side, name) in ENDS.iter().enumerate() {
            let opened = network.hosts[side].inside(|| Tun::open(name)).expect("entered");
            let tun = match opened {
                Ok(tun) => Arc::new(tun),
                Err(why) => {
                    skip(&why.to_string());
                    return None;
                }
            };
            let open = || network.open(side, SocketChoice::Packet, 1_600);
            let (mut sending, mut receiving) = (open(), open());
            let address = |side: usize| [2, 0x4c, 0, 0, side as u8, 2];
            let addresses = [address(1 - side), address(side)].concat();
            let (from, stopping) = (tun.clone(), stop.clone());
            threads.push(thread::spawn(move || {
                let mut packet = vec![0; 2_000];
                while !stopping.load(Ordering::Relaxed) {
                    let Ok(Some(length)) = from.receive(&mut packet) else {
                        thread::yield_now();
                        continue;
                    };
                    // Packets of IP 6 would have another protocol.
                    if packet[0] >> 4 == 4 {
                        let bytes = (length as u16 + 2).to_be_bytes();
                        let frame = [&addresses[..], &HEADER, &bytes, &IP4, &packet[..length]].concat();
                        let _ = sending.transmit(0, &[&frame]);
                    }
                }
            }));
            let stopping = stop.clone();
            threads.push(thread::spawn(move || {
                while !stopping.load(Ordering::Relaxed) {
                    while receiving.next_arrival(0).is_some() {
                        receiving.take_frame(0, &mut |frame| {
                            if frame.get(ADDRESSES..ADDRESSES + HEADER.len()) == Some(&HEADER) {
                                let _ = tun.send(&frame[FRONT..]);
                            }
                        });
                    }
                    let nap = receiving.now() + Duration::from_millis(50);
                    let _ = receiving.wait(nap);
                }
            }));
        }
        Some(Self { stop, threads })
    }
}

impl Drop for Tagged {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
