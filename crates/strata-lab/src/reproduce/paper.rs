//! The numbers that a paper prints, from `data/papers/`.

use super::Paper;
use toml::Value;

/// The numbers of one paper.
pub(super) struct PaperNumbers(Value);

impl PaperNumbers {
    /// Those of a paper.
    pub(super) fn of(paper: Paper) -> Self {
        Self::parse(match paper {
            Paper::Buddy => include_str!("../../data/papers/buddy.toml"),
            Paper::Cmd => include_str!("../../data/papers/cmd.toml"),
            Paper::Tom => include_str!("../../data/papers/tom.toml"),
        })
    }

    /// A text that is no TOML has no numbers; a test reads the built-in ones.
    fn parse(text: &str) -> Self {
        Self(text.parse::<toml::Table>().map_or(Value::Boolean(false), Value::Table))
    }

    /// The number at a path, such as `final_ratio.hpc`.
    pub(super) fn get(&self, path: &str) -> Option<f64> {
        let found = path.split('.').try_fold(&self.0, |value, key| value.get(key))?;
        found.as_float().or_else(|| found.as_integer().map(|n| n as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_numbers_are_there() {
        let paper = PaperNumbers::of(Paper::Buddy);
        assert_eq!(paper.get("final_ratio.hpc"), Some(1.9));
        assert_eq!(paper.get("energy_pj.hbm2_row_activation"), Some(909.0));
        assert_eq!(paper.get("final_ratio.other"), None);
        assert_eq!(PaperNumbers::of(Paper::Cmd).get("ipc_gain.cmd+bpc"), Some(0.5253));
    }
}
