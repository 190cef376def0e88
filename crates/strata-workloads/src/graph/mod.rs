//! Graphs in compressed rows: generated ([`generate`]) or read from a file ([`file`]).
//!
//! Invariants: graphs are undirected, so every link stands in the rows of both its nodes; rows are sorted, without loops
//! and repetitions; a graph has at least one node, and its numbers fit into the 32-bit integers of the device.

mod file;
pub(crate) mod generate;

pub use file::{Graph, GraphError};

/// An undirected graph.
#[derive(Debug)]
pub(crate) struct Csr {
    /// Where each node's row begins in `edges`, and where the last one ends.
    pub(crate) first_edge: Vec<i32>,
    /// The neighbours, row after row.
    pub(crate) edges: Vec<i32>,
}

/// An undirected graph whose links have lengths.
#[derive(Debug)]
pub(crate) struct Weighted {
    pub(crate) graph: Csr,
    /// The length of each link, in the order of the graph's `edges`.
    pub(crate) weights: Vec<i32>,
}

impl Csr {
    /// The graph with these links; loops and repetitions are dropped.
    pub(crate) fn from_links(nodes: u32, links: &[(u32, u32)]) -> Self {
        rows(nodes, links.iter().map(|&(a, b)| (a, b, ()))).0
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.first_edge.len() - 1
    }

    /// Where the row of a node lies in `edges`.
    pub(crate) fn row(&self, node: usize) -> std::ops::Range<usize> {
        self.first_edge[node] as usize..self.first_edge[node + 1] as usize
    }

    /// The neighbours of a node.
    pub(crate) fn neighbours(&self, node: usize) -> &[i32] {
        &self.edges[self.row(node)]
    }
}

impl Weighted {
    /// The graph with these links and their lengths; loops are dropped, of repetitions the shortest stays.
    pub(crate) fn from_links(nodes: u32, links: &[(u32, u32, i32)]) -> Self {
        let (graph, weights) = rows(nodes, links.iter().copied());
        Self { graph, weights }
    }

    /// The neighbours of a node and how far they are.
    pub(crate) fn neighbours(&self, node: usize) -> impl Iterator<Item = (usize, i32)> {
        let row = self.graph.row(node);
        self.graph.edges[row.clone()].iter().zip(&self.weights[row]).map(|(node, weight)| (*node as usize, *weight))
    }
}

/// Rows of links with something that each carries; of repetitions the one that carries least stays.
fn rows<W: Copy + Ord + Default>(nodes: u32, links: impl Iterator<Item = (u32, u32, W)> + Clone) -> (Csr, Vec<W>) {
    let links = links.filter(|(a, b, _)| a != b);
    // Counting sort by the first node, each link in both directions.
    let mut starts = vec![0usize; nodes as usize + 1];
    for (a, b, _) in links.clone() {
        starts[a as usize + 1] += 1;
        starts[b as usize + 1] += 1;
    }
    for node in 0..nodes as usize {
        starts[node + 1] += starts[node];
    }
    let mut next = starts.clone();
    let mut sorted = vec![(0i32, W::default()); starts[nodes as usize]];
    for (a, b, carried) in links {
        for (from, to) in [(a, b), (b, a)] {
            sorted[next[from as usize]] = (to as i32, carried);
            next[from as usize] += 1;
        }
    }
    let mut first_edge = Vec::with_capacity(nodes as usize + 1);
    let mut edges = Vec::with_capacity(sorted.len());
    let mut all_carried = Vec::with_capacity(sorted.len());
    first_edge.push(0);
    for node in 0..nodes as usize {
        let row = &mut sorted[starts[node]..starts[node + 1]];
        row.sort_unstable();
        let begin = edges.len();
        for &(neighbour, carried) in row.iter() {
            if edges.len() == begin || edges.last() != Some(&neighbour) {
                edges.push(neighbour);
                all_carried.push(carried);
            }
        }
        first_edge.push(edges.len() as i32);
    }
    (Csr { first_edge, edges }, all_carried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_sorted_rows_without_loops_or_repetitions() {
        let graph = Csr::from_links(4, &[(2, 0), (0, 1), (1, 0), (3, 3), (0, 2)]);
        assert_eq!(graph.nodes(), 4);
        assert_eq!(graph.neighbours(0), [1, 2]);
        assert_eq!(graph.neighbours(1), [0]);
        assert_eq!(graph.neighbours(2), [0]);
        assert!(graph.neighbours(3).is_empty());
    }

    #[test]
    fn of_two_links_between_the_same_nodes_the_shorter_stays() {
        let graph = Weighted::from_links(3, &[(0, 1, 9), (1, 0, 4), (1, 2, 7), (2, 2, 1)]);
        assert_eq!(graph.neighbours(0).collect::<Vec<_>>(), [(1, 4)]);
        assert_eq!(graph.neighbours(1).collect::<Vec<_>>(), [(0, 4), (2, 7)]);
        assert_eq!(graph.neighbours(2).collect::<Vec<_>>(), [(1, 7)]);
    }
}
