//! Settings of the kernel's network on which the outcome of a live run depends, beside the scenario's.

use std::fs;

/// Prefix of the names of the modules that are queueing disciplines.
const DISCIPLINE: &str = "sch_";

/// Settings of the running kernel; what it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSettings {
    /// Negotiation of ECN by TCP (`net.ipv4.tcp_ecn`).
    pub tcp_ecn: Option<u32>,
    /// Congestion control of sockets that choose none (`net.ipv4.tcp_congestion_control`).
    pub congestion_control: Option<String>,
    /// Discipline that new interfaces get (`net.core.default_qdisc`).
    pub default_discipline: Option<String>,
    /// Disciplines that are loaded as modules, or built in with parameters, in alphabetical order.
    pub discipline_modules: Vec<String>,
}

/// Reads a file of a kernel's value.
pub(crate) fn read(file: &str) -> Option<String> {
    fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
}

impl KernelSettings {
    /// Reads those of this kernel.
    pub fn read() -> Self {
        let modules = fs::read_dir("/sys/module").into_iter().flatten().flatten();
        let names = modules.filter_map(|module| module.file_name().into_string().ok());
        let mut disciplines: Vec<String> =
            names.filter_map(|name| name.strip_prefix(DISCIPLINE).map(str::to_owned)).collect();
        disciplines.sort_unstable();
        Self {
            tcp_ecn: read("/proc/sys/net/ipv4/tcp_ecn").and_then(|number| number.parse().ok()),
            congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control"),
            default_discipline: read("/proc/sys/net/core/default_qdisc"),
            discipline_modules: disciplines,
        }
    }
}
