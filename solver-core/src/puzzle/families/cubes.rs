//! The n x n x n cubes, see [`crate::puzzle::cube`].

use super::{Build, Family, need};
use crate::puzzle::cube;

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "pocket",
            aliases: &[],
            params: &[],
            example: "",
            about: "The pocket cube (2x2x2) with the corner D-B-L held, 3,674,160 states",
            naming: "U F R turn a face clockwise by a quarter turn",
            build: Build::Whole(|_| cube::pocket()),
        },
        Family {
            name: "cube",
            aliases: &[],
            params: &[const { need("N", 2, cube::N_MAX) }],
            example: "3",
            about: "The NxNxN cube, all stickers told apart; turns U R F D L B, from N = 4 all single layers",
            naming: "U R F D L B turn a face clockwise by a quarter turn; see puzzle show cube:N",
            build: Build::Whole(|p| cube::definition(p[0])),
        },
    ]
}
