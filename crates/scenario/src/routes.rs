//! Routing: shortest path by hops; ties go to the link earlier in the file.

use std::collections::VecDeque;

/// The routes through a network. Ports are numbered as in [`Scenario::ports`](crate::Scenario::ports): link
/// `l` has `2 l` and `2 l + 1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// `next[destination][node]`: the port, or [`NONE`]; both indices are values of `index`. Empty for
    /// destinations that were not requested.
    next: Vec<Vec<u32>>,
    /// By node: index of an inner node in `next`; for a leaf, that of its neighbour.
    index: Vec<u32>,
    /// Port by which each leaf sends; [`NONE`] for inner nodes.
    uplink: Vec<u32>,
    /// True for each node at which a flow ends.
    requested: Vec<bool>,
    /// `receiver[port]`: the node it leads to.
    receiver: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Routes {
    /// Computes the routes from all `nodes` nodes joined by `links` to each of `destinations`.
    ///
    /// A leaf (a node with one link, to a node with several) has no table: its packets go to its neighbour,
    /// and packets to it go to the neighbour first. The memory of the tables is quadratic in the number of
    /// inner nodes only.
    pub fn new(nodes: usize, links: &[[usize; 2]], destinations: impl Iterator<Item = usize>) -> Self {
        let mut ports_of: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut receiver = Vec::with_capacity(links.len() * 2);
        for (link, [a, b]) in links.iter().copied().enumerate() {
            ports_of[a].push(2 * link as u32);
            ports_of[b].push(2 * link as u32 + 1);
            receiver.extend([b as u32, a as u32]);
        }
        let neighbour = |node: usize| match ports_of[node][..] {
            [only] => Some(receiver[only as usize] as usize).filter(|hub| ports_of[*hub].len() > 1),
            _ => None,
        };
        let mut routes = Self {
            next: Vec::new(),
            index: vec![NONE; nodes],
            uplink: vec![NONE; nodes],
            requested: vec![false; nodes],
            receiver: Vec::new(),
        };
        let inner: Vec<usize> = (0..nodes).filter(|node| neighbour(*node).is_none()).collect();
        for (index, node) in inner.iter().enumerate() {
            routes.index[*node] = index as u32;
        }
        for (node, ports) in ports_of.iter().enumerate() {
            if let Some(hub) = neighbour(node) {
                routes.index[node] = routes.index[hub];
                routes.uplink[node] = ports[0];
            }
        }
        routes.next = vec![Vec::new(); inner.len()];
        routes.receiver = receiver;
        for destination in destinations {
            routes.requested[destination] = true;
            let index = routes.index[destination] as usize;
            if routes.next[index].is_empty() {
                routes.next[index] = routes.towards(inner[index], &inner, &ports_of);
            }
        }
        routes
    }

    /// Computes the next ports to the inner node `destination`: by breadth-first search backwards, then each
    /// inner node takes its first port that is one hop nearer. O(nodes + links).
    fn towards(&self, destination: usize, inner: &[usize], ports_of: &[Vec<u32>]) -> Vec<u32> {
        let is_inner = |node: usize| self.uplink[node] == NONE;
        let mut hops = vec![u32::MAX; inner.len()];
        let index = |node: usize| self.index[node] as usize;
        hops[index(destination)] = 0;
        let mut reached = VecDeque::from([destination]);
        while let Some(node) = reached.pop_front() {
            for &port in &ports_of[node] {
                let neighbour = self.receiver[port as usize] as usize;
                if is_inner(neighbour) && hops[index(neighbour)] == u32::MAX {
                    hops[index(neighbour)] = hops[index(node)] + 1;
                    reached.push_back(neighbour);
                }
            }
        }
        let nearer = |node: usize, port: u32| {
            let neighbour = self.receiver[port as usize] as usize;
            let hop = if is_inner(neighbour) { hops[index(neighbour)] } else { u32::MAX };
            hop != u32::MAX && hop < hops[index(node)]
        };
        let next = |node: usize| ports_of[node].iter().copied().find(|port| nearer(node, *port));
        inner.iter().map(|node| next(*node).unwrap_or(NONE)).collect()
    }

    /// Returns the port by which `node` sends to `destination`. Returns `None` at the destination itself,
    /// if there is no path, and for a destination at which no flow ends.
    #[inline]
    pub fn next(&self, node: usize, destination: usize) -> Option<usize> {
        if node == destination || !*self.requested.get(destination)? {
            return None;
        }
        let (here, there) = (*self.index.get(node)?, self.index[destination]);
        let port = if here != there {
            let inner = self.next[there as usize][here as usize];
            if inner == NONE || self.uplink[node] == NONE { inner } else { self.uplink[node] }
        } else if self.uplink[node] != NONE {
            self.uplink[node]
        } else {
            // The destination is a leaf at this node: its own port leads here, the other direction there.
            self.uplink[destination] ^ 1
        };
        (port != NONE).then_some(port as usize)
    }

    /// Returns the port by which every packet of a leaf leaves; `None` for inner nodes.
    pub fn uplink(&self, node: usize) -> Option<usize> {
        let port = *self.uplink.get(node)?;
        (port != NONE).then_some(port as usize)
    }

    /// Returns the ports on the path from `from` to `to`, in order, if there is a path.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut path = Vec::new();
        let mut node = from;
        while node != to {
            let port = self.next(node, to)?;
            path.push(port);
            node = self.receiver[port] as usize;
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_taken_and_ties_go_to_the_earlier_link() {
        // A square 0-1-3, 0-2-3 with a detour 0-4-3 by links that come first, and a parallel link 1-3.
        let links = [[0, 4], [4, 5], [5, 3], [0, 2], [0, 1], [1, 3], [2, 3], [3, 1]];
        let routes = Routes::new(7, &links, [3, 0].into_iter());
        assert_eq!(routes.path(0, 3), Some(vec![6, 12]), "by node 2: its link is the earlier one");
        assert_eq!(routes.path(1, 3), Some(vec![10]), "the earlier of two parallel links");
        assert_eq!(routes.path(3, 0), Some(vec![11, 9]));
        assert_eq!(routes.path(6, 3), None, "an island");
        assert_eq!(routes.path(0, 1), None, "no flow ends there");
        assert_eq!(routes.path(3, 3), Some(vec![]));
    }
}
