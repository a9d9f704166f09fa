//! Command line: the commands and their options. Doc comments of options are the help texts that users see.

mod address;
mod complete;
mod ends;
mod evidence;
mod help;
mod many;
mod reading;
mod reference;
mod router;
mod run;
mod tc;
mod top;
mod watch;
mod worst;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::address::{identify_address, traffic_address};
pub(crate) use self::complete::complete;
pub(crate) use self::ends::{Direction, Identify, Receive, Send};
pub(crate) use self::evidence::{Conform, Reproduce};
pub(crate) use self::help::parse;
pub(crate) use self::many::{Compare, Diff, Sweep, Test, Tune, Variations};
pub(crate) use self::reference::{Completions, Docs, List, Man, Schema, SchemaOf};
pub(crate) use self::run::{Run, Step};
pub(crate) use self::watch::{Play, Set, Watch};
pub(crate) use self::worst::{Attack, Prove};
pub(crate) use router::{Apply, Capture, Confirm, Rollback, Route, RouterCommand, RouterName, Status};
pub(crate) use tc::{TcCheck, TcCommand, TcExport, TcImport};
pub(crate) use top::Top;

/// A laboratory for packet scheduling.
#[derive(Debug, Parser)]
#[command(
    name = "lockgate",
    version = crate::version::NUMBER,
    long_version = crate::version::long(),
    about = "A laboratory and a router for packet scheduling: simulated, on real packets between namespaces of this machine, \
             and on its interfaces",
    after_help = "Exit codes:
  0    ok
  1    the run failed, or its output cannot be written
  2    usage or scenario error
  3    an expectation is missed, a theorem does not hold, or two files differ
  4    this host lacks a capability
  5    the run was outside its fidelity limits
  130  interrupted

--out replaces an empty directory or the results of an earlier run, if nothing else is in it; anything else is refused."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a 60-second demo: a second of buffer, and its cure; simulated and on real packets
    #[command(after_help = "Examples:\n  lockgate demo --out /tmp/demo\n  lockgate demo --sim")]
    Demo(Demo),
    /// Writes a commented scenario to start from; without a name, lists them
    #[command(
        after_help = "Examples:\n  lockgate new\n  lockgate new home\n  lockgate new l4s --to mine.toml\n  \
                      lockgate new lab --from house.toml\n\nA laboratory around a policy names it: what is changed in the \
                      policy is changed there too."
    )]
    New(New),
    /// Runs a scenario and leaves a report
    #[command(after_help = "Examples:
  lockgate run scenarios/voice-beside-bulk.toml
  lockgate run voice.toml --set port.home:server.root=priority
  lockgate run voice.toml --repeat 10 --json > summary.json
  lockgate run voice.toml --worst flow.voice
  lockgate run voice.toml --live
  lockgate run house.toml
  lockgate run voice.toml --set 'flow.voice.replay={file=\"call.pcap\"}' \\
    --set flow.voice.profile=

Values are TOML where they parse as TOML, else text; an empty value removes the key. Files are looked for \
beside the scenario, then where you are. A router's policy is run in a laboratory that is made around it.")]
    Run(Run),
    /// Runs a scenario and shows it with its knobs: in the terminal, and with --web in the browser
    #[command(after_help = "Examples:
  lockgate watch scenarios/voice-beside-bulk.toml --sim
  lockgate watch scenarios/bufferbloat.toml --sim --pace 10 --web
  lockgate watch scenarios/bufferbloat.toml --live --web
  lockgate watch voice.toml --sim --web 0.0.0.0:8180 --name lab.example
  lockgate watch voice.toml --sim --pace 0 --out /tmp/session > samples.txt

Where the output is not a terminal, each sample is a line; when their reader goes away, the run ends. When the run has ended, \
its results are written at once; with --web, the page stays until Ctrl-C, which is then the normal end. `lockgate set` turns the knobs of a run with --web. \
Elsewhere than on loopback, changes need the token in LOCKGATE_TOKEN, or the one that is printed.")]
    Watch(Watch),
    /// Opens a scenario in the playground: a page that runs the simulator in the browser
    #[command(after_help = "Examples:
  lockgate play
  lockgate play scenarios/home.toml
  lockgate play voice.toml --web 8200
  lockgate play voice.toml --out voice.html

The page is served on loopback until Ctrl-C. It runs by itself, and sends nothing; what is changed in it stays there. With --out it \
is written to one file, which opens from a disk. `make play` builds the page; a command that was built without it says so.")]
    Play(Play),
    /// Shows the decisions of a port, one after another: the state that decides, the choice, and why
    #[command(after_help = "Examples:
  lockgate step scenarios/voice-beside-bulk.toml
  lockgate step home.toml --port router:modem --from 2s --count 5
  lockgate step home.toml --port router:modem --until drop
  lockgate step home.toml --until late --late 50ms --set link.line.rate=5mbit
  lockgate step exercise.toml --until 3s --count 100 --json > steps.json

