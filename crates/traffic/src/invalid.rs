//! The error of invalid traffic: the field, and what is allowed.

/// A field with an invalid value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {why}")]
pub struct Invalid {
    /// Field as the scenario spells it, with dots for nested tables: `gap.shape`.
    pub field: String,
    /// The problem and the allowed values, in lower case without a full stop; continues the field's name.
    pub why: String,
}

impl Invalid {
    /// Creates the error of `field`; `why` continues its name.
    pub fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }

    /// Prefixes the field with the table that holds it: `shape` within `gap` becomes `gap.shape`.
    #[must_use]
    pub fn within(self, table: &str) -> Self {
        let field = if self.field.is_empty() { table.to_owned() } else { format!("{table}.{}", self.field) };
        Self { field, ..self }
    }
}
