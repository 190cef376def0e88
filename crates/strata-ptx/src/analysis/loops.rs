//! Natural loops, their nesting, and regions that are no natural loop.
//!
//! An edge to a block that dominates its source is a back edge; its target heads a loop, whose body is all blocks that
//! reach the source without passing the header. Back edges to one header make one loop. What still goes round in circles
//! once all back edges are taken away is entered at more than one place: an irreducible region.
//!
//! Blocks are sorted so that each loop's body is one slice: nesting of any depth costs linear space.

use super::cfg::{BlockId, Cfg};
use super::dominators::DominatorTree;
use super::graph::{Adjacency, NONE, strong_components};
use std::ops::Range;

/// Index into [`LoopForest::loops`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopId(pub u32);

impl LoopId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A natural loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The block through which it is entered.
    pub header: BlockId,
    /// The sources of its back edges, ascending.
    pub latches: Vec<BlockId>,
    /// The innermost loop around it.
    pub parent: Option<LoopId>,
    /// 1 for a loop in no other.
    pub depth: u32,
    body: Range<u32>,
}

/// A set of blocks that reach one another with no single header: two or more of them are entered from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IrreducibleRegion {
    /// Its blocks, ascending.
    pub blocks: Vec<BlockId>,
    /// Those entered from outside, ascending.
    pub entries: Vec<BlockId>,
}

/// The loops of a function. Only reachable blocks take part.
#[derive(Clone, Debug)]
pub struct LoopForest {
    loops: Vec<Loop>,
    innermost: Vec<u32>,
    members: Vec<BlockId>,
    irreducible: Vec<IrreducibleRegion>,
}

impl LoopForest {
    /// Finds the loops of `cfg`; `dominators` are its dominators.
    pub fn build(cfg: &Cfg, dominators: &DominatorTree) -> Self {
        let mut forest = Self {
            loops: Vec::new(),
            innermost: vec![NONE; cfg.blocks().len()],
            members: Vec::new(),
            irreducible: Vec::new(),
        };
        forest.collect_headers(cfg, dominators);
        forest.nest(cfg);
        forest.lay_out();
        forest.irreducible = irreducible_regions(cfg, dominators);
        forest
    }

