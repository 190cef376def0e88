//! The drivers, one file each.

mod addvectors;
mod alexnet;
mod atax;
mod babelstream;
mod backprop;
mod bfs;
mod bicg;
mod chase;
mod conv2d;
mod gather;
mod hotspot;
mod inception;
mod lstm;
mod matmul;
mod matmul_naive;
mod matmul_tiled;
mod mvt;
mod nw;
mod pagerank;
mod pathfinder;
mod reduction;
mod resnet;
mod saxpy;
mod squeezenet;
mod srad;
mod stencil;
mod streamtriad;
mod transpose;
mod vectoradd;
mod vgg;

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
    vectoradd::PROGRAM,
    transpose::PROGRAM,
    babelstream::PROGRAM,
    reduction::PROGRAM,
    stencil::PROGRAM,
    gather::PROGRAM,
    chase::PROGRAM,
    alexnet::PROGRAM,
    vgg::PROGRAM,
    squeezenet::PROGRAM,
    resnet::PROGRAM,
    inception::PROGRAM,
    lstm::PROGRAM,
];
