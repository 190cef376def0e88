//! What offloading a block changes on the links: equations (3) and (4) of TOM, Section 3.1.1.
//!
//! All quantities are those of one warp, in words: the paper takes an address, a register of one lane and a datum as one
//! word each, and an acknowledgement as a quarter of it.

/// Bytes of a cache line (TOM, Section 3.1.1).
const LINE_BYTES: f64 = 128.0;

/// An acknowledgement in words (TOM, Section 3.1.1).
const ACKNOWLEDGEMENT: f64 = 0.25;

/// What the equations take for granted, and the size of the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Assumptions {
    /// Lanes of a warp: the paper's `S_W`.
    pub warp_size: u32,
    /// Cache lines that a load of a warp touches: `Coal_LD`.
    pub load_coalescing: f64,
    /// Cache lines that a store of a warp touches: `Coal_ST`.
    pub store_coalescing: f64,
    /// Share of those lines of a load that miss in the caches: `Miss_LD`.
    pub load_miss_rate: f64,
    /// Bytes of an address, 4 or 8; a line of 128 bytes makes `S_C` 32 or 16 of it.
    pub address_bytes: u32,
    /// Entries of the offloading metadata table: the most candidates that a function keeps.
    pub table_entries: usize,
}

impl Default for Assumptions {
    /// Those of the paper: Section 3.1.1 (perfect coalescing, half of the loads miss) and Section 6.6 (40 entries).
    fn default() -> Self {
        Self {
            warp_size: 32,
            load_coalescing: 1.0,
            store_coalescing: 1.0,
            load_miss_rate: 0.5,
            address_bytes: 4,
            table_entries: 40,
        }
    }
}

/// An assumption that no GPU could meet.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum BadAssumption {
    /// Not 1 to 1024.
    #[error("a warp has 1 to 1024 lanes, not {0}")]
    WarpSize(u32),
    /// Not between one line and one for each lane.
    #[error("a warp's access touches 1 to {1} lines, one for each lane at most, not {0}")]
    Coalescing(f64, u32),
    /// Not a share.
    #[error("a miss rate is a share, 0 to 1, not {0}")]
    MissRate(f64),
    /// Neither 4 nor 8.
    #[error("an address has 4 or 8 bytes, not {0}")]
    AddressBytes(u32),
}

/// What moves between the GPU and a memory stack for one block: registers once, memory accesses in every iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// 32-bit registers of a lane that the block needs: `REG_TX`.
    pub registers_in: u64,
    /// 32-bit registers of a lane that it leaves: `REG_RX`.
    pub registers_out: u64,
    /// 32-bit words that a lane loads in one iteration: `N_LD`.
    pub loads: u64,
    /// 32-bit words that a lane stores in one iteration: `N_ST`.
    pub stores: u64,
}

/// The change of traffic if the block is offloaded, in words; negative is saved.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// From the GPU to the stack: `BW_TX`.
    pub tx: f64,
    /// From the stack to the GPU: `BW_RX`.
    pub rx: f64,
}

impl Change {
    /// Both channels together.
    pub fn total(self) -> f64 {
        self.tx + self.rx
    }

    /// The first bit of the tag: offloading saves traffic to the stack.
    pub fn saves_tx(self) -> bool {
        self.tx < 0.0
    }

    /// The second bit of the tag: offloading saves traffic from the stack.
    pub fn saves_rx(self) -> bool {
        self.rx < 0.0
    }
}

impl Assumptions {
    /// Refuses what no GPU could meet.
    pub fn check(&self) -> Result<(), BadAssumption> {
        if !(1..=1024).contains(&self.warp_size) {
            return Err(BadAssumption::WarpSize(self.warp_size));
        }
        for lines in [self.load_coalescing, self.store_coalescing] {
            if !(1.0..=f64::from(self.warp_size)).contains(&lines) {
                return Err(BadAssumption::Coalescing(lines, self.warp_size));
            }
        }
        if !(0.0..=1.0).contains(&self.load_miss_rate) {
            return Err(BadAssumption::MissRate(self.load_miss_rate));
        }
        if !matches!(self.address_bytes, 4 | 8) {
            return Err(BadAssumption::AddressBytes(self.address_bytes));
        }
        Ok(())
    }

