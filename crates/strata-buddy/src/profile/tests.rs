use super::*;
use crate::EntryState::{self, B8, B32, B64, B96, B128, Zero};
use proptest::prelude::*;
use strata_sim::cache::SectorMask;

type Snapshot<'a> = &'a [(EntryState, u64)];

/// An allocation of as many pages as it has entries in the first snapshot: each stands for a page full of its like.
fn allocation(name: &str, snapshots: &[Snapshot<'_>]) -> Allocation {
    let histogram = |snapshot: &Snapshot<'_>| {
        let mut histogram = Histogram::default();
        snapshot.iter().for_each(|&(state, entries)| histogram.add(state, entries));
        histogram
    };
    let snapshots: Vec<_> = snapshots.iter().map(histogram).collect();
    let entries = snapshots.first().map_or(0, Histogram::entries);
    Allocation { name: name.to_owned(), bytes: Bytes(entries * PAGE), snapshots }
}

/// The targets of a design, in the order of names, and the whole program's ratio.
#[track_caller]
fn check(allocations: &[Allocation], design: Design, rule: Rule, targets: &[Target], ratio: f64) {
    let choice = Profile::new(allocations.to_vec()).choose(design, &rule);
    let chosen: Vec<_> = choice.targets.iter().map(|(_, target)| target).collect();
    assert_eq!(chosen, targets, "{design:?}, {rule:?}");
    assert!((choice.outcome.ratio() - ratio).abs() < 1e-9, "{}", choice.outcome.ratio());
}

