//! The address map is one to one and rotates the bank groups.

use super::{gddr6, hbm2, kinds};
use crate::dram::{AddressMap, DramError, Layout};
use proptest::prelude::*;
use std::collections::HashSet;
use strata_core::Bytes;

#[test]
fn every_access_of_some_rows_has_its_own_place() {
    for (name, config) in kinds() {
        for stay in [32, 64, 128, 2048] {
            for hash in [false, true] {
                let map = AddressMap::new(&config, Layout { stay: Bytes(stay), hash }).unwrap();
                let rows = 64;
                let accesses = rows * u64::from(config.banks) * config.row.0 / 32;
                let mut seen = HashSet::new();
                for n in 0..accesses {
                    let decoded = map.decode(n * 32);
                    assert!(u32::from(decoded.bank) < config.banks, "{name}");
                    assert!(u64::from(decoded.column) < config.row.0 / 32, "{name}");
                    assert!(u64::from(decoded.row) < rows, "{name}");
                    assert!(seen.insert(decoded), "{name}: two addresses at {decoded:?}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn two_addresses_never_meet(a in 0u64..1 << 33, b in 0u64..1 << 33, stay in 5u32..9, hash: bool) {
        let map = AddressMap::new(&hbm2(), Layout { stay: Bytes(1 << stay), hash }).unwrap();
        prop_assert_eq!(map.decode(a) == map.decode(b), a / 32 == b / 32);
        prop_assert_eq!(map.encode(map.decode(a)), a / 32 * 32);
    }
}

#[test]
fn a_line_stays_in_a_row_and_the_next_is_in_another_group() {
    let map = AddressMap::new(&gddr6(), Layout::default()).unwrap();
    assert_eq!(map.run(), 4);
    for line in 0..4096u64 {
        let first = map.decode(line * 128);
        for sector in 1..4 {
            let decoded = map.decode(line * 128 + sector * 32);
            assert_eq!(
                (decoded.bank, decoded.row, decoded.column),
                (first.bank, first.row, first.column + sector as u16)
            );
        }
        assert_ne!(map.decode(line * 128 + 128).bank / 4, first.bank / 4, "line {line}");
    }
}

#[test]
fn strides_of_whole_rows_use_all_banks() {
    let map = AddressMap::new(&hbm2(), Layout::default()).unwrap();
    let stride = 2048 * 16;
    let banks: HashSet<_> = (0..16).map(|n| map.decode(n * stride).bank).collect();
    assert_eq!(banks.len(), 16);
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    let odd_row = crate::config::DramConfig { row: Bytes(1000), ..hbm2() };
    assert!(matches!(AddressMap::new(&odd_row, Layout::default()), Err(DramError::Value { key: "row", .. })));
    let wide = Layout { stay: Bytes(4096), hash: true };
    assert!(matches!(AddressMap::new(&hbm2(), wide), Err(DramError::Value { key: "stay", .. })));
}
