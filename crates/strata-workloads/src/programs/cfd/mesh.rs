//! An unstructured mesh about a wing: cubes, each cut into six tetrahedra along its diagonal, with corners off their places.
//!
//! Invariants: every face is one of another cell, a wall or the far field; normals point into their cell and those of a
//! cell add up to zero, but for rounding.

use crate::rng::Rng;

/// Faces of a cell.
pub(super) const FACES: usize = 4;
/// In place of a neighbour: the surface of the wing.
pub(super) const WALL: i32 = -1;
/// In place of a neighbour: the undisturbed gas.
pub(super) const FAR_FIELD: i32 = -2;

/// How far a corner is off its place at most, in edges of a cube.
const OFF: f32 = 0.12;

pub(super) struct Cell {
    pub(super) neighbours: [i32; FACES],
    pub(super) normals: [[f32; 3]; FACES],
    /// Half of its surface.
    pub(super) area: f32,
}

/// Cubes in each direction, the first being that of the flow.
#[derive(Clone, Copy)]
pub(super) struct Cubes(pub(super) [usize; 3]);

impl Cubes {
    /// The number of a corner.
    fn corner(self, place: [usize; 3]) -> u32 {
        ((place[2] * (self.0[1] + 1) + place[1]) * (self.0[0] + 1) + place[0]) as u32
    }

    fn place(self, corner: u32) -> [usize; 3] {
        let (along, across) = (self.0[0] + 1, self.0[1] + 1);
        let corner = corner as usize;
        [corner % along, corner / along % across, corner / along / across]
    }

    /// True for the cubes that the wing fills: thin, two tenths long, and spanning from one side of the channel to six
    /// tenths of its width.
    fn is_wing(self, cube: [usize; 3]) -> bool {
        let [along, across, up] = self.0;
        let length = 3 * along / 10..5 * along / 10;
        length.contains(&cube[0]) && 10 * cube[1] < 6 * across && cube[2] == up / 2
    }

    /// True if three corners lie on one side of the whole.
    fn is_outside(self, corners: [u32; 3]) -> bool {
        let places = corners.map(|corner| self.place(corner));
        (0..3).any(|axis| [0, self.0[axis]].iter().any(|end| places.iter().all(|place| place[axis] == *end)))
    }
}

/// The cells of the mesh; those of a cube follow each other.
pub(super) fn mesh(rng: &mut Rng, cubes: Cubes) -> Vec<Cell> {
    let corners = positions(rng, cubes);
    let cells = tetrahedra(cubes);
    let mut neighbours = vec![[FAR_FIELD; FACES]; cells.len()];
    // Every face, by its corners: equal ones belong to two cells.
    let mut faces: Vec<([u32; 3], usize, usize)> = Vec::with_capacity(FACES * cells.len());
    for (cell, tetrahedron) in cells.iter().enumerate() {
        faces.extend((0..FACES).map(|face| {
            let mut key = opposite(tetrahedron, face);
            key.sort_unstable();
            (key, cell, face)
        }));
    }
    faces.sort_unstable();
    for same in faces.chunk_by(|a, b| a.0 == b.0) {
        match same {
            [(_, one, face), (_, other, other_face)] => {
                neighbours[*one][*face] = *other as i32;
                neighbours[*other][*other_face] = *one as i32;
            }
            [(corners, cell, face)] if !cubes.is_outside(*corners) => neighbours[*cell][*face] = WALL,
            _ => {}
        }
    }
    let shape = |(tetrahedron, neighbours): (&[u32; 4], [i32; FACES])| {
        let normals = std::array::from_fn(|face| {
            let [a, b, c] = opposite(tetrahedron, face).map(|corner| corners[corner as usize]);
            inward(a, b, c, corners[tetrahedron[face] as usize])
        });
        let area = normals.iter().map(|n: &[f32; 3]| n.iter().map(|x| x * x).sum::<f32>().sqrt()).sum::<f32>() / 2.0;
        Cell { neighbours, normals, area }
    };
    cells.iter().zip(neighbours).map(shape).collect()
}

/// Corners of the cubes, those inside somewhat off their places.
fn positions(rng: &mut Rng, cubes: Cubes) -> Vec<[f32; 3]> {
    let count: usize = cubes.0.iter().map(|cubes| cubes + 1).product();
    let position = |corner: usize| {
        let place = cubes.place(corner as u32);
        let inside = (0..3).all(|axis| place[axis] > 0 && place[axis] < cubes.0[axis]);
        let off = if inside { OFF } else { 0.0 };
        place.map(|x| x as f32 + rng.between(-off, off))
    };
    (0..count).map(position).collect()
}

/// The corners of each cell: from one end of a cube's diagonal to the other along its edges, in all six ways.
fn tetrahedra(cubes: Cubes) -> Vec<[u32; 4]> {
    const WAYS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mut cells = Vec::new();
    for up in 0..cubes.0[2] {
        for across in 0..cubes.0[1] {
            for along in (0..cubes.0[0]).filter(|along| !cubes.is_wing([*along, across, up])) {
                for way in WAYS {
                    let mut place = [along, across, up];
                    let mut cell = [cubes.corner(place); 4];
                    for (corner, axis) in cell[1..].iter_mut().zip(way) {
                        place[axis] += 1;
                        *corner = cubes.corner(place);
                    }
                    cells.push(cell);
                }
            }
        }
    }
    cells
}

/// The corners of a face: all but one.
fn opposite(cell: &[u32; 4], face: usize) -> [u32; 3] {
    std::array::from_fn(|i| cell[(face + 1 + i) % 4])
}

/// The normal of a triangle, as long as it is large, towards a point.
fn inward(a: [f32; 3], b: [f32; 3], c: [f32; 3], towards: [f32; 3]) -> [f32; 3] {
    let minus = |p: [f32; 3], q: [f32; 3]| -> [f32; 3] { std::array::from_fn(|k| p[k] - q[k]) };
    let (u, v, inside) = (minus(b, a), minus(c, a), minus(towards, a));
    let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let side: f32 = normal.iter().zip(inside).map(|(n, i)| n * i).sum();
    let half = if side < 0.0 { -0.5 } else { 0.5 };
    normal.map(|n| half * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_closed_and_neighbours_agree() {
        let cells = mesh(&mut Rng::new(1, "mesh"), Cubes([10, 5, 6]));
        assert_eq!(cells.len(), 6 * (10 * 5 * 6 - 2 * 3));
        for (number, cell) in cells.iter().enumerate() {
            for axis in 0..3 {
                let sum: f32 = cell.normals.iter().map(|normal| normal[axis]).sum();
                assert!(sum.abs() < 1e-5, "cell {number}: {sum}");
            }
            for (neighbour, normal) in cell.neighbours.iter().zip(cell.normals) {
                let Ok(neighbour) = usize::try_from(*neighbour) else { continue };
                let back = cells[neighbour].neighbours.iter().position(|n| *n == number as i32).expect("it knows us");
                assert_eq!(cells[neighbour].normals[back], normal.map(|n| -n));
            }
        }
        let walls = cells.iter().flat_map(|cell| cell.neighbours).filter(|n| *n == WALL).count();
        // Two triangles on each square of the wing's surface: 2 x 3 cubes, one of whose ends lies on the side of the
        // channel.
        assert_eq!(walls, 2 * (2 * 6 + 2 * 3 + 2));
    }
}
