//! Text of the latest error of each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString};

thread_local! {
    static LATEST: RefCell<CString> = RefCell::default();
}

/// Keeps the text of an error, until the next of this thread.
pub(crate) fn keep(error: impl core::fmt::Display) {
    // No text of an error has a zero byte but one that quotes the caller's.
    let text = error.to_string().replace('\0', "\u{fffd}");
    LATEST.set(CString::new(text).unwrap_or_default());
}

/// Calls `read` with the text; empty before the first error.
pub(crate) fn with<T>(read: impl FnOnce(&CStr) -> T) -> T {
    LATEST.with_borrow(|text| read(text))
}
