use std::collections::VecDeque;

use lockgate_dataplane::clock::WallOffset;

use super::*;
use crate::control::Losses;
use crate::tally::{SharedLosses, Tally};

/// Two interfaces: what waits at each, and how often its ring was full.
#[derive(Default)]
struct Wires {
    waiting: [VecDeque<Vec<u8>>; 2],
    overruns: [u64; 2],
    /// Frames that the interfaces dropped after they had taken them.
    unsent: u64,
}

impl Dataplane for Wires {
    fn now(&mut self) -> Instant {
        Instant::ZERO
    }

    fn wall(&self) -> WallOffset {
        WallOffset::default()
    }

    fn interface_count(&self) -> usize {
        2
    }

    fn next_arrival(&mut self, interface: usize) -> Option<Instant> {
        self.waiting[interface].front().map(|_| Instant::ZERO)
    }

    fn take_frame(&mut self, interface: usize, take: &mut dyn FnMut(&[u8])) {
        self.waiting[interface].pop_front().iter().for_each(|frame| take(frame));
    }

    fn transmit(&mut self, _: usize, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        Ok(Sent { taken: frames.len(), stopped: None })
    }

    fn wait(&mut self, _: Instant) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn lost(&mut self) -> u64 {
        self.overruns.iter().sum::<u64>() + self.unsent
    }

    fn overruns(&mut self, interface: usize) -> u64 {
        self.overruns[interface]
    }
}

/// Losses of one direction must not look like arrivals of the other, where they would hide that none arrives.
#[test]
fn losses_count_at_the_endpoint_where_the_frames_arrived() {
    let tallies: [Arc<Tally>; 2] = Default::default();
    let all = SharedLosses::default();
    let (_sender, orders) = orders();
    let (sampling, _newest) = samples(Duration::from_secs(1));
    let watched = (Vec::new(), Tallies::new(tallies.to_vec(), all.clone()));
    let frames = Frames::new(3, 100);
    let mut forwarder =
        Forwarder::new(Wires::default(), Vec::new(), frames, orders, sampling, watched, Arc::default());
    let lost = || tallies.each_ref().map(|tally| tally.lost());
    let show = |forwarder: &mut Forwarder<Wires>| {
        forwarder.renew_at = Instant::ZERO;
        forwarder.renew(Instant::ZERO);
    };
    // Too long, and lost on their way out.
    forwarder.dataplane.waiting[1] = [vec![0; 60], vec![0; 101], vec![0; 102]].into();
    forwarder.losses.interface_down = 50;
    forwarder.dataplane.unsent = 60;
    assert_eq!(forwarder.receive(&mut Vec::new()), 1);
    show(&mut forwarder);
    assert_eq!(lost(), [0, 2]);
    // Rings that were full.
    forwarder.dataplane.overruns = [0, 7];
    show(&mut forwarder);
    assert_eq!(lost(), [0, 9]);
    // No slot: two frames are received, the third is one more than there are slots.
    let _taken = forwarder.frames.slab.insert(&[0; 60]);
    forwarder.dataplane.waiting[0] = vec![vec![0; 60]; 3].into();
    forwarder.receive(&mut Vec::new());
    forwarder.discard(BATCH);
    show(&mut forwarder);
    assert_eq!(lost(), [1, 9]);
    assert_eq!(tallies.each_ref().map(|tally| tally.received()), [2, 1]);
    let losses = *all.lock().expect("no panic");
    let expected = Losses { too_long: 2, interface_down: 50, at_interfaces: 67, ..losses };
    assert_eq!(losses, expected);
}
