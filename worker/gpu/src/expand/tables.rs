//! The tables of a space on a device: sent once, when a job is opened.

use super::benes;
use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::vulkan::Buffer;
use antipode_solver_core::bfs::device::{
    BlockTablesView, DeviceTables, DigitView, InnerView, StateTablesView,
};

/// What the kernels of a space read.
pub(super) enum Tables {
    Blocks(BlockTables),
    States(StateTables),
}

/// Chain and product spaces.
pub(super) struct BlockTables {
    pub moves: usize,
    pub shards: u32,
    /// Digits that number a shard's superblocks.
    pub digit_count: u32,
    pub digits: Buffer,
    pub steps: Buffer,
    pub entries: Buffer,
    pub inner: Inner,
}

/// What elements do inside a superblock.
pub(super) enum Inner {
    Leaf {
        rows: Buffer,
        masks: Buffer,
        kappas: u32,
    },
    Row {
        images: Buffer,
        states: u32,
    },
}

/// Table spaces.
pub(super) struct StateTables {
    pub states: u64,
    pub shard_states: u64,
    /// States of a piece of a table.
    pub piece_states: u64,
    /// The pieces of every different table.
    pub tables: Vec<Vec<Buffer>>,
}

/// The tables, and the bits of a superblock's words that are states.
///
/// # Errors
/// A table that does not fit one buffer and cannot be cut, and those of the device.
pub(super) fn send(
    kernels: &Kernels,
    tables: &DeviceTables<'_>,
) -> Result<(Tables, Buffer), GpuError> {
    match tables {
        DeviceTables::Blocks(view) => {
            let masks = kernels.upload(&pairs(view.masks))?;
            Ok((Tables::Blocks(blocks(kernels, view)?), masks))
        }
        DeviceTables::States(view) => {
            let masks = kernels.upload(&vec![u32::MAX; 2 * view.words])?;
            Ok((Tables::States(states(kernels, view)?), masks))
        }
    }
}

/// About how many bytes the tables of a space take on a device.
pub(super) fn bytes(tables: &DeviceTables<'_>) -> u64 {
    match tables {
        DeviceTables::Blocks(view) => {
            let steps: usize = view.digits.iter().map(|digit| digit.steps.len()).sum();
            let inner = match &view.inner {
                InnerView::Leaf { rows, controls, .. } => {
                    4 * (rows.len() + controls.len() * benes::MASK_WORDS)
                }
                InnerView::Row { images, .. } => 2 * images.len(),
            };
            (8 * steps + 4 * view.entries.len() + inner) as u64
        }
        DeviceTables::States(view) => 4 * view.states * distinct(view).len() as u64,
    }
}

fn blocks(kernels: &Kernels, view: &BlockTablesView<'_>) -> Result<BlockTables, GpuError> {
    let mut digits = Vec::new();
    let mut steps = Vec::new();
    let mut after = view.blocks;
    for DigitView { len, steps: table } in &view.digits {
        after /= len;
        digits.extend([*len, after, steps.len() as u32 / 2, 0]);
        steps.extend(table.iter().flat_map(|step| [step.to, step.element]));
    }
    let inner = match &view.inner {
        InnerView::Leaf {
            rows,
            controls,
            used,
        } => {
            let networks: Vec<_> = controls
                .iter()
                .map(|control| {
                    // Beyond the bits that are used each stays where it is.
                    let from = |k: usize| match k < *used as usize {
                        true => control[k],
                        false => k as u8,
                    };
                    benes::masks(&std::array::from_fn(from))
                })
                .collect();
            let masks: Vec<u32> = (0..benes::MASK_WORDS)
                .flat_map(|k| networks.iter().map(move |network| network[k]))
                .collect();
            Inner::Leaf {
                rows: sent(kernels, "the table of words", rows)?,
                masks: sent(kernels, "the permutations of bits", &masks)?,
                kappas: controls.len() as u32,
            }
        }
        InnerView::Row { states, images } => {
            let images: Vec<u32> = images
                .chunks(2)
                .map(|pair| {
                    let second = pair.get(1).copied().unwrap_or(0);
                    u32::from(pair[0]) | u32::from(second) << 16
                })
                .collect();
            Inner::Row {
                images: sent(kernels, "the table of rows", &images)?,
                states: *states as u32,
            }
        }
    };
    Ok(BlockTables {
        moves: view.moves,
        shards: view.shards,
        digit_count: view.digits.len() as u32,
        digits: sent(kernels, "the digits", &digits)?,
        steps: sent(kernels, "the tables of the digits", &steps)?,
        entries: sent(kernels, "the moves of the shards", &view.entries)?,
        inner,
    })
}

fn states(kernels: &Kernels, view: &StateTablesView<'_>) -> Result<StateTables, GpuError> {
    let block = view.words as u64 * 64;
    let fits = kernels.rows_that_fit("a table of states", 4 * block)? as u64;
    // The kernel numbers states with 32 bits, also those that the last superblock does not have.
    if view.states.next_multiple_of(block) > u64::from(u32::MAX) {
        return Err(GpuError::TooLarge {
            device: kernels.device().info().name.clone(),
            what: "a table of states",
            bytes: 4 * view.states,
            limit: 4 * u64::from(u32::MAX),
        });
    }
    let piece_states = fits * block;
    let tables = distinct(view).into_iter().map(|table| {
        let pieces = table.chunks(piece_states as usize);
        pieces.map(|piece| kernels.upload(piece)).collect()
    });
    Ok(StateTables {
        states: view.states,
        shard_states: view.shard_states,
        piece_states,
        tables: tables.collect::<Result<_, _>>()?,
    })
}

/// The tables, each once: a move that is its own inverse's inverse shares memory with it.
fn distinct<'a>(view: &StateTablesView<'a>) -> Vec<&'a [u32]> {
    let mut tables: Vec<&[u32]> = Vec::new();
    for &table in &view.tables {
        if !tables.iter().any(|known| std::ptr::eq(*known, table)) {
            tables.push(table);
        }
    }
    tables
}

fn sent(kernels: &Kernels, what: &'static str, words: &[u32]) -> Result<Buffer, GpuError> {
    kernels.rows_that_fit(what, 4 * words.len().max(1) as u64)?;
    kernels.upload(words)
}

fn pairs(words: &[u64]) -> Vec<u32> {
    words
        .iter()
        .flat_map(|&word| [word as u32, (word >> 32) as u32])
        .collect()
}
