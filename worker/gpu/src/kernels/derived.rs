//! What follows from the states of scrambles: children, which of them are roots, encodings and keys (`derived.wgsl`).

use super::Kernels;
use super::room::Room;
use crate::error::GpuError;
use crate::pace::Pace;
use crate::vulkan::{Buffer, Device, Step};
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::scramble::encode::Wants;
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Drawn, Wanted};

/// Labels of states as the shaders read them: 4 of one byte or 2 of two to a word, the first in the lowest bits, every state
/// from a whole word on.
#[derive(Debug, Clone, Copy)]
pub struct Cells {
    pub degree: usize,
    /// Bytes of a label.
    pub bytes: usize,
}

impl Cells {
    /// Words of a state.
    pub fn words(self) -> usize {
        (self.degree * self.bytes).div_ceil(4)
    }

    /// Labels of a word, as a power of two.
    pub fn shift(self) -> u32 {
        if self.bytes == 1 { 2 } else { 1 }
    }

    /// A state in its words.
    fn pack<'a>(self, labels: &'a [u16]) -> impl Iterator<Item = u32> + 'a {
        let bits = 32 >> self.shift();
        labels.chunks(1 << self.shift()).map(move |labels| {
            let places = labels.iter().enumerate();
            places.fold(0, |word, (k, &label)| word | u32::from(label) << (k * bits))
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Children,
    Solved,
    Encoded,
    Keys,
}

/// One result of every row.
pub struct Derived {
    what: What,
    table: Buffer,
    cells: Cells,
    /// Values and bytes of a row.
    values: usize,
    row_bytes: usize,
    /// As in the shader.
    count: usize,
    pace: Pace,
    room: Room,
}

impl Kernels {
    /// Brings the tables of what is wanted to the device.
    pub(super) fn derived(
        &self,
        puzzle: &Puzzle,
        loaded: &Loaded,
        wanted: Wanted,
        cells: Cells,
    ) -> Result<Vec<Derived>, GpuError> {
        let moves: Vec<_> = puzzle.generators().iter().map(|g| &g.perm).collect();
        let mut out = Vec::new();
        let mut add = |what, table: Vec<u32>, [values, row_bytes]: [usize; 2], count| {
            self.rows_that_fit(
                "a table of what follows from states",
                4 * table.len() as u64,
            )?;
            out.push(Derived {
                what,
                table: self.upload(&table)?,
                cells,
                values,
                row_bytes,
                count,
                pace: Pace::new(8 * values as u64),
                room: Room::new(),
            });
            Ok::<_, GpuError>(())
        };
        if wanted.children {
            let from = moves.iter().flat_map(|perm| perm.images());
            let labels = moves.len() * cells.degree;
            let from = from.map(|&position| u32::from(position)).collect();
            add(What::Children, from, [labels, labels * cells.bytes], 0)?;
            let before = moves.iter().flat_map(|perm| {
                let back = perm.inverse();
                let roots = puzzle.roots().iter();
                roots.flat_map(move |root| cells.pack(&back.apply(root)).collect::<Vec<_>>())
            });
            let roots = puzzle.roots().len();
            add(What::Solved, before.collect(), [moves.len(); 2], roots)?;
        }
        if let Some(encoder) = loaded.encoder.as_ref().filter(|_| wanted.encoded) {
            let (table, labels) = match encoder.wants() {
                Wants::EveryLabel { labels } => (Vec::new(), labels),
                Wants::Table(wants) => {
                    let nothing = (0, no_label(puzzle));
                    let wants = wants.into_iter().map(|want| want.unwrap_or(nothing));
                    let packed = |(at, label)| u32::from(at) | u32::from(label) << 16;
                    (wants.map(packed).collect(), 0)
                }
            };
            add(What::Encoded, table, [encoder.columns(); 2], labels)?;
        }
        if wanted.keys {
            add(What::Keys, Vec::new(), [cells.degree, 8], 0)?;
        }
        Ok(out)
    }
}

/// A number that no state has as a label. Such a one is there: no puzzle has as many positions as there are numbers.
fn no_label(puzzle: &Puzzle) -> u16 {
    let mut used = vec![false; 1 << 16];
    for root in puzzle.roots() {
        for &label in root.iter() {
            used[usize::from(label)] = true;
        }
    }
    let free = used.iter().rposition(|used| !used);
    free.unwrap_or(0) as u16
}

impl Derived {
    /// Words of a row on the device.
    pub fn row_words(&self) -> usize {
        self.row_bytes.div_ceil(4)
    }

    /// Computes it for the first `rows` of `states`.
    pub fn compute(
        &mut self,
        kernels: &Kernels,
        states: &Buffer,
        rows: usize,
    ) -> Result<(), GpuError> {
        let row_words = self.row_words();
        let to = self.room.made.make(&kernels.device, rows * row_words)?;
        let pipeline = match self.what {
            What::Children => &kernels.children,
            What::Solved => &kernels.solved,
            What::Encoded => &kernels.encoded,
            What::Keys => &kernels.keys,
        };
        let threads = if self.what == What::Keys {
            1
        } else {
            row_words
        };
        let shape = [
            self.cells.words() as u32,
            self.cells.shift(),
            self.cells.degree as u32,
            row_words as u32,
            self.values as u32,
            self.count as u32,
        ];
        kernels.dispatch(
            pipeline,
            &[states, &self.table, to],
            rows as u64,
            threads as u64,
            &mut self.pace,
            |first, rows| [&shape[..], &[first, rows]].concat(),
        )
    }

    /// What brings it back for `rows` rows.
    pub fn copy(&mut self, device: &Device, rows: usize) -> Result<Option<Step<'_>>, GpuError> {
        let words = rows * self.row_words();
        self.room.copy(device, words)
    }

    /// Puts it behind the rows that are there.
    pub fn read(&self, rows: usize, out: &mut Drawn) -> Result<(), GpuError> {
        let Some(back) = self.room.back.get() else {
            return Ok(());
        };
        let (row_words, row_bytes) = (self.row_words(), self.row_bytes);
        let bytes = match self.what {
            What::Children => &mut out.children,
            What::Solved => &mut out.solved,
            What::Encoded => &mut out.encoded,
            What::Keys => {
                let mut words = vec![0; 2 * rows];
                back.read(&mut words)?;
                let keys = words
                    .chunks_exact(2)
                    .map(|key| u64::from(key[0]) | u64::from(key[1]) << 32);
                out.keys.get_or_insert_default().extend(keys);
                return Ok(());
            }
        };
        back.read_rows(rows, row_words, row_bytes, bytes.get_or_insert_default())
    }

    /// Nothing of it yet, but wanted.
    pub fn begin(&self, out: &mut Drawn) {
        match self.what {
            What::Children => out.children = Some(Vec::new()),
            What::Solved => out.solved = Some(Vec::new()),
            What::Encoded => out.encoded = Some(Vec::new()),
            What::Keys => out.keys = Some(Vec::new()),
        }
    }
}
