// Superblocks whose words come whole, with their bits permuted: one thread a word of 64 bits gathers it from all moves of one
// source shard. The bits go through eleven exchanges under masks (expand/benes.rs).

struct Shape {
    // Words of a superblock.
    words: u32,
    // Moves.
    moves: u32,
    // First superblock of the run, and how many.
    first: u32,
    count: u32,
    // Where the origins of the run begin.
    origins: u32,
    // 1: the words begin with nothing; 0: they have what other sources brought.
    begins: u32,
    // Permutations of bits.
    kappas: u32,
}
var<immediate> shape: Shape;

// Move by move, those of the run.
@group(0) @binding(0) var<storage, read> origins: array<vec2<u32>>;
// By element and word: the source word, and above 16 bits the permutation.
@group(0) @binding(1) var<storage, read> rows: array<u32>;
// Word by word, those of all permutations together, so that neighbours read neighbours.
@group(0) @binding(2) var<storage, read> masks: array<u32>;
@group(0) @binding(3) var<storage, read> source: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> out: array<vec2<u32>>;

fn mask(k: u32, kappa: u32) -> u32 {
    return masks[k * shape.kappas + kappa];
}

// Exchanges bits of both halves under the masks k and k + 1.
fn exchange(w: vec2<u32>, distance: u32, k: u32, kappa: u32) -> vec2<u32> {
    let d = vec2<u32>(distance, distance);
    let t = ((w >> d) ^ w) & vec2<u32>(mask(k, kappa), mask(k + 1u, kappa));
    return w ^ t ^ (t << d);
}

fn across(w: vec2<u32>, k: u32, kappa: u32) -> vec2<u32> {
    let t = (w.x ^ w.y) & mask(k, kappa);
    return w ^ vec2<u32>(t, t);
}

fn permuted(word: vec2<u32>, kappa: u32) -> vec2<u32> {
    var w = across(word, 0u, kappa);
    w = exchange(w, 16u, 1u, kappa);
    w = exchange(w, 8u, 3u, kappa);
    w = exchange(w, 4u, 5u, kappa);
    w = exchange(w, 2u, 7u, kappa);
    w = exchange(w, 1u, 9u, kappa);
    w = exchange(w, 2u, 11u, kappa);
    w = exchange(w, 4u, 13u, kappa);
    w = exchange(w, 8u, 15u, kappa);
    w = exchange(w, 16u, 17u, kappa);
    return across(w, 19u, kappa);
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
            let row = rows[origin.y * shape.words + w];
            let word = source[origin.x * shape.words + (row & 0xffffu)];
            if (word.x | word.y) != 0u {
                acc |= permuted(word, row >> 16u);
            }
        }
    }
    out[at] = acc;
}
