//! The drivers, one file each.

mod addvectors;
mod alexnet;
mod atax;
mod babelstream;
mod backprop;
mod bfs;
mod bicg;
mod bt;
mod cfd;
mod cg;
mod chase;
mod color;
mod conv2d;
mod csp;
mod darknet;
mod dwt2d;
mod ep;
mod fdtd2d;
mod fwt;
mod gather;
mod heartwall;
mod hotspot;
mod hpgmg;
mod ilbdc;
mod inception;
mod kmeans;
mod libor;
mod lstm;
mod lulesh;
mod matmul;
mod matmul_naive;
mod matmul_tiled;
mod mis;
mod mvt;
mod navier_stokes;
mod navier_stokes_device;
mod nw;
mod pagerank;
mod palm;
mod pathfinder;
mod ra;
mod ray;
mod reduction;
mod resnet;
mod saxpy;
mod scalarprod;
mod seismic;
mod sp;
mod squeezenet;
mod srad;
mod sssp;
mod stencil;
mod stencil3d;
mod streamtriad;
mod transpose;
mod vectoradd;
mod vgg;
mod yolo2;
mod yolo3;
mod yolo_tiny;

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
    fdtd2d::PROGRAM,
    ra::PROGRAM,
    stencil3d::PROGRAM,
    bfs::PROGRAM,
    pagerank::PROGRAM,
    sssp::PROGRAM,
    mis::PROGRAM,
    color::PROGRAM,
    kmeans::PROGRAM,
    cfd::PROGRAM,
    dwt2d::PROGRAM,
    matmul_tiled::PROGRAM,
    matmul_naive::PROGRAM,
    vectoradd::PROGRAM,
    transpose::PROGRAM,
    babelstream::PROGRAM,
    reduction::PROGRAM,
    heartwall::PROGRAM,
    libor::PROGRAM,
    ray::PROGRAM,
    fwt::PROGRAM,
    scalarprod::PROGRAM,
    stencil::PROGRAM,
    gather::PROGRAM,
    chase::PROGRAM,
    ep::PROGRAM,
    cg::PROGRAM,
    seismic::PROGRAM,
    lulesh::PROGRAM,
    ilbdc::PROGRAM,
    hpgmg::PROGRAM,
    palm::PROGRAM,
    sp::PROGRAM,
    csp::PROGRAM,
    bt::PROGRAM,
    alexnet::PROGRAM,
    vgg::PROGRAM,
    squeezenet::PROGRAM,
    resnet::PROGRAM,
    inception::PROGRAM,
    lstm::PROGRAM,
    darknet::PROGRAM,
    yolo_tiny::PROGRAM,
    yolo2::PROGRAM,
    yolo3::PROGRAM,
];
