//! Messages of I/O errors.

use std::io;

/// Returns the message of an error of a file that is written, in lower case and without its number.
pub fn of_writing(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such directory".to_owned(),
        io::ErrorKind::AlreadyExists => "it is there already".to_owned(),
        _ => words(error),
    }
}

/// Returns the message of an I/O error, in lower case and without its number.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::StorageFull => "there is no room on the disk".to_owned(),
        io::ErrorKind::QuotaExceeded => "your share of the disk is used up".to_owned(),
        _ => {
            let text = error.to_string().to_lowercase();
            text.split_once(" (os error").map_or(text.clone(), |(said, _)| said.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_has_its_number() {
        for number in 1..134 {
            let said = words(&io::Error::from_raw_os_error(number));
            assert!(!said.is_empty() && !said.contains("os error"), "{number}: {said}");
        }
    }
}
