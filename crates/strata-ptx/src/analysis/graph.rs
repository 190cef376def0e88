//! Edges in dense arrays, and the two searches that several analyses share.

use super::cfg::BlockId;

/// Marks "no node" in arrays of node numbers.
pub(super) const NONE: u32 = u32::MAX;

/// For each of `len` sources, its targets: one array of offsets, one of targets.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    offsets: Vec<u32>,
    targets: Vec<BlockId>,
}

impl Adjacency {
    /// Sorts `edges` by source; the targets of one source keep their order.
    pub(super) fn from_edges(len: usize, edges: &[(u32, BlockId)]) -> Self {
        let mut offsets = vec![0; len + 1];
        for &(source, _) in edges {
            offsets[source as usize + 1] += 1;
        }
        for i in 0..len {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut targets = vec![BlockId(0); edges.len()];
        for &(source, target) in edges {
            let slot = &mut next[source as usize];
            targets[*slot as usize] = target;
            *slot += 1;
        }
        Self { offsets, targets }
    }

    /// Number of sources.
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The targets of `source`.
    pub(super) fn of(&self, source: u32) -> &[BlockId] {
        let range = self.offsets[source as usize] as usize..self.offsets[source as usize + 1] as usize;
        &self.targets[range]
    }

    /// All edges, by source.
    pub(super) fn edges(&self) -> impl Iterator<Item = (u32, BlockId)> + '_ {
        (0..self.len() as u32).flat_map(|source| self.of(source).iter().map(move |&target| (source, target)))
    }

    /// Every edge turned round. Nodes are as many as sources.
    pub(super) fn reversed(&self) -> Self {
        let edges: Vec<_> = self.edges().map(|(source, target)| (target.0, BlockId(source))).collect();
        Self::from_edges(self.len(), &edges)
    }
}

/// The strongly connected components of a graph.
pub(super) struct Components {
    /// The component of each node.
    pub(super) of: Vec<u32>,
    /// Number of components.
    pub(super) count: u32,
}

/// Tarjan's algorithm with its recursion kept in a vector.
pub(super) fn strong_components(graph: &Adjacency) -> Components {
    let n = graph.len();
    let mut order = vec![NONE; n];
    let mut low = vec![NONE; n];
    let mut of = vec![NONE; n];
    let (mut visited, mut count) = (0, 0);
    let mut open = Vec::new();
    // A node being visited, and how many of its edges have been followed.
    let mut calls: Vec<(u32, u32)> = Vec::new();
    for root in 0..n as u32 {
        if order[root as usize] != NONE {
            continue;
        }
        calls.push((root, 0));
        while let Some(call) = calls.last_mut() {
            let node = call.0 as usize;
            if call.1 == 0 {
                order[node] = visited;
                low[node] = visited;
                visited += 1;
                open.push(call.0);
            }
            if let Some(&target) = graph.of(call.0).get(call.1 as usize) {
                call.1 += 1;
                if order[target.index()] == NONE {
                    calls.push((target.0, 0));
                } else if of[target.index()] == NONE {
                    low[node] = low[node].min(order[target.index()]);
                }
                // `low` of a node just visited is taken over when its call returns.
                continue;
            }
            calls.pop();
            if let Some(&(caller, _)) = calls.last() {
                low[caller as usize] = low[caller as usize].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = open.pop() {
                    of[member as usize] = count;
                    if member as usize == node {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    Components { of, count }
}

/// A depth-first search from one node.
pub(super) struct Search {
    /// Nodes in the order first met.
    pub(super) order: Vec<u32>,
    /// The position of each node in `order`, or [`NONE`].
    pub(super) number: Vec<u32>,
    /// For each position in `order`, the position of the node it was met from; the root's is 0.
    pub(super) parent: Vec<u32>,
}

/// Depth-first search from `root`.
pub(super) fn search(graph: &Adjacency, root: u32) -> Search {
    let mut found = Search { order: Vec::new(), number: vec![NONE; graph.len()], parent: Vec::new() };
    let mut stack = vec![(root, 0)];
    while let Some((node, parent)) = stack.pop() {
        if found.number[node as usize] != NONE {
            continue;
        }
        let number = found.order.len() as u32;
        found.number[node as usize] = number;
        found.order.push(node);
        found.parent.push(parent);
        let unmet = graph.of(node).iter().rev().filter(|target| found.number[target.index()] == NONE);
        stack.extend(unmet.map(|target| (target.0, number)));
    }
    found
}
