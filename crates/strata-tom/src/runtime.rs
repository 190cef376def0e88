//! TOM in a machine: the offload controller, the analyser and the mapping on the seams.
//!
//! While data are at the host, instances run on the GPU and the analyser watches them. When it has seen enough, the machine
//! stops, the best mapping is applied to the ranges that candidates accessed, and from then on instances are offloaded.

use crate::allocations::Allocations;
use crate::analyser::{Instance, LOWEST_BIT, Seen};
use crate::controller::{Stays, decide};
use crate::settings::{Mapping, Policy, Settings};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_core::stats::Unit;
use strata_core::{Addr, Bytes, LANES, LineAddr, OpInfo, WarpId};
use strata_sim::seam::{Arrival, Candidate, NextBlock, Offload, Place, Placed, SideCount, StackId, StackUse, Terms};
use strata_sim::stack_map::StackMap;

/// Core cycles from the end of learning until warps go on: an interrupt to the host and back (choice: 1 us at 1.4 GHz). The
/// copy itself is the one that the program makes before its first kernel, with TOM or without.
const INTERRUPT_CYCLES: u64 = 1_400;

/// Bytes of one register of a warp: 4 B for each of 32 lanes (TOM, section 3.1.1).
const REGISTER_BYTES: u64 = 4 * LANES as u64;

/// Bytes of a request besides its registers: the program counters of begin and end, and the active mask (TOM, section 4.2).
const REQUEST_BYTES: u64 = 3 * 4;

/// Local lines of mapped ranges are counted from here, so that they meet none of those that the baseline map places.
const MAPPED_LINES: u64 = 1 << 32;

/// What is known of the program before it runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Foreknowledge {
    /// Instances of candidates that it will execute.
    pub instances: u64,
    /// The mapping that suits all of them best: its number.
    pub best: Option<usize>,
    /// Where the ranges begin that candidates access.
    pub accessed: Vec<LineAddr>,
}

/// What became of instances.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    instances: u64,
    learned_from: u64,
    learning: u64,
    off: u64,
    condition: u64,
    tx_busy: u64,
    rx_busy: u64,
    full: u64,
    alu_busy: u64,
    queued: u64,
    batched: u64,
}

/// The mechanism, shared by the seams and by whoever tells it of the program.
#[derive(Clone)]
pub struct Tom(Arc<Mutex<State>>);

struct State {
    settings: Settings,
    map: StackMap,
    /// Warps that fit on the SM of a stack.
    warps: u32,
    /// By module and kernel.
    tables: BTreeMap<(u32, String), Arc<Table>>,
    current: Arc<Table>,
    allocations: Allocations,
    /// Ranges that candidates will access, if an oracle has told.
    accessed: Vec<LineAddr>,
    /// Instances to learn from before data move; none once they have.
    learning: Option<u64>,
    running: BTreeMap<WarpId, Instance>,
    /// Warps in instances that they came to while data were at the host, and that have had no second chance.
    came_while_learning: BTreeSet<WarpId>,
    seen: Seen,
    /// Lines that instances have accessed while it learned.
    watched: u64,
    /// The mapping of marked ranges.
    mapping: Option<usize>,
    counts: Counts,
}

impl Tom {
    /// For a machine whose stacks are `map`, each with an SM for so many warps.
    pub fn new(settings: Settings, map: StackMap, warps: u32, known: Foreknowledge) -> Self {
        let learning =
            (settings.mapping == Mapping::Learned).then(|| settings.learns_from(known.instances)).filter(|&n| n > 0);
        let mapping = known.best.filter(|_| settings.mapping == Mapping::Oracle);
        let accessed = if settings.mapping == Mapping::Oracle { known.accessed } else { Vec::new() };
        Self(Arc::new(Mutex::new(State {
            settings,
            map,
            warps,
            tables: BTreeMap::new(),
            current: Arc::default(),
            allocations: Allocations::default(),
            accessed,
            learning,
            running: BTreeMap::new(),
            came_while_learning: BTreeSet::new(),
            seen: Seen::default(),
            watched: 0,
            mapping,
            counts: Counts::default(),
        })))
    }

    /// A module was loaded: these are the tables of its kernels.
    pub fn loaded(&self, module: u32, tables: Vec<(String, Table)>) {
        let state = &mut *self.lock();
        state.tables.extend(tables.into_iter().map(|(kernel, table)| ((module, kernel), Arc::new(table))));
    }

