//! The one way to put mechanisms into a machine.
//!
//! Mechanisms say where they stand, in any order; the machine fixes the order in which they meet (checking, memory sides,
//! paging, victims, offload) and refuses what cannot work, with the reason and the names of those concerned.

use super::check::DataChecker;
use super::explain::Explanation;
use super::offload::Offloader;
use super::page_use::PageUse;
use super::paging::Pager;
use super::plan::MemorySides;
use super::prefetching::Prefetching;
use super::translate::Tlbs;
use super::{Machine, MachineError};
use crate::config::{GpuConfig, WritePolicy};
use crate::seam::{
    CachePrefetcher, HostListener, MemorySide, Offload, Paging, Place, Replacement, StoredPages, Victim,
};
use std::ops::Range;
use std::sync::Arc;
use strata_core::{Addr, Bytes, LINE_BYTES};

/// Where a memory side stands between L2 and DRAM. L2 meets the first layer first, and those of one layer in the order in which
/// they were given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layer {
    /// It decides at which place a line is, as deduplication does: what is below sees places.
    Relocates,
    /// It decides how many bytes a line takes at its place, as compression does.
    Resizes,
}

/// Something of a mechanism, and the mechanism's name.
struct Owned<T> {
    owner: &'static str,
    what: T,
}

/// A paging mechanism and what it has charge of.
type Managed = (Box<dyn Paging>, Range<Addr>);

/// Makes the instance of a partition, or of a slice.
type Make<T> = Box<dyn FnMut(u32) -> Box<T>>;

/// A machine before it is built.
///
/// ```
/// use strata_sim::{MachineBuilder, config::load};
///
/// let mut builder = MachineBuilder::new(load("titan-v", &[""; 0]).expect("a preset").config);
/// builder.check_data();
/// let machine = builder.build().expect("nothing stands in the way");
/// assert!(machine.checked().is_some());
/// ```
pub struct MachineBuilder {
    config: GpuConfig,
    checks_data: bool,
    explains: Option<PageUse>,
    profiled: bool,
    sides: Vec<Owned<(Layer, Make<dyn MemorySide>)>>,
    victims: Vec<Owned<Make<dyn Victim>>>,
    places: Vec<Owned<Box<dyn Place>>>,
    pagings: Vec<Owned<Managed>>,
    offloads: Vec<Owned<Box<dyn Offload>>>,
    stored_pages: Option<Owned<Arc<StoredPages>>>,
    listeners: Vec<Owned<Box<dyn HostListener>>>,
    l1_prefetchers: Vec<Owned<Make<dyn CachePrefetcher>>>,
    l2_prefetchers: Vec<Owned<Make<dyn CachePrefetcher>>>,
    l1_replacements: Vec<Owned<Make<dyn Replacement>>>,
    l2_replacements: Vec<Owned<Make<dyn Replacement>>>,
}

impl MachineBuilder {
    /// A builder of a machine without mechanisms.
    pub fn new(config: GpuConfig) -> Self {
        Self {
            config,
            checks_data: false,
            explains: None,
            profiled: false,
            sides: Vec::new(),
            victims: Vec::new(),
            places: Vec::new(),
            pagings: Vec::new(),
            offloads: Vec::new(),
            stored_pages: None,
            listeners: Vec::new(),
            l1_prefetchers: Vec::new(),
            l2_prefetchers: Vec::new(),
            l1_replacements: Vec::new(),
            l2_replacements: Vec::new(),
        }
    }

    /// The configuration of the GPU to be built.
    pub fn config(&self) -> &GpuConfig {
        &self.config
    }

    /// Checks that every load gets the right data.
    pub fn check_data(&mut self) {
        self.checks_data = true;
    }

    /// Counts what requests wait for, which allocations they are about and which lines of the source send them. The pages that they
    /// are about can be asked of what is returned, once the program has ended.
    pub fn explain(&mut self) -> PageUse {
        self.explains.get_or_insert_default().clone()
    }

