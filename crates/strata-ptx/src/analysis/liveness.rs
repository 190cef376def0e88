//! Which registers still matter at each instruction.
//!
//! # What liveness of a thread says about a warp
//!
//! A register is live at a point of *one thread's* control flow if some path from there reads it before an unguarded
//! write. A guarded write ends nothing: a lane whose guard is false keeps the old value.
//!
//! A warp holds a register as a vector with one element for each lane, and lanes may stand at different points. Two
//! registers may nevertheless share a vector exactly if no thread has both live at once, provided that
//!
//! 1. every write touches only the elements of the lanes that are active at it (and pass its guard), and
//! 2. element `l` of one register overlaps element `l` of the other and no other element.
//!
//! For then the vector is 32 separate scalars: what is written at an instruction is written for lanes that stand at that
//! instruction, where liveness of a thread has shown the other register to be dead; a lane that waits on the other side
//! of a branch keeps its elements because it is not active. Reads across lanes (`shfl`, `mma`, …) change nothing: the
//! lanes read take part in the instruction, so they stand at it too. Whoever merges whole vectors instead of masking, or
//! lets registers of different widths overlap so that condition 2 fails, needs liveness over all paths of the warp.
//!
//! # Size
//!
//! Most registers live within one block. Only those read in a block that has not written them before get a column in the
//! bit matrix of blocks, and only what is live on entry is stored: live on leaving is the union over the successors.

use super::cfg::{BlockId, CallsEndBlocks, Cfg};
use super::graph::{Adjacency, NONE};
use crate::ast::{Function, Instruction, RegId};

/// A set of registers of one function, as bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterSet {
    words: Vec<u64>,
}

impl RegisterSet {
    /// The empty set over `registers` registers.
    pub fn new(registers: usize) -> Self {
        Self { words: vec![0; registers.div_ceil(64)] }
    }

    /// True if `register` is in the set.
    pub fn contains(&self, register: RegId) -> bool {
        self.words.get(register.0 as usize / 64).is_some_and(|word| word >> (register.0 % 64) & 1 != 0)
    }

    /// Adds `register`; true if it was not in the set.
    pub fn insert(&mut self, register: RegId) -> bool {
        let word = &mut self.words[register.0 as usize / 64];
        let before = *word;
        *word |= 1 << (register.0 % 64);
        *word != before
    }

    /// Removes `register`; true if it was in the set.
    pub fn remove(&mut self, register: RegId) -> bool {
        let word = &mut self.words[register.0 as usize / 64];
        let before = *word;
        *word &= !(1 << (register.0 % 64));
        *word != before
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The registers in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = RegId> + '_ {
        bits(&self.words).map(RegId)
    }
}

/// The positions of the set bits, ascending.
fn bits(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    words.iter().enumerate().flat_map(|(i, &word)| {
        std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)))
            .take_while(|&rest| rest != 0)
            .map(move |rest| i as u32 * 64 + rest.trailing_zeros())
    })
}

/// Liveness of the registers of one function. See the module for what it means in a warp.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Registers live on entry to some block; the columns of `live_in`.
    shared: Vec<RegId>,
    /// The column of each register, or [`NONE`].
    column: Vec<u32>,
    /// One row for each block.
    live_in: Vec<u64>,
    row: usize,
    /// What a caller reads after `ret`.
    returned: Vec<RegId>,
}

/// The most blocks times registers that live across them which a function may have: a matrix of 512 MiB. A
/// text of a few megabytes can ask for terabytes.
const MOST_BITS: u64 = 1 << 32;

