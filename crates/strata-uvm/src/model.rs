//! The mechanism: what it is made of, and what each access does to it.

use crate::evict::{self, Eviction, Recency};
use crate::geometry::{Geometry, Page};
use crate::pcie::Pcie;
use crate::place::{Adaptive, Decision, Place, Thrashing};
use crate::predictions::Predictions;
use crate::prefetch::{self, Predictor, Prefetcher};
use crate::record::{GmmuRequest, Recorder};
use crate::series::{Course, Moment, Series};
use crate::server::Server;
use crate::service::Service;
use crate::settings::{Config, Model, Trigger};
use crate::space::{Flags, Space};
use crate::stats::{Counts, LEFT};
use crate::transfer::Channels;
use crate::uses::Uses;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_core::random::SplitMix64;
use strata_core::{Addr, Bytes, HostEvent};
use strata_learn::access::Unit;
use strata_sim::seam::{AccessInfo, Action, Actions, FaultId, PageId, Paging, SideCount, StoredPages, Token, Walk};
use strata_sim::time::{Clock, Cycles, Picos};

/// The device when it held the most pages.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fullest {
    /// So many.
    pub pages: u64,
    /// Pages that it had room for then if each took all of its bytes.
    pub frames: u64,
}

/// What unified memory must know of the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Core clock.
    pub core_khz: u64,
    /// SMs that share a texture processing cluster.
    pub sms_per_tpc: u32,
    /// Device memory.
    pub memory: Bytes,
}

/// Why it is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// All walks of this cycle have ended.
    Batch,
    /// A transfer to the device has ended.
    Read,
    /// A transfer to the host has ended.
    Write,
    /// The host has waited long enough.
    Waited,
    /// The driver looks at its fault buffer.
    Serve,
    /// Something may leave that was in use.
    Evict,
    /// A throttled page may fault again.
    Nap,
    /// A prediction is ready.
    Predicted,
    /// The host has served a request.
    Served,
}

impl Wake {
    const ALL: [Self; 9] = [
        Self::Batch,
        Self::Read,
        Self::Write,
        Self::Waited,
        Self::Serve,
        Self::Evict,
        Self::Nap,
        Self::Predicted,
        Self::Served,
    ];
}

/// Unified memory.
pub struct Uvm {
    pub(crate) config: Config,
    pub(crate) space: Space,
    pub(crate) pcie: Pcie,
    pub(crate) clock: Clock,
    pub(crate) managed: Range<Addr>,
    pub(crate) prefetcher: Box<dyn Prefetcher>,
    pub(crate) prefetcher_when_full: Option<Box<dyn Prefetcher>>,
    pub(crate) eviction: Box<dyn Eviction>,
    pub(crate) recency: Recency,
    pub(crate) uses: Uses,
    pub(crate) random: SplitMix64,
    pub(crate) channels: Channels,
    pub(crate) place: Place,
    pub(crate) adaptive: Option<Adaptive>,
    pub(crate) thrashing: Option<Thrashing>,
    pub(crate) service: Service,
    pub(crate) server: Server,
    pub(crate) recorder: Recorder,
    /// Faults whose walks ended in this cycle.
    pub(crate) batch: Vec<Page>,
    pub(crate) predictions: Predictions,
    /// Device memory, and what other allocations take of it, in pages.
    pub(crate) memory: u64,
    pub(crate) unmanaged: Vec<(Addr, u64)>,
    /// Warps that have ended leave: nothing moves over the link.
    warps_leave: bool,
    /// Memory did not suffice before; UVMSmart forgets it at a synchronisation.
    pub(crate) oversubscribed: bool,
    /// What pages take as memory sides store them, if they travel so.
    pub(crate) stored: Option<Arc<StoredPages>>,
    pub(crate) fullest: Fullest,
    pub(crate) counts: Counts,
    pub(crate) series: Series,
    course: Course,
    records: bool,
}

