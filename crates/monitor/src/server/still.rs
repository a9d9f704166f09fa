//! One page without a session, such as the playground, which asks its server for nothing further.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;

use super::answer::parts;
use super::guard::{Guard, check};
use crate::Error;

/// Serves this page at `address`, on a thread of its own as long as the process lives. Only browsers that
/// name the server by its address, or as `localhost`, are answered. Returns the address, with the port that
/// replaced 0.
///
/// # Errors
/// [`Error::Listen`] if the address cannot be bound, [`Error::Thread`] if the system refuses the thread.
pub fn start_page(address: SocketAddr, page: String) -> Result<SocketAddr, Error> {
    super::listen(address, router(page))
}

fn router(page: String) -> Router {
    let guard = Arc::new(Guard { names: Vec::new(), token: None, read_only: None });
    Router::new()
        .route("/", get(whole))
        .with_state(Bytes::from(page))
        .layer(axum::middleware::from_fn_with_state(guard, check))
}

async fn whole(State(page): State<Bytes>) -> Response {
    parts(StatusCode::OK, "text/html; charset=utf-8", [page, Bytes::new()])
}