/// The blocks of a function and the registers that live across them, if there are more of both than can be analysed.
/// Linear in the function, and quick for all but the largest.
pub(crate) fn too_large(function: &Function) -> Option<(usize, usize)> {
    if (function.instructions.len() as u64 + 1).saturating_mul(function.registers.len() as u64) <= MOST_BITS {
        return None;
    }
    let cfg = Cfg::build(function, CallsEndBlocks::Yes);
    let returned: Vec<RegId> = function.return_registers.iter().copied().flatten().collect();
    let (exposed, _) = summarise(function, &cfg, &returned);
    let shared = (0..function.registers.len() as u32).filter(|&r| !exposed.of(r).is_empty()).count();
    (cfg.blocks().len() as u64 * shared as u64 > MOST_BITS).then_some((cfg.blocks().len(), shared))
}

impl Liveness {
    /// Computes liveness; `cfg` is of this `function`, with or without blocks ending at calls.
    ///
    /// Registers that an old-style `.func` returns are live where it is left.
    pub fn build(function: &Function, cfg: &Cfg) -> Self {
        let registers = function.registers.len();
        let returned: Vec<RegId> = function.return_registers.iter().copied().flatten().collect();
        let (exposed, written) = summarise(function, cfg, &returned);

        let mut column = vec![NONE; registers];
        let mut shared = Vec::new();
        for r in 0..registers as u32 {
            if !exposed.of(r).is_empty() {
                column[r as usize] = shared.len() as u32;
                shared.push(RegId(r));
            }
        }

        let row = shared.len().div_ceil(64);
        let mut live_in = vec![0; row * cfg.blocks().len()];
        let mut group = Group::new(cfg);
        for (word, registers) in shared.chunks(64).enumerate() {
            group.solve(cfg, registers, &exposed, &written);
            for (b, &live) in group.live.iter().enumerate() {
                if live != 0 {
                    live_in[b * row + word] = live;
                }
            }
        }
        Self { shared, column, live_in, row, returned }
    }

    fn row(&self, b: BlockId) -> &[u64] {
        &self.live_in[b.index() * self.row..(b.index() + 1) * self.row]
    }

    /// True if `register` is live at the start of `b`.
    pub fn is_live_in(&self, b: BlockId, register: RegId) -> bool {
        match self.column[register.0 as usize] {
            NONE => false,
            c => self.row(b)[c as usize / 64] >> (c % 64) & 1 != 0,
        }
    }

    /// True if `register` is live at the end of `b`.
    pub fn is_live_out(&self, cfg: &Cfg, b: BlockId, register: RegId) -> bool {
        cfg.successors(b).iter().any(|&s| self.is_live_in(s, register))
            || (cfg.block(b).exits && self.returned.contains(&register))
    }

    /// The registers live at the start of `b`, ascending.
    pub fn live_in(&self, b: BlockId) -> impl Iterator<Item = RegId> + '_ {
        bits(self.row(b)).map(|c| self.shared[c as usize])
    }

    /// Calls `f` once for each register that is live at the start of some block of `order`, with the first such block.
    pub(super) fn each_first(&self, order: impl Iterator<Item = BlockId>, mut f: impl FnMut(BlockId, RegId)) {
        let mut seen = vec![0; self.row];
        for b in order {
            for (word, &live) in self.row(b).iter().enumerate() {
                let new = live & !seen[word];
                if new != 0 {
                    seen[word] |= new;
                    bits(&[new]).for_each(|bit| f(b, self.shared[word * 64 + bit as usize]));
                }
            }
        }
    }

    /// A cursor that walks blocks backwards, giving the live set at each instruction.
    pub fn cursor<'a>(&'a self, function: &'a Function, cfg: &'a Cfg) -> LiveCursor<'a> {
        LiveCursor {
            liveness: self,
            function,
            cfg,
            live: RegisterSet::new(self.column.len()),
            block: None,
            first: 0,
            at: 0,
        }
    }
}

/// Walks a block from its end to its start. See [`Liveness::cursor`].
///
/// ```text
/// cursor.start(block);                      // live() is live at the end of the block
/// while let Some(i) = cursor.step() { … }   // live() is live before instruction i
/// ```
#[derive(Clone, Debug)]
pub struct LiveCursor<'a> {
    liveness: &'a Liveness,
    function: &'a Function,
    cfg: &'a Cfg,
    live: RegisterSet,
    /// The block it is in; at its start, `live` is exactly what is live on entry to it.
    block: Option<BlockId>,
    first: u32,
    at: u32,
}

