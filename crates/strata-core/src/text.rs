//! Text for people: aligned columns, digits in groups.

/// A number with its digits in groups of three: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with so many decimals and its digits in groups of three: `-12,345.7`.
pub fn grouped_decimals(number: f64, decimals: usize) -> String {
    let shown = format!("{:.decimals$}", number.abs());
    let (whole, rest) = shown.split_at(shown.find('.').unwrap_or(shown.len()));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    format!("{}{whole}{rest}", if number < 0.0 { "-" } else { "" })
}

/// A number with three significant digits and a decimal prefix: `1.45 G`.
pub fn short(number: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    for (scale, prefix) in PREFIXES {
        if number >= scale {
            let value = number / scale;
            let digits = if value >= 100.0 {
                0
            } else if value >= 10.0 {
                1
            } else {
                2
            };
            return format!("{value:.digits$}{prefix}");
        }
    }
    format!("{number:.0}")
}

/// Which side a column's cells lean to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under headings, as lines of text without trailing blanks.
pub fn columns(headings: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |c: usize| {
        let cells = rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count());
        cells.chain([headings[c].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for ((cell, &width), (_, align)) in cells.zip(&widths).zip(headings) {
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Left => text.extend([cell, &blanks, "  "]),
                Align::Right => text.extend([blanks.as_str(), cell, "  "]),
            }
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&mut headings.iter().map(|(name, _)| *name));
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    out
}

/// Text in lines of at most `width` characters, each behind `indent` blanks; a word that is longer has a line of its own.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let (mut out, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let more = word.chars().count();
        if length > 0 && length + 1 + more <= width {
            out.push(' ');
            length += 1;
        } else {
            if length > 0 {
                out.push('\n');
            }
            out += &blanks;
            length = indent;
        }
        out += word;
        length += more;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123_456), "123,456");
        assert_eq!(grouped_decimals(-12_345.678, 1), "-12,345.7");
        assert_eq!(grouped_decimals(999.96, 1), "1,000.0");
        assert_eq!(grouped_decimals(f64::NAN, 2), "NaN");
        assert_eq!(short(1.449e9), "1.45 G");
        assert_eq!(short(12_345.0), "12.3 k");
        assert_eq!(short(7.0), "7");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("what comes with a page", 12, 2), "  what comes\n  with a\n  page\n");
        assert_eq!(wrapped("unbreakable word", 4, 0), "unbreakable\nword\n");
        assert_eq!(wrapped("", 10, 4), "\n");
    }

    #[test]
    fn columns_line_up_without_trailing_blanks() {
        let rows = vec![vec!["a".to_owned(), "100".to_owned()], vec!["long".to_owned(), "1".to_owned()]];
        let text = columns(&[("name", Align::Left), ("n", Align::Right)], &rows);
        assert_eq!(text, "name    n\na     100\nlong    1\n");
    }
}