    /// Equations (3) and (4), for a block that goes round `iterations` times.
    pub fn change(&self, traffic: &Traffic, iterations: u64) -> Change {
        let warp = f64::from(self.warp_size);
        let line = LINE_BYTES / f64::from(self.address_bytes);
        let loads = traffic.loads as f64 * iterations as f64 * self.load_coalescing * self.load_miss_rate;
        let stores = traffic.stores as f64 * iterations as f64;
        Change {
            tx: traffic.registers_in as f64 * warp - (loads + stores * (warp + self.store_coalescing)),
            rx: traffic.registers_out as f64 * warp - (loads * line + ACKNOWLEDGEMENT * stores * self.store_coalescing),
        }
    }

    /// The fewest iterations from which on offloading saves traffic; none if it never does.
    pub fn least_iterations(&self, traffic: &Traffic) -> Option<u64> {
        let registers = Traffic { loads: 0, stores: 0, ..*traffic };
        let accesses = Traffic { registers_in: 0, registers_out: 0, ..*traffic };
        let (cost, saved) = (self.change(&registers, 1).total(), -self.change(&accesses, 1).total());
        if saved <= 0.0 {
            return None;
        }
        // A quotient of words has few digits, so it is exact here; conversion saturates where that no longer matters.
        Some(((cost / saved).floor() as u64).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop of Figure 4, Section 3.1.5.
    const LIBOR: Traffic = Traffic { registers_in: 5, registers_out: 0, loads: 1, stores: 1 };

    #[test]
    fn the_loop_of_the_paper() {
        let paper = Assumptions::default();
        for (iterations, words) in [(1, 110.25), (2, 60.5), (3, 10.75), (4, -39.0)] {
            assert_eq!(paper.change(&LIBOR, iterations).total(), words);
        }
        assert_eq!(paper.least_iterations(&LIBOR), Some(4));
        let four = paper.change(&LIBOR, 4);
        assert_eq!((four.saves_tx(), four.saves_rx()), (false, true));
    }

    #[test]
    fn each_assumption_is_a_factor_of_the_equations() {
        let check = |change: fn(&mut Assumptions), tx: f64, rx: f64| {
            let mut assumptions = Assumptions::default();
            change(&mut assumptions);
            assert_eq!(assumptions.change(&LIBOR, 1), Change { tx, rx });
        };
        check(|_| {}, 126.5, -16.25);
        check(|a| a.load_miss_rate = 1.0, 126.0, -32.25);
        check(|a| a.load_coalescing = 2.0, 126.0, -32.25);
        check(|a| a.store_coalescing = 4.0, 123.5, -17.0);
        check(|a| a.address_bytes = 8, 126.5, -8.25);
        check(|a| a.warp_size = 64, 254.5, -16.25);
    }

    #[test]
    fn a_block_whose_gain_equals_its_cost_needs_one_more_iteration() {
        let assumptions = Assumptions { load_miss_rate: 0.0, ..Assumptions::default() };
        let traffic = Traffic { registers_in: 133, registers_out: 0, loads: 0, stores: 1 };
        assert_eq!(assumptions.change(&traffic, 128).total(), 0.0);
        assert_eq!(assumptions.least_iterations(&traffic), Some(129));
        assert_eq!(assumptions.least_iterations(&Traffic { loads: 9, stores: 0, ..traffic }), None);
    }

    #[test]
    fn impossible_assumptions_are_refused() {
        let check = |change: fn(&mut Assumptions), words: &str| {
            let mut assumptions = Assumptions::default();
            change(&mut assumptions);
            assert_eq!(assumptions.check().expect_err(words).to_string(), words);
        };
        assert_eq!(Assumptions::default().check(), Ok(()));
        check(|a| a.warp_size = 0, "a warp has 1 to 1024 lanes, not 0");
        check(|a| a.load_coalescing = 33.0, "a warp's access touches 1 to 32 lines, one for each lane at most, not 33");
        check(
            |a| a.store_coalescing = f64::NAN,
            "a warp's access touches 1 to 32 lines, one for each lane at most, not NaN",
        );
        check(|a| a.load_miss_rate = -0.5, "a miss rate is a share, 0 to 1, not -0.5");
        check(|a| a.address_bytes = 5, "an address has 4 or 8 bytes, not 5");
    }
}
