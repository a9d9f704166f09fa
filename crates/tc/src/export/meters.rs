//! Meters: a `policer` is `police` on the filter that leads to its class, or on what arrives at the device.

use lockgate_engine::units::{Bytes, Rate};
use lockgate_scenario::tree::Queue;

use super::Writer;
use crate::handle::Handle;
use crate::syntax::{Exceed, Police};

/// Queue of packets behind a meter without a child.
const LIMIT: &str = "1000p";

/// Returns the meter of a queue.
///
/// # Errors
/// Returns what `police` cannot say.
fn police(queue: &Queue) -> Result<Police, String> {
    let text = |name: &str| queue.config.get(name).and_then(toml::Value::as_str);
    let rate = |name: &str| text(name).and_then(|text| text.parse::<Rate>().ok());
    let size = |name: &str| text(name).and_then(|text| text.parse::<Bytes>().ok());
    for name in ["excess_burst", "green_dscp", "yellow_dscp", "red_dscp"] {
        if queue.config.contains_key(name) {
            return Err(format!("`police` has no `{name}`: it sorts packets into two colours"));
        }
    }
    if queue.config.get("aware").and_then(toml::Value::as_bool) == Some(true) {
        return Err("`police` is not aware of the colour that packets have".to_owned());
    }
    let peak_rate = rate("peakrate");
    let (yellow, red) = (text("yellow").unwrap_or("pass"), text("red").unwrap_or("drop"));
    if peak_rate.is_some() && yellow != red {
        return Err("`police` treats packets beyond `rate` as those beyond `peakrate`; give `yellow` and `red` the same value".to_owned());
    }
    let mtu = if peak_rate.is_some() { size("peakburst") } else { size("mtu") };
    if peak_rate.is_some() && size("mtu").is_some_and(|mtu| Some(mtu) != size("peakburst")) {
        return Err("`mtu` of `police` is its `peakburst` as well".to_owned());
    }
    Ok(Police {
        rate: rate("rate").ok_or("it has no `rate`")?,
        burst: size("burst").ok_or("it has no `burst`")?,
        mtu: mtu.unwrap_or_default(),
        peak_rate,
        exceed: if red == "pass" { Exceed::Pass } else { Exceed::Drop },
        index: None,
    })
}

impl<'a> Writer<'a> {
    /// Adds the queue behind a meter, and keeps the meter for the filter of its class.
    pub(super) fn metered(&mut self, queue: &'a Queue, class: Handle) {
        match police(queue) {
            Ok(police) => {
                self.meters.insert(class, police);
            }
            Err(why) => self.refuse(format!("queue `{}`: {why}", queue.name)),
        }
        if let Some(child) = self.children(queue).first() {
            return self.qdisc(child, Some(class), None);
        }
        let limit = queue.config.get("limit").and_then(toml::Value::as_str).unwrap_or(LIMIT);
        let (kind, limit) = match (limit.strip_suffix('p'), limit.parse::<Bytes>()) {
            (Some(packets), _) => ("pfifo", packets.to_owned()),
            (None, Ok(bytes)) => ("bfifo", bytes.0.to_string()),
            (None, Err(_)) => return self.refuse(format!("queue `{}`: its limit `{limit}`", queue.name)),
        };
        let handle = Handle { major: self.major(class.minor.clamp(2, 0xff00)), minor: 0 };
        self.line(format!(
            "tc qdisc add dev {} parent {class} handle {handle} {kind} limit {limit}",
            self.name
        ));
    }

    /// Numbers the meters of classes to which several filters lead: filters with a number share one meter,
    /// others have one each. Refuses meters to which no filter leads.
    pub(super) fn share_meters(&mut self, owner: Handle) {
        let classes: Vec<Handle> =
            self.meters.keys().filter(|class| class.major == owner.major).copied().collect();
        for class in classes {
            let end = format!(" {class}");
            let count = self.filters.iter().filter(|line| line.ends_with(&end)).count();
            match count {
                0 => self.refuse(format!("the meter of the class `{class}`: no filter leads to it")),
                1 => {}
                _ => self.share(class, &end),
            }
        }
    }

    /// Gives all filters that lead to a class its meter by a number.
    fn share(&mut self, class: Handle, end: &str) {
        let Some(meter) = self.meters.get_mut(&class) else { return };
        let alone = format!(" {meter} ");
        self.shared += 1;
        meter.index = Some(self.shared);
        let shared = format!(" {meter} ");
        for line in self.filters.iter_mut().filter(|line| line.ends_with(end)) {
            *line = line.replace(&alone, &shared);
        }
    }

    /// Adds the meter of all that arrives.
    pub(super) fn metered_arrivals(&mut self, root: &'a Queue) {
        let dev = self.device.name;
        if self.device.ifb.is_none() {
            return self.refuse(format!(
                "queue `{}`: Linux meters by filters, so a policer stands in a class of `htb` or `prio`, or on what arrives (`--ifb`)",
                root.name
            ));
        }
        let is_plain = self.children(root).iter().all(|child| child.kind == "fifo");
        match police(root) {
            Ok(_) if !is_plain => {
                self.refuse(format!("queue `{}`: what arrives is not queued behind its meter", root.name));
            }
            Ok(police) => {
                self.line(format!("tc qdisc add dev {dev} handle ffff: ingress"));
                self.line(format!(
                    "tc filter add dev {dev} parent ffff: protocol all prio 10 u32 match u32 0 0 at 0 {police} flowid :1"
                ));
            }
            Err(why) => self.refuse(format!("queue `{}`: {why}", root.name)),
        }
    }
}
