//! List of decisions of a tree of classes: the first box that has a packet says where it goes.

use crate::index::Index;
use crate::region::Region;

/// Class or queue of a tree, as far as packets are sorted by it.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// Boxes of its packets among those of its parent, each with its preference: those of lower ones are
    /// tried first. Empty: the packets that no earlier sibling takes.
    pub rules: Vec<(Region, u32)>,
    /// Indices of its children, which come after it.
    pub children: Vec<usize>,
    /// True if it decides itself on packets that no rule of a child takes.
    pub maps_rest: bool,
    /// True if it decides itself on every packet.
    pub classifies: bool,
}

/// List of boxes with the class at which the way of their packets ends.
type List = Vec<(Region, u32)>;

/// Returns the decisions of a tree, whose root is the first class: where the way of a packet ends is the
/// class of the first box that has it. The last box has every packet.
pub fn decisions(classes: &[Class]) -> List {
    let mut lists: Vec<List> = vec![Vec::new(); classes.len()];
    for index in (0..classes.len()).rev() {
        let list = of_class(index, classes, &mut lists);
        lists[index] = list;
    }
    lists.into_iter().next().unwrap_or_default()
}

fn of_class(index: usize, classes: &[Class], lists: &mut [List]) -> List {
    let class = &classes[index];
    let own = || vec![(Region::all(), index as u32)];
    match class.children.as_slice() {
        [] => return own(),
        _ if class.classifies => return own(),
        [only] => return core::mem::take(&mut lists[*only]),
        _ => {}
    }
    // As the classifier of the engine orders them.
    let all = Region::all();
    let mut rules: Vec<(u32, usize, &Region)> = Vec::new();
    for child in &class.children {
        let own = &classes[*child].rules;
        if own.is_empty() && !class.maps_rest {
            rules.push((u32::MAX, *child, &all));
            break;
        }
        rules.extend(own.iter().map(|(region, preference)| (*preference, *child, region)));
    }
    rules.sort_by_key(|(preference, ..)| *preference);
    let mut list = List::new();
    let mut indices: Vec<Option<Index>> = Vec::new();
    indices.resize_with(classes.len().saturating_sub(index), || None);
    for (_, child, region) in rules {
        add(&mut list, region, &lists[child], &mut indices[child - index]);
    }
    if class.maps_rest {
        list.push((Region::all(), index as u32));
    } else if let Some(last) = class.children.last() {
        add(&mut list, &all, &lists[*last], &mut None);
    }
    // What stands behind a box of every packet decides nothing.
    if let Some(end) = list.iter().position(|(region, _)| *region == all) {
        list.truncate(end + 1);
    }
    list
}

/// Adds the decisions of a child for the packets of a rule.
fn add(list: &mut List, rule: &Region, below: &List, index: &mut Option<Index>) {
    /// Number of decisions from which an index is worth its cost.
    const FEW: usize = 16;

    if below.len() <= FEW || *rule == Region::all() {
        list.extend(below.iter().filter_map(|(region, class)| Some((rule.and(region)?, *class))));
        return;
    }
    let index = index.get_or_insert_with(|| Index::new(below.iter().map(|(region, _)| region)));
    for near in index.near(rule) {
        let (region, class) = &below[near as usize];
        list.extend(rule.and(region).map(|both| (both, *class)));
    }
}
