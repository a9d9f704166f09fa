//! The screen at its smallest, as characters.

use std::sync::Arc;

use lockgate_measure::monitor::{FidelitySample, FlowSample, PortSample, QueueSample, QueueTotal, Sample};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::*;
use crate::view::screen::KeyRequest;
use lockgate_session::{Knob, PortStatus, Status};

fn queue(name: &str, place: u32, parent: Option<u32>, packets: u64) -> QueueSample {
    QueueSample {
        name: name.to_owned(),
        kind: "fifo",
        place,
        parent,
        packets,
        mean_packets: packets as f64,
        peak_packets: packets * 2,
        offered_bps: 12e6,
        sent_bps: 9.98e6,
        dropped_packets: u64::from(place == 2),
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
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
    terminal.draw(|frame| paint(screen, frame)).expect("a picture");
    let buffer = terminal.backend().buffer();
    let coloured = buffer.content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
    let text = buffer
        .content()
        .chunks(80)
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
    assert!(rest.contains("████▉     │") || rest.contains("████▉    │"), "half a bar and the peak: {rest}");
}

/// The port with the longest queue is selected first, until a key selects another.
#[test]
fn the_busiest_port_is_selected_until_a_key_is_pressed() {
    let mut screen = Screen::new(Arc::default(), false);
    let port = |name: &str, index, packets| PortSample {
        name: name.to_owned(),
        index,
        queues: vec![queue(name, 0, None, packets)],
        ..PortSample::default()
    };
    let quiet = Sample { ports: vec![port("a", 0, 0), port("b", 1, 0)], ..Sample::default() };
    screen.take(Arc::new(quiet));
    assert_eq!(screen.line, 0);
    let busy = Sample { ports: vec![port("a", 0, 3), port("b", 1, 9)], ..Sample::default() };
    screen.take(Arc::new(busy.clone()));
    assert_eq!(screen.line, 1);
    press(&mut screen, KeyCode::Up);
    screen.take(Arc::new(busy));
    assert_eq!(screen.line, 0);
    assert_eq!(screen.history[&(1, 0)], [0, 90, 90]);
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
    let names =
        |screen: &Screen| screen.lines().iter().map(|line| line.queue.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&screen), ["link", "rest"]);
    assert!(drawn(&screen).0.contains("filter: RES_"));
    press(&mut screen, KeyCode::Enter);
    press(&mut screen, KeyCode::Down);
    assert_eq!((screen.line, names(&screen).len()), (1, 2));
    assert_eq!(press(&mut screen, KeyCode::Esc), KeyRequest::Nothing, "the first Esc ends the filter");
    assert_eq!(names(&screen), ["link", "voice", "rest"]);
    assert_eq!(press(&mut screen, KeyCode::Esc), KeyRequest::Quit);
}
