//! Tables in Parquet: packets (one row per packet and port), and any table of named columns.
//!
//! Columns of packets: `flow`, `sequence`, `port`, `queue`, `length_bytes`, `arrived_ps`, `departed_ps` (null
//! if the packet did not leave), `lost` (the reason, null if it was not lost); both are null for a packet
//! that waits at the end of the run. `ecn` (0 not capable, 1 ECT(1), 2 ECT(0), 3 marked) as the packet left
//! or was lost; `tcp_flags`, `tcp_sequence`, `tcp_acknowledgement` of its TCP header, null for others. Times
//! are picoseconds since the start of the run, exact. Text is stored by dictionary; everything is compressed
//! with Snappy.
//!
//! The module uses Parquet's own column writers, without Arrow, because the columns are plain already.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use lockgate_measure::recording::{PacketRow, Recording};

use super::ExportError;

/// Rows per row group.
const GROUP: usize = 1 << 18;

/// A column of a table. `None` becomes null.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Text.
    Text(Vec<Option<String>>),
    /// Integers; values above 2^63 - 1 are stored as 2^63 - 1.
    Integer(Vec<Option<u64>>),
    /// Real numbers; NaN becomes null.
    Real(Vec<Option<f64>>),
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Integer(_) => Kind::Integer,
            Self::Real(_) => Kind::Real,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Integer,
    Real,
}

/// Writes a table; `notes` are stored in the file's metadata as keys and values.
///
/// # Errors
/// Fails if columns differ in length, and with the writer's error.
pub fn table<W: Write + Send>(
    columns: &[(String, Column)],
    notes: &[(String, String)],
    writer: W,
) -> Result<W, ExportError> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    if let Some((name, column)) = columns.iter().find(|(_, column)| column.len() != rows) {
        return Err(ExportError::Uneven { column: name.clone(), rows: column.len(), expected: rows });
    }
    let fields: Vec<(&str, Kind)> =
        columns.iter().map(|(name, column)| (name.as_str(), column.kind())).collect();
    let mut file = open(&fields, notes, writer)?;
    let mut group = file.next_row_group()?;
    for (_, column) in columns {
        match column {
            Column::Text(values) => {
                write_text(&mut group, values.iter().map(|value| value.as_deref().map(ByteArray::from)))?;
            }
            Column::Integer(values) => write_integers(&mut group, values.iter().copied())?,
            Column::Real(values) => {
                let values = values.iter().map(|value| value.filter(|value| !value.is_nan()));
                write::<DoubleType>(&mut group, values)?;
            }
        }
    }
    group.close()?;
    Ok(file.into_inner()?)
}

/// Reads the first row of a table of real numbers: each column's name and value.
///
/// # Errors
/// If the file is not such a table, or has no row.
pub fn first_row(file: Vec<u8>) -> Result<Vec<(String, Option<f64>)>, ExportError> {
    let reader = SerializedFileReader::new(Bytes::from(file))?;
    let group = reader.get_row_group(0)?;
    let columns = group.metadata().columns().iter().enumerate();
    columns
        .map(|(index, column)| {
            let ColumnReader::DoubleColumnReader(mut values) = group.get_column_reader(index)? else {
                return Err(ParquetError::General("a column is of no real numbers".into()).into());
            };
            let (mut found, mut levels) = (Vec::new(), Vec::new());
            let (rows, ..) = values.read_records(1, Some(&mut levels), None, &mut found)?;
            if rows == 0 {
                return Err(ParquetError::General("it has no row".into()).into());
            }
            Ok((column.column_path().string(), found.first().copied()))
        })
        .collect()
}

