//! FTP messages between a client and a server of one run (RFC 959, RFC 2428): formatted with the hosts'
//! addresses, and parsed.
//!
//! ```text
//! 227 Entering Passive Mode (10,0,0,2,19,137).    229 Entering Extended Passive Mode (|||5001|)     IPv6
//! PORT 10,0,0,1,19,137                            EPRT |2|fd00::1|5001|
//! ```
//!
//! The order of messages is the simulator's dialogue. Here they get addresses, and received messages are
//! compared with the expected ones by code or verb.

use core::fmt::Write as _;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Longest line accepted, in bytes.
const LONGEST_LINE_BYTES: usize = 4096;

/// Error: a peer that does not follow the dialogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unexpected {
    #[error("it says too much at once")]
    TooLong,
    #[error("it says `{said}` in place of `{wanted}`")]
    Message { said: String, wanted: String },
    #[error("there is no address in `{0}`")]
    NoAddress(String),
}

/// Formats a message of the dialogue with the address of the data connection.
pub(super) fn put(words: &'static str, data: SocketAddr) -> String {
    let IpAddr::V4(address) = data.ip() else { return put_extended(words, data) };
    let [a, b, c, d] = address.octets();
    let [high, low] = data.port().to_be_bytes();
    match head(words) {
        "227" => format!("227 Entering Passive Mode ({a},{b},{c},{d},{high},{low}).\r\n"),
        "PORT" => format!("PORT {a},{b},{c},{d},{high},{low}\r\n"),
        _ => words.to_owned(),
    }
}

//= https://www.rfc-editor.org/rfc/rfc2428#section-2
//= https://www.rfc-editor.org/rfc/rfc2428#section-3
fn put_extended(words: &'static str, data: SocketAddr) -> String {
    match head(words) {
        "PASV" => "EPSV\r\n".to_owned(),
        "227" => format!("229 Entering Extended Passive Mode (|||{}|)\r\n", data.port()),
        "PORT" => format!("EPRT |2|{}|{}|\r\n", data.ip(), data.port()),
        _ => words.to_owned(),
    }
}

/// Returns the code of a reply, or the verb of a command.
fn head(words: &str) -> &str {
    words.split([' ', '\r', '\n']).next().unwrap_or_default()
}

/// Receive buffer and parser of the peer's messages.
#[derive(Default)]
pub(super) struct MessageParser {
    bytes: Vec<u8>,
    /// Address of the data connection that the peer announced.
    pub(super) data: Option<SocketAddr>,
}

