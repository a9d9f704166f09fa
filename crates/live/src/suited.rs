//! What a scenario may not ask of a live run: applications that only the simulator has.

use lockgate_scenario::{Application, Scenario, TcpModel, Transport};

use crate::failure::Failure;

/// Whether real packets can do what `scenario` asks.
///
/// # Errors
/// [`Failure::Unsuited`] with the first flow that cannot be had.
pub fn check(scenario: &Scenario) -> Result<(), Failure> {
    for flow in &scenario.flows {
        let (key, what) = match flow.transport {
            _ if flow.ftp.is_some() => ("ftp", "speak FTP"),
            _ if flow.echo => ("echo", "answer echoes"),
            Transport::Tcp(TcpModel { application: Application::Pages { .. }, .. }) => {
                ("pages", "serve pages")
            }
            _ => continue,
        };
        return Err(Failure::Unsuited {
            what: format!("the hosts of live runs do not {what}, which flow `{}` asks for", flow.name),
            help: format!("simulate it (leave `--live` out), or leave `{key}` out"),
        });
    }
    Ok(())
}
