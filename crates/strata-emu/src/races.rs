//! The race report: conflicting accesses of different warps to shared or global memory that nothing orders.
//!
//! As for `check`, decoding a kernel for such a launch puts a look in front of its memory instructions; other launches run
//! code that knows nothing of this. Two accesses conflict if they touch the same byte, at least one changes it, and they are
//! not both atomic (a volatile access counts as atomic). They are ordered if
//!
//! * the same warp makes them, or
//! * both warps are of one CTA, and barriers of the CTA lie between: each warp has a clock, and knows how far the clocks of
//!   the others were at the last barrier they shared (a vector clock), or
//! * the first CTA published: a fence after its access, then an atomic or volatile access (or one that releases, which needs
//!   no fence) to some address; and the second has since accessed that address with an atomic or volatile access.
//!
//! Invariants:
//!
//! * Shared memory is exact for programs whose barriers are for all warps: a byte remembers who wrote it last, and two
//!   different warps that read it since.
//! * Global memory is bounded: [`MOST_CELLS`] words of four bytes are remembered in a launch; a program that touches more is
//!   told less, never something wrong. The same holds for what CTAs publish.
//! * A store that changes nothing is no conflict: warps that all write the same value do no harm.
//!
//! Deliberately absent: textures, surfaces, whole matrices (`wmma`, `ldmatrix`), lanes of one warp among each other.

use crate::check::{Watched, offsets};
use crate::exec::{Exec, Flow};
use crate::fault::Cause;
use crate::inst::Inst;
use crate::launch::describe;
use crate::memory::SHARED_WINDOW;
use crate::ops::memory::{addresses, window};
use rustc_hash::{FxHashMap, FxHashSet};
use strata_core::{Access, Addr, LANES, LaneMask, Space};

/// Words of global memory that are remembered; when there are more, all are forgotten.
const MOST_CELLS: usize = 1 << 21;
/// Things that a CTA publishes, and that it sees of others; one with more counts as ordered with all whom it could be ordered with.
const MOST_EVENTS: usize = 256;
/// CTAs whose events are remembered; those after them count as ordered with everybody.
const MOST_CTAS: usize = 1 << 20;
/// Bytes of a cell of global memory.
const CELL: u64 = 4;

/// Who accessed some bytes of a cell, where and when.
#[derive(Clone, Copy, Default)]
struct Mark {
    cta: u64,
    /// Looks so far; 0 if there was no access.
    time: u64,
    /// The warp's own clock.
    clock: u32,
    /// The instruction: function and number in it.
    code: u32,
    pc: u32,
    warp: u16,
    /// Which bytes of the cell, a bit each.
    bytes: u8,
    atomic: bool,
}

/// What is known of a byte of shared memory, or of four of global memory.
#[derive(Clone, Copy, Default)]
struct Cell {
    write: Mark,
    reads: [Mark; 2],
}

/// The barriers of a resident CTA.
struct Clocks {
    cta: u64,
    warps: usize,
    /// How far each warp knows the clock of each other; a warp's own is ahead of what others know.
    known: Vec<u32>,
    shared: FxHashMap<u64, Cell>,
}

impl Clocks {
    fn new(cta: u64, warps: usize) -> Self {
        let known = (0..warps * warps).map(|k| u32::from(k % warps == k / warps)).collect();
        Self { cta, warps, known, shared: FxHashMap::default() }
    }

    fn own(&self, warp: u16) -> u32 {
        self.known[usize::from(warp) * (self.warps + 1)]
    }

    fn knows(&self, warp: u16, of: u16, clock: u32) -> bool {
        self.known[usize::from(warp) * self.warps + usize::from(of)] >= clock
    }

    /// A barrier opens for the warps of which lanes came.
    fn open(&mut self, came: &[LaneMask]) {
        let warps = self.warps;
        let mut all = vec![0; warps];
        let here = || came.iter().enumerate().filter(|(_, lanes)| **lanes != 0).map(|(w, _)| w);
        for w in here() {
            for (k, to) in all.iter_mut().enumerate() {
                *to = self.known[w * warps + k].max(*to);
            }
        }
        for w in here() {
            self.known[w * warps..][..warps].copy_from_slice(&all);
            self.known[w * (warps + 1)] += 1;
        }
    }
}

