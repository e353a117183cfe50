//! Families of rings that cross: Hungarian rings, globes.

use super::{Build, Family, generator, inverse, need};
use crate::puzzle::checked::Generator;

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "hungarian-rings",
            aliases: &[],
            params: &[
                const { need("LEFT", 2, 500) },
                const { need("LI", 0, 499) },
                const { need("RIGHT", 2, 500) },
                const { need("RI", 0, 499) },
            ],
            example: "5,1,4,1",
            about: "Two rings of LEFT and RIGHT beads that share bead 0 and, if LI and RI are not 0, a second one: \
                    the LI-th of the left ring, the RI-th before bead 0 of the right",
            naming: "L and R move a ring by one bead, -L and -R the other way",
            build: Build::List(hungarian),
        },
        Family {
            name: "globe",
            aliases: &[],
            params: &[const { need("A", 1, 199) }, const { need("B", 1, 99) }],
            example: "1,2",
            about: "A globe of A+1 rings of 2B pieces each; turn a ring, or half of the globe upside down",
            naming: "ri turns ring i (ri_inv: back); fj turns the half with columns j .. j+B-1 upside down",
            build: Build::List(globe),
        },
    ]
}

fn hungarian(p: &[usize]) -> Result<Vec<Generator>, String> {
    let &[left, li, right, ri] = p else {
        return Err("four parameters are needed".into());
    };
    if (li == 0) != (ri == 0) {
        return Err(format!(
            "LI = {li} and RI = {ri} must be both 0 (one crossing) or both not 0 (two)"
        ));
    }
    if li >= left || ri >= right {
        return Err(format!(
            "LI = {li} must be below LEFT = {left}, RI = {ri} below RIGHT = {right}"
        ));
    }
    // The right ring in order: bead 0, own beads, the shared bead, own beads.
    let n = left + right - if li == 0 { 1 } else { 2 };
    let mut ring = vec![0];
    if li == 0 {
        ring.extend(left..n);
    } else {
        let cut = n + 1 - ri;
        ring.extend(left..cut);
        ring.push(li);
        ring.extend(cut..n);
    }
    let turn = |name: &str, ring: &[usize]| super::from_cycles(name, n, &[ring.to_vec()]);
    let (l, r) = (
        turn("L", &(0..left).collect::<Vec<_>>())?,
        turn("R", &ring)?,
    );
    let (l_back, r_back) = (inverse("-L", &l), inverse("-R", &r));
    let mut out = vec![l, r];
    for back in [l_back, r_back] {
        let length = if back.name == "-L" { left } else { right };
        if length > 2 {
            out.push(back);
        }
    }
    Ok(out)
}

fn globe(p: &[usize]) -> Result<Vec<Generator>, String> {
    let (rings, half) = (p[0] + 1, p[1]);
    let columns = 2 * half;
    let n = rings * columns;
    if n > super::MAX_DEGREE {
        return Err(format!(
            "that is {n} positions; at most {} are supported",
            super::MAX_DEGREE
        ));
    }
    let mut out = Vec::new();
    for r in 0..rings {
        let ring: Vec<usize> = (r * columns..(r + 1) * columns).collect();
        let turn = super::from_cycles(format!("r{r}"), n, &[ring])?;
        let back = inverse(format!("r{r}_inv"), &turn);
        out.extend([turn, back]);
    }
    for f in 0..columns {
        let mut images: Vec<usize> = (0..n).collect();
        for (top, bottom) in (0..rings / 2).map(|r| (r, rings - 1 - r)) {
            for k in 0..half {
                images.swap(
                    top * columns + (f + k) % columns,
                    bottom * columns + (f + half - 1 - k) % columns,
                );
            }
        }
        out.push(generator(format!("f{f}"), images)?);
    }
    Ok(out)
}
