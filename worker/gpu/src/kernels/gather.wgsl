// One word to many states: label i of the new state is label w[i] of the old one. One thread makes two labels, the
// halves of one 32-bit word, so that every word has one writer.

struct Shape {
    // Pairs of labels a row.
    pairs: u32,
    // Labels a row.
    degree: u32,
    // States in the block.
    states: u32,
    // First output row, and how many, of this dispatch; rows count word by word.
    first: u32,
    rows: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> states: array<u32>;
@group(0) @binding(1) var<storage, read> words: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn half(word: u32, i: u32) -> u32 {
    return (word >> ((i & 1u) * 16u)) & 0xffffu;
}

fn label(state: u32, word: u32, i: u32) -> u32 {
    if i >= shape.degree {
        return 0u;
    }
    let source = half(words[word * shape.pairs + (i >> 1u)], i);
    return half(states[state * shape.pairs + (source >> 1u)], source);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows * shape.pairs {
        return;
    }
    let row = shape.first + id.x / shape.pairs;
    let pair = id.x % shape.pairs;
    let word = row / shape.states;
    let state = row % shape.states;
    out[row * shape.pairs + pair] =
        label(state, word, 2u * pair) | (label(state, word, 2u * pair + 1u) << 16u);
}
