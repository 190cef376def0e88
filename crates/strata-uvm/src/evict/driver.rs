//! As the real driver does (`uvm_pmm_gpu.c`): the 2 MB chunk into which nothing has come for the longest time. Use does not
//! matter.

use super::{Candidates, Eviction};
use std::ops::Range;

pub(super) struct FirstCome;

impl Eviction for FirstCome {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        among.remains(&among.recency.arrivals)
    }
}
