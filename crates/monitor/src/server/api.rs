//! Handlers of requests.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use lockgate_engine::units::Duration;
use lockgate_session::{LONGEST_INTERVAL, SHORTEST_INTERVAL, exports, saved};
use serde::Deserialize;
use serde_json::json;

use super::answer::{answer, parts, refuse, text, too_much};
use super::export::Export;
use super::slots::{Phase, Progress};
use super::{BODY, Shared, guard, openapi, stream};
use crate::{Command, fold};

/// Samples returned by one request at most.
const MOST_SAMPLES: usize = 10_000;

/// Queues returned by one search, unless the request states a number, and at most.
const SEARCHED: usize = 50;
const MOST_SEARCHED: usize = 1000;

/// Exports whose texts their readers share.
#[derive(Clone)]
struct Exports {
    metrics: Arc<Export>,
    tc: Arc<Export>,
}

/// Longest mark, in characters.
const LONGEST_MARK: usize = 200;

pub(super) fn router(shared: Shared) -> Router {
    let changing = Router::new()
        .route("/api/set", post(set))
        .route("/api/control", post(control))
        .route("/api/mark", post(mark))
        .route_layer(middleware::from_fn_with_state(shared.clone(), guard::check_change));
    Router::new()
        .merge(changing)
        .route("/", get(page))
        .route("/api/state", get(state))
        .route("/api/samples", get(samples))
        .route("/api/past", get(past))
        .route("/api/queues", get(queues))
        .route("/api/knobs", get(knobs))
        .route("/api/stream", get(stream::stream))
        .route("/api/events", get(events))
        .route("/api/scenario", get(scenario))
        .route("/api/report", get(report))
        .route("/api/tc", get(tc))
        .route("/api/openapi.json", get(openapi))
        .route("/metrics", get(metrics))
        .layer(Extension(Exports {
            metrics: Export::new(exports::prometheus_queues),
            tc: Export::new(|sample| exports::tc(sample).to_string()),
        }))
        .fallback(absent)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(shared.guard.clone(), guard::check))
        .layer(middleware::from_fn(whole_request))
        .with_state(shared)
}

async fn absent() -> Response {
    refuse(StatusCode::NOT_FOUND, "there is nothing here", "see /api/openapi.json").into_response()
}

async fn wrong_method() -> Response {
    refuse(StatusCode::METHOD_NOT_ALLOWED, "not by this method", "see /api/openapi.json").into_response()
}

/// A page that its readers share.
struct Page(Arc<str>);

impl AsRef<[u8]> for Page {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

fn html(page: Arc<str>) -> Response {
    parts(StatusCode::OK, "text/html; charset=utf-8", [Bytes::from_owner(Page(page)), Bytes::new()])
}

async fn page(State(shared): State<Shared>) -> Response {
    html(shared.page.clone())
}

async fn report(State(shared): State<Shared>) -> Response {
    if let Some(report) = shared.hub.report() {
        return html(report);
    }
    let wait = "wait for the end of the run; a router and the kernel's queues have none";
    refuse(StatusCode::NOT_FOUND, "there is no report yet", wait).into_response()
}

async fn state(State(shared): State<Shared>) -> Response {
    // Before the status, which a run publishes before the sample: no sample is later than the knobs.
    let (events, latest) = (shared.hub.events(), shared.hub.latest());
    let status = shared.hub.status();
    let mut value = json!(status.for_readers());
    value["changes_need_token"] = json!(shared.guard.token.is_some());
    value["read_only"] = json!(shared.guard.read_only.is_some());
    value["events"] = json!(events);
    value["sample"] = json!(latest.as_ref().map(|frame| &*frame.shown));
    answer(StatusCode::OK, &value)
}

#[derive(Deserialize)]
struct Range {
    after: Option<f64>,
    most: Option<usize>,
}

async fn samples(
    State(shared): State<Shared>,
    range: Result<Query<Range>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(range)) = range else {
        return refuse(StatusCode::BAD_REQUEST, "not a range", "after: seconds, most: a number")
            .into_response();
    };
    let after = range.after.filter(|after| !after.is_nan()).unwrap_or(f64::NEG_INFINITY);
    let parts = shared.hub.since(after, range.most.unwrap_or(MOST_SAMPLES).min(MOST_SAMPLES));
    text(StatusCode::OK, "application/json", format!("[{}]", parts.join(",")))
}

