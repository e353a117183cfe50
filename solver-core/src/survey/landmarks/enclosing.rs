//! The enclosing hull: the convex hull with its inner points drawn into the surface one by one.
//!
//! Source: the R package cayleyR 0.3.0 (`enclosing_hull_3d`). Which face a point goes to when two are equally near is
//! not fixed there; here it is the one with the smallest sorted point numbers.

use super::hull::{
    Hull, Point, Triangle, area, convex, different, dot, edges, minus, normal, orientation, volume,
};
use std::cmp::Ordering;

/// A surface through all the points. It need not bound a body: see `crosses_itself`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Enclosing {
    pub hull: Hull,
    /// The points that were drawn in, in this order.
    pub pushed: Vec<usize>,
    /// Some edge meets a triangle that it does not belong to: area and volume are those of the formula, not of a body.
    pub crosses_itself: bool,
}

/// Starts from the convex hull and, for each different point that is no corner of it, in order, replaces the triangle
/// with the largest signed distance (negative inside) by three that end in the point.
pub fn enclosing(points: &[Point]) -> Enclosing {
    let start = convex(points);
    if start.is_degenerate() {
        return Enclosing::default();
    }
    let mut faces = start.faces;
    let mut pushed = Vec::new();
    for p in different(points) {
        if start.vertices.contains(&p) {
            continue;
        }
        let best = (0..faces.len())
            .filter_map(|k| Some((k, Height::of(points, &faces[k], p)?)))
            .max_by(|(j, a), (k, b)| {
                a.compare(b)
                    .then_with(|| sorted(&faces[*k]).cmp(&sorted(&faces[*j])))
            });
        let Some((k, _)) = best else { continue };
        let [a, b, c] = faces.remove(k);
        faces.extend([[a, b, p], [b, c, p], [c, a, p]]);
        pushed.push(p);
    }
    let mut vertices: Vec<usize> = faces.iter().flatten().copied().collect();
    vertices.sort_unstable();
    vertices.dedup();
    let crosses_itself = crosses(points, &faces);
    Enclosing {
        hull: Hull {
            area: faces.iter().map(|t| area(points, t)).sum(),
            volume: volume(points, &faces),
            faces,
            vertices,
        },
        pushed,
        crosses_itself,
    }
}

fn sorted(t: &Triangle) -> Triangle {
    let mut t = *t;
    t.sort_unstable();
    t
}

/// Signed distance of a point from a triangle's plane as a fraction: `over / sqrt(under)`. Compared without roots
/// and divisions, so that equal distances of integer points are found equal.
struct Height {
    over: f64,
    under: f64,
}

impl Height {
    /// Nothing for a triangle that is too thin to have a direction.
    fn of(points: &[Point], t: &Triangle, p: usize) -> Option<Height> {
        let n = normal(points, t);
        let under = dot(n, n);
        (under.sqrt() >= 1e-9).then(|| Height {
            over: dot(n, minus(points[p], points[t[0]])),
            under,
        })
    }

    fn compare(&self, other: &Height) -> Ordering {
        let a = self.over * self.over.abs() * other.under;
        let b = other.over * other.over.abs() * self.under;
        a.total_cmp(&b)
    }
}

/// Does an edge meet a triangle with which it shares no corner? Exact, but for edges that lie in the triangle's plane, which
/// are passed over.
fn crosses(points: &[Point], faces: &[Triangle]) -> bool {
    faces
        .iter()
        .flat_map(edges)
        .filter(|(u, v)| u < v)
        .any(|(u, v)| {
            faces
                .iter()
                .filter(|t| !t.contains(&u) && !t.contains(&v))
                .any(|t| meets(points, u, v, t))
        })
}

fn meets(points: &[Point], u: usize, v: usize, t: &Triangle) -> bool {
    let [a, b, c] = *t;
    let (over, under) = (
        orientation(points, a, b, c, u),
        orientation(points, a, b, c, v),
    );
    if over == 0.0 && under == 0.0 || over > 0.0 && under > 0.0 || over < 0.0 && under < 0.0 {
        return false;
    }
    let around = edges(t).map(|(p, q)| orientation(points, u, v, p, q));
    around.iter().all(|&o| o >= 0.0) || around.iter().all(|&o| o <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::hull::{is_closed, side};
    use super::*;
    use crate::group::rng::SplitMix;

    #[test]
    fn surfaces_of_small_integer_points_are_closed_and_hold_them_all() {
        let mut rng = SplitMix(7);
        for round in 0..300 {
            // Few values: repeated, collinear and coplanar points all the time.
            let width = 2 + round % 5;
            let points: Vec<Point> = (0..5 + rng.below(20))
                .map(|_| [0; 3].map(|_: i32| rng.below(width) as f64))
                .collect();
            let hull = convex(&points);
            if hull.is_degenerate() {
                continue;
            }
            assert!(is_closed(&hull.faces));
            assert!(!crosses(&points, &hull.faces));
            let all = 0..points.len();
            assert!(
                all.clone()
                    .all(|p| hull.faces.iter().all(|t| side(&points, t, p) <= 0.0))
            );
            let corners: Vec<Point> = hull.vertices.iter().map(|&v| points[v]).collect();
            // Every corner is needed.
            for leave in 0..corners.len() {
                let mut fewer = corners.clone();
                fewer.remove(leave);
                assert!(convex(&fewer).volume < hull.volume * (1.0 - 1e-9));
            }
            let outer = enclosing(&points);
            assert!(is_closed(&outer.hull.faces));
            assert_eq!(outer.hull.vertices.len(), different(&points).len());
        }
    }

    #[test]
    fn a_surface_that_cuts_through_itself_is_told() {
        // Two tents over one square, one inside the other; then the tip of one is moved aside.
        let points: Vec<Point> = vec![
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0, -1.0, 0.0],
            [0.25, 0.125, -2.0],
            [0.0, 0.0, -1.0],
        ];
        let tip = |t: usize| [0, 1, 2, 3].map(|i| [i, (i + 1) % 4, t]);
        let mut faces: Vec<Triangle> = tip(4).into();
        faces.extend(tip(5).map(|[a, b, c]| [b, a, c]));
        assert!(is_closed(&faces) && !crosses(&points, &faces));
        let mut aside = points.clone();
        aside[4] = [2.0, 0.25, -1.0];
        assert!(crosses(&aside, &faces));
    }
}
