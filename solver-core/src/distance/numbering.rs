//! Consecutive numbers of the states of a shard: positions without the unused bits between them.

use crate::bfs::frontier::ShardGeometry;

/// How states lie among the positions of a shard: of every `group` positions the first `used` are
/// states, up to the shard's number of states. In a chain space a group is a word, in a product space a
/// superblock; a table has no gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    geometry: ShardGeometry,
    group: u32,
    used: u32,
}

impl Numbering {
    /// `None` where groups of this kind do not make up the shard. `group` is a multiple of 64.
    pub fn new(geometry: ShardGeometry, group: u32, used: u32) -> Option<Numbering> {
        let positions = u64::from(geometry.blocks) * u64::from(geometry.words) * 64;
        let fits = group > 0
            && group.is_multiple_of(64)
            && (1..=group).contains(&used)
            && positions > 0
            && positions <= 1 << 32
            && positions.is_multiple_of(u64::from(group));
        if !fits {
            return None;
        }
        let room = positions / u64::from(group) * u64::from(used);
        // A table's last superblock may be filled in part.
        let slack = u64::from(geometry.words) * 64;
        let full = geometry.states == room;
        let last_in_part =
            used == group && geometry.states < room && geometry.states + slack > room;
        (full || last_in_part).then_some(Numbering {
            geometry,
            group,
            used,
        })
    }

    /// The shard's shape.
    pub fn geometry(&self) -> ShardGeometry {
        self.geometry
    }

    /// Positions of a group, and how many of them are states.
    pub fn group(&self) -> (u32, u32) {
        (self.group, self.used)
    }

    /// Number of states.
    pub fn states(&self) -> u64 {
        self.geometry.states
    }

    /// The number of the state at a position; `None` where there is none.
    #[inline]
    pub fn number(&self, position: u32) -> Option<u64> {
        let (group, inside) = (position / self.group, position % self.group);
        let number = u64::from(group) * u64::from(self.used) + u64::from(inside);
        (inside < self.used && number < self.geometry.states).then_some(number)
    }

    /// The position of a state by its number, which must be below [`Numbering::states`].
    pub fn position(&self, number: u64) -> u32 {
        let used = u64::from(self.used);
        (number / used * u64::from(self.group) + number % used) as u32
    }

    /// How many of the lowest bits of a bitmap's word are states, for every word in order.
    pub(crate) fn used_bits(&self) -> impl Iterator<Item = u32> + use<> {
        let (used, mut left) = (self.used, self.geometry.states);
        let per_group = self.group / 64;
        let words = self.geometry.blocks as usize * self.geometry.words as usize;
        let mut word = 0;
        (0..words).map(move |_| {
            let of_group = used.saturating_sub(word * 64).min(64);
            word = if word + 1 == per_group { 0 } else { word + 1 };
            let bits = u64::from(of_group).min(left);
            left -= bits;
            bits as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(blocks: u32, words: u32, states: u64) -> ShardGeometry {
        ShardGeometry {
            blocks,
            words,
            states,
        }
    }

    #[test]
    fn numbers_and_positions_are_inverse() {
        let cases = [
            (shape(3, 2, 3 * 2 * 54), 64, 54),
            (shape(3, 2, 3 * 100), 128, 100),
            (shape(3, 64, 3 * 4096 - 4000), 64, 64),
            (shape(1, 64, 7), 64, 64),
            (shape(5, 1, 5), 64, 1),
        ];
        for (geometry, group, used) in cases {
            let numbering = Numbering::new(geometry, group, used).unwrap();
            let bits: Vec<u32> = numbering.used_bits().collect();
            let mut next = 0;
            for position in 0..geometry.blocks * geometry.words * 64 {
                let number = numbering.number(position);
                assert_eq!(
                    number.is_some(),
                    position % 64 < bits[(position / 64) as usize]
                );
                if let Some(number) = number {
                    assert_eq!(number, next);
                    assert_eq!(numbering.position(number), position);
                    next += 1;
                }
            }
            assert_eq!(next, geometry.states);
        }
    }

    #[test]
    fn groups_that_do_not_make_up_the_shard_are_refused() {
        let geometry = shape(3, 2, 3 * 2 * 54);
        for (group, used) in [
            (0, 0),
            (64, 0),
            (64, 53),
            (64, 65),
            (63, 54),
            (128, 54),
            (256, 108),
            (u32::MAX - 63, 1),
        ] {
            assert_eq!(Numbering::new(geometry, group, used), None);
        }
        assert_eq!(Numbering::new(shape(0, 2, 0), 64, 64), None);
        assert_eq!(Numbering::new(shape(u32::MAX, 1023, 5), 64, 64), None);
    }
}
