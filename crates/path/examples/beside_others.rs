//! A stack beside a call and a download: the example of the README.
#![allow(missing_docs)]

use lockgate_path::{Dscp, Ecn, Instant, Path};

const SCENARIO: &str = r#"
title = "my stack beside a download and a call"
duration = "30s"

node.laptop = {}
node.router = {}
node.server = {}
link.home = { between = ["laptop", "router"], rate = "1gbit" }
link.line = { between = ["router", "server"], rate = { up = "10mbit", down = "50mbit" }, delay = "10ms" }
port."router:server".queue.q = { kind = "cake", bandwidth = "9.5mbit" }

flow.call = { from = "laptop", to = "server", profile = "g711", dscp = "EF" }
flow.download = { from = "server", to = "laptop", transport = "tcp", bytes = "unlimited", congestion = "cubic" }

[[change]]
at = "10s"
set = { "link.line.rate.up" = "2mbit" }

[[expect]]
that = "flow.call.owd.p99"
below = "30ms"
"#;

fn main() -> Result<(), lockgate_path::Error> {
    let mut path = Path::from_scenario(SCENARIO, 1).connect("laptop", "server").build()?;
    let [laptop, server] = path.ends();
    path.send(Instant::ZERO, laptop, b"hello", Ecn::Ect1, Dscp::DEFAULT)?;
    let arrived = path.receive(Instant::NEVER)?.expect("it is not lost");
    assert_eq!(arrived.end, server);
    let summary = path.finish_run()?.summary()?;
    assert!(summary.expect[0].holds);
    Ok(())
}
