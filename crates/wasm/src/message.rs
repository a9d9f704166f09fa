//! Messages between a page and the module: a head in JSON, and bytes behind it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::{Answer, Wrong};

/// Bytes of the length in front of a head.
const LENGTH_BYTES: usize = 4;

/// A request: its head, and the contents of its files.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    head: &'a [u8],
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Divides the bytes of a request.
    fn read(bytes: &'a [u8]) -> Result<Self, Wrong> {
        let short = || Wrong::new("the request ends before its head");
        let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or_else(short)?;
        let (head, body) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
        Ok(Self { head, body })
    }

    /// Returns the head of the request.
    ///
    /// # Errors
    /// If it is not of this type.
    pub(crate) fn head<T: DeserializeOwned>(&self) -> Result<T, Wrong> {
        serde_json::from_slice(self.head).map_err(|error| Wrong::new(format!("the request: {error}")))
    }

    /// Returns the files of the request, by name. `lengths` are their lengths in bytes, in their order.
    ///
    /// # Errors
    /// If they are longer than the request.
    pub(crate) fn files(&self, lengths: &[(String, u32)]) -> Result<BTreeMap<String, Arc<[u8]>>, Wrong> {
        let mut rest = self.body;
        let mut take = |(name, length): &(String, u32)| {
            let (content, behind) = rest
                .split_at_checked(*length as usize)
                .ok_or_else(|| Wrong::new(format!("the request ends before the end of `{name}`")))?;
            rest = behind;
            Ok((name.clone(), content.into()))
        };
        lengths.iter().map(&mut take).collect()
    }
}

/// Value of an answer, and its parts: documents with their names.
#[derive(Debug)]
pub struct Value<T> {
    pub(crate) value: T,
    pub(crate) parts: Vec<(&'static str, Vec<u8>)>,
}

impl<T> From<T> for Value<T> {
    fn from(value: T) -> Self {
        Self { value, parts: Vec::new() }
    }
}

/// Answers a request by this function. Returns the bytes of the answer.
pub fn answer<T: Serialize>(bytes: &[u8], call: fn(&Message<'_>) -> Result<Value<T>, Wrong>) -> Vec<u8> {
    match Message::read(bytes).and_then(|message| call(&message)) {
        Ok(Value { value, parts }) => {
            let names = parts.iter().map(|(name, part)| ((*name).to_owned(), part.len() as u32)).collect();
            written(&Answer::Ok { value, parts: names }, &parts)
        }
        Err(wrong) => written(&Answer::<T>::Wrong(wrong), &[]),
    }
}

/// Returns a message: the head in JSON behind its length, and the parts.
fn written(head: &impl Serialize, parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH_BYTES];
    // Writing to memory fails only if a key is not a string, and all keys here are names of fields.
    let written = serde_json::to_writer(&mut bytes, head);
    debug_assert!(written.is_ok(), "an answer is JSON");
    let length = (bytes.len() - LENGTH_BYTES) as u32;
    bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    for (_, part) in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, run};

    fn request(head: &str, files: &[&[u8]]) -> Vec<u8> {
        [&(head.len() as u32).to_le_bytes(), head.as_bytes(), &files.concat()].concat()
    }

    /// Returns the head of an answer, and its parts as one text.
    fn divided(answer: &[u8]) -> (serde_json::Value, String) {
        let message = Message::read(answer).expect("an answer");
        (message.head().expect("JSON"), String::from_utf8_lossy(message.body).into_owned())
    }

    #[test]
    fn a_malformed_request_is_an_error_not_a_panic() {
        let whole = request(r#"{"text": "", "files": [["a", 2]]}"#, &[b"x"]);
        let short = &whole[..9];
        let (open, list) = (request("{", &[]), request("[1]", &[]));
        for bytes in [&[][..], &[1, 0], &[255; 4], short, &open, &list] {
            let (head, _) = divided(&answer(bytes, check));
            assert!(head["wrong"]["message"].as_str().is_some_and(|text| text.contains("request")), "{head}");
        }
        // Problems of what is checked are its value.
        let (head, _) = divided(&answer(&whole, check));
        let message = head["value"]["problems"][0]["message"].as_str();
        assert_eq!(message, Some("the request ends before the end of `a`"));
    }

    #[test]
    fn files_come_with_the_request_and_parts_with_the_answer() {
        let text = r#"
duration = "1s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], trace = "line.txt" }
flow.f = { from = "a", to = "b", size = "500B", gap = "10ms" }
"#;
        let scenario = serde_json::json!({ "text": text, "files": [["line.txt", 6]] });
        let bytes = request(&serde_json::json!({ "scenario": scenario }).to_string(), &[b"1\n2\n3\n"]);
        let (head, parts) = divided(&answer(&bytes, run));
        assert_eq!(head["parts"][0][0], "summary", "{head}");
        let length = head["parts"][0][1].as_u64().expect("a length") as usize;
        let summary: serde_json::Value = serde_json::from_str(&parts[..length]).expect("a summary");
        assert_eq!(summary["flows"]["f"]["sent_packets"], 99);
        let missing = request(&serde_json::json!({ "scenario": { "text": text } }).to_string(), &[]);
        let (head, _) = divided(&answer(&missing, run));
        let message = head["wrong"]["problems"][0]["message"].as_str();
        assert!(message.is_some_and(|text| text.contains("line.txt")), "{head}");
    }
}
