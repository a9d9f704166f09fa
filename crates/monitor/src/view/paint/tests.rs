//! The screen as characters: at its smallest, and whole at three sizes.

use std::sync::Arc;

use lockgate_measure::monitor::{FidelitySample, FlowSample, PortSample, QueueSample, QueueTotal, Sample};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::*;
use crate::view::screen::KeyRequest;
use lockgate_session::{Knob, PortStatus, Status};

fn queue(name: &str, index: u32, parent: Option<u32>, packets: u64) -> QueueSample {
    QueueSample {
        name: name.to_owned(),
        kind: "fifo".into(),
        index,
        parent,
        packets,
        mean_packets: packets as f64,
        peak_packets: packets * 2,
        offered_bps: 12e6,
        sent_bps: 9.98e6,
        dropped_packets: u64::from(index == 2),
        sojourn_p99_s: Some(0.061),
        total: QueueTotal { offered_packets: 1, ..QueueTotal::default() },
        ..QueueSample::default()
    }
}

fn knob(key: &str, value: &str, choices: &[&str]) -> Knob {
    Knob {
        path: format!("port.a->b.{key}"),
        key: key.to_owned(),
        value: Some(value.to_owned()),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        lower: Some("40p".to_owned()).filter(|_| choices.is_empty()),
        higher: Some(choices.last().map_or("62p", |choice| choice).to_owned()),
        ..Knob::default()
    }
}

fn screen(colour: bool) -> Screen {
    let queues = vec![("voice".to_owned(), vec![knob("limit", "50p", &[])])];
    let root = Some(knob("root", "link", &["link", "other"]));
    let ports = vec![PortStatus { name: "a->b".to_owned(), root, queues, ..PortStatus::default() }];
    let flows = vec!["call".to_owned()];
    let status = Status {
        title: "a test".to_owned(),
        every_s: 0.1,
        pace: 1.0,
        duration_s: 60.0,
        ports,
        flows,
        ..Status::default()
    };
    let mut screen = Screen::new(Arc::new(status), colour);
    let queues =
        vec![queue("link", 0, None, 41), queue("voice", 1, Some(0), 1), queue("rest", 2, Some(0), 40)];
    let ports = vec![PortSample { name: "a->b".to_owned(), queues, ..PortSample::default() }];
    let flow = FlowSample {
        name: "call".to_owned(),
        received_bps: 80e3,
        owd_p99_s: Some(0.0014),
        ..FlowSample::default()
    };
    screen.take(Arc::new(Sample { at_s: 12.3, ports, flows: vec![flow], ..Sample::default() }));
    screen
}

fn drawn(screen: &Screen) -> (String, bool) {
    drawn_at(screen, 80, 24)
}

fn drawn_at(screen: &Screen, width: u16, height: u16) -> (String, bool) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| paint(screen, frame)).expect("a picture");
    let buffer = terminal.backend().buffer();
    let coloured = buffer.content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
    let text = buffer
        .content()
        .chunks(usize::from(width))
        .map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>());
    (text.collect::<Vec<_>>().join("\n"), coloured)
}

