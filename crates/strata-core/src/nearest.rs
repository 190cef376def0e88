//! "Did you mean …": the nearest of a few known names.

/// The candidate nearest to `word`, if any is near enough to be a slip of the keyboard.
///
/// ```
/// use strata_core::nearest::nearest;
/// assert_eq!(nearest("hotspto", ["bfs", "hotspot"]), Some("hotspot"));
/// assert_eq!(nearest("quicksort", ["bfs", "hotspot"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a name this long; the table below is quadratic and hostile words can have any length.
    if word.len() > 100 {
        return None;
    }
    let allowed = 1 + word.chars().count() / 4;
    candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
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

/// Edit distance with insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substituted.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_count_one() {
        assert_eq!(distance("kernel", "kernle"), 1);
        assert_eq!(distance("kernel", "kernels"), 1);
        assert_eq!(distance("kernel", "kernal"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
