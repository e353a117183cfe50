//! The cube:N: positions of its stickers in space, single layers, words such as `2R`, `Rw`, `x`,
//! kinds of pieces.
//!
//! A cubie has coordinates x from L (0) to R (N-1), y from D to U, z from B to F. Stickers are
//! numbered face by face in the order U R F D L B, each row by row from the left as seen from outside.

use super::checked::{About, Metric, PositionClass};
use super::definition::{Definition, Moves, Turn, Turns};
use crate::perm::Perm;
use std::collections::HashMap;

/// The largest N with at most [`super::MAX_DEGREE`] stickers.
pub(crate) const N_MAX: usize = 40;

/// A sticker: its cubie in coordinates doubled and centred, and the direction it faces.
type Place = ([i32; 3], [i32; 3]);

/// The faces with the axis they are perpendicular to and whether they are at its positive end.
const FACES: [(&str, usize, bool); 6] = [
    ("U", 1, true),
    ("R", 0, true),
    ("F", 2, true),
    ("D", 1, false),
    ("L", 0, false),
    ("B", 2, false),
];
/// Names of layers along the axes as in `1x`, and of rotations.
const AXES: [&str; 3] = ["x", "y", "z"];
/// The 3x3x3's slices: name, axis, turned like the positive axis' right-handed turn, like which face.
const SLICES: [(&str, usize, bool, &str); 3] = [
    ("M", 0, true, "L"),
    ("E", 1, true, "D"),
    ("S", 2, false, "F"),
];

/// A word that is no turn.
#[derive(Debug)]
pub(crate) enum WordError {
    /// It does not look like a cube word.
    NoName,
    /// It does, but not on this cube.
    Refused(String),
}

/// All stickers in order.
fn stickers(n: usize) -> Vec<Place> {
    let centred = |c: usize| 2 * c as i32 - (n as i32 - 1);
    let mut out = Vec::with_capacity(6 * n * n);
    for (face, axis, positive) in FACES {
        for r in 0..n {
            for q in 0..n {
                let m = n - 1;
                let (x, y, z) = match face {
                    "U" => (q, m, r),
                    "D" => (q, 0, m - r),
                    "F" => (q, m - r, m),
                    "B" => (m - q, m - r, 0),
                    "R" => (m, m - r, m - q),
                    _ => (0, m - r, q),
                };
                let mut normal = [0; 3];
                normal[axis] = if positive { 1 } else { -1 };
                out.push(([centred(x), centred(y), centred(z)], normal));
            }
        }
    }
    out
}

/// The cubie of every sticker of the cube:N, numbered from 0 in lexicographic order of (x, y, z), x slowest.
pub(crate) fn cubies(n: usize) -> Vec<usize> {
    let places: Vec<[i32; 3]> = stickers(n).into_iter().map(|(at, _)| at).collect();
    let distinct: std::collections::BTreeSet<[i32; 3]> = places.iter().copied().collect();
    let number: HashMap<[i32; 3], usize> = distinct.into_iter().zip(0..).collect();
    places.iter().map(|at| number[at]).collect()
}

/// The right-handed quarter turn about an axis (x: y to z, y: z to x, z: x to y).
fn turned(axis: usize, v: [i32; 3]) -> [i32; 3] {
    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut out = v;
    out[a] = -v[b];
    out[b] = v[a];
    out
}

/// The right-handed quarter turn of the layers (0-based from the negative end) for which `moves` holds.
fn layers(n: usize, axis: usize, moves: impl Fn(usize) -> bool) -> Perm {
    let places = stickers(n);
    let number: HashMap<Place, usize> = places.iter().enumerate().map(|(i, &p)| (p, i)).collect();
    let mut images: Vec<u16> = (0..places.len()).map(|i| i as u16).collect();
    for (old, &(at, normal)) in places.iter().enumerate() {
        let layer = (at[axis] + n as i32 - 1) as usize / 2;
        if moves(layer) {
            // The sticker goes to `new`, so the new labelling has there what was at `old`.
            if let Some(&new) = number.get(&(turned(axis, at), turned(axis, normal))) {
                images[new] = old as u16;
            }
        }
    }
    Perm::from_images(&images).unwrap_or_else(|_| Perm::identity(places.len()))
}

