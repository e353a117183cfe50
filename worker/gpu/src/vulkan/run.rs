//! One submission: a few steps in order, and the wait until the device has done them.

use super::device::{Queue, Shared};
use super::{Buffer, Device, Fault, Pipeline, Place};
use crate::error::GpuError;
use ash::vk;
use std::sync::Arc;
use std::time::Instant;

/// What the device does next.
pub(crate) enum Step<'a> {
    /// Copies the first `words` words.
    Copy {
        from: &'a Buffer,
        to: &'a Buffer,
        words: usize,
    },
    /// Runs a kernel with at least `threads` threads: those of the last workgroup are complete.
    Dispatch {
        pipeline: &'a Pipeline,
        buffers: &'a [&'a Buffer],
        immediates: &'a [u32],
        threads: u64,
    },
}

impl Device {
    /// Does the steps one after the other, each seeing what those before it wrote, and waits for them.
    ///
    /// # Errors
    /// A step that breaks a rule, before anything is done; a device that is lost, hangs or has no memory.
    pub(crate) fn run(&self, steps: &[Step<'_>]) -> Result<(), GpuError> {
        let shared = &self.shared;
        shared.check()?;
        for step in steps {
            check(shared, step)?;
        }
        let queue = shared.queue();
        let sets = Sets::new(shared, steps)?;
        let brings_back =
            |step: &Step<'_>| matches!(step, Step::Copy { to, .. } if to.place == Place::Download);
        let fault = shared.fault(steps.iter().any(brings_back));
        let failed = |code| shared.failed("recording commands", code);
        // SAFETY: the last submission was waited for, so the pool's command buffer is not in use; the queue is locked.
        unsafe {
            shared
                .raw
                .reset_command_pool(queue.pool, vk::CommandPoolResetFlags::empty())
                .map_err(failed)?;
            let once = vk::CommandBufferBeginInfo::default()
                .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
            shared
                .raw
                .begin_command_buffer(queue.commands, &once)
                .map_err(failed)?;
        }
        let mut sets_left = sets.sets.iter();
        for step in steps {
            record(shared, &queue, step, &mut sets_left);
            barrier(shared, &queue);
        }
        // SAFETY: the command buffer is being recorded.
        unsafe { shared.raw.end_command_buffer(queue.commands) }.map_err(failed)?;
        let begun = Instant::now();
        submit(shared, &queue, fault)?;
        drop(queue);
        shared.note_submission(begun.elapsed());
        for step in steps {
            if let Step::Copy { from, to, words } = step {
                if from.place == Place::Upload {
                    shared.count_upload(4 * *words as u64);
                }
                if fault == Some(Fault::Wrong) {
                    to.spoil();
                }
            }
        }
        Ok(())
    }
}

/// Checks what Vulkan leaves to its user.
fn check(shared: &Arc<Shared>, step: &Step<'_>) -> Result<(), GpuError> {
    let is_ours = |buffer: &Buffer| Arc::ptr_eq(shared, &buffer.shared);
    let wrong = match step {
        Step::Copy { from, to, words } => {
            let is_right = is_ours(from)
                && is_ours(to)
                && from.raw != to.raw
                && from.place != Place::Download
                && to.place != Place::Upload
                && *words > 0
                && *words <= from.words().min(to.words());
            (!is_right).then_some("a copy that does not fit its buffers")
        }
        Step::Dispatch {
            pipeline,
            buffers,
            immediates,
            threads,
        } => {
            let is_right = Arc::ptr_eq(shared, &pipeline.shared)
                && buffers.len() == pipeline.shader.buffers as usize
                && buffers
                    .iter()
                    .all(|buffer| is_ours(buffer) && buffer.place == Place::Device)
                && immediates.len() == pipeline.shader.immediates as usize
                && (1..=pipeline.max_threads()).contains(threads);
            (!is_right).then_some("a dispatch that does not fit its kernel")
        }
    };
    wrong.map_or(Ok(()), |rule| Err(shared.misuse(rule)))
}

/// The descriptor sets of one submission, one a dispatch; freed when it is over.
struct Sets<'a> {
    shared: &'a Shared,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
}

