//! A store that is being made: while this mark lies beside it, the process that made it may have ended before its
//! first commit, and what is there is no store yet. The mark is on disk before the store's file is, and gone from disk
//! before anybody is promised anything.

use super::STORE_FILE;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

fn mark_of(data: &Path) -> PathBuf {
    data.join(format!("{STORE_FILE}.begun"))
}

/// Was the making of the store never finished?
pub fn is_marked(data: &Path) -> bool {
    mark_of(data).exists()
}

/// Removes what an earlier start did not finish. True: there is no store now.
pub fn clear(data: &Path) -> io::Result<bool> {
    let file = data.join(STORE_FILE);
    if is_marked(data) && file.exists() {
        std::fs::remove_file(&file)?;
    }
    Ok(!file.exists())
}

/// From now on a store is being made.
pub fn mark(data: &Path) -> io::Result<()> {
    File::create(mark_of(data))?.sync_all()?;
    sync_folder(data)
}

/// The store has its description: it counts.
pub fn done(data: &Path) -> io::Result<()> {
    std::fs::remove_file(mark_of(data))?;
    sync_folder(data)
}

/// Makes the names in a folder durable.
fn sync_folder(data: &Path) -> io::Result<()> {
    File::open(data)?.sync_all()
}
