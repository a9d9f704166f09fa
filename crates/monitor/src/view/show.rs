//! Loop of the screen: draws samples, handles keys.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use tokio::sync::broadcast::error::TryRecvError;

use super::keys::{Gone, Keys, has_hung_up};
use super::paint;
use super::screen::{KeyRequest, Screen};
use crate::{Command, Error, Frames, Hub};

/// Polling interval of keys and samples.
const FRAME: Duration = Duration::from_millis(40);

/// Channel of messages shown below the picture.
pub type Messages = (Sender<String>, Receiver<String>);

/// Shows the screen until the user quits, which does what `quits` says, or `interrupt` is set. A terminal
/// that hangs up sets `interrupt`.
///
/// # Errors
/// [`Error::Terminal`] if the terminal cannot be drawn on.
pub fn show(
    hub: &Arc<Hub>,
    frames: Frames,
    (colour, quits): (bool, &'static str),
    interrupt: &AtomicBool,
    messages: Messages,
) -> Result<(), Error> {
    let mut screen = Screen::new(hub.status(), colour);
    screen.quits = quits;
    draw(hub, frames, screen, interrupt, messages).map_err(Error::Terminal)
}

fn draw(
    hub: &Arc<Hub>,
    mut frames: Frames,
    mut screen: Screen,
    interrupt: &AtomicBool,
    (told, answers): Messages,
) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let pressed = Keys::start().inspect_err(|_| {
        let _ = ratatui::try_restore();
    })?;
    let (mut size, mut is_stale) = (None, true);
    let shown = loop {
        is_stale |= gather(hub, &mut frames, &mut screen, &answers);
        // Most of the time nothing has happened since the last picture, which costs more than a look at a
        // small tree.
        let drawn_on = terminal.size().ok();
        is_stale |= drawn_on != size;
        if is_stale && let Err(error) = terminal.draw(|frame| paint::paint(&screen, frame)) {
            if has_hung_up() {
                interrupt.store(true, Ordering::SeqCst);
                break Ok(());
            }
            break Err(error);
        }
        (size, is_stale) = (drawn_on, false);
        match keys(hub, &mut screen, &pressed, &told) {
            Ok(KeyEffect::Nothing) => {}
            Ok(KeyEffect::Changed) => is_stale = true,
            Ok(KeyEffect::Quit) => break Ok(()),
            Err(Gone) => interrupt.store(true, Ordering::SeqCst),
        }
        if interrupt.load(Ordering::SeqCst) {
            break Ok(());
        }
    };
    pressed.stop();
    if ratatui::try_restore().is_err() {
        // Its destructor would report the error on stderr, which may be the same terminal, and panic there.
        core::mem::forget(terminal);
    }
    shown
}

/// Takes what is new since the last call. Returns whether anything was.
fn gather(hub: &Hub, frames: &mut Frames, screen: &mut Screen, answers: &Receiver<String>) -> bool {
    let mut has_news = false;
    loop {
        match frames.try_recv() {
            Ok(frame) => screen.take(frame.shown),
            Err(TryRecvError::Lagged(lost)) => screen.missed += lost,
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
        has_news = true;
    }
    hub.follow(&screen.filter);
    let status = hub.status();
    has_news |= !Arc::ptr_eq(&status, &screen.status);
    screen.status = status;
    if let Some(answer) = answers.try_iter().last() {
        screen.message = answer;
        has_news = true;
    }
    has_news
}

/// Effect of pressed keys.
enum KeyEffect {
    Nothing,
    Changed,
    Quit,
}

/// Handles pressed keys.
fn keys(
    hub: &Arc<Hub>,
    screen: &mut Screen,
    pressed: &Keys,
    told: &Sender<String>,
) -> Result<KeyEffect, Gone> {
    let (mut patience, mut effect) = (FRAME, KeyEffect::Nothing);
    while let Some(key) = pressed.next(patience)? {
        (patience, effect) = (Duration::ZERO, KeyEffect::Changed);
        match screen.press(key) {
            KeyRequest::Nothing => {}
            KeyRequest::Quit => return Ok(KeyEffect::Quit),
            KeyRequest::Every(every) => {
                hub.tell(Command::Every(every));
            }
            KeyRequest::Hold(held) => {
                hub.tell(Command::Hold(held));
            }
            KeyRequest::Set(setting) => {
                // The answer comes with the run's next look, which may be late if the pace is slow.
                let (hub, told) = (hub.clone(), told.clone());
                screen.message = format!("setting {setting} ...");
                let ask = move || {
                    let answer = match hub.set(vec![setting.clone()], None) {
                        Ok(done) => {
                            let was = done.before.first().and_then(|before| before.split_once('='));
                            let was = was.map(|(_, value)| value).filter(|value| !value.is_empty());
                            let was = was.unwrap_or("not set");
                            format!("set {setting} at {:.3} s (was {was})", done.at_s)
                        }
                        Err(refused) => refused.problems.first().map_or_else(String::new, |problem| {
                            format!("refused: {}; {}", problem.message, problem.help)
                        }),
                    };
                    let _ = told.send(answer);
                };
                if let Err(why) = std::thread::Builder::new().name("set".to_owned()).spawn(ask) {
                    screen.message = format!("not set: cannot start a thread: {why}");
                }
            }
        }
    }
    Ok(effect)
}
