// The states of walks: position i of the state after the moves a b c has the root's label at a[b[c[i]]]. One thread makes one
// word of a row, two or four labels.

struct Shape {
    // Words a generator's row has, two images each.
    pairs: u32,
    degree: u32,
    // Words a state has, and labels a word: 4 of one byte or 2 of two.
    words: u32,
    labels: u32,
    // First row, and how many, of this dispatch.
    first: u32,
    rows: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> generators: array<u32>;
// The root's labels, one a word.
@group(0) @binding(1) var<storage, read> root: array<u32>;
@group(0) @binding(2) var<storage, read> depths: array<u32>;
// As `draw.wgsl` left them.
@group(0) @binding(3) var<storage, read> moves: array<u32>;
@group(0) @binding(4) var<storage, read_write> states: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows * shape.words {
        return;
    }
    let row = shape.first + id.x / shape.words;
    let word = id.x % shape.words;
    let begin = word * shape.labels;
    let block = arrayLength(&depths);
    // Positions beyond the last one follow the first, and are left out at the end.
    var points: array<u32, 4>;
    for (var k = 0u; k < 4u; k++) {
        points[k] = select(0u, begin + k, k < shape.labels && begin + k < shape.degree);
    }
    for (var t = depths[row]; t > 0u; t--) {
        let pair = moves[((t - 1u) >> 1u) * block + row];
        let generator = ((pair >> (((t - 1u) & 1u) * 16u)) & 0xffffu) * shape.pairs;
        for (var k = 0u; k < 4u; k++) {
            let point = points[k];
            points[k] = (generators[generator + (point >> 1u)] >> ((point & 1u) * 16u)) & 0xffffu;
        }
    }
    var out = 0u;
    for (var k = 0u; k < shape.labels; k++) {
        if begin + k < shape.degree {
            out |= root[points[k]] << (k * 32u / shape.labels);
        }
    }
    states[row * shape.words + word] = out;
}
