//! Counters as a table: one line gives a counter its field, its path below the unit's own, its unit and its meaning.

/// A struct of counters from a table: with sums over units that are alike, differences of two readings, and the export to
/// a statistics tree, in sum or for each member of a group.
///
/// Invariant: counters only grow, so what happened between two readings is their difference.
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($field:ident: $path:literal, $unit:ident, $what:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name {
            $(#[doc = $what] pub $field: u64,)*
        }

        impl $name {
            /// What there is to count.
            pub const COUNTERS: &'static [strata_core::stats::MemberCounter] =
                &[$(strata_core::stats::MemberCounter {
                    name: $path,
                    unit: strata_core::stats::Unit::$unit,
                    description: $what,
                },)*];

            /// The counts, in the order of [`Self::COUNTERS`].
            pub fn counts(&self) -> [u64; Self::COUNTERS.len()] {
                [$(self.$field,)*]
            }

            /// What was counted since an earlier reading.
            #[must_use]
            pub fn delta(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(earlier.$field),)* }
            }

            /// Counts what another counted, too.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// Adds every counter to a tree, below `prefix`.
            pub fn export(&self, prefix: &str, stats: &mut strata_core::Stats) {
                for (counter, count) in Self::COUNTERS.iter().zip(self.counts()) {
                    stats.count(format!("{prefix}.{}", counter.name), count, counter.unit, counter.description);
                }
            }
        }
    };
}

pub(crate) use counters;
