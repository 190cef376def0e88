//! Dominators and post-dominators.
//!
//! The algorithm is Lengauer and Tarjan's with path compression (A Fast Algorithm for Finding Dominators in a
//! Flowgraph, TOPLAS 1979), O(edges · log blocks) on every graph, irreducible ones included.

use super::cfg::{BlockId, Cfg};
use super::graph::{Adjacency, NONE, search, strong_components};

/// A dominator or post-dominator tree over the blocks of a [`Cfg`] and its virtual exit.
#[derive(Clone, Debug)]
pub struct DominatorTree {
    immediate: Vec<u32>,
    /// The tree's nodes numbered so that a subtree is the range `enter .. enter + size`; a node outside has size 0.
    enter: Vec<u32>,
    size: Vec<u32>,
}

impl DominatorTree {
    /// `a` dominates `b` if every path from the entry to `b` passes `a`.
    ///
    /// Unreachable blocks stand outside the tree: they have no immediate dominator and dominate only themselves.
    pub fn dominators(cfg: &Cfg) -> Self {
        let exits = cfg.ids().filter(|&b| cfg.block(b).exits);
        Self::solve(&with_exit(cfg, exits), cfg.entry())
    }

    /// `a` post-dominates `b` if every path from `b` out of the function passes `a`.
    ///
    /// A loop that nothing leaves has no such path. Of each group of blocks that can reach one another but nothing else,
    /// the last in program order, usually the bottom of the loop, is taken to leave the function as well: branches inside
    /// an endless loop then still meet inside it. So every block, reachable or not, has an immediate post-dominator.
    pub fn post_dominators(cfg: &Cfg) -> Self {
        Self::solve(&with_exit(cfg, ways_out(cfg)).reversed(), cfg.exit())
    }

    /// The closest other node that dominates `b`. None for the root and for what stands outside the tree. In a
    /// post-dominator tree it may be [`Cfg::exit`].
    pub fn immediate(&self, b: BlockId) -> Option<BlockId> {
        match self.immediate[b.index()] {
            NONE => None,
            dominator => Some(BlockId(dominator)),
        }
    }

    /// True if `a` dominates `b`; every node dominates itself. Constant time.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let from = self.enter[a.index()];
        a == b || (from..from + self.size[a.index()]).contains(&self.enter[b.index()])
    }

    /// A number for each node that grows from dominator to dominated; [`NONE`] outside the tree.
    pub(super) fn preorder(&self, b: BlockId) -> u32 {
        self.enter[b.index()]
    }

    fn solve(graph: &Adjacency, root: BlockId) -> Self {
        let n = graph.len();
        let predecessors = graph.reversed();
        let found = search(graph, root.0);
        let dominators = Solver::new(&found.parent).run(|node, visit| {
            for p in predecessors.of(found.order[node as usize]) {
                let number = found.number[p.index()];
                if number != NONE {
                    visit(number);
                }
            }
        });

        let mut sizes = vec![1; dominators.len()];
        for v in (1..dominators.len()).rev() {
            sizes[dominators[v] as usize] += sizes[v];
        }
        let mut tree = Self { immediate: vec![NONE; n], enter: vec![NONE; n], size: vec![0; n] };
        // Where the next child of each node begins: a dominator is always met before what it dominates.
        let mut next = vec![1; dominators.len()];
        for (v, &node) in found.order.iter().enumerate() {
            let mut enter = 0;
            if v > 0 {
                let above = dominators[v] as usize;
                enter = next[above];
                next[above] += sizes[v];
                tree.immediate[node as usize] = found.order[above];
            }
            next[v] = enter + 1;
            tree.enter[node as usize] = enter;
            tree.size[node as usize] = sizes[v];
        }
        tree
    }
}

