//! Convex hull of a few points of space, with its strictly extreme points.
//!
//! Incremental, decided by the exact orientation predicate of the crate `robust` (Shewchuk, Adaptive precision
//! floating-point arithmetic, 1997), because the points are small integers: coplanar, collinear and repeated points
//! are the normal case, and a library that works with tolerances would merge or invent faces there.

use robust::{Coord3D, orient3d};
use std::collections::BTreeSet;

/// A point; integers and other numbers alike are taken exactly.
pub type Point = [f64; 3];
/// Three point numbers, counter-clockwise as seen from outside.
pub type Triangle = [usize; 3];

/// A closed surface of triangles with what is measured on it; without faces where the points are fewer than four or in one plane.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hull {
    pub faces: Vec<Triangle>,
    /// The corners, ascending.
    pub vertices: Vec<usize>,
    pub area: f64,
    pub volume: f64,
}

impl Hull {
    /// Fewer than four different points, or all in one plane: there is no body, area and volume are 0.
    pub fn is_degenerate(&self) -> bool {
        self.faces.is_empty()
    }
}

/// The convex hull of `points`. Of equal points the first counts. Facets of more than three corners are cut
/// into triangles in a way that depends on the order of the points; corners, area and volume do not.
pub fn convex(points: &[Point]) -> Hull {
    let different = different(points);
    let all = surface(points, &different);
    if all.is_empty() {
        return Hull::default();
    }
    // A corner of a triangulation may lie inside a facet or an edge; an extreme point is seen by what is left without it.
    let vertices: Vec<usize> = different
        .iter()
        .copied()
        .filter(|&v| all.iter().any(|t| t.contains(&v)))
        .filter(|&v| {
            let others: Vec<usize> = different.iter().copied().filter(|&w| w != v).collect();
            let rest = surface(points, &others);
            rest.is_empty() || rest.iter().any(|t| side(points, t, v) > 0.0)
        })
        .collect();
    let faces = surface(points, &vertices);
    Hull {
        area: faces.iter().map(|t| area(points, t)).sum(),
        volume: volume(points, &faces),
        faces,
        vertices,
    }
}

/// The numbers of the points that differ from all before them.
pub(super) fn different(points: &[Point]) -> Vec<usize> {
    let mut seen: Vec<Point> = Vec::new();
    (0..points.len())
        .filter(|&i| {
            let new = !seen.contains(&points[i]);
            if new {
                seen.push(points[i]);
            }
            new
        })
        .collect()
}

/// Positive where `p` is strictly outside of the triangle, zero in its plane; the sign is exact.
pub(super) fn side(points: &[Point], t: &Triangle, p: usize) -> f64 {
    -orientation(points, t[0], t[1], t[2], p)
}

/// Positive where `d` is below the plane of a, b, c, seen counter-clockwise from above.
pub(super) fn orientation(points: &[Point], a: usize, b: usize, c: usize, d: usize) -> f64 {
    let at = |i: usize| {
        let [x, y, z] = points[i];
        Coord3D { x, y, z }
    };
    orient3d(at(a), at(b), at(c), at(d))
}

/// A triangulated surface around the points `among`; empty where they lie in one plane.
fn surface(points: &[Point], among: &[usize]) -> Vec<Triangle> {
    let Some(first) = tetrahedron(points, among) else {
        return Vec::new();
    };
    let [a, b, c, d] = first;
    let mut faces: Vec<Triangle> = [[a, b, c], [a, c, d], [a, d, b], [b, d, c]].into();
    for &p in among.iter().filter(|p| !first.contains(p)) {
        // Faces that p is strictly above go; those it is level with stay, so no triangle becomes flat.
        let (seen, kept): (Vec<Triangle>, Vec<Triangle>) =
            faces.into_iter().partition(|t| side(points, t, p) > 0.0);
        let edges: BTreeSet<(usize, usize)> = seen.iter().flat_map(edges).collect();
        faces = kept;
        for &(u, v) in edges.iter().filter(|&&(u, v)| !edges.contains(&(v, u))) {
            faces.push([u, v, p]);
        }
    }
    faces
}

/// The directed edges of a triangle.
pub(super) fn edges(t: &Triangle) -> [(usize, usize); 3] {
    [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]
}

/// Four points not in one plane, the first such, so that `[a, b, c]` has `d` inside.
fn tetrahedron(points: &[Point], among: &[usize]) -> Option<[usize; 4]> {
    let (&a, rest) = among.split_first()?;
    let &b = rest.first()?;
    // Two points and a third that is not on their line span a plane that some point must leave: a flat triple leaves
    // every orientation at zero and is passed over.
    for &c in rest.iter().filter(|&&c| c != b) {
        for &d in rest.iter().filter(|&&d| d != b && d != c) {
            let o = orientation(points, a, b, c, d);
            if o > 0.0 {
                return Some([a, b, c, d]);
            }
            if o < 0.0 {
                return Some([a, c, b, d]);
            }
        }
    }
    None
}

pub(super) fn normal(points: &[Point], t: &Triangle) -> Point {
    let [a, b, c] = t.map(|i| points[i]);
    let (u, v) = (minus(b, a), minus(c, a));
    [
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    ]
}

pub(super) fn minus(a: Point, b: Point) -> Point {
    [0, 1, 2].map(|i| a[i] - b[i])
}

pub(super) fn dot(a: Point, b: Point) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

pub(super) fn area(points: &[Point], t: &Triangle) -> f64 {
    let n = normal(points, t);
    dot(n, n).sqrt() / 2.0
}

/// The absolute volume inside of a closed oriented surface, by cones from the mean of all points.
pub(super) fn volume(points: &[Point], faces: &[Triangle]) -> f64 {
    let mean = [0, 1, 2].map(|i| points.iter().map(|p| p[i]).sum::<f64>() / points.len() as f64);
    let six: f64 = faces
        .iter()
        .map(|t| dot(minus(points[t[0]], mean), normal(points, t)))
        .sum();
    (six / 6.0).abs()
}

/// Is every directed edge there once, with its opposite? True for every closed oriented surface.
#[cfg(test)]
pub(super) fn is_closed(faces: &[Triangle]) -> bool {
    let mut count: std::collections::BTreeMap<(usize, usize), u32> =
        std::collections::BTreeMap::new();
    for e in faces.iter().flat_map(edges) {
        *count.entry(e).or_default() += 1;
    }
    count
        .iter()
        .all(|(&(u, v), &k)| k == 1 && count.get(&(v, u)) == Some(&1))
}
