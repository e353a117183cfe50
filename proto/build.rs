//! Placeholder until the wire format is written.
fn main() {}
