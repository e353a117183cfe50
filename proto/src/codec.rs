//! The one codec for everything stored and for the inner structures of messages.
//!
//! A record is: format version (u16, little endian), kind tag (u16, little endian), body. The body
//! is bincode 2 in its standard configuration (little endian, variable-length integers).
//!
//! Why bincode 2: compact, serde-driven, stable format. It is no longer maintained
//! (RUSTSEC-2025-0141; version 3 on crates.io is only a notice), which is why no other module may
//! name it: replacing it means a new [`FORMAT`] here and nothing elsewhere.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of the record format. Another one is refused, never guessed at.
pub const FORMAT: u16 = 4;

/// No record may be longer, in bytes; nor may decoding one claim more.
pub const MAX_RECORD_BYTES: usize = 1 << 32;

const HEADER_BYTES: usize = 4;

/// What a record holds: a tag that is written in front of it, and its name for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub tag: u16,
    pub name: &'static str,
}

/// All kinds of records there are. Tags are never reused.
pub mod kind {
    use super::Kind;

    pub const JOB_DEFINITION: Kind = Kind {
        tag: 1,
        name: "job definition",
    };
    pub const JOB_SPEC: Kind = Kind {
        tag: 2,
        name: "job specification",
    };
    pub const TASK: Kind = Kind {
        tag: 3,
        name: "task",
    };
    pub const TASK_OUTPUT: Kind = Kind {
        tag: 4,
        name: "task output",
    };
    pub const ANTIPODES: Kind = Kind {
        tag: 5,
        name: "list of antipodes",
    };
    pub const ENDED: Kind = Kind {
        tag: 6,
        name: "end of a worker's process",
    };
    pub const OUTLOOK: Kind = Kind {
        tag: 7,
        name: "outlook",
    };
    pub const SUBJECT: Kind = Kind {
        tag: 8,
        name: "subject of a question",
    };
    pub const EXPLANATION: Kind = Kind {
        tag: 9,
        name: "explanation",
    };
    /// The coordinator's store.
    pub const CLUSTER_META: Kind = Kind {
        tag: 16,
        name: "cluster description",
    };
    pub const JOB_RECORD: Kind = Kind {
        tag: 17,
        name: "job record",
    };
    pub const JOB_PROGRESS: Kind = Kind {
        tag: 18,
        name: "job progress",
    };
    pub const TASK_RESULT: Kind = Kind {
        tag: 19,
        name: "task result",
    };
    pub const SUBMISSION_KEY: Kind = Kind {
        tag: 21,
        name: "submission key",
    };
    pub const WORKER_RECORD: Kind = Kind {
        tag: 20,
        name: "worker record",
    };
    pub const JOB_NUMBER: Kind = Kind {
        tag: 22,
        name: "job number",
    };
    pub const ITEM: Kind = Kind {
        tag: 23,
        name: "record of an item",
    };
    /// The worker's store.
    pub const WORKER_META: Kind = Kind {
        tag: 32,
        name: "worker description",
    };
    pub const ARTIFACT_RECORD: Kind = Kind {
        tag: 33,
        name: "artifact record",
    };
    pub const WORKER_JOURNAL: Kind = Kind {
        tag: 34,
        name: "journal of a worker",
    };
    /// Hashed, never stored.
    pub const FINGERPRINT: Kind = Kind {
        tag: 48,
        name: "fingerprint",
    };
    /// For tests and tools.
    pub const SCRATCH: Kind = Kind {
        tag: 64,
        name: "scratch record",
    };
}

