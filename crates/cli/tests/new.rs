//! `lockgate new`: each scenario to start from is valid, and no file is overwritten.

mod command;

use command::lockgate;

#[test]
fn every_start_is_valid_and_no_file_is_overwritten() {
    let folder = tempfile::tempdir().expect("a directory");
    let listed = lockgate(folder.path(), &["new"]);
    let listed = String::from_utf8(listed.stdout).expect("text");
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 8, "{listed}");
    for name in names {
        let made = lockgate(folder.path(), &["new", name]);
        assert!(made.status.success(), "{name}: {}", String::from_utf8_lossy(&made.stderr));
        let file = format!("{name}.toml");
        let checked = lockgate(folder.path(), &["check", &file]);
        assert!(checked.status.success(), "{name}: {}", String::from_utf8_lossy(&checked.stderr));
        let printed = lockgate(folder.path(), &["new", name, "--to", "-"]);
        assert_eq!(printed.stdout, std::fs::read(folder.path().join(&file)).expect("the file"), "{name}");
        std::fs::write(folder.path().join(&file), "mine").expect("written");
        let again = lockgate(folder.path(), &["new", name]);
        assert_eq!(again.status.code(), Some(1), "{name}");
        assert_eq!(std::fs::read(folder.path().join(&file)).expect("the file"), b"mine", "{name}");
    }
    let unknown = lockgate(folder.path(), &["new", "hme"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("home"), "{unknown:?}");
}
