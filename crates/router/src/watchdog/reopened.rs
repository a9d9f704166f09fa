//! Socket that is opened again after an error.

use lockgate_dataplane::error::Refusal;

/// Socket for reading the interfaces, of type `T`.
pub(super) struct Reopened<T> {
    open: Box<dyn FnMut() -> Result<T, Refusal>>,
    /// `None`: it is in use, or to be opened.
    socket: Option<T>,
    /// Sentence about the failure that goes on.
    failure: Option<String>,
}

impl<T> Reopened<T> {
    pub(super) fn new(open: impl FnMut() -> Result<T, Refusal> + 'static) -> Self {
        Self { open: Box::new(open), socket: None, failure: None }
    }

    /// Takes the socket, which is opened if none is open.
    ///
    /// # Errors
    /// If none can be opened.
    pub(super) fn take(&mut self) -> Result<T, Refusal> {
        self.socket.take().map_or_else(&mut self.open, Ok)
    }

    /// Puts the socket back, or notes the failure: the next one is opened anew. Returns a message if the
    /// failure begins or ends.
    pub(super) fn put(&mut self, socket: Result<T, Refusal>) -> Option<String> {
        let before = self.failure.take();
        match socket {
            Ok(socket) => {
                self.socket = Some(socket);
                before.map(|_| "the watchdog reads the interfaces again".to_owned())
            }
            Err(why) => {
                let failure =
                    format!("the watchdog {why}: faults of the interfaces are not noticed meanwhile");
                let message = before.is_none().then(|| format!("ALARM: {failure}"));
                self.failure = Some(failure);
                message
            }
        }
    }

    /// Returns a sentence about the failure that goes on, if one does.
    pub(super) fn failure(&self) -> Option<&String> {
        self.failure.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal() -> Refusal {
        Refusal::new("open a socket", std::io::Error::from_raw_os_error(24))
    }

    /// Each attempt has its result: `None` is a refusal.
    #[test]
    fn a_socket_is_opened_again_until_it_works_and_both_are_said_once() {
        let mut opened = [None, None, Some(1), Some(2)].into_iter();
        let mut socket = Reopened::new(move || opened.next().expect("one more").ok_or_else(refusal));
        let mut said = Vec::new();
        for reads in [true, true, true, true, false, true] {
            let read = socket.take().and_then(|it| if reads { Ok(it) } else { Err(refusal()) });
            said.push((read.as_ref().ok().copied(), socket.put(read).unwrap_or_default()));
            assert_eq!(socket.failure().is_some(), said.last().is_some_and(|(read, _)| read.is_none()));
        }
        let (sockets, said): (Vec<_>, Vec<_>) = said.into_iter().unzip();
        assert_eq!(sockets, [None, None, Some(1), Some(1), None, Some(2)]);
        let is_alarm = |text: &str| text.starts_with("ALARM: the watchdog cannot open a socket: ");
        assert!(is_alarm(&said[0]) && is_alarm(&said[4]), "{said:?}");
        assert!([2, 5].iter().all(|at| said[*at].ends_with("again")), "{said:?}");
        assert!(said[1].is_empty() && said[3].is_empty(), "{said:?}");
    }
}
