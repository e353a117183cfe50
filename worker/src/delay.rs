//! A brake for tests: `ANTIPODE_TEST_DELAY="shard=3,ms=200"` lets every task of shard 3 (of a batch job: item 3) wait
//! 200 ms before it may start, while the worker goes on with other tasks. It is read once, at the
//! start of a worker, and is how an end-to-end test shows that no shard waits for a whole level. (Crashes,
//! errors and wrong results on order are in `sabotage.rs`.)

use antipode_solver_core::engine::ShardId;
use antipode_solver_core::job::Task;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    shard: ShardId,
    wait: Duration,
}

impl Delay {
    /// The delay that the environment asks for. What cannot be read is said and ignored.
    pub fn from_environment() -> Option<Delay> {
        let text = std::env::var("ANTIPODE_TEST_DELAY").ok()?;
        let delay = Delay::parse(&text);
        match delay {
            Some(delay) => tracing::warn!(
                ?delay,
                "ANTIPODE_TEST_DELAY is set: tasks of one shard are slowed down"
            ),
            None => {
                tracing::warn!(%text, "ANTIPODE_TEST_DELAY is not of the form shard=3,ms=200; ignored")
            }
        }
        delay
    }

    fn parse(text: &str) -> Option<Delay> {
        let (shard, wait) = text.split_once(',')?;
        let shard = shard.trim().strip_prefix("shard=")?.parse().ok()?;
        let wait = wait.trim().strip_prefix("ms=")?.parse().ok()?;
        Some(Delay {
            shard: ShardId(shard),
            wait: Duration::from_millis(wait),
        })
    }

    /// How long this task has to wait.
    pub fn of(delay: Option<Delay>, task: &Task) -> Option<Duration> {
        match (delay, task) {
            (Some(delay), Task::Expand { shard, .. } | Task::Item { item: shard })
                if *shard == delay.shard =>
            {
                Some(delay.wait)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_read_and_nothing_else() {
        let delay = Delay::parse("shard=3,ms=200");
        assert_eq!(
            delay,
            Some(Delay {
                shard: ShardId(3),
                wait: Duration::from_millis(200)
            })
        );
        assert_eq!(Delay::parse("3,200"), None);
        assert_eq!(Delay::parse("shard=x,ms=1"), None);
        let task = |shard| Task::Expand {
            level: 1,
            shard: ShardId(shard),
        };
        assert_eq!(Delay::of(delay, &task(3)), Some(Duration::from_millis(200)));
        assert_eq!(Delay::of(delay, &task(2)), None);
    }
}
