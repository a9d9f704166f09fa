//! Access control: by the `Host` of a request, the origin of its page, and a token.

use std::fs;
use std::io::Read;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use super::Shared;
use super::answer::refuse;
use crate::Error;

/// Access rules.
#[derive(Debug)]
pub struct Guard {
    /// Host names of the server besides `localhost` and addresses.
    pub names: Vec<String>,
    /// Token that a change must carry; `None` if none is needed.
    pub token: Option<String>,
    /// Refuses all changes if given: the way to make them elsewhere.
    pub read_only: Option<&'static str>,
}

impl Guard {
    /// True if `host` is a name of this server. Without this check, a foreign page could reach this server
    /// under a name of its own (DNS rebinding). Addresses are accepted, because no name server is involved.
    fn knows_host(&self, host: &str) -> bool {
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
        let name = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        bare.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|known| name.eq_ignore_ascii_case(known))
    }

    /// Returns the reason for refusing a request with these headers, if any.
    fn objection(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Option<(StatusCode, &'static str, &'static str)> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let Some(host) = text(header::HOST).filter(|_| headers.get_all(header::HOST).iter().count() == 1)
        else {
            return Some((StatusCode::BAD_REQUEST, "the request names no host", "send one Host header"));
        };
        if !self.knows_host(host) {
            return Some((
                StatusCode::MISDIRECTED_REQUEST,
                "this server is not called so",
                "use its address, or name it with --name",
            ));
        }
        // A proxy that terminates TLS forwards the page's `https` origin. Its name is the host checked above.
        let is_own = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        if text(header::ORIGIN).is_some_and(|origin| !is_own(origin)) {
            return Some((StatusCode::FORBIDDEN, "another page may not ask", "open the page of this server"));
        }
        let site = headers.get("sec-fetch-site").map(axum::http::HeaderValue::as_bytes);
        let changes = method != Method::GET && method != Method::HEAD;
        if changes && site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return Some((StatusCode::FORBIDDEN, "another page may not ask", "open the page of this server"));
        }
        None
    }

    /// Returns the reason for refusing a request that would change something, if any.
    fn objection_to_change<'a>(
        &self,
        method: &Method,
        headers: &'a HeaderMap,
    ) -> Option<(StatusCode, &'static str, &'static str)> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        // Other methods change nothing.
        if method != Method::POST {
            return None;
        }
        if let Some(help) = self.read_only {
            return Some((StatusCode::FORBIDDEN, "nothing can be changed here", help));
        }
        let json = text(header::CONTENT_TYPE).is_some_and(|kind| {
            kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        });
        if !json {
            return Some((
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body is not JSON",
                "send Content-Type: application/json",
            ));
        }
        // The scheme's name is case-insensitive (RFC 9110 section 11.1).
        let bearer = |given: &'a str| {
            let (scheme, token) = given.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        };
        let given = text(header::AUTHORIZATION).and_then(bearer).unwrap_or_default();
        let passes = self.token.as_ref().is_none_or(|token| token.as_bytes().ct_eq(given.as_bytes()).into());
        (!passes).then_some((
            StatusCode::UNAUTHORIZED,
            "changes need the token",
            "open the page at the address that carries it, or give it: `lockgate set` in LOCKGATE_TOKEN, others as Authorization: Bearer TOKEN",
        ))
    }
}

/// Returns 128 random bits in hexadecimal, as a token.
///
/// # Errors
/// [`Error::Token`] if the system has no random bits.
pub fn fresh_token() -> Result<String, Error> {
    let mut bits = [0; 16];
    let read = fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bits));
    read.map_err(Error::Token)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bits)))
}

/// Middleware: passes a request that may change something, or answers with a refusal.
pub(super) async fn check_change(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    match shared.guard.objection_to_change(request.method(), request.headers()) {
        Some((status, message, help)) => refuse(status, message, help).into_response(),
        None => next.run(request).await,
    }
}

/// Middleware: passes a request, or answers with a refusal.
pub(super) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Some((status, message, help)) = guard.objection(request.method(), request.headers()) {
        return refuse(status, message, help).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", header::HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(token: Option<&str>) -> Guard {
        Guard { names: vec!["lab.example".into()], token: token.map(str::to_owned), read_only: None }
    }

    fn status(guard: &Guard, method: &Method, headers: &[(&'static str, &'static str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, header::HeaderValue::from_static(value));
        }
        let objection = guard.objection(method, &map).or_else(|| guard.objection_to_change(method, &map));
        objection.map_or(200, |(status, ..)| status.as_u16())
    }

    #[test]
    fn names_that_a_name_server_could_turn_are_refused() {
        let guard = guard(None);
        for host in ["localhost:8", "127.0.0.1", "127.0.0.1:80", "[::1]:80", "[::1]", "LAB.example:1"] {
            assert_eq!(status(&guard, &Method::GET, &[("host", host)]), 200, "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "", "lab.example:x"]
        {
            assert_ne!(status(&guard, &Method::GET, &[("host", host)]), 200, "{host}");
        }
        assert_eq!(status(&guard, &Method::GET, &[]), 400);
        assert_eq!(status(&guard, &Method::GET, &[("host", "localhost"), ("host", "evil.example")]), 400);
    }

    #[test]
    fn other_pages_and_wrong_tokens_change_nothing() {
        let guard = guard(Some("right"));
        let json = ("content-type", "application/json");
        let host = ("host", "localhost:80");
        let with = |more: &[(&'static str, &'static str)]| {
            let mut all = vec![host, json];
            all.extend_from_slice(more);
            status(&guard, &Method::POST, &all)
        };
        let token = ("authorization", "Bearer right");
        assert_eq!(with(&[token]), 200);
        assert_eq!(with(&[token, ("origin", "http://localhost:80")]), 200);
        assert_eq!(with(&[token, ("origin", "https://localhost:80")]), 200, "behind a proxy that ends TLS");
        assert_eq!(with(&[("authorization", "bearer right")]), 200);
        assert_eq!(with(&[token, ("origin", "http://evil.example")]), 403);
        assert_eq!(with(&[token, ("origin", "https://evil.example")]), 403);
        assert_eq!(with(&[token, ("origin", "ftp://localhost:80")]), 403);
        assert_eq!(with(&[token, ("origin", "null")]), 403);
        assert_eq!(with(&[token, ("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(with(&[]), 401);
        assert_eq!(with(&[("authorization", "Bearer wrong")]), 401);
        assert_eq!(with(&[("authorization", "Bearer ")]), 401);
        assert_eq!(
            status(&guard, &Method::POST, &[host, token]),
            415,
            "a form needs no leave of the browser"
        );
        assert_eq!(status(&guard, &Method::GET, &[host, ("origin", "http://evil.example")]), 403);
    }
}
