//! Law of scripts: a script is imported as a shell would run it, or it is refused.
//!
//! ```text
//! script  --sh, with a function `tc` that prints its words-->  commands  --import-->  scenario
//!         --import---------------------------------------------------------------->  the same, or an error
//! ```
#![cfg(unix)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use lockgate_tc::{Options, Request, convert};

/// Functions that print what `tc` would do, also through the programs that only run it.
const PRINT: &str = r#"
tc() {
  if [ "$1" = -batch ] || [ "$1" = -b ]; then sed 's/^/tc /' >&3; return; fi
  echo tc "$@" >&3
}
sudo() { while :; do case $1 in -*) shift ;; *) break ;; esac; done; "$@"; }
nice() { sudo "$@"; }
modprobe() { :; }
"#;

/// Scripts that are read, by what is in them.
const READ: [&str; 22] = [
    "UP=9500\nfor i in 1 2 3; do tc class add dev eth0 parent 1: classid 1:$i htb rate $((UP / i))kbit; done",
    "R=1mbit\nR=3mbit tc qdisc replace dev eth0 root tbf rate $R burst 10k latency 50ms",
    "R=1\nR=${R}mbit\ntc qdisc replace dev eth0 root tbf rate $R burst 10k latency 50ms",
    "R=1mbit\n(R=9mbit)\ntc qdisc replace dev eth0 root tbf rate $R burst 10k latency 50ms",
    "R=1mbit\n(R=9mbit; tc qdisc replace dev eth0 root tbf rate $R burst 10k latency 50ms)",
    "R=1mbit\n: ${R:=7mbit} ${S:=8mbit}\ntc qdisc replace dev eth0 root tbf rate $S burst 10k latency 50ms",
    "S=\ntc qdisc replace dev eth0 root tbf rate 1mbit${S-x} burst 10k${S:-b} latency 50ms",
    "tc qdisc add dev eth0 root pfifo limit 7\nexit 0\ntc qdisc replace dev eth0 root pfifo limit 8",
    "for i in 1 2; do tc qdisc replace dev eth0 root pfifo limit $i; break; done",
    "for i in 1 2; do tc qdisc replace dev eth0 root pfifo limit 9; continue; tc qdisc del dev eth0 root; done",
    "modprobe ifb && tc qdisc add dev eth0 root pfifo limit 7 || tc qdisc add dev eth0 root pfifo limit 8",
    "tc qdisc add dev eth0 root pfifo limit 7 || { echo failed; exit 1; }\ntc qdisc replace dev eth0 root pfifo limit 8",
    "[ -n \"$1\" ] && exit 1\ntc qdisc add dev eth0 root pfifo limit 7",
    "[ -n \"$1\" ] && { echo usage; exit 1; }\ntc qdisc add dev eth0 root pfifo limit 7",
    "sudo -n tc qdisc add dev eth0 root pfifo limit 7; nice -5 tc qdisc replace dev eth0 root pfifo limit 8",
    "usage() { echo of tc; }\ntc qdisc add dev eth0 root pfifo limit 7",
    "cat <<EOF | tc -batch -\nqdisc add dev eth0 root pfifo limit 7\nEOF",
    "trap 'tc qdisc del dev eth0 root 2>/dev/null' INT\ntc qdisc add dev eth0 root pfifo limit 7",
    "R=5mbit\nif [ -f /none ]; then S=6mbit; fi\ntc qdisc add dev eth0 root tbf rate $R burst 10k latency 50ms",
    "f() { S=6mbit; }\nR=5mbit; f\ntc qdisc add dev eth0 root tbf rate $R burst 10k latency 50ms",
    "command -v tc >/dev/null\necho tc qdisc del >/dev/null\ntc qdisc add dev eth0 root pfifo limit 7",
    "read S </dev/null\nR=5mbit\ntc qdisc add dev eth0 root tbf rate ${R} burst 10k latency 50ms",
];

