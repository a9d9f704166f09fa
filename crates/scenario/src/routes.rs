//! Routing: shortest path by hops; ties go to the link earlier in the file.

use std::collections::VecDeque;

/// The routes through a network. Ports are numbered as in [`Scenario::ports`](crate::Scenario::ports): link
/// `l` has `2 l` and `2 l + 1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// `next[destination][node]`: the port, or [`NONE`]. Empty for destinations that were not requested.
    next: Vec<Vec<u32>>,
    /// `receiver[port]`: the node it leads to.
    receiver: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Routes {
    /// Computes the routes from all `nodes` nodes joined by `links` to each of `destinations`.
    pub fn new(nodes: usize, links: &[[usize; 2]], destinations: impl Iterator<Item = usize>) -> Self {
        let mut ports_of: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut receiver = Vec::with_capacity(links.len() * 2);
        for (link, [a, b]) in links.iter().copied().enumerate() {
            ports_of[a].push(2 * link as u32);
            ports_of[b].push(2 * link as u32 + 1);
            receiver.extend([b as u32, a as u32]);
        }
        let mut routes = Self { next: vec![Vec::new(); nodes], receiver };
        for destination in destinations {
            if routes.next[destination].is_empty() {
                routes.next[destination] = routes.towards(destination, &ports_of);
            }
        }
        routes
    }

    /// Breadth-first search backwards from the destination; then each node takes its first port one hop
    /// nearer.
    fn towards(&self, destination: usize, ports_of: &[Vec<u32>]) -> Vec<u32> {
        let mut hops = vec![u32::MAX; ports_of.len()];
        hops[destination] = 0;
        let mut reached = VecDeque::from([destination]);
        while let Some(node) = reached.pop_front() {
            for &port in &ports_of[node] {
                let neighbour = self.receiver[port as usize] as usize;
                if hops[neighbour] == u32::MAX {
                    hops[neighbour] = hops[node] + 1;
                    reached.push_back(neighbour);
                }
            }
        }
        let nearer = |node: usize, port: u32| {
            let neighbour = hops[self.receiver[port as usize] as usize];
            neighbour != u32::MAX && neighbour < hops[node]
        };
        (0..ports_of.len())
            .map(|node| ports_of[node].iter().copied().find(|port| nearer(node, *port)).unwrap_or(NONE))
            .collect()
    }

    /// Returns the port by which `node` sends to `destination`. Returns `None` at the destination itself,
    /// if there is no path, and for a destination at which no flow ends.
    #[inline]
    pub fn next(&self, node: usize, destination: usize) -> Option<usize> {
        let port = *self.next.get(destination)?.get(node)?;
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