/// A turn of order 4 of the layers for which `moves` holds, right-handed or the other way.
fn turn(
    n: usize,
    name: &str,
    axis: usize,
    right_handed: bool,
    slice: bool,
    about: String,
    moves: impl Fn(usize) -> bool,
) -> Turn {
    let perm = layers(n, axis, moves);
    let perm = if right_handed { perm } else { perm.inverse() };
    Turn {
        name: name.into(),
        perm,
        order: 4,
        slice,
        about,
    }
}

/// The face turn, clockwise seen from outside, of `from..to` layers counted from the face (0: the face).
fn face_turn(n: usize, name: &str, face: usize, from: usize, to: usize, about: String) -> Turn {
    let (_, axis, positive) = FACES[face];
    turn(n, name, axis, !positive, false, about, |layer| {
        let depth = if positive { n - 1 - layer } else { layer };
        (from..to).contains(&depth)
    })
}

/// The base turns of cube:N: six faces, then M E S (N = 3) or 1x 1y 1z 2x .. (N >= 4).
fn base_turns(n: usize) -> Vec<Turn> {
    let mut out: Vec<Turn> = (0..6)
        .map(|f| {
            let name = FACES[f].0;
            face_turn(
                n,
                name,
                f,
                0,
                1,
                format!(
                    "the {} face clockwise by a quarter turn, seen from outside",
                    word_for(name)
                ),
            )
        })
        .collect();
    if n == 3 {
        out.extend(SLICES.map(|(name, axis, right_handed, like)| {
            let about = format!(
                "the slice between {} by a quarter turn in the sense of {like}",
                between(axis)
            );
            turn(n, name, axis, right_handed, true, about, |layer| layer == 1)
        }));
    }
    if n >= 4 {
        for k in 1..n - 1 {
            out.extend((0..3).map(|axis| inner_layer(n, k, axis)));
        }
    }
    out
}

/// `kx`: the layer with 0-based index k counted from L, D, B, turning like R, U, F.
fn inner_layer(n: usize, k: usize, axis: usize) -> Turn {
    let (from, like) = [("L", "R"), ("D", "U"), ("B", "F")][axis];
    let about = format!(
        "layer {} counted from {from} (the face is layer 1) by a quarter turn in the sense of {like}",
        k + 1
    );
    turn(
        n,
        &format!("{k}{}", AXES[axis]),
        axis,
        false,
        false,
        about,
        |layer| layer == k,
    )
}

fn word_for(face: &str) -> &'static str {
    match face {
        "U" => "upper",
        "R" => "right",
        "F" => "front",
        "D" => "lower",
        "L" => "left",
        _ => "back",
    }
}

fn between(axis: usize) -> &'static str {
    ["left and right", "lower and upper", "back and front"][axis]
}

