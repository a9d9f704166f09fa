//! The line behind a device, as `netem` describes it.

use lockgate_engine::units::{Duration, Rate};

use super::{Builder, DEVICE_QUEUE};
use crate::import::account::options_of;
use crate::import::settings::value_of;

use crate::language::Kind;
use crate::number::{PICOS_PER_NANO, time_text};
use crate::problem::Problem;
use crate::syntax::{Qdisc, Setting};
use crate::value::{Slot, Value};

/// Line as `netem` describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    pub delay: Option<Duration>,
    /// Loss in hundredths.
    pub loss: Option<f64>,
    pub rate: Option<Rate>,
    /// Further keys of a link's direction, with their values in TOML.
    pub keys: Vec<(&'static str, String)>,
}

impl Line {
    /// Creates the line of these settings; `keeps_order` if packets leave by a discipline below.
    fn of(settings: &[Setting], keeps_order: bool) -> Self {
        let mut line = Self::default();
        let distribution = match value_of(settings, "distribution") {
            Some(Value::Choice(name)) => name,
            _ => "uniform",
        };
        for setting in settings {
            match (*setting.name, &setting.value) {
                ("delay", Value::Time(delay)) => line.delay = Some(*delay),
                ("delay", Value::Delay(delay, jitter)) => {
                    let (fixed, law) = jitter_of(*delay, *jitter, distribution);
                    line.delay = Some(fixed);
                    line.keys.push(("jitter", law));
                    // Its packets leave by their times, unless a discipline below has them in its order.
                    if !keeps_order {
                        line.keys.push(("keep_order", "false".to_owned()));
                    }
                }
                ("loss", Value::Percent(loss)) => line.loss = Some(*loss),
                ("loss", Value::Losses(of)) => {
                    let [begin, end, bad, good] = of.map(|percent| percent / 100.0);
                    let table = format!("{{ begin = {begin}, end = {end}, bad = {bad}, good = {good} }}");
                    line.keys.push(("loss_bursts", table));
                }
                ("rate", Value::Rate(rate)) => line.rate = Some(*rate),
                (name @ ("duplicate" | "reorder"), Value::Percent(share)) => {
                    line.keys.push((name, (share / 100.0).to_string()));
                }
                ("slot", Value::Slot(slot)) => line.keys.push(("slots", slot_text(slot))),
                _ => {}
            }
        }
        line
    }
}

/// Number of equally likely values that stand for a curve which no law of a scenario has.
const VALUES: u32 = 100;

/// Parts of a value's share over which the curve is averaged.
const PARTS: u32 = 16;

/// Limit of the kernel's tables, in standard deviations.
const FARTHEST: f64 = 4.0;

/// Returns the constant part of a delay that varies, and the law of the rest, in TOML. What the kernel would
/// have sent before now leaves at once.
fn jitter_of(delay: Duration, jitter: Duration, distribution: &str) -> (Duration, String) {
    let less = |part: Duration| Duration::from_picos(delay.as_picos().saturating_sub(part.as_picos()));
    let text = |time: Duration| format!("\"{}\"", time_text(time));
    match distribution {
        // Beyond three deviations, what is cut off at zero is less than 0.2 %.
        "normal" if delay >= jitter * 3 => {
            let fixed = less(jitter * 4);
            let mean = Duration::from_picos(delay.as_picos() - fixed.as_picos());
            (fixed, format!("{{ distribution = \"normal\", mean = {}, std = {} }}", text(mean), text(jitter)))
        }
        "normal" => by_values(delay, jitter, normal),
        // The table of the index 3 ends at four deviations; its scale is 4/3 of one, and its mean 1.5 of it.
        "pareto" => by_values(delay, jitter, |share| {
            ((1.0 / libm::cbrt(1.0 - share) - 1.5) * 4.0 / 3.0).min(FARTHEST)
        }),
        _ if delay >= jitter => {
            let most = text(jitter * 2);
            (less(jitter), format!("{{ distribution = \"uniform\", min = \"0s\", max = {most} }}"))
        }
        _ => by_values(delay, jitter, |share| 2.0 * share - 1.0),
    }
}

