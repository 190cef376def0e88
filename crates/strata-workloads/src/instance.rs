//! Runs with parameters of their own: what was measured on silicon, and what simulation speed is measured with.
//!
//! A [`Size`](crate::Size) says how long a run takes and means something else in every program. An instance is one exact
//! shape that somebody outside this project ran or that a benchmark is defined by, found by its label.

use crate::{Workload, all};

/// What an instance is there for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Purpose {
    /// A row that was measured on a real card: inputs are copied to the device right before the kernel, and nothing is
    /// launched but the kernels of the row.
    Silicon,
    /// A program of the fixed set that simulation speed is measured with.
    Bench,
}

/// One exact shape of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Instance {
    /// What it is called, unique in its program and never the name of a size: `f32-500K`, `128-naive`.
    pub label: &'static str,
    /// What it is there for.
    pub purpose: Purpose,
}

impl Instance {
    pub(crate) const fn silicon(label: &'static str) -> Self {
        Self { label, purpose: Purpose::Silicon }
    }

    pub(crate) const fn bench(label: &'static str) -> Self {
        Self { label, purpose: Purpose::Bench }
    }
}

/// Every instance for this purpose with its program, in the order of the programs.
pub fn instances(purpose: Purpose) -> impl Iterator<Item = (&'static dyn Workload, Instance)> {
    let of =
        |workload: &'static dyn Workload| workload.instances().into_iter().map(move |instance| (workload, instance));
    all().iter().copied().flat_map(of).filter(move |(_, instance)| instance.purpose == purpose)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;
    use std::collections::BTreeSet;

    #[test]
    fn labels_are_unique_and_no_sizes() {
        for workload in all() {
            let mut seen = BTreeSet::new();
            for instance in workload.instances() {
                assert!(instance.label.parse::<Size>().is_err(), "{}", instance.label);
                assert!(seen.insert(instance.label.to_lowercase()), "{}", instance.label);
            }
        }
    }

    #[test]
    fn speed_is_measured_with_the_fixed_set() {
        let named: Vec<_> = instances(Purpose::Bench).map(|(w, i)| (w.info().name, i.label)).collect();
        let expected = [
            ("saxpy", "1M"),
            ("bfs", "16K"),
            ("matmul-tiled", "256"),
            ("vectoradd", "1M"),
            ("reduction", "1M"),
            ("stencil", "1024"),
            ("gather", "256K"),
            ("chase", "4K"),
        ];
        assert_eq!(named, expected);
    }
}
