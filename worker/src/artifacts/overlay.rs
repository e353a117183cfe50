//! A database file that is only looked at: what redb writes when it opens one (after a crash it repairs
//! the file) stays in memory.

use redb::StorageBackend;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

const PAGE: u64 = 4096;

#[derive(Debug)]
pub struct Overlay {
    file: File,
    written: RwLock<Written>,
}

#[derive(Debug)]
struct Written {
    len: u64,
    /// The file's bytes count up to here; what follows is zeros, or was written.
    read_beneath: u64,
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Overlay {
    pub fn open(path: &Path) -> io::Result<Overlay> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Overlay {
            file,
            written: RwLock::new(Written {
                len,
                read_beneath: len,
                pages: BTreeMap::new(),
            }),
        })
    }

    fn read_beneath(&self, until: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = until.saturating_sub(offset).min(out.len() as u64) as usize;
        let (real, rest) = out.split_at_mut(there);
        rest.fill(0);
        self.file.read_exact_at(real, offset)
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self
            .written
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written.read().unwrap_or_else(PoisonError::into_inner);
        let end = offset + out.len() as u64;
        if end > written.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_beneath(written.read_beneath, offset, out)?;
        for (&page, bytes) in written.pages.range(offset / PAGE..end.div_ceil(PAGE)) {
            let (first, last) = (offset.max(page * PAGE), end.min((page + 1) * PAGE));
            let inside = (first - page * PAGE) as usize..(last - page * PAGE) as usize;
            out[(first - offset) as usize..(last - offset) as usize]
                .copy_from_slice(&bytes[inside]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written.write().unwrap_or_else(PoisonError::into_inner);
        if len < written.len {
            written.read_beneath = written.read_beneath.min(len);
            drop(written.pages.split_off(&len.div_ceil(PAGE)));
            if let Some(bytes) = written.pages.get_mut(&(len / PAGE)) {
                bytes[(len % PAGE) as usize..].fill(0);
            }
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written.write().unwrap_or_else(PoisonError::into_inner);
        let end = offset + data.len() as u64;
        for page in offset / PAGE..end.div_ceil(PAGE) {
            let start = page * PAGE;
            if !written.pages.contains_key(&page) {
                let mut bytes = vec![0; PAGE as usize].into_boxed_slice();
                self.read_beneath(written.read_beneath, start, &mut bytes)?;
                written.pages.insert(page, bytes);
            }
            let (first, last) = (offset.max(start), end.min(start + PAGE));
            if let Some(bytes) = written.pages.get_mut(&page) {
                bytes[(first - start) as usize..(last - start) as usize]
                    .copy_from_slice(&data[(first - offset) as usize..(last - offset) as usize]);
            }
        }
        written.len = written.len.max(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is written, cut and read: the same as in memory, and the file stays as it was.
        #[test]
        fn it_is_a_file_of_its_own(steps in proptest::collection::vec((0u8..3, 0u64..20_000, 1usize..9_000), 1..40)) {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("file");
            let before: Vec<u8> = (0..10_000u32).map(|k| (k * 7 % 251) as u8).collect();
            std::fs::write(&path, &before).unwrap();
            let overlay = Overlay::open(&path).unwrap();
            let mut model = before.clone();
            for (k, (what, at, size)) in steps.into_iter().enumerate() {
                match what {
                    0 => {
                        let data = vec![k as u8 + 1; size];
                        overlay.write(at, &data).unwrap();
                        let end = at as usize + size;
                        model.resize(model.len().max(end), 0);
                        model[at as usize..end].copy_from_slice(&data);
                    }
                    1 => {
                        overlay.set_len(at).unwrap();
                        model.resize(at as usize, 0);
                    }
                    _ => {
                        let mut out = vec![0xAA; size];
                        let fits = at as usize + size <= model.len();
                        prop_assert_eq!(overlay.read(at, &mut out).is_ok(), fits);
                        if fits {
                            prop_assert_eq!(&out[..], &model[at as usize..at as usize + size]);
                        }
                    }
                }
                prop_assert_eq!(overlay.len().unwrap(), model.len() as u64);
            }
            prop_assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }
}