/// Scripts that only a shell can expand: with what changed a variable, or whether a command runs, unknown.
const REFUSED: [&str; 38] = [
    "R=5mbit\nunset R\nUSE",
    "R=5mbit\nread R < /tmp/rate\nUSE",
    "R=5mbit\n. /etc/shaper.conf\nUSE",
    "R=5mbit\nsource ./shaper.conf\nUSE",
    "R=5mbit\neval $1\nUSE",
    "R=5mbit\neval \"R=6mbit\"\nUSE",
    "R=5mbit\nprintf -v R 7mbit\nUSE",
    "R=5mbit\nR+=$(cat /tmp/x)\nUSE",
    "R=5mbit\nif [ -n \"$1\" ]; then R=6mbit; fi\nUSE",
    "R=5mbit\ncase $1 in fast) R=6mbit ;; esac\nUSE",
    "R=5mbit\nwhile read -r R; do :; done < /tmp/x\nUSE",
    "R=5mbit\n[ -f /tmp/x ] && R=9mbit\nUSE",
    "R=5mbit\n[ -n \"$1\" ] || R=9mbit\nUSE",
    "R=5mbit\n[[ $1 == a && $2 == b ]] && R=9mbit\nUSE",
    "R=5mbit\ntest -n \"$1\" && R=$1\nUSE",
    "R=5mbit\nping -c1 10.0.0.1 || R=9mbit\nUSE",
    "f() { R=3mbit; }\nR=5mbit; f\nUSE",
    "function f { R=3mbit; }\nR=5mbit; f\nUSE",
    "f() { . /etc/x; }\ng() { f; }\nR=5mbit; g\nUSE",
    "R=(5mbit 6mbit)\nUSE",
    "R=5mbit\ndeclare -a R=(6mbit 7mbit)\nUSE",
    "n=5; ((n++))\nR=${n}mbit\nUSE",
    "n=5; let n+=2\nR=${n}mbit\nUSE",
    "R=$(echo 5mbit | tr m k)\nUSE",
    "R=$(echo 5mbit; echo 6)\nUSE",
    "R=$(echo -n 5mbit)\nUSE",
    "R=5mbit\n[ -n \"$1\" ] && USE",
    "R=5mbit\n[ -n \"$1\" ] || USE",
    "R=5mbit\ngrep -q x /etc/y && USE",
    "R=5mbit\nfor i in 1 2; do [ $i = 2 ] && continue; USE; done",
    "R=5mbit\nfor i in 1 2; do if [ $i = 2 ]; then break; fi; USE; done",
    "R=5mbit\nfor d in /sys/class/net/*; do USE; done",
    "R=5mbit\nUSE\necho class add dev eth0 parent 1: classid 1:1 htb rate 1mbit | tc -batch -",
    "R=5mbit\nUSE\necho tc qdisc del dev eth0 root | sh",
    "R=5mbit\nUSE\nrun tc qdisc del dev eth0 root",
    "R=5mbit\nUSE\nssh router 'tc qdisc del dev eth0 root'",
    "R=5mbit\nUSE\neval \"tc qdisc del dev eth0 root\"",
    "R=5mbit\nUSE\nalias t=tc\nt qdisc del dev eth0 root",
];

