//! Table of packets: a row for each packet at each port, over the memory of the recording.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;
use indexmap::IndexSet;
use lockgate::Recording;
use lockgate::units::Instant;
use lockgate_measure::recording::{Loss, PacketColumns, PacketRow, Packets};

use crate::arrays::{named, shared};
use crate::table::Table;

/// Returns the packets of a run that kept them; no rows if it did not. The names of the columns are those of
/// `packets.parquet`. `queue`, the fields of headers, and which rows are null are computed.
pub(crate) fn table(recording: &Arc<Recording>) -> Result<Table, ArrowError> {
    let columns = all(recording);
    let departed = columns.departed.iter().map(|at| *at != Instant::NEVER.as_picos());
    let departed: NullBuffer = departed.collect::<Vec<bool>>().into();
    let lost: NullBuffer =
        columns.lost.iter().map(|loss| usize::from(*loss) < Loss::ALL.len()).collect::<Vec<bool>>().into();
    // Keys are signed, because pandas supports no others. Indices and times are below the largest signed
    // value.
    let flow = shared::<Int32Type, _, _>(recording, |of| all(of).flow, None);
    let port = shared::<Int32Type, _, _>(recording, |of| all(of).port, None);
    let sequence: ArrayRef = Arc::new(shared::<UInt32Type, _, _>(recording, |of| all(of).sequence, None));
    let length: ArrayRef = Arc::new(shared::<UInt32Type, _, _>(recording, |of| all(of).length, None));
    let arrived: ArrayRef = Arc::new(shared::<Int64Type, _, _>(recording, |of| all(of).arrived, None));
    let departed: ArrayRef =
        Arc::new(shared::<Int64Type, _, _>(recording, |of| all(of).departed, Some(departed)));
    let lost = shared::<Int8Type, _, _>(recording, |of| all(of).lost, Some(lost));
    let named_columns = vec![
        ("flow".to_owned(), named(flow, recording.flows.iter().map(|flow| &flow.setup.name))?),
        ("sequence".to_owned(), sequence),
        ("port".to_owned(), named(port, recording.ports.iter().map(|port| &port.setup.name))?),
        ("queue".to_owned(), queues(recording, columns)?),
        ("length_bytes".to_owned(), length),
        ("arrived_ps".to_owned(), arrived),
        ("departed_ps".to_owned(), departed),
        ("lost".to_owned(), named(lost, Loss::ALL.iter().map(|loss| loss.name()))?),
        ("ecn".to_owned(), of_rows(recording, |row| Some(i64::from(row.ecn())))),
        ("tcp_flags".to_owned(), of_rows(recording, |row| of_tcp(row, i64::from(row.tcp.0)))),
        ("tcp_sequence".to_owned(), of_rows(recording, |row| of_tcp(row, i64::from(row.tcp.1)))),
        (
            "tcp_acknowledgement".to_owned(),
            of_rows(recording, |row| Some(i64::from(row.segment?.acknowledgement))),
        ),
    ];
    Table::new(named_columns)
}

/// Computes a column from the rows.
fn of_rows(recording: &Recording, value: fn(&PacketRow) -> Option<i64>) -> ArrayRef {
    let rows = recording.packets.iter().flat_map(Packets::iter);
    Arc::new(rows.map(|row| value(&row)).collect::<PrimitiveArray<Int64Type>>())
}

/// Returns a field of the TCP header; `None` of a packet without one.
fn of_tcp(row: &PacketRow, value: i64) -> Option<i64> {
    (row.tcp.0 != 0).then_some(value)
}

/// Returns the columns; empty ones if no packets were kept.
fn all(recording: &Recording) -> PacketColumns<'_> {
    let packets = recording.packets.as_ref().map(Packets::columns);
    packets.unwrap_or(PacketColumns {
        flow: &[],
        sequence: &[],
        port: &[],
        queue: &[],
        length: &[],
        arrived: &[],
        departed: &[],
        lost: &[],
    })
}

/// Returns the names of the queues. The index of a queue in its port is replaced by one in the list of all
/// distinct names.
fn queues(recording: &Recording, columns: PacketColumns<'_>) -> Result<ArrayRef, ArrowError> {
    let mut names: IndexSet<&str> = IndexSet::new();
    let ports = recording.ports.iter();
    let keys: Vec<Vec<usize>> = ports
        .map(|port| port.queues().iter().map(|queue| names.insert_full(&queue.name).0).collect())
        .collect();
    let key = |(port, queue): (&u32, &u32)| {
        let key = keys.get(*port as usize)?.get(*queue as usize)?;
        i32::try_from(*key).ok()
    };
    let keys: PrimitiveArray<Int32Type> = columns.port.iter().zip(columns.queue).map(key).collect();
    named(keys, names)
}
