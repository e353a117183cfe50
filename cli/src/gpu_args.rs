//! The graphics processor on the command line, and what a device's errors mean to a user.

use crate::exit::Failure;
use crate::{gpu_costs, memory};
use antipode_gpu::{
    Choice, DeviceInfo, Fault, GpuError, Kernels, Kind, Offer, Options, Settings, Vulkan,
};
use antipode_solver_core::engine::KernelChoice;
use std::str::FromStr;
use std::sync::Arc;

/// Which graphics processors.
#[derive(Debug, Clone, clap::Args)]
pub struct GpuArgs {
    /// Graphics processors to compute with, by index or UUID as `antipode gpu list` shows them, several with commas; all:
    /// every one that is no software; auto: the same ones, for what they do quicker than the CPU; off: none [default: auto]
    #[arg(long, value_name = "auto|off|all|INDEX|UUID")]
    pub gpu: Option<Wish>,
}

/// The same for what keeps frontiers on them.
#[derive(Debug, Clone, clap::Args)]
pub struct LevelGpuArgs {
    #[command(flatten)]
    pub which: GpuArgs,

    /// The most memory of each graphics processor that a job's frontiers take, e.g. 8GiB [default: 80 % of it, an
    /// eighth where it is the machine's, 64 MiB of a software device]; what one task needs is always there
    #[arg(long, value_name = "SIZE", value_parser = memory::parse)]
    gpu_memory: Option<u64>,
}

/// What a user may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Off,
    Auto,
    All,
    These(Vec<Choice>),
}

impl FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Wish, String> {
        match text {
            "off" => Ok(Wish::Off),
            "auto" => Ok(Wish::Auto),
            "all" => Ok(Wish::All),
            _ => {
                let mut choices: Vec<Choice> = Vec::new();
                for part in text.split(',') {
                    let choice = match part {
                        "auto" | "off" | "all" => Err(format!("'{text}': {part} stands alone")),
                        _ => part.parse::<Choice>().map_err(|_| {
                            format!(
                                "'{part}' is no device; give indices or UUIDs (`antipode gpu list`), all, auto or off"
                            )
                        }),
                    }?;
                    if !choices.contains(&choice) {
                        choices.push(choice);
                    }
                }
                Ok(Wish::These(choices))
            }
        }
    }
}

/// Who wants to compute with graphics processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A daemon: where `auto` finds nothing, it says so.
    Worker,
    /// A command: it says so where it was asked for.
    Command,
}

impl LevelGpuArgs {
    /// Was a device asked for, rather than none or whichever is of use?
    pub fn is_forced(&self) -> bool {
        matches!(self.which.gpu, Some(Wish::All | Wish::These(_)))
    }

    /// Is there anything to be looked for? Where nothing was said, only for work that takes the CPU a while: to open
    /// Vulkan takes longer than small jobs do.
    pub fn is_wanted(&self, is_large: bool) -> bool {
        match self.which.gpu {
            Some(Wish::Off) => false,
            None => is_large,
            Some(_) => true,
        }
    }

