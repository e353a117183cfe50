//! A kernel, ready to be dispatched.

use super::Device;
use super::device::Shared;
use crate::error::GpuError;
use ash::vk;
use std::ffi::CStr;
use std::sync::Arc;

/// A kernel as the build made it, and what it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shader {
    /// SPIR-V, little-endian.
    pub spirv: &'static [u8],
    pub entry: &'static CStr,
    /// Storage buffers, bindings 0, 1, ... of group 0.
    pub buffers: u32,
    /// Words of immediate data.
    pub immediates: u32,
    /// Threads of one workgroup, as in the shader.
    pub group_threads: u32,
}

/// A kernel on a device.
pub(crate) struct Pipeline {
    pub(super) shader: Shader,
    pub(super) compiled: Arc<Compiled>,
}

/// What a pipeline is made of; submissions hold on to it until they are over.
pub(super) struct Compiled {
    pub shared: Arc<Shared>,
    pub set_layout: vk::DescriptorSetLayout,
    pub layout: vk::PipelineLayout,
    pub raw: vk::Pipeline,
}

impl Device {
    /// Compiles a kernel for this device.
    ///
    /// # Errors
    /// What the driver says.
    pub(crate) fn pipeline(&self, shader: Shader) -> Result<Pipeline, GpuError> {
        let shared = &self.shared;
        shared.check()?;
        let failed = |code| shared.failed("compiling a kernel", code);
        let mut pipeline = Compiled {
            shared: Arc::clone(shared),
            set_layout: vk::DescriptorSetLayout::null(),
            layout: vk::PipelineLayout::null(),
            raw: vk::Pipeline::null(),
        };
        let bindings: Vec<_> = (0..shader.buffers)
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the device is alive and the bindings live until the call returns.
        pipeline.set_layout =
            unsafe { shared.raw.create_descriptor_set_layout(&info, None) }.map_err(failed)?;
        let sets = [pipeline.set_layout];
        let ranges = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(4 * shader.immediates)];
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&sets)
            .push_constant_ranges(&ranges);
        // SAFETY: the set layout is of this device.
        pipeline.layout =
            unsafe { shared.raw.create_pipeline_layout(&info, None) }.map_err(failed)?;
        let code: Vec<u32> = shader
            .spirv
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let info = vk::ShaderModuleCreateInfo::default().code(&code);
        // SAFETY: the words were written by the build from a shader that it had validated.
        let module = unsafe { shared.raw.create_shader_module(&info, None) }.map_err(failed)?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(shader.entry);
        let info = vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(pipeline.layout);
        // SAFETY: module and layout are of this device; the module is not needed once the pipeline is made.
        let made = unsafe {
            let made =
                shared
                    .raw
                    .create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            shared.raw.destroy_shader_module(module, None);
            made
        };
        pipeline.raw = match made {
            Ok(made) => made.first().copied().unwrap_or_default(),
            Err((_, code)) => return Err(failed(code)),
        };
        Ok(Pipeline {
            shader,
            compiled: Arc::new(pipeline),
        })
    }
}

impl Pipeline {
    /// Workgroups for so many threads.
    pub fn groups(&self, threads: u64) -> u64 {
        threads.div_ceil(u64::from(self.shader.group_threads))
    }

    /// The most threads of one dispatch, so that their number fits 32 bits too.
    pub fn max_threads(&self) -> u64 {
        let groups = self.compiled.shared.limits.max_compute_work_group_count[0];
        (u64::from(groups) * u64::from(self.shader.group_threads)).min(1 << 31)
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if self.shared.is_at_rest() {
            // SAFETY: submissions hold on to what they use, so the device uses none of the three; null handles are ignored.
            unsafe {
                self.shared.raw.destroy_pipeline(self.raw, None);
                self.shared.raw.destroy_pipeline_layout(self.layout, None);
                self.shared
                    .raw
                    .destroy_descriptor_set_layout(self.set_layout, None);
            }
        }
    }
}
