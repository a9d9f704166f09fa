//! The disciplines and classes of a device as a tree.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::queue::KernelQueue;

/// Place at a device: its root, and what arrives.
const ROOT: u32 = u32::MAX;
const INGRESS: u32 = 0xffff_fff1;

/// Discipline or class in a tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Branch {
    /// Discipline or class.
    #[serde(flatten)]
    pub queue: KernelQueue,
    /// Index of the branch above it.
    #[serde(skip)]
    pub above: Option<usize>,
    /// Number of branches above it.
    pub depth: usize,
}

/// Tree of a device: parents before children, siblings by their handles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tree {
    /// Index of the device.
    #[serde(skip)]
    pub interface: u32,
    /// Name of the device.
    pub device: String,
    /// Disciplines and classes.
    pub queues: Vec<Branch>,
}

impl Tree {
    /// Joins the disciplines and classes of a device. Those whose parent is not there stand at the root.
    pub fn of(interface: u32, device: &str, queues: Vec<KernelQueue>) -> Self {
        Self::joined(interface, device, queues).0
    }

    /// Joins queues; returns the index of each in the tree as well.
    fn joined(interface: u32, device: &str, queues: Vec<KernelQueue>) -> (Self, Vec<usize>) {
        let order = ordered(&queues);
        let mut indices = vec![0; queues.len()];
        let mut waiting: Vec<Option<KernelQueue>> = queues.into_iter().map(Some).collect();
        let mut queues = Vec::with_capacity(waiting.len());
        for (read, above, depth) in order {
            if let Some(queue) = waiting[read].take() {
                indices[read] = queues.len();
                queues.push(Branch { queue, above, depth });
            }
        }
        (Self { interface, device: device.to_owned(), queues }, indices)
    }
}

/// Returns the index of each queue, that of the one above it in this order, and its depth: parents before
/// children.
fn ordered(queues: &[KernelQueue]) -> Vec<(usize, Option<usize>, usize)> {
    let mut disciplines: BTreeMap<u32, usize> = BTreeMap::new();
    let mut classes: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, queue) in queues.iter().enumerate() {
        if queue.is_class {
            classes.insert(queue.handle, index);
        } else if queue.handle != 0 {
            disciplines.insert(queue.handle, index);
        }
    }
    let owner = |handle: u32| disciplines.get(&(handle & 0xffff_0000)).copied();
    // Disciplines without handles below one without a handle, as the queues of a device that has several.
    let unnamed = queues.iter().position(|queue| queue.handle == 0 && queue.parent == ROOT);
    let above = |index: usize| {
        let queue = &queues[index];
        let found = match queue.parent {
            ROOT if queue.is_class => owner(queue.handle),
            ROOT | INGRESS => None,
            parent => classes
                .get(&parent)
                .copied()
                .or_else(|| owner(parent))
                .or_else(|| unnamed.filter(|_| parent >> 16 == 0)),
        };
        found.filter(|found| *found != index)
    };
    let mut below: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for index in 0..queues.len() {
        below.entry(above(index)).or_default().push(index);
    }
    for children in below.values_mut() {
        children.sort_by_key(|index| {
            let queue = &queues[*index];
            (queue.parent == INGRESS, queue.is_class, queue.handle, queue.parent)
        });
    }
    let mut order: Vec<(usize, Option<usize>, usize)> = Vec::with_capacity(queues.len());
    let mut known: BTreeSet<usize> = BTreeSet::new();
    // Those above which a circle stands are reached from no root: they become roots.
    let roots = below.get(&None).cloned().unwrap_or_default().into_iter().chain(0..queues.len());
    for root in roots {
        let mut waiting = vec![(root, None, 0)];
        while let Some((index, above, depth)) = waiting.pop() {
            if !known.insert(index) {
                continue;
            }
            let slot = order.len();
            order.push((index, above, depth));
            let children = below.get(&Some(index)).map_or(&[][..], Vec::as_slice);
            waiting.extend(children.iter().rev().map(|child| (*child, Some(slot), depth + 1)));
        }
    }
    order
}

/// Tree of a device that is read again and again. While its queues are the same, only their figures are read
/// anew.
#[derive(Debug, Default)]
pub struct Device {
    tree: Tree,
    /// Index in the tree of each queue, in the kernel's order.
    indices: Vec<usize>,
    /// Number of queues read.
    count: usize,
    /// All queues read, once one of them is another than before.
    fresh: Option<Vec<KernelQueue>>,
}

impl Device {
    /// Returns the tree as of the end of the last reading.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Begins a reading of all queues.
    pub fn start(&mut self) {
        (self.count, self.fresh) = (0, None);
    }

