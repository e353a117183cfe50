//! `gpu`: which graphics processors Vulkan finds, whether they compute as the CPU does, and how fast.

use super::Call;
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::gpu_args;
use crate::memory;
use crate::render::{json, line, short, span, table};
use antipode_gpu::bench::{self, Row};
use antipode_gpu::selftest::{self, Compared};
use antipode_gpu::{Choice, DeviceInfo, GpuError, Options, Vulkan};
use serde::Serialize;

/// Graphics processors: list them, test them against the CPU, measure them
#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// List what Vulkan finds, software such as llvmpipe too
    List {
        /// Print one JSON object (docs/schema/gpu-list.schema.json)
        #[arg(long)]
        json: bool,
    },
    /// Run every kernel on a device and compare every value with the CPU's
    Test(TestArgs),
    /// Measure the kernels of a device and the same work on the CPU
    Bench(BenchArgs),
}

#[derive(Debug, clap::Args)]
pub struct TestArgs {
    #[command(flatten)]
    device: DeviceArgs,

    /// Numbers that the inputs are made from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// With Vulkan's validation layer (Debian: vulkan-validationlayers); a message of it fails the test
    #[arg(long)]
    validate: bool,

    /// Print one JSON object (docs/schema/gpu-test.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    #[command(flatten)]
    device: DeviceArgs,

    #[command(flatten)]
    compute: ComputeArgs,

    /// Print one JSON object (docs/schema/gpu-bench.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct DeviceArgs {
    /// The device by its index or UUID; auto: the first that is no software
    #[arg(long, value_name = "INDEX|UUID|auto", default_value = "auto")]
    gpu: Choice,
}

#[derive(Debug, Serialize)]
struct List {
    devices: Vec<DeviceInfo>,
    /// Why there is no Vulkan here.
    missing: Option<String>,
}

#[derive(Debug, Serialize)]
struct Test {
    device: DeviceInfo,
    seed: u64,
    kernels: Vec<Compared>,
    validated: bool,
    /// What the validation layer said.
    messages: Vec<String>,
    right: bool,
}

#[derive(Debug, Serialize)]
struct Bench {
    device: DeviceInfo,
    threads: u32,
    kernels: Vec<Row>,
    longest_dispatch_seconds: f64,
}

/// `gpu list`, `gpu test` and `gpu bench`.
pub fn gpu(what: &What, call: &Call) -> Result<(), Failure> {
    match what {
        What::List { json } => list(*json, call),
        What::Test(args) => test(args, call),
        What::Bench(args) => bench(args, call),
    }
}

fn list(as_json: bool, call: &Call) -> Result<(), Failure> {
    let list = match Vulkan::load(&Options::default()) {
        Ok(vulkan) => List {
            devices: vulkan.devices().cloned().collect(),
            missing: None,
        },
        Err(GpuError::NoVulkan(why)) => List {
            devices: Vec::new(),
            missing: Some(why),
        },
        Err(error) => return Err(error.into()),
    };
    if as_json {
        return json::print_signed(&list, &call.command);
    }
    match (&list.missing, list.devices.is_empty()) {
        (Some(why), _) => eprintln!("no Vulkan here: {why}"),
        (None, true) => eprintln!("Vulkan is here and lists no device"),
        (None, false) => {}
    }
    if list.devices.is_empty() {
        return Ok(());
    }
    let rows = list.devices.into_iter().map(|info| {
        vec![
            info.index.to_string(),
            info.name,
            info.kind.name().to_string(),
            memory::show(info.memory_bytes),
            memory::show(info.max_buffer_bytes),
            info.vulkan,
            info.uuid,
            info.unusable.unwrap_or_default(),
        ]
    });
    table::print(
        &[
            "INDEX",
            "NAME",
            "KIND",
            ">MEMORY",
            ">ONE BUFFER",
            "VULKAN",
            "UUID",
            "UNUSABLE",
        ],
        rows.collect(),
    )
}

fn test(args: &TestArgs, call: &Call) -> Result<(), Failure> {
    let (vulkan, kernels) = gpu_args::open(args.device.gpu, args.validate)?;
    let compared = selftest::run(&kernels, args.seed)?;
    let device = kernels.device().info().clone();
    // What is not freed is noticed when the device is closed.
    drop(kernels);
    let messages = vulkan.messages();
    let right = messages.is_empty() && compared.iter().all(|kernel| kernel.wrong == 0);
    let test = Test {
        device,
        seed: args.seed,
        kernels: compared,
        validated: args.validate,
        messages,
        right,
    };
    if args.json {
        json::print_signed(&test, &call.command)?;
    } else {
        print_test(&test)?;
    }
    match right {
        true => Ok(()),
        false => Err(Failure::Internal(format!(
            "{} does not compute as the CPU does, or breaks a rule of Vulkan; do not use it, and please report it",
            test.device.name
        ))),
    }
}

fn print_test(test: &Test) -> Result<(), Failure> {
    let rows = test.kernels.iter().map(|kernel| {
        vec![
            kernel.kernel.to_string(),
            kernel.calls.to_string(),
            kernel.values.to_string(),
            kernel.wrong.to_string(),
            kernel.first_wrong.clone().unwrap_or_default(),
        ]
    });
    table::print(
        &["KERNEL", ">CALLS", ">VALUES COMPARED", ">WRONG", "FIRST"],
        rows.collect(),
    )?;
    line("")?;
    line(&format!(
        "device {}: {}, {}",
        test.device.index,
        test.device.name,
        test.device.kind.name()
    ))?;
    match (test.validated, test.messages.is_empty()) {
        (false, _) => line("the validation layer was not asked (--validate)"),
        (true, true) => line("the validation layer has nothing to say"),
        (true, false) => test.messages.iter().try_for_each(|text| line(text)),
    }
}

fn bench(args: &BenchArgs, call: &Call) -> Result<(), Failure> {
    let (_vulkan, kernels) = gpu_args::open(args.device.gpu, false)?;
    let rows = args.compute.pool()?.install(|| bench::run(&kernels))?;
    let bench = Bench {
        device: kernels.device().info().clone(),
        threads: args.compute.threads(),
        kernels: rows,
        longest_dispatch_seconds: kernels.device().longest_submission().as_secs_f64(),
    };
    if args.json {
        return json::print_signed(&bench, &call.command);
    }
    let rows = bench.kernels.iter().map(|row| {
        vec![
            row.kernel.to_string(),
            short(row.results as f64 / row.device_seconds),
            short(row.results as f64 / row.processor_seconds),
            alone(row),
            memory::show(row.uploaded_bytes),
            row.size.clone(),
        ]
    });
    table::print(
        &[
            "KERNEL",
            ">DEVICE/S",
            ">CPU/S",
            ">KERNEL ALONE/S",
            ">SENT",
            "WORK",
        ],
        rows.collect(),
    )?;
    line("")?;
    line(&format!(
        "device {}: {}, {}; data sent and results brought back are counted in; the CPU with {} threads",
        bench.device.index,
        bench.device.name,
        bench.device.kind.name(),
        bench.threads
    ))?;
    line(&format!(
        "the longest dispatch took {}",
        span(bench.longest_dispatch_seconds)
    ))
}

/// Results a second where they stay on the device.
fn alone(row: &Row) -> String {
    let alone = row.alone.as_ref();
    alone.map_or(String::new(), |alone| {
        short(alone.results as f64 / alone.seconds)
    })
}
