//! Flows and their transports.

use std::sync::Arc;

use lockgate_engine::classify::Fields;
use lockgate_engine::units::{Bytes, Duration};
use lockgate_traffic::Law;

use crate::application::{Codec, Ftp};
use crate::envelope::Envelope;
use crate::tcp::TcpModel;
use crate::traffic::Traffic;

/// One flow of packets.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name; `name/3` for the third member of a group.
    pub name: String,
    /// Index in `nodes` of its source.
    pub from: usize,
    /// Index in `nodes` of its destination.
    pub to: usize,
    /// Transport.
    pub transport: Transport,
    /// Header fields of its packets, for classifiers.
    pub fields: Fields,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
    /// Mark of a firewall; 0 if it has none.
    pub mark: u32,
    /// Traffic that it offers, with the files that belong to it.
    pub traffic: Traffic,
    /// Start of the flow; with `start_law`, added to the drawn time.
    pub start: Duration,
    /// Law of the start, if the start is drawn ([`Scenario::with_starts`](super::Scenario::with_starts)).
    pub start_law: Option<Law<Duration>>,
    /// Time at which it stops at the latest.
    pub stop: Option<Duration>,
    /// Limit on the packets that it sends.
    pub packets: Option<u64>,
    /// Limit on the bytes that it sends.
    pub bytes: Option<Bytes>,
    /// FTP parameters, if its file is transferred by FTP. Its control connection is a flow of its own. Few
    /// flows have any: a word is kept for them.
    pub ftp: Option<Box<Ftp>>,
    /// True if the receiver sends back everything.
    pub echo: bool,
    /// Codec, if the flow is one direction of a call.
    pub voice: Option<Codec>,
    /// Envelope of what it sends, if the file states it.
    pub envelope: Option<Arc<Envelope>>,
}

/// Transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams, sent as the traffic offers them.
    Udp,
    /// A TCP connection.
    Tcp(TcpModel),
    /// Answers to datagrams. Placed after all flows of the file.
    UdpReturn {
        /// Index in `flows` of the flow that they answer.
        of: usize,
    },
    /// Reverse direction of a TCP connection: acknowledgements, and answers. Placed after all flows of the
    /// file.
    TcpReturn {
        /// Index in `flows` of the connection.
        of: usize,
    },
    /// Packets of a program outside the run. No file has it ([`outside`](crate::outside)).
    Outside {
        /// Index in `flows` of the flow whose reverse direction it is; `None` if it is none.
        of: Option<usize>,
        /// True if the file has a connection there: its ends act where hosts act, those of datagrams where
        /// sources act.
        is_connection: bool,
    },
}
