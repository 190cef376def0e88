//! A CTA: its warps, its shared memory, its barriers.
//!
//! Warps run one after the other, each until it waits, exits, gives way or has had its turn; that is a legal order for every
//! program whose warps synchronise as CUDA demands, and it is always the same one.

use crate::exec::Exec;
use crate::fault::Cause;
use crate::inst::{CtaBarrier, Inst};
use crate::kernel::{Kernel, Reduction};
use crate::lanes::write_lanes;
use crate::turn::{CTA_TURN, FIRST_TURN, Turn, WARP_TURN};
use crate::warp::{State, Unit, Visits, Warp, WarpStop};
use strata_core::{LANES, LaneMask};

/// Barriers a CTA has (PTX ISA, `bar`).
const BARRIERS: usize = 16;

/// One CTA barrier between two openings.
#[derive(Clone, Copy, Default)]
struct BarrierState {
    /// Threads it was said to wait for, if it was said.
    count: Option<u32>,
    /// True predicates and threads so far, for reductions.
    trues: u32,
    threads: u32,
}

/// The barriers of a CTA.
pub(crate) struct Barriers {
    states: [BarrierState; BARRIERS],
    /// Lanes that came to each, by warp.
    came: Vec<LaneMask>,
    warps: usize,
    /// Barriers that somebody has come to, as a set.
    used: u32,
}

impl Barriers {
    pub(crate) fn new(warps: usize) -> Self {
        Self { states: [BarrierState::default(); BARRIERS], came: vec![0; BARRIERS * warps], warps, used: 0 }
    }

    fn reset(&mut self) {
        while self.used != 0 {
            self.reset_one(self.used.trailing_zeros() as usize);
        }
    }

    fn reset_one(&mut self, id: usize) {
        self.states[id] = BarrierState::default();
        self.came[id * self.warps..(id + 1) * self.warps].fill(0);
        self.used &= !(1 << id);
    }

    /// Lanes that came to a barrier, by warp.
    fn came(&self, id: usize) -> &[LaneMask] {
        &self.came[id * self.warps..(id + 1) * self.warps]
    }

    /// Lanes of a warp come to barrier `id`.
    pub(crate) fn arrive(
        &mut self,
        id: u32,
        count: Option<u32>,
        warp: usize,
        lanes: LaneMask,
        reduces: bool,
        predicate: LaneMask,
    ) -> Result<(), Cause> {
        let Some(state) = self.states.get_mut(id as usize) else {
            let what = format!("barrier {id} does not exist; a block has barriers 0 to {}", BARRIERS - 1);
            return Err(Cause::Unsupported { what });
        };
        self.used |= 1 << id;
        self.came[id as usize * self.warps + warp] |= lanes;
        state.count = count.or(state.count);
        if reduces {
            state.trues += (predicate & lanes).count_ones();
            state.threads += lanes.count_ones();
        }
        Ok(())
    }

    /// A barrier and how far it is, for a message.
    fn name(&self, id: u8) -> String {
        let came: u32 = self.came(id.into()).iter().map(|lanes| lanes.count_ones()).sum();
        match self.states[usize::from(id)].count {
            Some(count) => format!("barrier {id} ({came} of {count} threads came)"),
            None => format!("barrier {id} ({came} threads came)"),
        }
    }

    /// A barrier that everybody has come to who still can, with its true predicates and threads; it is reset.
    fn take_complete(&mut self, warps: &[Warp], races: impl FnOnce(&[LaneMask])) -> Option<(u8, u32, u32)> {
        let mut used = self.used;
        while used != 0 {
            let id = used.trailing_zeros() as usize;
            used &= used - 1;
            let (state, mut came) = (self.states[id], self.came(id).iter().zip(warps));
            let complete = match state.count {
                // A warp all of whose live lanes came counts whole, as on hardware.
                Some(count) => {
                    let whole = |came: LaneMask, live: LaneMask| came != 0 && live & !came == 0;
                    let threads = |(&came, warp): (&LaneMask, &Warp)| {
                        if whole(came, warp.live) { LANES as u32 } else { came.count_ones() }
                    };
                    came.map(threads).sum::<u32>() >= count
                }
                None => came.all(|(&came, warp)| warp.live & !came == 0),
            };
            if complete {
                races(self.came(id));
                self.reset_one(id);
                return Some((id as u8, state.trues, state.threads));
            }
        }
        None
    }
}

