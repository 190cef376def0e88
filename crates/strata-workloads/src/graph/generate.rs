//! Generators of graphs: what they are known for is said at each, and held to by a test.
//!
//! A generator gives links; [`Csr::from_links`](super::Csr::from_links) and its weighted sister make rows of them. Only
//! integers and exactly rounded operations are used: a seed gives the same graph on every machine.

use crate::rng::Rng;

/// A link between two nodes.
pub(crate) type Link = (u32, u32);
/// A link with its length.
pub(crate) type LongLink = (u32, u32, i32);

/// Every node links to `per_node` nodes chosen uniformly: all degrees are alike (about twice as many), neighbours lie
/// anywhere.
pub(crate) fn uniform(rng: &mut Rng, nodes: u32, per_node: u32) -> Vec<Link> {
    let links = nodes as usize * per_node as usize;
    (0..links).map(|i| ((i / per_node as usize) as u32, rng.below(nodes))).collect()
}

/// Recursive matrix (Chakrabarti, Zhan and Faloutsos, 2004) with the probabilities of Graph 500: few nodes have most of the
/// links, as in web and social graphs. `per_node` links are drawn for each of the nodes, whose number must be a power of
/// two.
///
/// Links fall into one quadrant of the adjacency matrix with probabilities 0.57, 0.19, 0.19 and 0.05, again and again
/// down to one cell; nodes are then renamed at random, so that a node's number does not tell its degree.
pub(crate) fn rmat(rng: &mut Rng, nodes: u32, per_node: u32) -> Vec<Link> {
    let names = permutation(rng, nodes);
    let levels = nodes.ilog2();
    (0..nodes as usize * per_node as usize)
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

/// Authors who wrote together (`coAuthorsDBLP` of the tenth DIMACS challenge: 299 067 authors, 977 676 links, none without, the
/// busiest with 336). Papers appear one after another, with two to seven authors. Seven seats of ten go to somebody
/// who had one of the last papers' seats, the others to newcomers: careers begin and end, so degrees fall off as a power and are
/// cut off at some hundreds, where a recursive matrix of this size has hubs of thousands and a third of its nodes without a link.
///
/// Authors are then renamed at random: how that file numbers them is not published, and no nearness is assumed.
pub(crate) fn coauthors(rng: &mut Rng, authors: u32) -> Vec<Link> {
    /// Papers of a hundred that have at most 2, 3, ... authors.
    const AT_MOST: [u32; 6] = [61, 88, 96, 98, 99, 100];
    /// Seats of a hundred that go to somebody who has written before.
    const AGAIN: u32 = 72;
    // Who has one of the last seats is still writing; a tenth as many as there are authors.
    let active = (authors / 10).max(1);
    let names = permutation(rng, authors);
    let mut seats: Vec<u32> = Vec::new();
    let mut links = Vec::new();
    let mut newcomer = 0;
    while newcomer < authors {
        let draw = rng.below(100);
        let size = 2 + AT_MOST.iter().filter(|most| draw >= **most).count();
        let first = seats.len();
        for _ in 0..size {
            let back = 1 + rng.below(active) as usize;
            let again = rng.below(100) < AGAIN && back <= first;
            let author = if again || newcomer == authors { seats[first.saturating_sub(back)] } else { newcomer };
            newcomer += u32::from(author == newcomer);
            if !seats[first..].contains(&author) {
                seats.push(author);
            }
        }
        for (k, a) in seats[first..].iter().enumerate() {
            links.extend(seats[first..first + k].iter().map(|b| (names[*a as usize], names[*b as usize])));
        }
    }
    links
}

/// The graph of the five-point stencil: every node links to those above, below, left and right of it. What a
/// discretised landscape is (`ecology1`), with the numbering of its rows.
pub(crate) fn mesh(rows: u32, cols: u32) -> Vec<Link> {
    let mut links = Vec::with_capacity(2 * rows as usize * cols as usize);
    for node in 0..rows * cols {
        if (node + 1) % cols != 0 {
            links.push((node, node + 1));
        }
        if node + cols < rows * cols {
            links.push((node, node + cols));
        }
    }
    links
}

/// A circuit: the wires of a grid of which every tenth is missing, and from every eighth node one wire to somewhere within
/// 64 rows. Degrees are at most a handful, their mean is near 3.8 (that of `G3_circuit`), and nearly all neighbours are
/// near.
pub(crate) fn circuit(rng: &mut Rng, rows: u32, cols: u32) -> Vec<Link> {
    const REACH: u32 = 64;
    let nodes = rows * cols;
    let mut links = mesh(rows, cols);
    links.retain(|_| rng.below(10) != 0);
    for node in (0..nodes).step_by(8) {
        let far = node + rng.below(REACH * cols);
        if far < nodes {
            links.push((node, far));
        }
    }
    links
}

/// A road map: crossings of a grid, each somewhat off its place; three of ten roads are missing, but for every sixteenth
/// line, which runs through. A road is as long as the way between its crossings, 1000 for a cell of the grid. Degrees are
/// near 2.9 on average (2.8 in the DIMACS maps) and ways are long.
pub(crate) fn road(rng: &mut Rng, rows: u32, cols: u32) -> Vec<LongLink> {
    const CELL: f32 = 1000.0;
    const THROUGH: u32 = 16;
    let crossings: Vec<(f32, f32)> = (0..rows * cols)
        .map(|node| {
            let mut place = |line: u32| CELL * (line as f32 + rng.between(-0.35, 0.35));
            (place(node / cols), place(node % cols))
        })
        .collect();
    let mut roads = Vec::new();
    for (from, to) in mesh(rows, cols) {
        let line = if to == from + 1 { from / cols } else { from % cols };
        let missing = rng.below(10) < 3;
        if line % THROUGH == 0 || !missing {
            let (a, b) = (crossings[from as usize], crossings[to as usize]);
            let (y, x) = (a.0 - b.0, a.1 - b.1);
            roads.push((from, to, (y * y + x * x).sqrt() as i32));
        }
    }
    roads
}

/// The numbers from 0 to `count` - 1 in random order.
pub(crate) fn permutation(rng: &mut Rng, count: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    for last in (1..count).rev() {
        numbers.swap(last as usize, rng.below(last + 1) as usize);
    }
    numbers
}

/// A random priority for every node, below 2048 as in the public ports of Pannotia: they repeat, and who compares them must
/// break ties.
pub(crate) fn priorities(rng: &mut Rng, nodes: usize) -> Vec<i32> {
    const RANGE: u32 = 2048;
    (0..nodes).map(|_| rng.below(RANGE) as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Csr, Weighted};

    fn degrees(nodes: u32, links: &[Link]) -> Vec<usize> {
        let graph = Csr::from_links(nodes, links);
        (0..graph.nodes()).map(|node| graph.neighbours(node).len()).collect()
    }

    fn mean(degrees: &[usize]) -> f64 {
        degrees.iter().sum::<usize>() as f64 / degrees.len() as f64
    }

    #[test]
    fn generated_graphs_are_symmetric() {
        let mut rng = Rng::new(4, "graph");
        let graphs = [
            uniform(&mut rng, 256, 4),
            rmat(&mut rng, 256, 4),
            coauthors(&mut rng, 256),
            mesh(16, 16),
            circuit(&mut rng, 16, 16),
        ];
        for links in graphs {
            let graph = Csr::from_links(256, &links);
            for node in 0..graph.nodes() {
                for &neighbour in graph.neighbours(node) {
                    assert!(graph.neighbours(neighbour as usize).contains(&(node as i32)));
                }
            }
        }
    }

    #[test]
    fn uniform_graphs_have_even_degrees_and_rmat_graphs_have_hubs() {
        let mut rng = Rng::new(5, "graph");
        assert!(degrees(4096, &uniform(&mut rng, 4096, 3)).into_iter().max() < Some(24));
        assert!(degrees(4096, &rmat(&mut rng, 4096, 3)).into_iter().max() > Some(100));
    }

    #[test]
    fn authors_are_as_many_as_busy_and_as_seldom_alone_as_in_the_published_graph() {
        let degrees = degrees(299_067, &coauthors(&mut Rng::new(1, "graph"), 299_067));
        let links = degrees.iter().sum::<usize>() / 2;
        assert!(links.abs_diff(977_676) < 20_000, "{links}");
        let busiest = degrees.iter().max().copied().unwrap_or(0);
        assert!((250..450).contains(&busiest), "{busiest}");
        // The last newcomer may find nobody else on a paper of which all seats are taken.
        assert!(degrees.iter().filter(|d| **d == 0).count() <= 1);
    }

    #[test]
    fn a_mesh_is_the_five_point_stencil() {
        let graph = Csr::from_links(12, &mesh(3, 4));
        assert_eq!(graph.neighbours(0), [1, 4]);
        assert_eq!(graph.neighbours(5), [1, 4, 6, 9]);
        assert_eq!(graph.neighbours(11), [7, 10]);
    }

    #[test]
    fn circuits_have_small_degrees_and_some_long_wires() {
        let links = circuit(&mut Rng::new(6, "graph"), 100, 100);
        let degrees = degrees(10_000, &links);
        assert!((3.6..4.0).contains(&mean(&degrees)), "{}", mean(&degrees));
        assert!(degrees.iter().max() < Some(&12));
        let long = links.iter().filter(|(a, b)| b - a > 100).count();
        assert!((500..1500).contains(&long), "{long}");
    }

    #[test]
    fn roads_are_sparse_and_as_long_as_the_way() {
        let roads = road(&mut Rng::new(7, "graph"), 100, 100);
        assert!(roads.iter().all(|(_, _, length)| (300..2000).contains(length)));
        let map = Weighted::from_links(10_000, &roads);
        let degrees: Vec<usize> = (0..10_000).map(|node| map.graph.neighbours(node).len()).collect();
        assert!((2.7..3.0).contains(&mean(&degrees)), "{}", mean(&degrees));
    }

    #[test]
    fn priorities_are_small_and_repeat() {
        let mut values = priorities(&mut Rng::new(9, "values"), 10_000);
        assert!(values.iter().all(|value| (0..2048).contains(value)));
        values.sort_unstable();
        values.dedup();
        assert!((2000..=2048).contains(&values.len()), "{}", values.len());
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut numbers = permutation(&mut Rng::new(8, "numbers"), 1000);
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..1000));
    }
}