impl Uvm {
    /// In charge of `managed`. A learned prefetcher needs a predictor.
    pub fn new(
        config: Config,
        machine: Machine,
        managed: Range<Addr>,
        predictor: Option<Box<dyn Predictor>>,
    ) -> Result<Self, String> {
        let geometry = Geometry::new(config.page_size, managed.start);
        let prefetcher = prefetch::named(&config.prefetcher, &config, predictor)?;
        let foresees = config.eviction_is_the_models && prefetcher.unit() == Unit::Root;
        let eviction = evict::named(if foresees { "foreseen" } else { &config.eviction });
        let when_full = config.prefetcher_when_full.as_ref();
        let memory = config.device_memory.unwrap_or(machine.memory);
        Ok(Self {
            pcie: Pcie::new(config.pcie, machine.core_khz, config.pcie_latency, &geometry),
            space: Space::new(geometry),
            clock: Clock::from_khz(machine.core_khz),
            managed,
            prefetcher,
            prefetcher_when_full: when_full.map(|name| prefetch::named(name, &config, None)).transpose()?,
            recency: Recency::new(eviction.by_page()),
            eviction,
            uses: Uses::default(),
            random: SplitMix64::new(config.seed),
            channels: Channels::default(),
            place: Place::new(&config),
            adaptive: config.adaptive.then(Adaptive::default),
            thrashing: config.thrashing.then(Thrashing::default),
            service: Service::default(),
            server: Server::default(),
            recorder: Recorder::new(machine.sms_per_tpc, config.trace, config.keeps_uses),
            batch: Vec::new(),
            predictions: Predictions::new(config.predictions_in_flight),
            memory: memory.0 / config.page_size.0,
            unmanaged: Vec::new(),
            warps_leave: true,
            oversubscribed: false,
            stored: None,
            fullest: Fullest::default(),
            counts: Counts::default(),
            series: Series::new(),
            course: Course::new(),
            records: config.trace || config.prefetcher == "learned",
            config,
        })
    }

    /// Managed memory as it is.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The device when it held the most pages.
    pub fn fullest(&self) -> Fullest {
        self.fullest
    }

    /// What was counted so far.
    pub fn counted(&self) -> &Counts {
        &self.counts
    }

    /// What passed over PCI Express.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The counts in the course of the instructions.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// Requests to the GMMU, if the settings keep them.
    pub fn requests(&self) -> &[GmmuRequest] {
        self.recorder.kept()
    }

    /// The first access of each launch to each 64 KB block, if the settings keep them.
    pub fn uses(&self) -> &[GmmuRequest] {
        self.recorder.uses()
    }

    /// Walks to each page of an allocation.
    pub fn heat(&self, allocation: &crate::Allocation) -> &[u32] {
        &self.space.heat[allocation.pages.start as usize..allocation.pages.end as usize]
    }

    /// Pages that may be on the device together.
    pub(crate) fn capacity(&self) -> u64 {
        let taken: u64 = self.unmanaged.iter().map(|(_, pages)| pages).sum();
        let tree = u64::from(self.space.geometry.pages_per_tree());
        match self.config.oversubscription {
            Some(share) => ((self.space.managed() as f64 / share) as u64).max(tree),
            None => self.memory.saturating_sub(taken).max(tree),
        }
    }

    pub(crate) fn is_driver(&self) -> bool {
        self.config.model == Model::Driver
    }

    pub(crate) fn cycle(&self, now: Picos) -> u64 {
        self.clock.next(now).0
    }

    /// Asks to be woken at a core cycle.
    pub(crate) fn wake_at(&self, cycle: u64, why: Wake, out: &mut Actions) {
        out.push(Action::Timer { at: self.clock.edge(Cycles(cycle)), token: Token(why as u32) });
    }

    /// Asks to be woken when a migration over the link ends, at a core cycle if the link carries nothing else.
    pub(crate) fn carry_until(&self, cycle: u64, towards_device: bool, why: Wake, out: &mut Actions) {
        let (at, token) = (self.clock.edge(Cycles(cycle)), Token(why as u32));
        out.push(Action::Carry { towards_device, at, token });
    }

    /// The fault of a page.
    pub(crate) fn fault_of(page: Page) -> FaultId {
        FaultId(page.0)
    }