/// What a CTA did to be ordered with others.
#[derive(Default)]
struct Events {
    /// Of each warp that made one: its last fence.
    fences: FxHashMap<u16, u64>,
    /// Address, warp, the fence before it, time.
    published: Vec<(u64, u16, u64, u64)>,
    /// Address and warp: the last time.
    seen: FxHashMap<(u64, u16), u64>,
}

impl Events {
    /// Something may have been published that is not kept.
    fn published_more(&self) -> bool {
        self.published.len() >= MOST_EVENTS
    }

    /// Something may have been seen that is not kept.
    fn saw_more(&self) -> bool {
        self.seen.len() >= MOST_EVENTS
    }
}

/// What is known of the accesses of a launch.
#[derive(Default)]
pub(crate) struct Races {
    time: u64,
    /// By resident slot.
    ctas: FxHashMap<u32, Clocks>,
    /// By CTA.
    events: FxHashMap<u64, Events>,
    global: FxHashMap<u64, Cell>,
    /// Pairs of instructions that were told.
    told: FxHashSet<[u32; 4]>,
}

/// One lane's access.
struct One {
    shared: bool,
    address: u64,
    width: u64,
    reads: bool,
    writes: bool,
}

impl Races {
    fn clocks(&mut self, x: &Exec<'_>) -> &mut Clocks {
        let warps = x.launch.warps_per_cta();
        let clocks = self.ctas.entry(x.resident).or_insert_with(|| Clocks::new(x.cta, warps));
        if clocks.cta != x.cta {
            *clocks = Clocks::new(x.cta, warps);
        }
        clocks
    }

    /// A barrier of the running CTA opens.
    pub(crate) fn opened(&mut self, x: &Exec<'_>, came: &[LaneMask]) {
        self.clocks(x).open(came);
    }

    /// The running warp makes a fence.
    pub(crate) fn fence(&mut self, x: &Exec<'_>) {
        self.time += 1;
        let time = self.time;
        if self.events.len() < MOST_CTAS {
            self.events.entry(x.cta).or_default().fences.insert(x.warp as u16, time);
        }
    }

    /// The running warp accesses an address as warps do that wait for each other.
    fn meet(&mut self, x: &Exec<'_>, address: u64, releases: bool) {
        if self.events.len() >= MOST_CTAS {
            return;
        }
        let (time, warp) = (self.time, x.warp as u16);
        let events = self.events.entry(x.cta).or_default();
        if !events.saw_more() || events.seen.contains_key(&(address, warp)) {
            events.seen.insert((address, warp), time);
        }
        let fence = if releases { Some(time) } else { events.fences.get(&warp).copied() };
        if let Some(fence) = fence.filter(|_| !events.published_more()) {
            match events.published.last_mut() {
                // Nobody can tell publications of one fence apart.
                Some(last) if (last.0, last.1, last.2) == (address, warp, fence) => {}
                _ => events.published.push((address, warp, fence, time)),
            }
        }
    }

    /// True if the running warp cannot have raced with an earlier access.
    fn ordered(&self, x: &Exec<'_>, earlier: &Mark) -> bool {
        let warp = x.warp as u16;
        let same_cta = earlier.cta == x.cta;
        if same_cta && earlier.warp == warp {
            return true;
        }
        if same_cta
            && let Some(clocks) = self.ctas.get(&x.resident)
            && clocks.knows(warp, earlier.warp, earlier.clock)
        {
            return true;
        }
        let (Some(theirs), Some(ours)) = (self.events.get(&earlier.cta), self.events.get(&x.cta)) else {
            return self.events.len() >= MOST_CTAS;
        };
        // Who has published nothing is ordered with nobody, however much there was to see.
        theirs.published_more()
            || !theirs.published.is_empty() && ours.saw_more()
            || theirs.published.iter().any(|&(address, by, fence, time)| {
                let seen = |(&(at, warp), &when): (&(u64, u16), &u64)| {
                    at == address && when > time && !(same_cta && warp == by)
                };
                fence > earlier.time && ours.seen.iter().any(seen)
            })
    }

