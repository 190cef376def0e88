//! The market model in double precision, with the derivative by a common shift of all rates.

use std::ops::{Add, Div, Mul, Sub};

/// Forward rates, one for each quarter.
pub(super) const RATES: usize = 80;
/// Quarters that are simulated.
pub(super) const STEPS: usize = 40;
const DELTA: f64 = 0.25;
const NOTIONAL: f64 = 100.0;

/// Last quarters of the swaps, counted from the end of the simulation.
pub(super) const MATURITIES: [i32; 15] = [3, 3, 3, 7, 7, 7, 19, 19, 19, 27, 27, 27, 39, 39, 39];
/// Fixed rates of the swaps.
pub(super) const STRIKES: [f32; 15] =
    [0.045, 0.05, 0.055, 0.045, 0.05, 0.055, 0.045, 0.05, 0.055, 0.045, 0.05, 0.055, 0.045, 0.05, 0.055];

/// From 4 % in the first quarter to 6 % in the last: swaptions are on both sides of the money.
pub(super) fn initial_rates() -> [f32; RATES] {
    std::array::from_fn(|n| 0.04 + 0.02 * n as f32 / (RATES - 1) as f32)
}

/// Of a rate by the quarters that are left until it is fixed: from 22 % down to 12 %.
pub(super) fn volatility() -> [f32; RATES] {
    std::array::from_fn(|left| 0.22 - 0.10 * left as f32 / (RATES - 1) as f32)
}

/// A number and its derivative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dual {
    pub(super) value: f64,
    pub(super) slope: f64,
}

impl Dual {
    fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    fn exp(self) -> Self {
        let value = self.value.exp();
        Self { value, slope: self.slope * value }
    }
}

impl Add for Dual {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, slope: self.slope + other.slope }
    }
}

impl Sub for Dual {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, slope: self.slope - other.slope }
    }
}

impl Mul for Dual {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { value: self.value * other.value, slope: self.slope * other.value + self.value * other.slope }
    }
}

impl Div for Dual {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self { value, slope: (self.slope - value * other.slope) / other.value }
    }
}

/// The portfolio's value on a path, and how far the swaption nearest to the money is from it.
pub(super) fn price(rates: &[f32; RATES], volatility: &[f32; RATES], shocks: &[f64]) -> (Dual, f64) {
    let [one, delta] = [1.0, DELTA].map(Dual::constant);
    let mut rates = rates.map(|rate| Dual { value: rate.into(), slope: 1.0 });
    for (step, shock) in shocks.iter().enumerate() {
        let mut drift = Dual::constant(0.0);
        for (rate, lambda) in rates[step + 1..].iter_mut().zip(volatility) {
            let lambda = f64::from(*lambda);
            let scale = Dual::constant(DELTA * lambda);
            drift = drift + scale * *rate / (one + delta * *rate);
            let random = lambda * (DELTA.sqrt() * shock - 0.5 * DELTA * lambda);
            *rate = *rate * (scale * drift + Dual::constant(random)).exp();
        }
    }
    let (mut bond, mut annuity, mut value) = (one, Dual::constant(0.0), Dual::constant(0.0));
    let mut to_the_money = f64::INFINITY;
    for (quarter, rate) in rates[STEPS..].iter().enumerate() {
        bond = bond / (one + delta * *rate);
        annuity = annuity + delta * bond;
        for (_, strike) in MATURITIES.iter().zip(STRIKES).filter(|(last, _)| **last == quarter as i32) {
            let swap = bond + Dual::constant(strike.into()) * annuity - one;
            to_the_money = to_the_money.min(swap.value.abs());
            if swap.value < 0.0 {
                value = value - Dual::constant(NOTIONAL) * swap;
            }
        }
    }
    (rates[..STEPS].iter().fold(value, |value, rate| value / (one + delta * *rate)), to_the_money)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_the_derivative() {
        let shocks: Vec<f64> = (0..STEPS).map(|step| f64::from(step as i32 % 7 - 3) / 3.0).collect();
        let at = |shift: f64| {
            let rates = initial_rates().map(|rate| rate + shift as f32);
            price(&rates, &volatility(), &shocks).0
        };
        let (below, above) = (at(-1e-4), at(1e-4));
        // The shift of rates in single precision is not quite what was asked for.
        let shift = f64::from(initial_rates()[40] + 1e-4f32) - f64::from(initial_rates()[40] - 1e-4f32);
        let difference = (above.value - below.value) / shift;
        let slope = at(0.0).slope;
        assert!((difference / slope - 1.0).abs() < 1e-2, "{difference} {slope}");
    }

    #[test]
    fn without_shocks_and_strikes_in_reach_nothing_is_paid() {
        let low = [0.001; RATES];
        let (value, to_the_money) = price(&low, &volatility(), &[0.0; STEPS]);
        assert_eq!(value.value, 0.0);
        assert!(to_the_money > 0.01);
    }
}
