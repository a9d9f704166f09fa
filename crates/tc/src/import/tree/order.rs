//! Order in which rules are tried: that of the kernel's filters.

use super::{Builder, Queue};
use crate::handle::Handle;
use crate::import::classification::Leaf;
use crate::import::conditions::Inexpressible;
use crate::problem::Problem;

/// Returns the classes without subclasses, in the order in which they are tried.
pub(super) fn leaves(queues: &[Queue]) -> Vec<&Leaf> {
    let mut all = Vec::new();
    for queue in queues {
        match &queue.leaf {
            // Queues below a leaf belong to another discipline.
            Some(leaf) => all.push(leaf),
            None => all.extend(leaves(&queue.children)),
        }
    }
    all
}

/// Sorts siblings by the first filter that selects them or a descendant; those for the rest come last.
pub(super) fn sort_by_filter(queues: &mut [Queue]) {
    fn rank(queue: &Queue) -> usize {
        let below = queue.children.iter().map(rank).min();
        queue.leaf.as_ref().map(|leaf| leaf.rank).or(below).unwrap_or(usize::MAX)
    }
    // Queues below a leaf belong to another discipline.
    for queue in queues.iter_mut().filter(|queue| queue.leaf.is_none()) {
        sort_by_filter(&mut queue.children);
    }
    queues.sort_by_key(|queue| (queue.rules.is_empty(), rank(queue)));
}

impl Builder<'_> {
    /// Returns the problem of a filter that leads to a class.
    pub(super) fn at_filter(&self, class: Handle, why: &Inexpressible) -> Problem {
        let mut filters = self.objects.rules.iter().filter(|rule| rule.class == class);
        let filter = filters.find(|rule| rule.conditions.rules().is_err());
        why.at(filter.map(|rule| rule.at).unwrap_or_default())
    }

    /// Brings the rules into the kernel's order if the order of the classes does not have it.
    pub(super) fn arrange(&self, queues: &mut [Queue]) -> Result<(), Problem> {
        let all = leaves(queues);
        let is_broken = all.iter().enumerate().any(|(index, first)| {
            let is_overtaken = all[index + 1..].iter().any(|later| first.is_overtaken_by(later));
            is_overtaken || all.iter().any(|other| first.is_rest_before(other))
        });
        if is_broken {
            for queue in queues {
                self.order(queue)?;
            }
        }
        Ok(())
    }

    /// Gives the rules of a class and those below it the kernel's order.
    fn order(&self, queue: &mut Queue) -> Result<(), Problem> {
        if let Some(leaf) = &queue.leaf {
            let class = queue.class.unwrap_or(Handle { major: 0, minor: 0 });
            let rules = leaf.ordered_rules().map_err(|why| self.at_filter(class, &why))?;
            if !rules.is_empty() {
                queue.rules = rules;
            }
            return Ok(());
        }
        for child in &mut queue.children {
            self.order(child)?;
        }
        queue.rules = queue.children.iter().flat_map(|child| child.rules.iter().cloned()).collect();
        Ok(())
    }
}