/// Writes the packets of a run, one row per packet and port.
///
/// # Errors
/// Returns [`ExportError::NoPackets`] if the run kept none, or the writer's error.
pub fn packets<W: Write + Send>(recording: &Recording, writer: W) -> Result<W, ExportError> {
    let rows = recording.packets.as_ref().ok_or(ExportError::NoPackets)?;
    let fields = [
        ("flow", Kind::Text),
        ("sequence", Kind::Integer),
        ("port", Kind::Text),
        ("queue", Kind::Text),
        ("length_bytes", Kind::Integer),
        ("arrived_ps", Kind::Integer),
        ("departed_ps", Kind::Integer),
        ("lost", Kind::Text),
        ("ecn", Kind::Integer),
        ("tcp_flags", Kind::Integer),
        ("tcp_sequence", Kind::Integer),
        ("tcp_acknowledgement", Kind::Integer),
    ];
    let notes = [
        ("lockgate.title".into(), recording.title.clone()),
        ("lockgate.seed".into(), recording.seed.0.to_string()),
        ("lockgate.duration_ps".into(), recording.duration.as_picos().to_string()),
        ("lockgate.warmup_ps".into(), recording.warmup.as_picos().to_string()),
    ];
    let names = Names::new(recording);
    let mut file = open(&fields, &notes, writer)?;
    let mut start = 0;
    while start < rows.len() {
        let all: Vec<PacketRow> =
            (start..rows.len().min(start + GROUP)).filter_map(|row| rows.get(row)).collect();
        let mut group = file.next_row_group()?;
        write_text(&mut group, all.iter().map(|row| Some(names.flow(row))))?;
        write_integers(&mut group, all.iter().map(|row| Some(u64::from(row.sequence))))?;
        write_text(&mut group, all.iter().map(|row| Some(names.port(row))))?;
        write_text(&mut group, all.iter().map(|row| Some(names.queue(row))))?;
        write_integers(&mut group, all.iter().map(|row| Some(u64::from(row.length))))?;
        write_integers(&mut group, all.iter().map(|row| Some(row.arrived.as_picos())))?;
        write_integers(&mut group, all.iter().map(|row| Some(row.departed?.as_picos())))?;
        write_text(&mut group, all.iter().map(|row| Some(ByteArray::from(row.drop?.name()))))?;
        write_integers(&mut group, all.iter().map(|row| Some(u64::from(row.ecn()))))?;
        let is_tcp = |row: &&PacketRow| row.tcp.0 != 0;
        let of_tcp = |of: fn(&PacketRow) -> u32| {
            all.iter().map(move |row| Some(row).filter(is_tcp).map(|row| u64::from(of(row))))
        };
        write_integers(&mut group, of_tcp(|row| u32::from(row.tcp.0)))?;
        write_integers(&mut group, of_tcp(|row| row.tcp.1))?;
        let acknowledged = |row: &PacketRow| Some(u64::from(row.segment?.acknowledgement));
        write_integers(&mut group, all.iter().map(acknowledged))?;
        group.close()?;
        start += GROUP;
    }
    Ok(file.into_inner()?)
}

/// Names in the form that the file stores; clones share the bytes.
struct Names {
    flows: Vec<ByteArray>,
    ports: Vec<(ByteArray, Vec<ByteArray>)>,
}

impl Names {
    fn new(recording: &Recording) -> Self {
        let bytes = |name: &str| ByteArray::from(name);
        Self {
            flows: recording.flows.iter().map(|flow| bytes(&flow.setup.name)).collect(),
            ports: recording
                .ports
                .iter()
                .map(|port| {
                    let queues = port.queues().iter().map(|queue| bytes(&queue.name)).collect();
                    (bytes(&port.setup.name), queues)
                })
                .collect(),
        }
    }

    fn flow(&self, row: &PacketRow) -> ByteArray {
        self.flows.get(row.flow.0 as usize).cloned().unwrap_or_else(|| ByteArray::from(""))
    }

    fn port(&self, row: &PacketRow) -> ByteArray {
        self.ports.get(row.port as usize).map_or_else(|| ByteArray::from(""), |(name, _)| name.clone())
    }

    fn queue(&self, row: &PacketRow) -> ByteArray {
        let queues = self.ports.get(row.port as usize).map(|(_, queues)| queues);
        let name = queues.and_then(|queues| queues.get(row.queue as usize));
        name.cloned().unwrap_or_else(|| ByteArray::from(""))
    }
}

fn open<W: Write + Send>(
    fields: &[(&str, Kind)],
    notes: &[(String, String)],
    writer: W,
) -> Result<SerializedFileWriter<W>, ExportError> {
    let fields = fields.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("lockgate").with_fields(fields).build()?;
    let notes = notes.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("lockgate ", env!("CARGO_PKG_VERSION")).into())
        .set_key_value_metadata(Some(notes))
        .build();
    Ok(SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))?)
}

fn field(name: &str, kind: Kind) -> Result<TypePtr, ExportError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(field))
}

fn write_text<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<ByteArray>>,
) -> Result<(), ExportError> {
    write::<ByteArrayType>(group, values)
}

fn write_integers<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<u64>>,
) -> Result<(), ExportError> {
    write::<Int64Type>(group, values.map(|value| Some(i64::try_from(value?).unwrap_or(i64::MAX))))
}

/// Writes the next column of the row group.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ExportError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let mut present = Vec::new();
    // Definition level 1 for a value, 0 for null.
    let mut levels = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()?;
    Ok(())
}
