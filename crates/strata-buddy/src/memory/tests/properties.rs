//! Any sequence of operations, beside a memory of plain vectors.

use super::super::page_table::Shape;
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Data that compresses more or less.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Zeros,
    Counter,
    Floats,
    Noise,
}

#[derive(Clone, Debug)]
enum Op {
    Alloc { size: u64, target: Target },
    Free { which: usize },
    Write { which: usize, at: usize, length: usize, kind: Kind, seed: u32 },
    Read { which: usize, at: usize, length: usize },
}

fn data(kind: Kind, seed: u32, length: usize) -> Vec<u8> {
    let word = |i: u32| match kind {
        Kind::Zeros => 0,
        Kind::Counter => seed.wrapping_add(3 * i),
        Kind::Floats => (1.0 + (seed.wrapping_add(i) % 1024) as f32 / 1024.0).to_bits(),
        Kind::Noise => (seed ^ i.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b).rotate_left(i % 32),
    };
    (0..length.div_ceil(4) as u32).flat_map(|i| word(i).to_le_bytes()).take(length).collect()
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let target = prop::sample::select(Target::ALL.to_vec());
    let kind = prop::sample::select(vec![Kind::Zeros, Kind::Counter, Kind::Floats, Kind::Noise]);
    let place = (any::<usize>(), any::<usize>(), 0..1500usize);
    vec(
        prop_oneof![
            2 => (1..12_000u64, target).prop_map(|(size, target)| Op::Alloc { size, target }),
            1 => any::<usize>().prop_map(|which| Op::Free { which }),
            6 => (place.clone(), kind, any::<u32>())
                .prop_map(|((which, at, length), kind, seed)| Op::Write { which, at, length, kind, seed }),
            3 => place.prop_map(|(which, at, length)| Op::Read { which, at, length }),
        ],
        0..60,
    )
}

/// Counts again what pages have, and that no piece has two.
fn recount(memory: &BuddyMemory, live: &[(Addr, Vec<u8>)]) {
    let page = memory.config.page.0;
    let (mut device, mut buddy) = (Vec::new(), Vec::new());
    let mut carve_out_pages = 0;
    for (start, bytes) in live {
        let pages = (bytes.len() as u64).div_ceil(page);
        for number in 0..pages {
            let address = start.offset(number * page);
            let place = memory.place(address).expect("mapped");
            let target = memory.pte(address).expect("mapped").target;
            let in_device = page * u64::from(target.device_bytes()) / 128;
            device.push(place.device.0..place.device.0 + in_device);
            buddy.extend(place.buddy.map(|at| at.0..at.0 + page - in_device));
            if number == 0 {
                carve_out_pages += (pages * Shape::of(target).buddy).div_ceil(PARTS);
            }
        }
    }
    assert_eq!(memory.device_used().0, device.iter().map(|piece| piece.end - piece.start).sum::<u64>());
    assert_eq!(memory.buddy_used().0, carve_out_pages * page);
    assert_eq!(memory.table.mapped().count(), device.len());
    for (mut pieces, end) in
        [(device, memory.device_capacity().0), (buddy, memory.config.buddy_base.0 + memory.config.carve_out.0)]
    {
        pieces.sort_by_key(|piece| piece.start);
        assert!(pieces.windows(2).all(|pair| pair[0].end <= pair[1].start), "{pieces:x?}");
        assert!(pieces.last().is_none_or(|last| last.end <= end), "{pieces:x?}");
    }
}

fn play(page: u64, ops: Vec<Op>) {
    let mut memory = BuddyMemory::new(MemoryConfig::new(Bytes(40 << 10), Bytes(page))).expect("a memory");
    let empty = free_lists(&memory);
    let mut live: Vec<(Addr, Vec<u8>)> = Vec::new();
    // Some allocation, and a range in it.
    let pick = |live: &[(Addr, Vec<u8>)], which: usize, at: usize, length: usize| {
        let which = which.checked_rem(live.len())?;
        let size = live[which].1.len();
        let at = at % size;
        Some((which, at..size.min(at + length)))
    };
    for op in ops {
        match op {
            Op::Alloc { size, target } => {
                let before = free_lists(&memory);
                match memory.alloc(Bytes(size), target) {
                    Ok(start) => live.push((start, vec![0; size as usize])),
                    Err(_) => assert_eq!(free_lists(&memory), before),
                }
            }
            Op::Free { which } => {
                if let Some(which) = which.checked_rem(live.len()) {
                    let (start, _) = live.swap_remove(which);
                    memory.free(start).expect("allocated");
                    assert!(memory.free(start).is_err());
                }
            }
            Op::Write { which, at, length, kind, seed } => {
                if let Some((which, range)) = pick(&live, which, at, length) {
                    let (start, bytes) = &mut live[which];
                    let data = data(kind, seed, range.len());
                    memory.write(start.offset(range.start as u64), &data).expect("mapped");
                    bytes[range].copy_from_slice(&data);
                }
            }
            Op::Read { which, at, length } => {
                if let Some((which, range)) = pick(&live, which, at, length) {
                    let (start, bytes) = &live[which];
                    assert_eq!(read(&memory, start.offset(range.start as u64), range.len()), bytes[range]);
                }
            }
        }
        recount(&memory, &live);
    }
    for (start, bytes) in live {
        assert_eq!(read(&memory, start, bytes.len()), bytes);
        memory.free(start).expect("allocated");
    }
    assert_eq!(free_lists(&memory), empty);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_read_gives_what_was_written(page in prop::sample::select(vec![512u64, 2048]), ops in ops()) {
        play(page, ops);
    }
}
