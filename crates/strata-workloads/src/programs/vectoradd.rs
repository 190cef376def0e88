//! c = a + b, in single or double precision.

use crate::check::exact;
use crate::field::signal;
use crate::gpu::{Gpu, Word, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use std::fmt::Debug;
use std::ops::Add;
use strata_host::HostError;

enum Precision {
    Single,
    Double,
}
use Precision::{Double, Single};

struct Shape {
    precision: Precision,
    len: usize,
    /// How often the sum is computed.
    passes: usize,
}

const fn once(precision: Precision, len: usize) -> Shape {
    Shape { precision, len, passes: 1 }
}

const SHAPES: [(Size, Shape); 3] = [
    (Size::Tiny, once(Single, 10_001)),
    (Size::Small, once(Single, 1 << 24)),
    (Size::Medium, Shape { precision: Single, len: 1 << 25, passes: 5 }),
];

const INSTANCES: [(Instance, Shape); 9] = [
    (Instance::silicon("f32-100"), once(Single, 100)),
    (Instance::silicon("f32-1K"), once(Single, 1_000)),
    (Instance::silicon("f32-100K"), once(Single, 100_000)),
    (Instance::silicon("f32-500K"), once(Single, 500_000)),
    (Instance::silicon("f64-100"), once(Double, 100)),
    (Instance::silicon("f64-1K"), once(Double, 1_000)),
    (Instance::silicon("f64-100K"), once(Double, 100_000)),
    (Instance::silicon("f64-500K"), once(Double, 500_000)),
    (Instance::bench("1M"), once(Single, 1 << 20)),
];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "vectoradd",
            suite: "silicon",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &["vecadd"],
            description: "sum of two vectors into a third",
        },
        module: &[module!("vectoradd")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let input = |name, mean, spread| signal(&mut Rng::new(seed, name), shape.len, mean, spread);
    let (a, b) = (input("a", 1.0, 0.25), input("b", 2.0, 0.5));
    match shape.precision {
        Single => add("vectoradd_f32", shape.passes, &a, &b, gpu),
        Double => add("vectoradd_f64", shape.passes, &doubles(seed, "a", &a), &doubles(seed, "b", &b), gpu),
    }
}

/// The signal with noise in the digits that only double precision has.
fn doubles(seed: u64, name: &str, signal: &[f32]) -> Vec<f64> {
    let mut rng = Rng::new(seed, &format!("{name}, low digits"));
    signal.iter().map(|v| f64::from(*v) + f64::from(rng.between(-1e-8, 1e-8))).collect()
}

fn add<T>(kernel: &str, passes: usize, a: &[T], b: &[T], gpu: &mut Gpu<'_>) -> Result<Outcome, HostError>
where
    T: Word + Add<Output = T> + Default + PartialEq + Debug,
{
    const BLOCK: usize = 1024;
    let len = a.len();
    let a_array = gpu.array_of("a", a)?;
    let b_array = gpu.array_of("b", b)?;
    // Cleared by the host, as its owner would: what was copied last decides what L2 holds when the kernel begins.
    let c_array = gpu.array_of("c", &vec![T::default(); len])?;
    let args = [a_array.into(), b_array.into(), c_array.into(), (len as i32).into()];
    for _ in 0..passes {
        gpu.launch(kernel, blocks(len, BLOCK), BLOCK as u32, &args)?;
    }
    gpu.synchronize();

    // A sum of two numbers has one correctly rounded value: the device must have found it.
    let expected: Vec<T> = a.iter().zip(b).map(|(a, b)| *a + *b).collect();
    Ok(exact("sums", &gpu.read(c_array)?, &expected))
}
