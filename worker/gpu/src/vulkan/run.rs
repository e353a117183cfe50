//! Submissions: a few steps in order, begun on a queue and waited for.

use super::buffer::Memory;
use super::commands::{Commands, Lane};
use super::device::{Shared, lock};
use super::pipeline::Compiled;
use super::{Buffer, Device, Fault, Pipeline, Place};
use crate::error::GpuError;
use ash::vk;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the device does next.
pub(crate) enum Step<'a> {
    /// Copies the first `words` words.
    Copy {
        from: &'a Buffer,
        to: &'a Buffer,
        words: usize,
    },
    /// Copies several runs of words.
    CopyRuns {
        from: &'a Buffer,
        to: &'a Buffer,
        runs: &'a [Run],
    },
    /// Makes all words zero.
    Clear { buffer: &'a Buffer },
    /// Runs a kernel with at least `threads` threads: those of the last workgroup are complete.
    Dispatch {
        pipeline: &'a Pipeline,
        buffers: &'a [&'a Buffer],
        immediates: &'a [u32],
        threads: u64,
    },
}

/// A run of words to be copied, not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub from: usize,
    pub to: usize,
    pub words: usize,
}

/// A submission that the device may still be at work on. It holds on to everything that it uses. Dropped, it is waited for.
#[must_use = "what is not waited for may not have happened"]
pub(crate) struct Pending {
    shared: Arc<Shared>,
    /// `None` once it is over.
    commands: Option<Commands>,
    sets: vk::DescriptorPool,
    used: Used,
    fault: Option<Fault>,
    uploaded: u64,
    begun: Instant,
}

/// What a submission uses.
#[derive(Default)]
struct Used {
    memory: Vec<Arc<Memory>>,
    compiled: Vec<Arc<Compiled>>,
    /// What the machine will read: a word in the midst of each copy.
    brought_back: Vec<(Arc<Memory>, usize)>,
}

