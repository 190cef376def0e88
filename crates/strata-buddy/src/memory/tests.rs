//! The mechanism in the small, its limits, and what happens to damaged memory.

mod properties;

use super::*;
use crate::Split;
use strata_codec::{Codec, Entry};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Sixteen pages of 4 KiB, metadata apart, and a carve-out of three times as many.
fn small() -> BuddyMemory {
    with_carve_out(48)
}

fn with_carve_out(pages: u64) -> BuddyMemory {
    let metadata = (16 + pages) * 4096 / 256;
    let memory = BuddyMemory::new(MemoryConfig {
        device: Bytes(16 * 4096 + metadata),
        carve_out: Bytes(pages * 4096),
        ..MemoryConfig::new(Bytes(0), Bytes(4096))
    });
    let memory = memory.expect("a memory");
    assert_eq!(memory.device_capacity(), Bytes(16 * 4096));
    memory
}

/// Entries whose codes have the state, one for each.
fn example(state: EntryState) -> Entry {
    let noisy_words = |count: usize| {
        let mut entry = [0; ENTRY_BYTES];
        for (i, word) in entry.chunks_exact_mut(4).take(count).enumerate() {
            word.copy_from_slice(&(i as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(7 * i as u32).to_le_bytes());
        }
        entry
    };
    let entry = (0..=32).rev().map(noisy_words).chain(counters()).find(|entry| state_of(entry) == state);
    entry.unwrap_or_else(|| panic!("no example of {state:?}"))
}

fn counters() -> impl Iterator<Item = Entry> {
    (1..100u32).map(|step| {
        let mut entry = [0; ENTRY_BYTES];
        for (i, word) in entry.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&(step * i as u32).to_le_bytes());
        }
        entry
    })
}

fn state_of(entry: &Entry) -> EntryState {
    EntryState::of(Codec::Bpc.size(entry))
}

fn read(memory: &BuddyMemory, address: Addr, length: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; length];
    memory.read(address, &mut bytes).expect("a sound address");
    bytes
}

/// The free lists: what an allocation that failed must leave alone.
fn free_lists(memory: &BuddyMemory) -> (Runs, Runs, Runs) {
    (memory.free_pages.clone(), memory.free_device.clone(), memory.free_buddy.clone())
}

#[test]
fn an_entry_has_as_many_sectors_in_buddy_memory_as_its_target_leaves_over() {
    for target in Target::ALL {
        for state in EntryState::ALL {
            let mut memory = small();
            let start = memory.alloc(Bytes(4096), target).expect("room");
            let entry = start.offset(5 * 128);
            memory.write(entry, &example(state)).expect("mapped");
            assert_eq!(read(&memory, entry, 128), example(state), "{state:?}, target {target}");
            let place = memory.place(entry).expect("mapped");
            let expected = if target == Target::X1 { EntryState::B128 } else { state };
            assert_eq!(memory.state(entry), Ok(expected));
            let in_buddy = place.buddy.map_or(0, |buddy| {
                let mut bytes = [0; ENTRY_BYTES];
                memory.buddy.read(buddy.0 - memory.config.buddy_base.0, &mut bytes);
                bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
            });
            let sectors = Split::of(expected, target).buddy as usize;
            assert!(in_buddy.div_ceil(32) <= sectors, "{in_buddy} bytes, {state:?}, target {target}");
            assert_eq!(in_buddy > 0, sectors > 0, "{state:?}, target {target}");
        }
    }
}

#[test]
fn nothing_moves_when_an_entry_grows_and_what_it_leaves_behind_does_no_harm() {
    let mut memory = small();
    let start = memory.alloc(Bytes(4096), Target::X2).expect("room");
    let (place, pte) = (memory.place(start).expect("mapped"), memory.pte(start));
    let behind = |memory: &BuddyMemory| {
        let mut bytes = [0; 64];
        memory.buddy.read(place.buddy.expect("compressed").0 - memory.config.buddy_base.0, &mut bytes);
        bytes
    };
    let noise = example(EntryState::B128);
    for state in [EntryState::B32, EntryState::B128, EntryState::B64, EntryState::Zero, EntryState::B8] {
        memory.write(start, &example(state)).expect("mapped");
        assert_eq!(read(&memory, start, 128), example(state));
        assert_eq!((memory.place(start), memory.pte(start)), (Ok(place), pte.clone()));
    }
    // The upper sectors of the time when it did not fit are there still.
    assert_eq!(behind(&memory), noise[64..]);
    assert_eq!(memory.state(start), Ok(EntryState::B8));
}

