// How many states superblocks have, one thread a superblock.

struct Shape {
    // Words of a superblock.
    words: u32,
    // First superblock of the run, and how many.
    first: u32,
    count: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> bits: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.count {
        return;
    }
    let block = shape.first + id.x;
    let end = (block + 1u) * shape.words;
    var sum = 0u;
    for (var at = block * shape.words; at < end; at++) {
        let ones = countOneBits(bits[at]);
        sum += ones.x + ones.y;
    }
    counts[block] = sum;
}
