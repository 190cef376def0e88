//! Sizes with units: `"4MiB"`, `"1.5 GB"`, `4096`.

use strata_core::Bytes;

/// The units and what they mean; the decimal ones are the SI's, the binary ones the IEC's.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

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
            .map(|&(_, scale)| scale)
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
            ("2GB", 2_000_000_000),
            ("1_000B", 1000),
        ] {
            assert_eq!(parse_size(text), Ok(Bytes(bytes)), "{text}");
        }
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
