//! Description of the HTTP interface as an `OpenAPI` document.

use serde_json::{Value, json};

fn get(summary: &str, kind: &str) -> Value {
    json!({ "get": {
        "summary": summary,
        "responses": {
            "200": { "description": "as it is now", "content": { kind: {} } },
            "default": refusal(),
        },
    } })
}

fn refusal() -> Value {
    json!({
        "description": "what is wrong, each with its way out",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Refused" } } },
    })
}

fn post(summary: &str, schema: &str) -> Value {
    json!({ "post": {
        "summary": summary,
        "security": [{}, { "token": [] }],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } },
        },
        "responses": {
            "200": { "description": "done", "content": { "application/json": {} } },
            "default": refusal(),
        },
    } })
}

/// Returns the schemas of bodies.
fn schemas() -> Value {
    json!({
        "Set": {
            "type": "object",
            "required": ["set"],
            "additionalProperties": false,
            "properties": {
                "set": { "type": "array", "minItems": 1, "items": { "type": "string" },
                         "examples": [["port.home:server.queue.voice.limit=20p"]] },
                "for": { "type": ["string", "null"], "description": "goes back after this time",
                         "examples": ["30s"] },
            },
        },
        "Mark": {
            "type": "object",
            "additionalProperties": false,
            "properties": { "text": { "type": "string", "maxLength": 200,
                                      "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" } },
        },
        "Control": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "every": { "type": ["string", "null"], "description": "10ms to 5s",
                           "pattern": "^(([1-9][0-9]{1,2}|[1-4][0-9]{3}|5000)ms|[1-5]s)$" },
                "pace": { "description": "times the clock; 0: as fast as can be; refused of live runs",
                          "anyOf": [{ "type": "number", "minimum": 0.001, "maximum": 1_000_000 },
                                    { "const": 0 }, { "type": "null" }] },
                "held": { "type": ["boolean", "null"], "description": "whether the run waits; refused of live runs" },
            },
        },
        "Refused": {
            "type": "object",
            "required": ["problems"],
            "properties": { "problems": { "type": "array", "items": {
                "type": "object",
                "required": ["message", "help"],
                "properties": { "message": { "type": "string" }, "help": { "type": "string" } },
            } } },
        },
    })
}

/// Returns the document.
pub(super) fn document() -> Value {
    let mut samples = get(
        "The samples kept, the last fifteen minutes at most; of large networks the worst queues and flows, and those searched for",
        "application/json",
    );
    samples["get"]["parameters"] = json!([
        { "name": "after", "in": "query", "schema": { "type": "number" }, "description": "seconds of the run" },
        { "name": "most", "in": "query", "schema": { "type": "integer", "minimum": 0 } },
    ]);
    let mut past = get(
        "The last hour of a port's queues, in intervals of 5 s: mean rates and backlogs, largest delays, sums of drops",
        "application/json",
    );
    past["get"]["parameters"] = json!([
        { "name": "port", "in": "query", "required": true, "schema": { "type": "integer", "minimum": 0 },
          "description": "index of the port, from 0" },
    ]);
    let mut queues =
        get("Queues by name, the worst first; later samples have them for a minute", "application/json");
    queues["get"]["parameters"] = json!([
        { "name": "match", "in": "query", "schema": { "type": "string" }, "description": "part of the queue's or port's name" },
        { "name": "most", "in": "query", "schema": { "type": "integer", "minimum": 0 } },
    ]);
    let mut knobs = get("The knobs of one queue, and of its link", "application/json");
    knobs["get"]["parameters"] = json!([
        { "name": "port", "in": "query", "required": true, "schema": { "type": "string" } },
        { "name": "queue", "in": "query", "required": true, "schema": { "type": "string" } },
    ]);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Lockgate, a running run",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "See the queues, turn the knobs. Requests by another page's script, or by a name that \
                            the server does not know itself by, are refused.",
        },
        "paths": {
            "/": get("The page", "text/html"),
            "/api/state": get("The network, its knobs, the events, and the latest sample", "application/json"),
            "/api/samples": samples,
            "/api/past": past,
            "/api/queues": queues,
            "/api/knobs": knobs,
            "/api/stream": get("Samples as they come: events `samples`, `missed`, `status`", "text/event-stream"),
            "/api/events": get("What happened so far", "application/json"),
            "/api/scenario": get("The scenario that replays this session", "application/toml"),
            "/api/report": get("The report of the run, once it has ended", "text/html"),
            "/api/tc": get("As `tc -j -s qdisc show` prints it", "application/json"),
            "/api/openapi.json": get("This document", "application/json"),
            "/metrics": get("For Prometheus", "text/plain"),
            "/api/set": post("Sets values, all at once or none", "Set"),
            "/api/mark": post("Notes something in the log of events", "Mark"),
            "/api/control": post("How often to sample, how fast to go, whether to wait", "Control"),
        },
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}