fn press(screen: &mut Screen, code: KeyCode) -> KeyRequest {
    screen.press(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn everything_is_on_the_smallest_screen() {
    let (text, coloured) = drawn(&screen(true));
    for part in [
        "running",
        "12.30 s",
        "a->b link",
        "└voice",
        "└rest",
        "41p",
        "12.00M",
        "9.98M",
        "61.0ms",
        "call",
        "80.0k",
        "q quit",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(coloured);
    let rest = text.lines().find(|line| line.contains("└rest")).expect("a line");
    let bar: String = rest.chars().filter(|cell| "█▉▊▋▌▍▎▏│".contains(*cell)).collect();
    assert!(bar.starts_with("██████") && bar.ends_with('│'), "a bar and the peak: {rest}");
}

fn port(name: &str, index: usize, packets: u64, delay: f64) -> PortSample {
    let queue = QueueSample { sojourn_p99_s: Some(delay), ..queue(name, 0, None, packets) };
    PortSample { name: name.to_owned(), index, queues: vec![queue], ..PortSample::default() }
}

fn names(screen: &Screen) -> Vec<String> {
    screen.lines().iter().map(|line| line.queue.name.clone()).collect()
}

/// The port with the longest delay is first and selected, until a key selects another queue; small
/// differences do not reorder them.
#[test]
fn the_worst_port_is_first_and_selected_until_a_key_is_pressed() {
    let mut screen = Screen::new(Arc::default(), false);
    let sample = |delays: [f64; 2]| {
        let ports = vec![port("a", 0, 9, delays[0]), port("b", 1, 3, delays[1])];
        Arc::new(Sample { ports, ..Sample::default() })
    };
    screen.take(sample([1e-3, 1e-3]));
    assert_eq!((names(&screen), screen.line()), (vec!["a".to_owned(), "b".to_owned()], 0));
    screen.take(sample([1e-3, 1.2e-3]));
    assert_eq!(names(&screen), ["a", "b"], "not clearly worse");
    screen.take(sample([1e-3, 5e-3]));
    assert_eq!(
        (names(&screen), screen.line()),
        (vec!["b".to_owned(), "a".to_owned()], 0),
        "few packets, long delay"
    );
    press(&mut screen, KeyCode::Down);
    assert_eq!(screen.line(), 1);
    screen.take(sample([50e-3, 5e-3]));
    assert_eq!(
        (names(&screen), screen.line()),
        (vec!["a".to_owned(), "b".to_owned()], 0),
        "`a` stays selected"
    );
    press(&mut screen, KeyCode::Down);
    screen.take(sample([50e-3, 5e-3]));
    assert_eq!(screen.line(), 1);
    let packets: Vec<u64> =
        screen.history[&(1, 0)].recent.iter().map(|point| point.packets[0] as u64).collect();
    assert_eq!(packets, [3; 5]);
    assert_eq!(screen.history[&(1, 0)].recent[2].delay, Some([5e-3; 2]));
}

/// Ports of a network where no packet has waited are told in a line, until a filter finds them.
#[test]
fn ports_where_nothing_waits_are_counted_and_found() {
    let mut screen = Screen::new(Arc::default(), false);
    let sample = |delays: [f64; 3]| {
        let one = |(index, delay): (usize, f64)| port(["a", "b", "c"][index], index, 9, delay);
        Arc::new(Sample { ports: delays.into_iter().enumerate().map(one).collect(), ..Sample::default() })
    };
    screen.take(sample([0.0; 3]));
    assert_eq!(names(&screen), ["a", "b", "c"], "nothing has waited anywhere");
    screen.take(sample([0.0, 5e-3, 1e-6]));
    assert_eq!(names(&screen), ["b"]);
    let told = |screen: &Screen| drawn(screen).0.contains("and 2 ports where nothing waits: / finds them");
    assert!(told(&screen), "{}", drawn(&screen).0);
    screen.take(sample([0.0; 3]));
    assert_eq!(names(&screen), ["b"], "a port stays once packets have waited there");
    for letter in "/c".chars() {
        press(&mut screen, KeyCode::Char(letter));
    }
    assert!(names(&screen) == ["c"] && !told(&screen));
    for code in [KeyCode::Enter, KeyCode::Down, KeyCode::Esc] {
        press(&mut screen, code);
    }
    assert!(names(&screen).contains(&"b".to_owned()) && names(&screen).len() < 3);
    Arc::make_mut(&mut screen.status).mode = "route";
    assert_eq!(names(&screen).len(), 3, "a router shows all queues of its policy");
}

/// A key turns a knob of the queue that was shown when it was pressed, also if another one becomes the worst.
#[test]
fn any_key_keeps_the_selection() {
    let mut screen = Screen::new(Arc::default(), false);
    let sample = |delays: [f64; 2]| {
        let ports = vec![port("a", 0, 9, delays[0]), port("b", 1, 3, delays[1])];
        Arc::new(Sample { ports, ..Sample::default() })
    };
    screen.take(sample([1e-3, 1e-6]));
    press(&mut screen, KeyCode::Enter);
    screen.take(sample([1e-3, 1.0]));
    assert_eq!(screen.lines()[screen.line()].queue.name, "a");
}

/// Fidelity of a live run, and the device ring's part of the delay.
#[test]
fn fidelity_and_the_ring_are_told() {
    let mut screen = screen(false);
    Arc::make_mut(&mut screen.status).mode = "live";
    let mut sample = Sample::clone(screen.sample.as_ref().expect("a sample"));
    let link = &mut sample.ports[0].queues[0];
    (link.sojourn_mean_s, link.waited_mean_s) = (Some(10.25e-3), Some(1.25e-3));
    let fidelity = FidelitySample { late_p99_s: Some(31e-6), ..FidelitySample::default() };
    sample.fidelity = Some(fidelity.clone());
    screen.take(Arc::new(sample.clone()));
    let (text, _) = drawn(&screen);
    assert!(text.contains("live (late 31.0us p99: ok)"), "{text}");
    assert!(text.contains("mean 1.25ms in queue, 9.00ms in ring"), "{text}");
    sample.fidelity = Some(FidelitySample { unfaithful: vec!["late".to_owned()], ..fidelity });
    screen.take(Arc::new(sample));
    assert!(drawn(&screen).0.contains("NOT FAITHFUL"));
}

#[test]
fn without_colour_nothing_is_coloured() {
    let (text, coloured) = drawn(&screen(false));
    assert!(!coloured, "{text}");
}

#[test]
fn keys_turn_the_knobs_of_the_selected_queue() {
    let mut screen = screen(true);
    assert_eq!(press(&mut screen, KeyCode::Char('r')), KeyRequest::Set("port.a->b.root=other".to_owned()));
    press(&mut screen, KeyCode::Down);
    assert_eq!(press(&mut screen, KeyCode::Char('+')), KeyRequest::Set("port.a->b.limit=62p".to_owned()));
    assert_eq!(press(&mut screen, KeyCode::Char('-')), KeyRequest::Set("port.a->b.limit=40p".to_owned()));
    press(&mut screen, KeyCode::Enter);
    for code in [KeyCode::Backspace, KeyCode::Backspace, KeyCode::Char('7'), KeyCode::Char('p')] {
        assert_eq!(press(&mut screen, code), KeyRequest::Nothing, "letters are typed, not obeyed");
    }
    assert_eq!(press(&mut screen, KeyCode::Enter), KeyRequest::Set("port.a->b.limit=57p".to_owned()));
    assert_eq!(press(&mut screen, KeyCode::Char('q')), KeyRequest::Quit);
}

#[test]
fn a_frozen_screen_stands_still() {
    let mut screen = screen(true);
    press(&mut screen, KeyCode::Char(' '));
    screen.take(Arc::new(Sample { at_s: 13.0, ..Sample::default() }));
    let (text, _) = drawn(&screen);
    assert!(text.contains("frozen") && text.contains("12.30 s"), "{text}");
}

/// `/` and a text select the queues whose name contains it, and those above them; Esc shows all again.
#[test]
fn a_filter_leaves_what_it_finds() {
    let mut screen = screen(false);
    for letter in "/RES".chars() {
        press(&mut screen, KeyCode::Char(letter));
    }
    assert_eq!(names(&screen), ["link", "rest"]);
    assert!(drawn(&screen).0.contains("filter: RES_"));
    press(&mut screen, KeyCode::Enter);
    press(&mut screen, KeyCode::Down);
    assert_eq!((screen.line(), names(&screen).len()), (1, 2));
    assert_eq!(press(&mut screen, KeyCode::Esc), KeyRequest::Nothing, "the first Esc ends the filter");
    assert_eq!(names(&screen), ["link", "voice", "rest"]);
    assert_eq!(press(&mut screen, KeyCode::Esc), KeyRequest::Quit);
}

/// Two ports of a home, one with a tree, their last 200 samples, and what the flows make of it.
fn home() -> Screen {
    let status = Status {
        title: "A home on a cable line".to_owned(),
        every_s: 0.1,
        pace: 1.0,
        duration_s: 60.0,
        ports: vec![
            PortStatus {
                name: "modem:isp".to_owned(),
                queues: vec![("buffer".to_owned(), vec![knob("limit", "250kB", &[])])],
                ..PortStatus::default()
            },
            PortStatus {
                name: "router:client bottleneck".to_owned(),
                root: Some(knob("root", "shaper", &["shaper", "fq_codel"])),
                queues: vec![(
                    "shaper".to_owned(),
                    vec![knob("rate", "9.5mbit", &[]), knob("burst", "5kB", &[])],
                )],
                ..PortStatus::default()
            },
        ],
        ..Status::default()
    };
    let mut screen = Screen::new(Arc::new(status), false);
    for number in 0..200_u64 {
        // A sawtooth, as of a TCP's window.
        let packets = 20 + number % 50 * 3;
        let delay = packets as f64 * 1.2e-3;
        let shaper = QueueSample {
            sojourn_p50_s: Some(delay / 2.0),
            sojourn_p99_s: Some(delay),
            ..queue("shaper", 0, None, packets)
        };
        let tree = vec![shaper, queue("voice", 1, Some(0), 1), queue("rest", 2, Some(0), packets - 1)];
        let name = "router:client bottleneck".to_owned();
        let ports = vec![
            port("modem:isp", 0, 1, 1.2e-3),
            PortSample { name, index: 1, queues: tree, ..PortSample::default() },
        ];
        let flow = |name: &str, delay: f64| FlowSample {
            name: name.to_owned(),
            offered_bps: 80e3,
            received_bps: 80e3,
            owd_p50_s: Some(delay / 2.0),
            owd_p99_s: Some(delay),
            ..FlowSample::default()
        };
        let flows = vec![
            flow("call", 0.015),
            flow("download of a user", delay),
            flow("download of a user/return", 0.01),
        ];
        screen.take(Arc::new(Sample {
            number,
            at_s: 0.1 * (number + 1) as f64,
            ports,
            flows,
            ..Sample::default()
        }));
    }
    screen
}

/// Returns a screen without the blanks at the ends of its lines.
fn trimmed(screen: &Screen, width: u16, height: u16) -> String {
    let text = drawn_at(screen, width, height).0;
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

/// `LOCKGATE_SCREENS=write` writes the pictures.
#[test]
fn whole_screens_are_as_they_were() {
    let mut helped = home();
    press(&mut helped, KeyCode::Char('?'));
    for (name, screen, width, height) in [
        ("80x24", home(), 80, 24),
        ("120x40", home(), 120, 40),
        ("200x50", home(), 200, 50),
        ("help", helped, 80, 24),
    ] {
        let file = format!("{}/src/view/paint/screens/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = trimmed(&screen, width, height);
        if std::env::var_os("LOCKGATE_SCREENS").is_some_and(|value| value == "write") {
            std::fs::write(&file, &text).expect("written");
        }
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text == known, "{file} differs (LOCKGATE_SCREENS=write writes it):\n{text}");
    }
}

#[test]
fn help_closes_with_any_key_and_holds_no_live_run() {
    let mut screen = home();
    press(&mut screen, KeyCode::Char('?'));
    assert!(trimmed(&screen, 80, 24).contains("hold the time"));
    assert_eq!(press(&mut screen, KeyCode::Char('q')), KeyRequest::Nothing);
    assert!(!trimmed(&screen, 80, 24).contains("hold the time"));
    Arc::make_mut(&mut screen.status).mode = "live";
    press(&mut screen, KeyCode::Char('?'));
    assert!(!trimmed(&screen, 80, 24).contains("hold the time"));
}

/// A router is changed by its policy, and ends with its own view alone.
#[test]
fn keys_without_effect_are_not_offered() {
    let mut screen = home();
    screen.quits = "leave the view; the router goes on";
    let status = Arc::make_mut(&mut screen.status);
    status.mode = "route";
    for port in &mut status.ports {
        (port.root, port.queues) = (None, Vec::new());
    }
    status.links.iter_mut().for_each(|link| link.knobs.clear());
    Arc::make_mut(screen.sample.as_mut().expect("a sample")).flows.clear();
    press(&mut screen, KeyCode::Char('?'));
    let text = trimmed(&screen, 120, 40);
    for absent in ["knob", "step", "type", "replace", "more often", "hold", "verdict", "received"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(text.contains("leave the view; the router goes on"), "{text}");
    assert!(text.ends_with("↑↓ queue / find z zoom ␣ freeze ? help q quit\n"), "{text}");
    press(&mut screen, KeyCode::Char('?'));
    for key in ['[', ']', 'h', 'r', '+'] {
        assert_eq!(press(&mut screen, KeyCode::Char(key)), KeyRequest::Nothing, "{key}");
    }
}

/// A stream or a recording may have any number.
#[test]
fn a_picture_of_the_largest_numbers_is_drawn_too() {
    let (done, picture) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut screen = screen(true);
        for most in [1e308, 3.0, f64::MAX, -1e308] {
            let queue = QueueSample {
                mean_packets: most,
                sojourn_p99_s: Some(most),
                ..queue("link", 0, None, u64::MAX / 2)
            };
            let ports =
                vec![PortSample { name: "a->b".to_owned(), queues: vec![queue], ..PortSample::default() }];
            screen.take(Arc::new(Sample { ports, ..Sample::default() }));
            done.send(drawn_at(&screen, 120, 50).0).expect("awaited");
        }
    });
    for _ in 0..4 {
        let text = picture.recv_timeout(std::time::Duration::from_mins(1)).expect("drawn within a minute");
        assert!(text.contains("backlog, all") && text.contains("q quit"), "{text}");
    }
}

/// A long queue is red and one whose discipline drops is not; a full link is yellow.
#[test]
fn red_is_pain() {
    let mut screen = Screen::new(Arc::default(), true);
    let bloated = QueueSample { dropped_packets: 0, ..queue("bloated", 0, None, 745) };
    let fair =
        QueueSample { sojourn_p99_s: Some(0.0178), sent_packets: 98, dropped_packets: 2, ..bloated.clone() };
    let port = |name: &str, index, queue, sent_bps| PortSample {
        name: name.to_owned(),
        index,
        queues: vec![queue],
        sent_bps,
        rate_bps: Some(10e6),
        ..PortSample::default()
    };
    let bloated = QueueSample { sojourn_p99_s: Some(0.682), sent_packets: 90, ..bloated };
    let ports =
        vec![port("a", 0, bloated, 9.99e6), port("b", 1, fair.clone(), 9.99e6), port("c", 2, fair, 1e6)];
    let mut sample = Sample { ports, interval_s: 0.1, ..Sample::default() };
    lockgate_measure::monitor::mark(&mut sample, &lockgate_measure::monitor::Limits::default());
    screen.take(Arc::new(sample));
    let lines = queues::lines(&screen, ratatui::layout::Rect { x: 0, y: 0, width: 100, height: 10 });
    let colours: Vec<_> = lines[1..].iter().map(|line| line.style.fg).collect();
    assert_eq!(colours, [Some(Color::Red), Some(Color::Yellow), None]);
    assert!(drawn(&screen).0.contains("HURTS: `bloated`"));
}

#[test]
fn expectations_stand_in_a_line_and_z_changes_the_time_shown() {
    let mut screen = home();
    Arc::make_mut(&mut screen.status).expectations = 2;
    let row = |subject: &str, value: &str, holds| lockgate_measure::verdict::JudgedRow {
        subject: subject.to_owned(),
        quantity: "delay p99".to_owned(),
        value: value.to_owned(),
        wanted: "below 50 ms".to_owned(),
        holds,
        ..Default::default()
    };
    assert!(trimmed(&screen, 80, 24).contains("2 expectations, counted from"));
    let judged = vec![row("call", "17.4 ms", true), row("game", "61 ms", false)];
    let last = screen.sample.clone().expect("a sample");
    screen.take(Arc::new(Sample { judged, at_s: 20.1, ..Sample::clone(&last) }));
    let text = trimmed(&screen, 80, 24);
    assert!(text.contains("✓ call 17.4 ms (below 50 ms)  ✗ game 61 ms (below 50 ms)"), "{text}");
    assert!(text.contains("backlog, all 20.0s"), "{text}");
    press(&mut screen, KeyCode::Char('z'));
    assert!(trimmed(&screen, 80, 24).contains("backlog, last 10.0s"));
}
