//! `lockgate set`: sets values of a run that `lockgate watch --web` shows.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::arguments::Set;
use crate::exit::{Exit, Failure};
use crate::output::say;

/// Timeout of the whole exchange, longer than the server's own.
const PATIENCE: Duration = Duration::from_secs(15);

/// Longest answer in bytes.
const ANSWER: usize = 1 << 20;

pub(crate) fn set(arguments: &Set) -> Result<Exit, Failure> {
    let mut wanted = json!({ "set": arguments.settings });
    if let Some(lasting) = &arguments.lasting {
        wanted["for"] = json!(lasting);
    }
    let failed = |error: String| {
        let help = "does `lockgate watch --web` run there? name its address with --to";
        Failure::run(format!("nothing was set at {}: {error}", arguments.to), help)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(error.to_string()))?;
    let asked = runtime.block_on(async { timeout(PATIENCE, ask(arguments, wanted.to_string())).await });
    let answer = match asked {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(failed(error)),
        Err(_) => return Err(failed("no answer in time".to_owned())),
    };
    if arguments.json {
        say!("{answer}");
    }
    if let Some(problems) = answer["problems"].as_array() {
        let text = |problem: &Value, key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        let messages: Vec<String> = problems.iter().map(|problem| text(problem, "message")).collect();
        let help = problems.first().map(|problem| text(problem, "help")).unwrap_or_default();
        return Err(Failure::usage(messages.join("; "), help));
    }
    if !arguments.json {
        let at = answer["at_s"].as_f64().unwrap_or_default();
        let before: Vec<&str> =
            answer["before"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let was = if before.is_empty() { String::new() } else { format!(" (was {})", before.join(", ")) };
        let until =
            answer["until_s"].as_f64().map(|until| format!(", until {until:.3} s")).unwrap_or_default();
        say!("set at {at:.3} s of the run{until}{was}");
    }
    Ok(Exit::Ok)
}

async fn ask(arguments: &Set, body: String) -> Result<Value, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let connection = TcpStream::connect(arguments.to).await.map_err(|error| words(&error))?;
    let (mut sender, talk) = hyper::client::conn::http1::handshake(TokioIo::new(connection))
        .await
        .map_err(|error| words(&error))?;
    tokio::spawn(async move {
        let _ = talk.await;
    });
    let mut request = Request::post("/api/set")
        .header(header::HOST, arguments.to.to_string())
        .header(header::CONTENT_TYPE, "application/json");
    if let Ok(token) = std::env::var("LOCKGATE_TOKEN") {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Body::from(body)).map_err(|error| words(&error))?;
    let response = sender.send_request(request).await.map_err(|error| words(&error))?;
    let bytes = to_bytes(Body::new(response.into_body()), ANSWER).await.map_err(|error| words(&error))?;
    serde_json::from_slice(&bytes).map_err(|_| "that is no Lockgate".to_owned())
}
