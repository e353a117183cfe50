//! Who this worker is, across starts: its number, its cluster, and how often it was started.
//!
//! A small text file `worker` in the data folder, so that a person can read it:
//!
//! ```text
//! antipode-worker 1
//! incarnation 12
//! worker 5
//! cluster 3f0c...
//! ```

use crate::disk_room::says_no_room;
use crate::error::StartError;
use crate::folder::replace_file;
use antipode_ids::{Incarnation, WorkerId};
use std::path::{Path, PathBuf};

/// Newest form of the file that is understood, and the one that is written.
const FORMAT: u32 = 1;
const LABEL: &str = "antipode-worker";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    path: PathBuf,
    pub incarnation: Incarnation,
    /// Number and cluster, known after the first registration.
    pub member: Option<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub worker: WorkerId,
    pub cluster: String,
}

impl Identity {
    /// Reads the identity in `data`, or makes a new one; counts this start, durably.
    pub fn start(data: &Path) -> Result<Identity, StartError> {
        let mut identity = Identity::read(data)?.unwrap_or_else(|| Identity {
            path: data.join("worker"),
            incarnation: Incarnation(0),
            member: None,
        });
        identity.incarnation.0 += 1;
        identity.write()?;
        Ok(identity)
    }

    /// The identity in `data`, where there is one.
    pub fn read(data: &Path) -> Result<Option<Identity>, StartError> {
        let path = data.join("worker");
        match std::fs::read_to_string(&path) {
            Ok(text) => parse(&path, &text).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StartError::DamagedIdentity {
                path,
                reason: error.to_string(),
            }),
        }
    }

    /// Takes on what the coordinator said. Refuses another cluster than before.
    pub fn join(&mut self, worker: WorkerId, cluster: &str) -> Result<(), StartError> {
        if let Some(member) = &self.member {
            if member.cluster != cluster {
                return Err(StartError::ForeignCluster {
                    path: self.path.parent().unwrap_or(&self.path).into(),
                    ours: member.cluster.clone(),
                    theirs: cluster.into(),
                });
            }
            if member.worker == worker {
                return Ok(());
            }
        }
        self.member = Some(Member {
            worker,
            cluster: cluster.into(),
        });
        self.write()
    }

    fn write(&self) -> Result<(), StartError> {
        let mut text = format!("{LABEL} {FORMAT}\nincarnation {}\n", self.incarnation.0);
        if let Some(member) = &self.member {
            text += &format!("worker {}\ncluster {}\n", member.worker.0, member.cluster);
        }
        let path = self.path.parent().unwrap_or(&self.path).into();
        replace_file(&self.path, text.as_bytes()).map_err(|error| {
            let reason = error.to_string();
            match says_no_room(&error) {
                true => StartError::DiskFull { path, reason },
                false => StartError::Unwritable { path, reason },
            }
        })
    }
}

fn parse(path: &Path, text: &str) -> Result<Identity, StartError> {
    let damaged = |reason: &str| StartError::DamagedIdentity {
        path: path.into(),
        reason: reason.into(),
    };
    let fields: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let number = |name: &str| {
        fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, value)| {
                value
                    .parse::<u64>()
                    .map_err(|_| damaged(&format!("'{name}' is not a number")))
            })
            .transpose()
    };
    let format = number(LABEL)?.ok_or_else(|| damaged("it is not a worker's identity"))?;
    if format > u64::from(FORMAT) {
        return Err(StartError::NewerFormat {
            path: path.into(),
            theirs: format.try_into().unwrap_or(u32::MAX),
            ours: FORMAT,
        });
    }
    let incarnation = number("incarnation")?.ok_or_else(|| damaged("'incarnation' is missing"))?;
    let cluster = fields
        .iter()
        .find(|(field, _)| *field == "cluster")
        .map(|(_, value)| value.to_string());
    let member = match (number("worker")?, cluster) {
        (Some(worker), Some(cluster)) => Some(Member {
            worker: WorkerId(worker),
            cluster,
        }),
        (None, None) => None,
        _ => return Err(damaged("'worker' and 'cluster' must come together")),
    };
    Ok(Identity {
        path: path.into(),
        incarnation: Incarnation(incarnation),
        member,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_counted_and_the_number_stays() {
        let data = tempfile::tempdir().unwrap();
        let mut first = Identity::start(data.path()).unwrap();
        assert_eq!((first.incarnation, &first.member), (Incarnation(1), &None));
        first.join(WorkerId(7), "c1").unwrap();
        let second = Identity::start(data.path()).unwrap();
        assert_eq!(second.incarnation, Incarnation(2));
        assert_eq!(
            second.member,
            Some(Member {
                worker: WorkerId(7),
                cluster: "c1".into()
            })
        );
    }

    #[test]
    fn another_cluster_is_refused_with_both_names() {
        let data = tempfile::tempdir().unwrap();
        let mut identity = Identity::start(data.path()).unwrap();
        identity.join(WorkerId(7), "first").unwrap();
        let text = identity
            .join(WorkerId(1), "second")
            .unwrap_err()
            .to_string();
        assert!(text.contains("first") && text.contains("second"), "{text}");
    }

    #[test]
    fn a_newer_form_and_damage_are_named() {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("worker");
        std::fs::write(&file, "antipode-worker 2\nincarnation 1\n").unwrap();
        assert!(matches!(
            Identity::start(data.path()),
            Err(StartError::NewerFormat {
                theirs: 2,
                ours: 1,
                ..
            })
        ));
        for text in [
            "",
            "hello",
            "antipode-worker 1\n",
            "antipode-worker 1\nincarnation x\n",
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(matches!(
                Identity::start(data.path()),
                Err(StartError::DamagedIdentity { .. })
            ));
        }
    }
}