/// The target of one allocation.
#[track_caller]
fn check_one(snapshots: &[Snapshot<'_>], rule: Rule, target: Target) {
    check(&[allocation("a", snapshots)], Design::PerAllocation, rule, &[target], target.ratio());
}

#[test]
fn what_begins_as_zeros_and_ends_at_two_gets_two() {
    // 355.seismic of section II-C.
    check_one(&[&[(Zero, 100)], &[(Zero, 40), (B64, 60)], &[(Zero, 5), (B64, 95)]], Rule::default(), Target::X2);
}

#[test]
fn the_largest_target_within_the_threshold_is_chosen() {
    let mixed: &[Snapshot<'_>] = &[&[(B32, 55), (B64, 20), (B96, 15), (B128, 10)]];
    check_one(mixed, Rule::with_threshold(0.09), Target::X1);
    check_one(mixed, Rule::with_threshold(0.10), Target::X4Over3);
    check_one(mixed, Rule::with_threshold(0.24), Target::X4Over3);
    check_one(mixed, Rule::with_threshold(0.25), Target::X2);
    check_one(mixed, Rule::with_threshold(0.44), Target::X2);
    check_one(mixed, Rule::with_threshold(0.45), Target::X4);
    check_one(mixed, Rule::with_threshold(f64::NAN), Target::X1);
}

#[test]
fn exactly_the_threshold_is_allowed_and_one_entry_more_is_not() {
    check_one(&[&[(B32, 7), (B128, 3)]], Rule::default(), Target::X4);
    check_one(&[&[(B32, 699), (B128, 301)]], Rule::default(), Target::X1);
}

#[test]
fn allocations_of_different_kinds_get_their_own_targets() {
    let program = [allocation("cold", &[&[(B32, 300)]]), allocation("hot", &[&[(B128, 300)]])];
    check(&program, Design::Naive, Rule::default(), &[Target::X1, Target::X1], 1.0);
    check(&program, Design::PerAllocation, Rule::default(), &[Target::X4, Target::X1], 1.6);
    // Naive accepts what is hot if there is little of it, and pays with accesses.
    let program = [allocation("cold", &[&[(B32, 900)]]), allocation("hot", &[&[(B128, 100)]])];
    check(&program, Design::Naive, Rule::default(), &[Target::X4, Target::X4], 4.0);
    let accesses = |design| Profile::new(program.clone()).choose(design, &Rule::default()).outcome.buddy_accesses();
    assert_eq!(Design::ALL.map(accesses), [0.1, 0.0, 0.0]);
}

/// Mostly zero, beside so much that does not compress that the cap is far.
#[track_caller]
fn check_zero_page(snapshots: &[Snapshot<'_>], rule: Rule, target: Target) {
    let entries = 100 + 900;
    let program = [allocation("a", snapshots), allocation("b", &[&[(B128, 900)]])];
    let ratio = f64::from(entries * 128) / f64::from(100 * target.device_bytes() + 900 * 128);
    check(&program, Design::ZeroPage, rule, &[target, Target::X1], ratio);
}

#[test]
fn sixteen_is_for_what_stays_mostly_zero() {
    let zero: Snapshot<'_> = &[(Zero, 60), (B8, 35), (B128, 5)];
    check_zero_page(&[zero], Rule::default(), Target::X16);
    check_zero_page(&[&[(Zero, 94), (B32, 6)]], Rule::default(), Target::X4);
    check_zero_page(&[zero, &[(Zero, 94), (B32, 6)], zero], Rule::default(), Target::X4);
    check_zero_page(&[zero], Rule { mostly_zero: 0.99, ..Rule::default() }, Target::X4);
    check_zero_page(&[&[(Zero, 90), (B32, 10)]], Rule { mostly_zero: 0.90, ..Rule::default() }, Target::X16);
    // The Buddy Threshold holds for 16x too.
    check_zero_page(&[zero], Rule::with_threshold(0.01), Target::X1);
}

#[test]
fn only_the_last_design_knows_sixteen() {
    let program = [allocation("a", &[&[(Zero, 100)]]), allocation("b", &[&[(B128, 900)]])];
    check(&program, Design::PerAllocation, Rule::default(), &[Target::X4, Target::X1], 128_000.0 / 118_400.0);
}

#[test]
fn the_whole_program_stays_within_four() {
    let zeros = |name: &str, entries| allocation(name, &[&[(Zero, entries)]]);
    let (x1, x4, x16) = (Target::X1, Target::X4, Target::X16);
    // Alone it would be 16.
    check(&[zeros("a", 1000)], Design::ZeroPage, Rule::default(), &[x4], 4.0);
    // 3875 entries may have 124000 bytes; with all zeros at 16x they take 475 * 128 + 3400 * 8 = 88000, so 36000 are missing.
    // A demotion adds 24 bytes an entry: a's (4800) is too little, b's just enough, c's (40800) more than that.
    let program = [allocation("0", &[&[(B128, 475)]]), zeros("a", 200), zeros("b", 1500), zeros("c", 1700)];
    check(&program, Design::ZeroPage, Rule::default(), &[x1, x16, x4, x16], 4.0);
    // No one is enough: the largest first, then the smallest that is.
    let program = [zeros("a", 100), zeros("b", 300), zeros("c", 600), allocation("d", &[&[(B128, 50)]])];
    // 1050 entries may have 33600; they take 50 * 128 + 1000 * 8 = 14400; 19200 are missing; c gives 14400, b 7200, a 2400.
    let device = 50 * 128 + 100 * 8 + 300 * 32 + 600 * 32;
    check(&program, Design::ZeroPage, Rule::default(), &[x16, x4, x4, x1], 1050.0 * 128.0 / f64::from(device));
}

#[test]
fn what_would_take_more_in_pages_is_left_as_it_is() {
    let of_size = |bytes: u64| Allocation { bytes: Bytes(bytes), ..allocation("a", &[&[(B32, 10)]]) };
    // A page at 4x takes a quarter.
    check(&[of_size(PAGE / 4)], Design::PerAllocation, Rule::default(), &[Target::X1], 1.0);
    check(&[of_size(PAGE / 8 * 3)], Design::PerAllocation, Rule::default(), &[Target::X4], 1.5);
    let two_pages = (PAGE + 128) as f64 / (PAGE / 2) as f64;
    check(&[of_size(PAGE + 128)], Design::PerAllocation, Rule::default(), &[Target::X4], two_pages);
    // Of the allowed targets, the one that takes the least.
    let zeros = Allocation { bytes: Bytes(PAGE / 8), ..allocation("a", &[&[(Zero, 10)]]) };
    let rest = allocation("b", &[&[(B128, 10)]]);
    let ratio = (10.0 + 0.125) / (10.0 + 0.0625);
    check(&[zeros, rest], Design::ZeroPage, Rule::default(), &[Target::X16, Target::X1], ratio);
    // Who shares pages with others takes no more than his entries.
    let pooled = Profile::pooled([of_size(PAGE / 4)]).choose(Design::PerAllocation, &Rule::default());
    assert_eq!((pooled.targets.get("a"), pooled.outcome.ratio()), (Target::X4, 4.0));
}

#[test]
fn allocations_of_one_name_share_a_target() {
    let program = [allocation("a", &[&[(B32, 10)], &[]]), allocation("a", &[&[], &[(B64, 10)]])];
    check(&program, Design::PerAllocation, Rule::default(), &[Target::X2], 2.0);
}

#[test]
fn targets_of_one_input_are_judged_on_another() {
    let train = Profile::new([allocation("a", &[&[(B64, 100)]])]);
    let real = Profile::new([allocation("a", &[&[(B64, 60), (B128, 40)]]), allocation("new", &[&[(B32, 100)]])]);
    let outcome = real.evaluate(&train.choose(Design::ZeroPage, &Rule::default()).targets);
    assert_eq!((outcome.ratio(), outcome.buddy_accesses()), (200.0 / 150.0, 0.2));
}

#[test]
fn the_best_is_nearest_to_what_compression_gives() {
    let best = |snapshots: &[Snapshot<'_>]| {
        let program = [allocation("a", snapshots), allocation("b", &[&[(B128, 10_000)]])];
        Profile::new(program).best().targets.get("a")
    };
    assert_eq!(best(&[&[(B128, 10)]]), Target::X1);
    // Stripes as in FF_HPGMG: 104 bytes in the mean, with four of five entries over the target.
    assert_eq!(best(&[&[(Zero, 20), (B128, 80)]]), Target::X4Over3);
    assert_eq!(best(&[&[(B32, 10), (B128, 10)]]), Target::X2);
    // 48 bytes are as near to 32 as to 64.
    assert_eq!(best(&[&[(B32, 10)], &[(B64, 10)]]), Target::X4);
    assert_eq!(best(&[&[(Zero, 10)]]), Target::X16);
    let alone = Profile::new([allocation("a", &[&[(Zero, 10)]])]).best();
    assert_eq!((alone.targets.get("a"), alone.outcome.ratio()), (Target::X4, 4.0));
}

#[test]
fn of_nothing_nothing_is_compressed() {
    check(&[], Design::ZeroPage, Rule::default(), &[], 1.0);
    let choice = Profile::new([allocation("a", &[&[], &[]])]).choose(Design::ZeroPage, &Rule::default());
    assert_eq!((choice.targets.get("a"), choice.outcome.ratio()), (Target::X1, 1.0));
}

#[test]
fn a_higher_threshold_never_lowers_the_ratio() {
    let program =
        [allocation("a", &[&[(B32, 65), (B64, 20), (B128, 15)]]), allocation("b", &[&[(B96, 75), (B128, 25)]])];
    let sweep = Profile::new(program).sweep(Design::ZeroPage, &Rule::SWEEP);
    let ratios: Vec<_> = sweep.iter().map(|choice| choice.outcome.ratio()).collect();
    assert_eq!(ratios, [1.0, 256.0 / 192.0, 256.0 / 160.0, 256.0 / 128.0]);
}

fn any_allocation() -> impl Strategy<Value = Allocation> {
    let histogram = prop::array::uniform6(prop_oneof![Just(0u64), 0..50u64, 0..5000u64]);
    let snapshots = prop::collection::vec(histogram, 0..4);
    ("[a-e]", snapshots, 0..20_000_000u64).prop_map(|(name, snapshots, bytes)| {
        let snapshots = snapshots.into_iter().map(|counts| {
            let mut histogram = Histogram::default();
            EntryState::ALL.into_iter().zip(counts).for_each(|(state, entries)| histogram.add(state, entries));
            histogram
        });
        Allocation { name, bytes: Bytes(bytes), snapshots: snapshots.collect() }
    })
}

proptest! {
    #[test]
    fn no_choice_breaks_the_threshold_or_the_cap(
        allocations in prop::collection::vec(any_allocation(), 0..8), threshold in 0.0..1.0f64, mostly_zero in 0.5..1.0f64,
    ) {
        let profile = Profile::new(allocations);
        let rule = Rule { threshold, mostly_zero, ..Rule::default() };
        for design in Design::ALL {
            let choice = profile.choose(design, &rule);
            prop_assert!(choice.outcome.ratio() <= 4.0);
            prop_assert_eq!(profile.evaluate(&choice.targets), choice.outcome);
            for (name, one) in profile.by_name.iter().filter(|_| design != Design::Naive) {
                prop_assert!(one.worst_overflow(choice.targets.get(name)) <= threshold);
            }
        }
        prop_assert!(profile.best().outcome.ratio() <= 4.0);
    }

    #[test]
    fn one_more_demotion_was_needed(sizes in prop::collection::vec(1..2000u64, 1..8), raw in 0..300u64) {
        // Undoing the smallest demotion would bring the program over the cap.
        let zeros = sizes.iter().enumerate().map(|(i, &entries)| allocation(&format!("{i}"), &[&[(Zero, entries)]]));
        let profile = Profile::new(zeros.chain([allocation("raw", &[&[(B128, raw)]])]));
        let choice = profile.choose(Design::ZeroPage, &Rule::default());
        let demoted = profile.by_name.iter().filter(|(name, _)| choice.targets.get(name) == Target::X4);
        if let Some((name, _)) = demoted.min_by_key(|(_, one)| one.bytes()) {
            let mut targets = choice.targets.clone();
            targets.set(name, Target::X16);
            prop_assert!(profile.evaluate(&targets).ratio() > 4.0);
        }
    }
}

#[test]
fn the_threshold_can_be_on_accesses() {
    // One entry in ten does not compress, and nine of ten accesses are to those.
    let mut snapshot = Histogram::default();
    snapshot.add(EntryState::B32, 900);
    snapshot.add(EntryState::B128, 100);
    let allocation = Allocation { name: "a".into(), bytes: Bytes(64 << 20), snapshots: vec![snapshot] };
    let unseen = Allocation { name: "b".into(), ..allocation.clone() };
    let mut crossings = Crossings::default();
    crossings.add(EntryState::B32, SectorMask(1), 10);
    crossings.add(EntryState::B128, SectorMask(0b1111), 90);
    let profile = Profile::new([allocation, unseen]).with_crossings(&[("a".to_owned(), crossings)].into());
    let chosen = |rule: Rule| {
        let choice = profile.choose(Design::ZeroPage, &rule);
        (["a", "b"].map(|name| choice.targets.get(name)), choice.outcome.link_accesses())
    };
    assert_eq!(chosen(Rule::default()), ([Target::X4, Target::X4], Some(0.9)), "by entries");
    assert_eq!(chosen(Rule::default().by_accesses()), ([Target::X1, Target::X4], Some(0.0)), "nothing crosses for b");
    let all = Rule { threshold: 0.9, ..Rule::default().by_accesses() };
    assert_eq!(chosen(all).0, [Target::X4, Target::X4]);
}