/// Returns the least delay of a curve, and the law of the rest. `curve` has the deviation from the mean, in
/// parts of `jitter`, below which a share of the packets stays.
fn by_values(delay: Duration, jitter: Duration, curve: impl Fn(f64) -> f64) -> (Duration, String) {
    let value = |index: u32| {
        let share = |part: u32| (f64::from(index * PARTS + part) + 0.5) / f64::from(VALUES * PARTS);
        let at = |part: u32| (delay.as_secs_f64() + jitter.as_secs_f64() * curve(share(part))).max(0.0);
        let seconds = (0..PARTS).map(at).sum::<f64>() / f64::from(PARTS);
        Duration::from_picos(libm::round(seconds * 1e9) as u64 * PICOS_PER_NANO)
    };
    let fixed = value(0);
    let rest = |index| Duration::from_picos(value(index).as_picos() - fixed.as_picos());
    let all: Vec<String> = (0..VALUES).map(|index| format!("\"{}\"", time_text(rest(index)))).collect();
    (fixed, format!("{{ distribution = \"empirical\", values = [{}] }}", all.join(", ")))
}

/// Returns the quantile of the standard normal distribution, within the limits of the kernel's table.
fn normal(share: f64) -> f64 {
    let (mut low, mut high) = (-FARTHEST, FARTHEST);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let below = libm::erfc(-middle / core::f64::consts::SQRT_2) / 2.0;
        *(if below < share { &mut low } else { &mut high }) = middle;
    }
    low
}

fn slot_text(slot: &Slot) -> String {
    let [shortest, longest] = slot.every.map(time_text);
    let packets = slot.packets.map(|packets| format!(", packets = \"{packets}p\"")).unwrap_or_default();
    let bytes = slot.bytes.map(|bytes| format!(", bytes = \"{}B\"", bytes.0)).unwrap_or_default();
    format!("{{ every = \"{shortest}\", up_to = \"{longest}\"{packets}{bytes} }}")
}

impl<'a> Builder<'a> {
    /// Returns the discipline below `netem`, and adds its line; the discipline itself if it is another.
    pub(super) fn below_netem(&mut self, qdisc: &'a Qdisc) -> Option<&'a Qdisc> {
        if *qdisc.kind != Kind::Netem || !self.objects.is_general {
            return Some(qdisc);
        }
        let own = qdisc.handle.as_deref().copied();
        let is_inner = |other: &&Qdisc| other.parent.is_some_and(|parent| Some(parent.owner()) == own);
        let inner = self.objects.qdiscs.iter().copied().find(is_inner);
        let line = Line::of(&qdisc.settings, inner.is_some());
        self.lines.push((line, qdisc.kind.at));
        self.account.take(&qdisc.words);
        let options = options_of(&qdisc.words, &qdisc.settings);
        for (setting, option) in qdisc.settings.iter().zip(options) {
            if *setting.name != "limit" {
                self.account.take_option(&qdisc.words, option);
                continue;
            }
            if inner.is_some() {
                self.account.name_option(&qdisc.words, option);
                self.left_out.push(format!("`{setting}` of `netem`: the queue below has its own limit"));
            } else {
                self.account.take_option(&qdisc.words, option);
                self.left_out.push(
                    "the packets that are on their way: the `limit` of `netem` counts them too; here it is that of the queue before the line"
                        .to_owned(),
                );
            }
        }
        inner
    }

    /// Returns the limit of `netem` in packets, less the one that is transmitted if it has a rate: there it
    /// counts in the limit, and a queue before a line does not have it any more.
    pub(super) fn netem_limit(qdisc: &Qdisc) -> u64 {
        let transmitted = u64::from(value_of(&qdisc.settings, "rate").is_some());
        match value_of(&qdisc.settings, "limit") {
            Some(Value::Packets(limit)) => limit.saturating_sub(transmitted).max(1),
            _ => DEVICE_QUEUE - transmitted,
        }
    }

    /// Returns the line of all `netem`: a line is the same for every packet.
    pub(super) fn line(&mut self) -> Result<Option<Line>, Problem> {
        let Some((first, at)) = self.lines.first().cloned() else { return Ok(None) };
        let other = self.lines.iter().find(|(line, _)| *line != first);
        let (at, message) = match other {
            Some((_, other)) => {
                (*other, format!("this `netem` differs from that of line {}, for another class", at.line))
            }
            None if self.plain_leaves > 0 => (at, "`netem` is here for one class and not for all".to_owned()),
            None => return Ok(Some(first)),
        };
        let problem =
            Problem::new(at, format!("{message}, but a link delays and loses packets of all alike"));
        Err(problem.help(
            "import with `--lenient`, which leaves `netem` out, and give the hosts of each class a link of their own \
             with its `delay` and `loss`",
        ))
    }
}
