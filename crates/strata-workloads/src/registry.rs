//! The list of programs, and how they are found.

use crate::{Workload, programs};
use strata_core::nearest::nearest;

/// Every program, in the order they are listed.
pub fn all() -> &'static [&'static dyn Workload] {
    programs::ALL
}

/// No program has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no workload `{name}`{}; `strata workloads` lists them all", .nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
pub struct UnknownWorkload {
    /// The name that was given.
    pub name: String,
    /// The program with the most similar name, if one is similar at all.
    pub nearest: Option<&'static str>,
}

/// The program of this name or alias, letters in either case.
pub fn find(name: &str) -> Result<&'static dyn Workload, UnknownWorkload> {
    let names = |w: &&'static dyn Workload| {
        let info = w.info();
        std::iter::once(info.name).chain(info.aliases.iter().copied())
    };
    let found = all().iter().find(|w| names(w).any(|n| n.eq_ignore_ascii_case(name)));
    found.copied().ok_or_else(|| {
        let nearest = nearest(name, all().iter().flat_map(names));
        UnknownWorkload { name: name.to_owned(), nearest }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_aliases_are_unique() {
        let mut seen = BTreeSet::new();
        for workload in all() {
            let info = workload.info();
            for name in std::iter::once(&info.name).chain(info.aliases) {
                assert!(seen.insert(name.to_lowercase()), "`{name}` names two programs");
            }
        }
    }

    #[test]
    fn every_kernel_has_its_resources() {
        for workload in all() {
            for module in workload.modules() {
                let entries = module.ptx.lines().filter_map(|l| l.strip_prefix(".visible .entry "));
                let kernels: BTreeSet<_> = entries.map(|l| l.trim_end_matches('(').to_owned()).collect();
                let resources = module.resources();
                assert_eq!(kernels, resources.keys().cloned().collect(), "{}", module.path);
                assert!(resources.values().all(|r| r.registers > 0));
            }
        }
    }

    #[test]
    fn every_program_has_the_three_sizes_and_its_papers() {
        use crate::Size;
        for workload in all() {
            let info = workload.info();
            assert!(info.sizes.starts_with(&[Size::Tiny, Size::Small, Size::Medium]), "{}", info.name);
            for paper in info.sizes.iter().filter_map(|s| s.name().strip_prefix("paper-")) {
                assert!(info.papers.contains(&paper), "{} has a size for {paper}", info.name);
            }
        }
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion_and_nonsense_none() {
        assert_eq!(find("hotspt").err().and_then(|e| e.nearest), Some("hotspot"));
        assert_eq!(find("Srad-v3").err().and_then(|e| e.nearest), Some("srad-v2"));
        let error = find("quux-solver").err();
        assert_eq!(error.as_ref().and_then(|e| e.nearest), None);
        assert_eq!(
            error.map(|e| e.to_string()).as_deref(),
            Some("there is no workload `quux-solver`; `strata workloads` lists them all")
        );
    }

    #[test]
    fn papers_names_are_aliases() {
        for (alias, name) in [
            ("BP", "backprop"),
            ("AlexNet", "alexnet"),
            ("ResNet50", "resnet"),
            ("tiny", "yolo-tiny"),
            ("Srad-v2", "srad"),
            ("2DCONV", "2dconv"),
            ("AddVectors", "addvectors"),
        ] {
            assert_eq!(find(alias).map(|w| w.info().name).ok(), Some(name));
        }
    }
}
