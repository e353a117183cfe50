// What follows from states: their children, which of these are roots, encodings, keys. Rows of states and of results begin at
// whole words, and one thread makes one word of a result (a key, which has two, is one thread's).

struct Shape {
    // Words a state has, and labels a word as a power of two: 4 of one byte or 2 of two.
    words: u32,
    shift: u32,
    degree: u32,
    // Words and values a row of the result has.
    row_words: u32,
    values: u32,
    // Of `solved`: how many roots there are. Of `encoded`: how many labels, if every position has a column for each.
    count: u32,
    // First row, and how many, of this dispatch.
    first: u32,
    rows: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> states: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

fn label(row: u32, position: u32) -> u32 {
    let bits = 32u >> shape.shift;
    let word = states[row * shape.words + (position >> shape.shift)];
    let place = position & ((1u << shape.shift) - 1u);
    return (word >> (place * bits)) & ((1u << bits) - 1u);
}

// Labels. The table has the position that each comes from, move by move.
@compute @workgroup_size(64)
fn children(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows * shape.row_words {
        return;
    }
    let row = shape.first + id.x / shape.row_words;
    let word = id.x % shape.row_words;
    let begin = word << shape.shift;
    let end = min(begin + (1u << shape.shift), shape.values);
    var made = 0u;
    for (var value = begin; value < end; value++) {
        made |= label(row, table[value]) << ((value - begin) * (32u >> shape.shift));
    }
    out[row * shape.row_words + word] = made;
}

// A byte a move. The table has, move by move and root by root, the state that the move takes to the root.
@compute @workgroup_size(64)
fn solved(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows * shape.row_words {
        return;
    }
    let row = shape.first + id.x / shape.row_words;
    let word = id.x % shape.row_words;
    let begin = 4u * word;
    var made = 0u;
    for (var value = begin; value < min(begin + 4u, shape.values); value++) {
        for (var root = 0u; root < shape.count; root++) {
            let before = (value * shape.count + root) * shape.words;
            var same = 0u;
            while same < shape.words && states[row * shape.words + same] == table[before + same] {
                same++;
            }
            if same == shape.words {
                made |= 1u << ((value - begin) * 8u);
                break;
            }
        }
    }
    out[row * shape.row_words + word] = made;
}

// The position below 16 bits and above them the label that it must have for a 1.
fn wanted(column: u32) -> u32 {
    if shape.count == 0u {
        return table[column];
    }
    return column / shape.count | ((column % shape.count) << 16u);
}

// A byte a column.
@compute @workgroup_size(64)
fn encoded(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows * shape.row_words {
        return;
    }
    let row = shape.first + id.x / shape.row_words;
    let word = id.x % shape.row_words;
    let begin = 4u * word;
    var made = 0u;
    for (var value = begin; value < min(begin + 4u, shape.values); value++) {
        let want = wanted(value);
        let is_one = label(row, want & 0xffffu) == want >> 16u;
        made |= select(0u, 1u, is_one) << ((value - begin) * 8u);
    }
    out[row * shape.row_words + word] = made;
}

// 64 bits as two words: h = (h xor label + 1) * (2^40 + 435) for all labels, then folded to 53 bits. The table is not looked at.
@compute @workgroup_size(64)
fn keys(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.rows {
        return;
    }
    let row = shape.first + id.x;
    // 1469598103934665603.
    var low = 0x739d0383u;
    var high = 0x14650fb0u;
    for (var position = 0u; position < shape.degree; position++) {
        low ^= label(row, position) + 1u;
        let first = (low & 0xffffu) * 435u;
        let second = (low >> 16u) * 435u + (first >> 16u);
        high = high * 435u + (low << 8u) + (second >> 16u);
        low = (second << 16u) | (first & 0xffffu);
    }
    out[2u * row] = low ^ (high >> 21u);
    out[2u * row + 1u] = high & 0x1fffffu;
}