/// The blocks from which a thread leaves, and one of each endless group: see [`DominatorTree::post_dominators`].
pub(super) fn ways_out(cfg: &Cfg) -> impl Iterator<Item = BlockId> {
    let components = strong_components(cfg.graph());
    let component = |b: BlockId| components.of[b.index()];
    let mut left = vec![false; components.count as usize];
    let mut last = vec![BlockId(0); components.count as usize];
    for b in cfg.ids() {
        let own = component(b);
        last[own as usize] = b;
        left[own as usize] |= cfg.block(b).exits || cfg.successors(b).iter().any(|&s| component(s) != own);
    }
    let endless: Vec<_> = last.into_iter().zip(left).filter(|&(_, left)| !left).map(|(b, _)| b).collect();
    cfg.ids().filter(|&b| cfg.block(b).exits).chain(endless)
}

/// The graph of `cfg` with its virtual exit as one more node and an edge to it from each of `leaving`.
fn with_exit(cfg: &Cfg, leaving: impl Iterator<Item = BlockId>) -> Adjacency {
    let mut edges: Vec<_> = cfg.graph().edges().collect();
    edges.extend(leaving.map(|b| (b.0, cfg.exit())));
    Adjacency::from_edges(cfg.blocks().len() + 1, &edges)
}

/// The state of the algorithm. Nodes are their numbers in the order of a depth-first search.
struct Solver<'a> {
    parent: &'a [u32],
    semi: Vec<u32>,
    /// The forest of nodes already processed, with compressed paths.
    ancestor: Vec<u32>,
    /// On the compressed path above a node, the node with the least semidominator.
    label: Vec<u32>,
    path: Vec<u32>,
}

impl<'a> Solver<'a> {
    fn new(parent: &'a [u32]) -> Self {
        let own: Vec<u32> = (0..parent.len() as u32).collect();
        Self { parent, semi: own.clone(), ancestor: vec![NONE; parent.len()], label: own, path: Vec::new() }
    }

    /// The immediate dominator of each node; the root's is itself.
    fn run(mut self, each_predecessor: impl Fn(u32, &mut dyn FnMut(u32))) -> Vec<u32> {
        let n = self.parent.len();
        let mut dominator = vec![0; n];
        // Nodes by semidominator, as linked lists.
        let mut waiting = vec![NONE; n];
        let mut next = vec![NONE; n];
        for w in (1..n).rev() {
            let mut least = self.semi[w];
            each_predecessor(w as u32, &mut |v| least = least.min(self.semi_above(v)));
            self.semi[w] = least;
            next[w] = waiting[least as usize];
            waiting[least as usize] = w as u32;

            let parent = self.parent[w];
            self.ancestor[w] = parent;
            let mut v = std::mem::replace(&mut waiting[parent as usize], NONE);
            while v != NONE {
                let u = self.least_above(v);
                let known = self.semi[u as usize] == self.semi[v as usize];
                dominator[v as usize] = if known { parent } else { u };
                v = next[v as usize];
            }
        }
        for w in 1..n {
            if dominator[w] != self.semi[w] {
                dominator[w] = dominator[dominator[w] as usize];
            }
        }
        dominator
    }

    fn semi_above(&mut self, v: u32) -> u32 {
        let u = self.least_above(v);
        self.semi[u as usize]
    }

