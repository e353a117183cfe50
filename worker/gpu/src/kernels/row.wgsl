// Superblocks whose bits come from anywhere in the source's superblock: one thread a word of 64 bits gathers it bit by bit
// from all moves of one source shard.

struct Shape {
    // Words and states of a superblock.
    words: u32,
    states: u32,
    // Moves.
    moves: u32,
    // First superblock of the run, and how many.
    first: u32,
    count: u32,
    // Where the origins of the run begin.
    origins: u32,
    // 1: the words begin with nothing; 0: they have what other sources brought.
    begins: u32,
}
var<immediate> shape: Shape;

// Move by move, those of the run.
@group(0) @binding(0) var<storage, read> origins: array<vec2<u32>>;
// By element and state: the source's bit, two to a word.
@group(0) @binding(1) var<storage, read> images: array<u32>;
// Halves of words, the lower one first.
@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec2<u32>>;

// The bits `first`, ... of a superblock, at most 32.
fn half(origin: vec2<u32>, first: u32) -> u32 {
    var word = 0u;
    let end = min(first + 32u, shape.states);
    let row = origin.y * shape.states;
    let block = origin.x * shape.words * 2u;
    for (var i = first; i < end; i++) {
        let at = row + i;
        let bit = (images[at >> 1u] >> ((at & 1u) * 16u)) & 0xffffu;
        word |= ((source[block + (bit >> 5u)] >> (bit & 31u)) & 1u) << (i & 31u);
    }
    return word;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.count * shape.words {
        return;
    }
    let block = id.x / shape.words;
    let w = id.x % shape.words;
    let at = shape.first * shape.words + id.x;
    var acc = vec2<u32>(0u, 0u);
    if shape.begins == 0u {
        acc = out[at];
    }
    for (var m = 0u; m < shape.moves; m++) {
        let origin = origins[shape.origins + m * shape.count + block];
        if origin.y != 0xffffffffu {
            acc |= vec2<u32>(half(origin, w * 64u), half(origin, w * 64u + 32u));
        }
    }
    out[at] = acc;
}
