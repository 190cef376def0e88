//! Plans in short, for assertions that people can read.

use strata_sim::seam::{Dir, Move, Plan};

/// Each step behind the steps that it waits for, one bit each: `0:table<`, `1:dram<2` (sectors), `1:link>1` (sectors' worth of
/// bytes), `11:unit`, `1:copy`. `<` is from memory, `>` is to it.
///
/// ```
/// use strata_sim::cache::SectorMask;
/// use strata_testkit::sim::{Chain, brief};
///
/// let plan = Chain::of(Vec::new()).fill(7, SectorMask(0b0011));
/// assert_eq!(brief(&plan), ["0:dram<2"]);
/// ```
pub fn brief(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| format!("{:b}:{}", step.after.0, name(&step.what))).collect()
}

/// What a plan moves between controller and DRAM, in its order and in sectors: `<2>4` reads two and then writes four.
pub fn dram_moves(plan: &Plan) -> String {
    let moves = plan.steps.iter().filter(|step| matches!(step.what, Move::Dram { .. }));
    moves.map(|step| name(&step.what).replace("dram", "")).collect()
}

fn name(what: &Move) -> String {
    let arrow = |dir: &Dir| if *dir == Dir::Read { '<' } else { '>' };
    match what {
        Move::Table { dir, .. } => format!("table{}", arrow(dir)),
        Move::Dram { sectors, dir, .. } => format!("dram{}{}", arrow(dir), sectors.count()),
        Move::Link { bytes, dir, .. } => format!("link{}{}", arrow(dir), bytes / 32),
        Move::Unit { .. } => "unit".to_owned(),
        Move::CopyFromL2 { .. } => "copy".to_owned(),
    }
}