    /// The first access to a page since it came or was queued.
    pub(crate) fn first_use(&mut self, page: Page) {
        let flags = self.space.flags_mut(page);
        if flags.has(Flags::TOUCHED) {
            return;
        }
        flags.set(Flags::TOUCHED);
        let (prefetched, foreseen) = (flags.has(Flags::PREFETCHED), flags.has(Flags::COVERED));
        self.counts.predicted_used += u64::from(flags.has(Flags::PREDICTED));
        self.counts.used += 1;
        self.counts.prefetched_used += u64::from(prefetched);
        self.counts.used_prefetched += u64::from(prefetched);
        self.counts.used_foreseen += u64::from(foreseen);
    }

    /// An artefact of UVMSmart (`uvm.reclaim=link-idle`): a warp only ends while PCI Express is idle (the fetch stage of its
    /// `shader.cc`), so that a CTA which is done keeps its place while pages move, and no other comes to miss what is on its
    /// way.
    fn let_warps_leave(&mut self, out: &mut Actions) {
        let leave = !self.config.reclaims_when_idle || self.channels.idle() && self.server.idle();
        if leave != self.warps_leave {
            self.warps_leave = leave;
            out.push(Action::WarpsMayLeave(leave));
        }
    }

    /// A page is accessed, wherever it is: what that tells of its root and its block.
    #[inline]
    fn note_use(&mut self, page: Page, access: &AccessInfo, now: Picos) {
        let geometry = &self.space.geometry;
        let tree = geometry.tree(page);
        if self.uses.accessed(tree, self.space.owner(page), access.kernel, now) {
            self.prefetcher.used(access.kernel, geometry.address(geometry.first_page(tree)));
        }
        self.recorder.accessed(access.kernel, page, geometry);
    }

    /// A page on the device is accessed.
    #[inline]
    fn access_here(&mut self, page: Page, write: bool) {
        self.space.accessed(page, write);
        let flags = self.space.flags_mut(page);
        if flags.has(Flags::LEAVING) {
            flags.set(Flags::RESCUED);
        }
        if flags.has(Flags::VALID) {
            self.recency.used(&self.space, page);
        }
    }
}

impl Paging for Uvm {
    fn wants_touches(&self) -> bool {
        true
    }

    fn touched(&mut self, page: PageId, access: &AccessInfo, now: Picos) {
        let page = self.space.geometry.page(page);
        if self.space.is_managed(page) {
            self.note_use(page, access, now);
            self.access_here(page, access.write);
        }
    }

    fn sent(&mut self, page: PageId) {
        let page = self.space.geometry.page(page);
        if self.space.is_managed(page) {
            self.space.take(page);
        }
    }

    fn released(&mut self, page: PageId, now: Picos, out: &mut Actions) {
        let page = self.space.geometry.page(page);
        if !self.space.is_managed(page) {
            return;
        }
        self.space.release(page);
        if self.channels.starved {
            self.channels.starved = false;
            self.wake_at(self.cycle(now), Wake::Evict, out);
        }
    }

    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk {
        let page = self.space.geometry.page(page);
        if !self.space.is_managed(page) {
            return Walk::Here;
        }
        if self.course.is_due(access.instructions) {
            let cycle = self.clock.passed(now).0;
            self.course.add(&Moment { instructions: access.instructions, cycle, counts: self.counts });
        }
        let weight = if self.config.walks_by_sector { u64::from(access.sectors) } else { 1 };
        let here = self.space.is_valid(page);
        self.space.heat[page.0 as usize] += 1;
        self.note_use(page, access, now);
        if self.records {
            let (address, array) = (self.space.geometry.address(page), self.space.allocation(page).start);
            let request = self.recorder.note(access, address, array, here, self.clock.passed(now).0);
            if self.prefetcher.observe(&request.access) && self.predicts_after(Trigger::Request) {
                self.ask_predictor(now, out);
            }
        }
        if here {
            self.counts.hits += weight;
            self.first_use(page);
            self.access_here(page, access.write);
            return Walk::Here;
        }
        self.counts.misses += weight;
        let flags = self.space.flags(page);
        if flags.has(Flags::QUEUED) || flags.has(Flags::ASKED) {
            self.counts.pending += weight;
            self.space.accessed(page, access.write);
            if flags.has(Flags::QUEUED) {
                self.first_use(page);
                self.promote(page, now, out);
            }
            return Walk::Wait(Self::fault_of(page));
        }
        match self.decide(page, access.write, now) {
            Decision::Remote => {
                self.counts.remote += weight;
                self.counts.in_bytes += u64::from(access.sectors) * strata_core::SECTOR_BYTES;
                Walk::Remote
            }
            Decision::HoldLink => {
                self.counts.remote += weight;
                self.space.accessed(page, false);
                let fault = self.read_over_link(now, out);
                self.let_warps_leave(out);
                Walk::Wait(fault)
            }
            Decision::Nap(until) => {
                self.space.accessed(page, access.write);
                self.put_off(page, until, out);
                Walk::Wait(Self::fault_of(page))
            }
            Decision::Migrate => {
                self.space.accessed(page, access.write);
                self.far_fault(page, now, out);
                if self.predicts_after(Trigger::Fault) {
                    self.ask_predictor(now, out);
                }
                Walk::Wait(Self::fault_of(page))
            }
        }
    }

