//! The session over HTTP: the page, the state, the stream, the knobs, and exports for other programs.
//!
//! ```text
//! accept (128 slots) -> whole request within 10 s -> Host, Origin -> token -> handler -> whole answer within 10 s
//! ```
//!
//! A connection that is slow to send or to read loses its slot to a new one as soon as all are taken (`slots`), so no
//! number of them makes a reader or a knob wait.
//!
//! One request a connection. The deadline is for all of it, from accepting to the last byte, but for the stream,
//! where each write has its own; a stream that falls behind loses samples, which it is told.

mod api;
mod guard;
mod openapi;
mod slots;
mod stream;

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;

use super::Hub;
pub(crate) use api::is_pace;
pub(crate) use guard::Guard;
use slots::{Phase, Progress, Slot, Slots};

/// Connections at once.
pub(crate) const CONNECTIONS: usize = 128;

/// How long a request may take, all in all; and how long one write of the stream.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// Bytes of an answer that wait for their reader in the kernel, at most.
const SEND_BUFFER: usize = 64 << 10;

/// Longest body.
pub(crate) const BODY: usize = 64 << 10;

/// What handlers need.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) hub: Arc<Hub>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) page: Arc<str>,
}

/// Listens at `address` and serves in a thread of its own for as long as the process lives. Returns the
/// address, with its port where that was 0.
///
/// # Errors
/// Where the address cannot be listened at.
pub(crate) fn start(address: SocketAddr, shared: Shared) -> io::Result<SocketAddr> {
    let listener = StdListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                serve(listener, shared).await;
            }
        });
    });
    Ok(address)
}

async fn serve(listener: TcpListener, shared: Shared) {
    let slots = Slots::new(CONNECTIONS);
    let router = api::router(shared);
    loop {
        let Ok((connection, from)) = listener.accept().await else {
            // Out of descriptors, or a connection that was gone already.
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
    // Who does not read is noticed when this is full, and costs nothing from then on. Left to itself, the kernel would
    // let it grow to megabytes: a minute of samples.
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&connection, SEND_BUFFER);
    let mut connection = TimeoutStream::new(connection);
    connection.set_write_timeout(Some(DEADLINE));
    let service = TowerToHyperService::new(router.layer(axum::Extension::<Progress>(slot.progress.clone())));
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(DEADLINE).keep_alive(false).max_buf_size(32 << 10);
    let talk = builder.serve_connection(TokioIo::new(Box::pin(connection)), service);
    tokio::pin!(talk);
    if tokio::time::timeout(DEADLINE, &mut talk).await.is_err() && slot.progress.phase() == Phase::Streaming {
        let _ = talk.await;
    }
}
