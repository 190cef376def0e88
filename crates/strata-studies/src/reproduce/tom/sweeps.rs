//! Sensitivities: Figures 11 to 13, section 6.5, what was decided where the paper is silent, and what goes beyond it. All at sizes one
//! effort below that of the other figures.

use super::figures::{Column, Made, ratios, speeds};
use super::suite::{
    ALU_AWARE, ALU_AWARE_4X, BASELINE, BATCHED, BUSY, CROSS, CTRL_BMAP, CTRL_TMAP, EVERY_SPAWN, HOST, INCOHERENT,
    INTERNAL_1X, LEARNED, MAJORITY, MAJORITY_BMAP, PAGES, PAIRS, QUEUE_AWARE, QUEUE_AWARE_4X, SECTORED, STACKS, Scheme,
    TRANSLATED, WARPS_2X, WARPS_4X,
};
use super::timing::{Point, Timing};
use crate::report::Figure;
use crate::reproduce::by_program::by_program;

/// Those with more warps on stacks.
const WARPS: [Scheme; 5] = [CTRL_TMAP, WARPS_2X, WARPS_4X, ALU_AWARE, ALU_AWARE_4X];
const WARPS_NOTE: &str = "Places for warps on the SM of a stack; ALU-aware keeps arithmetic from busy SMs, which the paper leaves to others.";

/// What goes beyond the paper.
const BEYOND: [Scheme; 6] = [MAJORITY, MAJORITY_BMAP, SECTORED, QUEUE_AWARE, QUEUE_AWARE_4X, BATCHED];

/// All of them.
pub(super) fn all() -> Vec<Made> {
    let made = |id, schemes: &[Scheme], make| Made { id, schemes: [&[CTRL_TMAP], schemes].concat(), make };
    let pairs = |all: &[(Scheme, Scheme)]| all.iter().flat_map(|&(plain, near)| [plain, near]).collect::<Vec<_>>();
    vec![
        made("figure-11", &WARPS[1..], |t| sweep(t, "figure-11", "Warps on stacks: speed-up", WARPS_NOTE, &WARPS)),
        made("figure-12", &WARPS[1..], figure_12),
        made("figure-13", &[INTERNAL_1X], |t| {
            let note = "Equal to that of the links, or (ctrl, tmap) twice that.";
            sweep(t, "figure-13", "Internal bandwidth", note, &[INTERNAL_1X, CTRL_TMAP])
        }),
        made("section-6-5", &CROSS.map(|(_, scheme)| scheme), |t| {
            let [eighth, quarter, whole] = CROSS.map(|(_, scheme)| scheme);
            let note = "Of the bandwidth of those to the GPU; ctrl, tmap has 0.5x.";
            sweep(t, "section-6-5", "Links between stacks", note, &[eighth, quarter, CTRL_TMAP, whole])
        }),
        made("learning", &[&LEARNED[..], &HOST].concat(), |t| {
            let note = "Share of instances that run out of the host's memory (ctrl, tmap: 0.1 %), instances watched to their ends, and the \
                        latency of the way to the host (ctrl, tmap: 1 us).";
            sweep(t, "learning", "What is learned from", note, &[&[CTRL_TMAP], &LEARNED[..], &HOST].concat())
        }),
        made("pages", &PAGES, |t| {
            let note = "Granularity at which memory is given out, by which arrays are apart; ctrl, tmap: 64 KiB.";
            sweep(t, "pages", "Pages", note, &[PAGES[0], CTRL_TMAP, PAGES[1]])
        }),
        made("hashed-pairs", &[&[CTRL_BMAP], &pairs(&PAIRS)[..]].concat(), |t| {
            let note = "Pairs of higher address bits in the stack of the baseline map (ctrl, bmap: two), over a baseline with the same map.";
            cut_alike(t, "hashed-pairs", "The baseline map", note, &PAIRS, (2, CTRL_BMAP))
        }),
        made("stacks", &pairs(&STACKS), |t| {
            let note = "As many SMs, vaults and bytes per second in all, over the baseline cut alike; ctrl, tmap has 4 stacks.";
            cut_alike(t, "stacks", "Number of stacks", note, &STACKS, (1, CTRL_TMAP))
        }),
        made("busy", &BUSY, |t| {
            let note = "Use of a channel from which on nothing is offloaded that adds to it; ctrl, tmap: 90 %.";
            sweep(t, "busy", "When a channel is busy", note, &[BUSY[0], BUSY[1], CTRL_TMAP, BUSY[2]])
        }),
        made("coherence", &[INCOHERENT, EVERY_SPAWN], |t| {
            let note = "Stores of an SM not waited for, caches of stacks and GPU not emptied; and a stack's cache dropped at every spawn, as the \
                        paper has it (section 4.4.2).";
            sweep(t, "coherence", "The cost of coherence", note, &[INCOHERENT, CTRL_TMAP, EVERY_SPAWN])
        }),
        made("translation", &pairs(&[TRANSLATED]), |t| {
            let note = "TLBs, also on stacks, whose walks cross to the stack of the page table's entry (section 4.4.1), over a baseline with \
                        TLBs; ctrl, tmap has none.";
            cut_alike(t, "translation", "Address translation", note, &[TRANSLATED], (0, CTRL_TMAP))
        }),
        made("beyond", &[&[CTRL_BMAP], &BEYOND[..]].concat(), |t| {
            let note = "What the paper does not have: an instance runs on the stack that holds most of the lines of its first segment, lines that \
                        all lanes share left out, instead of that of its first access; SMs on stacks fetch sectors instead of lines; a block \
                        stays that would wait long for the issue slots of its stack (with 48 and with 192 places for warps); and a warp stays on \
                        the stack for the block that comes straight behind. ALU-aware control is in figure 11.";
            sweep(t, "beyond", "Beyond the paper", note, &[&[CTRL_TMAP, CTRL_BMAP], &BEYOND[..]].concat())
        }),
    ]
}

/// Speeds of a sweep.
fn sweep(timings: &[Timing], id: &'static str, title: &'static str, note: &str, schemes: &[Scheme]) -> Figure {
    by_program(timings, ratios(id, title, note), &speeds(schemes))
}

/// Speeds over a baseline that was changed alike; `own` is the machine's own value, and where it stands among the others.
fn cut_alike(
    timings: &[Timing],
    id: &'static str,
    title: &'static str,
    note: &str,
    pairs: &[(Scheme, Scheme)],
    own: (usize, Scheme),
) -> Figure {
    let over = |&(plain, near): &(Scheme, Scheme)| {
        Column::new(near.name, 3, move |t: &Timing| t.relative(plain, near, |p| p.cycles))
    };
    let mut columns: Vec<Column<'_>> = pairs.iter().map(over).collect();
    columns.insert(own.0, Column::new(own.1.name, 3, move |t: &Timing| t.speed(own.1)));
    by_program(timings, ratios(id, title, note), &columns)
}

fn figure_12(timings: &[Timing]) -> Figure {
    let column = |s: Scheme| Column::new(s.name, 3, move |t: &Timing| t.relative(s, BASELINE, Point::traffic));
    by_program(timings, ratios("figure-12", "Warps on stacks: traffic", WARPS_NOTE), &WARPS.map(column))
}
