//! Each policy on a few trees.

use super::*;
use crate::geometry::Geometry;
use crate::prefetch::FirstTouch;
use strata_core::{Addr, Bytes};

/// What a policy may look at, of which nothing is foreseen.
fn among<'a>(
    (space, recency): &'a (Space, Recency),
    random: &'a mut SplitMix64,
    uses: &'a Uses,
    reserve: f64,
) -> Candidates<'a> {
    Candidates { space, recency, random, reserve, uses, prefetcher: &FirstTouch, now: Picos(0) }
}

/// `kb` KB of which everything is on the device, and the order of use as `uses` says.
fn full(kb: u64, uses: &[u32]) -> (Space, Recency) {
    let mut space = Space::new(Geometry::new(Bytes(4096), Addr(0)));
    space.allocate(Addr(0), Bytes(kb << 10), "a");
    let mut recency = Recency::new(true);
    recency.grow(&space);
    for page in 0..(kb / 4) as u32 {
        space.queue(Page(page));
        space.arrive(Page(page));
        recency.arrived(&space, Page(page));
    }
    for &page in uses {
        space.accessed(Page(page), false);
        recency.used(&space, Page(page));
    }
    (space, recency)
}

#[track_caller]
fn check(name: &str, state: &(Space, Recency), expected: &[(u32, u32)]) {
    let (mut random, mut uses) = (SplitMix64::new(1), Uses::default());
    uses.grow(state.0.trees.len(), 1);
    let chosen = choose(named(name).as_mut(), &mut among(state, &mut random, &uses, 0.0));
    let chosen: Vec<_> = chosen.iter().map(|pages| (pages.start, pages.end)).collect();
    assert_eq!(chosen, expected, "{name}");
}

#[test]
fn least_recent_trees_blocks_and_pages() {
    // Two trees; the first is used last.
    let state = full(4096, &[600, 0, 40]);
    check("lru", &state, &[(512, 1024)]);
    check("driver", &state, &[(0, 512)]);
    check("foreseen", &state, &[(512, 1024)]);
    // Of the second tree, all but the block of page 600 are older; the first of them came first.
    check("sequential", &state, &[(512, 528)]);
    check("lru-page", &state, &[(1, 2)]);
    let mut busy = full(4096, &[0]);
    busy.0.take(Page(700));
    check("lru", &busy, &[(0, 512)]);
}

#[test]
fn least_frequent_trees() {
    check("lfu", &full(4096, &[0, 0, 600]), &[(512, 1024)]);
    let mut written = full(4096, &[0, 600]);
    written.0.accessed(Page(600), true);
    written.0.accessed(Page(0), false);
    check("lfu", &written, &[(0, 512)]);
}

#[test]
fn the_tree_mirror_takes_what_is_left_of_a_node() {
    // Eight blocks; 0, 1 and 2 have left, so half of the lower node's neighbour is what counts.
    let mut state = full(512, &[]);
    for page in 0..48 {
        state.0.leave(Page(page));
        state.1.left(&state.0, Page(page));
    }
    // Block 3 goes; 4 to 7 are just half of the eight: they stay.
    check("tree", &state, &[(48, 64)]);
    for page in 48..64 {
        state.0.leave(Page(page));
    }
    // Block 4 goes: 5 alone is half of its pair and stays, but three of eight are less than half, so all go.
    check("tree", &state, &[(64, 128)]);
}

#[test]
fn a_random_page_may_leave() {
    let mut state = full(64, &[]);
    for page in (0..16).filter(|page| *page != 5) {
        state.0.take(Page(page));
    }
    check("random", &state, &[(5, 6)]);
}

#[test]
fn if_no_tree_is_whole_the_rest_of_one_goes() {
    let mut state = full(4096, &[]);
    for page in [3, 600] {
        state.0.leave(Page(page));
    }
    check("lru", &state, &[(0, 3), (4, 512)]);
    // What is in use stays.
    state.0.take(Page(10));
    check("lru", &state, &[(0, 3), (4, 10), (11, 512)]);
}

#[test]
fn a_reserved_share_is_passed_over() {
    let (mut random, uses) = (SplitMix64::new(1), Uses::default());
    let state = full(8192, &[]);
    let chosen = choose(named("lru").as_mut(), &mut among(&state, &mut random, &uses, 0.5));
    assert_eq!(chosen.first(), Some(&(1024..1536)));
}
