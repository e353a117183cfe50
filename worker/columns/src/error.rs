//! What can go wrong with files of columns.

/// Why rows could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// The columns of a batch do not fit each other or the file.
    #[error("column {column}: {what}")]
    Shape { column: String, what: String },
    /// The disk or the receiver.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The Parquet format.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A file that is no NPY file, or holds something else than asked for.
    #[error("NPY: {0}")]
    Npy(String),
}