impl<'a> Sets<'a> {
    fn new(shared: &'a Shared, steps: &[Step<'_>]) -> Result<Sets<'a>, GpuError> {
        let failed = |code| shared.failed("binding buffers", code);
        let mut out = Sets {
            shared,
            pool: vk::DescriptorPool::null(),
            sets: Vec::new(),
        };
        let dispatches: Vec<_> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Dispatch {
                    pipeline, buffers, ..
                } => Some((*pipeline, *buffers)),
                Step::Copy { .. } => None,
            })
            .collect();
        if dispatches.is_empty() {
            return Ok(out);
        }
        let buffers: usize = dispatches.iter().map(|(_, buffers)| buffers.len()).sum();
        let sizes = [vk::DescriptorPoolSize::default()
            .ty(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(buffers.max(1) as u32)];
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(dispatches.len() as u32)
            .pool_sizes(&sizes);
        // SAFETY: the device is alive.
        out.pool = unsafe { shared.raw.create_descriptor_pool(&info, None) }.map_err(failed)?;
        let layouts: Vec<_> = dispatches.iter().map(|(p, _)| p.set_layout).collect();
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(out.pool)
            .set_layouts(&layouts);
        // SAFETY: pool and layouts are of this device; the pool has room for all of them.
        out.sets = unsafe { shared.raw.allocate_descriptor_sets(&info) }.map_err(failed)?;
        for (&set, (_, buffers)) in out.sets.iter().zip(&dispatches) {
            let infos: Vec<_> = buffers
                .iter()
                .map(|buffer| {
                    [vk::DescriptorBufferInfo::default()
                        .buffer(buffer.raw)
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
        Ok(out)
    }
}

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        if self.shared.is_at_rest() {
            // SAFETY: the submission that used the sets was waited for, or never made; null handles are ignored.
            unsafe { self.shared.raw.destroy_descriptor_pool(self.pool, None) };
        }
    }
}

fn record(
    shared: &Shared,
    queue: &Queue,
    step: &Step<'_>,
    sets: &mut std::slice::Iter<'_, vk::DescriptorSet>,
) {
    match step {
        Step::Copy { from, to, words } => {
            let region = [vk::BufferCopy::default().size(4 * *words as u64)];
            // SAFETY: recording; `check` has seen that both buffers are so long, differ, and are made for this.
            unsafe {
                shared
                    .raw
                    .cmd_copy_buffer(queue.commands, from.raw, to.raw, &region);
            }
        }
        Step::Dispatch {
            pipeline,
            immediates,
            threads,
            ..
        } => {
            let Some(&set) = sets.next() else { return };
            let bytes: Vec<u8> = immediates.iter().flat_map(|w| w.to_ne_bytes()).collect();
            // SAFETY: recording; `check` has seen that buffers, immediates and workgroups fit the pipeline. Access beyond a
            // buffer's end is defined, because the device was opened with robust access.
            unsafe {
                let raw = &shared.raw;
                raw.cmd_bind_pipeline(queue.commands, vk::PipelineBindPoint::COMPUTE, pipeline.raw);
                raw.cmd_bind_descriptor_sets(
                    queue.commands,
                    vk::PipelineBindPoint::COMPUTE,
                    pipeline.layout,
                    0,
                    &[set],
                    &[],
                );
                raw.cmd_push_constants(
                    queue.commands,
                    pipeline.layout,
                    vk::ShaderStageFlags::COMPUTE,
                    0,
                    &bytes,
                );
                raw.cmd_dispatch(queue.commands, pipeline.groups(*threads) as u32, 1, 1);
            }
        }
    }
}

/// What comes after sees what came before.
fn barrier(shared: &Shared, queue: &Queue) {
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
            queue.commands,
            work,
            work | Stage::HOST,
            vk::DependencyFlags::empty(),
            &memory,
            &[],
            &[],
        );
    }
}

/// Hands the commands over, and waits as long as is set.
fn submit(shared: &Shared, queue: &Queue, fault: Option<Fault>) -> Result<(), GpuError> {
    let failed = |code| shared.failed("running commands", code);
    if fault == Some(Fault::OutOfMemory) {
        return Err(failed(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    }
    let commands = [queue.commands];
    let info = [vk::SubmitInfo::default().command_buffers(&commands)];
    let timeout = u64::try_from(shared.settings.timeout.as_nanos()).unwrap_or(u64::MAX);
    let fences = [queue.fence];
    // SAFETY: the fence is not in use, its last wait was followed by a reset; the commands are recorded; all buffers
    // and pipelines are borrowed by the caller until this returns, or are never freed.
    let waited = unsafe {
        shared.raw.reset_fences(&fences).map_err(failed)?;
        shared
            .raw
            .queue_submit(queue.raw, &info, queue.fence)
            .map_err(failed)?;
        shared.raw.wait_for_fences(&fences, true, timeout)
    };
    match (waited, fault) {
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
    }
}
