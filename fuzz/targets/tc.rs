//! Arbitrary text as `tc` commands, scripts and what `tc` prints: problems, or commands that are printed and
//! read again, scenarios, findings; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_tc::lint::{self, Machine};
use lockgate_tc::{Environment, Options, Request, convert, import, parse, read};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(commands) = parse(text) {
        assert_eq!(parse(&commands.to_string()), Ok(commands.clone()), "what is printed is read");
        let _ = import(&commands, &Environment { hz: 250, flows: &[] });
    }
    let _ = lint::check(&read(text, &[], "eth0"), &Machine::default());
    for is_lenient in [false, true] {
        let options = Options::default();
        let request =
            Request { text, origin: "", definitions: &[], options: &options, rate: None, is_lenient };
        let _ = convert(&request);
    }
});
