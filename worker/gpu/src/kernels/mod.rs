//! The kernels, one Rust file and one shader each: the Rust file cuts batches to what the device takes, the shader
//! computes one element a thread, and every word of a result has one writer.

mod cycles;
mod derived;
mod distances;
mod room;
mod rows;
mod walks;
mod words;

pub use walks::DeviceRows;

use crate::error::GpuError;
use crate::pace::Pace;
use crate::vulkan::{Buffer, Device, Pipeline, Place, Shader, Step};
use std::sync::Arc;
use std::time::Instant;

/// Threads of a workgroup, in all shaders.
const GROUP_THREADS: u32 = 64;

/// All kernels, compiled for one device.
pub struct Kernels {
    device: Device,
    compose: Pipeline,
    gather: Pipeline,
    cycles: Pipeline,
    manhattan: Pipeline,
    breakpoint: Pipeline,
    draw: Pipeline,
    walk: Pipeline,
    children: Pipeline,
    solved: Pipeline,
    encoded: Pipeline,
    keys: Pipeline,
    pub(crate) expand: ExpandKernels,
}

/// Those that compute levels; [`crate::DeviceSpace`] calls them.
pub(crate) struct ExpandKernels {
    pub origins: Pipeline,
    pub leaf: Pipeline,
    pub row: Pipeline,
    pub lookup: Pipeline,
    pub merge: Pipeline,
    pub count: Pipeline,
    pub scatter: Pipeline,
}

/// A shader that the build has compiled.
macro_rules! shader {
    ($name:literal, $entry:literal, $buffers:literal, $immediates:literal) => {
        Shader {
            spirv: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".spv")),
            entry: $entry,
            buffers: $buffers,
            immediates: $immediates,
            group_threads: GROUP_THREADS,
        }
    };
}

impl Kernels {
    /// Compiles them.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(device: Device) -> Result<Arc<Kernels>, GpuError> {
        Ok(Arc::new(Kernels {
            compose: device.pipeline(shader!("compose", c"main", 4, 5))?,
            gather: device.pipeline(shader!("gather", c"main", 3, 5))?,
            cycles: device.pipeline(shader!("cycles", c"main", 2, 4))?,
            manhattan: device.pipeline(shader!("distances", c"manhattan", 3, 6))?,
            breakpoint: device.pipeline(shader!("distances", c"breakpoint", 3, 6))?,
            draw: device.pipeline(shader!("draw", c"main", 3, 15))?,
            walk: device.pipeline(shader!("walk", c"main", 5, 8))?,
            children: device.pipeline(shader!("derived", c"children", 3, 8))?,
            solved: device.pipeline(shader!("derived", c"solved", 3, 8))?,
            encoded: device.pipeline(shader!("derived", c"encoded", 3, 8))?,
            keys: device.pipeline(shader!("derived", c"keys", 3, 8))?,
            expand: ExpandKernels {
                origins: device.pipeline(shader!("origins", c"main", 5, 5))?,
                leaf: device.pipeline(shader!("leaf", c"main", 5, 7))?,
                row: device.pipeline(shader!("row", c"main", 4, 7))?,
                lookup: device.pipeline(shader!("lookup", c"main", 5, 10))?,
                merge: device.pipeline(shader!("merge", c"main", 4, 6))?,
                count: device.pipeline(shader!("count", c"main", 2, 3))?,
                scatter: device.pipeline(shader!("scatter", c"main", 2, 1))?,
            },
            device,
        }))
    }

    /// The device they run on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many rows of `row_bytes` fit one buffer.
    ///
    /// # Errors
    /// Not even one.
    pub(crate) fn rows_that_fit(
        &self,
        what: &'static str,
        row_bytes: u64,
    ) -> Result<usize, GpuError> {
        let limit = self.device.max_buffer_bytes();
        match limit / row_bytes.max(1) {
            0 => Err(GpuError::TooLarge {
                device: self.device.info().name.clone(),
                what,
                bytes: row_bytes,
                limit,
            }),
            fits => Ok(usize::try_from(fits).unwrap_or(usize::MAX)),
        }
    }

    /// A buffer of the device with these words.
    pub(crate) fn upload(&self, words: &[u32]) -> Result<Buffer, GpuError> {
        let to = self.device.buffer(words.len(), Place::Device)?;
        self.fill(&to, words)?;
        Ok(to)
    }

    /// Sends words to the beginning of a buffer of the device.
    fn fill(&self, to: &Buffer, words: &[u32]) -> Result<(), GpuError> {
        if words.is_empty() {
            return Ok(());
        }
        let mut from = self.device.buffer(words.len(), Place::Upload)?;
        from.write(words)?;
        self.device.run(&[Step::Copy {
            from: &from,
            to,
            words: words.len(),
        }])
    }

    /// Brings the first words of a buffer of the device back.
    fn download(&self, from: &Buffer, words: usize) -> Result<Vec<u32>, GpuError> {
        let to = self.device.buffer(words, Place::Download)?;
        self.device.run(&[Step::Copy {
            from,
            to: &to,
            words,
        }])?;
        let mut out = vec![0; words];
        to.read(&mut out)?;
        Ok(out)
    }

    /// Runs a kernel over `items` items of `threads_per_item` threads, as many at once as the pace allows. The
    /// immediate data of a dispatch are made from its first item and their number.
    fn dispatch(
        &self,
        pipeline: &Pipeline,
        buffers: &[&Buffer],
        items: u64,
        threads_per_item: u64,
        pace: &mut Pace,
        immediates: impl Fn(u32, u32) -> Vec<u32>,
    ) -> Result<(), GpuError> {
        let most = pipeline.max_threads() / threads_per_item.max(1);
        let mut first = 0;
        while first < items {
            let count = pace.next(items - first).min(most.max(1));
            let begun = Instant::now();
            self.device.run(&[Step::Dispatch {
                pipeline,
                buffers,
                immediates: &immediates(first as u32, count as u32),
                threads: count * threads_per_item,
            }])?;
            pace.took(count, begun.elapsed());
            first += count;
        }
        Ok(())
    }
}

/// Cuts `0..len` into ranges of at most `most`.
fn blocks(len: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let most = most.max(1);
    (0..len.div_ceil(most)).map(move |k| k * most..len.min((k + 1) * most))
}
