//! Rows as columns, written as files that people load directly: Parquet, NPY and JSON lines. The bytes
//! depend on the rows alone: no times, no hosts, a fixed creator, row groups as the caller cuts them.
//!
//! - [`mod@column`]: a batch of rows in memory.
//! - [`parquet_out`], [`parquet_in`]: Parquet, written batch by batch and read back column by column.
//! - [`npy`]: NumPy arrays, one structured array a file.
//! - [`json_lines`]: one JSON object a line.
//! - [`table`]: a small table in one call.

pub mod column;
mod error;
pub mod json_lines;
pub mod npy;
pub mod parquet_in;
pub mod parquet_out;
mod parquet_schema;
pub mod table;

pub use column::{Batch, Cell, Column, Field, Kind, Values};
pub use error::ColumnsError;