Each step is a decision, that is, a dequeue of the port's queues, or a drop. --until drop, mark and late show the steps before the event, and the event; a time shows the last ones before it. The chosen row of a table has a `>`. Sentences and tables name queues and flows as the scenario does, and a packet by its number in its flow.")]
    Step(Step),
    /// Proves bounds on the delays of flows, step by step, by network calculus; runs nothing
    #[command(after_help = "Examples:
  lockgate prove scenarios/voice-beside-bulk.toml
  lockgate prove home.toml --flow voice
  lockgate prove home.toml --set port.router:modem.root=priority --json

A bound holds for all traffic within the envelopes: [flow.NAME.envelope], or what `gap`, `rate`, `g711` and `replay` send at most. What has no bound says why: TCP, a discipline without theorem, a cycle of queues, more traffic than the line carries. `proven = true` in an `[[expect]]` demands a bound; flow.NAME.owd.bound is a metric.")]
    Prove(Prove),
    /// Searches for the traffic within the envelopes that makes a metric worst
    #[command(after_help = "Examples:
  lockgate attack scenarios/voice-beside-bulk.toml --budget 200
  lockgate attack home.toml --that flow.voice.owd.max --budget 60s --out worst
  lockgate attack home.toml --set port.router:modem.root=fifo --budget 1000

The enemy chooses start times, bursts, lengths and gaps of every UDP flow within its envelope ([flow.NAME.envelope], or what its traffic sends at most), of those of [adversary] within the bucket that they share, and the start of the others; the first two seconds after the warm-up count. --out writes what it found as a scenario with captures. A budget of runs gives the same result on any number of threads. What is not found is effort, never safety: `lockgate prove` bounds it from above.")]
    Attack(Attack),
    /// Sets values of a run that `lockgate watch --web` shows, all at once
    #[command(after_help = "Examples:
  lockgate set port.home:server.queue.voice.limit=20p
  lockgate set port.home:server.root=priority --for 30s
  lockgate set link.wan.rate=5mbit link.wan.delay=40ms --to 192.0.2.7:8180

Elsewhere than on loopback, and for `lockgate top --set`, the token is read from LOCKGATE_TOKEN.")]
    Set(Set),
    /// Reads and validates scenarios, and policies of routers, without running them: every problem at once
    #[command(after_help = "Examples:\n  lockgate check scenarios/*.toml\n  lockgate check house.toml")]
    Check(Check),
    /// Runs variants of a scenario with the same seeds: which is best, and which differences are real
    #[command(after_help = "Examples:
  lockgate compare scenarios/home.toml
  lockgate compare home.toml --vary port.router:modem.root=fifo,cake,htb \\
    --show flow.call.owd.p99,flow.backup/1.goodput
  lockgate compare home.toml \\
    --vary port.router:modem.policy=house.toml:wan,other.toml:wan
  lockgate compare home.toml --vary 'link.line.delay=1ms..50ms log 5'
  lockgate compare home.toml --vary \\
    'port.router:modem.queue.cake.bandwidth=9mbit..10mbit step 100kbit'
  lockgate compare home.toml --vary-together a.x=1,2 --vary-together b.y=3,4 \\
    --base 1 --csv runs.csv

PATH is one of --set. Values are a list `a,b,c`, `a..b step s`, or `a..b log n` (n values at equal ratios). \
Every variant is run with every seed; its differences from the best are taken seed by seed (Student's t, all of one \
metric judged together at 5 %: by Holm's method with --base, else by a closed test). Without --vary, the [[vary]] of the file are used; without --show, the \
metrics of its expectations, or else each flow's p99 delay and goodput.")]
    Compare(Compare),
    /// Compares two policies, scenarios or scripts of `tc`: which packets they treat differently, and how
    #[command(after_help = "Examples:
  lockgate diff old.toml new.toml
  lockgate diff old.sh new.sh --static
  lockgate diff house.toml new-house.toml --capture evening.pcapng
  lockgate diff main/house.toml house.toml --github > comment.md
  for what in qdisc class filter; do tc -d $what show dev eth0; done > shown
  lockgate diff queues.sh shown --static

Files are policies, scenarios, scripts or batch files of `tc`, or what `tc` shows; the two may be of different kinds. The \
sets of packets are exact, and each has its smallest packet. Then come the changes of rates, kinds, parameters and classes, \
and, unless --static, both run with the same seeds, those of two policies in one laboratory. \
Exit code 0 if both are the same, 3 if they differ.")]
    Diff(Diff),
    /// Makes many runs into a directory that can be stopped, resumed and shared, with a row for each run
    #[command(after_help = "Examples:
  lockgate sweep home.toml --vary 'link.line.delay=1ms..50ms log 20' \\
    --into results
  lockgate sweep --into results --status
  lockgate sweep --into results --resume
  lockgate sweep home.toml --vary … --into results \\
    --shard $SLURM_ARRAY_TASK_ID/16
  lockgate sweep --into results --collect