    fn wake(&mut self, token: Token, now: Picos, out: &mut Actions) {
        match Wake::ALL.get(token.0 as usize) {
            Some(Wake::Batch) => self.serve_batch(now, out),
            Some(Wake::Read) => self.read_ends(now, out),
            Some(Wake::Write) => self.write_ends(now, out),
            Some(Wake::Serve) => self.serve_buffer(now, out),
            Some(Wake::Evict) => self.make_room(now, out),
            Some(Wake::Nap) => self.naps_end(now, out),
            Some(Wake::Predicted) => self.prediction_is_ready(now, out),
            Some(Wake::Served) => self.service_ends(now, out),
            Some(Wake::Waited) | None => {}
        }
        self.let_warps_leave(out);
    }

    fn host(&mut self, event: &HostEvent, now: Picos, out: &mut Actions) {
        self.heard(event, now, out);
        self.let_warps_leave(out);
    }

    /// A page takes so much less of device memory as memory sides keep less for its lines. What is not managed is counted whole.
    fn reserved(&mut self, start: Addr, _: Bytes, per_line: u32) {
        if self.managed.contains(&start) {
            self.space.reserve(start, per_line);
        }
    }

    fn counts(&self) -> Vec<SideCount> {
        let mut counts = self.counts.list();
        // Nobody else leaves what was predicted.
        counts.retain(|count| count.name != LEFT || self.prefetcher.unit() == Unit::Root);
        counts
    }
}

/// Unified memory that a machine owns and somebody else looks at.
#[derive(Clone)]
pub struct Handle(Arc<Mutex<Uvm>>);

impl Handle {
    /// A handle of it.
    pub fn new(uvm: Uvm) -> Self {
        Self(Arc::new(Mutex::new(uvm)))
    }

    /// Only the machine holds it for as long as a run lasts, so nobody ever waits here.
    fn lock(&self) -> MutexGuard<'_, Uvm> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it.
    pub(crate) fn look_mut<T>(&self, look: impl FnOnce(&mut Uvm) -> T) -> T {
        look(&mut self.lock())
    }

    /// Looks at it.
    pub fn look<T>(&self, look: impl FnOnce(&Uvm) -> T) -> T {
        look(&self.lock())
    }
}

impl Paging for Handle {
    fn wants_touches(&self) -> bool {
        true
    }

    fn touched(&mut self, page: PageId, access: &AccessInfo, now: Picos) {
        self.lock().touched(page, access, now);
    }

    fn sent(&mut self, page: PageId) {
        self.lock().sent(page);
    }

    fn released(&mut self, page: PageId, now: Picos, out: &mut Actions) {
        self.lock().released(page, now, out);
    }

    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk {
        self.lock().walked(page, access, now, out)
    }

    fn wake(&mut self, token: Token, now: Picos, out: &mut Actions) {
        self.lock().wake(token, now, out);
    }

    fn host(&mut self, event: &HostEvent, now: Picos, out: &mut Actions) {
        self.lock().host(event, now, out);
    }

    fn reserved(&mut self, start: Addr, size: Bytes, per_line: u32) {
        self.lock().reserved(start, size, per_line);
    }

    fn counts(&self) -> Vec<SideCount> {
        Paging::counts(&*self.lock())
    }
}
