//! What the two Navier-Stokes programs share on the device: the fields, and the launches of a step up to its right-hand side.
//!
//! They differ in how they solve the implicit systems of a step, and in the fields which that needs.

use super::navier_stokes::{Gas, Problem};
use crate::Outcome;
use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Array, Gpu, blocks};
use strata_core::Dim3;
use strata_host::{Arg, HostError};

/// How large a problem is, and for how long it runs.
pub(super) struct Shape {
    pub(super) points: usize,
    pub(super) steps: usize,
    /// The time step.
    pub(super) dt: f64,
}

/// A way to solve the implicit systems.
pub(super) struct Method {
    pub(super) launches_per_step: usize,
    /// Fields of one value per point that the primitives are kept in, in the order of the kernel's arguments; among them are
    /// [`Fields::PRIMITIVES`].
    pub(super) primitives: &'static [&'static str],
    /// Names of the matrices of the systems, and their values per point.
    pub(super) matrices: &'static [(&'static str, usize)],
    /// From the right-hand side to the change of the gas.
    pub(super) solve: fn(&Fields, &mut Gpu<'_>) -> Result<(), HostError>,
    /// One step on the CPU, so long.
    pub(super) step: fn(&Problem, f64, &mut [Gas], &[Gas]),
}

/// What is in device memory.
pub(super) struct Fields {
    pub(super) points: usize,
    row: usize,
    pub(super) dt: Arg,
    pub(super) u: Array<f64>,
    primitives: Vec<(&'static str, Array<f64>)>,
    pub(super) rhs: Array<f64>,
    forcing: Array<f64>,
    pub(super) matrices: Vec<Array<f64>>,
}

/// Lines that the threads of a block solve.
pub(super) const LINES_PER_BLOCK: usize = 64;

/// Block and grid of kernels with one thread per point.
pub(super) fn point_blocks(points: usize) -> (Dim3, Dim3) {
    ((32, 4).into(), (blocks(points, 32), blocks(points, 4), points as u32).into())
}

/// Grid of kernels with one thread per line that does not lie on the boundary, for each of `matrices`.
pub(super) fn line_blocks(points: usize, matrices: usize) -> Dim3 {
    (blocks(points - 2, LINES_PER_BLOCK), points as u32 - 2, matrices as u32).into()
}

/// Runs a shape on the device and on the CPU.
pub(super) fn run(method: &Method, shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let problem = Problem::new(shape.points, seed);
    let (mut field, forcing) = (problem.initial(), problem.forcing());

    let device = Fields::new(method, gpu, &problem, shape.dt, &field, &forcing)?;
    gpu.announce(method.launches_per_step * shape.steps);
    for _ in 0..shape.steps {
        device.step(method, gpu)?;
    }
    gpu.synchronize();

    for _ in 0..shape.steps {
        (method.step)(&problem, shape.dt, &mut field, &forcing);
    }
    // Values are near 1 to 20; a step is some hundred roundings, and the systems are diagonally dominant.
    let tolerance = Tolerance { limit: 1e-11, scale: 1.0 };
    Ok(close_doubles("values", &gpu.read(device.u)?, &problem.to_device(&field), tolerance))
}

impl Fields {
    /// What fluxes are made of: the velocity, the square of the momentum over the density, the inverse of the density, and the
    /// kinetic energy.
    const PRIMITIVES: [&'static str; 6] = ["us", "vs", "ws", "qs", "rho_i", "square"];

    fn new(
        method: &Method,
        gpu: &mut Gpu<'_>,
        problem: &Problem,
        dt: f64,
        field: &[Gas],
        forcing: &[Gas],
    ) -> Result<Self, HostError> {
        let size = problem.padded();
        let u = gpu.array_of("u", &problem.to_device(field))?;
        let mut primitives = Vec::new();
        for name in method.primitives {
            primitives.push((*name, gpu.zeros(name, size)?));
        }
        let rhs = gpu.zeros("rhs", 5 * size)?;
        let forcing = gpu.array_of("forcing", &problem.to_device(forcing))?;
        let mut matrices = Vec::new();
        for (name, values) in method.matrices {
            matrices.push(gpu.zeros(name, values * size)?);
        }
        let (points, row, dt) = (problem.points, problem.row(), Arg::from(dt));
        Ok(Self { points, row, dt, u, primitives, rhs, forcing, matrices })
    }

    /// One step on the device.
    fn step(&self, method: &Method, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
        let all: Vec<_> = self.primitives.iter().map(|(_, array)| *array).collect();
        self.everywhere(gpu, "compute_primitives", &[&[self.u, self.forcing, self.rhs], &all[..]].concat(), &[])?;
        let primitives = self.named(&Self::PRIMITIVES);
        for kernel in ["rhs_x", "rhs_y", "rhs_z"] {
            self.everywhere(gpu, kernel, &[&[self.u], &primitives[..], &[self.rhs]].concat(), &[])?;
        }
        (method.solve)(self, gpu)?;
        self.everywhere(gpu, "add", &[self.u, self.rhs], &[])
    }

    /// Primitives by their names.
    pub(super) fn named(&self, names: &[&str]) -> Vec<Array<f64>> {
        let of = |name: &&str| self.primitives.iter().find(|(held, _)| held == name).map(|(_, array)| *array);
        names.iter().filter_map(of).collect()
    }

    /// Launches a kernel with one thread per point.
    pub(super) fn everywhere(
        &self,
        gpu: &mut Gpu<'_>,
        kernel: &str,
        arrays: &[Array<f64>],
        more: &[Arg],
    ) -> Result<(), HostError> {
        let (block, grid) = point_blocks(self.points);
        gpu.launch(kernel, grid, block, &self.arguments(arrays, more))
    }

    /// Launches a kernel with one thread per line that does not lie on the boundary, for each of so many matrices.
    pub(super) fn along_lines(
        &self,
        gpu: &mut Gpu<'_>,
        kernel: &str,
        arrays: &[Array<f64>],
        matrices: usize,
    ) -> Result<(), HostError> {
        gpu.launch(kernel, line_blocks(self.points, matrices), LINES_PER_BLOCK as u32, &self.arguments(arrays, &[]))
    }

    /// Arrays, what else there is, and the sizes, which every kernel is told.
    fn arguments(&self, arrays: &[Array<f64>], more: &[Arg]) -> Vec<Arg> {
        let sizes = [Arg::from(self.points as i32), Arg::from(self.row as i32)];
        arrays.iter().map(|array| Arg::from(*array)).chain(more.iter().cloned()).chain(sizes).collect()
    }
}
