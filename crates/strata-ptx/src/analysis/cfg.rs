//! The control-flow graph: basic blocks and the edges between them.
//!
//! A block ends before a label that some branch names, and after `bra`, `brx`, `ret`, `exit` and `trap`, guarded or not.
//! Barriers and warp collectives stand inside blocks. Labels that nothing branches to start no block.

use super::graph::{Adjacency, search};
use crate::ast::{Function, Instruction, LabelId, List, Opcode, Operand};
use std::ops::Range;

/// Index of a block of a [`Cfg`]; the number of blocks stands for the virtual exit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

impl BlockId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether a `call` is the last instruction of its block.
///
/// An executor that switches functions wants to resume at the start of a block; an analysis of data flow has no use for
/// the extra blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallsEndBlocks {
    /// The block ends after a call; what follows is its only successor.
    Yes,
    /// A call is an instruction like any other.
    No,
}

/// Instructions that run one after the other, entered only at the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Index of the first instruction.
    pub first: u32,
    /// One past the index of the last.
    pub end: u32,
    /// True if a thread can leave the function from the end of this block.
    pub exits: bool,
    /// True if some path leads here from the entry.
    pub reachable: bool,
}

impl Block {
    /// The indices of its instructions; never empty.
    pub fn instructions(&self) -> Range<usize> {
        self.first as usize..self.end as usize
    }
}

/// The control-flow graph of a function. See the module for where blocks end.
///
/// A function without instructions has no blocks; its entry is its exit.
#[derive(Clone, Debug)]
pub struct Cfg {
    blocks: Vec<Block>,
    block_of: Vec<BlockId>,
    successors: Adjacency,
    predecessors: Adjacency,
}

