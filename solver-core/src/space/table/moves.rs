//! The tables themselves: the number of every state after every move, and before it.

use super::numbering::Ranker;
use super::two_labels::TwoLabels;
use crate::perm::Perm;
use crate::terms::SpaceError;
use rayon::prelude::*;
use std::sync::Arc;

/// `table[i]`: the number of state `i` after a move.
pub(super) type MoveTable = Arc<Vec<u32>>;

/// The tables of the moves and of their inverses; where the inverse is a move too they share memory.
pub(super) fn tables(
    ranker: &Ranker,
    states: u64,
    moves: &[Perm],
) -> Result<(Vec<MoveTable>, Vec<MoveTable>), SpaceError> {
    let forward: Vec<MoveTable> = moves
        .iter()
        .map(|p| table_of(ranker, states, p).map(Arc::new))
        .collect::<Result<_, _>>()?;
    let backward = moves
        .iter()
        .zip(&forward)
        .map(|(p, table)| {
            let inverse = p.inverse();
            match moves.iter().position(|q| *q == inverse) {
                Some(k) => forward[k].clone(),
                None => {
                    let mut out = vec![0u32; states as usize];
                    for (i, &to) in table.iter().enumerate() {
                        out[to as usize] = i as u32;
                    }
                    Arc::new(out)
                }
            }
        })
        .collect();
    Ok((forward, backward))
}

/// Number of every state moved by `p`.
fn table_of(ranker: &Ranker, states: u64, p: &Perm) -> Result<Vec<u32>, SpaceError> {
    let mut out = vec![0u32; states as usize];
    if let Ranker::Multinomial(m) = ranker
        && m.labels.len() == 2
        && m.positions.len() <= 64
    {
        let two = TwoLabels::new(m.positions.len(), &m.binomials);
        let moved = two.mask_move(p, &m.positions);
        out.par_chunks_mut(1 << 14)
            .enumerate()
            .for_each(|(k, piece)| {
                let mut mask = two.mask(&m.unrank((k << 14) as u64), &m.positions, m.labels[1]);
                for entry in piece {
                    *entry = two.rank(moved.apply(mask)) as u32;
                    mask = TwoLabels::next(mask);
                }
            });
        return Ok(out);
    }
    let escaped = || SpaceError::Damaged("a move leads out of the stored states".into());
    out.par_chunks_mut(1 << 14)
        .enumerate()
        .try_for_each(|(k, piece)| {
            let first = (k << 14) as u32;
            let mut state = ranker.unrank(first);
            let mut moved = state.clone();
            for (i, entry) in piece.iter_mut().enumerate() {
                match ranker {
                    Ranker::Multinomial(m) if i > 0 => m.advance(&mut state),
                    Ranker::Sorted { list, .. } => state.copy_from_slice(&list[first as usize + i]),
                    Ranker::Multinomial(_) => {}
                }
                for (to, &from) in moved.iter_mut().zip(p.images()) {
                    *to = state[usize::from(from)];
                }
                *entry = ranker.rank(&moved).ok_or_else(escaped)?;
            }
            Ok(())
        })?;
    Ok(out)
}
