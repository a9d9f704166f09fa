//! `OpenWrt`'s `/etc/config/sqm`: sections that stand for the commands of sqm-scripts, a shaper each way.
//!
//! Every option of a section is taken by a script, or named with the reason why the script does not read it;
//! an option that sqm-scripts do not have is a problem.

mod config;
mod scripts;

use crate::position::Located;
use crate::problem::Problem;
use crate::script::Skipped;

pub(crate) use config::is_config;

/// Reason for sections that sqm-scripts do not start.
pub(crate) const DISABLED: &str = "the section is not enabled: `option enabled '1'` starts it";

/// Commands of a configuration.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub commands: Vec<Vec<Located<String>>>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
}

/// Reads a configuration.
pub(crate) fn commands(text: &str) -> Config {
    let mut config = Config::default();
    let sections = config::sections(text, &mut config.skipped, &mut config.problems);
    for mut section in sections {
        if section.take("enabled").is_none_or(|enabled| *enabled != "1") {
            config.skipped.push(Skipped { at: section.at, what: section.words(), why: DISABLED });
            continue;
        }
        config.problems.extend(section.unknown());
        match scripts::lines(&mut section) {
            Ok(lines) => {
                config.commands.extend(lines);
                section.name_unread();
                config.skipped.append(&mut section.notes);
            }
            Err(problem) => config.problems.push(problem),
        }
    }
    config.problems.sort_by_key(|problem| problem.at);
    config
}
