//! Status of a router, from its policy.

use lockgate_engine::units::Duration;
use lockgate_scenario::Policy;
use lockgate_scenario::policy::{Direction, PolicyPort};

use crate::status::{LinkStatus, PortStatus, Status};

impl Status {
    /// Returns the status that readers see: the interfaces as nodes, and the ports without knobs.
    pub fn of_policy(policy: &Policy, every: Duration) -> Self {
        let nodes: Vec<String> = policy.interfaces.iter().map(|interface| interface.role.clone()).collect();
        let ends = |port: &PolicyPort| (nodes[port.from].clone(), nodes[port.to].clone());
        // One link for both directions, each with the rate of its port.
        let link_name = |port: &PolicyPort| {
            let [one, other] = [port.from.min(port.to), port.from.max(port.to)];
            if one == other { nodes[one].clone() } else { format!("{}-{}", nodes[one], nodes[other]) }
        };
        let is_back = |port: &PolicyPort, link: &LinkStatus| {
            link.from != nodes[port.from] || port.direction == Direction::Incoming
        };
        let mut links: Vec<LinkStatus> = Vec::new();
        for port in &policy.ports {
            let (name, (from, to)) = (link_name(port), ends(port));
            let known = links.iter().position(|link| link.name == name);
            let index = known.unwrap_or_else(|| {
                links.push(LinkStatus { name, from: from.clone(), to, ..LinkStatus::default() });
                links.len() - 1
            });
            let direction = usize::from(is_back(port, &links[index]));
            links[index].rate_bps[direction] = port.rate.map(|rate| rate.as_bits() as f64);
        }
        let queues = |port: &PolicyPort| {
            port.tree.queues().iter().map(|queue| (queue.name.to_string(), Vec::new())).collect()
        };
        let port = |port: &PolicyPort| {
            let (from, to) = ends(port);
            let (name, link) = (port.name.clone(), link_name(port));
            let ceilings = port.tree.ceilings().into_iter();
            let ceilings = ceilings.map(|(queue, rate)| (queue.to_owned(), rate.as_bits() as f64)).collect();
            let is_back = links.iter().any(|of| of.name == link && is_back(port, of));
            PortStatus { name, from, to, link, is_back, root: None, queues: queues(port), ceilings }
        };
        let ports = policy.ports.iter().map(port).collect();
        // A policy needs no title; a page without one does not say of which router it is.
        let title = match policy.title.as_str() {
            "" => format!("Router at {}", nodes.join(", ")),
            title => title.to_owned(),
        };
        Self {
            title,
            mode: "route",
            pace: 1.0,
            every_s: every.as_secs_f64(),
            links,
            ports,
            nodes,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::{Limits, PortSample, Sample};

    use super::*;

    const POLICY: &str = r#"
[router]
mode = "bridge"
interfaces = { lan = "eth1", wan = "eth0" }
[port."lan:wan"]
rate = "9.5mbit"
queue.all = { kind = "fifo", limit = "100p" }
[port."wan:lan"]
rate = "95mbit"
queue.all = { kind = "fifo", limit = "100p" }
"#;

    #[test]
    fn a_policy_without_a_title_is_named_by_its_interfaces() {
        let title = |text: &str| {
            let policy = lockgate_scenario::read_policy(text, "house.toml").expect("a policy");
            Status::of_policy(&policy, Duration::from_millis(100)).title
        };
        assert_eq!(title(POLICY), "Router at lan, wan");
        assert_eq!(title(&format!("title = \"house\"\n{POLICY}")), "house");
    }

    #[test]
    fn a_class_has_its_ceiling_and_without_one_its_rate() {
        let text = format!(
            "{POLICY}queue.tree = {{ kind = \"htb\", children = [\"top\"] }}\nqueue.top = {{ kind = \"class\", rate = \
             \"9mbit\", children = [\"a\", \"b\"] }}\nqueue.a = {{ kind = \"fifo\", rate = \"1mbit\", ceil = \"2mbit\" \
             }}\nqueue.b = {{ kind = \"fifo\", rate = \"3mbit\" }}\n"
        );
        let text =
            text.replacen("queue.all = { kind = \"fifo\", limit = \"100p\" }\nqueue.tree", "queue.tree", 1);
        let policy = lockgate_scenario::read_policy(&text, "house.toml").expect("a policy");
        let ports = Status::of_policy(&policy, Duration::from_secs(1)).ports;
        let ceilings: Vec<(&str, f64)> =
            ports[1].ceilings.iter().map(|(name, bps)| (name.as_str(), *bps)).collect();
        assert_eq!(ceilings, [("a", 2e6), ("b", 3e6), ("top", 9e6)]);
        assert!(ports[0].ceilings.is_empty());
    }

    #[test]
    fn one_link_has_the_rate_of_each_direction() {
        let rates = |text: &str| {
            let policy = lockgate_scenario::read_policy(text, "house.toml").expect("a policy");
            let links = Status::of_policy(&policy, Duration::from_secs(1)).links;
            assert_eq!((links.len(), links[0].from.as_str(), links[0].to.as_str()), (1, "lan", "wan"));
            links[0].rate_bps
        };
        assert_eq!(rates(POLICY), [Some(9.5e6), Some(95e6)]);
        // A port without a rate sends as fast as its interface.
        assert_eq!(rates(&POLICY.replace("rate = \"95mbit\"\n", "")), [Some(9.5e6), None]);
    }

    /// Behind one interface, what comes in has a rate of its own, too.
    #[test]
    fn each_port_is_measured_by_the_rate_of_its_own_direction() {
        let both = "[router]\nmode = \"both\"\ninterfaces = { wan = \"eth0\" }\n\
                    [port.wan]\nrate = \"9.5mbit\"\nqueue.all = { kind = \"fifo\" }\n\
                    [port.\"wan:in\"]\nrate = \"45mbit\"\nqueue.all = { kind = \"fifo\" }\n";
        for (text, rates) in [(both, [9.5e6, 45e6]), (POLICY, [9.5e6, 95e6])] {
            let policy = lockgate_scenario::read_policy(text, "house.toml").expect("a policy");
            let status = Status::of_policy(&policy, Duration::from_secs(1));
            let ports = (0..2).map(|index| PortSample { index, ..PortSample::default() }).collect();
            let mut sample = Sample { ports, ..Sample::default() };
            status.mark(&mut sample, &Limits::default());
            let marked: Vec<Option<f64>> = sample.ports.iter().map(|port| port.rate_bps).collect();
            assert_eq!(marked, rates.map(Some));
        }
    }
}
