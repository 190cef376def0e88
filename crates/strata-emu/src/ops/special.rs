//! Special registers.

use crate::exec::{Exec, Flow};
use crate::inst::{Clock, Inst, OpFn};
use crate::lanes::write_lanes;
use strata_core::{Dim3, LaneMask};
use strata_ptx::ast::Special;

/// SMs that a machine without a timing model pretends to have; CTAs are dealt to them in turn.
const PRETENDED_SMS: u64 = 80;
/// Warps an SM can hold (compute capability 7.0: 64).
const WARPS_PER_SM: u32 = 64;

macro_rules! same_in_all_lanes {
    ($wide:expr, |$x:ident, $i:ident| $value:expr) => {{
        fn value($x: &Exec<'_>, $i: &Inst) -> u64 {
            $value
        }
        unsafe fn to_narrow(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
            let v = value(x, i) as u32;
            // SAFETY: decoding gave a 32-bit destination.
            unsafe { write_lanes::<u32>(x, i.d, m, |_| v) };
            Flow::Next
        }
        unsafe fn to_wide(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
            let v = value(x, i);
            // SAFETY: decoding gave a 64-bit destination.
            unsafe { write_lanes::<u64>(x, i.d, m, |_| v) };
            Flow::Next
        }
        let chosen: OpFn = if $wide { to_wide } else { to_narrow };
        chosen
    }};
}

macro_rules! thread_id {
    ($axis:literal) => {{
        unsafe fn read(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
            let ids = &x.launch.thread_ids[x.warp as usize][$axis].0;
            // SAFETY: decoding gave a 32-bit destination.
            unsafe { write_lanes::<u32>(x, i.d, m, |l| ids[l]) };
            Flow::Next
        }
        let chosen: OpFn = read;
        chosen
    }};
}

/// Warp instructions up to this one: the clock has already counted those of its block that are yet to come.
fn now(x: &Exec<'_>, i: &Inst) -> u64 {
    x.clock - i.fields::<Clock>().to_come as u64
}

fn cta(x: &Exec<'_>) -> Dim3 {
    x.launch.grid.position(x.cta)
}

/// The code that reads a special register into a 32- or 64-bit slot.
pub(crate) fn reader(special: Special, wide: bool) -> Option<OpFn> {
    Some(match special {
        Special::TidX => thread_id!(0),
        Special::TidY => thread_id!(1),
        Special::TidZ => thread_id!(2),
        Special::NtidX => same_in_all_lanes!(wide, |x, _i| u64::from(x.launch.block.x)),
        Special::NtidY => same_in_all_lanes!(wide, |x, _i| u64::from(x.launch.block.y)),
        Special::NtidZ => same_in_all_lanes!(wide, |x, _i| u64::from(x.launch.block.z)),
        Special::CtaidX => same_in_all_lanes!(wide, |x, _i| u64::from(cta(x).x)),
        Special::CtaidY => same_in_all_lanes!(wide, |x, _i| u64::from(cta(x).y)),
        Special::CtaidZ => same_in_all_lanes!(wide, |x, _i| u64::from(cta(x).z)),
        Special::NctaidX => same_in_all_lanes!(wide, |x, _i| u64::from(x.launch.grid.x)),
        Special::NctaidY => same_in_all_lanes!(wide, |x, _i| u64::from(x.launch.grid.y)),
        Special::NctaidZ => same_in_all_lanes!(wide, |x, _i| u64::from(x.launch.grid.z)),
        Special::Warpid => same_in_all_lanes!(wide, |x, _i| u64::from(x.warp)),
        Special::Nwarpid => same_in_all_lanes!(wide, |_x, _i| u64::from(WARPS_PER_SM)),
        Special::Smid => same_in_all_lanes!(wide, |x, _i| x.cta % PRETENDED_SMS),
        Special::Nsmid => same_in_all_lanes!(wide, |_x, _i| PRETENDED_SMS),
        Special::Gridid => same_in_all_lanes!(wide, |x, _i| x.launch.number),
        Special::Clock | Special::GlobaltimerLo => same_in_all_lanes!(wide, |x, i| now(x, i) & 0xffff_ffff),
        Special::ClockHi | Special::GlobaltimerHi => same_in_all_lanes!(wide, |x, i| now(x, i) >> 32),
        Special::Clock64 | Special::Globaltimer => same_in_all_lanes!(wide, |x, i| now(x, i)),
        Special::Envreg1 => same_in_all_lanes!(wide, |x, _i| x.launch.workspace >> 32),
        Special::Envreg2 => same_in_all_lanes!(wide, |x, _i| x.launch.workspace & 0xffff_ffff),
        Special::DynamicSmemSize => same_in_all_lanes!(wide, |x, _i| u64::from(x.launch.dynamic_shared)),
        Special::TotalSmemSize => same_in_all_lanes!(wide, |x, _i| x.launch.shared_bytes),
        _ => return None,
    })
}