impl LiveCursor<'_> {
    /// Moves to the end of `b`.
    pub fn start(&mut self, b: BlockId) {
        self.start_with(b, |_, _| {});
    }

    /// As [`Self::start`], and calls `changed` for each register that enters (true) or leaves (false) the set.
    ///
    /// After a whole block only differences are visited: cheapest from the last block to the first.
    pub fn start_with(&mut self, b: BlockId, mut changed: impl FnMut(RegId, bool)) {
        let liveness = self.liveness;
        let walked = self.block.filter(|_| self.at == self.first);
        if walked.is_none() {
            self.live.iter().for_each(|r| changed(r, false));
            self.live.clear();
        }
        for word in 0..liveness.row {
            let before = walked.map_or(0, |walked| liveness.row(walked)[word]);
            let after = self.cfg.successors(b).iter().fold(0, |live, &s| live | liveness.row(s)[word]);
            for bit in bits(&[before ^ after]) {
                let r = liveness.shared[word * 64 + bit as usize];
                let enters = after >> bit & 1 != 0;
                if enters {
                    self.live.insert(r)
                } else {
                    self.live.remove(r)
                };
                changed(r, enters);
            }
        }
        let block = self.cfg.block(b);
        if block.exits {
            for &r in &liveness.returned {
                if self.live.insert(r) {
                    changed(r, true);
                }
            }
        }
        (self.block, self.first, self.at) = (Some(b), block.first, block.end);
    }

    /// Moves before the previous instruction and returns its index; none at the start of the block.
    pub fn step(&mut self) -> Option<u32> {
        self.step_with(|_, _| {})
    }

    /// As [`Self::step`], and calls `changed` for each register that enters (true) or leaves (false) the set.
    pub fn step_with(&mut self, changed: impl FnMut(RegId, bool)) -> Option<u32> {
        if self.at == self.first {
            return None;
        }
        self.at -= 1;
        step_back(&self.function.instructions[self.at as usize], &mut self.live, changed);
        Some(self.at)
    }

    /// What is live where the cursor stands.
    pub fn live(&self) -> &RegisterSet {
        &self.live
    }
}

/// Turns what is live after `instruction` into what is live before it.
fn step_back(instruction: &Instruction, live: &mut RegisterSet, mut changed: impl FnMut(RegId, bool)) {
    if instruction.guard.is_none() {
        instruction.each_written(|r| {
            if live.remove(r) {
                changed(r, false);
            }
        });
    }
    instruction.each_read(|r| {
        if live.insert(r) {
            changed(r, true);
        }
    });
}

/// Liveness of up to 64 registers at once: for each block, one bit for each of them.
struct Group {
    live: Vec<u64>,
    written: Vec<u64>,
    /// Blocks whose predecessors have not heard of their last change.
    changed: BlockSet,
}

impl Group {
    fn new(cfg: &Cfg) -> Self {
        let blocks = cfg.blocks().len();
        Self { live: vec![0; blocks], written: vec![0; blocks], changed: BlockSet::new(blocks) }
    }

    /// Sets `live` to what is live on entry to each block: from the blocks that read backwards to those that write.
    fn solve(&mut self, cfg: &Cfg, registers: &[RegId], exposed: &Adjacency, written: &Adjacency) {
        self.live.fill(0);
        self.written.fill(0);
        for (bit, r) in registers.iter().enumerate() {
            for b in written.of(r.0) {
                self.written[b.index()] |= 1 << bit;
            }
            for &b in exposed.of(r.0) {
                self.add(b, 1 << bit);
            }
        }
        // Always the last block that has changed: against the flow, except at loops.
        while let Some(b) = self.changed.take_last() {
            let live = self.live[b.index()];
            for &p in cfg.predecessors(b) {
                self.add(p, live & !self.written[p.index()]);
            }
        }
    }

