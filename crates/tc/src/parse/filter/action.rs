//! Parser of the actions of filters.

use lockgate_engine::units::Bytes;

use super::masked_of;
use crate::handle::Handle;
use crate::number;
use crate::position::Located;
use crate::problem::Problem;
use crate::syntax::{Exceed, FilterAction, Police};
use crate::words::Cursor;

/// Words that only control what follows an action.
const CONTROLS: [&str; 8] = ["pipe", "continue", "reclassify", "pass", "ok", "stolen", "drop", "shot"];

/// Reads the words after `action`, which may name several.
pub(super) fn actions(
    cursor: &mut Cursor<'_, '_>,
    word: Located<&str>,
    actions: &mut Vec<Located<FilterAction>>,
) -> Result<(), Problem> {
    let name = cursor.value(word.value)?;
    let action = match name.value {
        "mirred" => mirred(cursor, name)?,
        "police" => FilterAction::Police(police(cursor, name)?),
        "skbedit" => return skbedit(cursor, name, actions),
        "connmark" | "ctinfo" => {
            while cursor.peek().is_some_and(|next| next != "action" && next != "flowid" && next != "classid")
            {
                cursor.next();
            }
            FilterAction::FromConnection(if name.value == "connmark" { "connmark" } else { "ctinfo" })
        }
        "gact" => {
            let verdict = cursor.value("gact")?;
            control(verdict)?
        }
        _ => control(name)?,
    };
    actions.push(Located::new(action, name.at));
    // Between two actions the word `action` may be left out.
    match cursor.peek() {
        Some("mirred" | "skbedit" | "connmark" | "ctinfo" | "gact" | "police") => {
            self::actions(cursor, name, actions)
        }
        _ => Ok(()),
    }
}

fn control(name: Located<&str>) -> Result<FilterAction, Problem> {
    match name.value {
        "drop" | "shot" => Ok(FilterAction::Drop),
        "ok" | "pass" | "continue" | "pipe" | "reclassify" => Ok(FilterAction::Pass),
        other => {
            let message = format!("the action `{other}` is not understood");
            let help = "there are `mirred`, `police`, `skbedit`, `connmark`, `ctinfo`, `drop` and `pass`";
            Err(Problem::new(name.at, message).help(help))
        }
    }
}

/// Skips a verdict and an index after an action.
fn skip_control(cursor: &mut Cursor<'_, '_>) {
    while cursor.peek().is_some_and(|next| CONTROLS.contains(&next)) {
        cursor.next();
    }
    if cursor.skip("index") {
        cursor.next();
    }
}

fn mirred(cursor: &mut Cursor<'_, '_>, name: Located<&str>) -> Result<FilterAction, Problem> {
    if cursor.skip("ingress") || !cursor.skip("egress") {
        return Err(Problem::new(
            name.at,
            "`mirred` sends to the `egress` of a device; to another place it is not understood",
        ));
    }
    let what = cursor.value("mirred egress")?;
    cursor.skip("dev");
    let device = cursor.value("dev")?.value.to_owned();
    skip_control(cursor);
    match what.value {
        "redirect" => Ok(FilterAction::Redirect(device)),
        "mirror" => Ok(FilterAction::Mirror(device)),
        other => Err(Problem::new(what.at, format!("`mirred egress {other}` is not understood"))),
    }
}

fn skbedit(
    cursor: &mut Cursor<'_, '_>,
    name: Located<&str>,
    actions: &mut Vec<Located<FilterAction>>,
) -> Result<(), Problem> {
    let mut count = 0;
    while let Some(key) =
        cursor.peek().filter(|key| ["priority", "mark", "queue_mapping", "ptype"].contains(key))
    {
        cursor.next();
        let text = cursor.value(key)?;
        let wrong = || Problem::new(text.at, format!("`{key} {}` is not understood", *text));
        let action = match key {
            "priority" => FilterAction::Priority(text.parse::<Handle>().map_err(|_| wrong())?),
            "mark" => FilterAction::Mark(masked_of(text.value).ok_or_else(wrong)?),
            _ => return Err(Problem::new(text.at, format!("`skbedit {key}` is not understood"))),
        };
        actions.push(Located::new(action, name.at));
        count += 1;
    }
    skip_control(cursor);
    if count == 0 {
        return Err(Problem::new(name.at, "`skbedit` sets nothing that is understood: `priority` or `mark`"));
    }
    Ok(())
}

/// Reads the words after `police`.
pub(crate) fn police(cursor: &mut Cursor<'_, '_>, word: Located<&str>) -> Result<Police, Problem> {
    let mut police = Police::default();
    let (mut has_rate, mut has_burst) = (false, false);
    while let Some(key) = cursor.peek() {
        if ["flowid", "classid", "action"].contains(&key) && !is_verdict(cursor) {
            break;
        }
        cursor.next();
        let mut value = || cursor.value(key);
        match key {
            "rate" | "peakrate" => {
                let text = value()?;
                let rate = number::rate(text.value);
                let rate = rate.ok_or_else(|| wrong(key, text))?;
                if key == "rate" {
                    (police.rate, has_rate) = (rate, true);
                } else {
                    police.peak_rate = Some(rate);
                }
            }
            "burst" | "buffer" | "maxburst" | "mtu" | "minburst" => {
                let text = value()?;
                let size = number::size(text.split('/').next().unwrap_or_default());
                let size = size.ok_or_else(|| wrong(key, text))?;
                if key == "mtu" || key == "minburst" {
                    police.mtu = size;
                } else {
                    (police.burst, has_burst) = (size, true);
                }
            }
            "mpu" | "overhead" | "linklayer" => {
                let text = value()?;
                if number::size(text.value) != Some(Bytes::ZERO) && text.value != "ethernet" {
                    return Err(Problem::new(text.at, format!("`{key}` of `police` is not understood")));
                }
            }
            "conform-exceed" => {
                let text = value()?;
                let verdict = text.split('/').next().unwrap_or_default();
                police.exceed = exceed(Located::new(verdict, text.at))?;
            }
            "action" => police.exceed = exceed(cursor.value("action")?)?,
            name if CONTROLS.contains(&name) => police.exceed = exceed(Located::new(name, cursor.at))?,
            "index" => {
                let text = value()?;
                police.index = Some(text.parse().map_err(|_| wrong(key, text))?);
            }
            other => {
                let message = format!("`{other}` of `police` is not understood");
                return Err(Problem::new(cursor.at, message));
            }
        }
    }
    let is_reference = !has_rate && !has_burst && police.index.is_some();
    if !is_reference && (!has_rate || !has_burst) {
        return Err(Problem::new(word.at, "`police` has a `rate` and a `burst`"));
    }
    Ok(police)
}

/// Reads the treatment of packets beyond the rate. `reclassify` tries the same filter again, until the kernel
/// drops the packet.
fn exceed(word: Located<&str>) -> Result<Exceed, Problem> {
    match word.value {
        "continue" => Ok(Exceed::Continue),
        "reclassify" => Ok(Exceed::Drop),
        _ => Ok(if control(word)? == FilterAction::Pass { Exceed::Pass } else { Exceed::Drop }),
    }
}

/// Returns true if `action` is followed by a verdict, and not by another action.
fn is_verdict(cursor: &Cursor<'_, '_>) -> bool {
    cursor.peek() == Some("action") && cursor.peek_second().is_some_and(|next| CONTROLS.contains(&next))
}

fn wrong(key: &str, text: Located<&str>) -> Problem {
    Problem::new(text.at, format!("`{key} {}` of `police` is not understood", *text))
}
