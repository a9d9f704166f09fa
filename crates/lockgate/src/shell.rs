//! Words of commands that are printed for a shell.

/// Returns a word in single quotes, as every POSIX shell reads it back.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a word as it is, or quoted if a shell would read it otherwise.
pub fn word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        for text in ["a b", "a'b", "$(touch x)", "`x`", "a;b", "\\", "", "*", "a\nb", "~", "-x=1", "é", "!x"]
        {
            for written in [word(text), quoted(text)] {
                let read =
                    std::process::Command::new("sh").args(["-c", &format!("printf %s {written}")]).output();
                assert_eq!(String::from_utf8_lossy(&read.expect("a shell").stdout), text, "{written}");
            }
        }
        assert_eq!(word("port.a:b.rate=1mbit"), "port.a:b.rate=1mbit");
    }
}
