//! Live view of a running run or router: lines or a screen in the terminal, a page by HTTP.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use lockgate::figures;
use lockgate_monitor::server::{self, Guard, Shared, fresh_token};
use lockgate_monitor::view::lines::{self, Part};
use lockgate_monitor::view::{self, Messages};
use lockgate_monitor::{Frames, Hub};

use crate::exit::Failure;
use crate::output::{document, has_no_reader, say, tell};
use crate::{interrupt, results};

/// Options of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// Address of the page, if there is one.
    pub(crate) web: Option<SocketAddr>,
    /// Names by which the page is reached besides its address.
    pub(crate) names: &'a [String],
    /// Way to change the run, if the page cannot.
    pub(crate) read_only: Option<&'static str>,
    /// True if the page changes this host's kernel: also on loopback, only with a token.
    pub(crate) changes_host: bool,
    /// True for lines instead of a screen.
    pub(crate) plain: bool,
    /// True for lines of JSON.
    pub(crate) json: bool,
    /// Effect of the key `q`, in words.
    pub(crate) quits: &'static str,
}

/// Serves the session. Returns the line with its address, for the user.
pub(crate) fn serve(address: SocketAddr, view: &View<'_>, hub: &Arc<Hub>) -> Result<String, Failure> {
    let given = std::env::var("LOCKGATE_TOKEN").ok().filter(|token| !token.is_empty());
    let needs_token = !address.ip().is_loopback() || view.changes_host;
    let token = match given {
        None if needs_token => Some(fresh_token()?),
        given => given,
    };
    let names = view.names.to_vec();
    let guard = Arc::new(Guard { names, token: token.clone(), read_only: view.read_only });
    let page = server::page(&results::template()).into();
    let shared = Shared { hub: hub.clone(), guard, page, now: results::now };
    let address = server::start(address, shared)?;
    // An unspecified address means every address of this host, and no browser can open it.
    let shown = if address.ip().is_unspecified() {
        format!("localhost:{}", address.port())
    } else {
        address.to_string()
    };
    Ok(match token {
        Some(token) if needs_token => format!("page: http://{shown}/#token={token}"),
        _ => format!("page: http://{shown}/"),
    })
}

/// Starts a thread called `name`.
pub(crate) fn scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, lockgate_monitor::Error> {
    let builder = Builder::new().name(name.to_owned());
    builder.spawn_scoped(scope, work).map_err(lockgate_monitor::Error::Thread)
}

/// True if samples are printed as lines: also on a terminal that can only print lines.
pub(crate) fn is_plain(options: &View<'_>) -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    options.plain
        || options.json
        || is_dumb
        || !std::io::stdout().is_terminal()
        || !std::io::stdin().is_terminal()
}

/// Shows the samples until the run ends, or the user ends the view.
pub(crate) fn show(
    options: &View<'_>,
    hub: &Arc<Hub>,
    frames: Frames,
    messages: Messages,
) -> Result<(), Failure> {
    if is_plain(options) {
        // The page stays after the reader of the lines has gone.
        let outlives = options.web.is_some();
        let mut print = |part: Part<'_>| {
            match part {
                Part::Line(line) if options.json => document(format!("{line}\n").as_bytes()),
                Part::Line(line) => say!("{line}"),
                Part::Missed(samples) => tell!("{} missed", figures::count(samples, "sample")),
            }
            if outlives || !has_no_reader() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        lines::print(hub, frames, options.json, interrupt::flag(), &mut print);
        return Ok(());
    }
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Ok(view::show(hub, frames, (colour, options.quits), interrupt::flag(), messages)?)
}
