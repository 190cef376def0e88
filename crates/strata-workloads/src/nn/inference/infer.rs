//! One pass of a network over a batch of pictures.

use super::calibration::calibrate;
use super::layers::{Network, Op, Scale};
use super::memory::Memory;
use super::pictures::{Camera, Framing};
use super::plan::Plan;
use super::weights::make;
use crate::Outcome;
use crate::check::{Tolerance, close};
use crate::gpu::Gpu;
use strata_host::HostError;

/// Single precision errs by about 1e-7 in the first layer, relative to values of about 1. With random weights each layer
/// that normalises what reaches it makes errors grow, by a tenth to a third. After the 75 convolutions of the deepest
/// network a value is off by 5e-5 (root of the mean square), the worst of 65 000 by 3e-4, and by 1.2e-3 where channels are
/// few (`tiny`).
const TOLERANCE: f64 = 5e-3;

/// Makes and calibrates the network, runs it on the device and compares its results with the reference's.
pub(crate) fn infer(
    network: fn(&Scale) -> Network,
    framing: Framing,
    scale: &Scale,
    seed: u64,
    gpu: &mut Gpu<'_>,
) -> Result<Outcome, HostError> {
    let network = &network(scale);
    let mut camera = Camera::new(seed, scale.side, framing);
    let pictures: Vec<f32> = (0..scale.images).flat_map(|_| camera.picture()).collect();
    let mut parameters = make(network, seed);
    let expected = calibrate(network, &pictures, &mut parameters, seed);

    let nowhere = Memory::nowhere(network);
    let rehearsal = Plan::new(network, &nowhere, scale.images);
    let scratch = (rehearsal.workspace_len, rehearsal.launches.partials_len());
    let memory = Memory::allocate(network, &parameters, scale.images, scratch, gpu)?;
    let plan = Plan::new(network, &memory, scale.images);
    gpu.announce(plan.launches.len());
    gpu.write(memory.outputs[0], &pictures)?;
    plan.launches.run(gpu)?;
    gpu.synchronize();

    let mut judged = Vec::new();
    for result in network.results() {
        let layer = &network.layers[result];
        // Probabilities of many classes are small; what a detector says is about 1.
        let scale = if layer.op == Op::Softmax { 1.0 / layer.shape.channels as f64 } else { 1.0 };
        let got = gpu.read(memory.outputs[result])?;
        let what = format!("values of {}", layer.name);
        judged.push(close(&what, &got, &expected[result], Tolerance { limit: TOLERANCE, scale }));
    }
    let nothing = || Outcome { passed: false, checked: "the network has no results".to_owned() };
    Ok(judged.into_iter().reduce(|all, one| all.and(&one)).unwrap_or_else(nothing))
}
