//! Graphs in files: Matrix Market (`.mtx`) and DIMACS (`.gr` with lengths, `.col` without).
//!
//! A file is hostile. What its header declares is compared with the file's own length before anything is allocated by it, so
//! memory stays in proportion to the file; every error names the line, the cause and the cure; nothing panics.
//!
//! The programs work on undirected graphs: an arc of a file is a link in both directions, of several between the same two
//! nodes the shortest stays, and loops are dropped.

use super::{Csr, Weighted};

/// The longest a link may be: its length can be added to any distance without leaving an integer.
const MOST_WEIGHT: i32 = 1 << 24;
/// The shortest line that declares a link is `1 2` and its end.
const BYTES_PER_LINK: usize = 4;

/// A graph that was read from a file.
#[derive(Debug)]
pub struct Graph {
    links: Weighted,
    /// Why the links have no lengths, if they have none.
    no_lengths: Option<GraphError>,
}

/// A file holds no graph that can be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {cause}; {cure}")]
pub struct GraphError {
    /// Where, counted from 1.
    pub line: usize,
    /// What the line has or lacks.
    pub cause: String,
    /// How to mend the file.
    pub cure: &'static str,
}

impl Graph {
    /// Bytes that a file may have: its nodes and twice its links then fit into the integers of the device.
    pub const MOST_BYTES: u64 = i32::MAX as u64;

    /// The graph that a file's bytes describe; its first line tells the format.
    pub fn parse(bytes: &[u8]) -> Result<Self, GraphError> {
        if bytes.len() as u64 > Self::MOST_BYTES {
            let cause = format!("the file has {} bytes, more than {}", bytes.len(), Self::MOST_BYTES);
            return Err(error(1, cause, "use a smaller graph"));
        }
        let lines = Lines { rest: bytes, length: bytes.len(), number: 0 };
        if bytes.starts_with(b"%%MatrixMarket") { matrix_market(lines) } else { dimacs(lines) }
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.links.graph.nodes()
    }

    /// How many links it has.
    pub fn links(&self) -> usize {
        self.links.graph.edges.len() / 2
    }

    /// Its links without their lengths.
    pub(crate) fn rows(&self) -> &Csr {
        &self.links.graph
    }

    /// Its links with their lengths; a file without them has links of length 1, one whose values are no lengths is refused.
    pub(crate) fn lengths(&self) -> Result<&Weighted, &GraphError> {
        self.no_lengths.as_ref().map_or(Ok(&self.links), Err)
    }
}

fn error(line: usize, cause: impl Into<String>, cure: &'static str) -> GraphError {
    GraphError { line, cause: cause.into(), cure }
}

/// The lines of a file.
struct Lines<'a> {
    rest: &'a [u8],
    /// Bytes of the whole file.
    length: usize,
    /// The line that was read last.
    number: usize,
}

