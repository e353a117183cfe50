//! The hulls of the points (nL, nR, nX) of one size's landmarks.

use antipode_solver_core::survey::landmarks::enclosing::enclosing;
use antipode_solver_core::survey::landmarks::hull::{Point, convex};
use antipode_solver_core::survey::landmarks::ratios;
use antipode_solver_core::survey::landmarks::size::Size;
use serde::Serialize;
use std::collections::BTreeSet;

/// Nothing where the moves have no counts of L, R and X.
#[derive(Debug, Clone, Serialize)]
pub struct Hulls {
    /// How many different points there are: one a known word, equal ones merged.
    pub points: Option<usize>,
    pub convex: Option<ConvexRow>,
    pub enclosing: Option<EnclosingRow>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ConvexRow {
    /// Fewer than four points, or all in one plane: no body.
    pub degenerate: bool,
    pub area: f64,
    pub volume: f64,
    /// Triangles.
    pub faces: usize,
    pub extreme: Vec<[u32; 3]>,
}

#[derive(Debug, Clone, Serialize)]
pub struct EnclosingRow {
    pub degenerate: bool,
    pub area: f64,
    pub volume: f64,
    pub faces: usize,
    /// The points that were drawn into the surface, in this order.
    pub pushed: Vec<[u32; 3]>,
    /// The surface cuts through itself or touches itself: it bounds no body, and the volume is only a number.
    pub self_intersecting: bool,
}

/// Of all known words of the size, in the order of the landmarks.
pub fn hulls(size: &Size) -> Hulls {
    if !ratios::has_ring_moves(size) {
        return Hulls {
            points: None,
            convex: None,
            enclosing: None,
        };
    }
    let mut seen = BTreeSet::new();
    let counts: Vec<[u32; 3]> = size
        .rows
        .iter()
        .filter_map(|row| ratios::counts(size, row))
        .filter(|c| seen.insert(*c))
        .collect();
    let points: Vec<Point> = counts.iter().map(|c| c.map(f64::from)).collect();
    let (inner, outer) = (convex(&points), enclosing(&points));
    let at = |list: &[usize]| list.iter().map(|&i| counts[i]).collect();
    Hulls {
        points: Some(counts.len()),
        convex: Some(ConvexRow {
            degenerate: inner.is_degenerate(),
            area: inner.area,
            volume: inner.volume,
            faces: inner.faces.len(),
            extreme: at(&inner.vertices),
        }),
        enclosing: Some(EnclosingRow {
            degenerate: outer.hull.is_degenerate(),
            area: outer.hull.area,
            volume: outer.hull.volume,
            faces: outer.hull.faces.len(),
            pushed: at(&outer.pushed),
            self_intersecting: outer.crosses_itself,
        }),
    }
}