    /// Adds registers to those live on entry to `b`.
    fn add(&mut self, b: BlockId, bits: u64) {
        let live = &mut self.live[b.index()];
        if bits & !*live != 0 {
            *live |= bits;
            self.changed.insert(b);
        }
    }
}

/// A set of blocks that gives its last one quickly: bits, and bits that say which words of bits are not zero.
struct BlockSet {
    blocks: Vec<u64>,
    words: Vec<u64>,
    /// No word of `words` from here on has a bit set.
    end: usize,
}

impl BlockSet {
    fn new(blocks: usize) -> Self {
        let words = blocks.div_ceil(64);
        Self { blocks: vec![0; words], words: vec![0; words.div_ceil(64)], end: 0 }
    }

    fn insert(&mut self, b: BlockId) {
        let word = b.index() / 64;
        self.blocks[word] |= 1 << (b.index() % 64);
        self.words[word / 64] |= 1 << (word % 64);
        self.end = self.end.max(word / 64 + 1);
    }

    fn take_last(&mut self) -> Option<BlockId> {
        while self.end > 0 && self.words[self.end - 1] == 0 {
            self.end -= 1;
        }
        let group = self.end.checked_sub(1)?;
        let word = group * 64 + self.words[group].ilog2() as usize;
        let bit = self.blocks[word].ilog2();
        self.blocks[word] &= !(1 << bit);
        if self.blocks[word] == 0 {
            self.words[group] &= !(1 << (word % 64));
        }
        Some(BlockId(word as u32 * 64 + bit))
    }
}

