//! Order of the servers: each after those that send to it.

use crate::network::Network;

/// Returns the servers in the order of the data, and those on or behind a cycle.
pub(crate) fn order(network: &Network) -> (Vec<usize>, Vec<usize>) {
    let count = network.servers.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for flow in &network.flows {
        for pair in flow.hops.windows(2) {
            next[pair[0].server].push(pair[1].server);
        }
    }
    let mut before = vec![0_usize; count];
    for list in &mut next {
        list.sort_unstable();
        list.dedup();
        for server in list.iter() {
            before[*server] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..count).rev().filter(|server| before[*server] == 0).collect();
    let mut sorted = Vec::with_capacity(count);
    while let Some(server) = ready.pop() {
        sorted.push(server);
        for to in &next[server] {
            before[*to] -= 1;
            if before[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    let cyclic = (0..count).filter(|server| before[*server] > 0).collect();
    (sorted, cyclic)
}
