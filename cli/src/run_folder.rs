//! The folder of a `run`: one store and lock per question under `--data`, so that two runs at once work and
//! dropping a job is deleting its folder. `runs/pocket-1f0c94d2a7b3/{coordinator,worker}`.

use crate::exit::Failure;
use antipode_proto::codec::{self, kind};
use antipode_solver_core::job::{BfsSpec, JobSpec};
use std::path::{Path, PathBuf};

/// Where a question's store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The folder of `spec` under `data`. What is only a matter of listing (`--antipodes`, `--keep`) does not change it.
    pub fn of(data: &Path, spec: &JobSpec) -> RunFolder {
        let (question, title) = match spec {
            JobSpec::Bfs(bfs) => (bfs_question(bfs), spec.title()),
            JobSpec::Batch(batch) => (
                codec::encode(kind::FINGERPRINT, &batch.question()),
                format!("{} {}", spec.kind(), spec.title()),
            ),
        };
        let hash = blake3::hash(&question).to_hex();
        let name = format!("{}-{}", slug(&title), &hash[..12]);
        RunFolder {
            path: all(data).join(name),
        }
    }

    /// A folder that is there.
    pub fn at(path: PathBuf) -> RunFolder {
        RunFolder { path }
    }

    /// Moves it out of the way, into `set-aside` under `data`, where nobody looks for runs; says where.
    pub fn set_aside(&self, data: &Path) -> Result<PathBuf, Failure> {
        let aside = data.join("set-aside");
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let free = (1..)
            .map(|k| aside.join(format!("{name}-{k}")))
            .find(|path| !path.exists());
        let target = free.unwrap_or_else(|| aside.clone());
        let moved =
            std::fs::create_dir_all(&aside).and_then(|()| std::fs::rename(&self.path, &target));
        moved.map_err(|error| {
            Failure::other(format!(
                "{} cannot be moved to {}: {error}; move it away yourself",
                self.path.display(),
                target.display()
            ))
        })?;
        Ok(target)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn coordinator(&self) -> PathBuf {
        self.path.join("coordinator")
    }

    pub fn worker(&self) -> PathBuf {
        self.path.join("worker")
    }
}

/// What the counts of an enumeration depend on.
fn bfs_question(spec: &BfsSpec) -> Vec<u8> {
    let moves: Vec<(&str, &[u16])> = spec
        .puzzle
        .generators()
        .iter()
        .map(|g| (g.name.as_str(), g.perm.images()))
        .collect();
    let question = serde_json::json!([moves, spec.puzzle.roots(), spec.depth, spec.layout]);
    question.to_string().into_bytes()
}

/// Where all runs under `data` are.
pub fn all(data: &Path) -> PathBuf {
    data.join("runs")
}

/// The name of a puzzle or of its file, as a folder may be called.
fn slug(name: &str) -> String {
    let stem = Path::new(name)
        .file_name()
        .map_or(name.into(), |n| n.to_string_lossy());
    let words: Vec<&str> = stem
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let text: String = words
        .join("-")
        .to_ascii_lowercase()
        .chars()
        .take(30)
        .collect();
    let text = text.trim_matches('-');
    if text.is_empty() {
        "puzzle".into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_after_its_puzzle() {
        assert_eq!(slug("topspin:11,4"), "topspin-11-4");
        assert_eq!(slug("dir/My Puzzle.toml"), "my-puzzle-toml");
        assert_eq!(slug("cube:3 --orbits corners"), "cube-3-orbits-corners");
        assert_eq!(slug("::"), "puzzle");
    }
}