    /// Reads the next discipline or class. What is malformed is left out, and hides nothing else.
    pub fn read(&mut self, interface: u32, handles: (u32, u32), is_class: bool, attributes: &[u8]) {
        if self.fresh.is_none()
            && let Some(index) = self.indices.get(self.count)
            && self.tree.queues[*index].queue.read_again(handles, is_class, attributes)
        {
            self.count += 1;
        } else if let Ok(queue) = KernelQueue::read(interface, handles, is_class, attributes) {
            self.renew().push(queue);
        }
    }

    /// Ends a reading: queues that were not read are gone. Returns false if there are none.
    pub fn end(&mut self, interface: u32, name: &str) -> bool {
        if self.count < self.indices.len() || self.tree.device != name {
            self.renew();
        }
        if let Some(fresh) = self.fresh.take() {
            (self.tree, self.indices) = Tree::joined(interface, name, fresh);
        }
        !self.indices.is_empty()
    }

    /// Returns the list of all queues read, for a tree that is made anew.
    fn renew(&mut self) -> &mut Vec<KernelQueue> {
        let same = self.indices[..self.count].iter().map(|index| &self.tree.queues[*index].queue);
        self.fresh.get_or_insert_with(|| same.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn queue(handle: u32, parent: u32, is_class: bool) -> KernelQueue {
        KernelQueue { handle, parent, is_class, kind: "htb".to_owned(), ..KernelQueue::default() }
    }

    #[test]
    fn classes_stand_below_their_discipline_and_disciplines_in_classes() {
        let tree = Tree::of(
            1,
            "eth0",
            vec![
                queue(0xffff_0000, INGRESS, false),
                queue(0x0020_0000, 0x0001_0010, false),
                queue(0x0001_0000, ROOT, false),
                queue(0x0001_0011, 0x0001_0001, true),
                queue(0x0001_0010, 0x0001_0001, true),
                queue(0x0001_0001, ROOT, true),
            ],
        );
        let names: Vec<_> = tree
            .queues
            .iter()
            .map(|branch| format!("{}{}", " ".repeat(branch.depth), branch.queue.name()))
            .collect();
        assert_eq!(names, ["1:", " 1:1", "  1:10", "   20:", "  1:11", "ffff:"]);
    }

    /// A tree that is read again is that of the last reading, whether queues stay, come, move or go.
    #[test]
    fn a_tree_read_again_is_that_of_the_last_reading() {
        let sent = |mut queue: KernelQueue, bytes: u64| {
            queue.statistics.sent_bytes = bytes;
            queue
        };
        let root = || queue(0x0001_0000, ROOT, false);
        let class = |minor: u32, parent: u32| queue(0x0001_0000 + minor, parent, true);
        let mut device = Device::default();
        for (step, queues) in [
            vec![root(), class(0x11, 0x0001_0001), class(1, ROOT)],
            vec![root(), class(0x11, 0x0001_0001), class(1, ROOT)],
            vec![root(), class(0x11, 0x0001_0001), class(1, ROOT), class(0x12, 0x0001_0001)],
            vec![root(), class(0x12, ROOT), class(1, ROOT)],
            vec![root(), class(0x12, ROOT)],
            vec![],
            vec![root(), class(1, ROOT)],
        ]
        .into_iter()
        .enumerate()
        {
            let bytes = |index: usize| (step * 100 + index) as u64;
            let queues = queues.into_iter().enumerate().map(|(index, queue)| sent(queue, bytes(index)));
            let queues: Vec<KernelQueue> = queues.collect();
            device.start();
            for queue in &queues {
                device.read(7, (queue.handle, queue.parent), queue.is_class, &queue.attributes());
                // Without a kind.
                device.read(7, (queue.handle, queue.parent), queue.is_class, &[]);
            }
            assert_eq!(device.end(7, "eth0"), !queues.is_empty());
            let read = queues.into_iter().map(|queue| KernelQueue { interface: 7, ..queue }).collect();
            assert_eq!(device.tree(), &Tree::of(7, "eth0", read), "step {step}");
        }
        device.start();
        device.read(7, (0x0001_0000, ROOT), false, &root().attributes());
        device.end(7, "wan");
        assert_eq!((device.tree().device.as_str(), device.tree().queues.len()), ("wan", 1));
    }

    proptest! {
        /// Whatever the parents are, circles as well, each queue is there once, after its parent.
        #[test]
        fn every_queue_is_there_once(parents in prop::collection::vec((1_u32..8, 0_u32..9, any::<bool>()), 0..30)) {
            let queues: Vec<_> = parents
                .iter()
                .map(|(major, parent, is_class)| {
                    let parent = if *parent == 8 { ROOT } else { 0x0001_0000 * parent + u32::from(*is_class) };
                    queue(0x0001_0000 * major + u32::from(*is_class), parent, *is_class)
                })
                .collect();
            let tree = Tree::of(1, "eth0", queues);
            prop_assert_eq!(tree.queues.len(), parents.len());
            for (index, branch) in tree.queues.iter().enumerate() {
                prop_assert!(branch.above.is_none_or(|above| above < index));
            }
        }
    }
}
