//! From texture coordinates to texels (CUDA C++ Programming Guide, "Texture Fetching").
//!
//! With linear filtering, the weight of a neighbour is a number of 9 bits with 8 bits behind the point (so that 1 is one of them),
//! as the guide says; it is rounded to nearest here.

use strata_core::AddressMode;

/// The texel of an axis that an index means; `None` is the border.
pub fn place(index: i64, extent: u32, mode: AddressMode, normalized: bool) -> Option<u32> {
    let n = i64::from(extent);
    let inside = match mode {
        AddressMode::Border => return (0..n).contains(&index).then_some(index as u32),
        AddressMode::Wrap if normalized => index.rem_euclid(n),
        AddressMode::Mirror if normalized => {
            let folded = index.rem_euclid(2 * n);
            folded.min(2 * n - 1 - folded)
        }
        _ => index.clamp(0, n - 1),
    };
    Some(inside as u32)
}

/// The index that a coordinate is in. NaN counts as 0; what is too large for an index is the greatest one.
pub fn nearest(coordinate: f32, extent: u32, normalized: bool) -> i64 {
    bounded(scaled(coordinate, extent, normalized).floor())
}

/// The lower of the two indices that a coordinate lies between, and the weight of the upper one.
pub fn between(coordinate: f32, extent: u32, normalized: bool) -> (i64, f32) {
    let position = scaled(coordinate, extent, normalized) - 0.5;
    let low = position.floor();
    let weight = ((position - low) * 256.0).round_ties_even() / 256.0;
    (bounded(low), if weight.is_finite() { weight } else { 0.0 })
}

fn scaled(coordinate: f32, extent: u32, normalized: bool) -> f32 {
    if normalized { coordinate * extent as f32 } else { coordinate }
}

/// Far beyond any extent, and far from where sums of indices overflow.
fn bounded(index: f32) -> i64 {
    const FAR: i64 = 1 << 40;
    (index as i64).clamp(-FAR, FAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressMode::{Border, Clamp, Mirror, Wrap};

    #[test]
    fn outside_is_what_the_mode_says() {
        let row = |mode, normalized| (-5..9).map(|i| place(i, 4, mode, normalized)).collect::<Vec<_>>();
        let some = |indices: [u32; 14]| indices.map(Some).to_vec();
        let clamped = some([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]);
        assert_eq!(row(Clamp, true), clamped);
        assert_eq!(row(Wrap, true), some([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]));
        assert_eq!(row(Mirror, true), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        assert_eq!((row(Wrap, false), row(Mirror, false)), (clamped.clone(), clamped));
        let border: Vec<Option<u32>> = (-5..9).map(|i| (0..4).contains(&i).then_some(i as u32)).collect();
        assert_eq!(row(Border, false), border);
    }

    #[test]
    fn coordinates_name_texels_and_what_is_between_them() {
        let cases = [(0.0, 0), (0.99, 0), (1.0, 1), (-0.01, -1), (f32::NAN, 0), (f32::INFINITY, 1 << 40)];
        for (coordinate, index) in cases {
            assert_eq!(nearest(coordinate, 4, false), index, "{coordinate}");
        }
        assert_eq!(nearest(0.6, 4, true), 2);
        // Texel centres lie at halves.
        for (coordinate, low, weight) in
            [(0.5, 0, 0.0), (1.0, 0, 0.5), (1.25, 0, 0.75), (0.25, -1, 0.75), (2.5, 2, 0.0)]
        {
            assert_eq!(between(coordinate, 4, false), (low, weight), "{coordinate}");
        }
        assert_eq!(between(0.3125, 4, true), (0, 0.75));
        // 256 steps between two texels.
        assert_eq!(between(0.5 + 0.3 / 256.0, 4, false).1, 0.0);
        assert_eq!(between(0.5 + 0.7 / 256.0, 4, false).1, 1.0 / 256.0);
        assert_eq!(between(f32::NAN, 4, false).1, 0.0);
    }
}