    /// The next kernel is this one.
    pub fn launches(&self, module: u32, kernel: &str) {
        let state = &mut *self.lock();
        state.current = state.tables.get(&(module, kernel.to_owned())).cloned().unwrap_or_default();
    }

    /// The program gets memory.
    pub fn allocated(&self, start: Addr, size: Bytes) {
        let state = &mut *self.lock();
        let is_candidates = state.mapping.is_some() && state.accessed.contains(&start.line());
        state.allocations.allocated(start, size, is_candidates);
    }

    /// The program gives memory back.
    pub fn freed(&self, start: Addr) {
        self.lock().allocations.freed(start);
    }

    /// The lowest address bit of the mapping that was chosen, if one was.
    pub fn mapped_by(&self) -> Option<u32> {
        self.lock().mapping.map(|m| LOWEST_BIT + m as u32)
    }

    /// Looks at what the analyser has seen.
    pub fn look_at_seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.lock().seen)
    }

    /// One thread at a time has to do with it, so nobody ever waits here.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Instances are so long that what has been seen of them has to do.
    fn has_watched_enough(&self) -> bool {
        self.learning.is_some_and(|needed| self.watched >= self.settings.learns_at_most(needed))
    }

    /// An instance has been watched to its end, or for long enough. True if that was the last one needed.
    fn has_seen(&mut self, warp: WarpId) -> bool {
        let Some(instance) = self.running.remove(&warp) else { return false };
        self.seen.add(&instance);
        self.counts.learned_from += 1;
        self.learning.is_some_and(|needed| self.counts.learned_from >= needed)
    }
}

impl Place for Tom {
    fn place(&self, line: LineAddr) -> Placed {
        let state = self.lock();
        match state.mapping {
            Some(mapping) if state.allocations.is_marked(line) => {
                let Placed { partition, local } = state.map.placed_by_bits(line, mapping as u32);
                Placed { partition, local: local | MAPPED_LINES }
            }
            _ => state.map.place(line),
        }
    }
}

impl Offload for Tom {
    fn candidates(&mut self, instructions: &[OpInfo]) -> Vec<Candidate> {
        let state = &mut *self.lock();
        Arc::make_mut(&mut state.current).count_instructions(instructions);
        state.running.clear();
        state.came_while_learning.clear();
        let batches = state.settings.next == NextBlock::OnStack;
        state.current.rows.iter().map(|row| if batches { row.in_batch() } else { row.block.clone() }).collect()
    }

    fn terms(&self) -> Terms {
        let state = self.lock();
        let settings = &state.settings;
        Terms {
            pipeline_cycles: settings.pipeline_cycles,
            window_cycles: settings.busy_window,
            register_bytes: REGISTER_BYTES,
            request_bytes: REQUEST_BYTES,
            // The latency of the way to the host, and nothing else of it, is charged (section 5.1).
            host_latency: None,
            is_ideal: settings.policy == Policy::Ideal,
            is_coherent: settings.coherence,
            drops_at_every_spawn: settings.drops_at_every_spawn,
            follows: settings.follows,
            follows_absent_pages: settings.follows_absent_pages,
            next: settings.next,
        }
    }

    fn consider(&mut self, arrival: &Arrival<'_>) -> bool {
        let state = &mut *self.lock();
        if state.learning.is_some() {
            state.counts.instances += 1;
            state.running.insert(arrival.warp, Instance::default());
            state.came_while_learning.insert(arrival.warp);
            return false;
        }
        // One that comes again was counted when it came; now it stays for another reason, or goes.
        state.counts.instances += u64::from(!arrival.again);
        state.came_while_learning.remove(&arrival.warp);
        if state.settings.policy == Policy::None {
            state.counts.off += 1;
            return false;
        }
        let holds = state.current.rows[arrival.candidate].condition_holds(arrival.lanes, arrival.values);
        state.counts.condition += u64::from(!holds);
        state.counts.batched += u64::from(holds && arrival.on_stack);
        holds
    }

    fn decide(&mut self, candidate: usize, first: StackId, uses: &[StackUse]) -> Option<StackId> {
        let State { settings, warps, current, counts, .. } = &mut *self.lock();
        match decide(settings, *warps, &current.rows[candidate], first, uses) {
            Ok(stack) => return Some(stack),
            Err(Stays::Off) => counts.off += 1,
            Err(Stays::TxBusy) => counts.tx_busy += 1,
            Err(Stays::RxBusy) => counts.rx_busy += 1,
            Err(Stays::Full) => counts.full += 1,
            Err(Stays::AluBusy) => counts.alu_busy += 1,
            Err(Stays::Queued) => counts.queued += 1,
        }
        None
    }

