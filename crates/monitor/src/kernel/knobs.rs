//! Values of the kernel's queues, set by netlink: addressed as in a run, undone, or set for a time.

use std::time::{Duration, Instant};

use lockgate_session::{Done, Knob, Refused};
use lockgate_tc::kernel;

use super::look::Kernel;

/// Help for a text that is not the path of a setting.
const FORM: &str = "write `port.DEVICE.queue.HANDLE.NAME=VALUE`, such as `port.eth0.queue.1:10.rate=5mbit`";

/// Settings that end: the time, and those that restore the values before.
#[derive(Debug, Default)]
pub(crate) struct Lasting(Vec<(Instant, Vec<String>)>);

/// Parts of a path: device, name of the queue, name of the value.
fn parts(path: &str) -> Option<(&str, &str, &str)> {
    let (device, rest) = path.strip_prefix("port.")?.split_once(".queue.")?;
    let (queue, key) = rest.rsplit_once('.')?;
    Some((device, queue, key))
}

/// Sets values in their order. Those before a refused one are restored.
pub(crate) fn set(kernel: &mut Kernel, settings: &[String], at_s: f64) -> Result<Done, Refused> {
    if settings.is_empty() {
        return Err(Refused::because("nothing is to be set", FORM));
    }
    let mut before = Vec::new();
    for setting in settings {
        match one(kernel, setting) {
            Ok(old) => before.push(old),
            Err(refused) => {
                for old in before.iter().rev() {
                    let _ = one(kernel, old);
                }
                return Err(refused);
            }
        }
    }
    Ok(Done { at_s, before, until_s: None })
}

/// Sets a value. Returns the setting that restores the one before.
fn one(kernel: &mut Kernel, setting: &str) -> Result<String, Refused> {
    let (path, value) =
        setting.split_once('=').ok_or_else(|| Refused::because(format!("`{setting}` has no value"), FORM))?;
    let (device, queue, key) =
        parts(path).ok_or_else(|| Refused::because(format!("`{path}` is not a value of a queue"), FORM))?;
    let refused = |why: String| Refused::because(format!("`{path}`: {why}"), FORM);
    let (object, attributes) = kernel.raw(device, queue).map_err(refused)?;
    let changed = kernel::changed(&attributes, object.is_class, key, value.trim());
    let changed = changed.map_err(|why| refused(why.to_string()))?;
    let old = kernel::settings(&attributes, object.is_class).into_iter().find(|old| old.key == key);
    kernel.change(&object, &changed).map_err(|why| {
        Refused::because(
            format!("`{path}`: {why}"),
            "changing the kernel's queues needs CAP_NET_ADMIN; `tc` would be refused, too",
        )
    })?;
    Ok(format!("{path}={}", old.map_or_else(String::new, |old| old.value)))
}

/// Returns the knobs of a queue.
pub(crate) fn of(device: &str, queue: &str, attributes: &[u8], is_class: bool) -> Vec<Knob> {
    let knob = |setting: kernel::Setting| {
        let [lower, higher] = setting.around;
        Knob {
            path: format!("port.{device}.queue.{queue}.{}", setting.key),
            key: setting.key.to_owned(),
            value: Some(setting.value),
            is_default: false,
            takes: setting.takes.to_owned(),
            about: String::new(),
            choices: Vec::new(),
            lower,
            higher,
        }
    };
    kernel::settings(attributes, is_class).into_iter().map(knob).collect()
}

impl Lasting {
    /// Adds a setting that ends after this time.
    pub(crate) fn add(&mut self, lasting: Duration, before: Vec<String>) {
        self.0.push((Instant::now() + lasting, before));
    }

    /// Restores what has lasted its time; all, if the view ends. Returns the settings that were made.
    pub(crate) fn restore(&mut self, kernel: &mut Kernel, is_end: bool) -> Vec<String> {
        let now = Instant::now();
        let mut made = Vec::new();
        // The latest first, so that the earliest value stays.
        for (until, before) in core::mem::take(&mut self.0).into_iter().rev() {
            if until <= now || is_end {
                made.extend(before.into_iter().rev().filter(|old| one(kernel, old).is_ok()));
            } else {
                self.0.insert(0, (until, before));
            }
        }
        made
    }

    /// Time of the next end.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|(until, _)| *until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_device_queue_and_value() {
        assert_eq!(parts("port.eth0.100.queue.1:10.rate"), Some(("eth0.100", "1:10", "rate")));
        assert_eq!(parts("port.eth0.queue.0: at 1:3.limit"), Some(("eth0", "0: at 1:3", "limit")));
        for none in ["eth0.queue.1:10.rate", "port.eth0.rate", "port.eth0.queue.rate"] {
            assert_eq!(parts(none), None, "{none}");
        }
    }
}
