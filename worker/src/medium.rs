//! Where the database's files are: on the file system, or (feature `media`) wherever a test puts them.

use redb::{Builder, Database, DatabaseError};
use std::path::Path;

/// Opens or makes the database of a path.
#[cfg(feature = "media")]
pub type Opener = Box<dyn Fn(&Builder, &Path) -> Result<Database, DatabaseError>>;

#[cfg(feature = "media")]
thread_local! {
    static OPENER: std::cell::RefCell<Option<Opener>> = const { std::cell::RefCell::new(None) };
}

/// From now on this thread opens its databases so; `None`: on the file system.
#[cfg(feature = "media")]
pub fn set(opener: Option<Opener>) {
    OPENER.set(opener);
}

/// The database in `file`, made if it is not there.
pub(crate) fn create(builder: &Builder, file: &Path) -> Result<Database, DatabaseError> {
    #[cfg(feature = "media")]
    {
        let opened = OPENER.with_borrow(|opener| opener.as_ref().map(|open| open(builder, file)));
        if let Some(opened) = opened {
            return opened;
        }
    }
    builder.create(file)
}
