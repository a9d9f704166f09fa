//! Handles of disciplines and classes.

use core::fmt;
use core::str::FromStr;

/// Handle of a discipline (`10:`) or a class (`10:1`); both parts are hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle {
    /// Part of the discipline; never 0.
    pub major: u16,
    /// Part of the class; 0 for a discipline.
    pub minor: u16,
}

/// Text that is not a handle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a handle such as `1:` or `1:10`")]
pub struct NotAHandle(String);

impl Handle {
    /// Hook of what arrives at a device.
    pub const INGRESS: Self = Self { major: 0xffff, minor: 0xfff2 };

    /// Hook of what leaves a device, before its root discipline.
    pub const EGRESS: Self = Self { major: 0xffff, minor: 0xfff3 };

    /// Parses the handle of a discipline: `1:` or `1`.
    pub(crate) fn of_qdisc(text: &str) -> Option<Self> {
        let digits = text.strip_suffix(':').unwrap_or(text);
        hexadecimal(digits).filter(|major| *major > 0).map(|major| Self { major, minor: 0 })
    }

    /// Returns true for the hooks of a device.
    #[must_use]
    pub const fn is_hook(self) -> bool {
        self.major == 0xffff
    }

    /// Returns the handle of the discipline that a class belongs to.
    #[must_use]
    pub const fn owner(self) -> Self {
        Self { major: self.major, minor: 0 }
    }
}

impl FromStr for Handle {
    type Err = NotAHandle;

    fn from_str(text: &str) -> Result<Self, NotAHandle> {
        let part = |text: &str| match text {
            "" => Some(0),
            digits => hexadecimal(digits),
        };
        let read = || {
            let (major, minor) = text.split_once(':')?;
            Some(Self { major: part(major).filter(|major| *major > 0)?, minor: part(minor)? })
        };
        read().ok_or_else(|| NotAHandle(text.to_owned()))
    }
}

/// Parses 16 bits in hexadecimal digits, with or without `0x`.
pub(crate) fn hexadecimal(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_plain)
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            0 => write!(f, "{:x}:", self.major),
            minor => write!(f, "{:x}:{minor:x}", self.major),
        }
    }
}