    fn wants_accesses(&self) -> bool {
        self.lock().learning.is_some()
    }

    fn accessed_line(&mut self, warp: WarpId, line: LineAddr) -> bool {
        let state = &mut *self.lock();
        let Some(instance) = state.running.get_mut(&warp) else { return false };
        instance.access(&state.map, line);
        let accesses = instance.accesses();
        state.allocations.mark(line);
        state.watched += 1;
        let is_enough = state.settings.learning_accesses.is_some_and(|enough| accesses >= enough);
        state.has_watched_enough() || is_enough && state.has_seen(warp)
    }

    fn exited(&mut self, warp: WarpId) -> bool {
        let state = &mut *self.lock();
        state.counts.learning += u64::from(state.came_while_learning.remove(&warp));
        state.has_seen(warp)
    }

    fn is_at_host(&self) -> bool {
        self.lock().learning.is_some()
    }

    fn remapped(&mut self) -> u64 {
        let state = &mut *self.lock();
        let running = std::mem::take(&mut state.running);
        // Where instances are long, those that are not over tell what they have accessed so far.
        if state.has_watched_enough() {
            for instance in running.values() {
                state.seen.add(instance);
            }
            state.counts.learned_from += running.len() as u64;
        }
        state.learning = None;
        state.mapping = state.seen.best(state.settings.mapping_rule, usize::MAX);
        INTERRUPT_CYCLES
    }

