//! `lockgate export`: parts of a scenario for other uses.

use lockgate::files::Beside;
use lockgate_scenario::MEMORY;
use lockgate_scenario::policy_text::{Exported, exported};

use super::new::create;
use crate::arguments::ExportPolicy;
use crate::exit::{Exit, Failure};
use crate::output::{self, say};
use crate::runs;

pub(crate) fn policy(arguments: &ExportPolicy) -> Result<Exit, Failure> {
    let scenario = runs::read_file(&arguments.file, &arguments.overrides, MEMORY)?;
    let ports = Exported {
        port: &arguments.port,
        arriving: arguments.arriving.as_deref(),
        interface: &arguments.interface,
    };
    let text = exported(&scenario, ports, &Beside::new(&arguments.file)).map_err(|why| {
        Failure::run(why, "`lockgate check` lists the ports of a scenario; a policy has addresses in its rules, no names of nodes")
    })?;
    let Some(to) = &arguments.to else {
        output::document(text.as_bytes());
        return Ok(Exit::Ok);
    };
    create(to, &text)?;
    let shown = to.display();
    say!("{shown}: the policy of `{}`", arguments.port);
    say!("next:  lockgate check {shown}");
    say!("       lockgate route {shown} --dry-run");
    Ok(Exit::Ok)
}
