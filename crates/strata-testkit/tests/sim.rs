//! Chains, rigs and random traffic: what is right passes, and each mistake of a mechanism is found and named.

#![cfg(feature = "sim")]

use std::collections::BTreeMap;
use strata_core::{Addr, LineAddr};
use strata_sim::Machine;
use strata_sim::cache::SectorMask;
use strata_sim::config::load;
use strata_sim::seam::{
    Below, Dir, Line, LineKind, LineRequest, LocalLine, MemorySide, Move, Parts, Plan, StepSet, TrafficId,
};
use strata_testkit::sim::{AskedBelow, Chain, Rig, Traffic, Wrong, brief, dram_moves};
use strata_testkit::{Instr, Script};

/// What [`Neighbour`] does wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mistake {
    None,
    /// The third write-back to each place is forgotten.
    LosesWrite,
    /// What the host writes is stored where the line is, not where it was moved to.
    ForgetsHost,
    /// One of the sectors wanted is not brought.
    BringsTooLittle,
    /// The read waits for a step that comes after it.
    WaitsForLater,
    /// Sectors beyond the end of the line are read.
    ReadsTooFar,
    /// Takes from L2 what belongs to another line.
    CopiesAnother,
}

/// Keeps every line at the place of its neighbour.
struct Neighbour {
    mistake: Mistake,
    bytes: BTreeMap<LocalLine, Line>,
    writes: BTreeMap<LocalLine, u32>,
}

impl Neighbour {
    fn chain(mistake: Mistake) -> Chain {
        Chain::of(vec![Box::new(Self { mistake, bytes: BTreeMap::new(), writes: BTreeMap::new() })])
    }

    fn place(line: LocalLine) -> LocalLine {
        LocalLine(line.0 ^ 1)
    }
}

impl MemorySide for Neighbour {
    fn attach(&mut self, parts: &mut Parts) {
        assert!(parts.carries_bytes(), "a chain without a machine always checks data");
    }

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        let line = Self::place(request.line);
        if self.mistake == Mistake::CopiesAnother {
            let what = Move::CopyFromL2 { line, sectors: request.sectors, otherwise: StepSet::NONE };
            plan.add(what, StepSet::NONE, true);
        }
        below.read(&LineRequest { line, ..*request }, plan);
        match self.mistake {
            Mistake::BringsTooLittle => plan.fill = plan.fill.without(SectorMask(0b1000)),
            Mistake::WaitsForLater => plan.steps[0].after = StepSet::one(1),
            Mistake::ReadsTooFar => {
                let (sectors, why) = (SectorMask(0b1000), TrafficId::DATA);
                let at = strata_sim::seam::LocalAddr(line.addr().0 + 32);
                plan.add(Move::Dram { at, sectors, dir: Dir::Read, why }, StepSet::NONE, true);
            }
            _ => {}
        }
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        let line = Self::place(request.line);
        let writes = self.writes.entry(line).or_default();
        *writes += 1;
        if self.mistake != Mistake::LosesWrite || *writes != 3 {
            self.bytes.insert(line, *request.data);
        }
        below.write(&LineRequest { line, ..*request }, plan);
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        let line = if self.mistake == Mistake::ForgetsHost { request.line } else { Self::place(request.line) };
        self.bytes.insert(line, *request.data);
        below.host_wrote(&LineRequest { line, ..*request });
    }

    fn host_freed(&mut self, line: LocalLine, mut below: Below<'_>) {
        self.bytes.remove(&Self::place(line));
        below.host_freed(Self::place(line));
    }

    fn delivers(&self, line: LocalLine) -> Option<(SectorMask, Line)> {
        Some((SectorMask::ALL, self.bytes.get(&Self::place(line)).copied().unwrap_or([0; 128])))
    }
}

