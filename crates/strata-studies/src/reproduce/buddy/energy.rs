//! Figure 13: the energy of reading every snapshot once, by the paper's rules (section IV-B) and constants.

use super::memory::Memory;
use super::timing::Point;
use crate::reproduce::paper::PaperNumbers;
use strata_buddy::{EntryState, Split, Target};
use strata_core::SECTOR_BYTES;

/// The paper's constants, picojoules.
pub(super) struct Constants {
    activation: f64,
    column_per_bit: f64,
    io_per_bit: f64,
    /// Of the link, ingress and egress of a switch included.
    link_per_bit: f64,
    header_bytes: f64,
    /// What compressed data cost on the interface, over plain data. Plain data toggle half of the time (choice: the usual
    /// assumption behind an energy per bit), compressed data always.
    toggle: f64,
}

impl Constants {
    pub(super) fn new(paper: &PaperNumbers) -> Option<Self> {
        Some(Self {
            activation: paper.get("energy_pj.hbm2_row_activation")?,
            column_per_bit: paper.get("energy_pj.hbm2_column_per_bit")?,
            io_per_bit: paper.get("energy_pj.hbm2_io_per_bit")?,
            link_per_bit: paper.get("energy_pj.link_per_bit")? * paper.get("energy_rules.link_factor")?,
            header_bytes: paper.get("energy_rules.packet_header_bytes")?,
            toggle: paper.get("energy_rules.compressed_toggle_rate")? / 0.5,
        })
    }

    /// Reading bytes from HBM2; `rows` are rows opened per byte, `toggle` what the interface costs over plain data.
    fn hbm2(&self, bytes: f64, rows: f64, toggle: f64) -> f64 {
        bytes * rows * self.activation + bytes * 8.0 * (self.column_per_bit + self.io_per_bit * toggle)
    }
}

/// Energy over that of the plain memory: with compression for bandwidth, and with Buddy Compression.
pub(super) fn relative(memory: &Memory, plain: &Point, buddy: &Point, constants: &Constants) -> (f64, f64) {
    // Row-buffer locality as the plain machine had it.
    let rows = plain.activates / plain.dram_bytes.max(1.0);
    let misses = 1.0 - buddy.metadata_hit_rate.unwrap_or(1.0);
    let sector = SECTOR_BYTES as f64;
    let (mut uncompressed, mut bandwidth, mut capacity) = (0.0, 0.0, 0.0);
    for (target, states) in &memory.entries {
        for (state, entries) in states.iter() {
            let n = entries as f64;
            let toggle = if matches!(state, EntryState::Zero | EntryState::B128) { 1.0 } else { constants.toggle };
            uncompressed += n * constants.hbm2(128.0, rows, 1.0);
            let stored = f64::from(state.bytes().next_multiple_of(SECTOR_BYTES as u32));
            bandwidth += n * constants.hbm2(stored, rows, toggle);
            if *target == Target::X1 {
                capacity += n * constants.hbm2(128.0, rows, 1.0);
                continue;
            }
            let split = Split::of(state, *target);
            capacity += n * constants.hbm2(f64::from(split.device) * sector, rows, toggle);
            capacity += n * misses * constants.hbm2(sector, rows, 1.0);
            if split.buddy > 0 {
                let bytes = f64::from(split.buddy) * sector;
                capacity += n * constants.hbm2(bytes, rows, toggle);
                capacity += n * (bytes + constants.header_bytes) * 8.0 * constants.link_per_bit;
            }
        }
    }
    (bandwidth / uncompressed, capacity / uncompressed)
}