    /// Empties all caches before each launch ([`Machine::flush_for_profiler`]), as a profiler does.
    pub fn profile(&mut self) {
        self.profiled = true;
    }

    /// Puts a memory side between L2 and DRAM: `make` makes the instance of each partition.
    pub fn memory_side(
        &mut self,
        owner: &'static str,
        layer: Layer,
        make: impl FnMut(u32) -> Box<dyn MemorySide> + 'static,
    ) {
        self.sides.push(Owned { owner, what: (layer, Box::new(make)) });
    }

    /// Gives every L2 slice a victim buffer: `make` makes the instance of each slice.
    pub fn victim(&mut self, owner: &'static str, make: impl FnMut(u32) -> Box<dyn Victim> + 'static) {
        self.victims.push(Owned { owner, what: Box::new(make) });
    }

    /// Lets a mechanism map lines to partitions, in place of the interleaving.
    pub fn place(&mut self, owner: &'static str, place: Box<dyn Place>) {
        self.places.push(Owned { owner, what: place });
    }

    /// Puts a mechanism in charge of where the pages of `managed` are. Translation of these pages is on.
    pub fn paging(&mut self, owner: &'static str, paging: Box<dyn Paging>, managed: Range<Addr>) {
        self.pagings.push(Owned { owner, what: (paging, managed) });
    }

    /// Lets memory sides that compress keep the books of what pages of this size take.
    pub fn stored_pages(&mut self, owner: &'static str, page: Bytes) -> Arc<StoredPages> {
        let books = Arc::new(StoredPages::new(page));
        self.stored_pages = Some(Owned { owner, what: Arc::clone(&books) });
        books
    }

    /// Asks a mechanism whenever a warp comes to one of its candidates. It learns of all of them, but nothing is offloaded on
    /// a machine whose stacks have no SMs.
    pub fn offload(&mut self, owner: &'static str, offload: Box<dyn Offload>) {
        self.offloads.push(Owned { owner, what: offload });
    }

    /// Lets a mechanism hear of what the host does.
    pub fn host_listener(&mut self, owner: &'static str, listener: Box<dyn HostListener>) {
        self.listeners.push(Owned { owner, what: listener });
    }

    /// Lets a mechanism propose lines to L1: `make` makes the instance of each SM.
    pub fn l1_prefetcher(&mut self, owner: &'static str, make: impl FnMut(u32) -> Box<dyn CachePrefetcher> + 'static) {
        self.l1_prefetchers.push(Owned { owner, what: Box::new(make) });
    }

    /// Lets a mechanism propose lines to L2: `make` makes the instance of each slice.
    pub fn l2_prefetcher(&mut self, owner: &'static str, make: impl FnMut(u32) -> Box<dyn CachePrefetcher> + 'static) {
        self.l2_prefetchers.push(Owned { owner, what: Box::new(make) });
    }

    /// Lets a mechanism choose the lines that L1 evicts: `make` makes the instance of each SM.
    pub fn l1_replacement(&mut self, owner: &'static str, make: impl FnMut(u32) -> Box<dyn Replacement> + 'static) {
        self.l1_replacements.push(Owned { owner, what: Box::new(make) });
    }

    /// Lets a mechanism choose the lines that L2 evicts: `make` makes the instance of each slice.
    pub fn l2_replacement(&mut self, owner: &'static str, make: impl FnMut(u32) -> Box<dyn Replacement> + 'static) {
        self.l2_replacements.push(Owned { owner, what: Box::new(make) });
    }

