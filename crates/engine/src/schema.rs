//! Types whose parameters are described by a JSON schema.

/// A type with a JSON schema, if the feature `schema` is enabled; otherwise any type.
#[cfg(feature = "schema")]
pub use schemars::JsonSchema as Described;

/// A type with a JSON schema, if the feature `schema` is enabled; otherwise any type.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<T: ?Sized> Described for T {}
