//! The mechanisms of the house.

use std::sync::LazyLock;
use strata_mechanism::{Combination, MechanismError, Registry};

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::default();
    let registered = strata_cmd::register(&mut registry)
        .and_then(|()| strata_buddy::register(&mut registry))
        .and_then(|()| strata_uvm::register(&mut registry))
        .and_then(|()| strata_tom::register(&mut registry))
        .and_then(|()| strata_prefetch::register(&mut registry))
        .and_then(|()| strata_srrip::register(&mut registry));
    // Names are constants: a test sees that they differ.
    debug_assert_eq!(registered, Ok(()));
    registry
});

/// The mechanisms of the house, in the order in which they are listed. Whoever has more registers them in a clone.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// Reads `none`, `buddy`, `cmd+bpc`.
pub fn combination(text: &str) -> Result<Combination, MechanismError> {
    registry().combination(text)
}

/// All mechanisms and their settings with the sources of their defaults, as Markdown: `docs/mechanisms.md`.
pub fn reference() -> String {
    strata_mechanism::reference(registry(), INTRODUCTION)
}

const INTRODUCTION: &str = "\
# Mechanisms

What can be put into a machine with `--with`, alone or joined by `+`, and the settings of each, for `--set`. This page is made
from the code by a test; `UPDATE_DOCS=1 cargo test -p strata-lab` writes it anew.

    strata run ep --gpu p100-buddy --with buddy --set buddy.metadata_cache=32KB
    strata compare ep cg --with bpc,buddy

Most mechanisms look at the data of a program, so that a recorded trace, which has none, is refused; `l2-5mb`, `stride` and `srrip`
do not. `strata mechanisms NAME` prints the same settings.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str) -> String {
        combination(text).expect_err("refused").to_string()
    }

    #[test]
    fn all_are_registered_and_read_back() {
        let names: Vec<_> = registry().names().collect();
        assert_eq!(
            names,
            ["l2-5mb", "cmd", "dedup-car", "dedup", "esd", "bcd", "bpc", "buddy", "uvm", "tom", "stride", "srrip"]
        );
        for text in ["none", "buddy", "bpc", "cmd+bpc", "esd", "l2-5mb", "dedup-car"] {
            assert_eq!(combination(text).expect("known").to_string(), text);
        }
        assert!(refused("budy").contains("did you mean `buddy`?"));
        assert!(refused("bpc+bpc").contains("twice"));
        assert_eq!(combination("bpc+cmd").expect("known").to_string(), "cmd+bpc", "L2 meets `cmd` first");
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        assert!(refused("buddy+bpc").contains("do not go together: both compress"));
        assert!(refused("bcd+bpc").contains("both compress"));
        assert!(refused("bcd+buddy").contains("both compress"));
        assert!(refused("esd+buddy").contains("moves single sectors"));
        assert!(refused("cmd+dedup").contains("deduplicated memory of its own"));
        assert!(refused("l2-5mb+cmd").contains("stands for the area"));
        assert!(combination("l2-5mb+bpc").is_ok());
        assert!(combination("l2-5mb+tom").is_ok());
        assert!(combination("uvm+cmd+buddy+tom").is_ok(), "all four papers at once");
    }
}
