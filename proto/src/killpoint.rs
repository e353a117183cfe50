//! A trap for tests: `ANTIPODE_TEST_KILL="commit=3"` ends the process at once, without any tidying up,
//! when it passes its third `commit`. Points: `commit` (a store's transaction is filled and not committed
//! yet: what it writes is half written), `committed` (just after one), `items` (just after one that records of items are
//! in). Read once; off unless set.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

struct Trap {
    point: String,
    left: AtomicU64,
}

static TRAP: OnceLock<Option<Trap>> = OnceLock::new();

/// The process is at this point. It may be its end.
pub fn pass(point: &str) {
    let trap = TRAP.get_or_init(|| {
        let text = std::env::var("ANTIPODE_TEST_KILL").ok()?;
        let trap = parse(&text);
        match &trap {
            Some(_) => eprintln!("ANTIPODE_TEST_KILL is set: this process will end at {text}"),
            None => eprintln!("ANTIPODE_TEST_KILL is not of the form commit=3; ignored"),
        }
        trap
    });
    if let Some(trap) = trap
        && trap.point == point
        && trap.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        eprintln!("ANTIPODE_TEST_KILL: the end");
        std::process::abort();
    }
}

fn parse(text: &str) -> Option<Trap> {
    let (point, times) = text.split_once('=')?;
    let times: u64 = times.parse().ok().filter(|&times| times > 0)?;
    Some(Trap {
        point: point.into(),
        left: AtomicU64::new(times),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_read_and_nothing_else() {
        let trap = parse("commit=3").map(|trap| (trap.point, trap.left.into_inner()));
        assert_eq!(trap, Some(("commit".into(), 3)));
        assert!(parse("commit").is_none() && parse("commit=0").is_none());
    }
}