    /// The loops; an outer one before those in it.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The identifiers of the loops, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = LoopId> + ExactSizeIterator + use<> {
        (0..self.loops.len() as u32).map(LoopId)
    }

    /// One loop.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.index()]
    }

    /// The innermost loop that contains `b`.
    pub fn innermost(&self, b: BlockId) -> Option<LoopId> {
        Some(LoopId(self.innermost[b.index()])).filter(|id| id.0 != NONE)
    }

    /// How many loops contain `b`.
    pub fn depth(&self, b: BlockId) -> u32 {
        self.innermost(b).map_or(0, |id| self.get(id).depth)
    }

    /// The blocks of a loop, those of inner loops included: those of a loop itself before those of the loops in it.
    pub fn body(&self, id: LoopId) -> &[BlockId] {
        let body = &self.get(id).body;
        &self.members[body.start as usize..body.end as usize]
    }

    /// True if `b` is in the loop or in one inside it. Constant time.
    pub fn contains(&self, id: LoopId, b: BlockId) -> bool {
        self.innermost(b).is_some_and(|inner| self.encloses(id, inner))
    }

    /// True if `inner` is `outer` or inside it. Constant time.
    pub fn encloses(&self, outer: LoopId, inner: LoopId) -> bool {
        // A slice begins with blocks of its own loop, the header at least: no two slices begin at one place.
        self.get(outer).body.contains(&self.get(inner).body.start)
    }

    /// The edges that leave a loop; the target is [`Cfg::exit`] where the function is left.
    pub fn exits<'a>(&'a self, cfg: &'a Cfg, id: LoopId) -> impl Iterator<Item = (BlockId, BlockId)> + 'a {
        self.body(id).iter().flat_map(move |&b| {
            let out = cfg.successors(b).iter().copied().filter(move |&s| !self.contains(id, s));
            out.chain(cfg.block(b).exits.then(|| cfg.exit())).map(move |target| (b, target))
        })
    }

    /// The regions that go round without being natural loops; empty for nearly all compiled code.
    pub fn irreducible(&self) -> &[IrreducibleRegion] {
        &self.irreducible
    }

    /// One loop for each target of back edges, dominators first.
    fn collect_headers(&mut self, cfg: &Cfg, dominators: &DominatorTree) {
        let mut found: Vec<(u32, Loop)> = Vec::new();
        for header in cfg.ids().filter(|&b| cfg.block(b).reachable) {
            let mut latches: Vec<_> = cfg
                .predecessors(header)
                .iter()
                .copied()
                .filter(|&p| is_back_edge(cfg, dominators, p, header))
                .collect();
            if !latches.is_empty() {
                latches.sort_unstable();
                let new = Loop { header, latches, parent: None, depth: 0, body: 0..0 };
                found.push((dominators.preorder(header), new));
            }
        }
        found.sort_by_key(|&(preorder, _)| preorder);
        self.loops = found.into_iter().map(|(_, new)| new).collect();
    }

    /// Finds each block's innermost loop and each loop's parent, from the innermost loops outwards: walks back from the
    /// latches, taking a loop already known in one step from its header.
    fn nest(&mut self, cfg: &Cfg) {
        // For each loop, one around it that is at least as far out as its parent: shortened as it is used.
        let mut outer: Vec<u32> = (0..self.loops.len() as u32).collect();
        let mut walk = Vec::new();
        for id in (0..self.loops.len() as u32).rev() {
            let header = self.loops[id as usize].header;
            self.claim(header, id, &mut outer);
            walk.extend_from_slice(&self.loops[id as usize].latches);
            while let Some(b) = walk.pop() {
                if let Some(entered) = self.claim(b, id, &mut outer) {
                    walk.extend(cfg.predecessors(entered).iter().filter(|&&p| cfg.block(p).reachable));
                }
            }
        }
    }

    /// Puts `b`, or the outermost loop known around it, into loop `id`; returns the block through which what was put in
    /// is entered, or nothing if it was in already.
    fn claim(&mut self, b: BlockId, id: u32, outer: &mut [u32]) -> Option<BlockId> {
        let inner = self.innermost[b.index()];
        if inner == NONE {
            self.innermost[b.index()] = id;
            return Some(b);
        }
        let mut outermost = inner;
        while outer[outermost as usize] != outermost {
            outer[outermost as usize] = outer[outer[outermost as usize] as usize];
            outermost = outer[outermost as usize];
        }
        if outermost == id {
            return None;
        }
        outer[outermost as usize] = id;
        self.loops[outermost as usize].parent = Some(LoopId(id));
        Some(self.loops[outermost as usize].header)
    }

    /// Sets depths and sorts the blocks into slices: a loop's own blocks, then those of the loops in it.
    fn lay_out(&mut self) {
        let count = self.loops.len();
        let mut own = vec![0; count];
        for &id in self.innermost.iter().filter(|&&id| id != NONE) {
            own[id as usize] += 1;
        }
        let mut total: Vec<u32> = own.clone();
        // A parent's header dominates its children's, so parents come first in `loops`.
        for id in (0..count).rev() {
            if let Some(parent) = self.loops[id].parent {
                total[parent.index()] += total[id];
            }
        }
        let mut at = 0;
        let mut next_child = vec![0; count];
        for id in 0..count {
            let (start, depth) = if let Some(parent) = self.loops[id].parent {
                let start = next_child[parent.index()];
                next_child[parent.index()] += total[id];
                (start, self.loops[parent.index()].depth + 1)
            } else {
                let start = at;
                at += total[id];
                (start, 1)
            };
            self.loops[id].body = start..start + total[id];
            self.loops[id].depth = depth;
            next_child[id] = start + own[id];
        }
        let mut next: Vec<u32> = self.loops.iter().map(|l| l.body.start).collect();
        self.members = vec![BlockId(0); at as usize];
        for (b, &id) in self.innermost.iter().enumerate().filter(|&(_, &id)| id != NONE) {
            self.members[next[id as usize] as usize] = BlockId(b as u32);
            next[id as usize] += 1;
        }
    }
}

fn is_back_edge(cfg: &Cfg, dominators: &DominatorTree, from: BlockId, to: BlockId) -> bool {
    cfg.block(from).reachable && dominators.dominates(to, from)
}

