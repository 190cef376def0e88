//! Swaptions in the LIBOR market model, with sensitivities.

mod model;

use crate::check::{Tolerance, close};
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use model::{MATURITIES, RATES, STEPS, STRIKES, initial_rates, price, volatility};
use strata_host::HostError;

struct Shape {
    paths: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { paths: 100 }),
    (Size::Small, Shape { paths: 2_048 }),
    (Size::Medium, Shape { paths: 8_192 }),
    // TOM names no size. The program of the GPGPU-Sim suite has 96,000 paths (recalled) and TOM stops after two billion thread
    // instructions, which are 11,000 of our paths; the power of two below, two waves of eight blocks on each SM.
    (Size::PaperTom, Shape { paths: 65_536 }),
];

/// Each of forty steps rounds a rate a few times; a value is 100 times a difference of bonds near one.
const VALUES: Tolerance = Tolerance { limit: 1e-3, scale: 1.0 };
/// Eighty derivatives, of tens each, that mostly have one sign.
const SLOPES: Tolerance = Tolerance { limit: 1e-3, scale: 10.0 };
/// So near to the money a swaption may be exercised in single precision and not in double.
const AT_THE_MONEY: f64 = 1e-5;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "libor",
        suite: "gpgpu-sim",
        papers: &["tom"],
        sizes: &sizes(&SHAPES),
        aliases: &["LIB"],
        description: "swaptions in the LIBOR market model, with adjoint sensitivities",
    },
    module: &[module!("libor")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 64;
    let count = shape.paths;
    let mut rng = Rng::new(seed, "shocks");
    let shocks: Vec<f32> = (0..STEPS * count).map(|_| rng.bell()).collect();
    let (rates, volatility) = (initial_rates(), volatility());

    let states = gpu.array("states", (STEPS + 1) * RATES * count)?;
    let first: Vec<f32> = rates.iter().flat_map(|rate| std::iter::repeat_n(*rate, count)).collect();
    gpu.write(states, &first)?;
    let slopes = gpu.array::<f32>("slopes", RATES * count)?;
    let values = gpu.array::<f32>("values", count)?;
    let inputs = (gpu.array_of("shocks", &shocks)?, gpu.array_of("volatility", &volatility)?);
    let portfolio = (gpu.array_of("maturities", &MATURITIES)?, gpu.array_of("strikes", &STRIKES)?);
    let arrays = [states.into(), slopes.into(), values.into(), inputs.0.into(), inputs.1.into()];
    let args = [&arrays[..], &[portfolio.0.into(), portfolio.1.into(), (count as i32).into()]].concat();
    gpu.launch("value_and_slopes", blocks(count, BLOCK), BLOCK as u32, &args)?;
    gpu.synchronize();

    let slopes = gpu.read(slopes)?;
    let (mut expected, mut sums, mut expected_sums) = (Vec::new(), Vec::new(), Vec::new());
    for path in 0..count {
        let own: Vec<f64> = shocks.iter().skip(path).step_by(count).map(|shock| f64::from(*shock)).collect();
        let (value, to_the_money) = price(&rates, &volatility, &own);
        expected.push(value.value);
        if to_the_money > AT_THE_MONEY {
            let sum: f64 = slopes.iter().skip(path).step_by(count).map(|slope| f64::from(*slope)).sum();
            sums.push(sum as f32);
            expected_sums.push(value.slope);
        }
    }
    let priced = close("values", &gpu.read(values)?, &expected, VALUES);
    Ok(priced.and(&close("sums of derivatives", &sums, &expected_sums, SLOPES)))
}
