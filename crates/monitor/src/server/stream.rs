//! The stream of samples as server-sent events: batches, some twenty a second.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, timeout};

use super::Shared;
use super::answer::refuse;
use super::slots::{Phase, Progress};
use crate::hub::Frame;
use crate::{Frames, Hub};
use lockgate_session::Status;

/// Shortest time between batches.
const GAP: Duration = Duration::from_millis(50);

/// Silence after which a comment is sent to keep the stream alive.
const SILENCE: Duration = Duration::from_secs(2);

/// Readers at once: half of the connections, so that the other half serves requests.
const STREAMS: usize = super::CONNECTIONS / 2;

/// Counts a reader as long as it lives.
struct Reader(Arc<Hub>);

impl Reader {
    fn new(hub: Arc<Hub>) -> Self {
        hub.streams.fetch_add(1, Ordering::Relaxed);
        Self(hub)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// State of one reader's stream.
struct Stream {
    reader: Reader,
    frames: Frames,
    /// Last status sent to it.
    known: Option<Arc<Status>>,
    last: Instant,
    over: bool,
}

pub(super) async fn stream(
    State(shared): State<Shared>,
    Extension(progress): Extension<Progress>,
) -> Response {
    if shared.hub.streams.load(Ordering::Relaxed) >= STREAMS {
        let help = "close another page of this run";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many read the stream already", help)
            .into_response();
    }
    progress.reach(Phase::Streaming);
    let frames = shared.hub.subscribe();
    let reader = Reader::new(shared.hub.clone());
    let stream = Stream { reader, frames, known: None, last: Instant::now() - GAP, over: false };
    let parts = futures_util::stream::unfold(stream, |stream| async move {
        let (text, stream) = stream.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), stream))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(parts)).into_response()
}

impl Stream {
    async fn next(mut self) -> Option<(String, Self)> {
        if self.over {
            return None;
        }
        tokio::time::sleep_until(self.last + GAP).await;
        let mut batch: Vec<Frame> = Vec::new();
        let mut missed = 0;
        match timeout(SILENCE, self.frames.recv()).await {
            Ok(Ok(frame)) => batch.push(frame),
            Ok(Err(RecvError::Lagged(lost))) => missed += lost,
            Ok(Err(RecvError::Closed)) => self.over = true,
            Err(_) => {}
        }
        loop {
            match self.frames.try_recv() {
                Ok(frame) => batch.push(frame),
                Err(TryRecvError::Lagged(lost)) => missed += lost,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        self.last = Instant::now();
        let mut text = String::new();
        if missed > 0 {
            let _ = write!(text, "event: missed\ndata: {missed}\n\n");
        }
        if !batch.is_empty() {
            let parts: Vec<&str> = batch.iter().map(|frame| &**frame.json()).collect();
            let _ = write!(text, "event: samples\ndata: [{}]\n\n", parts.join(","));
        }
        let status = self.reader.0.status();
        if self.known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &status)) {
            let json = serde_json::to_string(&status.for_readers()).unwrap_or_default();
            let _ = write!(text, "event: status\ndata: {json}\n\n");
            self.known = Some(status);
        }
        if text.is_empty() {
            text.push_str(": alive\n\n");
        }
        Some((text, self))
    }
}
