//! Text in TOML: its longest length, and its parsing with positions.

use toml::Spanned;
use toml::de::DeTable;

use crate::diagnostic::{Problems, Source};
use crate::syntax;

/// Default limit on the memory, in bytes, of a scenario and its run: 2 GiB.
pub const MEMORY: u64 = 2 << 30;

/// Memory that a text takes while it is read, in multiples of its length.
const READING: u64 = 64;

/// Length in bytes up to which a text is always read: the later estimate of what it describes is more exact.
const ALWAYS_READ: u64 = 4 << 20;

/// Returns the longest text, in bytes, that is read within `memory` bytes.
pub const fn longest_text(memory: u64) -> u64 {
    let bounded = memory / READING;
    if bounded > ALWAYS_READ { bounded } else { ALWAYS_READ }
}

/// Parses TOML with positions.
///
/// # Errors
/// Returns the first syntax errors.
pub(crate) fn parsed<'t>(text: &'t str, source: &Source) -> Result<Spanned<DeTable<'t>>, Problems> {
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(root);
    }
    Err(Problems::new(source, syntax::problems(&errors, text)))
}
