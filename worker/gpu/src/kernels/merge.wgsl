// Takes away what is no state or was seen before; where the seen states grow, adds the new ones. One thread a word of 64
// bits.

struct Shape {
    // Words of a superblock.
    words: u32,
    // First word of the run, and how many.
    first: u32,
    count: u32,
    // 1: there are states in the level before, or in what was seen.
    has_own: u32,
    has_seen: u32,
    // 1: what was seen is the union of all levels.
    grows: u32,
}
var<immediate> shape: Shape;

// The bits of the words of a superblock that are states.
@group(0) @binding(0) var<storage, read> masks: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> own: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> seen: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> out: array<vec2<u32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.count {
        return;
    }
    let at = shape.first + id.x;
    var word = out[at] & masks[at % shape.words];
    if shape.has_own != 0u {
        word &= ~own[at];
    }
    var before = vec2<u32>(0u, 0u);
    if shape.has_seen != 0u {
        before = seen[at];
        word &= ~before;
    }
    if shape.grows != 0u {
        seen[at] = before | word;
    }
    out[at] = word;
}
