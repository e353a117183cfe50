// Words as permutations: point i goes through the letters from the last to the first, since (a*b)[i] = a[b[i]]. One
// thread follows two points, the halves of one 32-bit word. Long words come in pieces: each dispatch goes on from
// where the one before left its points.

struct Shape {
    // Pairs of points a permutation.
    pairs: u32,
    degree: u32,
    // First word, and how many, of this dispatch.
    first: u32,
    words: u32,
    // 1: points begin where they are, 0: they go on.
    begins: u32,
}
var<immediate> shape: Shape;

// The generators, row by row.
@group(0) @binding(0) var<storage, read> generators: array<u32>;
// The letters of all words in the order in which they act on points, and where each word's begin.
@group(0) @binding(1) var<storage, read> letters: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> points: array<u32>;

fn step(letter: u32, point: u32) -> u32 {
    return (generators[letter * shape.pairs + (point >> 1u)] >> ((point & 1u) * 16u)) & 0xffffu;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.words * shape.pairs {
        return;
    }
    let word = shape.first + id.x / shape.pairs;
    let pair = id.x % shape.pairs;
    let at = word * shape.pairs + pair;
    // The second point of an odd degree's last pair stays 0.
    let has_second = 2u * pair + 1u < shape.degree;
    var low = 2u * pair;
    var high = 2u * pair + 1u;
    if shape.begins == 0u {
        low = points[at] & 0xffffu;
        high = points[at] >> 16u;
    }
    let end = starts[word + 1u];
    for (var k = starts[word]; k < end; k++) {
        low = step(letters[k], low);
        if has_second {
            high = step(letters[k], high);
        }
    }
    points[at] = low | (select(0u, high, has_second) << 16u);
}
