//! Texts that are almost right.

use strata_core::random::SplitMix64;

/// Pieces of a text of which so many, at random, were deleted, repeated elsewhere, exchanged, or joined by one of `strange`: what a
/// parser must take or refuse, and never choke on.
///
/// ```
/// use strata_core::random::SplitMix64;
/// use strata_testkit::shuffled;
///
/// let words: Vec<&str> = "ld.global.u32 %r1 , [ %rd1 ] ;".split(' ').collect();
/// let text = shuffled(&words, 3, &["{", "@"], &mut SplitMix64::new(1)).join(" ");
/// assert_ne!(text, words.join(" "));
/// ```
pub fn shuffled<'t>(pieces: &[&'t str], changes: usize, strange: &[&'t str], random: &mut SplitMix64) -> Vec<&'t str> {
    let mut text = pieces.to_vec();
    for _ in 0..changes {
        let mut any = |length: usize| random.below(length.max(1) as u64) as usize;
        let (a, b) = (any(text.len()), any(text.len()));
        match any(if strange.is_empty() { 3 } else { 4 }) {
            0 if a < text.len() => drop(text.remove(a)),
            1 if !pieces.is_empty() => text.insert(a, pieces[any(pieces.len())]),
            2 if a.max(b) < text.len() => text.swap(a, b),
            3 => text.insert(a, strange[any(strange.len())]),
            _ => {}
        }
    }
    text
}