    /// Looks at one access; gives the conflict if there is one: the earlier access, and whether it wrote.
    fn look(&mut self, x: &Exec<'_>, one: &One, mark: Mark) -> Option<(Mark, bool)> {
        let mut found = None;
        let end = one.address + one.width;
        let mut at = one.address;
        while at < end {
            // Bytes of shared memory are few: each has a cell of its own.
            let size = if one.shared { 1 } else { CELL };
            let cell = at / size;
            let last = (cell + 1) * size;
            let bytes = (at..end.min(last)).fold(0, |mask, byte| mask | 1 << (byte % size));
            at = last;
            let mark = Mark { bytes, ..mark };
            let known = if one.shared { self.clocks(x).shared.get(&cell) } else { self.global.get(&cell) };
            let mut known = known.copied().unwrap_or_default();
            let conflicts =
                |m: &Mark| m.time != 0 && m.bytes & bytes != 0 && !(m.atomic && mark.atomic) && !self.ordered(x, m);
            if found.is_none() && conflicts(&known.write) {
                found = Some((known.write, true));
            }
            if found.is_none()
                && one.writes
                && let Some(read) = known.reads.iter().find(|m| conflicts(m))
            {
                found = Some((*read, false));
            }
            if one.writes {
                known.write = mark;
            }
            if one.reads {
                let same = |m: &Mark| m.cta == mark.cta && m.warp == mark.warp;
                let place = if known.reads[0].time == 0 || same(&known.reads[0]) {
                    0
                } else {
                    usize::from(
                        known.reads[1].time == 0 || same(&known.reads[1]) || known.reads[0].time > known.reads[1].time,
                    )
                };
                known.reads[place] = mark;
            }
            if one.shared {
                self.clocks(x).shared.insert(cell, known);
            } else {
                if self.global.len() >= MOST_CELLS {
                    self.global.clear();
                }
                self.global.insert(cell, known);
            }
        }
        found
    }

    /// Looks at an instruction that has just run: `before` is what the bytes were that each lane may have changed.
    fn look_at(
        &mut self,
        x: &Exec<'_>,
        m: LaneMask,
        watched: &Watched,
        accesses: &[Option<(One, u128)>; LANES],
    ) -> Option<Cause> {
        self.time += 1;
        let mut mark = Mark {
            cta: x.cta,
            time: self.time,
            clock: self.clocks(x).own(x.warp as u16),
            code: x.code,
            pc: watched.pc,
            warp: x.warp as u16,
            bytes: 0,
            atomic: watched.is_atomic(),
        };
        let mut found = None;
        for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
            let Some((one, before)) = &accesses[lane] else { continue };
            mark.atomic = watched.is_atomic();
            let changed = one.writes && value(x, one) != *before;
            let one = One { writes: changed, ..*one };
            if mark.atomic {
                let address = if one.shared { SHARED_WINDOW + one.address } else { one.address };
                self.meet(x, address, watched.releases);
            }
            if !one.reads && !changed {
                continue;
            }
            if let Some((earlier, wrote)) = self.look(x, &one, mark) {
                let pair = [earlier.code, earlier.pc, x.code, watched.pc];
                if found.is_none() && self.told.insert(pair) {
                    found = Some(race(x, lane, &one, &earlier, wrote, changed));
                }
            }
        }
        found
    }
}

/// The bytes of an access, as they are now.
fn value(x: &Exec<'_>, one: &One) -> u128 {
    let mut bytes = [0; 16];
    let count = (one.width as usize).min(bytes.len());
    let from = if one.shared { x.shared } else { x.origin }.wrapping_add(one.address as usize);
    // SAFETY: `accesses` has checked the range against shared memory, or against a live allocation.
    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), count) };
    u128::from_le_bytes(bytes)
}

