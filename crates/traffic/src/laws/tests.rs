//! Held against every law of the list.