impl Cfg {
    /// Divides `function` into blocks.
    pub fn build(function: &Function, calls: CallsEndBlocks) -> Self {
        let instructions = &function.instructions;
        let ends_block = |op| {
            matches!(op, Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
                || (op == Opcode::Call && calls == CallsEndBlocks::Yes)
        };

        let mut leads = vec![false; instructions.len() + 1];
        leads[0] = true;
        for (i, instruction) in instructions.iter().enumerate() {
            if ends_block(instruction.op) {
                leads[i + 1] = true;
            }
            each_target(function, instruction, |at| leads[at] = true);
        }

        let mut blocks: Vec<Block> = Vec::new();
        let mut block_of = Vec::with_capacity(instructions.len());
        for i in 0..instructions.len() as u32 {
            if leads[i as usize] {
                blocks.push(Block { first: i, end: i, exits: false, reachable: false });
            }
            let last = blocks.len() - 1;
            blocks[last].end = i + 1;
            block_of.push(BlockId(last as u32));
        }

        let exit = BlockId(blocks.len() as u32);
        let mut edges = Vec::new();
        // The last block that got an edge to each block: keeps the edges of long target lists distinct.
        let mut reached_from = vec![exit; blocks.len()];
        for b in 0..blocks.len() {
            let id = BlockId(b as u32);
            let last = &instructions[blocks[b].end as usize - 1];
            let mut exits = false;
            let mut connect = |at: usize| match block_of.get(at) {
                Some(&target) if reached_from[target.index()] != id => {
                    reached_from[target.index()] = id;
                    edges.push((id.0, target));
                }
                Some(_) => {}
                None => exits = true,
            };
            let mut branches = false;
            each_target(function, last, |at| {
                branches = true;
                connect(at);
            });
            let falls_through = match last.op {
                Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap => last.guard.is_some(),
                _ => true,
            };
            if falls_through {
                connect(blocks[b].end as usize);
            }
            blocks[b].exits = exits || (ends_block(last.op) && last.op != Opcode::Call && !branches);
        }

        let successors = Adjacency::from_edges(blocks.len(), &edges);
        let predecessors = successors.reversed();
        if !blocks.is_empty() {
            for &b in &search(&successors, 0).order {
                blocks[b as usize].reachable = true;
            }
        }
        Self { blocks, block_of, successors, predecessors }
    }

    /// The blocks, in the order of their instructions.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The identifiers of the blocks, in order; the virtual exit is not among them.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }

    /// A block; `b` is not the virtual exit.
    pub fn block(&self, b: BlockId) -> &Block {
        &self.blocks[b.index()]
    }

    /// The block that an instruction belongs to.
    pub fn block_of(&self, instruction: u32) -> BlockId {
        self.block_of[instruction as usize]
    }

    /// Where execution starts.
    pub const fn entry(&self) -> BlockId {
        BlockId(0)
    }

    /// The virtual exit: the identifier that stands for having left the function. It is no block.
    pub fn exit(&self) -> BlockId {
        BlockId(self.blocks.len() as u32)
    }

    /// The blocks that may follow `b`, each once: targets of its branch as written, then what it falls through to.
    /// Leaving the function is not among them but said by [`Block::exits`].
    pub fn successors(&self, b: BlockId) -> &[BlockId] {
        self.successors.of(b.0)
    }

    /// The blocks that `b` may follow, each once.
    pub fn predecessors(&self, b: BlockId) -> &[BlockId] {
        self.predecessors.of(b.0)
    }

    /// The edges among blocks.
    pub(super) fn graph(&self) -> &Adjacency {
        &self.successors
    }
}

/// Calls `f` with the instruction index of each target of a branch; for other instructions never.
fn each_target(function: &Function, instruction: &Instruction, mut f: impl FnMut(usize)) {
    if !matches!(instruction.op, Opcode::Bra | Opcode::Brx) {
        return;
    }
    let end = function.instructions.len();
    let mut visit = |label: LabelId| {
        if let Some(label) = function.labels.get(label.0 as usize) {
            f((label.at as usize).min(end));
        }
    };
    for operand in &instruction.operands {
        match operand {
            Operand::Label(label) => visit(*label),
            Operand::List(list) => {
                if let Some(List::Branches(targets)) = function.lists.get(*list as usize) {
                    targets.iter().copied().for_each(&mut visit);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Body, any_function};
    use super::*;
    use crate::ast::Type;
    use proptest::prelude::*;

    fn successors(cfg: &Cfg) -> Vec<Vec<u32>> {
        cfg.ids().map(|b| cfg.successors(b).iter().map(|s| s.0).collect()).collect()
    }

    #[test]
    fn a_function_without_instructions_has_no_blocks() {
        let cfg = Cfg::build(&Body::new().finish(), CallsEndBlocks::Yes);
        assert!(cfg.blocks().is_empty());
        assert_eq!(cfg.entry(), cfg.exit());
    }

    #[test]
    fn every_kind_of_end() {
        let mut body = Body::new();
        let (p, r) = (body.register(Type::Pred), body.register(Type::B32));
        let (middle, end) = (body.label(), body.label());
        let unused = body.label();
        body.ret();
        body.guard(p, false); // block 0: leaves or falls through
        body.brx(r, vec![middle, end, middle]); // block 1: one edge to each, and out
        body.compute(&[r], &[r]); // block 2: unreachable, falls through
        body.place(middle);
        body.compute(&[r], &[r]);
        body.place(unused);
        body.bra_if(p, middle); // block 3
        body.bra(end); // block 4: leaves
        let cfg = Cfg::build(&body.finish(), CallsEndBlocks::No);
        assert_eq!(successors(&cfg), [vec![1], vec![3], vec![3], vec![3, 4], vec![]]);
        let exits: Vec<_> = cfg.blocks().iter().map(|b| b.exits).collect();
        assert_eq!(exits, [true, true, false, false, true]);
        let reachable: Vec<_> = cfg.blocks().iter().map(|b| b.reachable).collect();
        assert_eq!(reachable, [true, true, false, true, true]);
        assert_eq!(cfg.predecessors(BlockId(3)), [BlockId(1), BlockId(2), BlockId(3)]);
    }

    #[test]
    fn calls_end_blocks_only_if_asked() {
        let mut body = Body::new();
        body.instruction(Opcode::Call, Vec::new(), Vec::new());
        body.instruction(Opcode::Call, Vec::new(), Vec::new());
        let function = body.finish();
        let cfg = Cfg::build(&function, CallsEndBlocks::Yes);
        assert_eq!(successors(&cfg), [vec![1], vec![]]);
        assert!(!cfg.block(BlockId(0)).exits && cfg.block(BlockId(1)).exits);
        assert_eq!(Cfg::build(&function, CallsEndBlocks::No).blocks().len(), 1);
    }

    proptest! {
        #[test]
        fn blocks_cover_the_body_and_edges_have_two_ends(function in any_function()) {
            let cfg = Cfg::build(&function, CallsEndBlocks::No);
            let mut next = 0;
            for b in cfg.ids() {
                let block = cfg.block(b);
                prop_assert_eq!(block.first, next);
                prop_assert!(block.end > block.first);
                next = block.end;
                prop_assert!((block.first..block.end).all(|i| cfg.block_of(i) == b));
                prop_assert!(block.exits || !cfg.successors(b).is_empty());
                for &s in cfg.successors(b) {
                    prop_assert!(cfg.predecessors(s).contains(&b));
                    prop_assert!(cfg.block(s).reachable || !block.reachable);
                }
            }
            prop_assert_eq!(next as usize, function.instructions.len());
        }
    }
}