A run is finished if its file in DIR/parts is there: the same command, --resume, or any number of shards at the same \
time make only what is missing. DIR/runs.parquet has a row for each run, in the order of the plan: the same bytes \
however it was made. A run that fails is noted in DIR/failed with the command that repeats it.")]
    Sweep(Sweep),
    /// Searches the best values of parameters: goals, constraints, judged on seeds that the search has not
    /// seen
    #[command(after_help = "Examples:
  lockgate tune scenarios/home.toml --set port.router:modem.root=cake \\
    --vary 'port.router:modem.queue.cake.bandwidth=8mbit..11mbit' \\
    --goal 'min flow.call.owd.p99' \\
    --subject-to 'group.backup.goodput.sum >= 8mbit'
  lockgate tune home.toml --vary 'port.a:b.queue.q.target=1ms..20ms log' \\
    --goal 'min flow.call.owd.p99' --goal 'max group.backup.goodput.sum'
  lockgate tune calls.toml --largest flow.call.count \\
    --while 'group.call.mos.worst >= 4'

A range a..b stands for every value in it, `log` for equal ratios; `step s` and lists for those values. Every point is \
run with every seed, the best eight then with ten. The best of those and the file as it is are judged on the seeds of \
--validate; exit code 3 if no point keeps the constraints there. Of several goals the front and its knee are shown, and \
no winner. The search is a Gaussian process, of several goals a Parzen estimator; the same \
--seed repeats it on any machine.")]
    Tune(Tune),
    /// Tests the expectations of scenarios: a line for each file
    #[command(after_help = "Examples:
  lockgate test qos/*.toml
  lockgate test scenarios/ccwg --by tcp --seeds 1..3
  lockgate test qos/*.toml --seeds 1..10 --junit results.xml --github
  lockgate test home.toml dsl.toml --policy house.toml
  lockgate test qos/*.toml --write-baseline main.json
  lockgate test qos --baseline main.json --fail-on-regression 5%
  lockgate test qos/*.toml --attack 60s --attack-out worst

Exit code 3 if an expectation is missed, 1 if a file cannot be run, or expects nothing. Files of a directory that expect \
nothing are named and left out, unless none expects anything. --baseline shows differences, and judges them with \
--fail-on-regression; nothing but --junit and --write-baseline is written, and only over an earlier file of that kind.")]
    Test(Test),
    /// Lists disciplines, distributions, traffic profiles and metrics; of a name, its parameters and
    /// guarantees
    #[command(after_help = "Examples:\n  lockgate list\n  lockgate list tbf\n  lockgate list distributions")]
    List(List),
    /// Repeats the experiments of papers: each claim, the paper's value, ours, holds or not
    #[command(after_help = "Examples:
  lockgate reproduce
  lockgate reproduce caqt --quick --json
  lockgate reproduce altq-wfq --claim ratio
  lockgate reproduce run2c --with fq_codel,cake
  lockgate reproduce caqt --live --scale 100
  lockgate reproduce ./papers/mine")]
    Reproduce(Reproduce),
    /// Tests disciplines against their theorems: oracle, bound, worst measured, ratio
    #[command(after_help = "Examples:
  lockgate conform
  lockgate conform wf2q+ --seed 7 --trials 1000
  lockgate conform --out conformance --json > conformance.json
  lockgate conform --against kernel.json")]
    Conform(Conform),
    /// Commands of a running router.
    #[command(flatten)]
    Router(RouterCommand),
    /// Shows the kernel's own queues: rates, backlogs, drops, and what each discipline counts
    #[command(after_help = "Examples:
  lockgate top eth0
  lockgate top eth0 --every 10ms
  lockgate top --all --web
  lockgate top eth0 --once
  lockgate top eth0 --once --json | jq '.devices[].queues[].dropped'

Counters are read by netlink, without privileges; each look holds the kernel's lock of interfaces. The head says what a \
look costs, and looks are spaced so that they take 2 % of the time at most. Names are the handles of `tc`: `1:` is a \
discipline, `1:10` a class. Delay is the mean backlog over the rate (Little's law), or what `cake`, `codel` and `pie` report.")]
    Top(Top),
    /// Takes parts of a scenario out for other uses
    #[command(
        subcommand,
        after_help = "Example:\n  lockgate export policy home.toml --port router:modem --interface eth0"
    )]
    Export(Export),
    /// Reads commands of Linux's `tc` as scenarios, and checks them
    #[command(
        subcommand,
        after_help = "Examples:\n  lockgate tc import shaper.sh > shaper.toml\n  lockgate tc check shaper.sh"
    )]
    Tc(TcCommand),
    /// Sends traffic to another host that runs `lockgate receive`, and measures its one-way delay
    #[command(after_help = "Examples:
  lockgate send 192.0.2.7 --rate 2mbit --size 1442B --for 30s
  lockgate send 192.0.2.7:9000 --profile g711 --dscp EF")]
    Send(Send),
    /// Receives the traffic of `lockgate send` and reports on it
    #[command(after_help = "Example:\n  lockgate receive 0.0.0.0:5201 --once")]
    Receive(Receive),
    /// Names the queue of a line by what probes show: its kind, rate, limit, bucket, and what others use
    #[command(after_help = "Examples:
  lockgate identify --serve       # at the other end; it prints a token
  LOCKGATE_TOKEN=... lockgate identify lab.example --to line.toml
  lockgate identify --netns left right --most 20mbit
  lockgate identify scenarios/home.toml --between server users --alone
  lockgate identify line.toml --record probe.json
  lockgate identify --replay probe.json

Of a real line, packets are sent to the other end and then back, in rounds that are chosen to tell the queues apart that are left, \
and each candidate is simulated on what was really sent. At most 20 MB go each way in 30 s, never above --most, and it stops after \
two seconds without news; the other end needs this program and the token in LOCKGATE_TOKEN. Of a file, the same happens in \
simulated time between two of its hosts, and its queues are not read. Below odds of 20:1 nothing is decided, and a host that is too \
late for the rate is refused. A recorded probe has times and sizes of packets, and no address.")]
    Identify(Identify),
    /// Tests this host: each capability that live runs need, or a router on these interfaces
    #[command(
        after_help = "Examples:\n  lockgate doctor\n  lockgate doctor --router\n  lockgate doctor --router eth0 eth1"
    )]
    Doctor(Doctor),
    /// Prints the JSON Schema of scenario files or of what commands print
    #[command(after_help = "Example:\n  lockgate schema scenario > scenario.schema.json")]
    Schema(Schema),
    /// Prints a completion script for a shell
    #[command(
        after_help = "Examples:\n  source <(lockgate completions bash)\n  lockgate completions fish | source\n\nThe script \
calls `lockgate` for each completion: load it anew when a shell starts."
    )]
    Completions(Completions),
    /// Prints the manual page, or writes a page for each command
    #[command(
        after_help = "Examples:\n  lockgate man > lockgate.1\n  lockgate man --out ~/.local/share/man/man1"
    )]
    Man(Man),
    /// Writes the reference pages of the documentation
    #[command(hide = true)]
    Docs(Docs),
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Simulates only, without the run on real packets
    #[arg(long)]
    pub(crate) sim: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// Subject
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(crate::starts::names()))]
    pub(crate) name: Option<String>,
    /// File to write, which must not exist; `-` is standard output [default: NAME.toml]
    #[arg(long, value_name = "FILE", requires = "name")]
    pub(crate) to: Option<PathBuf>,
    /// With `lab`: a laboratory around this policy of a router, in both directions of its line [default file:
    /// lab-POLICY]
    #[arg(long, value_name = "POLICY", requires = "name")]
    pub(crate) from: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// Prints ports of a scenario as the policy of a router
    #[command(after_help = "Examples:
  lockgate export policy home.toml --port router:modem --interface eth0
  lockgate export policy home.toml --port router:modem --interface eth0 \\
    --arriving modem:router --set port.router:modem.root=cake --to house.toml

A port without a rate gets 95 % of its link's, and its link's overhead, so that the queue is in the router.")]
    Policy(ExportPolicy),
}

#[derive(Debug, Args)]
pub(crate) struct ExportPolicy {
    /// Scenario file
    pub(crate) file: PathBuf,
    /// Port whose queues are those of what leaves by the interface
    #[arg(long, value_name = "PORT")]
    pub(crate) port: String,
    /// Port whose queues are those of what arrives by the interface
    #[arg(long, value_name = "PORT")]
    pub(crate) arriving: Option<String>,
    /// Interface of the router
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: String,
    /// Sets a value of the scenario first; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// File to write, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Examines what a router needs on these interfaces, or on all, without changing anything
    #[arg(long, value_name = "INTERFACE", num_args = 0..)]
    pub(crate) router: Option<Vec<String>>,
    /// Prints one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Directory of the results: new, or of an earlier run [default: runs/<title>-<time>]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Prints one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints no progress and no warnings; of a run or the demo, only the verdict
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario files, and policies of routers
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Fails if there are warnings, such as rows of a table that are left out
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) reading: reading::Reading,
}
