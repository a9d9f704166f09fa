//! Requests to running routers, and the printing of their answers.

use lockgate::figures::count;
use lockgate_measure::monitor::Sample;
use lockgate_router::control::protocol::{Answer, Changed, Request, Status, TrialStatus};
#[cfg(target_os = "linux")]
use lockgate_router::control::protocol::{Cause, Refusal};

use crate::arguments::RouterName;
use crate::exit::Failure;
use crate::output::{say, tell};

/// Sends a request to a router and returns its answer.
pub(crate) fn ask(router: &RouterName, request: &Request) -> Result<Answer, Failure> {
    Connection::open(router)?.ask(request)
}

/// Connection to a running router.
pub(crate) struct Connection {
    #[cfg(target_os = "linux")]
    client: lockgate_router::control::client::Client,
}

#[cfg(target_os = "linux")]
impl Connection {
    /// Connects to a router.
    pub(crate) fn open(router: &RouterName) -> Result<Self, Failure> {
        use lockgate_router::control::client::{Client, ClientError};
        use lockgate_router::control::directories::Environment;

        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_root = rustix::process::geteuid().is_root();
        let environment = Environment { is_root, variable: &variable };
        let client = Client::find(router.name.as_deref(), environment).map_err(|error| match error {
            ClientError::Several(_) => Failure::usage(&error, error.help()),
            _ => Failure::run(&error, error.help()),
        })?;
        Ok(Self { client })
    }

    /// Sends a request and returns its answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        let answer = self.client.ask(request).map_err(|error| Failure::run(&error, error.help()))?;
        match answer {
            Answer::Refused(Refusal { cause: Cause::Usage, message, help }) => {
                Err(Failure::usage(message, help))
            }
            Answer::Refused(Refusal { message, help, .. }) => Err(Failure::run(message, help)),
            answer => Ok(answer),
        }
    }

    /// Returns the state of the router.
    pub(crate) fn status(&mut self) -> Result<Status, Failure> {
        match self.ask(&Request::Status {})? {
            Answer::Status(status) => Ok(*status),
            _ => Err(misplaced()),
        }
    }

    /// Returns the newest sample if it is later than the one with number `after`.
    pub(crate) fn sample(&mut self, after: Option<u64>) -> Result<Option<Box<Sample>>, Failure> {
        match self.ask(&Request::Sample { after })? {
            Answer::Sample(sample) => Ok(sample),
            _ => Err(misplaced()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Connection {
    pub(crate) fn open(_: &RouterName) -> Result<Self, Failure> {
        Err(linux_alone())
    }

    pub(crate) fn ask(&mut self, _: &Request) -> Result<Answer, Failure> {
        Err(linux_alone())
    }

    pub(crate) fn status(&mut self) -> Result<Status, Failure> {
        Err(linux_alone())
    }

    pub(crate) fn sample(&mut self, _: Option<u64>) -> Result<Option<Box<Sample>>, Failure> {
        Err(linux_alone())
    }
}

/// Returns the failure of a platform without routers.
#[cfg(not(target_os = "linux"))]
fn linux_alone() -> Failure {
    Failure::Missing { message: "routers run on Linux alone".to_owned(), help: "use a Linux host".to_owned() }
}

/// Returns the failure of an answer that does not match its request.
pub(crate) fn misplaced() -> Failure {
    Failure::run("the router's answer is not of this request", "is it of the same version as this command?")
}

/// Prints a change: its difference, and its effect.
pub(crate) fn changed(changed: &Changed) {
    for warning in &changed.warnings {
        tell!("warning: {warning}");
    }
    if changed.difference.is_empty() {
        say!("policy {} (`{}`) runs: no line differs", changed.number, changed.origin);
        return;
    }
    difference(changed);
    say!(
        "policy {} (`{}`) runs: {}; {} moved, {} forced out by smaller limits",
        changed.number,
        changed.origin,
        lines(changed),
        count(changed.applied.moved_packets, "packet"),
        changed.applied.forced_out_packets
    );
}

/// Prints the difference of a change.
pub(crate) fn difference(changed: &Changed) {
    say!("{}", crate::terminal::visible(changed.difference.trim_end()));
}

/// Formats the numbers of lines that differ.
pub(crate) fn lines(changed: &Changed) -> String {
    format!("{} added, {} removed", count(changed.added as u64, "line"), changed.removed)
}

/// Formats the end of a trial.
pub(crate) fn trial(trial: &TrialStatus) -> String {
    let condition = trial.revert_if.as_ref().map(|text| format!(", or if `{text}`")).unwrap_or_default();
    let seconds = trial.left_ms.div_ceil(1000);
    format!("on trial: reverted at {} (in {seconds} s) unless confirmed{condition}", trial.until)
}
