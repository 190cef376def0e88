//! SRRIP, a replacement policy for L1, L2 or both: lines leave by when they are predicted to be used again, so that a scan
//! does not push out what is used often (Jaleel et al., "High Performance Cache Replacement Using Re-Reference Interval Prediction
//! (RRIP)", ISCA 2010).
//!
//! Every line has a re-reference prediction value of a few bits: 0 is soon, the largest is in the distant future. A line comes
//! with the second largest, *long*; a hit makes it 0 (hit priority, the paper's SRRIP-HP). A line of the distant future leaves;
//! if there is none, all lines of the set grow older until there is.
//!
//! ```
//! use strata_sim::seam::{Replacement, Ways};
//! use strata_srrip::Srrip;
//!
//! let mut policy = Srrip::new(2);
//! policy.attach(1, 4);
//! (0..4).for_each(|way| policy.filled(0, way));
//! policy.hit(0, 0);
//! let mut all = Ways::default();
//! (0..4).for_each(|way| all.insert(way));
//! assert_eq!(policy.victim(0, &all), 1, "the first that was not used again");
//! ```
//!
//! Invariants: a choice looks at one set; nothing depends on chance.

mod mechanism;
mod policy;
mod settings;

pub use mechanism::register;
pub use policy::Srrip;
pub use settings::{SETTINGS, Settings};
