//! "Did you mean …": the nearest of a few known names.

/// Longer words are not compared.
const LONGEST: usize = 100;

/// The candidate nearest to `word`, letters in either case, if any is near enough to be a slip of the keyboard.
///
/// ```
/// use strata_core::nearest::nearest;
/// assert_eq!(nearest("hotspto", ["bfs", "hotspot"]), Some("hotspot"));
/// assert_eq!(nearest("quicksort", ["bfs", "hotspot"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a name this long; the distance costs the product of the lengths and words can be hostile.
    if word.len() > LONGEST {
        return None;
    }
    let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let allowed = 1 + word.len() / 4;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().filter(|c| c.len() <= 2 * LONGEST) {
        let letters: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        if letters.len().abs_diff(word.len()) > allowed {
            continue;
        }
        let found = distance(&word, &letters);
        // A word with no letter in common is another word, however short both are.
        if found <= allowed && found < word.len() && best.is_none_or(|(least, _)| found < least) {
            best = Some((found, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `nearest`, as a sentence to append to a help text: "did you mean `x`?", else the whole list.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    nearest(word, candidates.clone()).map_or_else(
        || {
            let all: Vec<_> = candidates.into_iter().take(40).map(|c| format!("`{c}`")).collect();
            if all.is_empty() { "there are none here".to_owned() } else { format!("known here: {}", all.join(", ")) }
        },
        |name| format!("did you mean `{name}`?"),
    )
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row[j] = least;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance_of(a: &str, b: &str) -> usize {
        distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    #[test]
    fn slips_count_one() {
        assert_eq!(distance_of("kernel", "kernle"), 1);
        assert_eq!(distance_of("kernel", "kernels"), 1);
        assert_eq!(distance_of("kernel", "kernal"), 1);
        assert_eq!(distance_of("kernel", "kernel"), 0);
        assert_eq!(distance_of("kitten", "sitting"), 3);
        assert_eq!(distance_of("", "abc"), 3);
    }

    #[test]
    fn other_words_are_not_suggested() {
        assert_eq!(nearest("x", ["a", "b"]), None);
        assert_eq!(nearest("", ["a", "b"]), None);
        assert_eq!(nearest("HotSpott", ["hotspot"]), Some("hotspot"));
        assert_eq!(nearest(&"a".repeat(LONGEST + 1), ["a".repeat(LONGEST).as_str()]), None);
    }
}
