//! HTTP server of a session: the page, the state, the stream, the knobs, and exports for other programs.
//!
//! ```text
//! accept (128 slots) -> request within 10 s -> Host, Origin -> token -> handler -> answer within 10 s
//! ```
//!
//! If all slots are taken, a slow connection loses its slot to a new one (`slots`), so that no number of slow
//! clients delays a reader or a knob.
//!
//! A connection carries one request. The deadline covers all of it, from accepting to the last byte. Only for
//! the stream, each write has a deadline of its own, and a change that the run has begun is answered however
//! long it takes. Long texts are shared by their readers, and those in memory are limited (`answer`). A
//! reader that falls behind the stream loses samples; the stream carries their number.

mod answer;
mod api;
mod export;
mod guard;
mod openapi;
mod slots;
mod still;
mod stream;

use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;

use crate::{Error, Hub};
pub use api::is_pace;
pub use guard::{Guard, fresh_token};
use slots::{Phase, Progress, Slot, Slots};
pub use still::start_page;

/// Connections at once.
const CONNECTIONS: usize = 128;

/// Time limit of a whole request and its answer, and of one write of the stream.
const DEADLINE: Duration = Duration::from_secs(10);

/// Size of the kernel's send buffer for an answer, in bytes.
const SEND_BUFFER: usize = 64 << 10;

/// Longest body in bytes.
const BODY: usize = 64 << 10;

/// State shared by all handlers.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The hub whose samples are served.
    pub hub: Arc<Hub>,
    /// Access rules.
    pub guard: Arc<Guard>,
    /// The page in HTML, such as [`page`] returns.
    pub page: Arc<str>,
    /// Returns the current time as ISO 8601 in UTC, for the head of a saved session.
    pub now: fn() -> String,
}

/// Returns the page of reports in `template`, set to load a running session instead.
pub fn page(template: &str) -> String {
    let data = r#"<script type="application/json" id="lockgate-data">{"live":true}</script>"#;
    let live = template.replacen(lockgate_measure::report::MARKER, data, 1);
    live.replacen("default-src 'none';", "default-src 'none'; connect-src 'self';", 1)
}

/// Listens at `address` and serves on a thread of its own as long as the process lives. Returns the address,
/// with the port that replaced 0.
///
/// # Errors
/// [`Error::Listen`] if the address cannot be bound, [`Error::Thread`] if the system refuses the thread.
pub fn start(address: SocketAddr, shared: Shared) -> Result<SocketAddr, Error> {
    listen(address, api::router(shared))
}

/// Listens at `address` and answers by these routes, on a thread of its own.
fn listen(address: SocketAddr, router: axum::Router) -> Result<SocketAddr, Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = StdListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let serve = move || {
        runtime.block_on(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                serve(listener, router).await;
            }
        });
    };
    std::thread::Builder::new().name("page".to_owned()).spawn(serve).map_err(Error::Thread)?;
    Ok(bound)
}

async fn serve(listener: TcpListener, router: axum::Router) {
    let slots = Slots::new(CONNECTIONS);
    loop {
        let Ok((connection, from)) = listener.accept().await else {
            // Out of file descriptors, or the connection has already gone.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Some(slot) = slots.take(from.ip()) else { continue };
        let router = router.clone();
        tokio::spawn(async move {
            let replaced = pin!(slot.replaced.notified());
            let conversation = pin!(converse(connection, router, &slot));
            futures_util::future::select(replaced, conversation).await;
        });
    }
}

async fn converse(connection: TcpStream, router: axum::Router, slot: &Slot) {
    let _ = connection.set_nodelay(true);
    // A full buffer shows that a client does not read; from then on the client costs nothing. The kernel's
    // default would grow to megabytes, which hold a minute of samples.
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&connection, SEND_BUFFER);
    let mut connection = TimeoutStream::new(connection);
    connection.set_write_timeout(Some(DEADLINE));
    let service = TowerToHyperService::new(router.layer(axum::Extension::<Progress>(slot.progress.clone())));
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(DEADLINE).keep_alive(false).max_buf_size(32 << 10);
    let talk = builder.serve_connection(TokioIo::new(Box::pin(connection)), service);
    tokio::pin!(talk);
    if tokio::time::timeout(DEADLINE, &mut talk).await.is_err() && slot.progress.phase() >= Phase::Streaming {
        let _ = talk.await;
    }
}
