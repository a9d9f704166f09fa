//! Line of IP packets between two namespaces: a tunnel interface in each, and threads that carry the packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::tun::Tun;

/// Line between two namespaces; it ends on drop.
pub(crate) struct Tunnel {
    stop: Arc<AtomicBool>,
    carriers: Vec<JoinHandle<()>>,
}

impl Tunnel {
    /// Makes an interface in each place, down and without an address, and carries packets between them, each
    /// `delay` late. `None`, noted as skipped, if this kernel has no tunnels.
    pub(crate) fn start(ends: [(&Namespace, &str); 2], delay: Duration) -> Option<Self> {
        let opened = ends.map(|(place, name)| place.inside(|| Tun::open(name)).expect("entered"));
        let [near, far] = match opened {
            [Ok(near), Ok(far)] => [near, far].map(Arc::new),
            [Err(why), _] | [_, Err(why)] => {
                super::skip(&why.to_string());
                return None;
            }
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut carriers = Vec::new();
        for (from, to) in [(near.clone(), far.clone()), (far, near)] {
            let stop = stop.clone();
            let (sender, packets) = channel();
            carriers.push(thread::spawn(move || {
                let mut packet = vec![0; 70_000];
                while !stop.load(Ordering::Relaxed) {
                    // An interface that is not up yet is waited for.
                    match from.receive(&mut packet) {
                        Ok(None) => {}
                        Ok(Some(length)) => {
                            let _ = sender.send((Instant::now() + delay, packet[..length].to_vec()));
                        }
                        Err(_) => thread::sleep(Duration::from_millis(10)),
                    }
                }
            }));
            carriers.push(thread::spawn(move || deliver(&to, &packets)));
        }
        Some(Self { stop, carriers })
    }
}

/// Lets packets arrive, each at its time.
fn deliver(to: &Tun, packets: &Receiver<(Instant, Vec<u8>)>) {
    for (at, packet) in packets {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        // Packets of protocols that are not set up are dropped, as on a line.
        let _ = to.send(&packet);
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for carrier in self.carriers.drain(..) {
            let _ = carrier.join();
        }
    }
}
