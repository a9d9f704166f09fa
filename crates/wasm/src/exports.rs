//! Raw exports of the module, and all its `unsafe` code: memory that the page fills and reads.
//!
//! ```text
//! alloc(length) -> pointer       memory for a request; 0 if there is none
//! CALL(pointer, length) -> both  frees the request; returns an answer
//! free(pointer, length)          frees an answer
//! panic_text() -> both           text of the panic that has ended the instance; it is not freed
//! ```
//!
//! Pointer and length are returned as one number: the pointer times 2^32, plus the length.
//!
//! The memory of an instance belongs to one worker, and no call overlaps another.
#![allow(unsafe_code, reason = "exports by name, and memory that crosses the border of the module")]

use crate::{answer, panic};

/// Returns the pointer times 2^32, plus the length.
fn packed(pointer: *const u8, length: usize) -> u64 {
    (pointer as u64) << 32 | length as u64
}

/// Returns memory for a request.
#[unsafe(no_mangle)]
extern "C" fn alloc(length: usize) -> *mut u8 {
    panic::keep();
    let mut bytes: Vec<u8> = Vec::new();
    if bytes.try_reserve_exact(length).is_err() {
        return core::ptr::null_mut();
    }
    bytes.resize(length, 0);
    Box::into_raw(bytes.into_boxed_slice()).cast()
}

/// Frees an answer, or a request that was not passed to a call.
///
/// # Safety
/// `alloc` or a call returned this pointer with this length, and it was not freed since.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(pointer: *mut u8, length: usize) {
    // SAFETY: as above.
    drop(unsafe { taken(pointer, length) });
}

/// Returns the memory at a pointer, which is freed with it.
///
/// # Safety
/// `alloc` or a call returned this pointer with this length, and it was not freed since.
unsafe fn taken(pointer: *mut u8, length: usize) -> Box<[u8]> {
    // SAFETY: the memory was a box of bytes of this length, and the caller of the export gives it back.
    unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(pointer, length)) }
}

/// Passes an answer to the caller.
fn given(answer: Vec<u8>) -> u64 {
    let answer = Box::leak(answer.into_boxed_slice());
    packed(answer.as_ptr(), answer.len())
}

macro_rules! calls {
    ($($name:ident)*) => {$(
        /// Answers a request by the function of this name, and frees the request.
        ///
        /// # Safety
        /// `alloc` returned this pointer with this length, and the request was written there.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(pointer: *mut u8, length: usize) -> u64 {
            // SAFETY: as above.
            let request = unsafe { taken(pointer, length) };
            given(answer(&request, crate::$name))
        }
    )*};
}

// A further call is a function with its file beside this one, and its name here.
calls!(check run compare begin step result finish cancel import complete knobs schema decisions);

/// Returns the text of the last panic, which stays where it is.
#[unsafe(no_mangle)]
extern "C" fn panic_text() -> u64 {
    panic::with_text(|text| packed(text.as_ptr(), text.len()))
}
