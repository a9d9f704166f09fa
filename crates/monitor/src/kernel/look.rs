//! Looks at the kernel's queues: dumps of netlink as trees, with what they cost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use lockgate_dataplane::netlink::{Netlink, TrafficObject};
use lockgate_live::clock::thread_cpu_time;
use lockgate_session::Knob;
use lockgate_tc::kernel::{self, Device, KernelQueue, Tree};

use super::error::KernelError;

/// Disciplines with classes that are not flows. The class of a `tbf` is a formality.
const CLASSFUL: [&str; 8] = ["htb", "hfsc", "drr", "qfq", "ets", "prio", "cbq", "mqprio"];

/// Disciplines whose classes are flows.
const BY_FLOW: [&str; 4] = ["fq_codel", "sfq", "cake", "fq_pie"];

/// Number of looks after which interfaces are listed anew.
const LISTED: u32 = 64;

/// Returns the settings of a queue, given its device, its name, the kernel's attributes, and whether it is a
/// class.
pub(crate) type KnobsOf<'a> = dyn Fn(&str, &str, &[u8], bool) -> Vec<Knob> + 'a;

/// Settings of each queue, by device and name of the queue.
pub(crate) type KnobsByQueue = BTreeMap<(String, String), Vec<Knob>>;

/// The kernel's own queues, read by netlink.
pub struct Kernel {
    netlink: Netlink,
    device: Option<String>,
    is_all: bool,
    has_flows: bool,
    names: BTreeMap<u32, String>,
    /// Those with queues at the last look, by index.
    devices: BTreeMap<u32, Device>,
    looks: u32,
}

/// A discipline or class of the kernel.
pub(crate) struct Object {
    interface: u32,
    handles: (u32, u32),
    pub(crate) is_class: bool,
}

/// Time beside its processor time that a look may take. If it takes longer, its thread lost the processor,
/// and it is not known when the counters were read.
const LOST: Duration = Duration::from_millis(2);

/// Looks that are made until one is timed well.
const TRIES: u32 = 2;

/// Times of a look.
pub struct Look {
    /// Time at which the counters were read.
    pub at: Instant,
    /// Time that the dumps took.
    span: Duration,
    /// Processor time that the dumps took. The kernel holds its lock of interfaces for most of it.
    pub cost: Duration,
}

impl Kernel {
    /// Opens the kernel's interface for the device of this name, or for all devices. `is_all` includes those
    /// whose queues the kernel chose itself, `has_flows` the flows that disciplines report.
    ///
    /// # Errors
    /// If there is no such device, or the kernel does not answer.
    pub fn open(device: Option<&str>, is_all: bool, has_flows: bool) -> Result<Self, KernelError> {
        let netlink = Netlink::open().map_err(missing)?;
        let (names, devices) = (BTreeMap::new(), BTreeMap::new());
        let device = device.map(str::to_owned);
        let mut kernel = Self { netlink, device, is_all, has_flows, names, devices, looks: 0 };
        kernel.list()?;
        Ok(kernel)
    }

    /// Lists the interfaces.
    fn list(&mut self) -> Result<(), KernelError> {
        let links = self.netlink.links().map_err(missing)?;
        let known = links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>().join(", ");
        let is_wanted = |name: &String| self.device.as_ref().is_none_or(|device| device == name);
        let named = links.iter().map(|link| (link.index, link.name.clone()));
        self.names = named.filter(|(_, name)| is_wanted(name)).collect();
        match &self.device {
            Some(device) if self.names.is_empty() => Err(KernelError::usage(
                format!("there is no interface `{device}`"),
                format!("there are {known}"),
            )),
            _ => Ok(()),
        }
    }

