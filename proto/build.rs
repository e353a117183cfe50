//! Compiles the wire format to Rust; `protox` reads the .proto, so no external protoc is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto/antipode.proto");
    let files = protox::compile(["proto/antipode.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .bytes(".antipode.v1.Chunk.data")
        .compile_fds(files)?;
    Ok(())
}
