//! Gives allocations their targets as a program makes them, and keeps the books of both memories.

use crate::memory::MemoryConfig;
use crate::share::{PAGE, Share};
use crate::{Target, Targets};
use std::collections::{BTreeMap, BTreeSet};
use strata_core::config::format_size;
use strata_core::{Addr, Bytes};

/// Why an allocation cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// The page tables of the host know nothing of compression (section III).
    #[error(
        "`{name}` is managed memory and has a target of {target}x: the host could not read it; give it a target of 1 in \
         the annotation file, or allocate it without management"
    )]
    Managed {
        /// Name of the allocation.
        name: String,
        /// Target ratio that the annotation gives it.
        target: Target,
    },
    /// One of the two memories is full.
    #[error(
        "out of {memory} memory: `{name}` takes {} of it with a target of {target}x, and {} of {} are in use; larger \
         targets take less device memory, smaller ones less buddy memory",
        format_size(Bytes(*.needed)), format_size(Bytes(*.used)), format_size(Bytes(*.of))
    )]
    Full {
        /// `device` or `buddy`.
        memory: &'static str,
        /// Name of the allocation that does not fit.
        name: String,
        /// Target ratio that the annotation gives it.
        target: Target,
        /// Bytes of that memory that the allocation takes.
        needed: u64,
        /// Bytes of that memory that others have.
        used: u64,
        /// Capacity of that memory in bytes.
        of: u64,
    },
}

/// The allocations of a program and what they take.
#[derive(Debug)]
pub struct Annotator {
    targets: Targets,
    /// Names that have a target and that no allocation has had.
    unmet: BTreeSet<String>,
    shares: BTreeMap<u64, Share>,
    used: Share,
    /// What programs can have of both memories.
    room: Share,
    /// Bytes of each name and its target, over all allocations that were made.
    made: BTreeMap<String, (u64, Target)>,
    /// Both memories when the program had the most in them.
    most: Share,
    /// Managed pages come and go: they have targets, and take room only while they are there, which others see to.
    paged: bool,
}

impl Annotator {
    /// For a device of this size; what holds metadata is not for programs.
    pub fn new(targets: Targets, device: Bytes) -> Self {
        let config = MemoryConfig::new(device, Bytes(PAGE));
        let room = Share { device: device.0 - config.metadata().0, buddy: config.carve_out.0 };
        let unmet = targets.iter().map(|(name, _)| name.to_owned()).collect();
        let (shares, used, most) = (BTreeMap::new(), Share::default(), Share::default());
        Self { targets, unmet, shares, used, room, made: BTreeMap::new(), most, paged: false }
    }

    /// The same where a mechanism moves managed pages.
    #[must_use]
    pub fn with_pages(self, paged: bool) -> Self {
        Self { paged, ..self }
    }

    /// Names that targets were given for and that no allocation has had so far.
    pub fn unmet(&self) -> impl Iterator<Item = &str> {
        self.unmet.iter().map(String::as_str)
    }

    /// An allocation is made. If it is refused, nothing has changed.
    pub fn allocated(&mut self, name: &str, start: Addr, size: Bytes, managed: bool) -> Result<(), Refused> {
        let target = self.targets.get(name);
        if managed && self.paged {
            self.unmet.remove(name);
            self.made.entry(name.to_owned()).or_insert((0, target)).0 += size.0;
            return Ok(());
        }
        if managed && target != Target::X1 {
            return Err(Refused::Managed { name: name.to_owned(), target });
        }
        let share = Share::of(size.0, target);
        let memories = [
            ("device", share.device, self.used.device, self.room.device),
            ("buddy", share.buddy, self.used.buddy, self.room.buddy),
        ];
        for (memory, needed, used, of) in memories {
            if used + needed > of {
                return Err(Refused::Full { memory, name: name.to_owned(), target, needed, used, of });
            }
        }
        self.used = Share { device: self.used.device + share.device, buddy: self.used.buddy + share.buddy };
        if self.used.device + self.used.buddy > self.most.device + self.most.buddy {
            self.most = self.used;
        }
        self.shares.insert(start.0, share);
        self.unmet.remove(name);
        self.made.entry(name.to_owned()).or_insert((0, target)).0 += size.0;
        Ok(())
    }

    /// Bytes of data over bytes of device memory that they take, when the program had the most of them; 1 without data.
    pub fn capacity(&self) -> f64 {
        let Share { device, buddy } = self.most;
        if device == 0 { 1.0 } else { (device + buddy) as f64 / device as f64 }
    }

    /// What was allocated so far: name, bytes of all allocations that have it, target.
    pub fn made(&self) -> impl Iterator<Item = (&str, Bytes, Target)> {
        self.made.iter().map(|(name, (bytes, target))| (name.as_str(), Bytes(*bytes), *target))
    }

    /// An allocation is freed.
    pub fn freed(&mut self, start: Addr) {
        let Some(share) = self.shares.remove(&start.0) else { return };
        self.used = Share { device: self.used.device - share.device, buddy: self.used.buddy - share.buddy };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn annotator(targets: &[(&str, Target)], device: u64) -> Annotator {
        let mut all = Targets::default();
        for (name, target) in targets {
            all.set(name, *target);
        }
        Annotator::new(all, Bytes(device))
    }

    #[test]
    fn a_memory_holds_more_than_it_is_large() {
        let mut annotator = annotator(&[("a", Target::X2), ("b", Target::X4)], 16 * MIB);
        assert_eq!(annotator.allocated("a", Addr(0), Bytes(20 * MIB), false), Ok(()));
        assert_eq!(annotator.allocated("b", Addr(32 * MIB), Bytes(20 * MIB), false), Ok(()));
        let refused =
            annotator.allocated("c", Addr(64 * MIB), Bytes(MIB), false).expect_err("15 MiB are taken").to_string();
        assert!(refused.starts_with("out of device memory: `c` takes 1 MiB of it with a target of 1x"), "{refused}");
        assert!((annotator.capacity() - 40.0 / 15.0).abs() < 1e-9, "{}", annotator.capacity());
        annotator.freed(Addr(0));
        assert_eq!(annotator.allocated("c", Addr(64 * MIB), Bytes(MIB), false), Ok(()));
        assert!(annotator.made().eq([
            ("a", Bytes(20 * MIB), Target::X2),
            ("b", Bytes(20 * MIB), Target::X4),
            ("c", Bytes(MIB), Target::X1),
        ]));
        assert_eq!(annotator.used, Share { device: 6 * MIB, buddy: 15 * MIB });
        assert_eq!(annotator.unmet().count(), 0);
    }

    #[test]
    fn sixteen_times_is_limited_by_the_carve_out() {
        let mut annotator = annotator(&[("z", Target::X16)], 16 * MIB);
        assert_eq!(annotator.allocated("z", Addr(0), Bytes(48 * MIB), false), Ok(()));
        let refused = annotator.allocated("z", Addr(64 * MIB), Bytes(16 * MIB), false);
        assert!(matches!(refused, Err(Refused::Full { memory: "buddy", .. })), "{refused:?}");
        assert_eq!(annotator.used, Share { device: 3 * MIB, buddy: 45 * MIB });
    }

    #[test]
    fn managed_memory_is_not_compressed() {
        let mut annotator = annotator(&[("m", Target::X2)], 16 * MIB);
        assert_eq!(annotator.unmet().collect::<Vec<_>>(), ["m"]);
        assert!(matches!(annotator.allocated("m", Addr(0), Bytes(1), true), Err(Refused::Managed { .. })));
        assert_eq!(annotator.allocated("other", Addr(0), Bytes(1), true), Ok(()));
    }
}
