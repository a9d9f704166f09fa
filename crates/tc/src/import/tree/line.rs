//! The line behind a device, as `netem` describes it.

use lockgate_engine::units::{Duration, Rate};

use super::{Builder, DEVICE_QUEUE};
use crate::import::account::options_of;
use crate::import::settings::value_of;
use crate::language::Kind;
use crate::problem::Problem;
use crate::syntax::Qdisc;
use crate::value::Value;

/// Delay, loss and rate that `netem` gives the line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    pub delay: Option<Duration>,
    /// Loss in hundredths.
    pub loss: Option<f64>,
    pub rate: Option<Rate>,
}

impl<'a> Builder<'a> {
    /// Returns the discipline below `netem`, and adds its line; the discipline itself if it is another.
    pub(super) fn below_netem(&mut self, qdisc: &'a Qdisc) -> Option<&'a Qdisc> {
        if *qdisc.kind != Kind::Netem || !self.objects.is_general {
            return Some(qdisc);
        }
        let mut line = Line::default();
        for setting in &qdisc.settings {
            match (*setting.name, &setting.value) {
                ("delay", Value::Time(delay)) => line.delay = Some(*delay),
                ("loss", Value::Percent(loss)) => line.loss = Some(*loss),
                ("rate", Value::Rate(rate)) => line.rate = Some(*rate),
                _ => {}
            }
        }
        self.lines.push((line, qdisc.kind.at));
        let own = qdisc.handle.as_deref().copied();
        let is_inner = |other: &&Qdisc| other.parent.is_some_and(|parent| Some(parent.owner()) == own);
        let inner = self.objects.qdiscs.iter().copied().find(is_inner);
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

    /// Returns the limit of `netem` in packets.
    pub(super) fn netem_limit(qdisc: &Qdisc) -> u64 {
        match value_of(&qdisc.settings, "limit") {
            Some(Value::Packets(limit)) => (*limit).max(1),
            _ => DEVICE_QUEUE,
        }
    }

    /// Returns the line of all `netem`: a line is the same for every packet.
    pub(super) fn line(&mut self) -> Result<Option<Line>, Problem> {
        let Some((first, _)) = self.lines.first().cloned() else { return Ok(None) };
        let other = self.lines.iter().find(|(line, _)| *line != first);
        let other = other.or(self.lines.first().filter(|_| self.plain_leaves > 0));
        if let Some((_, at)) = other {
            let problem = Problem::new(
                *at,
                "`netem` that differs by class is not understood: a link is the same for all",
            );
            return Err(problem.help("give the nodes links of their own"));
        }
        Ok(Some(first))
    }
}
