//! Every layer against finite differences.

use super::*;
use crate::parameters::{Builder, Parameters};
use crate::random::Random;

/// The loss by which layers are tested: a weighted sum of what they put out.
fn loss(layer: &dyn Layer, parameters: &[f32], x: &[f32], weights: &[f32]) -> f64 {
    let mut y = Vec::new();
    layer.forward(parameters, x, &mut y, &mut Saved::default(), &mut Packed::default());
    y.iter().zip(weights).map(|(y, w)| f64::from(y * w)).sum()
}

/// Whether a layer has a rectifier, a bound or a bucket of a hash: one that lies within a step of a number makes a difference
/// wrong, not the gradient.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Smooth,
    Kinked,
}

/// Compares the gradients of a layer with differences, for three sequences.
#[track_caller]
fn check(shape: Shape, make: impl FnOnce(&mut Builder) -> Box<dyn Layer>) {
    let mut builder = Builder::new(5);
    let layer = make(&mut builder);
    check_made(shape, layer.as_ref(), builder.finish());
}

#[track_caller]
fn check_made(shape: Shape, layer: &dyn Layer, mut parameters: Parameters) {
    let mut random = Random::new(11);
    for value in parameters.iter_mut() {
        // Biases and shifts of zero hide mistakes.
        *value += 0.1 * random.signed();
    }
    let mut x: Vec<f32> = (0..3 * layer.input()).map(|_| random.normal()).collect();
    let weights: Vec<f32> = (0..3 * layer.output()).map(|_| random.normal()).collect();
    let (mut y, mut dx, mut saved, mut packed) = (Vec::new(), Vec::new(), Saved::default(), Packed::default());
    let mut gradients = vec![0.0; parameters.len()];
    layer.forward(&parameters, &x, &mut y, &mut saved, &mut packed);
    let back = Back { x: &x, y: &y, dy: &weights, dx: &mut dx, gradients: &mut gradients };
    layer.backward(&parameters, back, &mut saved, &mut packed);

    for tensor in parameters.tensors() {
        let touched = gradients[tensor.range.clone()].iter().any(|g| *g != 0.0);
        assert!(touched, "`{}` gets no gradient", tensor.name);
    }
    let step = 2e-3f32;
    let near = |ours: f32, up: f64, down: f64| {
        let difference = (up - down) / f64::from(2.0 * step);
        (f64::from(ours) - difference).abs() < 2e-2 * difference.abs().max(1.0)
    };
    // Differences of single precision: a few numbers of each tensor, and of the input.
    let mut wrong = 0;
    let mut tried = 0;
    for at in (0..parameters.len()).step_by(1 + parameters.len() / 200) {
        let old = parameters[at];
        let [up, down] = [old + step, old - step].map(|value| {
            parameters[at] = value;
            loss(layer, &parameters, &x, &weights)
        });
        parameters[at] = old;
        wrong += usize::from(!near(gradients[at], up, down));
        tried += 1;
    }
    for at in (0..x.len()).step_by(1 + x.len() / 100) {
        let old = x[at];
        let [up, down] = [old + step, old - step].map(|value| {
            x[at] = value;
            loss(layer, &parameters, &x, &weights)
        });
        x[at] = old;
        wrong += usize::from(!near(dx[at], up, down));
        tried += 1;
    }
    let excused = if shape == Shape::Smooth { 0 } else { tried / 20 };
    assert!(wrong <= excused, "{wrong} of {tried} gradients are wrong");

    // A sequence alone gives the same bits, with weights that are packed for good, too.
    let mut alone = Vec::new();
    let last = &x[2 * layer.input()..];
    layer.forward(&parameters, last, &mut alone, &mut Saved::default(), &mut packed);
    assert_eq!(alone, y[2 * layer.output()..]);
    layer.prepare(&parameters, &mut packed);
    layer.forward(&parameters, last, &mut alone, &mut Saved::default(), &mut packed);
    assert_eq!(alone, y[2 * layer.output()..]);
}

