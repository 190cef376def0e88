//! Which of overlapping blocks become candidates: the set that saves most together.
//!
//! Blocks are ranges of program counters, so this is the scheduling of weighted intervals: by their ends, each either joins
//! the best set of those that end before it begins, or is left out. They are compared by what is to be expected: a loop
//! whose count is not static goes round more than once, or a block in it, which moves its registers every time, would
//! seem as good as the loop, which moves them once.

use super::blocks::Draft;
use super::body::Body;
use strata_ptx::analysis::LoopId;

/// The blocks that no two of overlap and that save most together, by their place. Of equal sets the one of longer blocks.
pub(super) fn best(body: &Body<'_>, mut drafts: Vec<Draft>) -> Vec<Draft> {
    drafts.sort_by_key(|d| (d.span.end, std::cmp::Reverse(d.span.start), d.kind));
    // For the first n drafts: what the best set of them saves, and whether the last of them is in it.
    let mut best = vec![0.0_f64];
    let mut joins = Vec::with_capacity(drafts.len());
    let before = |d: &Draft| drafts.partition_point(|other| other.span.end <= d.span.start);
    for draft in &drafts {
        let with = best[before(draft)] + draft.likely_benefit * executions(body, draft);
        let without = best[best.len() - 1];
        joins.push(with >= without);
        best.push(with.max(without));
    }
    let mut chosen = Vec::new();
    let mut left = drafts.len();
    while left > 0 {
        if joins[left - 1] {
            chosen.push(left - 1);
            left = before(&drafts[left - 1]);
        } else {
            left -= 1;
        }
    }
    chosen.reverse();
    let mut chosen = chosen.into_iter().peekable();
    let mut at = 0;
    drafts.retain(|_| {
        at += 1;
        chosen.next_if_eq(&(at - 1)).is_some()
    });
    drafts
}

/// How often the loops around a block are expected to run it.
fn executions(body: &Body<'_>, draft: &Draft) -> f64 {
    let entry = body.cfg.block_of(draft.entry);
    let around = body.forest.innermost(entry);
    // A block has one way in, so of the loops around its first instruction only one that begins there can lie in it.
    let inside = |id: LoopId| body.forest.get(id).header == entry && body.loop_hull(id).end <= draft.span.end;
    let around = match around {
        Some(id) if inside(id) => body.forest.get(id).parent,
        other => other,
    };
    around.map_or(1.0, |id| body.likely_runs(id))
}
