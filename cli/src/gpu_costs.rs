//! What devices cost: measured once for each device, number of threads and version, and kept in the user's cache.

use crate::whole_file;
use antipode_gpu::{Costs, GpuError, Kernels, calibrate};
use antipode_solver_core::engine::KernelChoice;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// What a measurement holds for: anything else may change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    version: String,
    device: String,
    uuid: String,
    vulkan: String,
    kernel: String,
    threads: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    key: Key,
    costs: Costs,
}

/// The costs of a device, from the cache, or measured in `pool` and kept; says which.
///
/// # Errors
/// Those of the device. A cache that cannot be read or written only means that it is measured again.
pub fn known_or_measured(
    kernels: &Arc<Kernels>,
    kernel: KernelChoice,
    pool: &rayon::ThreadPool,
) -> Result<Costs, GpuError> {
    let info = kernels.device().info();
    let key = Key {
        version: env!("CARGO_PKG_VERSION").into(),
        device: info.name.clone(),
        uuid: info.uuid.clone(),
        vulkan: info.vulkan.clone(),
        kernel: kernel.resolve().unwrap_or("portable").into(),
        threads: pool.current_num_threads(),
    };
    let mut entries = read();
    if let Some(entry) = entries.iter().find(|entry| entry.key == key) {
        say(kernels, &entry.costs, "as measured before");
        return Ok(entry.costs.clone());
    }
    let costs = measured(kernels, kernel, pool)?;
    say(kernels, &costs, "as measured now");
    entries.push(Entry {
        key,
        costs: costs.clone(),
    });
    write(&entries);
    Ok(costs)
}

/// The costs of a device, measured now.
///
/// # Errors
/// Those of the device.
pub fn measured(
    kernels: &Arc<Kernels>,
    kernel: KernelChoice,
    pool: &rayon::ThreadPool,
) -> Result<Costs, GpuError> {
    pool.install(|| calibrate::run(kernels, kernel))
}

/// From which sizes on the device is used.
fn say(kernels: &Kernels, costs: &Costs, when: &str) {
    let info = kernels.device().info();
    let from = costs.costs.iter().map(|cost| match cost.device_from() {
        Some(size) => format!(
            "{} from {} {}",
            cost.task.name(),
            crate::render::short(size),
            cost.task.unit()
        ),
        None => format!("{} never", cost.task.name()),
    });
    let from: Vec<String> = from.collect();
    eprintln!(
        "device {}, {}, is used {when}: {}",
        info.index,
        info.name,
        from.join(", ")
    );
}

const NAME: &str = "gpu-costs.json";

/// Where the cache is, if this user has one.
fn folder() -> Option<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "antipode")?;
    Some(folders.cache_dir().to_owned())
}

fn read() -> Vec<Entry> {
    folder()
        .and_then(|folder| std::fs::read(folder.join(NAME)).ok())
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// Only a cache: where it cannot be written it is measured again next time.
fn write(entries: &[Entry]) {
    let (Some(folder), Ok(bytes)) = (folder(), serde_json::to_vec_pretty(entries)) else {
        return;
    };
    if std::fs::create_dir_all(&folder).is_ok() {
        let _ = whole_file::put_bytes(&folder, NAME, &bytes);
    }
}