/// Returns the scenario without its comments, or the problems.
fn imported(text: &str) -> Result<String, String> {
    let options = Options::default();
    let request = Request {
        text,
        origin: "a test",
        definitions: &[],
        options: &options,
        rate: None,
        is_lenient: false,
    };
    let converted = convert(&request).map_err(|problems| problems.to_string())?;
    let lines = converted.scenario.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the commands that a shell runs.
fn run(script: &str) -> String {
    let mut shell = Command::new("sh")
        .args(["-c", "exec 3>&1 >/dev/null 2>&1; eval \"$(cat)\""])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut input = shell.stdin.take().expect("its input");
    input.write_all(format!("{PRINT}\n{script}").as_bytes()).expect("the shell reads");
    drop(input);
    let output = shell.wait_with_output().expect("the shell ends");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_script_is_read_as_a_shell_runs_it() {
    const START: &str = "tc qdisc add dev eth0 root handle 1: htb default 1\n";
    for script in READ {
        let script = if script.contains("classid") { format!("{START}{script}") } else { script.to_owned() };
        let commands = run(&script);
        assert!(commands.starts_with("tc "), "`sh` runs nothing of\n{script}");
        assert_eq!(imported(&script), imported(&commands), "{script}");
    }
}

#[test]
fn a_script_that_only_a_shell_can_expand_is_refused() {
    for script in REFUSED {
        let script =
            script.replace("USE", "tc qdisc replace dev eth0 root tbf rate $R burst 10k latency 50ms");
        let Err(problems) = imported(&script) else { panic!("it is read:\n{script}") };
        let is_told = problems.contains("shell") || problems.contains("has no value");
        assert!(is_told, "{script}\n{problems}");
    }
}

/// What is cut off, or goes on for too long, is a problem at its line, and no script that is shorter.
#[test]
fn a_script_is_read_whole_or_refused() {
    const START: &str = "tc qdisc add dev eth0 root handle 1: htb default 10\n\
        tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit\n";
    const END: &str = "tc class add dev eth0 parent 1: classid 1:20 htb rate 5mbit\n";
    for (script, line, part) in [
        ("NAME=\"x\nEND", 3, "has no end"),
        ("echo 'x\nEND", 3, "has no end"),
        ("DATE=`date\nEND", 3, "has no end"),
        ("DATE=$(date\nEND", 3, "has no end"),
        ("DATE=\"$(date\nEND", 3, "has no end"),
        ("DATE=${D:-x\nEND", 3, "has no end"),
        ("cat <<EOF\ndon't\nEOF\nEND", 4, "has no end"),
        ("for i in 1 2; do tc qdisc add dev eth0 parent 1:10 fq_codel ecn", 3, "no `done`"),
        ("if true; then\necho x\n", 3, "no `fi`"),
        ("usage() {\necho x\n", 3, "no `}`"),
        ("for a in $(seq 1000); do for b in $(seq 900); do R=$a; done; done\nEND", 3, "too many commands"),
        ("tc\u{a0}class add dev eth0 parent 1: classid 1:20 htb rate 5mbit", 3, "no-break space"),
        ("class\u{a0}add dev eth0 parent 1: classid 1:20 htb rate 5mbit", 3, "no-break space"),
        ("tc class add dev eth0 parent 1: classid\u{a0}1:20 htb rate 5mbit", 3, "no-break space"),
    ] {
        let script = format!("{START}{}", script.replace("END", END));
        let problems = imported(&script).expect_err(&script);
        let is_at = problems.contains(&format!("{line}:")) || problems.contains(&format!("line {line}"));
        assert!(is_at && problems.contains(part), "{script}\n{problems}");
    }
    let said = imported(&format!("{START}echo 'a\u{a0}b' \"it's\" > /dev/null # don't\n{END}"));
    assert!(said.is_ok_and(|read| read.contains("class-1-20")));
}

#[test]
fn a_value_that_only_a_shell_knows_can_be_given() {
    let text = "R=5mbit\n. /etc/shaper.conf\ntc qdisc add dev eth0 root tbf rate $R burst 10k latency 50ms";
    let problems = imported(text).expect_err("a value that a file may change");
    assert!(problems.contains("`$R` has a value that only a shell knows, since `.` of line 2"), "{problems}");
    let (options, definitions) = (Options::default(), [("R".to_owned(), "6mbit".to_owned())]);
    let request = Request {
        text,
        origin: "a test",
        definitions: &definitions,
        options: &options,
        rate: None,
        is_lenient: false,
    };
    let converted = convert(&request).expect("a given value");
    assert!(converted.scenario.contains("rate = \"6mbit\""), "{}", converted.scenario);
}
