//! A run's packets for other tools: Parquet for notebooks, pcapng for Wireshark.

#[cfg(feature = "export")]
pub mod parquet;
#[cfg(feature = "export")]
pub mod pcapng;

/// Why an export failed.
#[cfg(feature = "export")]
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recording has no rows.
    #[error("the run kept no packets: it was not asked to")]
    NoPackets,
    /// A table's columns differ in length.
    #[error("column `{column}` has {rows} rows and the first has {expected}: all have the same number")]
    Uneven {
        /// The column.
        column: String,
        /// Its rows.
        rows: usize,
        /// Those of the first column.
        expected: usize,
    },
    /// Writing failed.
    #[error("writing failed: {0}")]
    Write(#[from] std::io::Error),
    /// The Parquet library refused.
    #[error("writing Parquet failed: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The pcapng library refused.
    #[error("writing pcapng failed: {0}")]
    Capture(#[from] pcap_file::PcapError),
}

#[cfg(all(test, feature = "export"))]
mod tests;