#[test]
fn the_places_of_entries_follow_from_the_base_register_the_page_table_and_the_target() {
    let mut memory = small();
    let base = memory.config.buddy_base;
    memory.alloc(Bytes(4096), Target::X1).expect("room");
    let start = memory.alloc(Bytes(5 * 4096), Target::X4).expect("room");
    // Page 2 of a group of four: two buddy pages of 3072 bytes come before it, one carve-out page and a half.
    let entry = start.offset(2 * 4096 + 3 * 128 + 17);
    assert_eq!(memory.pte(entry), Ok(Pte { target: Target::X4, device: 16 + 2 * 4, buddy: Some(1) }));
    let device = Addr(4096 + 2 * 1024 + 3 * 32);
    assert_eq!(memory.place(entry), Ok(Place { device, buddy: Some(base.offset(4096 + 2048 + 3 * 96)) }));
    // The next group begins in a carve-out page of its own.
    assert_eq!(memory.pte(start.offset(4 * 4096)).map(|pte| pte.buddy), Ok(Some(3)));
    assert_eq!(memory.buddy_used(), Bytes(4 * 4096));
}

#[test]
fn a_target_of_four_fills_device_memory_with_a_carve_out_of_three_times_its_size() {
    let mut memory = small();
    let start = memory.alloc(Bytes(64 * 4096), Target::X4).expect("four times device memory");
    assert_eq!((memory.device_used(), memory.buddy_used()), (Bytes(16 * 4096), Bytes(48 * 4096)));
    assert_eq!(read(&memory, start.offset(64 * 4096 - 8), 8), [0; 8]);
    memory.free(start).expect("allocated");
    let less = MemoryConfig { carve_out: Bytes(47 * 4096), ..memory.config };
    let error = BuddyMemory::new(less).expect("a memory").alloc(Bytes(63 * 4096), Target::X4);
    let shortage = Shortage { needed: Bytes(48 * 4096), free: Bytes(47 * 4096), longest: Bytes(47 * 4096) };
    assert_eq!(error, Err(AllocError::Buddy(shortage)));
}

#[test]
fn allocations_that_do_not_fit_are_refused_and_leave_nothing_behind() {
    let mut memory = with_carve_out(30);
    memory.alloc(Bytes(3 * 4096), Target::X2).expect("room");
    let before = free_lists(&memory);
    let check = |memory: &mut BuddyMemory, size, target, message: &str| {
        let error = memory.alloc(Bytes(size), target).expect_err("too large");
        assert_eq!(error.to_string(), message);
        assert_eq!(free_lists(memory), before);
    };
    check(&mut memory, 0, Target::X2, "an allocation of 0 bytes has no address");
    check(
        &mut memory,
        15 * 4096,
        Target::X1,
        "out of device memory: 61440 bytes needed, 59392 free, in pieces of at most 59392; \
         raise the target ratio or free something",
    );
    // 15/16 of a group of 16 pages and of 14: 15 carve-out pages and 14.
    check(
        &mut memory,
        30 * 4096 - 1,
        Target::X16,
        "out of buddy memory: 118784 bytes needed, 114688 free, in pieces of at most 114688; \
         enlarge the carve-out or lower the target ratio",
    );
    check(
        &mut memory,
        u64::MAX,
        Target::X16,
        "out of addresses: 18446744073709551615 bytes needed, 176128 free, in pieces of at most 176128; \
         device and buddy memory together hold no more",
    );
    memory.alloc(Bytes(16 * 4096), Target::X16).expect("room");
    assert_eq!(memory.buddy_used(), Bytes((2 + 15) * 4096));
}

#[test]
fn freed_memory_is_reused_and_reads_as_zero() {
    for target in Target::ALL {
        let mut memory = small();
        let empty = free_lists(&memory);
        let noise: Vec<u8> = example(EntryState::B128).repeat(32 * 3);
        let first = memory.alloc(Bytes(3 * 4096), target).expect("room");
        memory.write(first, &noise).expect("mapped");
        memory.free(first).expect("allocated");
        assert_eq!(free_lists(&memory), empty);
        let second = memory.alloc(Bytes(3 * 4096), target).expect("room");
        assert_eq!((second, read(&memory, second, 3 * 4096)), (first, vec![0; 3 * 4096]), "target {target}");
    }
}

