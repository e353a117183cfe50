//! Command buffers, made when they are needed and used again, and the queues that they go to.

use ash::vk;

/// Which of a device's queues does the work. A device with one queue does it in the order of submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Compute,
    /// Copies that run beside what is computed.
    Copies,
}

/// What one submission uses until it is over.
pub(super) struct Commands {
    pub pool: vk::CommandPool,
    pub buffer: vk::CommandBuffer,
    pub fence: vk::Fence,
}

impl Commands {
    pub fn new(device: &ash::Device, family: u32) -> Result<Commands, vk::Result> {
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the device was opened with queues of this family.
        let pool = unsafe { device.create_command_pool(&info, None)? };
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        let made = || {
            // SAFETY: the pool was made from this device above.
            let buffers = unsafe { device.allocate_command_buffers(&info)? };
            // SAFETY: the device is alive.
            let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None)? };
            let buffer = *buffers.first().ok_or(vk::Result::ERROR_UNKNOWN)?;
            Ok((buffer, fence))
        };
        let (buffer, fence) = made().inspect_err(|_| {
            // SAFETY: nothing uses the pool; it frees its command buffer too.
            unsafe { device.destroy_command_pool(pool, None) }
        })?;
        Ok(Commands {
            pool,
            buffer,
            fence,
        })
    }

    /// Makes them ready for another recording.
    pub fn begin(&self, device: &ash::Device) -> Result<(), vk::Result> {
        let once = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: they are taken from those that no submission uses.
        unsafe {
            device.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty())?;
            device.reset_fences(&[self.fence])?;
            device.begin_command_buffer(self.buffer, &once)
        }
    }

    /// Frees them.
    ///
    /// # Safety
    /// They are of this device, and no submission uses them.
    pub unsafe fn destroy(&self, device: &ash::Device) {
        // SAFETY: passed on to the caller.
        unsafe {
            device.destroy_fence(self.fence, None);
            device.destroy_command_pool(self.pool, None);
        }
    }
}
