//! The programs, the machine, and the mechanisms that go into it, alone, two by two, and all four papers' at once.

use crate::reproduce::Effort;

/// A machine to put mechanisms into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Machine {
    /// SMs on stacks, and a link to the host: TOM's. Its L2 writes through, as TOM asks.
    Stacks,
    /// That of Buddy Compression, with the link of its Figure 14.
    P100,
}

impl Machine {
    /// The preset.
    pub(super) const fn gpu(self) -> &'static str {
        match self {
            Self::Stacks => "ndp-maxwell",
            Self::P100 => "p100-buddy",
        }
    }

    /// The one link to the host carries migrations and buddy memory alike, and blocks that learn. PCI Express 5.0 x16 in place of the preset's 3.0,
    /// because TOM charges that its latency alone and Buddy Compression asks for more; and three channels of `NVLink` 2 (Buddy
    /// Compression, section IV-C).
    const fn link(self) -> &'static str {
        match self {
            Self::Stacks => "host_link.bandwidth=63 GB/s",
            Self::P100 => "host_link.bandwidth=75 GB/s",
        }
    }

    /// Unified memory over the same link (the fastest that it knows is 64 GB/s). As its paper ran it: pages of 4 KiB, the tree prefetcher, the
    /// latency of faults reported and not charged; no kernel waits for prefetches that nobody asked for. And by the rules of the real driver, which
    /// Figure 14 measured.
    const fn unified(self) -> [&'static str; 2] {
        match self {
            Self::Stacks => ["uvm.pcie=64", "uvm.reclaim=free"],
            Self::P100 => ["uvm.pcie=64", "uvm.model=driver"],
        }
    }
}

/// A program with the size of its input, by effort: quick, standard and full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    sizes: [Option<&'static str>; 3],
}

impl Program {
    /// The size that an effort runs; `None` if it leaves the program out.
    pub(super) fn size(&self, effort: Effort) -> Option<&'static str> {
        self.sizes[match effort {
            Effort::Quick => 0,
            Effort::Standard => 1,
            Effort::Full => 2,
        }]
    }
}

/// One that a quick study runs, too.
pub(super) const fn short(name: &'static str) -> Program {
    Program { name, sizes: [Some("small"), Some("small"), Some("medium")] }
}

/// One that takes too long for that.
pub(super) const fn program(name: &'static str) -> Program {
    Program { name, sizes: [None, Some("small"), Some("medium")] }
}

/// One that takes more than five seconds of host time on the plain machine, or has so much data (streamtriad's 192 MiB) that those who look at it
/// take as long: many minutes on all.
pub(super) const fn long(name: &'static str) -> Program {
    Program { name, sizes: [None, None, Some("small")] }
}

/// At its smallest, for tests.
#[cfg(test)]
pub(super) const fn tiny(name: &'static str) -> Program {
    Program { name, sizes: [Some("tiny"); 3] }
}

/// Candidates: programs of the four papers that stream, gather or scatter more than they compute. Which of them press on memory the plain machine
/// says; what decides how soon they are run is how long that takes.
pub(super) const CANDIDATES: [Program; 20] = [
    long("backprop"),
    long("bfs"),
    long("kmeans"),
    long("cfd"),
    long("fwt"),
    short("scalarprod"),
    short("reduction"),
    short("libor"),
    long("pagerank"),
    short("color"),
    short("mis"),
    long("sssp"),
    short("dwt2d"),
    long("streamtriad"),
    program("hotspot"),
    program("srad"),
    long("pathfinder"),
    long("fdtd2d"),
    long("ilbdc"),
    long("2dconv"),
];

/// A machine: what is put into it, and with which settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) machine: Machine,
    /// As `--with` names it.
    pub(super) with: &'static str,
    set: &'static [&'static str],
}

impl Scheme {
    const fn new(name: &'static str, with: &'static str, set: &'static [&'static str]) -> Self {
        Self { name, machine: Machine::Stacks, with, set }
    }

    /// One on the machine of Figure 14.
    pub(super) const fn p100(name: &'static str, with: &'static str, set: &'static [&'static str]) -> Self {
        Self { name, machine: Machine::P100, with, set }
    }

    /// A mechanism is part of it.
    pub(super) fn has(self, mechanism: &str) -> bool {
        self.with.split('+').any(|name| name == mechanism)
    }

    /// All that is set.
    pub(super) fn set(self) -> Vec<String> {
        let unified = self.machine.unified();
        let paged: &[&str] = if self.has("uvm") { &unified } else { &[] };
        // Sizes of entries are in DRAM behind a cache, as CMD's paper has it, and not known for nothing.
        let compressed: &[&str] = if self.has("bpc") { &["bpc.metadata=cached"] } else { &[] };
        [self.machine.link()].iter().chain(paged).chain(compressed).chain(self.set).map(|&one| one.to_owned()).collect()
    }
}

const fn resident(with: &'static str) -> Scheme {
    Scheme::new(with, with, &[])
}

/// With unified memory, four fifths of the pages fit.
const fn paged(with: &'static str) -> Scheme {
    Scheme::new(with, with, &["uvm.oversubscription=1.25"])
}

pub(super) const PLAIN: Scheme = Scheme::new("plain", "none", &[]);
pub(super) const BPC: Scheme = resident("bpc");
pub(super) const BUDDY: Scheme = resident("buddy");
pub(super) const CMD: Scheme = resident("cmd");
pub(super) const TOM: Scheme = resident("tom");
pub(super) const UVM_125: Scheme = paged("uvm");
pub(super) const FOUR: Scheme = paged("uvm+cmd+buddy+tom");

