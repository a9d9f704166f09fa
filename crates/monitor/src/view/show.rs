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

/// Shows the screen until the user quits or `interrupt` is set. A terminal that hangs up sets `interrupt`.
///
/// # Errors
/// [`Error::Terminal`] if the terminal cannot be drawn on.
pub fn show(
    hub: &Arc<Hub>,
    frames: Frames,
    colour: bool,
    interrupt: &AtomicBool,
    messages: Messages,
) -> Result<(), Error> {
    draw(hub, frames, colour, interrupt, messages).map_err(Error::Terminal)
}

fn draw(
    hub: &Arc<Hub>,
    mut frames: Frames,
    colour: bool,
    interrupt: &AtomicBool,
    (told, answers): Messages,
) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let mut screen = Screen::new(hub.status(), colour);
    let pressed = Keys::start();
    let shown = loop {
        gather(hub, &mut frames, &mut screen, &answers);
        if let Err(error) = terminal.draw(|frame| paint::paint(&screen, frame)) {
            if has_hung_up() {
                interrupt.store(true, Ordering::SeqCst);
                break Ok(());
            }
            break Err(error);
        }
        match keys(hub, &mut screen, &pressed, &told) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
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

fn gather(hub: &Hub, frames: &mut Frames, screen: &mut Screen, answers: &Receiver<String>) {
    loop {
        match frames.try_recv() {
            Ok(frame) => screen.take(frame.shown),
            Err(TryRecvError::Lagged(lost)) => screen.missed += lost,
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    hub.follow(&screen.filter);
    screen.status = hub.status();
    if let Some(answer) = answers.try_iter().last() {
        screen.message = answer;
    }
}

/// Handles pressed keys. Returns false to quit.
fn keys(hub: &Arc<Hub>, screen: &mut Screen, pressed: &Keys, told: &Sender<String>) -> Result<bool, Gone> {
    let mut patience = FRAME;
    while let Some(key) = pressed.next(patience)? {
        patience = Duration::ZERO;
        match screen.press(key) {
            KeyRequest::Nothing => {}
            KeyRequest::Quit => return Ok(false),
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
                std::thread::spawn(move || {
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
                });
            }
        }
    }
    Ok(true)
}