    /// Looks at the queues. A look whose time is uncertain is made again: the rates after it would be too
    /// low, and those of the next one too high.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn look(&mut self) -> Result<Look, KernelError> {
        if self.looks.is_multiple_of(LISTED) && self.looks > 0 {
            self.list()?;
        }
        self.looks = self.looks.wrapping_add(1);
        timed_well(|| self.look_once())
    }

    fn look_once(&mut self) -> Result<Look, KernelError> {
        let (start, begun) = (thread_cpu_time(), Instant::now());
        let (names, devices, flows) = (&self.names, &mut self.devices, self.has_flows);
        let has_classes = |kind: &str| CLASSFUL.contains(&kind) || flows && BY_FLOW.contains(&kind);
        let (mut set_up, mut classful) = (BTreeSet::new(), BTreeSet::new());
        devices.values_mut().for_each(Device::start);
        let dumped = self.netlink.dump_disciplines(&mut |object| {
            let interface = object.interface;
            if names.contains_key(&interface) {
                devices.entry(interface).or_default().read(
                    interface,
                    (object.handle, object.parent),
                    false,
                    object.attributes,
                );
                if object.handle != 0 {
                    set_up.insert(interface);
                }
                if kernel::kind(object.attributes).is_ok_and(has_classes) {
                    classful.insert(interface);
                }
            }
        });
        dumped.map_err(missing)?;
        if !self.is_all && self.device.is_none() {
            devices.retain(|interface, _| set_up.contains(interface));
        }
        for (interface, device) in devices.iter_mut().filter(|(interface, _)| classful.contains(interface)) {
            let dumped = self.netlink.dump_classes(*interface, &mut |object| {
                if kernel::kind(object.attributes).is_ok_and(has_classes) {
                    device.read(*interface, (object.handle, object.parent), true, object.attributes);
                }
            });
            dumped.map_err(missing)?;
        }
        devices.retain(|interface, device| {
            names.get(interface).is_some_and(|name| device.end(*interface, name))
        });
        let cost = Duration::from_nanos((thread_cpu_time().as_picos() - start.as_picos()) / 1000);
        let span = begun.elapsed();
        Ok(Look { at: begun + span / 2, span, cost })
    }

    /// Passes all disciplines and classes of the interfaces with their attributes to `take`.
    fn all(&mut self, take: &mut dyn FnMut(&str, Object, &[u8])) -> Result<(), KernelError> {
        let names = &self.names;
        let mut of = |object: TrafficObject<'_>, is_class: bool| {
            if let Some(name) = names.get(&object.interface) {
                let handles = (object.handle, object.parent);
                take(name, Object { interface: object.interface, handles, is_class }, object.attributes);
            }
        };
        self.netlink.dump_disciplines(&mut |object| of(object, false)).map_err(missing)?;
        for interface in names.keys() {
            // Flows are no classes that can be set.
            let of_class = &mut |object: TrafficObject<'_>| of(object, true);
            self.netlink.dump_classes(*interface, of_class).map_err(missing)?;
        }
        Ok(())
    }

    /// Returns a queue by the names that the view has, with its attributes.
    pub(crate) fn raw(&mut self, device: &str, queue: &str) -> Result<(Object, Vec<u8>), String> {
        let mut found = None;
        let dumped = self.all(&mut |name, object, attributes| {
            let read = KernelQueue::read(object.interface, object.handles, object.is_class, attributes);
            if name == device && read.is_ok_and(|read| read.name() == queue) {
                found = Some((object, attributes.to_vec()));
            }
        });
        dumped.map_err(|failure| failure.to_string())?;
        found.ok_or_else(|| format!("`{device}` has no queue `{queue}`"))
    }

    /// Returns what `of` finds to be set, by device and queue.
    pub(crate) fn knobs(&mut self, of: &KnobsOf<'_>) -> Result<KnobsByQueue, KernelError> {
        let mut found = BTreeMap::new();
        self.all(&mut |name, object, attributes| {
            if let Ok(queue) =
                KernelQueue::read(object.interface, object.handles, object.is_class, attributes)
            {
                let queue = queue.name();
                let knobs = of(name, &queue, attributes, object.is_class);
                found.insert((name.to_owned(), queue), knobs);
            }
        })?;
        Ok(found)
    }

    /// Changes a queue.
    pub(crate) fn change(&mut self, object: &Object, attributes: &[u8]) -> Result<(), String> {
        let (handle, parent) = object.handles;
        let object_of = TrafficObject { interface: object.interface, handle, parent, info: 0, attributes };
        self.netlink.change(&object_of, object.is_class).map_err(|refusal| refusal.to_string())
    }

    /// Returns the indices of the interfaces, if one is named.
    pub fn interfaces(&self) -> Vec<u32> {
        if self.device.is_some() { self.names.keys().copied().collect() } else { Vec::new() }
    }

    /// Returns the trees as of the last look, in the order of the interfaces.
    pub fn trees(&self) -> impl Iterator<Item = &Tree> {
        self.devices.values().map(Device::tree)
    }
}

/// Returns the first result of `look` whose thread kept the processor, or that of a second try.
fn timed_well<E>(mut look: impl FnMut() -> Result<Look, E>) -> Result<Look, E> {
    let mut found = look()?;
    for _ in 1..TRIES {
        if found.span <= found.cost + LOST {
            break;
        }
        found = look()?;
    }
    Ok(found)
}

/// Returns the failure of a refusal of the kernel.
fn missing(refusal: impl std::fmt::Display) -> KernelError {
    KernelError::Missing {
        message: refusal.to_string(),
        help: "the kernel's traffic control is read by netlink, without privileges".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_without_the_processor_is_made_again() {
        let ms = Duration::from_millis;
        let looks = |spans: &[u64]| {
            let mut made = 0;
            let look = timed_well(|| {
                made += 1;
                let span = ms(spans[made - 1]);
                Ok::<_, ()>(Look { at: Instant::now(), span, cost: ms(1) })
            });
            (made, look.map(|look| look.span))
        };
        assert_eq!(looks(&[2]), (1, Ok(ms(2))));
        assert_eq!(looks(&[50, 1]), (2, Ok(ms(1))));
        // On a machine that is never free, the last one has to do.
        assert_eq!(looks(&[50, 60]), (2, Ok(ms(60))));
    }
}
