//! A run's packets for other tools: Parquet for notebooks, pcapng for Wireshark.

#[cfg(feature = "export")]
pub mod parquet;
#[cfg(feature = "export")]
pub mod pcapng;

/// The error of an export.
#[cfg(feature = "export")]
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
    #[error("Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The pcapng library returned an error.
    #[error("writing pcapng failed: {0}")]
    Capture(#[from] pcap_file::PcapError),
}

#[cfg(all(test, feature = "export"))]
mod tests;
