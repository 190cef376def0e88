//! Machines as small as our programs.
//!
//! Programs of a few megabytes fit into the caches of the machines that papers model, and nothing would be measured. Smaller
//! caches alone would be another machine: as many warps as before would crowd them. So everything shrinks alike: SMs, L2
//! slices, memory channels with what mechanisms have at each, and the link. What a warp, a slice or a channel meets is then
//! what it would meet in the whole machine under a program as many times larger.

use strata_core::Bytes;

/// The whole machine, as far as it shrinks.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScaleModel {
    pub(super) sms: u32,
    pub(super) slices: u32,
    pub(super) channels: u32,
    /// A working set must be so large for the whole machine that it does not fit into its caches.
    pub(super) least_working_set: Bytes,
    /// The smallest model.
    pub(super) most: u32,
}

impl ScaleModel {
    /// By what power of two a machine shrinks for a program of so many bytes.
    pub(super) fn scale(&self, bytes: Bytes) -> u32 {
        let mut scale = 1;
        while scale < self.most && self.is_resident(bytes, scale) {
            scale *= 2;
        }
        scale
    }

    /// True if the program fits into the caches even so.
    pub(super) fn is_resident(&self, bytes: Bytes, scale: u32) -> bool {
        bytes.0 * u64::from(scale) < self.least_working_set.0
    }

    /// The settings of the model; SMs are rounded to the nearest.
    pub(super) fn set(&self, scale: u32) -> Vec<String> {
        vec![
            format!("sm.count={}", (self.sms + scale / 2) / scale),
            format!("l2.slices={}", self.slices / scale),
            format!("dram.channels={}", self.channels / scale),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_shrink_with_the_program() {
        let model = ScaleModel { sms: 56, slices: 32, channels: 32, least_working_set: Bytes(128 << 20), most: 16 };
        let scale = |mib: u64| model.scale(Bytes(mib << 20));
        assert_eq!([scale(128), scale(127), scale(40), scale(16), scale(8), scale(1)], [1, 2, 4, 8, 16, 16]);
        assert!(model.is_resident(Bytes(7 << 20), 16) && !model.is_resident(Bytes(8 << 20), 16));
        assert_eq!(model.set(8), ["sm.count=7", "l2.slices=4", "dram.channels=4"]);
        assert_eq!(model.set(16)[0], "sm.count=4");
    }
}