/// Why bytes are no record of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    #[error(
        "the {what} was written in format {found} by a newer antipode; this one reads up to format {FORMAT}, use the newer program"
    )]
    Newer { what: &'static str, found: u16 },
    #[error(
        "the {what} was written in format {found} by an older antipode; this one reads format {FORMAT} only: finish what is stored with the older program, or start anew with another --data DIR"
    )]
    Older { what: &'static str, found: u16 },
    #[error("expected a {expected}, found a record with tag {found}")]
    Kind { expected: &'static str, found: u16 },
    #[error("the {what} is damaged: {problem}")]
    Damaged { what: &'static str, problem: String },
}

fn configuration() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<MAX_RECORD_BYTES>()
}

/// The value as a record. Values that cannot be serialised (none of ours) give a record of the
/// header alone, which [`decode`] refuses.
pub fn encode<T: Serialize>(kind: Kind, value: &T) -> Vec<u8> {
    let mut record = Vec::with_capacity(64);
    record.extend_from_slice(&FORMAT.to_le_bytes());
    record.extend_from_slice(&kind.tag.to_le_bytes());
    let body = bincode::serde::encode_to_vec(value, configuration());
    debug_assert!(body.is_ok(), "{}: {body:?}", kind.name);
    record.extend(body.unwrap_or_default());
    record
}

/// The value of a record of this kind. Every byte must belong to it.
pub fn decode<T: DeserializeOwned>(kind: Kind, record: &[u8]) -> Result<T, CodecError> {
    let what = kind.name;
    let damaged = |problem: String| CodecError::Damaged { what, problem };
    let Some((header, body)) = record.split_first_chunk::<HEADER_BYTES>() else {
        return Err(damaged(format!("{} bytes are too few", record.len())));
    };
    let [f0, f1, t0, t1] = *header;
    let format = u16::from_le_bytes([f0, f1]);
    if format > FORMAT {
        return Err(CodecError::Newer {
            what,
            found: format,
        });
    }
    if format == 0 {
        return Err(damaged("format 0 does not exist".into()));
    }
    if format < FORMAT {
        return Err(CodecError::Older {
            what,
            found: format,
        });
    }
    let tag = u16::from_le_bytes([t0, t1]);
    if tag != kind.tag {
        return Err(CodecError::Kind {
            expected: what,
            found: tag,
        });
    }
    if body.len() > MAX_RECORD_BYTES {
        return Err(damaged(format!("{} bytes are too many", body.len())));
    }
    let (value, used) = bincode::serde::decode_from_slice(body, configuration())
        .map_err(|problem| damaged(problem.to_string()))?;
    if used != body.len() {
        return Err(damaged(format!(
            "{} bytes follow after its end",
            body.len() - used
        )));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use antipode_solver_core::engine::ShardId;
    use antipode_solver_core::job::Task;

    #[test]
    fn a_record_comes_back_and_only_as_its_kind() {
        let task = Task::Expand {
            level: 7,
            shard: ShardId(300),
        };
        let record = encode(kind::TASK, &task);
        assert_eq!(decode::<Task>(kind::TASK, &record), Ok(task));
        assert!(matches!(
            decode::<Task>(kind::TASK_OUTPUT, &record),
            Err(CodecError::Kind { found: 3, .. })
        ));
    }

    #[test]
    fn a_newer_format_is_refused_by_a_sentence() {
        let mut record = encode(
            kind::TASK,
            &Task::Expand {
                level: 1,
                shard: ShardId(0),
            },
        );
        record[0] = 9;
        let refusal = decode::<Task>(kind::TASK, &record).unwrap_err();
        assert_eq!(
            refusal,
            CodecError::Newer {
                what: "task",
                found: 9
            }
        );
        assert!(refusal.to_string().contains("format 9"), "{refusal}");
    }

    #[test]
    fn cut_and_lengthened_records_are_refused() {
        let record = encode(kind::SCRATCH, &vec![1u64, 2, 3]);
        for cut in 0..record.len() {
            assert!(
                decode::<Vec<u64>>(kind::SCRATCH, &record[..cut]).is_err(),
                "cut at {cut}"
            );
        }
        let longer = [&record[..], &[0]].concat();
        assert!(decode::<Vec<u64>>(kind::SCRATCH, &longer).is_err());
    }

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let mut record = encode(kind::SCRATCH, &0u8);
        record.truncate(4);
        record.extend([253, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]);
        assert!(decode::<Vec<u64>>(kind::SCRATCH, &record).is_err());
    }
}
