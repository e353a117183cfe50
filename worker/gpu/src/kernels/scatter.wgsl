// Ascending positions as bits. One thread a position; the first of those in a word of 32 bits writes them all, so that every
// word has one writer.

struct Shape {
    // Positions.
    count: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> positions: array<u32>;
@group(0) @binding(1) var<storage, read_write> bits: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var at = id.x;
    if at >= shape.count {
        return;
    }
    let word = positions[at] >> 5u;
    if at > 0u && (positions[at - 1u] >> 5u) == word {
        return;
    }
    // What earlier pieces of the list have written stays.
    var ones = bits[word];
    while at < shape.count && (positions[at] >> 5u) == word {
        ones |= 1u << (positions[at] & 31u);
        at += 1u;
    }
    bits[word] = ones;
}