    /// The devices that are asked for, ready to compute. Those of `auto` are measured first, in `pool`, unless that was done
    /// before.
    ///
    /// # Errors
    /// A device that was named and cannot be had.
    pub fn open(
        &self,
        asker: Asker,
        kernel: KernelChoice,
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<Offer>, Failure> {
        let wish = self.which.gpu.clone().unwrap_or(Wish::Auto);
        if wish == Wish::Off {
            return Ok(Vec::new());
        }
        let vulkan = match Vulkan::load(&Options::default()) {
            Err(why) if wish == Wish::Auto => {
                if asker == Asker::Worker || self.which.gpu.is_some() {
                    eprintln!("{why}; computing with the CPU");
                }
                return Ok(Vec::new());
            }
            loaded => loaded?,
        };
        let choices = match &wish {
            Wish::Off => Vec::new(),
            Wish::These(choices) => choices.clone(),
            Wish::Auto | Wish::All => {
                let is_meant =
                    |info: &&DeviceInfo| info.kind != Kind::Software && info.unusable.is_none();
                let meant = vulkan.devices().filter(is_meant);
                meant.map(|info| Choice::Index(info.index)).collect()
            }
        };
        if choices.is_empty() {
            // Says which devices there are, and that software must be named.
            let why = vulkan.choose(Choice::Auto).err();
            let why = why.map_or_else(|| "no graphics processor".into(), |why| why.to_string());
            if wish == Wish::All {
                return Err(Failure::input(why));
            }
            if asker == Asker::Worker || self.which.gpu.is_some() {
                eprintln!("{why}; computing with the CPU");
            }
            return Ok(Vec::new());
        }
        let mut offers: Vec<Offer> = Vec::new();
        for choice in choices {
            let kernels = match opened(&vulkan, choice) {
                Ok(kernels) => kernels,
                // Nobody has named it.
                Err(why) if wish == Wish::Auto => {
                    eprintln!("{why}; it is not used");
                    continue;
                }
                Err(why) => return Err(why.into()),
            };
            let info = kernels.device().info().clone();
            // By its index and by its UUID.
            let is_same = |other: &Offer| other.kernels.device().info().index == info.index;
            if offers.iter().any(is_same) {
                continue;
            }
            let costs = match wish {
                Wish::Auto => match gpu_costs::known_or_measured(&kernels, kernel, pool) {
                    Ok(costs) => Some(costs),
                    Err(why) => {
                        eprintln!("{why}; it is not used");
                        continue;
                    }
                },
                _ => {
                    let slow = match info.kind {
                        Kind::Software => " (software, for tests: slower than the CPU)",
                        _ => "",
                    };
                    eprintln!("computing with device {}, {}{slow}", info.index, info.name);
                    None
                }
            };
            let share = match info.kind {
                Kind::Discrete | Kind::Virtual => info.memory_bytes / 5 * 4,
                // Its memory is the machine's.
                Kind::Integrated | Kind::Other => info.memory_bytes / 8,
                Kind::Software => 64 << 20,
            };
            offers.push(Offer {
                kernels,
                costs,
                resident_bytes: self.gpu_memory.unwrap_or(share),
            });
        }
        Ok(offers)
    }
}

/// One of them, for what computes on one.
#[derive(Debug, Clone, clap::Args)]
pub struct OneGpuArgs {
    /// A graphics processor to compute with: its index or UUID as `antipode gpu list` shows it; auto: the first that is no
    /// software, or the CPU [default: off]
    #[arg(long, value_name = "off|auto|INDEX|UUID")]
    gpu: Option<Wish>,
}

impl OneGpuArgs {
    /// The kernels of the device; none where none is asked for, or where `auto` finds none, which is said.
    ///
    /// # Errors
    /// A device that was named and cannot be had, and more than one.
    pub fn open(&self) -> Result<Option<Arc<Kernels>>, Failure> {
        match &self.gpu {
            None => Ok(None),
            Some(wish) => wish.open_one(),
        }
    }
}

impl GpuArgs {
    /// As [`OneGpuArgs::open`], for what is small beside the rest of the command.
    ///
    /// # Errors
    /// A device that was named and cannot be had.
    pub fn open_one(&self) -> Result<Option<Arc<Kernels>>, Failure> {
        match &self.gpu {
            Some(Wish::These(choices)) => Wish::These(choices[..1].to_vec()).open_one(),
            Some(Wish::All) => Wish::Auto.open_one(),
            None | Some(Wish::Auto | Wish::Off) => Ok(None),
        }
    }
}

impl Wish {
    fn open_one(&self) -> Result<Option<Arc<Kernels>>, Failure> {
        let choice = match self {
            Wish::Off => return Ok(None),
            Wish::Auto => Choice::Auto,
            Wish::These(choices) if choices.len() == 1 => choices[0],
            Wish::All | Wish::These(_) => {
                return Err(Failure::input(
                    "this command computes on one device; give one index or UUID with --gpu",
                ));
            }
        };
        match (open(choice, false), self) {
            (Ok((_, kernels)), _) => Ok(Some(kernels)),
            (Err(why @ (GpuError::NoVulkan(_) | GpuError::NoDevice(_))), Wish::Auto) => {
                eprintln!("{why}; computing with the CPU");
                Ok(None)
            }
            (Err(why), _) => Err(why.into()),
        }
    }
}

/// Vulkan and the kernels of a device, with the validation layer if that is asked for.
pub fn open(choice: Choice, validation: bool) -> Result<(Vulkan, Arc<Kernels>), GpuError> {
    let vulkan = Vulkan::load(&Options {
        validation,
        ..Options::default()
    })?;
    let kernels = opened(&vulkan, choice)?;
    Ok((vulkan, kernels))
}

fn opened(vulkan: &Vulkan, choice: Choice) -> Result<Arc<Kernels>, GpuError> {
    let device = vulkan.open(choice, Settings::default())?;
    if let Some((later, fault)) = planted(std::env::var("ANTIPODE_TEST_GPU").ok().as_deref()) {
        device.plant(later, fault);
    }
    Kernels::new(device)
}

/// A fault on order, for tests with real processes: `ANTIPODE_TEST_GPU="wrong,3"` spoils what the fourth submission
/// brings back; `lost`, `memory` and `hang` end a submission so.
fn planted(text: Option<&str>) -> Option<(u32, Fault)> {
    let (name, later) = text?.split_once(',')?;
    let fault = match name {
        "lost" => Fault::Lost,
        "memory" => Fault::OutOfMemory,
        "hang" => Fault::Hang,
        "wrong" => Fault::Wrong,
        _ => return None,
    };
    Some((later.parse().ok()?, fault))
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Failure {
        match error {
            GpuError::NoVulkan(_)
            | GpuError::NoDevice(_)
            | GpuError::TooLarge { .. }
            | GpuError::Input(_) => Failure::Input(error.to_string()),
            GpuError::Misuse { .. } => Failure::Internal(error.to_string()),
            GpuError::Lost { .. }
            | GpuError::OutOfMemory { .. }
            | GpuError::Hang { .. }
            | GpuError::Wrong { .. }
            | GpuError::Driver { .. } => Failure::Other(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read() {
        assert_eq!("off".parse(), Ok(Wish::Off));
        assert_eq!("auto".parse(), Ok(Wish::Auto));
        assert_eq!("all".parse(), Ok(Wish::All));
        let these = [Choice::Index(1), Choice::Index(0)];
        assert_eq!("1,0,1".parse(), Ok(Wish::These(these.to_vec())));
        for wrong in ["", "none", "0,auto", "0,", "-1"] {
            assert!(wrong.parse::<Wish>().is_err(), "{wrong}");
        }
    }
}
