//! What may go wrong with a graphics processor. None of it ends the process: whoever asked computes with the CPU instead.

use antipode_solver_core::states::StatesError;

/// Why the device gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// No loader, no driver, or an instance that is not made.
    #[error("no Vulkan here: {0}")]
    NoVulkan(String),
    /// Vulkan is there, the device that was asked for is not.
    #[error("{0}")]
    NoDevice(String),
    /// The driver has given the device up. It must be opened again, if that helps.
    #[error("{device}: the device was lost: the driver has reset it or given it up")]
    Lost { device: String },
    /// Neither the device nor its driver has so much memory.
    #[error("{device}: out of memory{}", more(*bytes))]
    OutOfMemory { device: String, bytes: u64 },
    /// A dispatch did not end. What it uses is left to it until the process ends.
    #[error("{device}: a dispatch did not end within {seconds} s; the device counts as hung")]
    Hang { device: String, seconds: u64 },
    /// A result that the processor does not confirm. The device is not asked again.
    #[error("{device}: a wrong result: {what}; the device is not used any more")]
    Wrong { device: String, what: String },
    /// Any other answer of the driver that is no success.
    #[error("{device}: {what} failed: {code}")]
    Driver {
        device: String,
        what: &'static str,
        code: String,
    },
    /// The caller broke a rule of this layer; a mistake in this program.
    #[error("{device}: {rule}")]
    Misuse { device: String, rule: String },
    /// One row is larger than what the device takes in one buffer.
    #[error("{device}: {what} takes {bytes} bytes, and one buffer of the device {limit}")]
    TooLarge {
        device: String,
        what: &'static str,
        bytes: u64,
        limit: u64,
    },
    /// What was asked is refused for the CPU too.
    #[error(transparent)]
    Input(#[from] StatesError),
}

/// What was asked for, where that is known.
fn more(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!(" when {bytes} bytes more were asked for"),
    }
}
