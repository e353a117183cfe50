//! Celestial coordinates: a word's numbers of L, R and X as a direction.
//!
//! They belong to a word, not to a state: two shortest words of one state may have different counts.
//! Source: the R package cayleyR 0.3.0 (`convert_LRX_to_celestial` and its companions).

/// Below this a vector has no direction.
const NOTHING: f64 = 1e-10;

/// A direction with a length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Celestial {
    /// Angle from the X axis, 0 to pi.
    pub theta: f64,
    /// Angle in the plane of L and R, -pi to pi.
    pub phi: f64,
    /// Stereographic projection `exp(i phi) tan(theta/2)`, real and imaginary part.
    pub z: (f64, f64),
    /// Length of the vector (of a midpoint: the mean of both lengths).
    pub omega: f64,
}

impl Celestial {
    fn new(theta: f64, phi: f64, omega: f64) -> Celestial {
        let r = (theta / 2.0).tan();
        Celestial {
            theta,
            phi,
            z: (phi.cos() * r, phi.sin() * r),
            omega,
        }
    }

    /// The coordinates of `[nL, nR, nX]`; the zero vector is the north pole with length 0.
    pub fn of(counts: [f64; 3]) -> Celestial {
        let r = length(counts);
        if r < NOTHING {
            return Celestial {
                theta: 0.0,
                phi: 0.0,
                z: (0.0, 0.0),
                omega: 0.0,
            };
        }
        let [l, right, x] = counts;
        Celestial::new((x / r).clamp(-1.0, 1.0).acos(), right.atan2(l), r)
    }
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The unit vector of `[nL, nR, nX]`; the zero vector counts as the north pole.
fn unit(counts: [f64; 3]) -> [f64; 3] {
    let r = length(counts);
    if r < NOTHING {
        [0.0, 0.0, 1.0]
    } else {
        counts.map(|x| x / r)
    }
}

/// The angle between two vectors of counts, in radians.
pub fn angular_distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (unit(a), unit(b));
    let dot: f64 = (0..3).map(|i| a[i] * b[i]).sum();
    dot.clamp(-1.0, 1.0).acos()
}

/// The direction of the mean of both unit vectors, with the mean of both lengths.
pub fn midpoint(a: [f64; 3], b: [f64; 3]) -> Celestial {
    let omega = f64::midpoint(Celestial::of(a).omega, Celestial::of(b).omega);
    let (a, b) = (unit(a), unit(b));
    let mean = [0, 1, 2].map(|i| f64::midpoint(a[i], b[i]));
    let m = mean.map(|x| x / length(mean).max(NOTHING));
    Celestial::new(m[2].clamp(-1.0, 1.0).acos(), m[1].atan2(m[0]), omega)
}