/// The turn that a word without suffix means: `2R`, `Rw`, `3Rw`, `r`, `x`, `2x`, `M`, and the plain faces.
pub(crate) fn word(n: usize, word: &str) -> Result<Turn, WordError> {
    let body = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &word[..word.len() - body.len()];
    let number: Option<usize> = if digits.is_empty() {
        None
    } else {
        Some(digits.parse().unwrap_or(usize::MAX))
    };
    let refuse = |why: String| Err(WordError::Refused(why));

    if let Some(axis) = AXES.iter().position(|&a| a == body) {
        return match number {
            None => {
                let about = format!(
                    "the whole cube by a quarter turn in the sense of {}",
                    ["R", "U", "F"][axis]
                );
                Ok(turn(n, body, axis, false, false, about, |_| true))
            }
            Some(k) if n >= 4 && (1..n - 1).contains(&k) => Ok(inner_layer(n, k, axis)),
            Some(_) if n < 4 => refuse(format!(
                "{word}: inner layers have such names from the 4x4x4 on"
            )),
            Some(_) => refuse(format!(
                "{word}: the inner layers of the {n}x{n}x{n} are 1{body} to {}{body}",
                n - 2
            )),
        };
    }
    if let Some((name, axis, right_handed, like)) =
        SLICES.into_iter().find(|s| s.0 == body && number.is_none())
    {
        if n != 3 {
            return refuse(format!(
                "{word} names a slice of the 3x3x3; on the {n}x{n}x{n} say which layer, as 2R or Rw"
            ));
        }
        let about = format!(
            "the slice between {} by a quarter turn in the sense of {like}",
            between(axis)
        );
        return Ok(turn(n, name, axis, right_handed, true, about, |layer| {
            layer == 1
        }));
    }
    let upper = body.to_ascii_uppercase();
    let wide = body.ends_with('w') || body.chars().all(|c| c.is_ascii_lowercase());
    let letter = upper
        .strip_suffix('W')
        .filter(|_| body.ends_with('w'))
        .unwrap_or(&upper);
    let Some(face) = FACES.iter().position(|f| f.0 == letter) else {
        return Err(WordError::NoName);
    };
    let letter = FACES[face].0;
    if wide {
        let width = number.unwrap_or(2);
        if width < 2 || width >= n {
            let able = match n {
                2 => "the 2x2x2 has no block moves".to_owned(),
                _ => format!(
                    "a block move of the {n}x{n}x{n} turns 2 to {} layers",
                    n - 1
                ),
            };
            return refuse(format!("{word}: {able}"));
        }
        let name = if width == 2 {
            format!("{letter}w")
        } else {
            format!("{width}{letter}w")
        };
        let about = format!(
            "the {width} layers next to {letter} together, clockwise by a quarter turn, seen from outside"
        );
        return Ok(face_turn(n, &name, face, 0, width, about));
    }
    match number.unwrap_or(1) {
        1 => Ok(base_turns(n).swap_remove(face)),
        k if k >= 1 && k <= n => {
            let about = format!(
                "layer {k} alone, counted from {letter}, by a quarter turn in the sense of {letter}"
            );
            Ok(face_turn(n, &format!("{k}{letter}"), face, k - 1, k, about))
        }
        k => refuse(format!("{word} asks for layer {k} of the {n}x{n}x{n}")),
    }
}

/// The definition of cube:N.
pub(crate) fn definition(n: usize) -> Definition {
    let held = match n {
        2 => None,
        _ if n % 2 == 1 => Some(
            "the centre of the cube (by face turns alone the face centres stay, too)".to_owned(),
        ),
        _ => None,
    };
    Definition {
        name: format!("cube:{n}"),
        degree: 6 * n * n,
        moves: Moves::Turns(Turns {
            turns: base_turns(n),
            default_metric: Metric::Quarter,
            inverses_last: false,
            cube: Some(n),
        }),
        roots: Vec::new(),
        colours: Some((0..6 * n * n).map(|i| (i / (n * n)) as u16).collect()),
        classes: classes(n),
        rotations: (0..3).map(|axis| layers(n, axis, |_| true)).collect(),
        about: About {
            states: format!(
                "The {n}x{n}x{n} cube: arrangements of its {} stickers, all told apart. \
                 Faces in the order U R F D L B, each row by row, seen from outside",
                6 * n * n
            ),
            held,
            naming: naming(n),
            turns: Vec::new(),
        },
    }
}

fn naming(n: usize) -> String {
    let mut text =
        "U R F D L B turn the face of that letter clockwise by a quarter turn, seen from outside; \
                    ' is backwards, 2 twice"
            .to_owned();
    match n {
        2 => {}
        3 => text.push_str("; M E S turn the middle slices like L, D, F"),
        _ => text.push_str(
            "; kx ky kz turn the layer with 0-based index k from L, D, B, always in the sense of R, U, F",
        ),
    }
    text.push_str("; in --moves also kR (the k-th layer from R), Rw or r and kRw (blocks), x y z (the whole cube)");
    text
}