/// The cycles left among reachable blocks when back edges are taken away.
fn irreducible_regions(cfg: &Cfg, dominators: &DominatorTree) -> Vec<IrreducibleRegion> {
    let edges: Vec<_> = cfg
        .graph()
        .edges()
        .filter(|&(from, to)| cfg.block(BlockId(from)).reachable && !is_back_edge(cfg, dominators, BlockId(from), to))
        .collect();
    let components = strong_components(&Adjacency::from_edges(cfg.blocks().len(), &edges));
    let mut members = vec![0_u32; components.count as usize];
    for &c in &components.of {
        members[c as usize] += 1;
    }
    // Without back edges no block follows itself, so a region has at least two blocks.
    let mut region_of = vec![NONE; components.count as usize];
    let mut regions: Vec<IrreducibleRegion> = Vec::new();
    for b in cfg.ids() {
        let c = components.of[b.index()] as usize;
        if members[c] < 2 {
            continue;
        }
        if region_of[c] == NONE {
            region_of[c] = regions.len() as u32;
            regions.push(IrreducibleRegion { blocks: Vec::new(), entries: Vec::new() });
        }
        let region = &mut regions[region_of[c] as usize];
        region.blocks.push(b);
        let entered = |&p: &BlockId| cfg.block(p).reachable && components.of[p.index()] as usize != c;
        if b == cfg.entry() || cfg.predecessors(b).iter().any(entered) {
            region.entries.push(b);
        }
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::super::CallsEndBlocks;
    use super::super::testing::{Body, any_function};
    use super::*;
    use crate::ast::{Function, Type};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn build(function: &Function) -> (Cfg, DominatorTree, LoopForest) {
        let cfg = Cfg::build(function, CallsEndBlocks::No);
        let dominators = DominatorTree::dominators(&cfg);
        let forest = LoopForest::build(&cfg, &dominators);
        (cfg, dominators, forest)
    }

    /// The body by definition: the header and what reaches a latch without passing it.
    fn body_by_definition(cfg: &Cfg, header: BlockId, latches: &[BlockId]) -> BTreeSet<BlockId> {
        let mut body = BTreeSet::from([header]);
        let mut stack = latches.to_vec();
        while let Some(b) = stack.pop() {
            if cfg.block(b).reachable && body.insert(b) {
                stack.extend_from_slice(cfg.predecessors(b));
            }
        }
        body
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(function in any_function()) {
            let (cfg, dominators, forest) = build(&function);
            let mut headers = BTreeSet::new();
            for b in cfg.ids() {
                for &s in cfg.successors(b) {
                    if cfg.block(b).reachable && dominators.dominates(s, b) {
                        headers.insert(s);
                    }
                }
            }
            prop_assert_eq!(&headers, &forest.loops().iter().map(|l| l.header).collect());
            let bodies: Vec<_> = forest.loops().iter().map(|l| body_by_definition(&cfg, l.header, &l.latches)).collect();
            for id in forest.ids() {
                let body = &bodies[id.index()];
                prop_assert_eq!(body, &forest.body(id).iter().copied().collect());
                prop_assert_eq!(body.len(), forest.body(id).len());
                for b in cfg.ids() {
                    prop_assert_eq!(forest.contains(id, b), body.contains(&b));
                }
                // The parent is the smallest other loop that has all of this one.
                let around = forest.ids().filter(|&o| o != id && bodies[o.index()].is_superset(body));
                prop_assert_eq!(forest.get(id).parent, around.min_by_key(|o| bodies[o.index()].len()));
                for (from, to) in forest.exits(&cfg, id) {
                    prop_assert!(body.contains(&from) && !body.contains(&to));
                }
            }
            for b in cfg.ids() {
                prop_assert_eq!(forest.depth(b) as usize, bodies.iter().filter(|body| body.contains(&b)).count());
            }
            for region in forest.irreducible() {
                prop_assert!(region.entries.len() > 1, "{:?}", region);
            }
        }
    }

    #[test]
    fn nested_loops() {
        let mut body = Body::new();
        let p = body.register(Type::Pred);
        let (outer, inner) = (body.label(), body.label());
        body.compute(&[p], &[p]); // block 0
        body.place(outer);
        body.compute(&[p], &[p]); // block 1
        body.place(inner);
        body.bra_if(p, inner); // block 2
        body.bra_if(p, outer); // block 3
        body.ret(); // block 4
        let (cfg, _, forest) = build(&body.finish());
        let [first, second] = forest.loops() else { panic!("{:?}", forest.loops()) };
        assert_eq!((first.header, first.depth, first.parent), (BlockId(1), 1, None));
        assert_eq!((second.header, second.depth, second.parent), (BlockId(2), 2, Some(LoopId(0))));
        assert_eq!(second.latches, [BlockId(2)]);
        assert_eq!(forest.exits(&cfg, LoopId(0)).collect::<Vec<_>>(), [(BlockId(3), BlockId(4))]);
        assert!(forest.irreducible().is_empty());
    }

    #[test]
    fn two_ways_into_a_cycle_are_irreducible() {
        let mut body = Body::new();
        let p = body.register(Type::Pred);
        let (one, two) = (body.label(), body.label());
        body.bra_if(p, two); // block 0
        body.place(one);
        body.compute(&[p], &[p]); // block 1
        body.place(two);
        body.bra_if(p, one); // block 2
        body.ret();
        let (_, _, forest) = build(&body.finish());
        assert!(forest.loops().is_empty());
        let both = vec![BlockId(1), BlockId(2)];
        assert_eq!(forest.irreducible(), [IrreducibleRegion { blocks: both.clone(), entries: both }]);
    }

    #[test]
    fn twenty_thousand_loops_in_one_another() {
        let mut body = Body::new();
        let p = body.register(Type::Pred);
        let tops: Vec<_> = (0..20_000)
            .map(|_| {
                let top = body.label();
                body.place(top);
                body.compute(&[p], &[p]);
                top
            })
            .collect();
        for &top in tops.iter().rev() {
            body.bra_if(p, top);
        }
        let (_, _, forest) = build(&body.finish());
        assert_eq!(forest.loops().len(), 20_000);
        assert_eq!(forest.loops().iter().map(|l| l.depth).max(), Some(20_000));
    }
}
