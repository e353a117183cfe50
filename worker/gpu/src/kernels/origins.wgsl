// Where superblocks come from under one move: the digits of their numbers walk through the tables from the leading one on.
// One thread a superblock.

struct Shape {
    // Of the move's element in `entries`.
    entry: u32,
    digits: u32,
    // First superblock of the run, how many, and where their origins go.
    first: u32,
    count: u32,
    out: u32,
}
var<immediate> shape: Shape;

// For every digit: its length, the product of the lengths after it, where its steps begin, and nothing.
@group(0) @binding(0) var<storage, read> digits: array<vec4<u32>>;
// Value and element of the next digit.
@group(0) @binding(1) var<storage, read> steps: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> entries: array<u32>;
// Number of states in every superblock of the source.
@group(0) @binding(3) var<storage, read> counts: array<u32>;
// Superblock and element; 0xffffffff is no element: there is nothing to come from.
@group(0) @binding(4) var<storage, read_write> origins: array<vec2<u32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.count {
        return;
    }
    var rest = shape.first + id.x;
    var to = 0u;
    var element = entries[shape.entry];
    for (var d = 0u; d < shape.digits; d++) {
        let digit = digits[d];
        let x = rest / digit.y;
        rest -= x * digit.y;
        let step = steps[digit.z + element * digit.x + x];
        to = to * digit.x + step.x;
        element = step.y;
    }
    if counts[to] == 0u {
        element = 0xffffffffu;
    }
    origins[shape.out + id.x] = vec2<u32>(to, element);
}