impl MessageParser {
    /// Appends received bytes.
    ///
    /// # Errors
    /// If more than [`LONGEST_LINE_BYTES`] bytes are buffered.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > LONGEST_LINE_BYTES { Err(Unexpected::TooLong) } else { Ok(()) }
    }

    /// Removes the message `expected`, sent to `peer`'s host, from the buffer. Returns whether it was
    /// complete.
    ///
    /// # Errors
    /// If another message was received.
    pub(super) fn take(&mut self, expected: &str, peer: IpAddr) -> Result<bool, Unexpected> {
        let is_reply = expected.starts_with(|first: char| first.is_ascii_digit());
        while let Some(end) = self.bytes.windows(2).position(|pair| pair == b"\r\n") {
            let line = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
            self.bytes.drain(..end + 2);
            //= https://www.rfc-editor.org/rfc/rfc959#section-4.2
            // A reply of several lines ends with one that has a space after its code.
            let is_last = line.len() >= 3 && line.as_bytes()[..3].iter().all(u8::is_ascii_digit);
            if is_reply && !(is_last && line.as_bytes().get(3).is_none_or(|byte| *byte == b' ')) {
                continue;
            }
            self.understand(&line, expected, peer)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn understand(&mut self, line: &str, expected: &str, peer: IpAddr) -> Result<(), Unexpected> {
        let said = head(line).to_ascii_uppercase();
        let address = match (head(expected), said.as_str()) {
            ("227", "227") | ("PORT", "PORT") => six_numbers(line),
            ("227", "229") => extended(line).map(|(_, port)| SocketAddr::new(peer, port)),
            ("PORT", "EPRT") => {
                extended(line).and_then(|(address, port)| Some(SocketAddr::new(address?, port)))
            }
            ("PASV", "EPSV") => return Ok(()),
            (wanted, said) if wanted == said => return Ok(()),
            (wanted, _) => {
                return Err(Unexpected::Message { said: shorten(line), wanted: wanted.to_owned() });
            }
        };
        self.data = Some(address.ok_or_else(|| Unexpected::NoAddress(shorten(line)))?);
        Ok(())
    }
}

fn shorten(line: &str) -> String {
    let mut short = String::new();
    for character in line.chars().take(60) {
        let _ = write!(short, "{}", character.escape_debug());
    }
    short
}

/// Parses the address in `h1,h2,h3,h4,p1,p2` (RFC 959 section 5.3.2) anywhere in the line.
fn six_numbers(line: &str) -> Option<SocketAddr> {
    let is_part = |character: char| character.is_ascii_digit() || character == ',';
    line.split(|character| !is_part(character)).find_map(|part| {
        let numbers: Vec<u8> = part.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [a, b, c, d, high, low] = numbers.try_into().ok()?;
        let port = u16::from_be_bytes([high, low]);
        Some(SocketAddr::new(Ipv4Addr::new(a, b, c, d).into(), port))
    })
}

/// Parses address and port in `|af|address|port|`, with any delimiter.
fn extended(line: &str) -> Option<(Option<IpAddr>, u16)> {
    let (_, rest) = line.split_once([' ', '(']).map(|(head, rest)| (head, rest.trim()))?;
    let rest = rest.rsplit_once('(').map_or(rest, |(_, inside)| inside);
    let bar = rest.chars().next()?;
    let mut parts = rest.split(bar).skip(1);
    let (family, address, port) = (parts.next()?, parts.next()?, parts.next()?);
    let address = if address.is_empty() { None } else { Some(address.parse::<IpAddr>().ok()?) };
    match (family, address) {
        ("" | "1", Some(IpAddr::V4(_))) | ("" | "2", Some(IpAddr::V6(_))) | ("", None) => {}
        _ => return None,
    }
    Some((address, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSIVE: &str = "227 Entering Passive Mode (10,0,0,2,195,80).\r\n";
    const PORT: &str = "PORT 10,0,0,1,195,80\r\n";

    fn there(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    /// Parses `line` while `expected` is awaited, from a peer at `fd00::9`.
    fn heard(expected: &str, line: &str) -> Result<Option<SocketAddr>, Unexpected> {
        let mut parser = MessageParser::default();
        let (first, rest) = line.split_at(line.len() / 2);
        parser.push_bytes(first.as_bytes())?;
        assert_eq!(parser.take(expected, there("[fd00::9]:1").ip()), Ok(false), "half a message is none");
        parser.push_bytes(rest.as_bytes())?;
        parser.take(expected, there("[fd00::9]:1").ip()).map(|is_there| {
            assert!(is_there && parser.bytes.is_empty());
            parser.data
        })
    }

    #[test]
    fn addresses_come_back() {
        for at in ["10.1.2.3:5001", "255.0.0.1:65535", "[fd00::9]:21"] {
            let at = there(at);
            for words in [PASSIVE, PORT] {
                let said = put(words, at);
                assert_eq!(heard(words, &said), Ok(Some(at)), "{said}");
            }
        }
        assert_eq!(put(PASSIVE, there("10.0.0.2:50000")), PASSIVE, "as the simulation has it");
        assert_eq!(put(PORT, there("[fd00::1]:5001")), "EPRT |2|fd00::1|5001|\r\n");
        assert_eq!(put("PASV\r\n", there("[fd00::1]:5001")), "EPSV\r\n");
        assert_eq!(put("PASV\r\n", there("10.0.0.1:1")), "PASV\r\n");
    }

    #[test]
    fn what_others_say_is_understood() {
        // Forms of RFC 959, RFC 1123 section 4.1.2.6 (no parentheses) and RFC 2428.
        let four = Ok(Some(there("132.235.1.2:6275")));
        assert_eq!(heard(PASSIVE, "227 =132,235,1,2,24,131\r\n"), four);
        assert_eq!(heard(PORT, "port 132,235,1,2,24,131\r\n"), four);
        assert_eq!(heard(PORT, "EPRT |1|132.235.1.2|6275|\r\n"), four);
        assert_eq!(heard(PASSIVE, "229 Ok (!!!6446!)\r\n"), Ok(Some(there("[fd00::9]:6446"))));
        assert_eq!(
            heard("230 Login successful.\r\n", "230-Welcome\r\n 230 to\r\nyou\r\n230 In.\r\n"),
            Ok(None)
        );
        assert_eq!(heard("QUIT\r\n", "quit\r\n"), Ok(None));
    }

    #[test]
    fn what_is_not_meant_is_refused() {
        for (expected, said, why) in [
            (
                "226 Transfer complete.\r\n",
                "550 No such file.\r\n",
                "it says `550 No such file.` in place of `226`",
            ),
            (PASSIVE, "227 Somewhere.\r\n", "there is no address"),
            (PASSIVE, "227 (10,0,0,256,1,2)\r\n", "there is no address"),
            (PORT, "PORT 1,2,3,4,5\r\n", "there is no address"),
            (PORT, "EPRT |2|10.0.0.1|5|\r\n", "there is no address"),
            (PORT, "EPRT\r\n", "there is no address"),
            ("QUIT\r\n", "\u{7}\r\n", "in place of `QUIT`"),
        ] {
            let refused = heard(expected, said).expect_err(said);
            assert!(refused.to_string().contains(why), "{refused}");
        }
        assert!(MessageParser::default().push_bytes(&[b'a'; LONGEST_LINE_BYTES + 1]).is_err());
    }
}
