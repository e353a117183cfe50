//! The folder of a data set: parts that appear whole or not at all, and beside them what they are. Names that begin with
//! an underscore or a dot are passed over by programs that read such folders.

use crate::exit::Failure;
use crate::whole_file::{UNFINISHED, put, put_bytes};
use antipode_columns::parquet_in;
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::scramble::{Format, ScramblesSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// What a folder is.
pub const MANIFEST: &str = "_scrambles.json";
const PART: &str = "scrambles-";
/// What is made from the parts.
const DERIVED: &str = "_targets-";

/// The content of [`MANIFEST`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// For people and for programs that read the parts.
    pub about: Value,
    /// The question itself.
    pub spec: ScramblesSpec,
    /// Rows whose state an earlier row has are left out.
    pub unique: bool,
}

/// A folder that this process alone writes.
pub struct Dataset {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

fn refuse(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!(
        "--out {}: {error}; choose another directory",
        path.display()
    ))
}

impl Dataset {
    /// Could the data set go there? Nothing is written.
    ///
    /// # Errors
    /// The directory holds something else and `overwrite` is not set.
    pub fn look(path: &Path, manifest: &Manifest, overwrite: bool) -> Result<(), Failure> {
        let shown = path.display();
        if path.as_os_str().is_empty() {
            return Err(Failure::input("--out is empty; name a directory"));
        }
        if !path.exists() {
            return Ok(());
        }
        if !path.is_dir() {
            return Err(Failure::input(format!(
                "--out {shown} is a file; name a directory (it is created where needed)"
            )));
        }
        let mut entries = names(path)?;
        entries.retain(|name| !name.starts_with(UNFINISHED) && name != LOCK);
        if let Some(other) = entries.iter().find(|name| !is_ours(name)) {
            return Err(Failure::input(format!(
                "--out {shown} is not empty: there is {other}; choose another directory"
            )));
        }
        let Some(first) = entries.first().filter(|_| !overwrite) else {
            return Ok(());
        };
        if !entries.iter().any(|name| name == MANIFEST) {
            return Err(Failure::input(format!(
                "--out {shown} is not empty: there is {first}, and no {MANIFEST} says what it belongs to; \
                 choose another directory, or replace it with --overwrite"
            )));
        }
        let old = Manifest::read(path)?;
        match (&old.spec, old.unique) == (&manifest.spec, manifest.unique) {
            true => Ok(()),
            false => Err(Failure::input(format!(
                "--out {shown} is not empty: it holds other scrambles ({}); \
                 choose another directory, or replace them with --overwrite",
                old.title()
            ))),
        }
    }

    /// Begins a data set, or takes one up that the same question has begun.
    ///
    /// # Errors
    /// The directory holds something else and `overwrite` is not set, or another process writes there.
    pub fn open(path: &Path, manifest: &Manifest, overwrite: bool) -> Result<Dataset, Failure> {
        Dataset::look(path, manifest, overwrite)?;
        fs::create_dir_all(path).map_err(|error| refuse(path, &error))?;
        let lock = lock(path)?;
        for name in names(path)? {
            let unfinished = name.starts_with(UNFINISHED) && name.ends_with(".tmp");
            if unfinished || (overwrite && name != LOCK) {
                fs::remove_file(path.join(&name)).map_err(|error| refuse(path, &error))?;
            }
        }
        let dataset = Dataset {
            path: path.into(),
            _lock: lock,
        };
        let mut text = serde_json::to_string_pretty(manifest)
            .map_err(|error| Failure::Internal(error.to_string()))?;
        text.push('\n');
        put_bytes(path, MANIFEST, text.as_bytes())?;
        Ok(dataset)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file under another name and renames it when it is whole.
    pub fn put<T>(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        put(&self.path, name, write)
    }

    /// Is a part there, whole?
    pub fn has(&self, spec: &ScramblesSpec, part: u32, rows: u64) -> bool {
        let path = self.path.join(spec.part_name(part));
        rows_of(&path, spec.format).is_some_and(|found| found == rows)
    }
}

const LOCK: &str = ".scrambles-lock";

/// Until the file is closed nobody else gets it.
fn lock(path: &Path) -> Result<File, Failure> {
    let file = File::create(path.join(LOCK)).map_err(|error| refuse(path, &error))?;
    let locked = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    locked.map_err(|_| {
        Failure::input(format!(
            "--out {}: another process writes there; wait for it, or choose another directory",
            path.display()
        ))
    })?;
    Ok(file)
}

fn names(path: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(path).map_err(|error| refuse(path, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| refuse(path, &error))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Could a command of ours have written it?
fn is_ours(name: &str) -> bool {
    [PART, DERIVED, UNFINISHED]
        .iter()
        .any(|start| name.starts_with(start))
        || name == MANIFEST
        || name == LOCK
}

/// Rows of a file, if it is whole.
fn rows_of(path: &Path, format: Format) -> Option<u64> {
    let file = File::open(path).ok()?;
    match format {
        Format::Parquet => Some(parquet_in::Reader::open(file).ok()?.rows()),
        Format::Npy => npy_rows(file),
        Format::JsonLines => {
            let mut rows = 0;
            let mut reader = BufReader::with_capacity(1 << 20, file);
            let mut last = b'\n';
            loop {
                let bytes = reader.fill_buf().ok()?;
                let Some(&end) = bytes.last() else { break };
                last = end;
                rows += bytes.iter().filter(|b| **b == b'\n').count() as u64;
                let read = bytes.len();
                reader.consume(read);
            }
            (last == b'\n').then_some(rows)
        }
    }
}

/// The rows that the header announces. A file has its name only since it is whole.
fn npy_rows(mut file: File) -> Option<u64> {
    let mut start = vec![0; 65_536];
    let read = file.read(&mut start).ok()?;
    let text = String::from_utf8_lossy(&start[..read]);
    let shape = text.split("'shape': (").nth(1)?;
    shape.split([',', ')']).next()?.trim().parse().ok()
}

impl Manifest {
    /// Of the puzzle only what rows depend on, and its name: the same from whoever has the question.
    ///
    /// # Errors
    /// None for a checked question.
    pub fn new(mut spec: ScramblesSpec, about: Value, unique: bool) -> Result<Manifest, Failure> {
        let puzzle = &spec.puzzle;
        spec.puzzle = Puzzle::new(
            puzzle.name().into(),
            puzzle.generators().to_vec(),
            puzzle.roots().to_vec(),
            puzzle.metric(),
            Vec::new(),
        )?;
        Ok(Manifest {
            about,
            spec,
            unique,
        })
    }

    /// What a folder says of itself.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn read(folder: &Path) -> Result<Manifest, Failure> {
        let path = folder.join(MANIFEST);
        let text = fs::read(&path).map_err(|error| {
            Failure::input(format!(
                "{}: {error}; name a directory that `antipode run scrambles` or `antipode get` has filled",
                path.display()
            ))
        })?;
        serde_json::from_slice(&text).map_err(|error| {
            Failure::input(format!(
                "{} is damaged, or of another version: {error}",
                path.display()
            ))
        })
    }

    /// In a few words.
    pub fn title(&self) -> String {
        format!(
            "{} rows of {}, seed {}",
            self.spec.rows,
            self.spec.puzzle.name(),
            self.spec.walks.seed
        )
    }
}
