//! Structures of the kernel's interface, each declared once: reading, writing and the names of the fields
//! follow.

/// Number in a structure, in the byte order of the machine.
pub(crate) trait Field: Sized + Copy {
    /// Bytes.
    const LENGTH: usize;
    /// Reads it from the start of `bytes`; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;
    /// Appends its bytes.
    fn write(self, out: &mut Vec<u8>);
    /// Returns it for figures.
    fn number(self) -> f64;
}

macro_rules! fields {
    ($($number:ident),*) => {
        $(impl Field for $number {
            const LENGTH: usize = size_of::<$number>();
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_ne_bytes(*bytes))
            }
            fn write(self, out: &mut Vec<u8>) {
                out.extend(self.to_ne_bytes());
            }
            #[allow(clippy::cast_lossless, clippy::cast_precision_loss, reason = "figures are floats")]
            fn number(self) -> f64 {
                self as f64
            }
        })*
    };
}

fields!(u8, u16, i16, u32, i32, u64, i64);

/// Declares a structure of the kernel: `name: type` in the order of the header file. `= count` is a
/// field that counts events since the start; the others are levels.
macro_rules! layout {
    ($(#[$about:meta])* $visible:vis struct $name:ident { $($(#[$doc:meta])* $field:ident : $type:ty $(= $counter:ident)?),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        $visible struct $name { $($(#[$doc])* pub $field: $type),* }

        #[allow(dead_code, unused_assignments, clippy::trivially_copy_pass_by_ref, reason = "not every structure is written, or shown")]
        impl $name {
            /// Bytes of the structure.
            pub(crate) const LENGTH: usize = 0 $(+ <$type as $crate::kernel::layout::Field>::LENGTH)*;

            /// Reads it; fields beyond the end of `bytes` are 0.
            pub(crate) fn read(bytes: &[u8]) -> Self {
                let mut rest = bytes;
                $(
                    let field = <$type as $crate::kernel::layout::Field>::read(rest);
                    let $field = field.unwrap_or_default();
                    rest = rest.get(<$type as $crate::kernel::layout::Field>::LENGTH..).unwrap_or_default();
                )*
                Self { $($field),* }
            }

            /// Appends its bytes.
            pub(crate) fn write(&self, out: &mut Vec<u8>) {
                $(<$type as $crate::kernel::layout::Field>::write(self.$field, out);)*
            }

            /// Calls `emit` with the name of each figure, the field's value, and true if it counts events:
            /// its figure is their rate.
            pub(crate) fn emit(&self, emit: &mut dyn FnMut(&'static str, f64, bool)) {
                $(emit(
                    $crate::kernel::layout::layout!(@name $field $($counter)?),
                    <$type as $crate::kernel::layout::Field>::number(self.$field),
                    false $(|| layout!(@counts $counter))?,
                );)*
            }
        }
    };
    (@counts count) => { true };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident count) => { concat!(stringify!($field), "_per_s") };
}

pub(crate) use layout;
