//! Applications of flows: what they mean, and every way to write them wrongly, with its place and its fix.

use lockgate_engine::units::{Bytes, Duration};
use lockgate_scenario::{Application, Codec, Transport};

use crate::support::{problems, rendered, scenario};

/// Eleven lines whose only problem is that the flow has no traffic; cases add traffic from line 12 on.
const BASE: &str = r#"duration = "10s"
[node]
a = {}
b = {}
[link.wan]
between = ["a", "b"]
rate = "10mbit"
[flow.f]
from = "a"
to = "b"
transport = "tcp"
"#;

fn with(keys: &str) -> String {
    format!("{BASE}{keys}\n")
}

/// Expects exactly one problem, at this line and column, with this message and help.
#[track_caller]
fn expect(text: &str, position: (usize, usize), message: &str, help: &str) {
    let problems = problems(text);
    let shown = rendered(&problems);
    assert_eq!(problems.len(), 1, "{shown}");
    let problem = problems.iter().next().expect("one");
    assert_eq!(problem.position(), Some(position), "{shown}");
    assert!(problem.message().contains(message), "`{message}` in:\n{shown}");
    assert!(problem.help_text().is_some_and(|text| text.contains(help)), "`{help}` in:\n{shown}");
}

#[test]
fn listed_files_make_a_group() {
    let read = scenario(&with("files = \"sizes.txt\"\nstart = \"1s\""));
    let names: Vec<&str> = read.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["f/1", "f/2", "f/1/return", "f/2/return"]);
    let sent = |index: usize| match read.flows[index].transport {
        Transport::Tcp(model) => model.application,
        _ => panic!("not TCP"),
    };
    assert_eq!([sent(0), sent(1)], [Application::File(Bytes(12_000)), Application::File(Bytes(1_000_000))]);
    let starts = [read.flows[0].start, read.flows[1].start];
    assert_eq!(starts, [Duration::from_secs(1), Duration::from_millis(2500)]);
    let read = scenario(&with("files = \"sizes.txt\"\ncount = 1"));
    assert_eq!(read.flows.len(), 2, "the first of the list");
}

#[test]
fn ftp_has_a_control_connection_of_its_own() {
    let read = scenario(&with("bytes = \"1MB\"\ncount = 2\nftp = { get = true }"));
    let names: Vec<&str> = read.flows.iter().map(|flow| flow.name.as_str()).collect();
    let expected = ["f/1", "f/2", "f/1/control", "f/2/control"];
    assert_eq!(names[..4], expected);
    assert_eq!(names[4..], expected.map(|name| format!("{name}/return")));
    let control = &read.flows[2];
    assert_eq!((control.from, control.to, control.fields.destination_port), (1, 0, 21));
    assert!(
        matches!(control.transport, Transport::Tcp(model) if model.application == Application::Control { of: 0 })
    );
    assert!(matches!(read.flows[6].transport, Transport::TcpReturn { of: 2 }));
    let ports: Vec<u16> = read.flows[..4].iter().map(|flow| flow.fields.source_port).collect();
    assert!(ports.windows(2).all(|pair| pair[0] != pair[1]), "{ports:?}");
    // A rule that names the flow includes the dialogue.
    let queues = "[port.\"a->b\"]\nroot = \"q\"\n[port.\"a->b\".queue.q]\nkind = \"prio\"\nchildren = [\"x\", \"y\"]\n\
                  [port.\"a->b\".queue.x]\nkind = \"fifo\"\nmatch = [{ flow = \"f\" }]\n[port.\"a->b\".queue.y]\nkind = \"fifo\"";
    let read = scenario(&with(&format!("bytes = \"1MB\"\nftp = {{}}\n{queues}")));
    let port = read.port("a->b").expect("the port");
    let text = format!("{:?}", read.ports[port].tree);
    for index in 0..4 {
        assert!(text.contains(&format!("FlowId({index})")), "{text}");
    }
}

