//! Arrow arrays over memory of a recording, without a copy; and arrays of computed values.

use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType};
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use bytemuck::NoUninit;
use bytes::Bytes;

/// Column of a value. Arrays over its memory keep the value alive.
struct Column<O, T> {
    owner: Arc<O>,
    of: fn(&O) -> &[T],
}

impl<O, T: NoUninit> AsRef<[u8]> for Column<O, T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice((self.of)(&self.owner))
    }
}

/// Returns the array of a column in the owner's memory. The values are read as `P`, which has the size of
/// `T`.
pub(crate) fn shared<P: ArrowPrimitiveType, O, T>(
    owner: &Arc<O>,
    of: fn(&O) -> &[T],
    nulls: Option<NullBuffer>,
) -> PrimitiveArray<P>
where
    O: Send + Sync + 'static,
    T: NoUninit + Send + Sync + 'static,
{
    let length = of(owner).len();
    let bytes = Bytes::from_owner(Column { owner: Arc::clone(owner), of });
    PrimitiveArray::new(ScalarBuffer::new(Buffer::from(bytes), 0, length), nulls)
}

/// Returns the array of names by index. Arrow calls it a dictionary, pandas a categorical.
///
/// # Errors
/// If a key has no name.
pub(crate) fn named<K: ArrowDictionaryKeyType>(
    keys: PrimitiveArray<K>,
    names: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<ArrayRef, ArrowError> {
    let names = StringArray::from_iter_values(names);
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?))
}

/// Returns an array of real numbers.
pub(crate) fn real(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Float64Array>())
}

/// Returns an array of texts.
pub(crate) fn text(values: impl IntoIterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}
