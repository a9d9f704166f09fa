//! Writes a table of two columns as Parquet.
//!
//! ```text
//! cargo run -p lockgate-export --example table -- delays.parquet
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fs::File;

use lockgate_export::parquet::{self, Column};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "delays.parquet".to_owned());
    let columns = [
        ("discipline".to_owned(), Column::Text(vec![Some("fifo".into()), Some("fq_codel".into())])),
        ("delay_s".to_owned(), Column::Real(vec![Some(0.8), Some(0.01)])),
    ];
    let file = File::create_new(&path)?;
    let notes = [("about".to_owned(), "one-way delay at the 99th percentile".to_owned())];
    parquet::table(&columns, &notes, file)?;
    println!("{path}: {} columns", columns.len());
    Ok(())
}
