//! Part: the row of a finished task as a file, with a checksum of the whole file.
//!
//! The checksum is a note of the Parquet file: the SHA-256 of the task's key and of the file with zeros in
//! the offset of the checksum. A damaged file, and one of another task, are therefore refused before they are
//! parsed.

use lockgate_export::ExportError;
use lockgate_export::parquet::{self, Column};
use sha2::{Digest, Sha256};

use crate::plan::hexadecimal;
use crate::{Row, Task};

/// Name of the note.
const NAME: &str = "lockgate.sha256";
/// Digits of the checksum.
const DIGITS: usize = 64;
/// Bytes between the name and the value in the footer: in Thrift's compact protocol the next field, a text of
/// 64 bytes.
const BETWEEN: [u8; 2] = [0x18, DIGITS as u8];

/// Returns the file of a task's row.
pub(super) fn write(task: &Task, metrics: &[String], row: &Row) -> Result<Vec<u8>, ExportError> {
    let columns = row.iter().zip(metrics);
    let columns: Vec<(String, Column)> =
        columns.map(|(value, path)| (path.clone(), Column::Real(vec![*value]))).collect();
    let notes = [(NAME.to_owned(), "0".repeat(DIGITS))];
    let mut file = parquet::table(&columns, &notes, Vec::new())?;
    if let Some(at) = offset(&file) {
        let checksum = checksum(&task.key, &file);
        file[at..at + DIGITS].copy_from_slice(checksum.as_bytes());
    }
    Ok(file)
}

/// Reads the file of a task's row: the names of the metrics with their values.
///
/// # Errors
/// The reason, as the end of a sentence, if the file is damaged or of another task.
pub(super) fn read(task: &Task, mut file: Vec<u8>) -> Result<Vec<(String, Option<f64>)>, String> {
    let at = offset(&file).ok_or("has no checksum")?;
    let found = file[at..at + DIGITS].to_vec();
    file[at..at + DIGITS].fill(b'0');
    if checksum(&task.key, &file).as_bytes() != found {
        return Err("does not have its checksum".to_owned());
    }
    parquet::first_row(file).map_err(|error| format!("cannot be read ({error})"))
}

/// Returns the offset of the checksum's first digit. The notes are near the end, after the names of the
/// columns.
fn offset(file: &[u8]) -> Option<usize> {
    let before = [NAME.as_bytes(), &BETWEEN].concat();
    let at = file.windows(before.len()).rposition(|bytes| bytes == before)? + before.len();
    (at + DIGITS <= file.len()).then_some(at)
}

fn checksum(key: &str, file: &[u8]) -> String {
    hexadecimal(&Sha256::new().chain_update(key).chain_update(file).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_with_any_byte_changed_or_of_another_task_is_refused() {
        let task = Task { key: "a".into(), variant: 0, settings: Vec::new(), seed: 1 };
        let metrics = ["flow.a.owd.p99".to_owned(), "lockgate.sha256".to_owned()];
        let row = vec![Some(0.25), None];
        let file = write(&task, &metrics, &row).expect("a file");
        let expected: Vec<(String, Option<f64>)> = metrics.iter().cloned().zip(row).collect();
        assert_eq!(read(&task, file.clone()), Ok(expected));
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                assert!(read(&task, damaged).is_err(), "byte {at}, bit {bit}");
            }
        }
        for length in 0..file.len() {
            assert!(read(&task, file[..length].to_vec()).is_err(), "the first {length} bytes");
        }
        assert!(read(&Task { key: "b".into(), ..task }, file).is_err());
    }
}
