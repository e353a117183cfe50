//! Files for the real databases that behave like files on a bad day: what is not synced may be lost, whole or
//! torn, in any order; bits flip; room runs out; a process ends between any two operations.

use rand::Rng;
use rand::rngs::StdRng;
use redb::{Builder, Database, DatabaseError, StorageBackend};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a disk writes at once or not at all.
const SECTOR: usize = 512;

/// A file: as processes see it, and as it would be found after a power cut.
#[derive(Debug, Default)]
struct Image {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<Change>,
    /// Handles of earlier processes are dead.
    generation: u64,
    full: bool,
    /// After so many more changes the process is dead.
    fuse: Option<u32>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Image {
    fn apply(bytes: &mut Vec<u8>, change: &Change) {
        match change {
            Change::Length(length) => bytes.resize(*length, 0),
            Change::Write(at, data) => {
                if bytes.len() < at + data.len() {
                    bytes.resize(at + data.len(), 0);
                }
                bytes[*at..at + data.len()].copy_from_slice(data);
            }
        }
    }

    fn change(&mut self, change: Change) -> Result<(), Error> {
        self.burn()?;
        Image::apply(&mut self.bytes, &change);
        self.unsynced.push(change);
        Ok(())
    }

    /// One operation more; the last one kills.
    fn burn(&mut self) -> Result<(), Error> {
        match &mut self.fuse {
            Some(0) => Err(Error::other("the process is dead")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Each unsynced change is there, is not, or is there in part.
    fn cut(&mut self, rng: &mut StdRng) {
        let mut bytes = std::mem::take(&mut self.synced);
        for change in self.unsynced.drain(..) {
            match change {
                Change::Length(_) if rng.random_bool(0.5) => Image::apply(&mut bytes, &change),
                Change::Length(_) => {}
                Change::Write(at, data) => match rng.random_range(0..3) {
                    0 => {}
                    1 => Image::apply(&mut bytes, &Change::Write(at, data)),
                    _ => {
                        let sectors = data.len() / SECTOR;
                        let kept = SECTOR * rng.random_range(0..=sectors);
                        Image::apply(&mut bytes, &Change::Write(at, data[..kept].to_vec()));
                    }
                },
            }
        }
        self.bytes.clone_from(&bytes);
        self.synced = bytes;
        self.generation += 1;
        self.fuse = None;
    }
}

type Shared = Arc<Mutex<Image>>;

fn locked(image: &Shared) -> MutexGuard<'_, Image> {
    image.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One process's use of a file.
#[derive(Debug)]
struct Handle {
    image: Shared,
    generation: u64,
}

impl Handle {
    fn image(&self) -> Result<MutexGuard<'_, Image>, Error> {
        let image = locked(&self.image);
        if image.generation != self.generation || image.fuse == Some(0) {
            return Err(Error::other("the process is dead"));
        }
        Ok(image)
    }
}

impl StorageBackend for Handle {
    fn len(&self) -> Result<u64, Error> {
        Ok(self.image()?.bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let image = self.image()?;
        let at = offset as usize;
        match image.bytes.get(at..at + out.len()) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => return Err(Error::new(ErrorKind::UnexpectedEof, "beyond the end")),
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), Error> {
        let mut image = self.image()?;
        if image.full && length as usize > image.bytes.len() {
            return Err(Error::from(ErrorKind::StorageFull));
        }
        image.change(Change::Length(length as usize))
    }

    fn sync_data(&self) -> Result<(), Error> {
        let mut image = self.image()?;
        image.burn()?;
        image.unsynced.clear();
        let Image { bytes, synced, .. } = &mut *image;
        synced.clone_from(bytes);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let mut image = self.image()?;
        if image.full {
            return Err(Error::from(ErrorKind::StorageFull));
        }
        image.change(Change::Write(offset as usize, data.to_vec()))
    }
}

thread_local! {
    /// All files of the present simulation, by their paths.
    static FILES: RefCell<BTreeMap<PathBuf, Shared>> = const { RefCell::new(BTreeMap::new()) };
}

/// Puts the databases of this thread on such files.
pub fn install() {
    FILES.with_borrow_mut(BTreeMap::clear);
    antipode_worker::medium::set(Some(Box::new(open)));
    antipode_coordinator::medium::set(Some(Box::new(open)));
}

/// The opposite.
pub fn remove() {
    antipode_worker::medium::set(None);
    antipode_coordinator::medium::set(None);
    FILES.with_borrow_mut(BTreeMap::clear);
}

fn open(builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
    let is_new = !path.exists();
    if is_new {
        // Others look whether it is there.
        std::fs::write(path, []).map_err(|e| DatabaseError::Storage(e.into()))?;
    }
    let image = FILES.with_borrow_mut(|files| {
        if is_new {
            files.remove(path);
        }
        files.entry(path.into()).or_default().clone()
    });
    let generation = locked(&image).generation;
    builder.create_with_backend(Handle { image, generation })
}

/// The files under a folder.
#[derive(Debug, Clone)]
pub struct Medium(PathBuf);

impl Medium {
    pub fn new(folder: &Path) -> Medium {
        Medium(folder.into())
    }

    fn images(&self) -> Vec<Shared> {
        FILES.with_borrow(|files| {
            let mine = files.iter().filter(|(path, _)| path.starts_with(&self.0));
            mine.map(|(_, image)| image.clone()).collect()
        })
    }

    /// The power fails: what is unsynced goes as it may, and whoever has the files open is dead.
    pub fn cut(&self, rng: &mut StdRng) {
        self.images()
            .iter()
            .for_each(|image| locked(image).cut(rng));
    }

    /// The process will be dead after so many more changes of each file.
    pub fn set_fuse(&self, changes: u32) {
        let images = self.images();
        images.iter().for_each(|i| locked(i).fuse = Some(changes));
    }

    pub fn set_full(&self, full: bool) {
        let images = self.images();
        images.iter().for_each(|image| locked(image).full = full);
    }

    /// All files as they are, to be put back.
    pub fn copy(&self) -> Vec<Vec<u8>> {
        let images = self.images();
        images.iter().map(|i| locked(i).synced.clone()).collect()
    }

    /// Puts them back. Whoever has them open is dead.
    pub fn restore(&self, copy: Vec<Vec<u8>>) {
        for (image, bytes) in self.images().iter().zip(copy) {
            let mut image = locked(image);
            image.bytes.clone_from(&bytes);
            image.synced = bytes;
            image.unsynced.clear();
            image.generation += 1;
        }
    }

    /// Flips a bit somewhere in what is used of a file, if there is one.
    pub fn flip(&self, rng: &mut StdRng) -> Option<Flip> {
        let images = self.images();
        if images.is_empty() {
            return None;
        }
        let shared = images[rng.random_range(0..images.len())].clone();
        let mut image = locked(&shared);
        let used = image.synced.iter().rposition(|&byte| byte != 0)?;
        let (at, bit) = (rng.random_range(0..=used), 1 << rng.random_range(0..8));
        let right = image.synced[at];
        image.synced[at] ^= bit;
        if let Some(byte) = image.bytes.get_mut(at) {
            *byte ^= bit;
        }
        drop(image);
        let wrong = right ^ bit;
        Some(Flip {
            image: shared,
            at,
            right,
            wrong,
        })
    }
}

/// A bit that was flipped.
#[derive(Debug)]
pub struct Flip {
    image: Shared,
    at: usize,
    right: u8,
    wrong: u8,
}

impl Flip {
    /// Puts it right, where it was not overwritten since. Nobody has the file open.
    pub fn mend(&self) {
        let mut image = locked(&self.image);
        if image.synced.get(self.at) == Some(&self.wrong) {
            image.synced[self.at] = self.right;
        }
        let Image { bytes, synced, .. } = &mut *image;
        bytes.clone_from(synced);
    }
}
