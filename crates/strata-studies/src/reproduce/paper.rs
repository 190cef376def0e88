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
            Paper::Uvm => include_str!("../../data/papers/uvm.toml"),
            Paper::Tom => include_str!("../../data/papers/tom.toml"),
        })
    }

    /// A text that is no TOML has no numbers; a test reads the built-in ones.
    fn parse(text: &str) -> Self {
        Self(text.parse::<toml::Table>().map_or(Value::Boolean(false), Value::Table))
    }

    /// The number at a path, such as `final_ratio.hpc`; `table10.NW.0` is the first of a list.
    pub(super) fn get(&self, path: &str) -> Option<f64> {
        let found = self.at(path)?;
        found.as_float().or_else(|| found.as_integer().map(|n| n as f64))
    }

    /// The words at a path.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.at(path)?.as_str()
    }

    fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.0, |value, key| match value {
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            _ => value.get(key),
        })
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
        let uvm = PaperNumbers::of(Paper::Uvm);
        assert_eq!((uvm.get("table10.2DCONV.0"), uvm.get("table11.NW.1.1")), (Some(0.814_476), Some(0.98)));
        assert_eq!((uvm.get("table10.NW.9"), uvm.text("mean_kind.unity")), (None, Some("arithmetic")));
        assert_eq!(PaperNumbers::of(Paper::Cmd).get("ipc_gain.cmd+bpc"), Some(0.5253));
    }
}
