//! Where an address of a channel is: bank, row and column.

use super::gates::{ACCESS_BYTES, DramError};
use crate::config::DramConfig;
use strata_core::Bytes;

/// Choices of an address map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Consecutive bytes that stay in one bank before the next bank group has its turn.
    ///
    /// 128 keeps a line in one row, so that a line is one request; its sectors alternate with those of the lines before
    /// and behind it, which are in other bank groups, and that is what reaches the peak when CCD is shorter than CCDL.
    pub stay: Bytes,
    /// Bank bits are exclusive-ored with the low bits of the row's Gray code, so that strides of whole rows do not meet in
    /// one bank.
    ///
    /// The Gray code, because a stream leaves a row index through its last bank (all ones) and enters the next through its
    /// first (all zeros): with the plain row number these are the same bank whenever two low bits change at once, and the
    /// stream would wait for the row it has just used to close.
    pub hash: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { stay: Bytes(128), hash: true }
    }
}

/// A decoded address: where in a channel an access of 32 B goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DramAddress {
    /// The bank: bank group times banks of a group plus bank within its group.
    pub bank: u16,
    /// The row within its bank.
    pub row: u32,
    /// The access of 32 B within the row.
    pub column: u16,
}

/// Maps byte addresses within a channel to bank, row and column, one to one.
///
/// From the lowest bit:
///
/// | bits | meaning |
/// | --- | --- |
/// | 5 | byte of an access |
/// | log2(stay / 32) | low bits of the column |
/// | log2(bank groups) | bank group |
/// | the rest of log2(row / 32) | high bits of the column |
/// | log2(banks / bank groups) | bank within its group |
/// | the rest | row |
///
/// Bank group and bank are then exclusive-ored with the lowest bits of the row's Gray code, if the layout says so.
#[derive(Clone, Debug)]
pub struct AddressMap {
    column_low_bits: u32,
    group_bits: u32,
    column_high_bits: u32,
    inner_bits: u32,
    hash_mask: u32,
}

impl AddressMap {
    /// The map of a configuration.
    pub fn new(config: &DramConfig, layout: Layout) -> Result<Self, DramError> {
        super::gates::Gates::new(config)?;
        let access = u64::from(ACCESS_BYTES);
        let row = config.row.0;
        if !row.is_power_of_two() || !(access..=access << 16).contains(&row) {
            let cure = "must be a power of two, from 32 B to 2 MiB";
            return Err(DramError::Value { key: "row", value: row, cure });
        }
        if !layout.stay.0.is_power_of_two() || !(access..=row).contains(&layout.stay.0) {
            let cure = "bytes that stay in a bank must be a power of two, from 32 to the bytes of a row";
            return Err(DramError::Value { key: "stay", value: layout.stay.0, cure });
        }
        let group_bits = config.bank_groups.ilog2();
        let bank_bits = config.banks.ilog2();
        Ok(Self {
            column_low_bits: (layout.stay.0 / access).ilog2(),
            group_bits,
            column_high_bits: (row / layout.stay.0).ilog2(),
            inner_bits: bank_bits - group_bits,
            hash_mask: if layout.hash { config.banks - 1 } else { 0 },
        })
    }

    /// Accesses of 32 B that are consecutive in address and in column: the most that one request can ask for, if it begins
    /// at a multiple of them.
    pub fn run(&self) -> u32 {
        1 << self.column_low_bits
    }

    /// The byte address within the channel of an access: what [`Self::decode`] decodes to it.
    pub fn encode(&self, at: DramAddress) -> u64 {
        let (row, column) = (at.row, u32::from(at.column));
        let bank = u32::from(at.bank) ^ ((row ^ row >> 1) & self.hash_mask);
        let (group, inner) = (bank >> self.inner_bits, bank & ((1 << self.inner_bits) - 1));
        let (high, low) = (column >> self.column_low_bits, column & ((1 << self.column_low_bits) - 1));
        let fields = [(inner, self.inner_bits), (high, self.column_high_bits), (group, self.group_bits)];
        let fields = fields.into_iter().chain([(low, self.column_low_bits)]);
        let access = fields.fold(u64::from(row), |address, (field, bits)| address << bits | u64::from(field));
        access * u64::from(ACCESS_BYTES)
    }

    /// Decodes a byte address within the channel.
    #[inline]
    pub fn decode(&self, local: u64) -> DramAddress {
        let mut rest = local / u64::from(ACCESS_BYTES);
        let mut take = |bits: u32| {
            let field = (rest & ((1 << bits) - 1)) as u32;
            rest >>= bits;
            field
        };
        let column_low = take(self.column_low_bits);
        let group = take(self.group_bits);
        let column_high = take(self.column_high_bits);
        let inner = take(self.inner_bits);
        let row = rest as u32;
        let bank = (group << self.inner_bits | inner) ^ ((row ^ row >> 1) & self.hash_mask);
        DramAddress { bank: bank as u16, row, column: (column_high << self.column_low_bits | column_low) as u16 }
    }
}
