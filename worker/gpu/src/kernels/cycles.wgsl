// The cycles of permutations: each thread follows one point until it is back, and gives up where a smaller point is met,
// because that one's thread counts the cycle.

struct Shape {
    pairs: u32,
    degree: u32,
    // First point, and how many, of this dispatch; points count permutation by permutation.
    first: u32,
    points: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> lengths: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.points {
        return;
    }
    let at = shape.first + id.x;
    let row = (at / shape.degree) * shape.pairs;
    let start = at % shape.degree;
    var point = start;
    var length = 0u;
    for (var k = 1u; k <= shape.degree; k++) {
        point = (words[row + (point >> 1u)] >> ((point & 1u) * 16u)) & 0xffffu;
        if point <= start {
            length = select(0u, k, point == start);
            break;
        }
    }
    lengths[at] = length;
}
