// Table spaces: every state that is not known asks for one move whether it comes from the source shard. One thread a word of
// 64 bits; the table is the piece of one buffer.

struct Shape {
    // First word of the run in its shard, and how many.
    first: u32,
    count: u32,
    // Number of the shard's first state, and of the first one beyond the last.
    base: u32,
    end: u32,
    // Number of the first state of the table's piece.
    piece: u32,
    // Numbers of the source shard: the first one, and how many.
    source: u32,
    source_states: u32,
    // 1: the words begin with nothing; 0: they have what other moves and sources brought.
    begins: u32,
    // 1: something is known of the level before, or of what was seen.
    has_own: u32,
    has_seen: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> before: array<u32>;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read> own: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> seen: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> out: array<vec2<u32>>;

fn half(first: u32, known: u32) -> u32 {
    var word = 0u;
    for (var k = 0u; k < 32u; k++) {
        let number = first + k;
        if ((known >> k) & 1u) == 0u && number < shape.end {
            // Numbers below the source's are very large ones.
            let at = before[number - shape.piece] - shape.source;
            if at < shape.source_states {
                word |= ((source[at >> 5u] >> (at & 31u)) & 1u) << k;
            }
        }
    }
    return word;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.count {
        return;
    }
    let at = shape.first + id.x;
    var acc = vec2<u32>(0u, 0u);
    if shape.begins == 0u {
        acc = out[at];
    }
    var known = acc;
    if shape.has_own != 0u {
        known |= own[at];
    }
    if shape.has_seen != 0u {
        known |= seen[at];
    }
    let number = shape.base + at * 64u;
    out[at] = acc | vec2<u32>(half(number, known.x), half(number + 32u, known.y));
}
