//! Requests to a router and its answers: one JSON document a line, each way.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lockgate_measure::monitor::Sample;
use serde::{Deserialize, Serialize};

use super::{Applied, Bypass, Losses};

/// Longest request, in bytes; a policy is a little shorter.
pub const LONGEST_REQUEST: usize = 8 << 20;

/// Request to a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Changes the policy.
    Apply {
        /// Origin of the text, for messages: the name of a file.
        origin: String,
        /// Whole text of the policy.
        policy: String,
        /// Milliseconds after which the change is reverted unless it is confirmed; absent: it is confirmed at
        /// once, unless it has `revert_if`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confirm_within_ms: Option<u64>,
        /// Condition that reverts the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revert_if: Option<String>,
        /// Answers with the difference, and changes nothing.
        #[serde(default)]
        dry_run: bool,
    },
    /// Confirms the policy on trial.
    Confirm {},
    /// Goes back to a confirmed policy.
    Rollback {
        /// Number of confirmed policies to go back. Absent: the last confirmed one if another is on trial,
        /// else the one before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steps: Option<usize>,
    },
    /// Returns the state.
    Status {},
    /// Captures frames of a port; [`Request::Captured`] returns them and ends it. Ends also five seconds
    /// after it was last read.
    Capture {
        /// Port.
        port: String,
        /// Filter.
        filter: String,
    },
    /// Returns the frames captured since the last such request.
    Captured {
        /// True if the capture ends with this answer.
        #[serde(default)]
        end: bool,
    },
    /// Returns the newest sample of ports and queues.
    Sample {
        /// Number of the sample that the asker has: only a later one is returned. Absent: any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
}

/// Answer of a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The policy was changed.
    Changed(Changed),
    /// Nothing was changed, as asked: the difference.
    Difference(Changed),
    /// The policy of this number is confirmed.
    Confirmed {
        /// Number of the policy.
        number: u64,
    },
    /// The state.
    Status(Box<Status>),
    /// The newest sample; `None` if there is none, or no later one.
    Sample(Option<Box<Sample>>),
    /// The capture has begun.
    Capturing {},
    /// Frames, and how many were missed since the start.
    Captured {
        /// Frames, in the order in which they left the port.
        frames: Vec<CapturedFrame>,
        /// Frames that came faster than they were read.
        missed: u64,
    },
    /// The request is refused, and nothing was changed.
    Refused(Refusal),
}

/// Captured frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedFrame {
    /// Time at which it left the port, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Queue that it left.
    pub queue: String,
    /// Time in the port, in nanoseconds.
    pub waited_ns: u64,
    /// Reason why it was dropped; empty: it was sent.
    pub reason: String,
    /// Length of the whole frame, in bytes.
    pub length: u32,
    /// Its first bytes, in base64.
    pub base64: String,
}

impl CapturedFrame {
    /// Returns the first bytes of the frame; none if they are not base64.
    pub fn bytes(&self) -> Vec<u8> {
        BASE64_STANDARD.decode(&self.base64).unwrap_or_default()
    }
}

/// A change of policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Number of the policy that runs.
    pub number: u64,
    /// Origin of the policy that runs.
    pub origin: String,
    /// Unified difference from the policy that ran before; empty if there is none.
    pub difference: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Effect on queued packets.
    pub applied: Applied,
    /// Trial, if the change is not confirmed yet.
    pub trial: Option<TrialStatus>,
    /// Warnings on the text, and failures that leave the change in force.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A trial that goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialStatus {
    /// Time left to confirm, in milliseconds.
    pub left_ms: u64,
    /// End of the trial by the wall clock, as in RFC 3339; empty until the router adds it.
    #[serde(default)]
    pub until: String,
    /// Condition that ends it.
    pub revert_if: Option<String>,
}

