use super::*;
use crate::control::history::{Outcome, Revision};

fn history(policies: u64) -> History {
    let mut history = History::default();
    for number in 1..=policies {
        history.push(Revision {
            number: 0,
            origin: "house.toml".to_owned(),
            text: format!("title = \"{number} é\"\n"),
            at: "2026-01-01T00:00:00Z".to_owned(),
            by: "alice".to_owned(),
            difference: String::new(),
            outcome: Outcome::Confirmed,
        });
    }
    history
}

#[test]
fn a_history_survives_every_truncation_of_either_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(&folder.path().join("deep/state")).expect("created");
    assert_eq!(store.load().expect("empty").history, History::default());
    let history = history(2);
    store.save(&history).expect("saved");
    for name in [FILE, COPY] {
        let path = folder.path().join("deep/state").join(name);
        let whole = fs::read(&path).expect("a file");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("torn");
            let loaded = store.load().expect("the other file");
            assert_eq!(loaded.history, history, "{name}, {length} bytes");
            assert_eq!(
                loaded.repaired.is_empty(),
                name == COPY,
                "{name}, {length} bytes: {}",
                loaded.repaired
            );
        }
        for at in (0..whole.len()).step_by(7) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).expect("flipped");
            assert_eq!(store.load().expect("the other file").history, history, "{name}, byte {at}");
        }
        fs::remove_file(&path).expect("removed");
        assert_eq!(store.load().expect("the other file").history, history);
        fs::write(&path, whole).expect("restored");
    }
}

#[test]
fn damage_of_both_files_is_an_error_that_keeps_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path()).expect("created");
    store.save(&history(1)).expect("saved");
    let whole = fs::read(folder.path().join(FILE)).expect("a file");
    for length in 0..whole.len() {
        fs::write(folder.path().join(FILE), &whole[..length]).expect("torn");
        fs::write(folder.path().join(COPY), &whole[..length]).expect("torn");
        let error = store.load().expect_err("damaged").to_string();
        assert!(error.contains("damaged") && error.contains("`history` "), "{error}");
    }
    store.set_aside().expect("moved");
    assert_eq!(store.load().expect("empty").history, History::default());
    assert!(folder.path().join("history.damaged").exists());
}

#[cfg(unix)]
#[test]
fn directories_are_private_and_their_parents_are_not() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("lockgate/router/house");
    Store::open(&state).expect("created");
    Store::open(&state).expect("there");
    let mode = |path: &Path| fs::metadata(path).expect("a directory").permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    let plain = folder.path().join("plain");
    fs::create_dir(&plain).expect("created");
    assert_eq!(mode(&folder.path().join("lockgate/router")), mode(&plain));
}

#[test]
fn a_failed_save_leaves_the_stored_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path()).expect("created");
    store.save(&history(1)).expect("saved");
    // A directory blocks the name of the draft.
    fs::create_dir(folder.path().join("history.new")).expect("in the way");
    let error = store.save(&history(2)).expect_err("refused");
    assert!(error.to_string().starts_with("cannot write `"), "{error}");
    assert_eq!(store.load().expect("the first").history, history(1));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.path().join(FILE)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_trial_that_is_marked_as_refused_is_no_part_of_the_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path()).expect("created");
    let mut with_trial = history(1);
    let first = with_trial.newest_first().next().expect("the first").clone();
    let trial = with_trial.push(Revision { outcome: Outcome::Trial, ..first });
    store.save(&with_trial).expect("saved");
    let count = |store: &Store| store.load().expect("a history").history.newest_first().count();
    store.mark_refused(trial);
    assert_eq!((count(&store), count(&Store::open(folder.path()).expect("there"))), (1, 1));
    // A mark is of one trial, and ends with the next history.
    store.save(&with_trial).expect("saved");
    assert_eq!(count(&store), 2);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "the two files alone");
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_another_user_could_replace_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown};

    let folder = tempfile::tempdir().expect("a folder");
    let above = fs::canonicalize(folder.path()).expect("there").join("above");
    fs::create_dir_all(above.join("between/there")).expect("created");
    let set_mode = |mode| fs::set_permissions(&above, fs::Permissions::from_mode(mode)).expect("set");
    let refusal = |below: &str| match Store::open(&above.join(below)) {
        Err(StoreError::Exposed { path, why }) => (path == above).then_some(why).expect("the one above"),
        other => panic!("{other:?}"),
    };
    for mode in [0o777, 0o775, 0o722] {
        set_mode(mode);
        for below in ["between/there", "new", "new/deep"] {
            assert_eq!(refusal(below), format!("has the mode {mode:04o}"));
        }
    }
    assert!(!above.join("new").exists(), "nothing is created there");
    // As of /tmp.
    set_mode(0o1777);
    Store::open(&above.join("between/there")).expect("no other user can rename it");
    set_mode(0o755);
    Store::open(&above.join("new/deep")).expect("created");
    // Only the superuser can give a directory away.
    if chown(&above, Some(65_534), None).is_ok() {
        for mode in [0o755, 0o1777] {
            set_mode(mode);
            assert_eq!(refusal("between/there"), "belongs to user 65534");
        }
    }
}
