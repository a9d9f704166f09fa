//! Lists the interfaces of this network namespace and what each can do: `cargo run --example interfaces`.

use std::error::Error;

#[cfg(target_os = "linux")]
#[allow(clippy::print_stdout, reason = "the list is the output")]
fn main() -> Result<(), Box<dyn Error>> {
    use lockgate_dataplane::{ethtool, netlink::Netlink};

    println!("{:16} {:12} {:>6} {:>8} {:>8}  state", "interface", "driver", "MTU", "queues", "XDP");
    for link in Netlink::open()?.links()? {
        let driver = ethtool::driver(&link.name).unwrap_or_else(|_| "-".to_owned());
        let queues = ethtool::queues(&link.name)?.map_or("-".to_owned(), |queues| queues.receive.to_string());
        let xdp = format!("{:?}", link.xdp).to_lowercase();
        let state = if link.is_up { "up" } else { "down" };
        println!("{:16} {driver:12} {:>6} {queues:>8} {xdp:>8}  {state}", link.name, link.mtu);
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), Box<dyn Error>> {
    Err("this needs Linux".into())
}
