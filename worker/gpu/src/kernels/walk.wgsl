// The states of walks: position i of the state after the moves a b c has the root's label at a[b[c[i]]]. One thread makes one
// word of a row, two or four labels. Rows begin at whole words.

struct Shape {
    degree: u32,
    // Words a state has, and labels a word as a power of two: 4 of one byte or 2 of two.
    words: u32,
    shift: u32,
    // Words of moves a row.
    pairs: u32,
    // The number of the move that changes nothing, behind those of the list.
    none: u32,
    // 1: the table has a row for every two moves, 0: for every one.
    joined: u32,
    // First row, and how many, of this dispatch.
    first: u32,
    rows: u32,
}
var<immediate> shape: Shape;

// Where the positions of a state come from: row a of single moves, row a * (none + 1) + b of two.
@group(0) @binding(0) var<storage, read> steps: array<u32>;
// The root's labels, one a word.
@group(0) @binding(1) var<storage, read> root: array<u32>;
@group(0) @binding(2) var<storage, read> depths: array<u32>;
// As `draw.wgsl` left them.
@group(0) @binding(3) var<storage, read> moves: array<u32>;
@group(0) @binding(4) var<storage, read_write> states: array<u32>;

fn step(row: u32, points: vec4<u32>) -> vec4<u32> {
    let base = row * shape.degree;
    var out = vec4<u32>(steps[base + points.x], steps[base + points.y], 0u, 0u);
    if shape.shift == 2u {
        out.z = steps[base + points.z];
        out.w = steps[base + points.w];
    }
    return out;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows * shape.words {
        return;
    }
    let row = shape.first + id.x / shape.words;
    let word = id.x % shape.words;
    let positions = vec4<u32>(0u, 1u, 2u, 3u) + vec4<u32>(word << shape.shift);
    // Positions beyond the last one follow the first, and are left out at the end.
    let inside = positions < vec4<u32>(shape.degree);
    var points = select(vec4<u32>(0u), positions, inside);
    let depth = depths[row];
    for (var k = (depth + 1u) >> 1u; k > 0u; k--) {
        let pair = moves[row * shape.pairs + k - 1u];
        let low = pair & 0xffffu;
        // The second move may be the one after the depth.
        let high = select(pair >> 16u, shape.none, 2u * k > depth);
        if shape.joined == 1u {
            points = step(low * (shape.none + 1u) + high, points);
        } else {
            points = step(low, step(high, points));
        }
    }
    let bits = 32u >> shape.shift;
    var out = root[points.x];
    out |= select(0u, root[points.y] << bits, inside.y);
    if shape.shift == 2u {
        out |= select(0u, root[points.z] << 16u, inside.z);
        out |= select(0u, root[points.w] << 24u, inside.w);
    }
    states[row * shape.words + word] = out;
}
