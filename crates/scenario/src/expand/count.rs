//! Reads `count`: a number, a group to follow, or a part of one.

use toml::Spanned;
use toml::de::DeValue;

use super::{Expansion, Problem, SITES, SUBSCRIBERS, shorten, suggest};

/// Limit on the members of a group.
const MOST_MEMBERS: u32 = 1_000_000;

impl Expansion<'_> {
    /// Reads `count`: `200`, `"sub"`, `"10% of sub"`, or `"subscribers"` or `"sites"` for a member of each
    /// row of such a table. Notes a problem and returns `None` for anything else.
    pub(super) fn count(&mut self, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        let wrong = |problem: String, help: &str| Problem::new(value.span(), problem).help(help);
        let help = "write a number, `\"sub\"` for as many as that group has, or `\"10% of sub\"`";
        let problem = match value.get_ref() {
            DeValue::Integer(number) => match number.as_str().replace('_', "").parse::<u32>() {
                Ok(count) if (1..=MOST_MEMBERS).contains(&count) => return Some(count),
                _ => wrong(format!("`count` cannot be {number}"), "it is from 1 to 1000000"),
            },
            DeValue::String(text) => match self.part(text) {
                Ok(count) => return Some(count),
                Err(Some(group)) if self.unread.contains(&group) => return None,
                Err(Some(group)) => {
                    let known = self.groups.names("node").chain(self.groups.names("link"));
                    let near = suggest(group, known);
                    wrong(format!("there is no group called `{}`", shorten(group)), help).help_if(near)
                }
                Err(None) => wrong(format!("`count` cannot be `{}`", shorten(text)), help),
            },
            _ => wrong("`count` is a whole number or a text".to_owned(), help),
        };
        self.problems.push(problem);
        None
    }

    /// Reads a group or a part of one, rounded up. Fails with the unknown group, or `None` for another text.
    fn part<'t>(&self, text: &'t str) -> Result<u32, Option<&'t str>> {
        let (part, group) = match text.split_once(" of ") {
            None => (100.0, text.trim()),
            Some((part, group)) => {
                let part = part.trim().strip_suffix('%').and_then(|part| part.trim().parse::<f64>().ok());
                (part.filter(|part| (0.0..=100.0).contains(part)).ok_or(None)?, group.trim())
            }
        };
        let rows = match group {
            SUBSCRIBERS => self.tables.subscribers.map(std::sync::Arc::as_ref),
            SITES => self.tables.sites.map(|sites| &sites.rows),
            _ => None,
        };
        let rows = rows.map(|rows| rows.len() as u32);
        let all = ["node", "link"].into_iter().find_map(|section| self.groups.members(section, group));
        let all = rows.or(all).ok_or(Some(group))?;
        let members = (f64::from(all) * part / 100.0).ceil() as u32;
        // At least one of some; none of the sites, if no circuit is below one.
        Ok(members.clamp(all.min(1), all))
    }
}
