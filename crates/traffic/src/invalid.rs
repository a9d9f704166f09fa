//! Traffic that cannot be: which field, and what is allowed.

/// A field whose value cannot be: what is wrong with it and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {why}")]
pub struct Invalid {
    /// The field as the scenario spells it, with dots for tables within tables: `gap.shape`.
    pub field: String,
    /// What is wrong and what is allowed, in lower case without a full stop; reads on from the field's name.
    pub why: String,
}

impl Invalid {
    /// `field` is wrong because of `why`.
    pub fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }

    /// The same problem, seen from the table that holds the field: `shape` within `gap` is `gap.shape`.
    #[must_use]
    pub fn within(self, table: &str) -> Self {
        let field = if self.field.is_empty() { table.to_owned() } else { format!("{table}.{}", self.field) };
        Self { field, ..self }
    }
}
