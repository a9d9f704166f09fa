//! The glue between `smoltcp` (TCP for small devices) and a path: IP packets and timers.

use std::collections::VecDeque;

use lockgate_path::{Delivery, Duration, End, Instant, Path};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant as Micros;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

/// A network device at one end of a path.
#[derive(Default)]
pub struct Card {
    arrived: VecDeque<Vec<u8>>,
    departing: Vec<Vec<u8>>,
}

pub struct Arrived(Vec<u8>);
pub struct Departing<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Departing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Card {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Departing<'a>;

    fn receive(&mut self, _: Micros) -> Option<(Arrived, Departing<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Departing(&mut self.departing)))
    }

    fn transmit(&mut self, _: Micros) -> Option<Departing<'_>> {
        Some(Departing(&mut self.departing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, 1500);
        capabilities
    }
}

/// A host with `smoltcp`, at one end of a path.
pub struct Host {
    pub interface: Interface,
    pub sockets: SocketSet<'static>,
    pub end: End,
    card: Card,
}

/// Returns the time of the stack, in whole microseconds.
fn micros(at: Instant) -> Micros {
    Micros::from_micros((at.as_picos() / 1_000_000).cast_signed())
}

impl Host {
    pub fn new(end: End, address: IpAddress) -> Self {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = end.index() as u64;
        let mut card = Card::default();
        let mut interface = Interface::new(config, &mut card, Micros::ZERO);
        interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(address, 24)).expect("room"));
        Self { interface, sockets: SocketSet::new(Vec::new()), end, card }
    }

    /// Returns the time of the stack's next timer, which is after `now`.
    pub fn next(&mut self, now: Instant) -> Instant {
        let at = self.interface.poll_at(micros(now), &self.sockets);
        let picos = |at: Micros| u64::try_from(at.total_micros()).unwrap_or(0).saturating_mul(1_000_000);
        at.map_or(Instant::NEVER, |at| Instant::from_picos(picos(at)).max(now + Duration::from_micros(1)))
    }

    pub fn handle(&mut self, delivery: Delivery) {
        self.card.arrived.push_back(delivery.bytes);
    }

    /// Lets the stack act, and sends its packets.
    pub fn act(&mut self, path: &mut Path, now: Instant) {
        self.interface.poll(micros(now), &mut self.card, &mut self.sockets);
        for packet in self.card.departing.drain(..) {
            path.send_ip(now, self.end, packet).expect("it can send");
        }
    }
}