/// Sets of stickers of one kind of piece, labelled by the number of stickers and the distances from the faces.
fn classes(n: usize) -> Vec<PositionClass> {
    let mut out: Vec<(Key, PositionClass)> = Vec::new();
    for (i, place) in stickers(n).into_iter().enumerate() {
        let (key, label) = piece_label(n, place);
        match out.iter_mut().find(|(k, _)| *k == key) {
            Some((_, class)) => class.positions.push(i as u16),
            None => out.push((
                key,
                PositionClass {
                    label,
                    positions: vec![i as u16],
                },
            )),
        }
    }
    out.sort_by_key(|a| a.0);
    out.into_iter().map(|(_, class)| class).collect()
}

/// Order of the labels: corners, edges, centres; then distances, then chirality.
type Key = (i32, i32, i32, i32);

/// `f3:0,0,0` for corners, `f2:0,0,1` for edges one layer off the corner, `f1:0,1,2-` for centres:
/// the number of stickers, the three distances from the nearest face ascending, and which of the two
/// mirror images where there are two.
fn piece_label(n: usize, (at, normal): Place) -> (Key, String) {
    let m = n as i32 - 1;
    let mut depth: Vec<i32> = at.iter().map(|c| (m - c.abs()) / 2).collect();
    depth.sort_unstable();
    let faces = depth.iter().filter(|&&d| d == 0).count() as i32;
    let (a, b) = (depth[1], depth[2]);
    let mut chirality = 0;
    if faces == 1 && a != b {
        let axis = normal.iter().position(|&c| c != 0).unwrap_or(0);
        let (u, v) = (at[(axis + 1) % 3], at[(axis + 2) % 3]);
        let longer = if u.abs() > v.abs() { 1 } else { -1 };
        chirality = normal[axis] * u.signum() * v.signum() * longer;
    }
    let sign = match chirality {
        0 => "",
        1 => "+",
        _ => "-",
    };
    (
        (-faces, a, b, chirality),
        format!("f{faces}:0,{a},{b}{sign}"),
    )
}

/// The pocket cube: cube:2 with the corner D-B-L held, its other 21 stickers in the order of the seed.
pub(crate) fn pocket() -> Definition {
    /// cube:2 sticker (0-based) at every pocket position.
    const STICKERS: [u16; 21] = [
        0, 1, 2, 3, 8, 9, 4, 5, 20, 21, 16, 17, 10, 11, 6, 7, 22, 19, 12, 13, 15,
    ];
    let mut place = [u16::MAX; 24];
    for (new, &old) in STICKERS.iter().enumerate() {
        place[usize::from(old)] = new as u16;
    }
    let turns = [0usize, 2, 1]
        .into_iter()
        .map(|face| {
            let full = base_turns(2).swap_remove(face);
            let images: Vec<u16> = STICKERS
                .iter()
                .map(|&i| place[full.perm.at(usize::from(i))])
                .collect();
            let perm =
                Perm::from_images(&images).unwrap_or_else(|_| Perm::identity(STICKERS.len()));
            Turn { perm, ..full }
        })
        .collect();
    Definition {
        name: "pocket".into(),
        degree: STICKERS.len(),
        moves: Moves::Turns(Turns { turns, default_metric: Metric::Quarter, inverses_last: true, cube: None }),
        roots: Vec::new(),
        colours: Some(STICKERS.map(|i| i / 4).into()),
        classes: Vec::new(),
        rotations: Vec::new(),
        about: About {
            states: "The pocket cube (2x2x2), 3,674,160 states: arrangements of the 21 stickers of seven corners".into(),
            held: Some("the corner D-B-L, so that no whole-cube rotation is counted".into()),
            naming: "U F R turn the face of that letter clockwise by a quarter turn, seen from outside; \
                     ' is backwards, 2 twice"
                .into(),
            turns: Vec::new(),
        },
    }
}
