//! `lockgate confirm`: keeps the policy that is on trial.

use lockgate_router::control::protocol::{Answer, Request};

use crate::arguments::Confirm;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::routers;

pub(crate) fn confirm(arguments: &Confirm) -> Result<Exit, Failure> {
    match routers::ask(&arguments.router, &Request::Confirm {})? {
        Answer::Confirmed { number } => {
            say!("policy {number} is confirmed");
            Ok(Exit::Ok)
        }
        _ => Err(routers::misplaced()),
    }
}
