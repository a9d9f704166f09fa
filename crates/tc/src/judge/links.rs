//! Devices that a script makes, renames and takes away by `ip link`.

use std::collections::BTreeSet;

use super::Judge;

/// Programs that leave devices as they are.
const HARMLESS: [&str; 8] = ["echo", "printf", "sleep", "true", "set", "sysctl", "ethtool", "logger"];

/// Kinds of devices with one transmit queue unless the command says another number.
const OF_ONE_QUEUE: [&str; 2] = ["dummy", "ifb"];

/// Names that a device had before `ip link` took it away.
#[derive(Clone, Debug, Default)]
pub(super) struct Gone(BTreeSet<String>);

impl Gone {
    pub(super) fn has(&self, device: &str) -> bool {
        self.0.contains(device)
    }
}

/// Device of a command `ip link add`.
struct New<'a> {
    names: Vec<&'a str>,
    queues: Option<u16>,
}

/// Reads the words after `ip link add`.
fn new<'a>(words: &[&'a str]) -> New<'a> {
    let (mut names, mut queues, mut kind) = (Vec::new(), None, "");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "dev" | "name" => names.extend(words.next()),
            "type" => kind = words.next().copied().unwrap_or_default(),
            // Further words are of the kind.
            "numtxqueues" | "txqueues" if kind.is_empty() => {
                queues = words.next().and_then(|count| count.parse().ok());
            }
            "peer" => {}
            _ if kind.is_empty() && names.is_empty() => names.push(*word),
            _ => {
                words.next();
            }
        }
    }
    let default = OF_ONE_QUEUE.contains(&kind).then_some(1);
    New { names, queues: queues.or(default) }
}

impl Judge {
    /// Follows a command of another program: its words with its name.
    pub(crate) fn other_program(&mut self, words: &[String]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["ip", "link" | "l" | "li", verb, ref rest @ ..] => self.link(verb, rest),
            ["ip", ..] => {}
            [name, ..] if HARMLESS.contains(&name) => {}
            // It may set devices up.
            _ => self.gone = Gone::default(),
        }
    }

    fn link(&mut self, verb: &str, words: &[&str]) {
        let words = if words.first() == Some(&"dev") { &words[1..] } else { words };
        match (verb, words) {
            ("add" | "a", _) => {
                let New { names, queues } = new(words);
                for name in names {
                    self.gone.0.remove(name);
                    let device = self.devices.entry(name.to_owned()).or_default();
                    // A device that has queues was there before: it keeps them.
                    if device.is_untouched() {
                        device.queues = queues;
                    }
                }
            }
            ("del" | "delete" | "d", [name, ..]) => {
                self.devices.remove(*name);
                self.gone.0.insert((*name).to_owned());
            }
            ("set" | "s", [name, rest @ ..]) => {
                let new = rest.iter().position(|word| *word == "name").and_then(|at| rest.get(at + 1));
                let Some(new) = new else { return };
                let device = self.devices.remove(*name).unwrap_or_default();
                self.devices.insert((*new).to_owned(), device);
                self.gone.0.insert((*name).to_owned());
                self.gone.0.remove(*new);
            }
            _ => {}
        }
    }
}
