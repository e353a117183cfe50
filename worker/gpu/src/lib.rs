//! Graphics processors through Vulkan: which there are, a thin safe layer over them, and kernels whose results are bit
//! for bit those of `antipode_solver_core::states`.
//!
//! Vulkan's loader is opened while the program runs. A machine without one gets [`GpuError::NoVulkan`], which says what is
//! missing; nothing here panics on what a driver does.
//!
//! ```no_run
//! use antipode_gpu::{Choice, Kernels, Options, Settings, Vulkan};
//! use antipode_solver_core::states::{States, distances::Measure};
//!
//! let vulkan = Vulkan::load(&Options::default())?;
//! let kernels = Kernels::new(vulkan.open(Choice::Auto, Settings::default())?)?;
//! let states = States::of(3, vec![0, 1, 2, 2, 1, 0])?;
//! let distances = kernels.distances(Measure::Manhattan, &states, &states)?;
//! assert_eq!(distances, [0, 4, 4, 0]);
//! # Ok::<(), antipode_gpu::GpuError>(())
//! ```

pub mod bench;
pub mod calibrate;
mod costs;
mod error;
mod expand;
mod kernels;
mod pace;
mod sample;
pub mod selftest;
mod timing;
mod verified;
mod vulkan;

pub use costs::{Cost, Costs, LevelSize, Line, Task};
pub use error::GpuError;
pub use expand::{DeviceSpace, JobDevices, Offer, OnFailure};
pub use kernels::{DeviceRows, Kernels};
#[doc(hidden)]
pub use vulkan::Fault;
pub use vulkan::{Choice, Device, DeviceInfo, Kind, Options, Settings, Vulkan};
