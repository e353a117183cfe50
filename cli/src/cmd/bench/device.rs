//! `bench --gpu`: the same graphs with every level on a graphics processor, and what kinds of tasks cost there.

use crate::exit::Failure;
use crate::memory;
use crate::render::{line, short, span, table};
use antipode_gpu::{Costs, DeviceInfo, JobDevices, Offer, Task};
use antipode_solver_core::bfs::enumerate::{LevelCount, enumerate};
use antipode_solver_core::engine::Engine;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A graph on the device.
#[derive(Debug, Serialize)]
pub struct DeviceRow {
    /// The search itself: sending, computing, bringing back, and checking.
    seconds: f64,
    /// Of which the device computed.
    computing_seconds: f64,
    /// The largest level: its states, its time, and the time that the device computed.
    largest_level_states: u64,
    largest_level_seconds: f64,
    largest_level_computing_seconds: f64,
    /// States of the graph times moves, by the seconds of the search.
    state_moves_per_second: f64,
    /// States of the graph times moves, what the pull of any level takes, by the seconds that the device computed the largest
    /// one.
    largest_level_pulled_per_second: f64,
    uploaded_bytes: u64,
}

/// The device and its costs.
#[derive(Debug, Serialize)]
pub struct Device {
    device: DeviceInfo,
    costs: Vec<CostRow>,
    upload_bytes_per_second: f64,
}

/// What one kind of task costs: `fixed + size * unit` seconds.
#[derive(Debug, Serialize)]
struct CostRow {
    task: &'static str,
    unit: &'static str,
    device_fixed_seconds: f64,
    device_units_per_second: f64,
    cpu_fixed_seconds: f64,
    cpu_units_per_second: f64,
    /// From this size on the device is quicker; `null`: never.
    device_from: Option<f64>,
}

impl Device {
    pub fn new(device: DeviceInfo, costs: &Costs) -> Device {
        let rate = |seconds: f64| 1.0 / seconds.max(1e-18);
        let rows = Task::ALL.iter().filter_map(|&task| costs.of(task));
        Device {
            device,
            costs: rows
                .map(|cost| CostRow {
                    task: cost.task.name(),
                    unit: cost.task.unit(),
                    device_fixed_seconds: cost.device.fixed_seconds,
                    device_units_per_second: rate(cost.device.unit_seconds),
                    cpu_fixed_seconds: cost.processor.fixed_seconds,
                    cpu_units_per_second: rate(cost.processor.unit_seconds),
                    device_from: cost.device_from(),
                })
                .collect(),
            upload_bytes_per_second: costs.upload_bytes_per_second,
        }
    }

    /// The table of costs.
    pub fn print(&self) -> Result<(), Failure> {
        let rows = self.costs.iter().map(|cost| {
            vec![
                cost.task.to_string(),
                short(cost.device_units_per_second),
                span(cost.device_fixed_seconds),
                short(cost.cpu_units_per_second),
                cost.device_from.map_or("never".into(), short),
                cost.unit.to_string(),
            ]
        });
        line("")?;
        table::print(
            &[
                "TASK",
                ">DEVICE/S",
                ">AND ONCE",
                ">CPU/S",
                ">DEVICE FROM",
                "COUNTED IN",
            ],
            rows.collect(),
        )?;
        line("")?;
        line(&format!(
            "device {}: {}, {}; {}/s are sent to it; the largest level is counted in the states x moves that its pull asks",
            self.device.index,
            self.device.name,
            self.device.kind.name(),
            memory::show(self.upload_bytes_per_second as u64)
        ))
    }
}

impl DeviceRow {
    /// Cells of the row.
    pub fn cells(&self) -> Vec<String> {
        vec![
            format!("{:.3}", self.seconds),
            format!("{:.3}", self.computing_seconds),
            short(self.state_moves_per_second),
            short(self.largest_level_pulled_per_second),
            memory::show(self.uploaded_bytes),
        ]
    }
}

/// Heads of the cells.
pub const HEADS: [&str; 5] = [
    ">GPU SECONDS",
    ">COMPUTING",
    ">STATE-MOVES/S",
    ">LARGEST LEVEL/S",
    ">SENT",
];

/// Searches the graph with every level on the device; the levels must be those of the processor.
pub fn measure(
    engine: Engine,
    offer: &Offer,
    right: &[LevelCount],
    moves: usize,
) -> Result<DeviceRow, Failure> {
    let failed: Arc<Mutex<Option<String>>> = Arc::default();
    let told = Arc::clone(&failed);
    let tables = engine.device_tables();
    let tables = tables.ok_or_else(|| Failure::Internal("a graph without an index".into()))?;
    let (devices, refusals) = JobDevices::new(std::slice::from_ref(offer), &tables, |_| {
        let told = Arc::clone(&told);
        Box::new(move |why| {
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_string());
        })
    });
    if let Some(why) = refusals.into_iter().next() {
        return Err(why.into());
    }
    drop(tables);
    let devices = Arc::new(devices);
    let engine = engine.with_device(devices.clone());
    let device = offer.kernels.device();
    let sent = device.uploaded_bytes();
    let begun = Instant::now();
    let mut times: Vec<(Duration, Duration)> = vec![Default::default()];
    let (mut at, mut computed) = (begun, Duration::ZERO);
    let (levels, last) = enumerate(&engine, None, None, 0, |level| {
        if level.level == 0 {
            at = Instant::now();
            return;
        }
        let computing = devices.computing();
        times.push((at.elapsed(), computing - computed));
        (at, computed) = (Instant::now(), computing);
    })?;
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    drop(last);
    if let Some(why) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(Failure::other(why));
    }
    let same = |a: &LevelCount, b: &LevelCount| (a.count, a.digest) == (b.count, b.digest);
    if levels.len() != right.len() || !levels.iter().zip(right).all(|(a, b)| same(a, b)) {
        return Err(Failure::Internal(
            "the device's levels are not the processor's".into(),
        ));
    }
    let largest = (0..levels.len())
        .max_by_key(|&l| levels[l].count)
        .unwrap_or(0);
    let (took, computing) = times.get(largest).copied().unwrap_or_default();
    let states: u64 = levels.iter().map(|level| level.count).sum();
    Ok(DeviceRow {
        seconds,
        computing_seconds: devices.computing().as_secs_f64(),
        largest_level_states: levels[largest].count,
        largest_level_seconds: took.as_secs_f64(),
        largest_level_computing_seconds: computing.as_secs_f64(),
        state_moves_per_second: states as f64 * moves as f64 / seconds,
        largest_level_pulled_per_second: states as f64 * moves as f64
            / computing.as_secs_f64().max(1e-9),
        uploaded_bytes: device.uploaded_bytes() - sent,
    })
}