/// State of a router.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the router.
    pub router: String,
    /// Its process.
    pub pid: u32,
    /// Start of the process, as in RFC 3339.
    pub since: String,
    /// Mode of the policy.
    pub mode: String,
    /// Interfaces: name in the policy, name on the machine.
    pub interfaces: Vec<(String, String)>,
    /// Number of the policy that runs.
    pub running: u64,
    /// Trial, if the policy that runs is not confirmed.
    pub trial: Option<TrialStatus>,
    /// Failure to go back, because of which an unconfirmed policy runs; empty: none.
    #[serde(default)]
    pub stranded: String,
    /// Frames that have bypassed the router.
    #[serde(default)]
    pub bypass: Bypass,
    /// Frames lost outside the queues.
    #[serde(default)]
    pub losses: Losses,
    /// Sentence about the priority of its threads.
    #[serde(default)]
    pub priority: String,
    /// Sentence about the hosts behind address translation; empty if no queue needs them.
    #[serde(default)]
    pub hosts: String,
    /// Sentence about the file of the start, if it does not run; else empty.
    #[serde(default)]
    pub unused_file: String,
    /// Names of the alerts that fire.
    #[serde(default)]
    pub alerts: Vec<String>,
    /// Policies, the newest first.
    pub history: Vec<Entry>,
    /// Text of the policy that runs.
    pub policy: String,
}

/// A policy that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Number.
    pub number: u64,
    /// Steps of `rollback` that lead to it: 0 for the last confirmed one; absent if it was not confirmed.
    pub steps: Option<usize>,
    /// Outcome: `trial`, `confirmed` or `reverted`.
    pub outcome: String,
    /// Reason of the reversal; empty for other outcomes.
    pub why: String,
    /// Origin.
    pub origin: String,
    /// Time, as in RFC 3339.
    pub at: String,
    /// Author.
    pub by: String,
    /// Unified difference from the policy that ran before.
    pub difference: String,
}

/// Cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The request is wrong, or not possible in the present state.
    Usage,
    /// The router failed.
    Failed,
}

/// Refusal: the reason, and what to do. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Cause.
    pub cause: Cause,
    /// Problem.
    pub message: String,
    /// Remedy.
    pub help: String,
}

impl Refusal {
    /// Creates the refusal of a wrong request.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { cause: Cause::Usage, message: message.into(), help: help.into() }
    }

    /// Creates the refusal of a request that failed.
    pub fn failed(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { cause: Cause::Failed, message: message.into(), help: help.into() }
    }
}

impl Request {
    /// True if it may change which policy runs, or confirm it.
    pub fn changes_policy(&self) -> bool {
        match self {
            Self::Apply { dry_run, .. } => !dry_run,
            Self::Confirm {} | Self::Rollback { .. } => true,
            Self::Status {} | Self::Capture { .. } | Self::Captured { .. } | Self::Sample { .. } => false,
        }
    }

    /// Reads a request from a line.
    ///
    /// # Errors
    /// Returns a refusal that names the fault of the line.
    pub fn read(line: &[u8]) -> Result<Self, Refusal> {
        let help = "requests are of `lockgate apply`, `confirm`, `rollback` and `status` of the same version";
        if line.len() > LONGEST_REQUEST {
            let message = format!("a request of {} bytes is too long", line.len());
            return Err(Refusal::usage(message, format!("it has at most {LONGEST_REQUEST}")));
        }
        serde_json::from_slice(line).map_err(|error| Refusal::usage(format!("no request: {error}"), help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_written() {
        let apply = Request::Apply {
            origin: "new.toml".to_owned(),
            policy: "title = \"line\\n\"\n".to_owned(),
            confirm_within_ms: Some(120_000),
            revert_if: None,
            dry_run: false,
        };
        let sample = Request::Sample { after: Some(3) };
        for request in
            [apply, Request::Confirm {}, Request::Rollback { steps: None }, Request::Status {}, sample]
        {
            let line = serde_json::to_string(&request).expect("JSON");
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(Request::read(line.as_bytes()), Ok(request));
        }
        assert_eq!(Request::read(b"{\"do\":\"confirm\"}"), Ok(Request::Confirm {}));
    }

    #[test]
    fn other_lines_are_refused() {
        let deep = "[".repeat(100_000);
        for line in [
            "",
            "{}",
            "null",
            "{\"do\":\"shut down\"}",
            "{\"do\":\"apply\"}",
            "{\"do\":\"rollback\",\"steps\":-1}",
            "{\"do\":\"rollback\",\"step\":1}",
            "{\"do\":\"status\"} {\"do\":\"confirm\"}",
            &deep,
        ] {
            let refusal = Request::read(line.as_bytes()).expect_err(line);
            assert_eq!(refusal.cause, Cause::Usage);
            assert!(!refusal.help.is_empty() && refusal.message.len() < 300, "{refusal:?}");
        }
        let long = vec![b' '; LONGEST_REQUEST + 1];
        assert!(Request::read(&long).expect_err("too long").message.contains("too long"));
    }
}
