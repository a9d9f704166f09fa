//! Client of the server: sets values of a run from another process.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Error;

/// Timeout of the whole exchange, longer than the server's own.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(15);

/// Longest answer in bytes.
const ANSWER: usize = 1 << 20;

/// Setting of a run that a server shows.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Values as `PATH=VALUE`, applied all at once or not at all.
    pub values: Vec<String>,
    /// Time after which the previous values are restored, such as `30s`.
    pub lasting: Option<String>,
    /// Token of the server.
    pub token: Option<String>,
}

/// Sets values of the run that is served at `address`. Returns the server's answer: `at_s`, `before` and
/// `until_s` of the accepted setting, or the `problems` of a refused one.
///
/// # Errors
/// [`Error::Client`] without an answer in JSON within 15 s.
pub fn set(address: SocketAddr, setting: &Setting) -> Result<Value, Error> {
    let mut wanted = json!({ "set": setting.values });
    if let Some(lasting) = &setting.lasting {
        wanted["for"] = json!(lasting);
    }
    let failed = |why: String| Error::Client { address, why };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(error.to_string()))?;
    let post = post(address, setting.token.as_deref(), wanted.to_string());
    match runtime.block_on(async { timeout(EXCHANGE_TIMEOUT, post).await }) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(why)) => Err(failed(why)),
        Err(_) => Err(failed("no answer in time".to_owned())),
    }
}

async fn post(address: SocketAddr, token: Option<&str>, body: String) -> Result<Value, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let connection = TcpStream::connect(address).await.map_err(|error| words(&error))?;
    let (mut sender, talk) = hyper::client::conn::http1::handshake(TokioIo::new(connection))
        .await
        .map_err(|error| words(&error))?;
    tokio::spawn(async move {
        let _ = talk.await;
    });
    let mut request = Request::post("/api/set")
        .header(header::HOST, address.to_string())
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Body::from(body)).map_err(|error| words(&error))?;
    let response = sender.send_request(request).await.map_err(|error| words(&error))?;
    let bytes = to_bytes(Body::new(response.into_body()), ANSWER).await.map_err(|error| words(&error))?;
    serde_json::from_slice(&bytes).map_err(|_| "that is no Lockgate".to_owned())
}