/// Writes the result of a `bar.red`.
pub(crate) fn give_reduction(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    reduction: Option<Reduction>,
    trues: u32,
    threads: u32,
) {
    let all = |yes: bool| if yes { LaneMask::MAX } else { 0 };
    let CtaBarrier { result, .. } = i.fields();
    match reduction {
        None => {}
        // SAFETY: decoding gave a 32-bit destination.
        Some(Reduction::Popc) => unsafe { write_lanes::<u32>(x, i.d, m, |_| trues) },
        Some(Reduction::And) => x.set_predicate(result, m, all(trues == threads)),
        Some(Reduction::Or) => x.set_predicate(result, m, all(trues != 0)),
    }
}

/// How a CTA's turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CtaStop {
    /// All threads have exited.
    Done,
    /// Every warp that could run waits or seems to: another CTA may have to run first.
    Spinning,
    /// It has run long enough for now.
    TurnOver,
    /// The execution context holds the cause; `warp` says where.
    Fault { warp: usize },
}

/// A resident CTA; its memory is reused by the CTAs that come after it.
pub(crate) struct Cta {
    /// Linear number in the grid.
    pub(crate) number: u64,
    pub(crate) warps: Vec<Warp>,
    pub(crate) shared: Vec<Unit>,
    pub(crate) barriers: Barriers,
    /// Its warps have had their first turn.
    begun: bool,
}

impl Cta {
    /// An empty CTA with room for `warps` warps and `shared` bytes.
    pub(crate) fn new(warps: usize, shared: u64) -> Self {
        let units = (shared as usize).div_ceil(size_of::<Unit>());
        Self {
            number: 0,
            warps: (0..warps).map(|_| Warp::new()).collect(),
            shared: vec![Unit([0; LANES]); units],
            barriers: Barriers::new(warps),
            begun: false,
        }
    }

    /// Becomes CTA `number` at the start of the kernel.
    pub(crate) fn start(&mut self, kernel: &Kernel, number: u64, threads: u64) {
        self.number = number;
        self.shared.fill(Unit([0; LANES]));
        self.barriers.reset();
        self.begun = false;
        for (w, warp) in self.warps.iter_mut().enumerate() {
            let lanes = (threads - w as u64 * LANES as u64).min(LANES as u64) as u32;
            warp.start(kernel, if lanes == 32 { LaneMask::MAX } else { (1 << lanes) - 1 });
        }
    }

    /// Every warp has its first turn, of `length` instructions: the CTA begins in step with others.
    pub(crate) fn begin(
        &mut self,
        x: &mut Exec<'_>,
        kernel: &Kernel,
        visits: &mut [Visits],
        turn: &mut Turn,
        length: u64,
    ) -> CtaStop {
        x.shared = self.shared.as_mut_ptr().cast();
        x.cta = self.number;
        self.begun = true;
        for w in 0..self.warps.len() {
            Self::select_warp(x, w);
            turn.begin(length, x.bytes_written);
            if self.warps[w].run::<false>(x, kernel, &mut self.barriers, visits, turn) == WarpStop::Fault {
                return CtaStop::Fault { warp: w };
            }
        }
        if self.warps.iter().all(|w| w.live == 0) { CtaStop::Done } else { CtaStop::TurnOver }
    }

