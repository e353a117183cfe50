//! The thin layer over Vulkan, and the only place that knows ash. It is safe: sizes, owners and limits are checked before
//! a command is recorded, what a submission uses is held until it is over, and devices are opened with robust access,
//! so that a shader reads and writes inside the buffers it was given whatever it computes.
#![allow(
    unsafe_code,
    reason = "Vulkan is a C interface; every call says why it keeps the rules"
)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod buffer;
mod commands;
mod device;
mod devices;
mod fault;
mod instance;
mod pipeline;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use buffer::{Buffer, Place};
pub(crate) use commands::Lane;
pub use device::{Device, Settings};
pub use devices::{Choice, DeviceInfo, Kind};
#[doc(hidden)]
pub use fault::Fault;
pub use instance::{Options, Vulkan};
pub(crate) use pipeline::{Pipeline, Shader};
pub(crate) use run::{Pending, Run, Step};
