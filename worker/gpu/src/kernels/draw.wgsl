// The moves of walks, one thread a row, by the counter-based numbers and the automaton of solver-core's `scramble`: the same
// words bit for bit.

struct Shape {
    // The generator's key.
    seed_low: u32,
    seed_high: u32,
    // The counter of the block's first row, and how many rows of that walk were before it.
    stream_low: u32,
    stream_high: u32,
    before: u32,
    // Rows of one walk; 1 where every row is a walk of its own.
    prefixes: u32,
    // Depths: the smallest one, and how many there are.
    least: u32,
    depths: u32,
    // 1: the depth follows from the row's place in its walk, 0: it is drawn.
    is_prefix: u32,
    // Moves beyond the depth.
    extra: u32,
    // The situation before the first move, as two words.
    start_first: u32,
    start_allowed: u32,
    // Words of moves a row.
    pairs: u32,
    // First row, and how many, of this dispatch.
    first: u32,
    rows: u32,
}
var<immediate> shape: Shape;

// For each move that is allowed somewhere: where the next list begins; its length, and the move above 16 bits.
@group(0) @binding(0) var<storage, read> entries: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> depths: array<u32>;
// Move t of row r in half t & 1 of word r * pairs + (t >> 1); 0 behind the last one.
@group(0) @binding(2) var<storage, read_write> moves: array<u32>;

// The upper half of a product.
fn high(a: u32, b: u32) -> u32 {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let lh = al * bh;
    let hl = ah * bl;
    let middle = ((al * bl) >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
    return ah * bh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u);
}

// The same for b below 2^16, in fewer steps.
fn below(a: u32, b: u32) -> u32 {
    return ((a >> 16u) * b + (((a & 0xffffu) * b) >> 16u)) >> 16u;
}

// Philox4x32-10.
fn philox(stream: vec2<u32>, block: u32) -> vec4<u32> {
    var c = vec4<u32>(stream.x, stream.y, block, 0u);
    var key = vec2<u32>(shape.seed_low, shape.seed_high);
    for (var round = 0u; round < 10u; round++) {
        let a = vec2<u32>(0xd2511f53u * c.x, high(0xd2511f53u, c.x));
        let b = vec2<u32>(0xcd9e8d57u * c.z, high(0xcd9e8d57u, c.z));
        c = vec4<u32>(b.y ^ c.y ^ key.x, b.x, a.y ^ c.w ^ key.y, a.x);
        key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows {
        return;
    }
    let row = shape.first + id.x;
    let place = shape.before + row;
    let walk = place / shape.prefixes;
    var stream = vec2<u32>(shape.stream_low + walk, shape.stream_high);
    if stream.x < walk {
        stream.y += 1u;
    }
    var draws = philox(stream, 0u);
    var depth = shape.least + high(draws.x, shape.depths);
    if shape.is_prefix != 0u {
        depth = shape.least + place % shape.prefixes;
    }
    depths[row] = depth;
    let length = depth + shape.extra;
    var situation = vec2<u32>(shape.start_first, shape.start_allowed);
    for (var k = 0u; k < shape.pairs; k++) {
        var pair = 0u;
        for (var t = 2u * k; t < min(2u * k + 2u, length); t++) {
            let draw = t + 1u;
            if (draw & 3u) == 0u {
                draws = philox(stream, draw >> 2u);
            }
            let chosen = below(draws[draw & 3u], situation.y & 0xffffu);
            situation = entries[situation.x + chosen];
            pair |= (situation.y >> 16u) << ((t & 1u) * 16u);
        }
        moves[row * shape.pairs + k] = pair;
    }
}
