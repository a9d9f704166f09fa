//! `lockgate rollback`: goes back to a policy that was confirmed earlier.

use lockgate_router::control::protocol::{Answer, Request};

use crate::arguments::Rollback;
use crate::exit::{Exit, Failure};
use crate::routers;

pub(crate) fn rollback(arguments: &Rollback) -> Result<Exit, Failure> {
    match routers::ask(&arguments.router, &Request::Rollback { steps: arguments.steps })? {
        Answer::Changed(changed) => {
            routers::changed(&changed);
            Ok(Exit::Ok)
        }
        _ => Err(routers::misplaced()),
    }
}
