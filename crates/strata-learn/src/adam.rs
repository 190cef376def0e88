//! Adam (Kingma and Ba 2015).

/// Running moments of every gradient, and how many steps they have seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Adam {
    pub(crate) first: Vec<f32>,
    pub(crate) second: Vec<f32>,
    pub(crate) steps: u64,
}

/// The paper's decays.
const DECAY1: f32 = 0.9;
const DECAY2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

impl Adam {
    pub(crate) fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }

    /// One step against the gradients.
    pub(crate) fn step(&mut self, parameters: &mut [f32], gradients: &[f32], rate: f32) {
        self.steps += 1;
        // Powers by multiplication: the platform's function may round otherwise.
        let power = |decay: f32| (0..self.steps.min(20_000)).fold(1.0f64, |p, _| p * f64::from(decay));
        let (bias1, bias2) = ((1.0 - power(DECAY1)) as f32, (1.0 - power(DECAY2)) as f32);
        let rate = rate / bias1;
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((parameter, gradient), (first, second)) in parameters.iter_mut().zip(gradients).zip(moments) {
            *first = DECAY1 * *first + (1.0 - DECAY1) * gradient;
            *second = DECAY2 * *second + (1.0 - DECAY2) * gradient * gradient;
            *parameter -= rate * *first / ((*second / bias2).sqrt() + EPSILON);
        }
    }
}