    fn counts(&self) -> Vec<SideCount> {
        let c = self.lock().counts;
        let count = |name, what, value| SideCount { name, unit: Unit::Events, what, value };
        vec![
            count("tom.instances", "warps that came to candidates", c.instances),
            count("tom.learned_from", "of those, the ones that the mapping was learned from", c.learned_from),
            count("tom.stay.learning", "of those, the ones that ran while data were at the host", c.learning),
            count("tom.stay.off", "of those, the ones that the policy keeps on the GPU", c.off),
            count("tom.stay.condition", "of those, the ones whose condition did not hold", c.condition),
            count("tom.stay.tx_busy", "of those, the ones that would have burdened a busy link to a stack", c.tx_busy),
            count("tom.stay.rx_busy", "of those, the ones that would have burdened a busy link to the GPU", c.rx_busy),
            count("tom.stay.full", "of those, the ones whose stack had enough pending", c.full),
            count("tom.stay.alu_busy", "of those, arithmetic that would have gone to a busy SM", c.alu_busy),
            count("tom.stay.queued", "of those, the ones that would have waited long for issue slots", c.queued),
            count("tom.batched", "of those, the ones that began on a stack, behind another", c.batched),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SETTINGS;
    use strata_core::settings::Settings as Values;
    use strata_sim::config::load;

    const MAPPING: usize = 5;
    const ARRAYS: [u64; 3] = [0x10_0000, 0x20_0000, 0x30_0000];

    fn tom(set: &[&str], known: Foreknowledge) -> (Tom, StackMap) {
        let map = || StackMap::of(&load("ndp-maxwell", &[""; 0]).expect("a preset").config).expect("it has stacks");
        (Tom::new(Settings::of(&Values::read("tom", SETTINGS, set).expect("good")), map(), 48, known), map())
    }

    /// Whether the lines of each array lie where the mapping puts them, and not where the baseline map does.
    fn mapped(tom: &Tom, map: StackMap) -> [bool; 3] {
        ARRAYS.map(|start| {
            let lines = (0..64).map(|k| Addr(start).offset(128 * k).line());
            let by_bits = |line| map.placed_by_bits(line, MAPPING as u32).partition;
            let is_mapped = lines.clone().all(|line| tom.place(line).partition == by_bits(line));
            assert!(is_mapped || lines.clone().all(|line| tom.place(line) == map.place(line)), "{start:#x}");
            is_mapped
        })
    }

    #[test]
    fn an_oracle_places_what_candidates_will_access() {
        let accessed = vec![Addr(ARRAYS[1]).line()];
        let known = || Foreknowledge { instances: 9, best: Some(MAPPING), accessed: accessed.clone() };
        let (oracle, map) = tom(&["tom.mapping=oracle"], known());
        for start in ARRAYS {
            oracle.allocated(Addr(start), Bytes(0x2000));
        }
        assert_eq!(mapped(&oracle, map), [false, true, false]);
        oracle.freed(Addr(ARRAYS[1]));
        assert_eq!(mapped(&oracle, map), [false; 3]);
        let (baseline, map) = tom(&["tom.mapping=baseline"], known());
        for start in ARRAYS {
            baseline.allocated(Addr(start), Bytes(0x2000));
        }
        assert_eq!(mapped(&baseline, map), [false; 3]);
    }

    #[test]
    fn an_instance_that_comes_again_when_data_have_moved_is_counted_once() {
        let (mut learner, _) = tom(&["tom.learning_instances=1", "tom.policy=none"], Foreknowledge::default());
        let counted = |learner: &Tom, name: &str| {
            learner.counts().iter().find(|count| count.name == name).expect("it is counted").value
        };
        let arrival =
            |warp, again| Arrival { candidate: 0, warp: WarpId(warp), lanes: 1, values: &[], again, on_stack: false };
        (0..3).for_each(|warp| assert!(!learner.consider(&arrival(warp, false))));
        assert!(learner.exited(WarpId(0)), "the one instance that is needed");
        learner.remapped();
        // Two are in their loops, and a new one comes.
        learner.consider(&arrival(1, true));
        learner.consider(&arrival(2, true));
        learner.consider(&arrival(3, false));
        let all = ["tom.instances", "tom.stay.learning", "tom.stay.off"].map(|name| counted(&learner, name));
        assert_eq!(all, [4, 1, 3]);
    }

    #[test]
    fn long_instances_are_learned_from_before_they_end() {
        let known = Foreknowledge::default();
        let (mut learner, _) = tom(&["tom.learning_instances=1", "tom.learning_most=64"], known);
        learner.allocated(Addr(ARRAYS[1]), Bytes(0x2000));
        for warp in [3, 4].map(WarpId) {
            learner.consider(&Arrival { candidate: 0, warp, lanes: 1, values: &[], again: false, on_stack: false });
        }
        // Two warps that walk through 4 KB side by side.
        let walk = (0..32).flat_map(|k| [3, 4].map(|warp| (WarpId(warp), Addr(ARRAYS[1]).offset(128 * k).line())));
        let enough: Vec<bool> = walk.map(|(warp, line)| learner.accessed_line(warp, line)).collect();
        assert_eq!(enough.iter().position(|enough| *enough), Some(63), "64 lines of both");
        learner.remapped();
        assert_eq!(learner.mapped_by(), Some(LOWEST_BIT + MAPPING as u32));
        assert_eq!(learner.look_at_seen(Seen::instances), 2);
    }

    #[test]
    fn who_learns_places_what_was_accessed_and_foresees_nothing() {
        let later = vec![Addr(ARRAYS[2]).line()];
        let (mut learner, map) = tom(
            &["tom.learning_instances=1", "tom.learning_accesses=32"],
            Foreknowledge { instances: 9, best: Some(MAPPING), accessed: later },
        );
        learner.allocated(Addr(ARRAYS[0]), Bytes(0x2000));
        learner.allocated(Addr(ARRAYS[1]), Bytes(0x2000));
        assert!(learner.is_at_host() && learner.wants_accesses());
        let arrival = Arrival { candidate: 0, warp: WarpId(3), lanes: 1, values: &[], again: false, on_stack: false };
        assert!(!learner.consider(&arrival), "instances run on the GPU while it learns");
        // A walk through 4 KB: bits 12 and 13 are the lowest that do not change.
        let lines = (0..32).map(|k| Addr(ARRAYS[1]).offset(128 * k).line());
        let enough: Vec<bool> = lines.map(|line| learner.accessed_line(WarpId(3), line)).collect();
        assert_eq!(enough.iter().position(|enough| *enough), Some(31), "one instance, of 32 accesses");
        assert_eq!(learner.remapped(), INTERRUPT_CYCLES);
        learner.allocated(Addr(ARRAYS[2]), Bytes(0x2000));
        assert_eq!(learner.mapped_by(), Some(LOWEST_BIT + MAPPING as u32));
        assert_eq!(mapped(&learner, map), [false, true, false]);
    }
}
