//! Errors of the view and the server.

use std::io;
use std::net::SocketAddr;

/// Error of the view, the server or the client. The messages name no option of a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server's address cannot be bound.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address as given.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The system returned no random bits for a token.
    #[error("no token can be drawn: {0}")]
    Token(#[source] io::Error),
    /// The terminal failed.
    #[error("the terminal cannot be drawn on: {0}")]
    Terminal(#[source] io::Error),
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A server did not answer a setting, or answered in another language.
    #[error("nothing was set at {address}: {why}")]
    Client {
        /// Address of the server.
        address: SocketAddr,
        /// The reason, in lower case.
        why: String,
    },
}
