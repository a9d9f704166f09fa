//! Forms of answers. Long texts are sent in parts of one copy, and those in memory at once are limited.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use lockgate_session::Refused;
use serde_json::{Value, json};

/// Length of a part in bytes: what a connection holds of an answer besides the shared text.
const PART: usize = 32 << 10;

/// Length in bytes from which a text counts as long.
pub(super) const LONG: usize = 1 << 20;

/// Limit on the bytes of all long texts that readers have not yet read. One alone may exceed it.
const IN_FLIGHT: usize = 256 << 20;

/// Bytes of long texts in memory.
static IN_MEMORY: AtomicUsize = AtomicUsize::new(0);

/// A long text, counted as long as an answer or a cache holds it.
struct Counted(String);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        IN_MEMORY.fetch_sub(self.0.len(), Ordering::Relaxed);
    }
}

/// Returns a text for any number of answers; `None` if readers hold too much already.
pub(super) fn shared(text: String) -> Option<Bytes> {
    if text.len() < LONG {
        return Some(text.into());
    }
    let before = IN_MEMORY.fetch_add(text.len(), Ordering::Relaxed);
    let counted = Counted(text);
    (before == 0 || before + counted.0.len() <= IN_FLIGHT).then(|| Bytes::from_owner(counted))
}

/// Returns a refusal in the common form.
pub(super) fn refuse(status: StatusCode, message: &str, help: &str) -> impl IntoResponse + use<> {
    answer(status, &json!(Refused::because(message, help)))
}

/// Returns the refusal of an answer that would take too much memory.
pub(super) fn too_much() -> Response {
    let help = "try again when slow readers are done, or ask for less";
    refuse(StatusCode::SERVICE_UNAVAILABLE, "too much is being read", help).into_response()
}

/// Returns an answer in JSON.
pub(super) fn answer(status: StatusCode, value: &Value) -> Response {
    text(status, "application/json", value.to_string())
}

/// Returns an answer of this content type.
pub(super) fn text(status: StatusCode, kind: &'static str, body: String) -> Response {
    shared(body).map_or_else(too_much, |body| parts(status, kind, [body, Bytes::new()]))
}

/// Returns an answer of this content type that is two shared texts, one behind the other.
pub(super) fn parts(status: StatusCode, kind: &'static str, texts: [Bytes; 2]) -> Response {
    let length = texts[0].len() + texts[1].len();
    let rest = futures_util::stream::unfold(texts, |[text, next]| async move {
        let (mut text, next) = if text.is_empty() { (next, Bytes::new()) } else { (text, next) };
        if text.is_empty() {
            return None;
        }
        // A connection copies the part that it is given: not the whole text.
        let part = text.split_to(text.len().min(PART));
        Some((Ok::<_, Infallible>(part), [text, next]))
    });
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_LENGTH, length.to_string())];
    (status, headers, Body::from_stream(rest)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_in_memory_are_limited_and_short_ones_never() {
        let text = |mebibytes: usize| "x".repeat(mebibytes << 20);
        let first = shared(text(200)).expect("the first");
        let again = first.clone();
        assert!(shared(text(100)).is_none(), "more than the limit together");
        let second = shared(text(56)).expect("as much as the limit");
        assert!(shared("short".to_owned()).is_some());
        drop((first, second));
        assert!(shared(text(100)).is_none(), "a clone holds the text");
        drop(again);
        assert!(shared(text(300)).is_some(), "one alone");
        assert_eq!(IN_MEMORY.load(Ordering::Relaxed), 0);
    }
}
