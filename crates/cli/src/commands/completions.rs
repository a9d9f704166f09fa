//! `lockgate completions`: a completion script for a shell.

use clap_complete::env::Shells;

use crate::arguments::Completions;
use crate::exit::{Exit, Failure};
use crate::output;

/// Variable by which the script calls this command.
const VARIABLE: &str = "COMPLETE";

pub(crate) fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    let name = arguments.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| {
        Failure::usage(format!("there are no completions for {name}"), "name another shell")
    })?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "lockgate", "lockgate", "lockgate", &mut script)
        .map_err(|error| Failure::run(error, "this is a fault of Lockgate: please report it"))?;
    output::document(with_quotes(&String::from_utf8_lossy(&script)).as_bytes());
    Ok(Exit::Ok)
}

/// Returns the script of bash such that the names of files are quoted, as zsh and fish do themselves: a file
/// may be called `$(reboot).toml`. That of another shell stays as it is.
fn with_quotes(script: &str) -> String {
    const END: &str = "    fi\n}\n";
    const QUOTED: &str = "    fi
    local place
    for place in \"${!COMPREPLY[@]}\"; do
        COMPREPLY[place]=$(printf '%q' \"${COMPREPLY[place]}\")
    done
}
";
    if script.contains("COMPREPLY") { script.replacen(END, QUOTED, 1) } else { script.to_owned() }
}
