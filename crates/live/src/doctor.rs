//! Capabilities of this host, each determined by trying it.

use lockgate_dataplane::finding::{Finding, State};
use lockgate_dataplane::real_time::RealTimeThread;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::histogram::Histogram;
use lockgate_scenario::Scenario;
use rustix::thread::{CapabilitySet, capabilities};

use crate::clock::MonotonicClock;
use crate::cpu_latency::LatencyRequest;
use crate::failure::Failure;
use crate::kernel_settings::{KernelSettings, read};
use crate::traffic::priority::FLOW_END;

/// Number of wake-ups that are measured.
const TRIES: u64 = 200;

/// Tests this host. `trial` is a small scenario that is run live.
pub fn examine(trial: &Scenario) -> Vec<Finding> {
    let mut findings = vec![system(), privileges()];
    findings.extend(tried(trial));
    let settings = KernelSettings::read();
    findings.extend([
        locked_memory(),
        congestion_controls(&settings),
        ecn(&settings),
        disciplines(&settings),
        clock_source(),
        wake_up(),
    ]);
    findings
}

fn system() -> Finding {
    let name = rustix::system::uname();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let found = format!(
        "{} {}, {processors} processors",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    );
    let mut finding = Finding::good("system", found);
    if processors < 2 {
        finding.state = State::Weak;
        "with one processor the driver and the hosts wait for each other".clone_into(&mut finding.help);
    }
    finding
}

fn privileges() -> Finding {
    let has = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let wanted = [
        (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
        (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
        (CapabilitySet::BPF, "CAP_BPF"),
        (CapabilitySet::SYS_NICE, "CAP_SYS_NICE"),
    ];
    let named = |there: bool| {
        let names = wanted.iter().filter(|(one, _)| has.contains(*one) == there).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (there, lacking) = (named(true), named(false));
    if lacking.is_empty() {
        return Finding::good("privileges", there);
    }
    let found =
        if there.is_empty() { "an ordinary user".to_owned() } else { format!("{there}; not {lacking}") };
    let help = "an ordinary user runs live in a user namespace, if the kernel allows it";
    Finding::new("privileges", State::Weak, found, help)
}

/// Tests everything together (namespaces, wires, sockets, a run), and finds the kind of socket that carried
/// the frames.
fn tried(trial: &Scenario) -> Vec<Finding> {
    let what = "live runs";
    match crate::run(trial, Seed(1), &mut |_| false) {
        Ok(outcome) => {
            let figure = |name: &str| {
                let found = outcome.recording.fidelity.iter().find(|(known, _)| known == name);
                found.map_or(0.0, |(_, value)| *value * 1e6)
            };
            let received: u64 = outcome.recording.flows.iter().map(crate::run::received_packets).sum();
            let found = format!(
                "{received} packets through namespaces of its own; handed over {:.0} us late (p99 {:.0} us)",
                figure("timer_lateness_p50_s"),
                figure("timer_lateness_p99_s")
            );
            let mut finding = Finding::good(what, found);
            if !outcome.unfaithful.is_empty() {
                finding.state = State::Weak;
                finding.help = outcome.unfaithful.join("; ");
            }
            vec![finding, frame_io_finding(outcome.packet_socket_reason)]
        }
        Err(failure) => {
            let help = match &failure {
                Failure::Missing(missing) => missing.help.clone(),
                _ => String::new(),
            };
            vec![Finding::new(what, State::Missing, failure.to_string(), help)]
        }
    }
}

fn frame_io_finding(why_not: Option<String>) -> Finding {
    let what = "AF_XDP sockets";
    let Some(found) = why_not else { return Finding::good(what, "used by live runs") };
    let help = "packet sockets are used; AF_XDP needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF outside of user \
                namespaces, and locked memory";
    Finding::new(what, State::Weak, found, help)
}

fn locked_memory() -> Finding {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    Finding::good(
        "locked memory",
        limit.map_or_else(|| "no limit".to_owned(), |bytes| format!("{} KiB", bytes >> 10)),
    )
}

fn congestion_controls(settings: &KernelSettings) -> Finding {
    let what = "congestion controls";
    let there = read("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let default = settings.congestion_control.as_deref().unwrap_or_default();
    let allowed = read("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    let mut finding =
        Finding::good(what, format!("{there} (default {default}, to ordinary users {allowed})"));
    if !there.split(' ').any(|name| name == "cubic") {
        finding.state = State::Weak;
        "flows of other congestion controls cannot be run live".clone_into(&mut finding.help);
    }
    finding
}

/// Returns the negotiation of ECN by the kernel's TCP (`ip-sysctl`).
fn ecn(settings: &KernelSettings) -> Finding {
    let words = match settings.tcp_ecn {
        Some(0) => "off",
        Some(1) => "asked for and accepted",
        Some(2) => "accepted, not asked for",
        Some(3) => "accurate ECN asked for and accepted",
        Some(4) => "accurate ECN accepted, classic ECN asked for",
        Some(5) => "accurate ECN accepted, not asked for",
        _ => "unknown",
    };
    let number = settings.tcp_ecn.map_or_else(String::new, |number| number.to_string());
    Finding::good("ECN of TCP", format!("{words} (tcp_ecn {number})"))
}

/// Returns the discipline that new interfaces get, and those that are loaded.
fn disciplines(settings: &KernelSettings) -> Finding {
    let default = settings.default_discipline.as_deref().unwrap_or("unknown");
    let modules = match settings.discipline_modules.as_slice() {
        [] => "no module of another is loaded".to_owned(),
        modules => format!("loaded: {}", modules.join(", ")),
    };
    Finding::good("default discipline", format!("{default}; {modules}"))
}

fn clock_source() -> Finding {
    let found = read("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default();
    let mut finding = Finding::good("clock source", found.clone());
    if !["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"].contains(&found.as_str()) {
        finding.state = State::Weak;
        "reading the time is a system call: live runs are slower".clone_into(&mut finding.help);
    }
    finding
}

/// Measures the wake-up lateness of a thread that sleeps for a millisecond, as in a live run.
fn wake_up() -> Finding {
    let awake = LatencyRequest::begin();
    let measured = std::thread::spawn(|| {
        let mut thread = RealTimeThread::new(FLOW_END);
        let clock = MonotonicClock::start();
        let mut late: Histogram = Histogram::default();
        for _ in 0..TRIES {
            let until = clock.now() + Duration::from_millis(1);
            thread.on_sleep(until);
            clock.sleep_until(until);
            late.record(clock.now().since(until.max(Instant::ZERO)).as_picos());
        }
        late.quantiles([0.5, 0.99])
    });
    let [median, high] = measured.join().ok().flatten().unwrap_or_default();
    let micros = |picos: u64| picos as f64 * 1e-6;
    let kept = if awake.is_ok() {
        "kept awake"
    } else {
        "which may sleep (`/dev/cpu_dma_latency` is not for this user)"
    };
    let found = format!(
        "{:.0} us late at the median, p99 {:.0} us, on processors {kept}",
        micros(median),
        micros(high)
    );
    let mut finding = Finding::good("waking up", found);
    if high > Duration::from_millis(1).as_picos() {
        finding.state = State::Weak;
        "something else uses the processors; live runs may be outside their fidelity limits"
            .clone_into(&mut finding.help);
    }
    finding
}
