//! The drivers, one file each.

mod addvectors;
mod atax;
mod backprop;
mod bfs;
mod bicg;
mod conv2d;
mod hotspot;
mod matmul;
mod matmul_naive;
mod matmul_tiled;
mod mvt;
mod nw;
mod pagerank;
mod pathfinder;
mod saxpy;
mod srad;
mod streamtriad;

use crate::Workload;

/// The registry: a program is listed here and nowhere else.
pub(crate) static ALL: &[&dyn Workload] = &[
    addvectors::PROGRAM,
    streamtriad::PROGRAM,
    saxpy::PROGRAM,
    conv2d::PROGRAM,
    atax::PROGRAM,
    bicg::PROGRAM,
    mvt::PROGRAM,
    backprop::PROGRAM,
    hotspot::PROGRAM,
    nw::PROGRAM,
    pathfinder::PROGRAM,
    srad::PROGRAM,
    bfs::PROGRAM,
    pagerank::PROGRAM,
    matmul_tiled::PROGRAM,
    matmul_naive::PROGRAM,
];
