//! Compiles every shader beside the kernels to SPIR-V, checked, so that a wrong shader fails the build and not a run.

use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match compile_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // As text: it shows the line of the shader.
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compile_all() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("src/kernels");
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "wgsl") {
            println!("cargo::rerun-if-changed={}", path.display());
            let name = path.file_stem().ok_or("a shader has a name")?;
            let words = compile(&path)?;
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            std::fs::write(out.join(name).with_extension("spv"), bytes)?;
        }
    }
    Ok(())
}

/// The SPIR-V words of one shader; an error shows the line of the shader.
fn compile(path: &Path) -> Result<Vec<u32>, Box<dyn Error>> {
    let source = std::fs::read_to_string(path)?;
    let shown = path.display().to_string();
    let module = naga::front::wgsl::parse_str(&source)
        .map_err(|error| error.emit_to_string_with_path(&source, &shown))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
        .validate(&module)
        .map_err(|error| error.emit_to_string_with_path(&source, &shown))?;
    let options = spv::Options {
        // What Vulkan 1.1 takes.
        lang_version: (1, 3),
        // Every loop of ours ends by itself; the layer enables robust access to buffers.
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    Ok(spv::write_vec(&module, &info, &options, None)?)
}
