//! The mesh: a cube of hexahedra, described as an unstructured mesh.

/// Words of `elem_bc` for one side of an element: a plane of symmetry, or nothing beyond it.
const SYMMETRY: i32 = 1;
const FREE: i32 = 2;

pub(super) struct Mesh {
    /// Elements along an edge of the cube.
    pub(super) edge: usize,
    /// The eight corners of each element, counter-clockwise below and above.
    pub(super) corners: Vec<[usize; 8]>,
}

impl Mesh {
    pub(super) fn new(edge: usize) -> Self {
        let side = edge + 1;
        let mut corners = Vec::with_capacity(edge * edge * edge);
        for k in 0..edge {
            for j in 0..edge {
                for i in 0..edge {
                    let below = (k * side + j) * side + i;
                    let face = [below, below + 1, below + side + 1, below + side];
                    let above = face.map(|n| n + side * side);
                    corners.push([face[0], face[1], face[2], face[3], above[0], above[1], above[2], above[3]]);
                }
            }
        }
        Self { edge, corners }
    }

    pub(super) fn elements(&self) -> usize {
        self.corners.len()
    }

    pub(super) fn nodes(&self) -> usize {
        (self.edge + 1).pow(3)
    }

    /// Elements, rounded up to a warp: what corners of an element are apart in device memory.
    pub(super) fn stride(&self) -> usize {
        self.elements().next_multiple_of(32)
    }

    /// Corners as the device has them.
    pub(super) fn nodelist(&self) -> Vec<i32> {
        let mut list = vec![0; 8 * self.stride()];
        for (element, corners) in self.corners.iter().enumerate() {
            for (corner, node) in corners.iter().enumerate() {
                list[corner * self.stride() + element] = *node as i32;
            }
        }
        list
    }

    /// Where the list of each node begins, and for each node the corners that meet there.
    pub(super) fn corner_lists(&self) -> (Vec<i32>, Vec<i32>) {
        let mut starts = vec![0; self.nodes() + 1];
        for node in self.corners.iter().flatten() {
            starts[node + 1] += 1;
        }
        for node in 0..self.nodes() {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut list = vec![0; 8 * self.elements()];
        for (element, corners) in self.corners.iter().enumerate() {
            for (corner, node) in corners.iter().enumerate() {
                list[next[*node] as usize] = (corner * self.stride() + element) as i32;
                next[*node] += 1;
            }
        }
        (starts, list)
    }

    /// The neighbour of each element on one side of one axis; elements of the border are their own.
    pub(super) fn neighbours(&self, axis: usize, ahead: bool) -> Vec<i32> {
        let step = self.edge.pow(axis as u32);
        let beside = |element: usize| match (element / step % self.edge, ahead) {
            (0, false) => element,
            (last, true) if last == self.edge - 1 => element,
            (_, false) => element - step,
            (_, true) => element + step,
        };
        (0..self.elements()).map(|element| beside(element) as i32).collect()
    }

    /// What is beyond the sides of each element: two bits a side, low side first, x first.
    pub(super) fn conditions(&self) -> Vec<i32> {
        let of = |element: usize| {
            (0..3).fold(0, |bits, axis| {
                let place = element / self.edge.pow(axis) % self.edge;
                let low = if place == 0 { SYMMETRY } else { 0 };
                let high = if place == self.edge - 1 { FREE } else { 0 };
                bits | (low | high << 2) << (4 * axis)
            })
        };
        (0..self.elements()).map(of).collect()
    }

    /// The nodes of the plane of symmetry across one axis.
    pub(super) fn plane(&self, axis: usize) -> Vec<i32> {
        let side = self.edge + 1;
        let in_plane = |node: &usize| (node / side.pow(axis as u32)).is_multiple_of(side);
        (0..self.nodes()).filter(in_plane).map(|node| node as i32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_of_eight_elements() {
        let mesh = Mesh::new(2);
        assert_eq!((mesh.elements(), mesh.nodes(), mesh.stride()), (8, 27, 32));
        assert_eq!(mesh.corners[7], [13, 14, 17, 16, 22, 23, 26, 25]);
        let (starts, list) = mesh.corner_lists();
        // All elements meet in the middle, each with the corner opposite to its own place.
        let middle: Vec<i32> = [6, 7, 5, 4, 2, 3, 1, 0].iter().zip(0..).map(|(corner, e)| corner * 32 + e).collect();
        assert_eq!(list[starts[13] as usize..starts[14] as usize], middle);
        assert_eq!(mesh.neighbours(1, true), [2, 3, 2, 3, 6, 7, 6, 7]);
        assert_eq!(mesh.conditions()[0], SYMMETRY * 0x111);
        assert_eq!(mesh.conditions()[7], FREE * 0x444);
        assert_eq!(mesh.plane(0), [0, 3, 6, 9, 12, 15, 18, 21, 24]);
    }
}
