//! What a network looks at.

use super::super::images::Album;

/// How a photograph becomes a square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// Its middle is cut out, as Darknet's classifier does.
    Cropped,
    /// All of it (4:3, as most of MSCOCO) between grey bars, as Darknet's detectors do.
    Letterboxed,
}

/// The grey of the bars (Darknet's).
const GREY: f32 = 0.5;

/// Square pictures without end.
pub(super) struct Camera {
    album: Album,
    side: usize,
    framing: Framing,
}

impl Camera {
    pub(super) fn new(seed: u64, side: usize, framing: Framing) -> Self {
        Self { album: Album::new(seed, side), side, framing }
    }

    /// The next picture, channel by channel, values from 0 to 1.
    pub(super) fn picture(&mut self) -> Vec<f32> {
        let mut pixels = self.album.photograph();
        if self.framing == Framing::Letterboxed {
            let bar = self.side / 8 * self.side;
            for plane in pixels.chunks_exact_mut(self.side * self.side) {
                let end = plane.len() - bar;
                plane[..bar].fill(GREY);
                plane[end..].fill(GREY);
            }
        }
        pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_grey_and_the_rest_is_the_photograph() {
        let picture = |framing| Camera::new(3, 32, framing).picture();
        let (cropped, boxed) = (picture(Framing::Cropped), picture(Framing::Letterboxed));
        assert!(cropped.iter().all(|v| (0.0..=1.0).contains(v)));
        let bar = 4 * 32;
        for (cropped, boxed) in cropped.chunks_exact(32 * 32).zip(boxed.chunks_exact(32 * 32)) {
            assert_eq!(cropped[bar..1024 - bar], boxed[bar..1024 - bar]);
            assert!(boxed[..bar].iter().chain(&boxed[1024 - bar..]).all(|v| *v == GREY));
            assert!(cropped[..bar].iter().any(|v| *v != GREY));
        }
    }
}
