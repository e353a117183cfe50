//! Placement: which worker owns which shard, in shares by threads, moving as few as possible.

use antipode_ids::WorkerId;

/// Gives every shard an owner among `workers` (id and threads, ascending ids). Shards stay where
/// they are unless their owner is not listed or has more than its share. Without workers nothing
/// changes: an absent owner may come back.
pub(crate) fn place(owners: &mut [Option<WorkerId>], workers: &[(WorkerId, u32)]) {
    if workers.is_empty() {
        return;
    }
    let mut room = shares(owners.len(), workers);
    for owner in owners.iter_mut() {
        let at = owner.and_then(|w| workers.binary_search_by_key(&w, |&(id, _)| id).ok());
        match at {
            Some(at) if room[at] > 0 => room[at] -= 1,
            _ => *owner = None,
        }
    }
    let mut free = (0..workers.len()).flat_map(|at| std::iter::repeat_n(workers[at].0, room[at]));
    for owner in owners.iter_mut().filter(|o| o.is_none()) {
        *owner = free.next();
    }
}

/// How many of `total` shards each worker gets: proportional to threads, largest remainder first.
fn shares(total: usize, workers: &[(WorkerId, u32)]) -> Vec<usize> {
    let weight = |at: usize| u64::from(workers[at].1.max(1));
    let all: u64 = (0..workers.len()).map(weight).sum();
    let exact = |at: usize| total as u64 * weight(at);
    let mut shares: Vec<usize> = (0..workers.len())
        .map(|at| (exact(at) / all) as usize)
        .collect();
    let mut by_remainder: Vec<usize> = (0..workers.len()).collect();
    by_remainder.sort_by_key(|&at| (std::cmp::Reverse(exact(at) % all), at));
    let left = total - shares.iter().sum::<usize>();
    by_remainder
        .into_iter()
        .take(left)
        .for_each(|at| shares[at] += 1);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(owners: &[Option<WorkerId>], workers: &[(WorkerId, u32)]) -> Vec<usize> {
        workers
            .iter()
            .map(|&(w, _)| owners.iter().filter(|&&o| o == Some(w)).count())
            .collect()
    }

    #[test]
    fn shares_follow_threads_and_few_shards_move() {
        let (a, b, c) = (WorkerId(1), WorkerId(2), WorkerId(3));
        let mut owners = vec![None; 13];
        place(&mut owners, &[(a, 2)]);
        assert_eq!(owners, vec![Some(a); 13]);
        place(&mut owners, &[(a, 2), (b, 4)]);
        assert_eq!(counts(&owners, &[(a, 2), (b, 4)]), [4, 9]);
        let before = owners.clone();
        place(&mut owners, &[(a, 2), (b, 4), (c, 1)]);
        assert_eq!(counts(&owners, &[(a, 2), (b, 4), (c, 1)]), [4, 7, 2]);
        assert_eq!(
            before.iter().zip(&owners).filter(|(x, y)| x != y).count(),
            2
        );
        place(&mut owners, &[(b, 4)]);
        assert_eq!(owners, vec![Some(b); 13]);
        place(&mut owners, &[]);
        assert_eq!(owners, vec![Some(b); 13]);
    }

    #[test]
    fn fewer_shards_than_workers_leave_some_without() {
        let workers: Vec<_> = (1..=4).map(|w| (WorkerId(w), 8)).collect();
        let mut owners = vec![None; 2];
        place(&mut owners, &workers);
        assert_eq!(counts(&owners, &workers), [1, 1, 0, 0]);
    }
}