    /// The machine, at rest; an error says what does not go together and why.
    pub fn build(mut self) -> Result<Machine, MachineError> {
        if let Some(reason) = self.refusal() {
            return Err(MachineError::Refused(reason));
        }
        let mut machine = Machine::new(self.config)?;
        machine.profiled = self.profiled;
        if self.checks_data {
            machine.checker = Some(Box::new(DataChecker::of(&machine.sms)));
        }
        if let Some(pages) = self.explains {
            machine.explanation = Some(Box::new(Explanation::showing(pages)));
        }
        if !self.sides.is_empty() {
            self.sides.sort_by_key(|side| side.what.0);
            let mut chain = |partition| self.sides.iter_mut().map(|side| (side.what.1)(partition)).collect();
            let partitions = machine.config.dram.channels;
            let books = self.stored_pages.as_ref().map(|pages| &pages.what);
            let sides = MemorySides::new(partitions, &mut chain, self.checks_data, books);
            machine.sides_look_at_data = sides.look_at_data();
            machine.sides = Some(Box::new(sides));
        }
        if let Some(Owned { owner, .. }) = self.stored_pages.filter(|pages| !pages.what.is_kept()) {
            return Err(MachineError::Refused(format!(
                "pages of `{owner}` cannot travel compressed: nothing in this machine compresses; add a mechanism that compresses memory (`strata mechanisms`)"
            )));
        }
        if let Some(Owned { what: (mechanism, managed), .. }) = self.pagings.pop() {
            let pager = Pager::new(mechanism, &managed);
            if let Some(checker) = &mut machine.checker {
                checker.set_paged_lines(pager.lines());
            }
            machine.tlbs = Some(Tlbs::new(&machine.config));
            machine.pager = Some(Box::new(pager));
        }
        if let Some(mut victim) = self.victims.pop() {
            for (number, slice) in (0..).zip(&mut machine.slices) {
                slice.victim = Some((victim.what)(number));
            }
        }
        if let Some(place) = self.places.pop() {
            machine.interleave.set_place(place.what);
        }
        if let Some(offload) = self.offloads.pop() {
            machine.offload = Some(Box::new(Offloader::new(offload.what, &machine.config)));
        }
        let lines_per_page = (machine.config.tlb.page.0 / LINE_BYTES).max(1);
        if let Some(mut prefetcher) = self.l1_prefetchers.pop() {
            for (number, sm) in (0..).zip(&mut machine.sms) {
                let l1 = &mut sm.memory.l1;
                let prefetching = Prefetching::new((prefetcher.what)(number), l1.lines(), lines_per_page);
                l1.prefetching = Some(Box::new(prefetching));
            }
        }
        if let Some(mut prefetcher) = self.l2_prefetchers.pop() {
            let places = (machine.config.l2.sets * machine.config.l2.ways) as usize;
            for (number, slice) in (0..).zip(&mut machine.slices) {
                let prefetching = Prefetching::new((prefetcher.what)(number), places, lines_per_page);
                slice.prefetching = Some(Box::new(prefetching));
            }
            machine.requesters = Some(Vec::new());
        }
        if let Some(mut policy) = self.l1_replacements.pop() {
            (0..).zip(&mut machine.sms).for_each(|(number, sm)| sm.memory.l1.set_policy((policy.what)(number)));
        }
        if let Some(mut policy) = self.l2_replacements.pop() {
            (0..).zip(&mut machine.slices).for_each(|(number, slice)| slice.tags.set_policy((policy.what)(number)));
        }
        machine.listeners = self.listeners.into_iter().map(|listener| listener.what).collect();
        Ok(machine)
    }

