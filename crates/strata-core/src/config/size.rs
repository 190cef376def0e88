//! Sizes with units: `"4MiB"`, `"1.5 GB"`, `4096`.

use crate::Bytes;

/// The units. KB, MB, GB and TB are powers of two like KiB and its like (JEDEC JESD100B.01): sizes here are those of memories and of
/// what lies in them, as data sheets and papers give them.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1 << 10),
    ("MB", 1 << 20),
    ("GB", 1 << 30),
    ("TB", 1 << 40),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A size as [`parse_size`] reads it back exactly: in the largest binary unit that divides it.
///
/// ```
/// use strata_core::{Bytes, config::format_size};
/// assert_eq!(format_size(Bytes(96 << 10)), "96 KiB");
/// assert_eq!(format_size(Bytes(1025)), "1025 B");
/// ```
pub fn format_size(size: Bytes) -> String {
    let binary = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fits = binary.into_iter().find(|&(_, shift)| size.0 > 0 && size.0.is_multiple_of(1 << shift));
    fits.map_or_else(|| format!("{} B", size.0), |(unit, shift)| format!("{} {unit}", size.0 >> shift))
}

/// Reads a size; the error says what is wrong with it.
pub fn parse_size(text: &str) -> Result<Bytes, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(text.len());
    let (digits, unit) = (text[..split].replace('_', ""), text[split..].trim());
    let scale = match unit {
        "" => 1,
        _ => UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .map(|&(_, bytes)| bytes)
            .ok_or_else(|| format!("`{unit}` is no unit of size; write B, KB, MB, GB, KiB, MiB or GiB"))?,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if whole.is_empty() || digits.ends_with('.') || fraction.contains('.') {
        return Err(format!("`{text}` is no size; write a number and a unit, as in \"4MiB\""));
    }
    // Exact: the fraction is scaled in integers, and must come out whole.
    let too_large = || format!("`{text}` is larger than any memory");
    let mut bytes =
        whole.parse::<u128>().map_err(|_| too_large())?.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
    if !fraction.is_empty() {
        if fraction.len() > 18 {
            return Err(format!("`{text}` has too many digits"));
        }
        let tens = 10u128.pow(fraction.len() as u32);
        let scaled = fraction.parse::<u128>().map_err(|_| too_large())? * u128::from(scale);
        if scaled % tens != 0 {
            return Err(format!("`{text}` is not a whole number of bytes"));
        }
        bytes += scaled / tens;
    }
    u64::try_from(bytes).map(Bytes).map_err(|_| too_large())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_fractions() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("4KiB", 4096),
            ("4 kib", 4096),
            ("1.5MiB", 3 << 19),
            ("2GB", 2 << 30),
            ("1_000B", 1000),
        ] {
            assert_eq!(parse_size(text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn a_memory_of_5_mb_has_a_power_of_two_in_it() {
        assert_eq!(parse_size("5MB"), Ok(Bytes(5 << 20)));
        assert_eq!(parse_size("5MiB"), Ok(Bytes(5 << 20)));
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", "is no size"),
            ("MiB", "is no size"),
            ("-1", "is no unit"),
            ("4 parsecs", "is no unit"),
            ("1.2.3MB", "is no size"),
            ("0.3B", "whole number"),
            ("99999999999999999999999999999999999999999999", "larger than any memory"),
            ("18446744073709551616", "larger than any memory"),
            ("0.1234567890123456789KB", "too many digits"),
            ("４MiB", "is no"),
        ] {
            let error = parse_size(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
