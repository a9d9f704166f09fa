//! A dialogue over one connection, in turns, that leads another connection of the same host: FTP's control
//! connection (RFC 959).
//!
//! ```text
//! store (passive mode)                               fetch (active mode)
//! server 220   user 331  password 230  type 200      the same
//! client PASV  server 227                            client PORT  server 200
//! client opens the data connection                   client RETR  server opens the data connection
//! client STOR  server 150  client sends, closes      server 150, sends, closes
//! server has it all: 226                             server 226; client has it all
//! client QUIT  server 221                            the same
//! ```

use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::Ftp;

use super::Outlet;

/// Order of a dialogue to the other connection's end at the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Open the connection.
    Connect,
    /// Send the file, and close.
    Send,
}

/// Event at the other connection's end at the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialogueEvent {
    /// The connection is established.
    Connected,
    /// All of the peer's data have arrived.
    Delivered,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends a message.
    Say(&'static str),
    /// Waits for a message of this one's length.
    Hear(&'static str),
    /// Gives an order.
    Do(Order),
    /// Waits for an event.
    Wait(DialogueEvent),
}

use Step::{Do, Hear, Say, Wait};

/// Messages as current clients and servers write them. A simulation uses only their lengths; a kernel's
/// connection carries them, with its own addresses.
const READY: &str = "220 ready\r\n";
const USER: &str = "USER anonymous\r\n";
const PASSWORD_WANTED: &str = "331 Please specify the password.\r\n";
const PASSWORD: &str = "PASS anonymous@\r\n";
const LOGGED_IN: &str = "230 Login successful.\r\n";
const TYPE: &str = "TYPE I\r\n";
const TYPE_SET: &str = "200 Switching to Binary mode.\r\n";
const PASSIVE: &str = "PASV\r\n";
const ENTERING_PASSIVE: &str = "227 Entering Passive Mode (10,0,0,2,195,80).\r\n";
const PORT: &str = "PORT 10,0,0,1,195,80\r\n";
const PORT_SET: &str = "200 PORT command successful.\r\n";
const STORE: &str = "STOR file.bin\r\n";
const FETCH: &str = "RETR file.bin\r\n";
const OPENED: &str = "150 Ok to send data.\r\n";
const TRANSFERRED: &str = "226 Transfer complete.\r\n";
const QUIT: &str = "QUIT\r\n";
const GOODBYE: &str = "221 Goodbye.\r\n";

/// One side of a dialogue.
pub struct Dialogue {
    steps: Vec<Step>,
    position: usize,
    /// Received bytes that do not complete a message yet.
    heard: u64,
    happened: [bool; 2],
    order: Option<Order>,
    /// Delay of this side before it sends a message.
    after: Duration,
    /// Time at which the next message is sent.
    due: Instant,
}

impl Dialogue {
    /// Creates the client's side of a file transfer.
    pub fn client(ftp: Ftp) -> Self {
        Self::new(script(ftp, true), Duration::ZERO)
    }

    /// Creates the server's side of a file transfer.
    pub fn server(ftp: Ftp) -> Self {
        Self::new(script(ftp, false), ftp.after)
    }

    fn new(steps: Vec<Step>, after: Duration) -> Self {
        Self { steps, position: 0, heard: 0, happened: [false; 2], order: None, after, due: Instant::NEVER }
    }

    /// Returns the message it waits for, if any. The received message has the same code or verb.
    pub fn expected(&self) -> Option<&'static str> {
        match self.steps.get(self.position) {
            Some(Hear(words)) => Some(words),
            _ => None,
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.due
    }

    /// Executes steps until one must wait.
    pub(super) fn go_on(&mut self, outlet: &mut impl Outlet, now: Instant) {
        while let Some(step) = self.steps.get(self.position).copied() {
            match step {
                Say(words) => {
                    if self.due == Instant::NEVER && !self.after.is_zero() {
                        self.due = now + self.after;
                    }
                    if self.due != Instant::NEVER && now < self.due {
                        return;
                    }
                    self.due = Instant::NEVER;
                    outlet.say(words);
                }
                Hear(words) if self.heard < words.len() as u64 => return,
                Hear(words) => self.heard -= words.len() as u64,
                Wait(what) if !self.happened[what as usize] => return,
                Wait(_) => {}
                Do(order) => self.order = Some(order),
            }
            self.position += 1;
            if self.position == self.steps.len() {
                outlet.close();
            }
        }
    }

    pub(super) fn on_delivered(&mut self, outlet: &mut impl Outlet, bytes: u64, now: Instant) {
        self.heard += bytes;
        self.go_on(outlet, now);
    }

    /// Handles an event of the other connection.
    pub(super) fn on_happening(&mut self, outlet: &mut impl Outlet, what: DialogueEvent, now: Instant) {
        self.happened[what as usize] = true;
        self.go_on(outlet, now);
    }

    pub(super) fn take_order(&mut self) -> Option<Order> {
        self.order.take()
    }
}

/// Returns the steps of the client or of the server.
fn script(ftp: Ftp, is_client: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    let client = |words| if is_client { Say(words) } else { Hear(words) };
    let server = |words| if is_client { Hear(words) } else { Say(words) };
    steps.extend([server(READY), client(USER), server(PASSWORD_WANTED), client(PASSWORD), server(LOGGED_IN)]);
    steps.extend([client(TYPE), server(TYPE_SET)]);
    let opens = [Do(Order::Connect), Wait(DialogueEvent::Connected)];
    if ftp.get {
        steps.extend([client(PORT), server(PORT_SET), client(FETCH)]);
        steps.extend(opens.into_iter().filter(|_| !is_client));
        steps.push(server(OPENED));
        steps.extend([Do(Order::Send)].into_iter().filter(|_| !is_client));
        steps.push(server(TRANSFERRED));
        steps.extend([Wait(DialogueEvent::Delivered)].into_iter().filter(|_| is_client));
    } else {
        steps.extend([client(PASSIVE), server(ENTERING_PASSIVE)]);
        steps.extend(opens.into_iter().filter(|_| is_client));
        steps.extend([client(STORE), server(OPENED)]);
        steps.push(if is_client { Do(Order::Send) } else { Wait(DialogueEvent::Delivered) });
        steps.push(server(TRANSFERRED));
    }
    steps.extend([client(QUIT), server(GOODBYE)]);
    steps
}
