//! Turns: how long a warp, and a CTA, runs before others do.
//!
//! On a GPU all resident CTAs advance together. Here they take turns of bounded length, as do the warps of a CTA, so that no
//! warp gets far ahead of those it shares a CTA with, and who waits for another CTA (in a barrier that a program makes of
//! memory) does not wait for ever. A turn ends where a block of instructions begins: the test is one with that of the
//! launch's instruction limit.

/// Warp instructions of a warp's turn. Short enough that a program with a forgotten barrier, whose warps keep step on
/// hardware, often finds them in step here; longer than what going from warp to warp costs (`docs/performance.md`).
pub(crate) const WARP_TURN: u64 = 1 << 9;

/// Warp instructions of a warp's first turn behind a barrier where warps must keep step (`decode::step`): what is left of its
/// block, and one block more.
pub(crate) const FIRST_TURN: u64 = 1;

/// Warp instructions of a CTA's turn: its registers and shared memory have to come into the host's caches again.
pub(crate) const CTA_TURN: u64 = 1 << 18;

/// CTAs that take turns: as many as one V100 holds, the GPU that programs find unless told otherwise (80 SMs, each with 2048
/// threads, 32 CTAs and 96 KiB of shared memory: NVIDIA, Tesla V100 GPU Architecture, 2017, table 2).
pub(crate) fn fair_ctas(threads: u64, shared: u64) -> usize {
    const SMS: u64 = 80;
    let by_threads = 2048 / threads.max(1);
    let by_shared = (96 << 10) / shared.max(1);
    (SMS * by_threads.min(by_shared).clamp(1, 32)) as usize
}

/// Instructions that a warp may execute now, and the launch after that.
pub(crate) struct Turn {
    left: u64,
    granted: u64,
    beyond: u64,
    /// Bytes that had been written to device memory when the turn began.
    pub(crate) written: u64,
}

/// Whether a block of instructions may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grant {
    /// It may.
    Run,
    /// Others first.
    Over,
    /// Never: the launch has executed as much as it was allowed to.
    Limit,
}

impl Turn {
    /// A launch that may execute `limit` instructions.
    pub(crate) fn new(limit: u64) -> Self {
        Self { left: 0, granted: 0, beyond: limit, written: 0 }
    }

    /// A turn of at most `length` instructions begins.
    pub(crate) fn begin(&mut self, length: u64, written: u64) {
        let all = self.beyond + self.left;
        self.granted = all.min(length);
        (self.left, self.beyond) = (self.granted, all - self.granted);
        self.written = written;
    }

    /// Asks for the `length` instructions of a block.
    #[inline(always)]
    pub(crate) fn take(&mut self, length: u32) -> Grant {
        let length = u64::from(length);
        if self.left >= length {
            self.left -= length;
            return Grant::Run;
        }
        self.last(length)
    }

    /// A block that is longer than what is left: it runs if it is the first of its turn.
    #[cold]
    fn last(&mut self, length: u64) -> Grant {
        let more = length - self.left;
        if self.beyond < more {
            Grant::Limit
        } else if self.left == self.granted {
            (self.left, self.beyond) = (0, self.beyond - more);
            Grant::Run
        } else {
            Grant::Over
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Grant, Turn, fair_ctas};

    #[test]
    fn a_turn_ends_before_the_block_that_does_not_fit() {
        let mut turn = Turn::new(u64::MAX);
        turn.begin(10, 0);
        assert_eq!([turn.take(4), turn.take(6), turn.take(1)], [Grant::Run, Grant::Run, Grant::Over]);
        turn.begin(10, 0);
        assert_eq!([turn.take(4), turn.take(7)], [Grant::Run, Grant::Over]);
        turn.begin(10, 0);
        assert_eq!([turn.take(40), turn.take(1)], [Grant::Run, Grant::Over], "a long block has a turn to itself");
    }

    #[test]
    fn the_limit_of_a_launch_is_exact_whatever_the_turns() {
        for length in [1, 3, 10, u64::MAX] {
            let mut turn = Turn::new(100);
            let mut ran = 0;
            loop {
                turn.begin(length, 0);
                match turn.take(7) {
                    Grant::Run => ran += 7,
                    Grant::Over => unreachable!("a turn has just begun"),
                    Grant::Limit => break,
                }
            }
            assert_eq!(ran, 98);
        }
    }

    #[test]
    fn as_many_ctas_as_the_gpu_holds() {
        assert_eq!(fair_ctas(32, 0), 80 * 32);
        assert_eq!(fair_ctas(1024, 0), 80 * 2);
        assert_eq!(fair_ctas(256, 48 << 10), 80 * 2);
        assert_eq!(fair_ctas(1024, 200 << 10), 80);
    }
}