#[test]
fn linear_maps() {
    check(Shape::Smooth, |make| Box::new(Linear::new(make, "a", 4, 5, 7)));
    check(Shape::Kinked, |make| Box::new(Linear::new(make, "a", 1, 20, 3).rectified()));
}

#[test]
fn norms_and_sums() {
    check(Shape::Smooth, |make| Box::new(Norm::new(make, "a", 3, 9)));
    check(Shape::Smooth, |make| {
        let inside = Linear::new(make, "a", 3, 6, 6);
        Box::new(AddNorm { inside, norm: Norm::new(make, "b", 3, 6) })
    });
}

#[test]
fn attention_with_several_heads() {
    check(Shape::Smooth, |make| Box::new(Attention::full(make, 5, 12, 3)));
    check(Shape::Smooth, |make| Box::new(Attention::full(make, 6, 4, 1)));
}

#[test]
fn thinned_attention() {
    for (literal, masks) in [(false, false), (false, true), (true, false)] {
        let mut make = Builder::new(5);
        let hashing = Hashing::new(8, 6, 1, literal, (ALIKE, UNLIKE));
        let layer = Attention::thinned(&mut make, 8, 6, Thinning { hashing, masks });
        check_made(Shape::Kinked, &layer, make.finish());
    }
}

#[test]
fn convolutions() {
    check(Shape::Kinked, |make| Box::new(Convolution::new(make, "a", 6, 4, 5, 1)));
    check(Shape::Kinked, |make| Box::new(Convolution::new(make, "a", 3, 2, 3, 2)));
}

#[test]
fn lstm() {
    check(Shape::Smooth, |make| Box::new(Lstm::new(make, 5, 4, 6)));
}

#[test]
fn chains_and_clamps() {
    check(Shape::Kinked, |make| {
        let first = Linear::new(make, "a", 4, 5, 6).rectified();
        Box::new(Chain::default().then(first).then(Clamp(24)).then(Linear::new(make, "b", 1, 24, 3)))
    });
}

#[test]
fn attention_of_the_last_token() {
    check(Shape::Smooth, |make| Box::new(LastAttention::new(make, 7, 6)));
    check(Shape::Smooth, |make| {
        let inside = LastAttention::new(make, 5, 4);
        Box::new(AddNorm { inside, norm: Norm::new(make, "b", 1, 4) })
    });
}

#[test]
fn embeddings() {
    let mut make = Builder::new(3);
    let embedding = Embedding::new(&mut make, 2, &[("delta", 5, 3), ("pc", 4, 2)], true);
    let mut parameters = make.finish();
    let ids = [1, 2, 3, 9, 0, 1, 1, 3];
    let mut random = Random::new(1);
    let weights: Vec<f32> = (0..20).map(|_| random.normal()).collect();
    let mut gradients = vec![0.0; parameters.len()];
    embedding.backward(&ids, &weights, &mut gradients);
    let sum = |parameters: &[f32]| {
        let mut y = Vec::new();
        embedding.forward(parameters, &ids, &mut y);
        y.iter().zip(&weights).map(|(y, w)| f64::from(y * w)).sum::<f64>()
    };
    for at in 0..parameters.len() {
        let old = parameters[at];
        let before = sum(&parameters);
        parameters[at] += 1.0;
        assert!((sum(&parameters) - before - f64::from(gradients[at])).abs() < 1e-4, "{at}");
        parameters[at] = old;
    }
}

#[test]
fn cross_entropy_matches_differences() {
    let logits = [0.3f32, -1.0, 2.0, 0.0, 0.1, 0.2];
    let labels = [2, 0];
    let loss = |logits: &[f32]| loss::cross_entropy(&mut logits.to_vec(), &labels, 3, 1);
    let mut gradient = logits;
    loss::cross_entropy(&mut gradient, &labels, 3, 1);
    for at in 0..6 {
        let [up, down] = [1e-2f32, -1e-2].map(|step| {
            let mut moved = logits;
            moved[at] += step;
            loss(&moved)
        });
        assert!(((up - down) / 2e-2 - f64::from(gradient[at])).abs() < 1e-3, "{at}");
    }
}
