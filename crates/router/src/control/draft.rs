//! Policy that a change would bring, read from its text.

use std::sync::Arc;

use lockgate_scenario::{Policy, is_policy, read_policy};

use super::protocol::Refusal;

/// Text of a policy, and the policy that it describes.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Origin of the text, for messages: the name of a file.
    pub(super) origin: String,
    /// Whole text.
    pub(super) text: String,
    /// The policy.
    pub(super) policy: Arc<Policy>,
}

impl Draft {
    /// Reads the text of a policy. A large one takes seconds.
    ///
    /// # Errors
    /// If it is not a policy, or has problems: the first five.
    pub fn read(origin: &str, text: &str) -> Result<Self, Refusal> {
        if !is_policy(text) {
            let message = format!("`{origin}` is not a policy of a router: it has no table `router`");
            return Err(Refusal::usage(message, "add `[router]` with `mode` and `interfaces`"));
        }
        let policy = read_policy(text, origin).map_err(|problems| {
            let messages: Vec<String> = (&problems).into_iter().take(5).map(ToString::to_string).collect();
            let help = "`lockgate apply` of this version shows each problem with its place";
            Refusal::usage(messages.join("; "), help)
        })?;
        Ok(Self { origin: origin.to_owned(), text: text.to_owned(), policy: Arc::new(policy) })
    }
}