#[test]
fn wrong_addresses_are_named_with_what_is_there() {
    #[track_caller]
    fn check<T: fmt::Debug>(result: Result<T, AccessError>, message: &str) {
        assert_eq!(result.expect_err("a wrong address").to_string(), message);
    }
    let mut memory = small();
    let a = memory.alloc(Bytes(5000), Target::X2).expect("room");
    let b = memory.alloc(Bytes(100), Target::X1).expect("room");
    assert_eq!((a, b), (Addr(0x10000), Addr(0x12000)));
    check(memory.read(Addr(0), &mut [0; 4]), "0x0 is in no allocation");
    check(memory.state(Addr(u64::MAX)), "0xffffffffffffffff is in no allocation");
    let end = "go past the end of allocation 0 (5000 bytes at 0x10000, target 2)";
    check(memory.read(Addr(0x11380), &mut [0; 9]), &format!("9 bytes at 0x11380 {end}"));
    check(memory.write(Addr(0x11ff0), &[0; 1]), &format!("1 bytes at 0x11ff0 {end}"));
    check(
        memory.free(Addr(0x12040)),
        "0x12040 is inside allocation 1 (100 bytes at 0x12000, target 1); free it where it begins",
    );
    memory.free(a).expect("allocated");
    let freed = "is in allocation 0 (5000 bytes at 0x10000, target 2), which has been freed";
    check(memory.free(a), &format!("0x10000 {freed}"));
    check(memory.pte(Addr(0x11000)), &format!("0x11000 {freed}"));
    // Another has the first of its pages now: nothing is left of it.
    memory.alloc(Bytes(1), Target::X4).expect("room");
    check(memory.pte(Addr(0x11000)), "0x11000 is in no allocation");
}

#[test]
fn metadata_of_any_value_gives_bytes_or_an_error() {
    for target in Target::ALL.into_iter().filter(|&target| target != Target::X1) {
        for state in EntryState::ALL {
            for code in 0..16 {
                let mut memory = small();
                let start = memory.alloc(Bytes(4096), target).expect("room");
                memory.write(start, &example(EntryState::B128)).expect("mapped");
                memory.write(start, &example(state)).expect("mapped");
                memory.metadata.set_code(&mut memory.device, 0, 0, code);
                let mut bytes = [0; 128];
                let result = memory.read(start, &mut bytes);
                match EntryState::from_code(code) {
                    None => assert!(matches!(result, Err(AccessError::Metadata { .. })), "{result:?}"),
                    Some(same) if same == state => assert_eq!((result, bytes), (Ok(()), example(state))),
                    // A larger size class only reads more than the code.
                    Some(other) if other > state && other < EntryState::B128 && state > EntryState::Zero => {
                        assert_eq!((result, bytes), (Ok(()), example(state)));
                    }
                    Some(_) => assert!(result.is_err() || bytes != example(state), "{state:?} read as {code}"),
                }
            }
        }
    }
}

#[test]
fn a_write_that_meets_damage_changes_nothing() {
    let mut memory = small();
    let start = memory.alloc(Bytes(4096), Target::X4).expect("room");
    memory.metadata.set_code(&mut memory.device, 0, 2, 9);
    let error = memory.write(start.offset(64), &[1; 256]).expect_err("the last entry is damaged");
    let message = "the metadata of the entry at 0x10100 in allocation 0 (4096 bytes at 0x10000, target 4) is 9, \
                   which is no state: it has been damaged";
    assert_eq!(error.to_string(), message);
    assert_eq!(read(&memory, start, 256), [0; 256]);
    // Written as a whole, it is sound again.
    memory.write(start.offset(256), &[1; 128]).expect("mapped");
    assert_eq!(read(&memory, start.offset(256), 128), [1; 128]);
}

#[test]
fn offsets_of_a_full_carve_out_have_the_bits_that_the_configuration_says() {
    for (page, bits) in [(2 * MIB, 16), (64 * KIB, 21)] {
        let mut memory = BuddyMemory::new(MemoryConfig::new(Bytes(32 * GIB), Bytes(page))).expect("a memory");
        let size = memory.device_capacity().0 * 4 / page * page;
        let start = memory.alloc(Bytes(size), Target::X4).expect("device memory, four times");
        let last = start.offset(size - 300);
        memory.write(last, &[0xa5; 300]).expect("mapped");
        assert_eq!(read(&memory, last, 300), [0xa5; 300]);
        let offset = memory.pte(last).expect("mapped").buddy.expect("compressed");
        assert_eq!(u64::BITS - offset.leading_zeros(), bits);
        assert_eq!(memory.config().offset_bits(), bits);
    }
}
