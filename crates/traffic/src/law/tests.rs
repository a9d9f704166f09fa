//! What users see of laws.