#[derive(Deserialize)]
struct OfPort {
    port: usize,
}

/// Returns the last hour of a port's queues.
async fn past(
    State(shared): State<Shared>,
    of: Result<Query<OfPort>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(of)) = of else {
        return refuse(StatusCode::BAD_REQUEST, "not a port", "port: its index, from 0").into_response();
    };
    answer(StatusCode::OK, &json!(shared.hub.past(of.port)))
}

#[derive(Deserialize)]
struct Search {
    #[serde(default, rename = "match")]
    text: String,
    most: Option<usize>,
}

/// Returns the queues of the latest sample with this text, and keeps them in the following ones.
async fn queues(
    State(shared): State<Shared>,
    search: Result<Query<Search>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(search)) = search else {
        return refuse(StatusCode::BAD_REQUEST, "not a search", "match: part of a name, most: a number")
            .into_response();
    };
    shared.hub.follow(&search.text);
    let most = search.most.unwrap_or(SEARCHED).min(MOST_SEARCHED);
    let latest = shared.hub.latest();
    let text = search.text.to_lowercase();
    let found = latest.as_ref().map(|frame| fold::search(&frame.sample, &text, most));
    answer(StatusCode::OK, &json!(found.unwrap_or_default()))
}

#[derive(Deserialize)]
struct OfQueue {
    port: String,
    queue: String,
}

async fn knobs(
    State(shared): State<Shared>,
    of: Result<Query<OfQueue>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(of)) = of else {
        return refuse(StatusCode::BAD_REQUEST, "not a queue", "port and queue: their names").into_response();
    };
    let status = shared.hub.status();
    match status.of_queue(&of.port, &of.queue) {
        Some((port, link)) => answer(StatusCode::OK, &json!({ "port": port, "link": link })),
        None => refuse(StatusCode::NOT_FOUND, "there is no such port", "see /api/queues").into_response(),
    }
}

async fn events(State(shared): State<Shared>) -> Response {
    answer(StatusCode::OK, &json!(shared.hub.events()))
}

async fn scenario(State(shared): State<Shared>) -> Response {
    text(StatusCode::OK, "application/toml; charset=utf-8", saved(&shared.hub.status(), &(shared.now)()))
}

async fn tc(State(shared): State<Shared>, Extension(exports): Extension<Exports>) -> Response {
    let sample = shared.hub.latest().map(|frame| frame.sample);
    let Some(all) = exports.tc.text(sample).await else { return too_much() };
    parts(StatusCode::OK, "application/json", [all, Bytes::new()])
}

async fn openapi() -> Response {
    answer(StatusCode::OK, &openapi::document())
}

async fn metrics(State(shared): State<Shared>, Extension(exports): Extension<Exports>) -> Response {
    let (sample, hub) = (shared.hub.latest().map(|frame| frame.sample), &shared.hub);
    let Some(queues) = exports.metrics.text(sample.clone()).await else { return too_much() };
    let streams = hub.streams.load(std::sync::atomic::Ordering::Relaxed);
    let run = exports::prometheus_run(sample.as_deref(), &hub.status(), hub.events().len(), streams);
    parts(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", [queues, run.into()])
}

/// Reads the whole request first; until then the connection may lose its slot. A body that is slightly too
/// long is read to its end, so that the client still receives the answer.
async fn whole_request(request: Request, next: Next) -> Response {
    let progress = request.extensions().get::<Progress>().cloned();
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, 4 * BODY).await else { return too_long().into_response() };
    if let Some(progress) = progress {
        progress.reach(Phase::Answering);
    }
    next.run(Request::from_parts(parts, Body::from(bytes))).await
}

fn too_long() -> impl IntoResponse {
    let message = "the body is longer than 64 KiB, or was cut off";
    refuse(StatusCode::PAYLOAD_TOO_LARGE, message, "see /api/openapi.json")
}

/// Parses the body as JSON of this type; on error returns the refusal.
async fn body<T: for<'de> Deserialize<'de>>(request: Request) -> Result<T, Response> {
    let refused = |status, message: &str| refuse(status, message, "see /api/openapi.json").into_response();
    let bytes = to_bytes(request.into_body(), BODY).await.map_err(|_| too_long().into_response())?;
    serde_json::from_slice(&bytes)
        .map_err(|error| refused(StatusCode::BAD_REQUEST, &format!("the body is wrong: {error}")))
}