#[test]
fn a_chain_shows_plans_and_what_reaches_the_bottom() {
    let mut chain = Neighbour::chain(Mistake::None).named_from(LineAddr(0x100));
    chain.host_writes(6, SectorMask(0b0011), &[5; 128]);
    let plan = chain.write_back(6, SectorMask(0b0110), SectorMask::ALL, &[9; 128]);
    assert_eq!((brief(&plan), dram_moves(&plan)), (vec!["0:dram>2".to_owned()], ">2".to_owned()));
    let plan = chain.fill(6, SectorMask::ALL);
    assert_eq!((brief(&plan), plan.fill), (vec!["0:dram<4".to_owned()], SectorMask::ALL));
    let image = chain.image(6);
    assert_eq!([image[0], image[32], image[64], image[96]], [5, 9, 9, 0]);
    let below = |kind, sectors, data| AskedBelow { kind, line: LocalLine(7), sectors, data };
    let asked = chain.asked_below();
    assert_eq!(
        asked[1..],
        [below(LineKind::WriteBack, SectorMask(0b0110), image), below(LineKind::Fill, SectorMask::ALL, image)]
    );
    assert_eq!((asked[0].kind, asked[0].data[0], asked[0].data[64]), (LineKind::HostWrite, 5, 0));
    assert_eq!((chain.check(6), chain.stored_bytes(8)), (Ok(SectorMask::ALL), strata_core::Bytes(1024)));
    chain.free(6);
    assert_eq!(chain.check(6), Ok(SectorMask::NONE), "nobody needs what it holds");
    chain.host_writes(6, SectorMask(0b0001), &[1; 128]);
    assert_eq!(chain.check(6), Ok(SectorMask(0b0001)));
}

#[test]
fn sides_are_asked_from_the_top() {
    let twice: Vec<Box<dyn MemorySide>> = (0..2)
        .map(|_| Neighbour { mistake: Mistake::None, bytes: BTreeMap::new(), writes: BTreeMap::new() })
        .map(|side| Box::new(side) as Box<dyn MemorySide>)
        .collect();
    let mut chain = Chain::of(twice);
    chain.fill(6, SectorMask(1));
    assert_eq!(chain.asked_below()[0].line, LocalLine(6), "moved and moved back");
}

#[test]
fn traffic_finds_every_mistake_and_nothing_else() {
    let traffic = Traffic::default();
    let compared = traffic.through_chain(&mut Neighbour::chain(Mistake::None), 1).expect("nothing is wrong");
    let all = (traffic.operations as u64) * traffic.lines * 4;
    assert!((all / 2..all).contains(&compared), "{compared} of {all}: all but what was freed");
    let found = |mistake| traffic.through_chain(&mut Neighbour::chain(mistake), 1).expect_err("it is found");
    for mistake in [Mistake::LosesWrite, Mistake::ForgetsHost, Mistake::CopiesAnother] {
        let fault = found(mistake);
        assert!(matches!(fault.wrong, Wrong::Byte(_)), "{mistake:?}: {fault}");
    }
    assert_eq!(found(Mistake::BringsTooLittle).wrong, Wrong::Lacks(SectorMask(0b1000)));
    assert_eq!(found(Mistake::WaitsForLater).wrong, Wrong::Waits(0));
    assert_eq!(found(Mistake::ReadsTooFar).wrong, Wrong::Place(1));
}

#[test]
fn a_fault_says_when_where_and_what() {
    let fault = Traffic { lines: 2, palette: vec![[3; 128]], ..Traffic::default() }
        .through_chain(&mut Neighbour::chain(Mistake::ForgetsHost), 4)
        .expect_err("it is found");
    let text = fault.to_string();
    assert!(text.starts_with(&format!("operation {}, ", fault.operation)), "{text}");
    assert!(text.contains("is 0x00 and should be 0x03") || text.contains("is 0x03 and should be 0x00"), "{text}");
}

#[test]
fn plain_memory_knows_no_bytes_to_compare() {
    assert_eq!(Traffic::default().through_chain(&mut Chain::of(Vec::new()), 1), Ok(0));
}

#[test]
fn a_rig_keeps_memory_from_kernel_to_kernel() {
    let mut rig = Rig::new(Machine::new(load("titan-v", &[""; 0]).expect("a preset").config).expect("a machine"));
    rig.copy_in(Addr(0x1000), &[1; 200]);
    rig.run(Script::new(&[[Instr::store(0x1000).word(7)]])).expect("it runs");
    rig.run(Script::new(&[[Instr::reduce(0x1000).word(2)]])).expect("it runs");
    assert_eq!(rig.memory().line(Addr(0x1000).line())[..5], [9, 0, 0, 0, 1]);
    rig.free(Addr(0x1000), 1);
    assert_eq!((rig.memory().line(LineAddr(0x20))[8], rig.memory().line(LineAddr(0x21))[8]), (0, 1));
    Traffic::default().through_machine(&mut rig, 2, 3).expect("it runs");
    assert!(rig.reading().machine.sent > 600);
}