    /// Why this machine cannot be built, if it cannot.
    fn refusal(&self) -> Option<String> {
        let together = |a: &str, b: &str, why: &str| Some(format!("`{a}` and `{b}` do not go together: {why}"));
        if let [a, b, ..] = &self.victims[..] {
            return together(a.owner, b.owner, "each L2 slice has one victim buffer");
        }
        if let [a, b, ..] = &self.places[..] {
            return together(a.owner, b.owner, "each decides where lines live");
        }
        if let [a, b, ..] = &self.pagings[..] {
            return together(a.owner, b.owner, "each decides which memory a page is in");
        }
        if let [a, b, ..] = &self.offloads[..] {
            return together(a.owner, b.owner, "each decides where a block of code runs");
        }
        for (level, prefetchers) in [("L1", &self.l1_prefetchers), ("L2", &self.l2_prefetchers)] {
            if let [a, b, ..] = &prefetchers[..] {
                return together(a.owner, b.owner, &format!("{level} has one prefetcher"));
            }
        }
        for (level, policies) in [("L1", &self.l1_replacements), ("L2", &self.l2_replacements)] {
            if let [a, b, ..] = &policies[..] {
                return together(a.owner, b.owner, &format!("each decides which lines leave {level}"));
            }
        }
        let offload = self.offloads.first()?;
        if self.config.stacks.sms == 0 {
            return None;
        }
        (self.config.l2.write != WritePolicy::Through).then(|| {
            format!(
                "`{}` on `{}`: SMs on stacks would not see what L2 holds back; `--set l2.write=through`",
                offload.owner, self.config.name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::machine::seam_tests::Null;
    use crate::seam::{Below, Line, LineRequest, LocalLine, Parts, Placed, Plan};
    use std::sync::Mutex;
    use strata_core::{Allocation, AllocationId, HostEvent, LineAddr};

    fn builder(gpu: &str, set: &[&str]) -> MachineBuilder {
        MachineBuilder::new(load(gpu, set).expect("a preset").config)
    }

    #[track_caller]
    fn refused(gpu: &str, set: &[&str], install: impl FnOnce(&mut MachineBuilder)) -> String {
        let mut builder = builder(gpu, set);
        install(&mut builder);
        match builder.build() {
            Err(MachineError::Refused(reason)) => reason,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was built"),
        }
    }

    struct OnePlace;

    impl Place for OnePlace {
        fn place(&self, line: LineAddr) -> Placed {
            Placed { partition: 0, local: line.0 }
        }
    }

    #[test]
    fn there_is_one_of_each() {
        let both = |end: &str| format!("`a` and `b` do not go together: {end}");
        let victims = refused("titan-v", &[], |m| {
            m.victim("a", |_| Box::new(Null));
            m.victim("b", |_| Box::new(Null));
        });
        assert_eq!(victims, both("each L2 slice has one victim buffer"));
        let places = refused("titan-v", &[], |m| {
            m.place("a", Box::new(OnePlace));
            m.place("b", Box::new(OnePlace));
        });
        assert_eq!(places, both("each decides where lines live"));
        let pagings = refused("titan-v", &[], |m| {
            m.paging("a", Box::new(Null), Addr(0)..Addr(1));
            m.paging("b", Box::new(Null), Addr(1)..Addr(2));
        });
        assert_eq!(pagings, both("each decides which memory a page is in"));
        let offloads = refused("titan-v", &[], |m| {
            m.offload("a", Box::new(Null));
            m.offload("b", Box::new(Null));
        });
        assert_eq!(offloads, both("each decides where a block of code runs"));
        let prefetchers = refused("titan-v", &[], |m| {
            m.l1_prefetcher("c", |_| Box::new(Null));
            m.l2_prefetcher("a", |_| Box::new(Null));
            m.l2_prefetcher("b", |_| Box::new(Null));
        });
        assert_eq!(prefetchers, both("L2 has one prefetcher"));
        let policies = refused("titan-v", &[], |m| {
            m.l2_replacement("c", |_| Box::new(Null));
            m.l1_replacement("a", |_| Box::new(Null));
            m.l1_replacement("b", |_| Box::new(Null));
        });
        assert_eq!(policies, both("each decides which lines leave L1"));
    }

    #[test]
    fn pages_travel_compressed_only_where_something_compresses() {
        let reason = refused("titan-v", &[], |m| {
            m.paging("p", Box::new(Null), Addr(0)..Addr(1));
            m.stored_pages("p", Bytes(4096));
            m.memory_side("s", Layer::Resizes, |_| Box::new(Null));
        });
        assert!(reason.starts_with("pages of `p` cannot travel compressed"), "{reason}");
    }

    #[test]
    fn sms_on_stacks_do_not_see_what_l2_holds_back() {
        let back = ["l2.write=back"];
        let offload = |m: &mut MachineBuilder| m.offload("o", Box::new(Null));
        let reason = refused("ndp-maxwell", &back, offload);
        assert!(reason.starts_with("`o` on `ndp-maxwell`: SMs on stacks would not see"), "{reason}");
        assert!(reason.ends_with("`--set l2.write=through`"), "{reason}");
        // What is behind L2 they meet like L2 does.
        let mut both = builder("ndp-maxwell", &[]);
        offload(&mut both);
        both.memory_side("s", Layer::Resizes, |_| Box::new(Null));
        both.paging("p", Box::new(Null), Addr(0)..Addr(1));
        assert!(both.build().is_ok());
        // Without SMs there, nobody goes past L2.
        let mut builder = builder("ndp-maxwell", &["l2.write=back", "stacks.sms=0"]);
        offload(&mut builder);
        builder.memory_side("s", Layer::Resizes, |_| Box::new(Null));
        assert!(builder.build().is_ok());
    }

    /// Writes its name down when it is asked, and hands the request on; hears of allocations.
    struct Named(&'static str, Arc<Mutex<Vec<String>>>);

    impl Named {
        fn says(&self, what: &str) {
            self.1.lock().expect("nobody panics").push(format!("{}{what}", self.0));
        }
    }

    impl MemorySide for Named {
        fn attach(&mut self, _: &mut Parts) {}

        fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
            below.read(request, plan);
        }

        fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
            below.write(request, plan);
        }

        fn host_wrote(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
            self.says("");
            below.host_wrote(request);
        }

        fn host_freed(&mut self, line: LocalLine, mut below: Below<'_>) {
            self.says(" frees");
            below.host_freed(line);
        }

        fn host_event(&mut self, event: &HostEvent) {
            if let HostEvent::Alloc(allocation) = event {
                self.says(&format!(" hears of {}", allocation.name));
            }
        }
    }

    impl HostListener for Named {
        fn host_event(&mut self, event: &HostEvent) {
            let name = format!("{event:?}");
            self.says(&format!(" hears {}", name.split([' ', '(']).next().unwrap_or_default()));
        }
    }

    #[test]
    fn layers_stand_in_their_order_and_everybody_hears_the_host() {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let mut builder = builder("titan-v", &["dram.channels=1", "l2.slices=1"]);
        for (name, layer) in [("c", Layer::Resizes), ("a", Layer::Relocates), ("b", Layer::Relocates)] {
            let told = Arc::clone(&told);
            builder.memory_side(name, layer, move |_| Box::new(Named(name, Arc::clone(&told))));
        }
        builder.host_listener("l", Box::new(Named("l", Arc::clone(&told))));
        let mut machine = builder.build().expect("a machine");
        let (id, start, size) = (AllocationId(0), Addr(0x1000), Bytes(128));
        let events = [
            HostEvent::Alloc(Allocation::on_device(0, "A", start, size)),
            HostEvent::CopyIn { start, size },
            HostEvent::Free { id, start, size },
        ];
        for event in &events {
            machine.host_event(event, |_: LineAddr, _: &mut Line| ());
        }
        let expected = [
            "a hears of A",
            "b hears of A",
            "c hears of A",
            "l hears Alloc",
            "l hears CopyIn",
            "a",
            "b",
            "c",
            "a frees",
            "b frees",
            "c frees",
            "l hears Free",
        ];
        assert_eq!(*told.lock().expect("nobody panics"), expected);
    }

    #[test]
    fn a_machine_may_go_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Machine>();
    }
}