    /// Runs until the CTA is done, can get no further by itself, or has had its turn.
    pub(crate) fn run(&mut self, x: &mut Exec<'_>, kernel: &Kernel, visits: &mut [Visits], turn: &mut Turn) -> CtaStop {
        x.shared = self.shared.as_mut_ptr().cast();
        x.cta = self.number;
        let began = x.clock;
        let mut length = WARP_TURN;
        if let Some(start) = kernel.start
            && !std::mem::replace(&mut self.begun, true)
        {
            length = start.length;
        }
        loop {
            // Who spins does so for sure; who idles may only look like it.
            let (mut ran, mut all_spinning, mut all_idle) = (false, true, true);
            for w in 0..self.warps.len() {
                if self.warps[w].live == 0 {
                    continue;
                }
                Self::select_warp(x, w);
                turn.begin(length, x.bytes_written);
                match self.warps[w].run::<false>(x, kernel, &mut self.barriers, visits, turn) {
                    WarpStop::Fault => return CtaStop::Fault { warp: w },
                    WarpStop::Waiting => {}
                    WarpStop::Yielded { spinning } => {
                        ran = true;
                        all_spinning &= spinning;
                        all_idle &= spinning;
                    }
                    WarpStop::TurnOver { idle } => {
                        (ran, all_spinning) = (true, false);
                        all_idle &= idle;
                    }
                    WarpStop::Exited | WarpStop::Segment => {
                        (ran, all_spinning, all_idle) = (true, false, false);
                    }
                    WarpStop::Arrived => {
                        (ran, all_spinning, all_idle) = (true, false, false);
                        self.open_barriers(x);
                    }
                }
            }
            let opened = self.open_barriers(x);
            length = opened.unwrap_or(WARP_TURN);
            if self.warps.iter().all(|w| w.live == 0) {
                return CtaStop::Done;
            }
            let moved = opened.is_some() || (!ran || all_spinning) && self.let_go();
            if !moved && !ran {
                return CtaStop::Fault { warp: self.deadlock(x) };
            }
            if !moved && all_idle {
                return CtaStop::Spinning;
            }
            if x.clock - began >= CTA_TURN {
                return CtaStop::TurnOver;
            }
        }
    }

    /// Points the context at a warp.
    pub(crate) fn select_warp(x: &mut Exec<'_>, w: usize) {
        x.warp = w as u32;
        x.local = x.launch.local_of(x.resident, w as u32);
    }

    /// Opens every barrier that is complete; gives the length of the turns that follow, if there was one.
    pub(crate) fn open_barriers(&mut self, x: &mut Exec<'_>) -> Option<u64> {
        let (mut opened, mut keep_step) = (false, false);
        while let Some((id, trues, threads)) =
            self.barriers.take_complete(&self.warps, |came| x.tell_races(|races, x| races.opened(x, came)))
        {
            opened = true;
            for w in 0..self.warps.len() {
                Self::select_warp(x, w);
                keep_step |= self.warps[w].open(x, id, trues, threads);
            }
        }
        opened.then_some(if keep_step { FIRST_TURN } else { WARP_TURN })
    }

    /// In warps that stand at a barrier, lets lanes go that wait for their siblings to pass it: the barrier, or somebody
    /// who spins, may be waiting for them. Says whether there were any.
    pub(crate) fn let_go(&mut self) -> bool {
        let stands = |w: &Warp| w.splits.iter().all(|s| s.state != State::Ready);
        let mut any = false;
        for warp in self.warps.iter_mut().filter(|w| w.live != 0 && stands(w)) {
            any |= warp.let_go();
        }
        any
    }

    /// Nobody can run and nobody has come to the end: says who waits where.
    pub(crate) fn deadlock(&self, x: &mut Exec<'_>) -> usize {
        let kernel = x.launch.kernel;
        let mut places: Vec<String> = Vec::new();
        let mut culprit = 0;
        for (w, warp) in self.warps.iter().enumerate() {
            for (state, code, pc, lanes) in warp.waiting() {
                let code = &kernel.functions[code as usize];
                let line = kernel.infos[(code.first_pc + pc) as usize].line;
                let what = match state {
                    State::Barrier(id) => self.barriers.name(id),
                    State::Members(members) => format!("warp barrier of lanes {members:#010x}"),
                    _ => continue,
                };
                if places.is_empty() {
                    culprit = w;
                }
                if places.len() < 4 {
                    places.push(format!("warp {w} lanes {lanes:#010x} at {what}, line {line}"));
                }
            }
        }
        let exited = self.warps.iter().filter(|w| w.live == 0).count();
        let waiting = format!("{} ({exited} of {} warps have exited)", places.join("; "), self.warps.len());
        x.fail(Cause::BarrierDeadlock { waiting });
        culprit
    }
}
