//! Laboratory around a policy: a scenario in which its ports meet the traffic of a home or an office.
//!
//! ```text
//! users --1 Gbit/s-- router --the line of the policy-- server
//!            <- arrivals: `wan:in`, `wan:lan`      -> departures: `wan`, `lan:wan`
//! ```

use std::fmt::Write as _;

use lockgate_engine::framing::Compensation;
use lockgate_engine::units::Rate;

use crate::diagnostic::one_line;
use crate::policy::{Direction, Mode, Policy, PolicyPort};

/// Rate of a direction of the line that the policy says nothing about.
const UNSAID: Rate = Rate::from_bits(100_000_000);

/// Traffic and expectations of every laboratory.
const REST: &str = r#"
[flow]
# A call each way, a request a tenth of a second whose answer is awaited, and bulk transfers that fill both directions.
call = { from = "users", to = "server", profile = "g711", dscp = "EF" }
voice = { from = "server", to = "users", profile = "g711", dscp = "EF" }
ping = { from = "users", to = "server", transport = "udp", size = "98B", gap = "100ms", echo = true }
upload = { from = "users", to = "server", transport = "tcp", bytes = "unlimited", count = 2, start = "5s" }
download = { from = "server", to = "users", transport = "tcp", bytes = "unlimited", count = 2, start = "5s" }

[[expect]]
that = "flow.call.mos"
at_least = 4
[[expect]]
that = "flow.voice.mos"
at_least = 4
[[expect]]
that = "flow.ping.rtt.p95"
below = "100ms"
"#;

/// Returns the text of a scenario around a policy that is read from `path`: every port of the policy on the
/// line between a network of users and a server, both directions full.
pub fn laboratory(policy: &Policy, path: &str) -> String {
    let (out, arriving) = sides(policy);
    let title = if policy.title.is_empty() { "a policy" } else { &policy.title };
    let mut text = format!(
        "# A laboratory around the policy `{}`. Change the line, its delay and the traffic to those that you have.\n\
         title = {}\nduration = \"30s\"\nwarmup = \"10s\"\n\n[node]\nusers = {{}}\nrouter = {{}}\nserver = {{}}\n\n\
         [link.lan]\nbetween = [\"users\", \"router\"]\nrate = \"1gbit\"\ndelay = \"200us\"\n\n",
        one_line(path),
        quoted(&format!("{title}, in a laboratory"))
    );
    text += "# The line behind the router: a little faster than what the policy sends, so that the queue stays in the router.\n";
    let (up, down) = (line_rate(out), line_rate(arriving));
    let _ = write!(
        text,
        "[link.line]\nbetween = [\"router\", \"server\"]\nrate = {{ up = \"{up}\", down = \"{down}\" }}\ndelay = \"15ms\"\n"
    );
    let charge =
        [out, arriving].into_iter().flatten().map(|port| port.charge).find(|charge| !charge.is_none());
    text += &charge.map_or_else(String::new, framing);
    for (name, port) in [("router:server", out), ("router:users", arriving)] {
        if let Some(port) = port {
            let _ =
                write!(text, "\n[port.\"{name}\"]\npolicy = {}\n", quoted(&format!("{path}:{}", port.name)));
        }
    }
    for port in &policy.ports {
        let is_placed = [out, arriving].into_iter().flatten().any(|placed| placed.name == port.name);
        if !is_placed {
            let _ = write!(
                text,
                "\n# The port `{}` of the policy has no place here: give it a link of its own.\n",
                port.name
            );
        }
    }
    text + REST
}

/// Returns the port that sends to the line, and that of what arrives from it.
fn sides(policy: &Policy) -> (Option<&PolicyPort>, Option<&PolicyPort>) {
    let role = |index: usize| policy.interfaces.get(index).map_or("", |interface| interface.role.as_str());
    // The interface towards the users is called `lan`, or comes first.
    let is_lan = |index: usize| role(index) == "lan";
    let ports = || policy.ports.iter();
    if policy.mode == Mode::Bridge {
        let lan = (0..policy.interfaces.len()).find(|index| is_lan(*index)).unwrap_or(0);
        return (ports().find(|port| port.from == lan), ports().find(|port| port.from != lan));
    }
    let arrives = |port: &&PolicyPort| port.direction == Direction::Incoming || is_lan(port.to);
    (ports().find(|port| !arrives(port)), ports().find(arrives))
}

/// Returns the rate of the line behind a port: a twentieth more than what it sends, or that of its shapers.
fn line_rate(port: Option<&PolicyPort>) -> Rate {
    let Some(rate) = port.and_then(|port| port.rate.or_else(|| port.tree.rate())) else { return UNSAID };
    Rate::from_bits(rate.as_bits().saturating_mul(20) / 19 / 1000 * 1000).max(rate)
}

/// Returns the keys of a link that charges as `charge` does.
pub(crate) fn framing(charge: Compensation) -> String {
    let (overhead, mpu, framing) = charge.parts();
    let framing =
        toml::Value::try_from(framing).map_or_else(|_| String::new(), |value| format!("framing = {value}\n"));
    format!("overhead = \"{overhead}\"\nmpu = \"{mpu}\"\n{framing}")
}

/// Returns a text as TOML.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string().trim().to_owned()
}
