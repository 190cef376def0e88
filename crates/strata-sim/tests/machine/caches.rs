//! What caches merge, keep and write back, and which sectors.

use crate::script::{Bench, Ran, gpu, load_line, load_word, run, script, store_words, use_of};
use strata_core::{Addr, Bytes};
use strata_sim::config::GpuConfig;
use strata_testkit::Instr;

/// An L2 of one set: every line conflicts with every other.
fn one_set(ways: u32, changes: &[&str]) -> GpuConfig {
    let ways = format!("l2.ways={ways}");
    let small = ["dram.channels=1", "l2.slices=1", "l2.sets=1", "l2.eager_write_back=1", &ways];
    gpu("titan-x-pascal", &[&small, changes].concat())
}

/// Sectors read from DRAM and written to it.
fn traffic(ran: &Ran) -> (u64, u64) {
    let dram = ran.counted.dram();
    (dram.read_accesses, dram.write_accesses)
}

#[test]
fn a_load_of_a_line_on_its_way_to_l1_waits_for_it() {
    let config = gpu("titan-v", &[]);
    let alone = run(&config, &[&[load_word(1, 0), use_of(1)]]);
    let both = run(&config, &[&[load_word(1, 0), load_word(2, 4), use_of(1), use_of(2)]]);
    let machine = &both.counted.machine;
    assert_eq!((machine.l1_misses, machine.l1_merges, machine.sent), (1, 1, 1));
    assert_eq!(traffic(&both), (1, 0));
    // Two more instructions issue, one of them while the data is on its way.
    assert_eq!(both.cycles, alone.cycles + 1);
    // Another sector of the line is another request.
    let other = run(&config, &[&[load_word(1, 0), load_word(2, 32), use_of(1), use_of(2)]]);
    assert_eq!((other.counted.machine.l1_misses, other.counted.machine.l1_merges), (2, 0));
    assert_eq!(traffic(&other), (2, 0));
}

#[test]
fn a_request_for_a_line_on_its_way_to_l2_waits_for_it() {
    // Two SMs want the same word at the same time.
    let config = gpu("titan-v", &[]);
    let ran = Bench::new(config).run(script(&[&[load_word(1, 0), use_of(1)]]).grid(2, 0));
    let l2 = ran.counted.l2();
    assert_eq!((l2.reads, l2.read_hits, l2.read_awaited, l2.merges, l2.fetches), (2, 0, 1, 1, 1));
    assert_eq!(traffic(&ran), (1, 0));
}

#[test]
fn lines_without_sectors_come_whole() {
    let ran = run(&gpu("titan-v", &["l2.sectored=false"]), &[&[load_word(1, 0), use_of(1)]]);
    let l2 = ran.counted.l2();
    assert_eq!((l2.reads, l2.fetches, l2.fetched_along), (1, 4, 3));
    assert_eq!(traffic(&ran), (4, 0));
}

#[test]
fn a_line_that_leaves_takes_its_dirty_sectors_with_it_and_no_others() {
    // 17 words are two whole sectors and a part of a third. Two other lines push the line out.
    let evict = [load_word(1, 128), load_word(2, 256), use_of(1), use_of(2)];
    let ran = run(&one_set(2, &[]), &[&[&[store_words(0, 17)], &evict[..]].concat()]);
    assert_eq!(ran.counted.l2().write_backs, 3);
    assert_eq!(traffic(&ran), (2, 3));
    // As long as it stays, nothing is written.
    assert_eq!(traffic(&run(&one_set(3, &[]), &[&[&[store_words(0, 17)], &evict[..]].concat()])), (2, 0));
}

#[test]
fn a_sector_written_whole_can_be_read_and_one_written_in_part_must_be_fetched() {
    for (words, fetched) in [(8, 0), (7, 1)] {
        let ran = run(&one_set(2, &[]), &[&[store_words(0, words), load_word(1, 0), use_of(1)]]);
        assert_eq!((traffic(&ran), ran.counted.l2().read_hits), ((fetched, 0), 1 - fetched), "{words} words");
    }
}

#[test]
fn stores_that_together_fill_a_line_need_nothing_of_memory() {
    // Sixteen stores of 8 bytes, then the whole line is read, and two other lines push it out.
    let stores: Vec<Instr> = (0..16).map(|k| Instr::store(8 * k).needs(&[]).lanes(0b11)).collect();
    let rest = [load_line(1, 0), use_of(1), load_word(2, 128), load_word(3, 256), use_of(2), use_of(3)];
    let program = [&stores[..], &rest[..]].concat();
    let ran = run(&one_set(2, &["l2.byte_masks=true"]), &[&program]);
    assert_eq!((ran.counted.l2().fetches, ran.counted.l2().write_backs), (2, 4), "fetches are of the other lines");
    assert_eq!(traffic(&ran), (2, 4));
    let ran = run(&one_set(2, &["l2.byte_masks=false"]), &[&program]);
    assert_eq!(traffic(&ran), (6, 4), "without the bytes all four sectors are fetched");
}