/// Each alone.
pub(super) const SINGLES: [Scheme; 5] = [BPC, BUDDY, CMD, UVM_125, TOM];

/// Two mechanisms alone and together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub(super) alone: [Scheme; 2],
    pub(super) both: Scheme,
}

const fn pair(a: Scheme, b: Scheme, both: Scheme) -> Pair {
    Pair { alone: [a, b], both }
}

/// All of them that go together.
pub(super) const PAIRS: [Pair; 9] = [
    pair(CMD, BPC, resident("cmd+bpc")),
    pair(CMD, BUDDY, resident("cmd+buddy")),
    pair(BPC, TOM, resident("bpc+tom")),
    pair(BUDDY, TOM, resident("buddy+tom")),
    pair(CMD, TOM, resident("cmd+tom")),
    pair(UVM_125, BPC, paged("uvm+bpc")),
    pair(UVM_125, BUDDY, UVM_BUDDY),
    pair(UVM_125, CMD, paged("uvm+cmd")),
    pair(UVM_125, TOM, paged("uvm+tom")),
];
const UVM_BUDDY: Scheme = paged("uvm+buddy");

pub(super) const STRIDE: Scheme = resident("stride");
pub(super) const SRRIP: Scheme = resident("srrip");

/// A cache prefetcher and a replacement policy with each of them.
pub(super) const CACHE_PAIRS: [Pair; 10] = [
    pair(BPC, STRIDE, resident("bpc+stride")),
    pair(BUDDY, STRIDE, resident("buddy+stride")),
    pair(CMD, STRIDE, resident("cmd+stride")),
    pair(UVM_125, STRIDE, paged("uvm+stride")),
    pair(TOM, STRIDE, resident("tom+stride")),
    pair(BPC, SRRIP, resident("bpc+srrip")),
    pair(BUDDY, SRRIP, resident("buddy+srrip")),
    pair(CMD, SRRIP, resident("cmd+srrip")),
    pair(UVM_125, SRRIP, paged("uvm+srrip")),
    pair(TOM, SRRIP, resident("tom+srrip")),
];

/// Pages that travel as memory stores them, and a predictor in place of the tree. Memory suffices: when it is full, the tree
/// takes the predictor's place.
pub(super) const ROOMY: Scheme = Scheme::new("uvm, enough memory", "uvm", &[]);
pub(super) const TRAVEL: [Scheme; 4] = [
    Scheme::new("uvm+buddy", "uvm+buddy", &[]),
    Scheme::new("uvm+buddy, compressed", "uvm+buddy", &["uvm.travel=compressed"]),
    Scheme::new("uvm+buddy, learned", "uvm+buddy", &["uvm.prefetcher=learned"]),
    Scheme::new("uvm+buddy, learned, compressed", "uvm+buddy", &["uvm.prefetcher=learned", "uvm.travel=compressed"]),
];

/// What every effort runs on the programs that press; the plain machine chose them.
pub(super) fn schemes(effort: Effort) -> Vec<Scheme> {
    let mut all: Vec<Scheme> = SINGLES.into();
    all.extend(PAIRS.map(|pair| pair.both));
    all.push(FOUR);
    if effort != Effort::Quick {
        all.push(ROOMY);
        all.extend(TRAVEL);
    }
    all
}

/// What is run besides on programs that caches can do something for.
pub(super) fn caching_schemes() -> Vec<Scheme> {
    [STRIDE, SRRIP].into_iter().chain(CACHE_PAIRS.map(|pair| pair.both)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::combination;

    #[test]
    fn every_pair_that_goes_together_is_there() {
        let mut legal = Vec::new();
        for (k, a) in SINGLES.iter().enumerate() {
            for b in &SINGLES[k + 1..] {
                legal.extend(combination(&format!("{}+{}", a.with, b.with)).ok().map(|both| both.to_string()));
            }
        }
        let mut ours: Vec<_> =
            PAIRS.iter().map(|pair| combination(pair.both.with).expect("legal").to_string()).collect();
        legal.sort();
        ours.sort();
        assert_eq!(ours, legal);
    }

    #[test]
    fn a_pair_is_made_of_its_parts() {
        for Pair { alone: [a, b], both } in PAIRS.into_iter().chain(CACHE_PAIRS) {
            let parts = combination(&format!("{}+{}", a.with, b.with)).expect("legal").to_string();
            assert_eq!(combination(both.with).expect("legal").to_string(), parts);
            let mut set = [a.set(), b.set()].concat();
            let mut together = both.set();
            set.sort();
            set.dedup();
            together.sort();
            assert_eq!(together, set, "{}: like for like", both.name);
        }
    }

    #[test]
    fn candidates_are_built_in_and_machines_differ() {
        for program in CANDIDATES {
            assert!(strata_workloads::find(program.name).is_ok(), "{}", program.name);
        }
        let all = [schemes(Effort::Standard), caching_schemes()].concat();
        assert!(all.starts_with(&schemes(Effort::Quick)));
        for (k, a) in all.iter().enumerate() {
            assert!(all[k + 1..].iter().all(|b| (a.with, a.set()) != (b.with, b.set())), "{}", a.name);
        }
    }
}
