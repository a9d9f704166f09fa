//! `lockgate apply`: changes the policy of a running router.

use lockgate::units::Duration;
use lockgate_router::control::protocol::{Answer, Request};
use lockgate_scenario::read_policy;

use crate::arguments::Apply;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::{routers, terminal};

pub(crate) fn apply(arguments: &Apply) -> Result<Exit, Failure> {
    let (origin, text) = super::route::read(&arguments.file)?;
    // The policy is read here too, so that problems are shown with their positions.
    let policy = read_policy(&text, &origin).map_err(|problems| Failure::Scenario(Box::new(problems)))?;
    terminal::warnings(&policy.warnings);
    let request = Request::Apply {
        origin,
        policy: text,
        confirm_within_ms: arguments.confirm_within.as_deref().map(milliseconds).transpose()?,
        revert_if: arguments.revert_if.clone(),
        dry_run: arguments.dry_run,
    };
    match routers::ask(&arguments.router, &request)? {
        Answer::Changed(mut changed) => {
            changed.warnings.clear();
            routers::changed(&changed);
            if let Some(trial) = &changed.trial {
                say!("{}", routers::trial(trial));
                say!("`lockgate confirm` keeps it, `lockgate rollback` ends it now");
            }
            Ok(Exit::Ok)
        }
        Answer::Difference(changed) if changed.difference.is_empty() => {
            say!("no line differs from policy {}, which runs", changed.number);
            Ok(Exit::Ok)
        }
        Answer::Difference(changed) => {
            routers::difference(&changed);
            say!("{} of policy {}, which goes on running", routers::lines(&changed), changed.number);
            Ok(Exit::Ok)
        }
        _ => Err(routers::misplaced()),
    }
}

/// Parses the time of `--confirm-within`.
fn milliseconds(text: &str) -> Result<u64, Failure> {
    let time: Duration = text
        .parse()
        .map_err(|error| Failure::usage(format!("--confirm-within: {error}"), "write a time such as 120s"))?;
    Ok(time.as_picos() / 1_000_000_000)
}
