//! Forms of answers.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use lockgate_session::Refused;
use serde_json::{Value, json};

/// Returns a refusal in the common form.
pub(super) fn refuse(status: StatusCode, message: &str, help: &str) -> impl IntoResponse + use<> {
    answer(status, &json!(Refused::because(message, help)))
}

/// Returns an answer in JSON.
pub(super) fn answer(status: StatusCode, value: &Value) -> Response {
    text(status, "application/json", value.to_string())
}

/// Returns an answer of this content type.
pub(super) fn text(status: StatusCode, kind: &'static str, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