fn race(x: &Exec<'_>, lane: usize, one: &One, earlier: &Mark, wrote: bool, writes: bool) -> Cause {
    let kernel = x.launch.kernel;
    let (block, other) = (x.launch.grid.position(x.cta), x.launch.grid.position(earlier.cta));
    let there = describe(
        x.launch,
        Cause::Unsupported { what: String::new() },
        earlier.code,
        earlier.pc,
        1,
        earlier.cta,
        usize::from(earlier.warp),
    );
    let source = there.source.map(|source| format!(" ({source})")).unwrap_or_default();
    let whose = if block == other { "the same block".to_owned() } else { format!("block {other}") };
    let line = kernel.infos[(kernel.functions[earlier.code as usize].first_pc + earlier.pc) as usize].line;
    Cause::Race {
        lane: lane as u32,
        space: if one.shared { Space::Shared } else { Space::Global },
        address: Addr(one.address),
        width: one.width as u32,
        writes,
        other: format!(
            "warp {} of {whose} {} at line {line}{source}: `{}`",
            earlier.warp,
            if wrote { "wrote" } else { "read" },
            there.instruction
        ),
    }
}

/// Where each lane goes that a race can be about, and what is there now; `None` for what the instruction itself will refuse.
fn accesses(x: &Exec<'_>, i: &Inst, m: LaneMask, watched: &Watched) -> [Option<(One, u128)>; LANES] {
    let targets = offsets(x, i, watched);
    std::array::from_fn(|lane| {
        if m >> lane & 1 == 0 {
            return None;
        }
        let address = targets[lane];
        let (shared, address) = match (watched.space, window(address)) {
            (Space::Shared, _) => (true, address),
            (Space::Generic, Space::Shared) => (true, address - SHARED_WINDOW),
            (Space::Global, _) | (Space::Generic, Space::Global) => (false, address),
            _ => return None,
        };
        let inside = if shared {
            address < x.shared_bytes && x.shared_bytes - address >= watched.width
        } else {
            let range = x.launch.memory.range_of(Addr(address));
            range.is_some_and(|(start, size)| size.0 - (address - start.0) >= watched.width)
        };
        let reads = matches!(watched.access, Access::Load | Access::Atomic | Access::Reduce);
        let one = One { shared, address, width: watched.width, reads, writes: watched.access != Access::Load };
        inside.then(|| {
            let before = value(x, &one);
            (one, before)
        })
    })
}

/// Runs a memory instruction and looks at what it did.
///
/// # Safety
/// As for every [`OpFn`](crate::inst::OpFn); the instruction is a watched one of the running kernel.
pub(crate) unsafe fn run_and_look(x: &mut Exec<'_>, i: &Inst, m: LaneMask, watched: &Watched) -> Flow {
    let Some(mut races) = x.races.take() else {
        // SAFETY: passed on.
        return unsafe { (watched.run)(x, i, m) };
    };
    let looked_at = accesses(x, i, m, watched);
    // SAFETY: decoding gave a 64-bit slot.
    let sources = (watched.access == Access::Copy).then(|| unsafe { addresses::<true>(x, i.a, i.offset()) });
    // SAFETY: passed on.
    let flow = unsafe { (watched.run)(x, i, m) };
    if flow != Flow::Fault {
        let mut cause = races.look_at(x, m, watched, &looked_at);
        if let Some(sources) = sources {
            let read = Watched { space: Space::Global, access: Access::Load, ..*watched };
            let from = std::array::from_fn(|lane| {
                let (address, width) = (sources[lane], watched.width);
                let range = x.launch.memory.range_of(Addr(address));
                let inside = range.is_some_and(|(start, size)| size.0 - (address - start.0) >= width);
                let one = One { shared: false, address, width, reads: true, writes: false };
                inside.then_some((one, 0))
            });
            cause = cause.or(races.look_at(x, m, &read, &from));
        }
        if let Some(cause) = cause {
            let launch = x.launch;
            let warning = describe(launch, cause, x.code, watched.pc, m, x.cta, x.warp as usize);
            launch.output.warn((launch.number, i.touched()), x.cta, warning);
        }
    }
    x.races = Some(races);
    flow
}