impl Device {
    /// Does the steps one after the other, each seeing what those before it wrote, and waits for them.
    ///
    /// # Errors
    /// A step that breaks a rule, before anything is done; a device that is lost, hangs or has no memory.
    pub(crate) fn run(&self, steps: &[Step<'_>]) -> Result<(), GpuError> {
        self.begin(Lane::Compute, steps)?.wait().map(drop)
    }

    /// Begins the steps, as [`Device::run`]. What other submissions do that are not over is not waited for.
    ///
    /// # Errors
    /// As [`Device::run`].
    pub(crate) fn begin(&self, lane: Lane, steps: &[Step<'_>]) -> Result<Pending, GpuError> {
        let shared = &self.shared;
        shared.check()?;
        for step in steps {
            check(shared, step)?;
        }
        let failed = |code| shared.failed("recording commands", code);
        let commands = shared.commands().map_err(failed)?;
        // From here on dropping it gives back what there is.
        let mut pending = Pending {
            shared: Arc::clone(shared),
            commands: Some(commands),
            sets: vk::DescriptorPool::null(),
            used: Used::default(),
            fault: None,
            uploaded: 0,
            begun: Instant::now(),
        };
        match pending.submit(lane, steps) {
            Ok(()) => Ok(pending),
            Err(error) => {
                pending.end();
                Err(error)
            }
        }
    }
}

impl Pending {
    fn submit(&mut self, lane: Lane, steps: &[Step<'_>]) -> Result<(), GpuError> {
        let shared = Arc::clone(&self.shared);
        let Some(commands) = &self.commands else {
            return Ok(());
        };
        let buffer = commands.buffer;
        let sets = descriptor_sets(&shared, steps, &mut self.sets)?;
        let mut sets = sets.iter();
        // What was waited for may have been written on the other queue: its barriers make that visible there only.
        barrier(&shared, buffer);
        for step in steps {
            record(&shared, buffer, step, &mut sets);
            barrier(&shared, buffer);
            self.used.note(step);
            self.uploaded += uploaded_bytes(step);
        }
        let failed = |code| shared.failed("running commands", code);
        // SAFETY: the command buffer is being recorded.
        unsafe { shared.raw.end_command_buffer(buffer) }.map_err(failed)?;
        self.fault = shared.fault(!self.used.brought_back.is_empty());
        if self.fault == Some(Fault::OutOfMemory) {
            return Err(failed(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        }
        let buffers = [buffer];
        let info = [vk::SubmitInfo::default().command_buffers(&buffers)];
        self.begun = Instant::now();
        let _one_at_a_time = lock(&shared.submitting);
        // SAFETY: the commands are recorded, their fence is reset; what they use is held until they are over.
        unsafe {
            shared
                .raw
                .queue_submit(shared.queue(lane), &info, commands.fence)
        }
        .map_err(failed)
    }

    /// Waits as long as is set; says how long the submission took.
    ///
    /// # Errors
    /// A device that is lost or hangs.
    pub fn wait(mut self) -> Result<Duration, GpuError> {
        self.wait_in_place()
    }

    fn wait_in_place(&mut self) -> Result<Duration, GpuError> {
        let shared = Arc::clone(&self.shared);
        let Some(commands) = &self.commands else {
            return Ok(Duration::ZERO);
        };
        let failed = |code| shared.failed("running commands", code);
        let timeout = u64::try_from(shared.settings.timeout.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the fence belongs to a submission that was begun.
        let waited = unsafe { shared.raw.wait_for_fences(&[commands.fence], true, timeout) };
        let result = match (waited, self.fault) {
            (Ok(()), Some(Fault::Lost)) => Err(failed(vk::Result::ERROR_DEVICE_LOST)),
            (Ok(()), Some(Fault::Hang)) => Err(shared.hung(false)),
            (Ok(()), _) => Ok(()),
            (Err(vk::Result::TIMEOUT), _) => Err(shared.hung(true)),
            // A lost device does nothing more. After any other error nobody knows what it does.
            (Err(vk::Result::ERROR_DEVICE_LOST), _) => Err(failed(vk::Result::ERROR_DEVICE_LOST)),
            (Err(code), _) => {
                shared.hung(true);
                Err(failed(code))
            }
        };
        let took = self.begun.elapsed();
        if result.is_ok() {
            shared.note_submission(took);
            shared.count_upload(self.uploaded);
            if self.fault == Some(Fault::Wrong) {
                for (memory, word) in &self.used.brought_back {
                    memory.spoil(*word);
                }
            }
        }
        self.end();
        result.map(|()| took)
    }

    /// Lets go of everything; what a device may still be at work on is never freed.
    fn end(&mut self) {
        let Some(commands) = self.commands.take() else {
            return;
        };
        if self.shared.is_at_rest() {
            // SAFETY: the submission that used the sets is over, or was never made; null handles are ignored.
            unsafe { self.shared.raw.destroy_descriptor_pool(self.sets, None) };
            self.shared.give_back(commands);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Whoever needs to know has waited.
        let _ = self.wait_in_place();
    }
}

impl Used {
    fn note(&mut self, step: &Step<'_>) {
        let mut keep = |buffer: &Buffer| self.memory.push(Arc::clone(&buffer.memory));
        match step {
            Step::Copy { from, to, words } => {
                keep(from);
                keep(to);
                self.note_target(to, words / 2);
            }
            Step::CopyRuns { from, to, runs } => {
                keep(from);
                keep(to);
                if let Some(run) = runs.get(runs.len() / 2) {
                    self.note_target(to, run.to + run.words / 2);
                }
            }
            Step::Clear { buffer } => keep(buffer),
            Step::Dispatch {
                pipeline, buffers, ..
            } => {
                buffers.iter().for_each(|buffer| keep(buffer));
                self.compiled.push(Arc::clone(&pipeline.compiled));
            }
        }
    }

    fn note_target(&mut self, to: &Buffer, word: usize) {
        if to.memory.place == Place::Download {
            self.brought_back.push((Arc::clone(&to.memory), word));
        }
    }
}

fn uploaded_bytes(step: &Step<'_>) -> u64 {
    match step {
        Step::Copy { from, words, .. } if from.memory.place == Place::Upload => 4 * *words as u64,
        Step::CopyRuns { from, runs, .. } if from.memory.place == Place::Upload => {
            4 * runs.iter().map(|run| run.words as u64).sum::<u64>()
        }
        _ => 0,
    }
}

/// Checks what Vulkan leaves to its user.
fn check(shared: &Arc<Shared>, step: &Step<'_>) -> Result<(), GpuError> {
    let is_ours = |buffer: &Buffer| Arc::ptr_eq(shared, &buffer.memory.shared);
    let may_copy = |from: &Buffer, to: &Buffer| {
        is_ours(from)
            && is_ours(to)
            && !Arc::ptr_eq(&from.memory, &to.memory)
            && from.memory.place != Place::Download
            && to.memory.place != Place::Upload
    };
    let (is_right, rule) = match step {
        Step::Copy { from, to, words } => (
            may_copy(from, to) && *words > 0 && *words <= from.words().min(to.words()),
            "a copy that does not fit its buffers",
        ),
        Step::CopyRuns { from, to, runs } => {
            let fits = |run: &Run| {
                run.words > 0
                    && run
                        .from
                        .checked_add(run.words)
                        .is_some_and(|end| end <= from.words())
                    && run
                        .to
                        .checked_add(run.words)
                        .is_some_and(|end| end <= to.words())
            };
            // Two runs of one target may not overlap.
            let apart = runs.windows(2).all(|r| r[0].to + r[0].words <= r[1].to);
            (
                may_copy(from, to) && !runs.is_empty() && apart && runs.iter().all(fits),
                "a copy that does not fit its buffers",
            )
        }
        Step::Clear { buffer } => (
            is_ours(buffer) && buffer.memory.place == Place::Device,
            "a buffer that cannot be cleared",
        ),
        Step::Dispatch {
            pipeline,
            buffers,
            immediates,
            threads,
        } => (
            Arc::ptr_eq(shared, &pipeline.compiled.shared)
                && buffers.len() == pipeline.shader.buffers as usize
                && buffers
                    .iter()
                    .all(|buffer| is_ours(buffer) && buffer.memory.place == Place::Device)
                && immediates.len() == pipeline.shader.immediates as usize
                && (1..=pipeline.max_threads()).contains(threads),
            "a dispatch that does not fit its kernel",
        ),
    };
    match is_right {
        true => Ok(()),
        false => Err(shared.misuse(rule)),
    }
}

/// The descriptor sets of one submission, one a dispatch; they are freed with `pool`.
fn descriptor_sets(
    shared: &Shared,
    steps: &[Step<'_>],
    pool: &mut vk::DescriptorPool,
) -> Result<Vec<vk::DescriptorSet>, GpuError> {
    let failed = |code| shared.failed("binding buffers", code);
    let dispatches: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Dispatch {
                pipeline, buffers, ..
            } => Some((*pipeline, *buffers)),
            _ => None,
        })
        .collect();
    if dispatches.is_empty() {
        return Ok(Vec::new());
    }
    let buffers: usize = dispatches.iter().map(|(_, buffers)| buffers.len()).sum();
    let sizes = [vk::DescriptorPoolSize::default()
        .ty(vk::DescriptorType::STORAGE_BUFFER)
        .descriptor_count(buffers.max(1) as u32)];
    let info = vk::DescriptorPoolCreateInfo::default()
        .max_sets(dispatches.len() as u32)
        .pool_sizes(&sizes);
    // SAFETY: the device is alive.
    *pool = unsafe { shared.raw.create_descriptor_pool(&info, None) }.map_err(failed)?;
    let layouts: Vec<_> = dispatches
        .iter()
        .map(|(pipeline, _)| pipeline.compiled.set_layout)
        .collect();
    let info = vk::DescriptorSetAllocateInfo::default()
        .descriptor_pool(*pool)
        .set_layouts(&layouts);
    // SAFETY: pool and layouts are of this device; the pool has room for all of them.
    let sets = unsafe { shared.raw.allocate_descriptor_sets(&info) }.map_err(failed)?;
    for (&set, (_, buffers)) in sets.iter().zip(&dispatches) {
        let infos: Vec<_> = buffers
            .iter()
            .map(|buffer| {
                [vk::DescriptorBufferInfo::default()
                    .buffer(buffer.memory.raw)
                    .range(vk::WHOLE_SIZE)]
            })
            .collect();
        let writes: Vec<_> = infos
            .iter()
            .zip(0..)
            .map(|(info, binding)| {
                vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(info)
            })
            .collect();
        // SAFETY: set and buffers are of this device, as many as the layout has; nothing uses the set yet.
        unsafe { shared.raw.update_descriptor_sets(&writes, &[]) };
    }
    Ok(sets)
}

fn record(
    shared: &Shared,
    commands: vk::CommandBuffer,
    step: &Step<'_>,
    sets: &mut std::slice::Iter<'_, vk::DescriptorSet>,
) {
    let raw = &shared.raw;
    let copy = |from: &Buffer, to: &Buffer, regions: &[vk::BufferCopy]| {
        // SAFETY: recording; `check` has seen that both buffers are so long, differ, and are made for this.
        unsafe { raw.cmd_copy_buffer(commands, from.memory.raw, to.memory.raw, regions) };
    };
    match step {
        Step::Copy { from, to, words } => {
            copy(
                from,
                to,
                &[vk::BufferCopy::default().size(4 * *words as u64)],
            );
        }
        Step::CopyRuns { from, to, runs } => {
            let regions: Vec<_> = runs
                .iter()
                .map(|run| {
                    vk::BufferCopy::default()
                        .src_offset(4 * run.from as u64)
                        .dst_offset(4 * run.to as u64)
                        .size(4 * run.words as u64)
                })
                .collect();
            copy(from, to, &regions);
        }
        Step::Clear { buffer } => {
            let bytes = 4 * buffer.words() as u64;
            // SAFETY: recording; the buffer is so long, and `check` has seen that it may be copied to.
            unsafe { raw.cmd_fill_buffer(commands, buffer.memory.raw, 0, bytes, 0) };
        }
        Step::Dispatch {
            pipeline,
            immediates,
            threads,
            ..
        } => {
            let Some(&set) = sets.next() else { return };
            let bytes: Vec<u8> = immediates.iter().flat_map(|w| w.to_ne_bytes()).collect();
            let compiled = &pipeline.compiled;
            let groups = pipeline.groups(*threads) as u32;
            // SAFETY: recording; `check` has seen that buffers, immediates and workgroups fit the pipeline. Access beyond a
            // buffer's end is defined, because the device was opened with robust access.
            unsafe {
                let point = vk::PipelineBindPoint::COMPUTE;
                raw.cmd_bind_pipeline(commands, point, compiled.raw);
                raw.cmd_bind_descriptor_sets(commands, point, compiled.layout, 0, &[set], &[]);
                raw.cmd_push_constants(
                    commands,
                    compiled.layout,
                    vk::ShaderStageFlags::COMPUTE,
                    0,
                    &bytes,
                );
                raw.cmd_dispatch(commands, groups, 1, 1);
            }
        }
    }
}

/// What comes after sees what came before, and what submissions that were waited for have written.
fn barrier(shared: &Shared, commands: vk::CommandBuffer) {
    use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
    let memory = [vk::MemoryBarrier::default()
        .src_access_mask(Access::TRANSFER_WRITE | Access::SHADER_WRITE)
        .dst_access_mask(
            Access::TRANSFER_READ
                | Access::TRANSFER_WRITE
                | Access::SHADER_READ
                | Access::SHADER_WRITE
                | Access::HOST_READ,
        )];
    let work = Stage::TRANSFER | Stage::COMPUTE_SHADER;
    // SAFETY: recording, outside of any render pass.
    unsafe {
        shared.raw.cmd_pipeline_barrier(
            commands,
            work,
            work | Stage::HOST,
            vk::DependencyFlags::empty(),
            &memory,
            &[],
            &[],
        );
    }
}