    /// The node with the least semidominator between `v` and the root of its tree in the forest, root excluded.
    fn least_above(&mut self, v: u32) -> u32 {
        if self.ancestor[v as usize] == NONE {
            return v;
        }
        let mut x = v;
        while self.ancestor[self.ancestor[x as usize] as usize] != NONE {
            self.path.push(x);
            x = self.ancestor[x as usize];
        }
        while let Some(x) = self.path.pop() {
            let above = self.ancestor[x as usize];
            let (own, other) = (self.label[x as usize], self.label[above as usize]);
            if self.semi[other as usize] < self.semi[own as usize] {
                self.label[x as usize] = other;
            }
            self.ancestor[x as usize] = self.ancestor[above as usize];
        }
        self.label[v as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Body, any_function};
    use super::super::{CallsEndBlocks, Cfg};
    use super::*;
    use crate::ast::Type;
    use proptest::prelude::*;

    /// The nodes that can be reached from `from` without passing `without`.
    fn reached(graph: &Adjacency, from: BlockId, without: Option<BlockId>) -> Vec<bool> {
        let mut seen = vec![false; graph.len()];
        let mut stack = if Some(from) == without { vec![] } else { vec![from] };
        while let Some(v) = stack.pop() {
            if !std::mem::replace(&mut seen[v.index()], true) {
                stack.extend(graph.of(v.0).iter().filter(|&&w| Some(w) != without));
            }
        }
        seen
    }

    fn compare(tree: &DominatorTree, graph: &Adjacency, root: BlockId) {
        let inside = reached(graph, root, None);
        let nodes: Vec<_> = (0..graph.len() as u32).map(BlockId).collect();
        let expected: Vec<Vec<bool>> = nodes
            .iter()
            .map(|&a| {
                let rest = reached(graph, root, Some(a));
                nodes.iter().map(|&b| a == b || (inside[a.index()] && inside[b.index()] && !rest[b.index()])).collect()
            })
            .collect();
        for &b in &nodes {
            for &a in &nodes {
                assert_eq!(tree.dominates(a, b), expected[a.index()][b.index()], "{a:?} over {b:?}");
            }
            // The immediate one is the strict dominator that all others dominate.
            let strict: Vec<_> = nodes.iter().copied().filter(|&a| a != b && expected[a.index()][b.index()]).collect();
            let closest = strict.iter().copied().find(|&a| strict.iter().all(|&c| expected[c.index()][a.index()]));
            assert_eq!(tree.immediate(b), closest, "of {b:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(function in any_function()) {
            let cfg = Cfg::build(&function, CallsEndBlocks::No);
            let exits = cfg.ids().filter(|&b| cfg.block(b).exits);
            compare(&DominatorTree::dominators(&cfg), &with_exit(&cfg, exits), cfg.entry());
            let post = DominatorTree::post_dominators(&cfg);
            compare(&post, &with_exit(&cfg, ways_out(&cfg)).reversed(), cfg.exit());
            prop_assert!(cfg.ids().all(|b| post.immediate(b).is_some()));
        }
    }

    #[test]
    fn branches_in_an_endless_loop_meet_inside_it() {
        let mut body = Body::new();
        let p = body.register(Type::Pred);
        let (top, other, bottom) = (body.label(), body.label(), body.label());
        body.place(top);
        body.bra_if(p, other); // block 0
        body.bra(bottom); // block 1
        body.place(other);
        body.compute(&[p], &[p]); // block 2
        body.place(bottom);
        body.bra(top); // block 3
        let function = body.finish();
        let cfg = Cfg::build(&function, CallsEndBlocks::No);
        let post = DominatorTree::post_dominators(&cfg);
        assert_eq!(post.immediate(BlockId(0)), Some(BlockId(3)));
        assert_eq!(post.immediate(BlockId(3)), Some(cfg.exit()));
    }

    #[test]
    fn a_way_out_of_one_endless_loop_into_another_is_no_exit() {
        let mut body = Body::new();
        let p = body.register(Type::Pred);
        let (first, second) = (body.label(), body.label());
        body.place(first);
        body.bra_if(p, first); // block 0
        body.place(second);
        body.bra(second); // block 1
        let function = body.finish();
        let cfg = Cfg::build(&function, CallsEndBlocks::No);
        let post = DominatorTree::post_dominators(&cfg);
        assert_eq!(post.immediate(BlockId(0)), Some(BlockId(1)));
        assert_eq!(post.immediate(BlockId(1)), Some(cfg.exit()));
    }

    #[test]
    fn a_hundred_thousand_blocks_do_not_overflow_the_stack() {
        let mut body = Body::new();
        let p = body.register(Type::Pred);
        let top = body.label();
        body.place(top);
        for _ in 0..100_000 {
            let next = body.label();
            body.bra_if(p, next);
            body.place(next);
        }
        body.bra_if(p, top);
        let function = body.finish();
        let cfg = Cfg::build(&function, CallsEndBlocks::No);
        let (dominators, post) = (DominatorTree::dominators(&cfg), DominatorTree::post_dominators(&cfg));
        assert!(dominators.dominates(cfg.entry(), BlockId(100_000)));
        assert!(post.dominates(BlockId(100_000), cfg.entry()));
    }
}
