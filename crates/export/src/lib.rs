//! Tables, series and packets for other tools: Parquet for notebooks, pcapng for Wireshark, qlog, and
//! flent's data files.
//!
//! Everything is written to the writer it is given; no file is opened.
//!
//! ```
//! # #[cfg(feature = "tables")]
//! # {
//! use lockgate_export::parquet::{self, Column};
//!
//! let columns = [("seed".to_owned(), Column::Integer(vec![Some(1), Some(2)]))];
//! let file = parquet::table(&columns, &[], Vec::new())?;
//! assert!(file.starts_with(b"PAR1"));
//! # }
//! # Ok::<(), lockgate_export::ExportError>(())
//! ```

#![forbid(unsafe_code)]

#[cfg(feature = "tables")]
pub mod members;
#[cfg(feature = "tables")]
pub mod parquet;
pub mod pcapng;
pub mod qlog;
#[cfg(feature = "tables")]
pub mod series;

/// The error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The recording has no rows.
    #[error("the run recorded no packets: recording them was off")]
    NoPackets,
    /// A table's columns differ in length.
    #[error("column `{column}` has {rows} rows and the first has {expected}: all have the same number")]
    Uneven {
        /// Name of the column.
        column: String,
        /// Number of its rows.
        rows: usize,
        /// Number of rows of the first column.
        expected: usize,
    },
    /// Writing failed.
    #[error("writing failed: {0}")]
    Write(#[from] std::io::Error),
    /// The Parquet library returned an error.
    #[cfg(feature = "tables")]
    #[error("Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The pcapng library returned an error.
    #[error("writing pcapng failed: {0}")]
    Capture(#[from] pcap_file::PcapError),
}

#[cfg(test)]
mod tests;
