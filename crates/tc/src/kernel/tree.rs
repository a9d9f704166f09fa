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
                let place = order.len();
                order.push((index, above, depth));
                let children = below.get(&Some(index)).map_or(&[][..], Vec::as_slice);
                waiting.extend(children.iter().rev().map(|child| (*child, Some(place), depth + 1)));
            }
        }
        let mut queues: Vec<Option<KernelQueue>> = queues.into_iter().map(Some).collect();
        let queues = order
            .into_iter()
            .filter_map(|(index, above, depth)| Some(Branch { queue: queues[index].take()?, above, depth }))
            .collect();
        Self { interface, device: device.to_owned(), queues }
    }

    /// Returns true if all of it is the kernel's own choice, as at a device that was not set up.
    pub fn is_default(&self) -> bool {
        self.queues.iter().all(|branch| branch.queue.handle == 0)
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