#[test]
fn echoes_have_answers_and_calls_a_codec() {
    let udp = with("size = \"100B\"\ngap = \"1s\"\necho = true").replace("\"tcp\"", "\"udp\"");
    let read = scenario(&udp);
    assert!(matches!(read.flows[1].transport, Transport::UdpReturn { of: 0 }));
    assert_eq!((read.flows[1].from, read.flows[1].to), (1, 0));
    let read = scenario(&with("size = \"100B\"\ngap = \"1s\"\necho = true"));
    assert!(
        matches!(read.flows[0].transport, Transport::Tcp(model) if model.application == Application::Echo)
    );
    let call = with("profile = \"g711\"").replace("\"tcp\"", "\"udp\"");
    assert_eq!(scenario(&call).flows[0].voice, Some(Codec::G711));
    let pages = scenario(&with("pages = { objects = 3, object = \"10kB\" }"));
    let Transport::Tcp(model) = pages.flows[0].transport else { panic!("not TCP") };
    assert_eq!(model.application, Application::Pages { request: Bytes(400), objects: 3 });
}

#[test]
fn wrong_files_are_told() {
    expect(&with("file = \"0B\""), (12, 8), "a file of no bytes", "at least `1B`");
    expect(&with("bytes = \"0B\""), (12, 9), "sends nothing", "leave the flow out");
    expect(&with("files = \"none.txt\""), (12, 9), "cannot be read", "folder of the scenario");
    expect(&with("files = \"no-sizes.txt\""), (12, 9), "lists no files", "a line is a size");
    expect(&with("files = \"sizes.txt\"\ncount = 3"), (13, 9), "lists 2 files", "leave `count` out");
    expect(
        &with("files = \"sizes.txt\"\nbytes = \"1MB\""),
        (13, 1),
        "does not go with `files`",
        "leave `bytes`",
    );
    let problems = problems(&with("files = \"bad-sizes.txt\""));
    let shown = rendered(&problems);
    assert_eq!(problems.len(), 2, "{shown}");
    assert!(shown.contains("line 2: `0B`") && shown.contains("line 3: `12kB soon`"), "{shown}");
}

#[test]
fn applications_that_miss_something_are_told() {
    expect(
        &with("bytes = \"unlimited\"\nftp = {}"),
        (13, 1),
        "has no file to transfer",
        "say how large it is",
    );
    expect(&with("bytes = \"1MB\"\nftp = { mode = \"active\" }"), (13, 9), "mode", "get");
    expect(&with("bytes = \"1MB\"\necho = true"), (13, 1), "sends no requests", "how often");
    expect(&with("pages = { objects = 0, object = \"1kB\" }"), (12, 9), "cannot have 0 objects", "from 1 to");
    expect(&with("pages = { object = \"1kB\", request = \"0B\" }"), (12, 9), "at least one byte", "400B");
    expect(&with("pages = { object = \"0B\" }"), (12, 9), "no bytes", "at least `1B`");
    expect(
        &with("pages = { object = \"1kB\" }\nbytes = \"1MB\""),
        (13, 1),
        "does not go with `pages`",
        "leave `bytes`",
    );
    expect(&with("bytes = \"1MB\"\nvoice = \"g711\""), (13, 1), "a call over TCP", "transport = \"udp\"");
    let udp = |keys: &str| with(keys).replace("\"tcp\"", "\"udp\"");
    expect(&udp("size = \"1kB\"\ngap = \"1s\"\nftp = {}"), (14, 1), "only TCP has `ftp`", "leave `ftp` out");
    expect(&udp("size = \"1kB\"\ngap = \"1s\"\nvoice = \"opus\""), (14, 9), "opus", "");
}

#[test]
fn connections_need_a_way_back() {
    let apart =
        with("bytes = \"1MB\"").replace("b = {}\n", "b = {}\nc = {}\n").replace("to = \"b\"", "to = \"c\"");
    expect(&apart, (11, 6), "no path leads from `a` to `c`", "join them by links");
    expect(&with("bytes = \"1MB\"\nreceive_window = \"0B\""), (13, 18), "cannot be 0B", "from `1448B`");
    expect(&with("bytes = \"1MB\"\ncongestion = \"vegas\""), (13, 14), "not a congestion control", "`bbr`");
}

#[test]
fn wrong_classes_of_sizes_are_told() {
    let record = |keys: &str| format!("{}[record]\n{keys}\n", with("bytes = \"1MB\""));
    expect(&record("file_bins = [\"1MB\", \"12kB\"]"), (14, 13), "do not rise", "begin");
    expect(&record("file_bin_width = \"0B\""), (14, 18), "no sizes", "more than `0B`");
    expect(&record("sharing_rate = \"0bit\""), (14, 16), "no rate", "more than `0bit`");
}
