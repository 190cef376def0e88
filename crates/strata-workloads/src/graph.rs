//! Graphs in compressed rows, and generators of them.

use crate::rng::Rng;

/// How a graph comes about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Every node links to nodes chosen uniformly: all degrees are alike, neighbours lie anywhere.
    Uniform,
    /// Recursive matrix (Chakrabarti, Zhan and Faloutsos, 2004) with the probabilities of Graph 500: few nodes have
    /// most of the links, as in web and social graphs. The number of nodes must be a power of two.
    RMat,
}

/// An undirected graph: every link stands in the rows of both its nodes, sorted and once.
#[derive(Debug)]
pub(crate) struct Csr {
    /// Where each node's row begins in `edges`, and where the last one ends.
    pub(crate) first_edge: Vec<i32>,
    /// The neighbours, row after row.
    pub(crate) edges: Vec<i32>,
}

impl Csr {
    /// A random graph with `links_per_node` links drawn for every node: the mean degree is nearly twice that.
    pub(crate) fn random(kind: Kind, rng: &mut Rng, nodes: u32, links_per_node: u32) -> Self {
        let links = nodes as usize * links_per_node as usize;
        let pairs = match kind {
            Kind::Uniform => (0..links).map(|i| ((i / links_per_node as usize) as u32, rng.below(nodes))).collect(),
            Kind::RMat => rmat(rng, nodes, links),
        };
        Self::from_links(nodes, pairs)
    }

    /// The graph with these links; loops and repetitions are dropped.
    pub(crate) fn from_links(nodes: u32, mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.retain(|(a, b)| a != b);
        // Counting sort by the first node, each link in both directions.
        let mut starts = vec![0usize; nodes as usize + 1];
        for (a, b) in &pairs {
            starts[*a as usize + 1] += 1;
            starts[*b as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0i32; 2 * pairs.len()];
        for (a, b) in &pairs {
            for (from, to) in [(*a, *b), (*b, *a)] {
                sorted[next[from as usize]] = to as i32;
                next[from as usize] += 1;
            }
        }
        let mut first_edge = Vec::with_capacity(nodes as usize + 1);
        let mut edges = Vec::with_capacity(sorted.len());
        first_edge.push(0);
        for node in 0..nodes as usize {
            let row = &mut sorted[starts[node]..starts[node + 1]];
            row.sort_unstable();
            let begin = edges.len();
            for &neighbour in row.iter() {
                if edges.len() == begin || edges.last() != Some(&neighbour) {
                    edges.push(neighbour);
                }
            }
            first_edge.push(edges.len() as i32);
        }
        Self { first_edge, edges }
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.first_edge.len() - 1
    }

    /// The neighbours of a node.
    pub(crate) fn neighbours(&self, node: usize) -> &[i32] {
        &self.edges[self.first_edge[node] as usize..self.first_edge[node + 1] as usize]
    }
}

/// Links that fall into one quadrant of the adjacency matrix with probabilities 0.57, 0.19, 0.19 and 0.05, again and
/// again down to one cell; nodes are then renamed at random, so that a node's number does not tell its degree.
fn rmat(rng: &mut Rng, nodes: u32, links: usize) -> Vec<(u32, u32)> {
    let mut names: Vec<u32> = (0..nodes).collect();
    for last in (1..nodes).rev() {
        names.swap(last as usize, rng.below(last + 1) as usize);
    }
    let levels = nodes.ilog2();
    (0..links)
        .map(|_| {
            let (mut row, mut col) = (0, 0);
            for _ in 0..levels {
                let (down, right) = match rng.below(100) {
                    0..57 => (0, 0),
                    57..76 => (0, 1),
                    76..95 => (1, 0),
                    _ => (1, 1),
                };
                row = 2 * row + down;
                col = 2 * col + right;
            }
            (names[row], names[col])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_sorted_rows_without_loops_or_repetitions() {
        let graph = Csr::from_links(4, vec![(2, 0), (0, 1), (1, 0), (3, 3), (0, 2)]);
        assert_eq!(graph.nodes(), 4);
        assert_eq!(graph.neighbours(0), [1, 2]);
        assert_eq!(graph.neighbours(1), [0]);
        assert_eq!(graph.neighbours(2), [0]);
        assert!(graph.neighbours(3).is_empty());
    }

    #[test]
    fn generated_graphs_are_symmetric() {
        for kind in [Kind::Uniform, Kind::RMat] {
            let graph = Csr::random(kind, &mut Rng::new(4, "graph"), 256, 4);
            for node in 0..graph.nodes() {
                for &neighbour in graph.neighbours(node) {
                    assert!(graph.neighbours(neighbour as usize).contains(&(node as i32)));
                }
            }
        }
    }

    #[test]
    fn uniform_graphs_have_even_degrees_and_rmat_graphs_have_hubs() {
        let largest = |kind| {
            let graph = Csr::random(kind, &mut Rng::new(5, "graph"), 4096, 3);
            (0..graph.nodes()).map(|n| graph.neighbours(n).len()).max()
        };
        assert!(largest(Kind::Uniform) < Some(24));
        assert!(largest(Kind::RMat) > Some(100));
    }
}
