//! Arbitrary text as `tc` commands: problems, or commands that are printed and read again; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_tc::{Environment, import, parse};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(commands) = parse(text) {
        assert_eq!(parse(&commands.to_string()), Ok(commands.clone()), "what is printed is read");
        let _ = import(&commands, &Environment { hz: 250, flows: &[] });
    }
});