/// For each register, the blocks that read it before they surely write it, and the blocks that surely write it.
fn summarise(function: &Function, cfg: &Cfg, returned: &[RegId]) -> (Adjacency, Adjacency) {
    let registers = function.registers.len();
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    // The last block that exposed, and that surely wrote, each register.
    let mut exposed_in = vec![NONE; registers];
    let mut written_in = vec![NONE; registers];
    for b in cfg.ids() {
        let mut expose = |r: RegId, written_in: &[u32]| {
            let i = r.0 as usize;
            if written_in[i] != b.0 && exposed_in[i] != b.0 {
                exposed_in[i] = b.0;
                reads.push((r.0, b));
            }
        };
        for instruction in &function.instructions[cfg.block(b).instructions()] {
            instruction.each_read(|r| expose(r, &written_in));
            if instruction.guard.is_none() {
                instruction.each_written(|r| {
                    if written_in[r.0 as usize] != b.0 {
                        written_in[r.0 as usize] = b.0;
                        writes.push((r.0, b));
                    }
                });
            }
        }
        if cfg.block(b).exits {
            for &r in returned {
                expose(r, &written_in);
            }
        }
    }
    (Adjacency::from_edges(registers, &reads), Adjacency::from_edges(registers, &writes))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Body, any_function};
    use super::*;
    use crate::ast::Type;
    use proptest::prelude::*;

    /// By definition: walk forward from `start` over single instructions until one reads `r` or surely writes it.
    fn reaches_a_read(function: &Function, cfg: &Cfg, start: u32, r: RegId) -> bool {
        let mut seen = vec![false; function.instructions.len()];
        let mut stack = vec![start];
        while let Some(i) = stack.pop() {
            if std::mem::replace(&mut seen[i as usize], true) {
                continue;
            }
            let instruction = &function.instructions[i as usize];
            let (mut read, mut written) = (false, false);
            instruction.each_read(|x| read |= x == r);
            instruction.each_written(|x| written |= x == r);
            if read {
                return true;
            }
            if written && instruction.guard.is_none() {
                continue;
            }
            let b = cfg.block_of(i);
            if i + 1 < cfg.block(b).end {
                stack.push(i + 1);
                continue;
            }
            if cfg.block(b).exits && function.return_registers.contains(&Some(r)) {
                return true;
            }
            stack.extend(cfg.successors(b).iter().map(|&s| cfg.block(s).first));
        }
        false
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(function in any_function()) {
            let cfg = Cfg::build(&function, CallsEndBlocks::No);
            let liveness = Liveness::build(&function, &cfg);
            let mut cursor = liveness.cursor(&function, &cfg);
            for b in cfg.ids() {
                cursor.start(b);
                for r in (0..function.registers.len() as u32).map(RegId) {
                    prop_assert_eq!(cursor.live().contains(r), liveness.is_live_out(&cfg, b, r));
                }
                while let Some(i) = cursor.step() {
                    for r in (0..function.registers.len() as u32).map(RegId) {
                        prop_assert_eq!(cursor.live().contains(r), reaches_a_read(&function, &cfg, i, r), "{:?} at {}", r, i);
                    }
                }
                prop_assert!(liveness.live_in(b).eq(cursor.live().iter()));
            }
        }
    }

    #[test]
    fn a_block_set_gives_the_last_block_first() {
        let mut set = BlockSet::new(10_000);
        let mut taken = Vec::new();
        for b in [7, 9_999, 64, 63, 4096, 4095, 64] {
            set.insert(BlockId(b));
        }
        taken.extend(set.take_last());
        set.insert(BlockId(9_000));
        taken.extend(std::iter::from_fn(|| set.take_last()));
        assert_eq!(taken, [9_999, 9_000, 4096, 4095, 64, 63, 7].map(BlockId));
    }

    #[test]
    fn a_cursor_that_leaves_a_block_midway_forgets_it() {
        let mut body = Body::new();
        let (a, b) = (body.register(Type::B32), body.register(Type::B32));
        body.compute(&[a], &[]);
        body.store(&[a]);
        body.store(&[b]);
        let function = body.finish();
        let cfg = Cfg::build(&function, CallsEndBlocks::No);
        let liveness = Liveness::build(&function, &cfg);
        let mut cursor = liveness.cursor(&function, &cfg);
        cursor.start(cfg.entry());
        cursor.step();
        cursor.step();
        assert!(cursor.live().iter().eq([a, b]));
        let mut left = Vec::new();
        cursor.start_with(cfg.entry(), |r, enters| left.push((r, enters)));
        assert_eq!(left, [(a, false), (b, false)]);
        assert_eq!(cursor.live().iter().count(), 0);
    }

    #[test]
    fn a_guarded_write_keeps_the_old_value_alive() {
        let mut body = Body::new();
        let (p, r) = (body.register(Type::Pred), body.register(Type::B32));
        body.compute(&[r], &[]);
        body.compute(&[r], &[]);
        body.guard(p, false);
        body.store(&[r]);
        let function = body.finish();
        let cfg = Cfg::build(&function, CallsEndBlocks::No);
        let liveness = Liveness::build(&function, &cfg);
        let mut cursor = liveness.cursor(&function, &cfg);
        cursor.start(cfg.entry());
        let mut live = Vec::new();
        while cursor.step().is_some() {
            live.push(cursor.live().contains(r));
        }
        live.reverse();
        assert_eq!(live, [false, true, true]);
    }

    #[test]
    fn returned_registers_are_live_where_the_function_is_left() {
        let mut body = Body::new();
        let r = body.register(Type::B32);
        body.compute(&[r], &[]);
        body.ret();
        let mut function = body.finish();
        function.return_registers = vec![Some(r)];
        let cfg = Cfg::build(&function, CallsEndBlocks::No);
        let liveness = Liveness::build(&function, &cfg);
        assert!(liveness.is_live_out(&cfg, cfg.entry(), r));
        assert!(!liveness.is_live_in(cfg.entry(), r));
    }
}