impl<'a> Lines<'a> {
    /// The next line that is neither empty nor a comment, or `None` at the end.
    fn advance(&mut self, is_comment: impl Fn(&str) -> bool) -> Result<Option<&'a str>, GraphError> {
        while !self.rest.is_empty() {
            self.number += 1;
            let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest.get(1..).unwrap_or_default();
            let text = str::from_utf8(line)
                .map_err(|_| error(self.number, "this is not text", "unpack the file first if it is compressed"))?;
            let text = text.trim_ascii();
            if !text.is_empty() && !is_comment(text) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

/// The links of a file as they are read.
struct Links {
    nodes: u32,
    declared: usize,
    list: Vec<(u32, u32, i32)>,
    no_lengths: Option<GraphError>,
}

impl Links {
    /// Room for what a header declares, if the file can hold it.
    fn declared(lines: &Lines<'_>, nodes: &str, links: &str) -> Result<Self, GraphError> {
        let number = |text: &str, what| {
            let wrong =
                || error(lines.number, format!("`{text}` is no number of {what}"), "write a whole number there");
            text.parse::<usize>().map_err(|_| wrong())
        };
        let (nodes, declared) = (number(nodes, "nodes")?, number(links, "links")?);
        if nodes == 0 {
            return Err(error(lines.number, "the graph has no nodes", "a search needs at least one"));
        }
        if nodes > lines.length {
            let cause = format!("{nodes} nodes are declared in a file of {} bytes: most have no link", lines.length);
            return Err(error(lines.number, cause, "correct the header, or leave unused nodes out"));
        }
        if declared > lines.length / BYTES_PER_LINK {
            let cause = format!("{declared} links are declared, more than {} bytes can hold", lines.length);
            return Err(error(lines.number, cause, "correct the header, or fetch the whole file"));
        }
        Ok(Self { nodes: nodes as u32, declared, list: Vec::with_capacity(declared), no_lengths: None })
    }

    /// A link from the words of its line; without a third word it has length 1.
    fn add<'a>(&mut self, line: usize, mut words: impl Iterator<Item = &'a str>) -> Result<(), GraphError> {
        if self.list.len() == self.declared {
            let cause = format!("this is one more than the {} links that the header declares", self.declared);
            return Err(error(line, cause, "correct the header or remove what is too much"));
        }
        let mut end = || {
            let word = words.next().unwrap_or_default();
            match word.parse::<u32>() {
                Ok(node) if (1..=self.nodes).contains(&node) => Ok(node - 1),
                _ => {
                    let cause = format!("`{word}` is no node of this graph");
                    Err(error(line, cause, "nodes are numbered from 1 to what the header declares"))
                }
            }
        };
        let (from, to) = (end()?, end()?);
        let length = words.next().map_or(Some(1), length);
        if length.is_none() && self.no_lengths.is_none() {
            let cause = format!("the value of this link is no whole number from 0 to {MOST_WEIGHT}");
            self.no_lengths = Some(error(line, cause, "scale the values, or leave them out for links of length 1"));
        }
        if let Some(word) = words.next() {
            return Err(error(line, format!("`{word}` is too much on this line"), "write one link per line"));
        }
        self.list.push((from, to, length.unwrap_or(1)));
        Ok(())
    }

    /// The graph, if as many links came as were declared.
    fn finish(self, lines: &Lines<'_>) -> Result<Graph, GraphError> {
        if self.list.len() < self.declared {
            let cause = format!("the file ends after {} of {} links", self.list.len(), self.declared);
            return Err(error(lines.number, cause, "fetch the whole file, or correct the header"));
        }
        Ok(Graph { links: Weighted::from_links(self.nodes, &self.list), no_lengths: self.no_lengths })
    }
}

/// A length: a whole number, in either notation.
fn length(word: &str) -> Option<i32> {
    let whole = || word.parse::<f64>().ok().filter(|value| value.trunc() == *value).map(|value| value as i32);
    let length = word.parse().ok().or_else(whole)?;
    (0..=MOST_WEIGHT).contains(&length).then_some(length)
}

/// `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, comments, `ROWS COLUMNS ENTRIES`, then `ROW COLUMN [VALUE]`
/// (Boisvert, Pozo and Remington, NIST IR 5935).
fn matrix_market(mut lines: Lines<'_>) -> Result<Graph, GraphError> {
    let header = lines.advance(|_| false)?.unwrap_or_default().to_ascii_lowercase();
    let words: Vec<&str> = header.split_ascii_whitespace().collect();
    let [_, "matrix", "coordinate", field @ ("real" | "integer" | "pattern" | "complex"), _symmetry] = words[..] else {
        let cause = "this header promises no sparse matrix";
        return Err(error(
            lines.number,
            cause,
            "it must be `%%MatrixMarket matrix coordinate pattern symmetric` or alike",
        ));
    };
    let comment = |line: &str| line.starts_with('%');
    let size = lines.advance(comment)?.unwrap_or_default();
    let words: Vec<&str> = size.split_ascii_whitespace().collect();
    let [rows, cols, entries] = words[..] else {
        return Err(error(lines.number, "the size of the matrix is missing", "write `ROWS COLUMNS ENTRIES` here"));
    };
    if rows != cols {
        let cause = format!("the matrix has {rows} rows and {cols} columns");
        return Err(error(lines.number, cause, "the matrix of a graph is square"));
    }
    let mut links = Links::declared(&lines, rows, entries)?;
    if field == "complex" {
        links.no_lengths = Some(error(1, "complex values are no lengths", "use a matrix of whole numbers"));
    }
    let words_of_use = if field == "complex" { 2 } else { usize::MAX };
    while let Some(line) = lines.advance(comment)? {
        links.add(lines.number, line.split_ascii_whitespace().take(words_of_use))?;
    }
    links.finish(&lines)
}

/// `c` comments, `p sp NODES ARCS` and `a FROM TO LENGTH` (9th DIMACS challenge), or `p edge NODES EDGES` and `e FROM TO`
/// (2nd DIMACS challenge).
fn dimacs(mut lines: Lines<'_>) -> Result<Graph, GraphError> {
    let mut links: Option<Links> = None;
    while let Some(line) = lines.advance(|line| line == "c" || line.starts_with("c "))? {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), &mut links) {
            (Some("p"), None) => {
                let words: Vec<&str> = words.collect();
                let ["sp" | "edge" | "col", nodes, arcs] = words[..] else {
                    let cure = "write `p sp NODES ARCS` or `p edge NODES EDGES`";
                    return Err(error(lines.number, "this header is none of a graph", cure));
                };
                links = Some(Links::declared(&lines, nodes, arcs)?);
            }
            (Some("p"), Some(_)) => {
                return Err(error(lines.number, "this is a second header", "put each graph into a file of its own"));
            }
            (Some("a" | "e"), Some(links)) => links.add(lines.number, words)?,
            (Some("a" | "e"), None) => {
                return Err(error(lines.number, "a link before the header", "begin with `p sp NODES ARCS`"));
            }
            _ => {
                let cure = "a Matrix Market file begins with `%%MatrixMarket`, lines of a DIMACS file with `c`, `p`, `a` or `e`";
                return Err(error(lines.number, "this is no line of a graph", cure));
            }
        }
    }
    let missing =
        || error(lines.number.max(1), "the file holds no graph", "a DIMACS file has a line `p sp NODES ARCS`");
    links.ok_or_else(missing)?.finish(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<(usize, i32)>> {
        let graph = Graph::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
        let links = graph.lengths().unwrap_or_else(|e| panic!("{text}: {e}"));
        (0..graph.nodes()).map(|node| links.neighbours(node).collect()).collect()
    }

    #[test]
    fn matrices_and_maps_become_the_same_graph() {
        let triangle = vec![vec![(1, 5), (2, 7)], vec![(0, 5)], vec![(0, 7)]];
        for text in [
            "%%MatrixMarket matrix coordinate integer symmetric\n% a comment\n\n3 3 2\n2 1 5\n3 1 7\n",
            "%%MatrixMarket MATRIX Coordinate Real General\n3 3 3\n2 1 5.0\r\n1 3 7e0\n1 2 6",
            "c a map\nc\np sp 3 4\na 1 2 5\na 2 1 5\na 1 3 7\na 3 1 7\n",
        ] {
            assert_eq!(rows(text), triangle, "{text}");
        }
        let lengthless = vec![vec![(1, 1)], vec![(0, 1)]];
        for text in [
            "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n1 1\n",
            "p edge 2 1\ne 1 2\n",
            "p col 2 1\ne 2 1",
        ] {
            assert_eq!(rows(text), lengthless, "{text}");
        }
    }

    #[test]
    fn values_that_are_no_lengths_do_not_hinder_programs_that_need_none() {
        for (value, line) in [("integer symmetric\n2 2 1\n2 1 -4", 3), ("real general\n2 2 1\n1 2 0.5", 3)] {
            let text = format!("%%MatrixMarket matrix coordinate {value}\n");
            let graph = Graph::parse(text.as_bytes()).expect("a graph");
            assert_eq!(graph.links(), 1);
            let refused = graph.lengths().expect_err("no lengths");
            assert_eq!(refused.line, line, "{text}");
        }
        let complex = Graph::parse(b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 0.5 0.25\n");
        let complex = complex.expect("a graph");
        assert_eq!((complex.links(), complex.lengths().is_err()), (1, true));
    }

    #[test]
    fn errors_name_the_line_the_cause_and_the_cure() {
        let refused = |text: &str| Graph::parse(text.as_bytes()).err().map(|e| e.to_string()).unwrap_or_default();
        let matrix = |rest: &str| refused(&format!("%%MatrixMarket matrix coordinate pattern general\n{rest}"));
        for (message, begins) in [
            (refused(""), "line 1: the file holds no graph"),
            (refused("hello\n"), "line 1: this is no line of a graph"),
            (refused("\u{1}\u{2}"), "line 1: this is no line of a graph"),
            (refused("p max 3 4\n"), "line 1: this header is none of a graph"),
            (refused("a 1 2 3\n"), "line 1: a link before the header"),
            (refused("p sp 2 1\np sp 2 1\n"), "line 2: this is a second header"),
            (refused("p sp 2 1\na 1 3 4\n"), "line 2: `3` is no node of this graph"),
            (refused("p sp 2 1\na 0 1 4\n"), "line 2: `0` is no node of this graph"),
            (refused("p sp 2 1\na 1 2 4 5\n"), "line 2: `5` is too much on this line"),
            (refused("p sp 2 1\na 1\n"), "line 2: `` is no node of this graph"),
            (refused("p sp 2 2\na 1 2 4\n"), "line 2: the file ends after 1 of 2 links"),
            (refused("p sp 2 1\na 1 2 4\na 1 2 4\n"), "line 3: this is one more than the 1 links"),
            (refused("p sp 0 0\n"), "line 1: the graph has no nodes"),
            (refused("p sp 4000000000 1\na 1 2 3\n"), "line 1: 4000000000 nodes are declared in a file of 26 bytes"),
            (refused("p sp 2 99999999999999999999\n"), "line 1: `99999999999999999999` is no number of links"),
            (refused("p sp 2 1000000000\n"), "line 1: 1000000000 links are declared, more than 18 bytes can hold"),
            (refused("%%MatrixMarket matrix array real general\n"), "line 1: this header promises no sparse matrix"),
            (matrix("3 4 1\n1 2\n"), "line 2: the matrix has 3 rows and 4 columns"),
            (matrix("% nothing\n"), "line 2: the size of the matrix is missing"),
            (matrix("3 3 1\n1 4\n"), "line 3: `4` is no node of this graph"),
        ] {
            assert!(message.starts_with(begins) && message.contains("; "), "`{message}` should begin with `{begins}`");
        }
        let binary = Graph::parse(&[0x1f, 0x8b, 8, 0]).err();
        assert_eq!(binary.map(|e| e.cure), Some("unpack the file first if it is compressed"));
    }
}