#[test]
fn memory_that_cannot_mask_a_write_reads_what_l2_has_in_part() {
    // Two whole sectors and a part of a third leave L2.
    let evict = [load_word(1, 128), load_word(2, 256), use_of(1), use_of(2)];
    let program = [&[store_words(0, 17)], &evict[..]].concat();
    let ran = run(&one_set(2, &["dram.masked_writes=false"]), &[&program]);
    assert_eq!((traffic(&ran), ran.counted.merge_reads), ((3, 3), 1), "the third sector is read before it is written");
    // Sixteen stores of 8 bytes make a whole line, of which nothing is read.
    let stores: Vec<Instr> = (0..16).map(|k| Instr::store(8 * k).needs(&[]).lanes(0b11)).collect();
    let set = ["dram.masked_writes=false", "l2.byte_masks=true"];
    let ran = run(&one_set(2, &set), &[&[&stores[..], &evict[..]].concat()]);
    assert_eq!((traffic(&ran), ran.counted.merge_reads), ((2, 4), 0));
}

#[test]
fn beyond_the_cap_the_line_that_has_been_dirty_longest_is_cleaned() {
    // Sixteen sectors, of which eight may be dirty: the third line cleans the first, which stays.
    let config = one_set(4, &["l2.dirty_share=0.5"]);
    let two: Vec<Instr> = (0..2).map(|k| store_words(k, 32)).collect();
    let three: Vec<Instr> = (0..3).map(|k| store_words(k, 32)).collect();
    assert_eq!(traffic(&run(&config, &[&two])), (0, 0));
    assert_eq!(traffic(&run(&config, &[&[&three[..], &[load_line(1, 0), use_of(1)]].concat()])), (0, 4));
    // A sector of which only a part is here waits for the rest.
    let part = [&[store_words(0, 7)], &three[1..]].concat();
    assert_eq!(traffic(&run(&config, &[&part])), (0, 4), "the second line is cleaned in its place");
}

#[test]
fn write_through_writes_at_once_and_never_again() {
    let config = one_set(2, &["l2.write=through"]);
    let ran = run(&config, &[&[store_words(0, 17)]]);
    assert_eq!((traffic(&ran), ran.counted.l2().write_backs), ((0, 3), 3));
    let evicted = [store_words(0, 17), load_word(1, 128), load_word(2, 256), use_of(1), use_of(2)];
    assert_eq!(traffic(&run(&config, &[&evicted])), (2, 3));
    // An atomic is written through as well, when the line is there.
    assert_eq!(traffic(&run(&config, &[&[Instr::atomic(0).to(1), use_of(1)]])), (1, 1));
}

#[test]
fn a_dirty_line_that_is_old_is_written_back_and_stays() {
    // Two of four lines are young: the first line is old when two others were used.
    let config = one_set(4, &["l2.eager_write_back=0.5"]);
    let others = [load_word(1, 128), use_of(1), load_word(2, 256), use_of(2)];
    let used = |n: usize| [&[store_words(0, 8)], &others[..2 * n]].concat();
    assert_eq!(traffic(&run(&config, &[&used(1)])), (1, 0));
    let ran = run(&config, &[&used(2)]);
    assert_eq!((traffic(&ran), ran.counted.l2().eager_write_backs), ((2, 1), 1));
    let again = run(&config, &[&[&used(2)[..], &[load_word(3, 0), use_of(3)]].concat()]);
    assert_eq!((traffic(&again), again.counted.l2().read_hits), ((2, 1), 1), "the line is still there");
}

#[test]
fn a_copy_from_the_host_fills_l2_if_the_card_does_that() {
    for (fills, reads) in [("l2.copies_fill=true", 0), ("l2.copies_fill=false", 4)] {
        let mut bench = Bench::new(gpu("titan-v", &[fills]));
        bench.copy_in(Addr(0), Bytes(128));
        assert_eq!(traffic(&bench.run(script(&[&[load_line(1, 0), use_of(1)]]))), (reads, 0), "{fills}");
    }
}

#[test]
fn a_store_brings_its_line_into_l1_if_l1_allocates() {
    for (allocates, hits) in [("l1.write_allocate=true", 1), ("l1.write_allocate=false", 0)] {
        let config = gpu("titan-v", &[allocates]);
        let ran = run(&config, &[&[store_words(0, 32), load_line(1, 0), use_of(1)]]);
        assert_eq!(ran.counted.machine.l1_hits, hits, "{allocates}");
    }
}

#[test]
fn shared_memory_takes_its_part_of_l1() {
    // One set of four lines; a CTA with half of the memory leaves two of them.
    let l1 = ["l1.size=512B", "l1.ways=4", "shared.size=512B", "shared.per_cta=512B", "shared.granularity=128B"];
    let pass: Vec<Instr> = (0..4).flat_map(|line| [load_line(1, line), use_of(1)]).collect();
    for (from_l1, shared, hits) in [(true, 0, 4), (true, 256, 0), (false, 256, 4)] {
        let from = format!("shared.from_l1={from_l1}");
        let mut bench = Bench::new(gpu("titan-v", &[&l1[..], &["sm.ctas=1", &from]].concat()));
        let ran = bench.run_with(script(&[&[&pass[..], &pass].concat()]), shared);
        assert_eq!(ran.counted.machine.l1_hits, hits, "{from}, {shared} B");
    }
}
