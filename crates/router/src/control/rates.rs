//! Safe rates of a router's ports, kept over a restart: the latest used with hardly a queue on the line.

use std::collections::BTreeMap;
use std::time::Duration;

use lockgate_engine::units::Rate;
use lockgate_measure::monitor::{AutorateSample, Sample};
use lockgate_scenario::Policy;

use super::store::{Store, StoreError};

/// Least time between two writings, and the part by which a rate has changed at one: a thousandth.
const INTERVAL: Duration = Duration::from_secs(10);
const PART: u64 = 1000;

/// Rates in bit/s by the name of the port.
pub(super) type Rates = BTreeMap<String, u64>;

/// Keeper of the safe rates, and of the marks of controllers that are in the log.
#[derive(Debug, Default)]
pub(super) struct RateKeeper {
    /// Rates as last written, and the time of the next writing.
    written: Rates,
    due: Duration,
    /// True if the last writing failed.
    has_failed: bool,
    /// Number of the last mark in the log, by port.
    marked: BTreeMap<String, u64>,
}

impl RateKeeper {
    /// Begins with the rates that are stored.
    pub(super) fn new(store: &Store) -> Self {
        Self { written: store.load_rates().unwrap_or_default(), ..Self::default() }
    }

    /// Stores the rates of a sample, if it is time and they have changed. Returns words for the log.
    pub(super) fn observe(&mut self, sample: &Sample, store: &Store, now: Duration) -> Vec<String> {
        let controllers = sample.router.as_ref().map_or(&[][..], |router| &router.autorate);
        let mut words = self.marks(controllers);
        if now >= self.due {
            self.due = now + INTERVAL;
            words.extend(self.keep(controllers, store));
        }
        words
    }

    /// Stores the rates of these controllers, if they have changed. Returns words for the log if that fails.
    fn keep(&mut self, controllers: &[AutorateSample], store: &Store) -> Option<String> {
        let safe = |it: &AutorateSample| Some((it.port.clone(), it.safe_bps? as u64));
        let mut rates = self.written.clone();
        rates.extend(controllers.iter().filter(|it| it.is_applied).filter_map(safe));
        let has_changed = |(port, rate): (&String, &u64)| {
            self.written.get(port).is_none_or(|before| before.abs_diff(*rate) > before / PART)
        };
        if !rates.iter().any(has_changed) {
            return None;
        }
        let failed = store.save_rates(&rates).err();
        self.written = rates;
        let was_failing = core::mem::replace(&mut self.has_failed, failed.is_some());
        let words = |why: StoreError| format!("the safe rates cannot be stored, for the next start: {why}");
        failed.filter(|_| !was_failing).map(words)
    }

    /// Stores the rates at the router's end.
    pub(super) fn end(&mut self, sample: &Sample, store: &Store) -> Option<String> {
        self.keep(sample.router.as_ref().map_or(&[][..], |router| &router.autorate), store)
    }

    /// Returns the marks that are not in the log yet.
    fn marks(&mut self, controllers: &[AutorateSample]) -> Vec<String> {
        let mut words = Vec::new();
        for controller in controllers {
            let last = self.marked.entry(controller.port.clone()).or_default();
            // A controller that was replaced counts from 1 again.
            if controller.marks.last().is_some_and(|mark| mark.number < *last) {
                *last = 0;
            }
            for mark in controller.marks.iter().filter(|mark| mark.number > *last) {
                words.push(mark.text.clone());
            }
            *last = controller.marks.last().map_or(*last, |mark| mark.number);
        }
        words
    }
}

/// Makes the ports of a policy begin at these rates. Returns a sentence for the log of each.
pub(super) fn begin_at(policy: &mut Policy, rates: &Rates) -> Vec<String> {
    let mut notes = Vec::new();
    for port in policy.ports.iter_mut().filter(|port| port.autorate.is_some()) {
        let Some(rate) = rates.get(&port.name) else { continue };
        port.begin_at(Rate::from_bits(*rate));
        if let Some(rate) =
            port.rate.filter(|_| port.autorate.as_ref().is_some_and(|it| !it.model.observe_only))
        {
            notes.push(format!("port {}: begins at {rate}, the last safe rate", port.name));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::{MarkSample, RouterSample};
    use lockgate_scenario::read_policy;

    use super::*;

    fn sample(safe: f64, marks: &[u64]) -> Sample {
        let mark = |number: &u64| MarkSample { number: *number, text: format!("mark {number}"), at_s: 0.0 };
        let controller = AutorateSample {
            port: "wan".to_owned(),
            is_applied: true,
            safe_bps: (safe > 0.0).then_some(safe),
            marks: marks.iter().map(mark).collect(),
            ..AutorateSample::default()
        };
        let router = RouterSample { autorate: vec![controller], ..RouterSample::default() };
        Sample { router: Some(router), ..Sample::default() }
    }

    fn policy(keys: &str) -> Policy {
        let text = format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\nqueue.q = {{ kind = \"fifo\" }}\n\
             [port.wan.autorate]\nmin = \"1mbit\"\nmax = \"9mbit\"\n{keys}\n"
        );
        read_policy(&text, "policy.toml").expect("a policy")
    }

    #[test]
    fn a_start_begins_at_the_last_safe_rate_within_the_bounds() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("state")).expect("opened");
        let secs = Duration::from_secs;
        let mut keeper = RateKeeper::new(&store);
        assert!(store.load_rates().is_none());
        keeper.observe(&sample(4e6, &[]), &store, secs(0));
        keeper.observe(&sample(5e6, &[]), &store, secs(1));
        assert_eq!(store.load_rates().expect("stored")["wan"], 4_000_000, "soon after");
        keeper.observe(&sample(0.0, &[]), &store, secs(10));
        keeper.observe(&sample(5e6, &[]), &store, secs(21));
        let rates = store.load_rates().expect("stored");
        assert_eq!(rates["wan"], 5_000_000);
        let mut policy_before = policy("");
        assert_eq!(begin_at(&mut policy_before, &rates).len(), 1);
        assert_eq!(policy_before.ports[0].rate, Some(Rate::from_bits(5_000_000)));
        let mut narrow = policy("start = \"2mbit\"");
        begin_at(&mut narrow, &Rates::from([("wan".to_owned(), 50_000_000)]));
        assert_eq!(narrow.ports[0].rate, Some(Rate::from_bits(9_000_000)));
        let mut observing = policy("observe_only = true");
        assert!(begin_at(&mut observing, &rates).is_empty());
        assert_eq!(observing.ports[0].rate, None);
        // A torn or foreign file is no rate.
        std::fs::write(folder.path().join("state/rates"), "{\"wan\": 1").expect("written");
        assert!(store.load_rates().is_none());
    }

    #[test]
    fn each_mark_is_told_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("state")).expect("opened");
        let mut keeper = RateKeeper::default();
        let mut told = |marks: &[u64]| keeper.observe(&sample(0.0, marks), &store, Duration::ZERO);
        assert_eq!(told(&[1, 2]), ["mark 1", "mark 2"]);
        assert_eq!(told(&[2, 3]), ["mark 3"]);
        assert!(told(&[2, 3]).is_empty());
        assert_eq!(told(&[1]), ["mark 1"], "a new controller");
    }
}
