//! Checks what a link does to packets besides their transmission.

use std::sync::Arc;

use lockgate_engine::units::{Duration, Probability};
use lockgate_traffic::{Law, LawConfig, TrafficConfig};

use super::Checker;
use crate::diagnostic::Problem;
use crate::file::LinkTable;
use crate::line_conditions::{ConditionsTable, LossBurstsTable, SlotsTable};
use crate::model::{Conditions, LossBursts, Slots};
use crate::table_reader::TableLocation;

/// Shortest slot: a link of 1 Tbit/s sends a frame in less.
const SHORTEST_SLOT: Duration = Duration::from_micros(1);

impl Checker<'_> {
    /// Reads the conditions of both directions; `None` for one without any.
    pub(super) fn conditions(
        &mut self,
        table: &LinkTable,
        location: TableLocation<'_, '_>,
    ) -> [Option<Arc<Conditions>>; 2] {
        let noted = self.problems.len();
        [("up", &table.up), ("down", &table.down)].map(|(name, own)| {
            let (mut merged, own) = (table.conditions(), own.clone().unwrap_or_default());
            let path = |key, is_own: bool| if is_own { vec![name, key] } else { vec![key] };
            let paths = [
                path("loss_bursts", own.loss_bursts.is_some()),
                path("jitter", own.jitter.is_some()),
                path("slots", own.slots.is_some()),
            ];
            merged.replace_by(own);
            // What is wrong for both directions is noted once.
            if name == "down" && self.problems.len() > noted {
                return None;
            }
            self.merged_conditions(merged, &paths, location)
        })
    }

    fn merged_conditions(
        &mut self,
        table: ConditionsTable,
        paths: &[Vec<&'static str>; 3],
        location: TableLocation<'_, '_>,
    ) -> Option<Arc<Conditions>> {
        let [bursts, jitter, slots] = paths.each_ref().map(Vec::as_slice);
        let conditions = Conditions {
            bursts: table.loss_bursts.and_then(|table| self.loss_bursts(&table, bursts, location)),
            jitter: table.jitter.and_then(|law| self.jitter(&law, jitter, location)),
            keeps_order: table.keep_order.unwrap_or(true),
            duplicate: table.duplicate.unwrap_or_default(),
            reorder: table.reorder.unwrap_or_default(),
            slots: table.slots.and_then(|table| self.slots(&table, slots, location)),
        };
        let has_effect = conditions.bursts.is_some()
            || conditions.jitter.is_some()
            || conditions.duplicate > Probability::ZERO
            || conditions.reorder > Probability::ZERO
            || conditions.slots.is_some();
        // Without order, a delay that changes lets packets overtake each other as well.
        (has_effect || !conditions.keeps_order).then(|| Arc::new(conditions))
    }

    fn loss_bursts(
        &mut self,
        table: &LossBurstsTable,
        path: &[&str],
        location: TableLocation<'_, '_>,
    ) -> Option<LossBursts> {
        if table.end == Probability::ZERO {
            let span = location.at(path, "end");
            let problem = Problem::new(span, "a bad line that never becomes good loses for ever");
            self.note(problem.help("give `end` a probability such as `20%`: a burst of 5 packets"));
            return None;
        }
        let LossBurstsTable { begin, end, bad, good } = *table;
        Some(LossBursts { begin, end, bad, good })
    }

    fn jitter(
        &mut self,
        config: &LawConfig<Duration>,
        path: &[&str],
        location: TableLocation<'_, '_>,
    ) -> Option<Law<Duration>> {
        let traffic = TrafficConfig { gap: Some(config.clone()), ..TrafficConfig::default() };
        let files = self.files_of(&traffic).map_err(|mut problems| problems.remove(0));
        let law = files.and_then(|files| Law::new(config, "gap", &files));
        law.map_err(|invalid| {
            let field = invalid.field.strip_prefix("gap").unwrap_or(&invalid.field).trim_start_matches('.');
            let said = match field {
                "" => format!("`jitter` {}", invalid.why),
                field => format!("`{field}` of `jitter` {}", invalid.why),
            };
            let help = "a jitter is a time, or such as `{ distribution = \"uniform\", min = \"0s\", max = \"8ms\" }`";
            self.note(Problem::new(location.at(path, field), said).help(help));
        })
        .ok()
    }

    fn slots(&mut self, table: &SlotsTable, path: &[&str], location: TableLocation<'_, '_>) -> Option<Slots> {
        let longest = table.up_to.unwrap_or(table.every);
        let wrong = if table.every < SHORTEST_SLOT {
            Some(("every", format!("slots of `{}` are too short", table.every), "a slot has at least `1us`"))
        } else if longest < table.every {
            Some((
                "up_to",
                format!("`{longest}` is less than `every`"),
                "leave `up_to` out, or make it longer",
            ))
        } else if table.gap >= table.every {
            let what = format!("a gap of `{}` leaves nothing of a slot", table.gap);
            Some(("gap", what, "the gap is shorter than `every`"))
        } else if table.packets.is_some_and(|packets| packets.0 == 0) {
            Some(("packets", "a slot of no packets carries nothing".to_owned(), "it is at least `1p`"))
        } else if table.bytes.is_some_and(|bytes| bytes.0 == 0) {
            Some(("bytes", "a slot of no bytes carries nothing".to_owned(), "it is at least `1B`"))
        } else {
            None
        };
        if let Some((key, what, help)) = wrong {
            self.note(Problem::new(location.at(path, key), what).help(help));
            return None;
        }
        Some(Slots {
            every: [table.every, longest],
            gap: table.gap,
            most: Slots::limits(table.packets.map(|packets| packets.0), table.bytes),
            delay: table.delay,
        })
    }
}