/// Body of a setting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    /// Settings `PATH=VALUE`, applied all at once.
    set: Vec<String>,
    /// Time after which the previous values are restored, such as `30s`.
    #[serde(rename = "for")]
    lasting: Option<String>,
}

async fn set(State(shared): State<Shared>, request: Request) -> Response {
    let progress = request.extensions().get::<Progress>().cloned();
    let wanted: Set = match body(request).await {
        Ok(wanted) => wanted,
        Err(response) => return response,
    };
    let lasting = match wanted.lasting.map(|text| text.parse::<Duration>()).transpose() {
        Ok(lasting) if lasting.is_none_or(|lasting| !lasting.is_zero()) => lasting,
        _ => {
            return refuse(StatusCode::UNPROCESSABLE_ENTITY, "`for` is not a time", "such as \"30s\"")
                .into_response();
        }
    };
    // The answer says whether the change is made: it is not cut off by the deadline of a request.
    if let Some(progress) = progress {
        progress.reach(Phase::Changing);
    }
    let hub = shared.hub.clone();
    match tokio::task::spawn_blocking(move || hub.set(wanted.set, lasting)).await {
        Ok(Ok(done)) => answer(StatusCode::OK, &json!(done)),
        Ok(Err(refused)) => answer(StatusCode::UNPROCESSABLE_ENTITY, &json!(refused)),
        Err(_) => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, "the run is gone", "start it again").into_response()
        }
    }
}

/// Body of a control request: pace, interval, pause, end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Control {
    every: Option<String>,
    pace: Option<f64>,
    held: Option<bool>,
}

async fn control(State(shared): State<Shared>, request: Request) -> Response {
    let wanted: Control = match body(request).await {
        Ok(wanted) => wanted,
        Err(response) => return response,
    };
    let wrong =
        |message: &str, help: &str| refuse(StatusCode::UNPROCESSABLE_ENTITY, message, help).into_response();
    let every = match wanted.every.map(|text| text.parse::<Duration>()).transpose() {
        Ok(every) if every.is_none_or(|every| (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&every)) => {
            every
        }
        _ => return wrong("`every` is out of range", "from 10ms to 5s"),
    };
    if wanted.pace.is_some_and(|pace| !is_pace(pace)) {
        return wrong("`pace` is out of range", "0 for as fast as can be, else 0.001 to 1000000");
    }
    if (wanted.pace.is_some() || wanted.held.is_some()) && shared.hub.status().mode == "live" {
        return wrong("a live run goes by the clock", "pace and hold simulations: `lockgate watch --sim`");
    }
    let commands =
        [every.map(Command::Every), wanted.pace.map(Command::Pace), wanted.held.map(Command::Hold)];
    if commands.into_iter().flatten().all(|command| shared.hub.tell(command)) {
        answer(StatusCode::OK, &json!({}))
    } else {
        not_told(&shared)
    }
}

/// Returns the refusal of a command that could not be delivered.
fn not_told(shared: &Shared) -> Response {
    if shared.hub.status().ended {
        return refuse(StatusCode::CONFLICT, "the run has ended", "start it again").into_response();
    }
    refuse(StatusCode::SERVICE_UNAVAILABLE, "the run is busy", "try again").into_response()
}

/// Body of a mark.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    #[serde(default)]
    text: String,
}

async fn mark(State(shared): State<Shared>, request: Request) -> Response {
    let wanted: Mark = match body(request).await {
        Ok(wanted) => wanted,
        Err(response) => return response,
    };
    if wanted.text.chars().count() > LONGEST_MARK || wanted.text.chars().any(char::is_control) {
        let help = "a line of at most 200 characters";
        return refuse(StatusCode::UNPROCESSABLE_ENTITY, "that is not a mark", help).into_response();
    }
    if shared.hub.tell(Command::Mark(wanted.text)) {
        answer(StatusCode::OK, &json!({}))
    } else {
        not_told(&shared)
    }
}

/// True if a run may have this pace.
pub fn is_pace(pace: f64) -> bool {
    pace.abs() < f64::MIN_POSITIVE || (0.001..=1e6).contains(&pace)
}
