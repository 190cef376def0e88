//! "Did you mean": the nearest of a set of names.

/// Longer names are not compared: the distance costs the product of the lengths.
const LONGEST: usize = 64;

/// The candidate nearest to `name`, if one is near enough to be what was meant.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    let limit = 1 + name.len() / 4;
    for candidate in candidates {
        if candidate.len().abs_diff(name.len()) > limit {
            continue;
        }
        let d = distance(name.as_bytes(), candidate.as_bytes());
        if d <= limit && d < name.len() && best.is_none_or(|(least, _)| d < least) {
            best = Some((d, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace) from one to the other.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replace.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
