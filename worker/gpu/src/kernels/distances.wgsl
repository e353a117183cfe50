// Distances of states to targets, one thread a pair of them. Both tables are stored column by column: word k of all rows
// lies together, so that neighbouring threads read neighbouring words.

struct Shape {
    // Words a row.
    pairs: u32,
    // Labels a row.
    degree: u32,
    // States and targets of the block.
    states: u32,
    targets: u32,
    // First distance, and how many, of this dispatch; they count state by state.
    first: u32,
    count: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> states: array<u32>;
// Manhattan: the targets. Breakpoint: their positions, those of smaller labels first.
@group(0) @binding(1) var<storage, read> sides: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn apart(a: u32, b: u32) -> u32 {
    return max(a, b) - min(a, b);
}

@compute @workgroup_size(64)
fn manhattan(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.count {
        return;
    }
    let at = shape.first + id.x;
    let state = at / shape.targets;
    let side = at % shape.targets;
    var sum = 0u;
    for (var k = 0u; k < shape.pairs; k++) {
        let a = states[k * shape.states + state];
        let b = sides[k * shape.targets + side];
        sum += apart(a & 0xffffu, b & 0xffffu) + apart(a >> 16u, b >> 16u);
    }
    out[at] = sum;
}

fn half(word: u32, i: u32) -> u32 {
    return (word >> ((i & 1u) * 16u)) & 0xffffu;
}

// The label of a state at the position that is number k of the side's order.
fn label(state: u32, side: u32, k: u32) -> u32 {
    let position = half(sides[(k >> 1u) * shape.targets + side], k);
    return half(states[(position >> 1u) * shape.states + state], position);
}

@compute @workgroup_size(64)
fn breakpoint(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.count {
        return;
    }
    let at = shape.first + id.x;
    let state = at / shape.targets;
    let side = at % shape.targets;
    var sum = 0u;
    var before = label(state, side, 0u);
    for (var k = 1u; k < shape.degree; k++) {
        let now = label(state, side, k);
        sum += select(0u, 1u, now != before + 1u);
        before = now;
    }
    out[at] = sum;
}
