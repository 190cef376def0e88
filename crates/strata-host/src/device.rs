//! The façade that programs drive.

use crate::engine::{
    CopyReport, Engine, HostError, KernelResources, KernelShape, Launch, LaunchReport, ModuleId, Submitted,
    SymbolAddress,
};
use crate::script::{Script, Step};
use std::collections::BTreeMap;
use strata_core::{Addr, Advice, AllocFlags, Allocation, Bytes, Dim3, HostEvent, Image, Texture};

/// A kernel argument.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the variants are types")]
pub enum Arg {
    Ptr(Addr),
    U8(u8),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    /// Anything else: the bytes of a structure.
    Raw(Vec<u8>),
}

impl Arg {
    /// The bytes that go into the parameter block.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Ptr(a) => a.0.to_le_bytes().to_vec(),
            Self::U8(v) => vec![*v],
            Self::I32(v) => v.to_le_bytes().to_vec(),
            Self::U32(v) => v.to_le_bytes().to_vec(),
            Self::I64(v) => v.to_le_bytes().to_vec(),
            Self::U64(v) => v.to_le_bytes().to_vec(),
            Self::F32(v) => v.to_le_bytes().to_vec(),
            Self::F64(v) => v.to_le_bytes().to_vec(),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

macro_rules! arg_from {
    ($($ty:ty => $variant:ident),*) => { $(impl From<$ty> for Arg {
        fn from(v: $ty) -> Self { Self::$variant(v) }
    })* };
}
arg_from!(Addr => Ptr, i32 => I32, u32 => U32, i64 => I64, u64 => U64, f32 => F32, f64 => F64, u8 => U8);

/// One GPU, as a program sees it.
pub struct Device {
    engine: Box<dyn Engine>,
    launches: Vec<(Launch, LaunchReport)>,
    footprint: Footprint,
    /// What the host asks, if that is kept.
    script: Option<Script>,
}

/// Bytes that a program has allocated.
#[derive(Default)]
struct Footprint {
    /// With what it takes of the device: nothing if it is the host's.
    live: BTreeMap<Addr, (Bytes, Bytes)>,
    now: Bytes,
    most: Bytes,
}

impl Footprint {
    fn allocated(&mut self, start: Addr, size: Bytes, flags: AllocFlags) {
        let on_device = if flags.pinned { Bytes(0) } else { size };
        self.live.insert(start, (size, on_device));
        self.now.0 += size.0;
        self.most = self.most.max(self.now);
    }

    /// Bytes of the device that are free again.
    fn freed(&mut self, start: Addr) -> Bytes {
        let (size, on_device) = self.live.remove(&start).unwrap_or_default();
        self.now.0 -= size.0;
        on_device
    }
}

impl Device {
    /// A device run by `engine`.
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self { engine, launches: Vec::new(), footprint: Footprint::default(), script: None }
    }

    /// Keeps what the host asks from now on, as long as no call fails and the data fit into `room`.
    pub fn keep_script(&mut self, room: Bytes) {
        self.script = Some(Script::with_room(room));
    }

    /// What the host asked since then, if it could be kept.
    pub fn take_script(&mut self) -> Option<Script> {
        self.script.take()
    }

    /// Keeps a call of the host that was carried out.
    fn note(&mut self, step: impl FnOnce() -> Step) {
        if self.script.as_mut().is_some_and(|script| !script.add(step())) {
            self.script = None;
        }
    }

    /// The same if it was; a host that lives on after an error is no script.
    fn noted<T>(&mut self, result: Result<T, HostError>, step: impl FnOnce(&T) -> Step) -> Result<T, HostError> {
        match &result {
            Ok(answer) => self.note(|| step(answer)),
            Err(_) => self.script = None,
        }
        result
    }

    /// Loads a module from its text; `name` is used in diagnostics.
    pub fn load_module(&mut self, name: &str, text: &str) -> Result<ModuleId, HostError> {
        let loaded = self.engine.load_module(name, text);
        let step =
            |answer: &ModuleId| Step::LoadModule { name: name.to_owned(), text: text.to_owned(), answer: *answer };
        let module = self.noted(loaded, step)?;
        self.engine.hear(&HostEvent::ModuleLoaded { module: module.0, name: name.to_owned(), text: text.into() });
        Ok(module)
    }

    /// Allocates `size` bytes; `name` is what reports call them.
    pub fn alloc(&mut self, name: &str, size: Bytes) -> Result<Addr, HostError> {
        self.alloc_with(name, size, AllocFlags::default())
    }

    /// Allocates managed memory.
    pub fn alloc_managed(&mut self, name: &str, size: Bytes) -> Result<Addr, HostError> {
        self.alloc_with(name, size, AllocFlags { managed: true, ..AllocFlags::default() })
    }

    /// Allocates memory that stays on the device, also where everything else is managed.
    pub fn alloc_on_device(&mut self, name: &str, size: Bytes) -> Result<Addr, HostError> {
        self.alloc_with(name, size, AllocFlags { on_device: true, ..AllocFlags::default() })
    }

    /// Allocates memory of the host that the device can address.
    pub fn alloc_pinned(&mut self, name: &str, size: Bytes) -> Result<Addr, HostError> {
        let start = self.alloc_with(name, size, AllocFlags { pinned: true, ..AllocFlags::default() })?;
        self.advise(start, size, Advice::PinToHost);
        Ok(start)
    }

    pub(crate) fn alloc_with(&mut self, name: &str, size: Bytes, flags: AllocFlags) -> Result<Addr, HostError> {
        let allocated = self.engine.alloc(size, flags, name);
        let step = |made: &Allocation| Step::Alloc { name: name.to_owned(), size, flags, answer: made.start };
        let allocation = self.noted(allocated, step)?;
        let start = allocation.start;
        self.footprint.allocated(start, size, flags);
        self.engine.hear(&HostEvent::Alloc(allocation));
        Ok(start)
    }

    /// Gives memory back.
    pub fn free(&mut self, start: Addr) -> Result<(), HostError> {
        let freed = self.engine.free(start);
        let id = self.noted(freed, |_| Step::Free { start })?;
        let size = self.footprint.freed(start);
        self.engine.hear(&HostEvent::Free { id, start, size });
        Ok(())
    }

    /// The most bytes that were allocated at once.
    pub fn most_allocated(&self) -> Bytes {
        self.footprint.most
    }

    /// Copies host to device.
    pub fn copy_in(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError> {
        let written = self.engine.write(start, data);
        self.noted(written, |()| Step::CopyIn { start, data: data.to_owned() })?;
        self.engine.hear(&HostEvent::CopyIn { start, size: Bytes(data.len() as u64) });
        Ok(())
    }

    /// Copies device to host.
    pub fn copy_out(&mut self, start: Addr, data: &mut [u8]) -> Result<(), HostError> {
        let read = self.engine.read(start, data);
        self.noted(read, |()| Step::CopyOut { start, answer: data.to_owned() })?;
        self.engine.hear(&HostEvent::CopyOut { start, size: Bytes(data.len() as u64) });
        Ok(())
    }

    /// Sets bytes.
    pub fn memset(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError> {
        let filled = self.engine.fill(start, size, byte);
        self.noted(filled, |()| Step::Memset { start, size, byte })?;
        self.engine.hear(&HostEvent::Memset { start, size });
        Ok(())
    }

    /// Asks for managed memory to be on the device, or at the host, and goes on (`cudaMemPrefetchAsync`).
    pub fn prefetch(&mut self, start: Addr, size: Bytes, to_device: bool) {
        self.note(|| Step::Prefetch { start, size, to_device });
        self.engine.hear(&HostEvent::Prefetch { start, size, to_device });
    }

    /// Says how managed memory will be used (`cudaMemAdvise`).
    pub fn advise(&mut self, start: Addr, size: Bytes, advice: Advice) {
        self.note(|| Step::Advise { start, size, advice });
        self.engine.hear(&HostEvent::Advise { start, size, advice });
    }

    /// Makes a texture object of an image in one allocation; the value is an argument of kernels.
    pub fn create_texture(&mut self, texture: &Texture) -> Result<u64, HostError> {
        let created = self.engine.create_texture(texture);
        self.noted(created, |answer| Step::CreateTexture { texture: *texture, answer: *answer })
    }

    /// Makes a surface object.
    pub fn create_surface(&mut self, image: &Image) -> Result<u64, HostError> {
        let created = self.engine.create_surface(image);
        self.noted(created, |answer| Step::CreateSurface { image: *image, answer: *answer })
    }

    /// Forgets a texture or surface object; the memory of its image stays.
    pub fn destroy_object(&mut self, handle: u64) -> Result<(), HostError> {
        let destroyed = self.engine.destroy_object(handle);
        self.noted(destroyed, |()| Step::DestroyObject { handle })
    }

    /// A texture or surface reference, the variable at `reference`, stands for an object from the next launch on. That is
    /// no copy: nobody hears of it, and it takes no time.
    pub fn bind(&mut self, reference: Addr, object: u64) -> Result<(), HostError> {
        let written = self.engine.write(reference, &object.to_le_bytes());
        self.noted(written, |()| Step::Bind { reference, object })
    }

    /// The parameters of a kernel.
    pub fn kernel(&self, module: ModuleId, kernel: &str) -> Result<KernelShape, HostError> {
        self.engine.kernel(module, kernel)
    }

    /// What a kernel needs of an SM.
    pub fn resources(&mut self, module: ModuleId, kernel: &str) -> Result<KernelResources, HostError> {
        let told = self.engine.resources(module, kernel);
        self.noted(told, |answer| Step::Resources { module, kernel: kernel.to_owned(), answer: *answer })
    }

    /// The host may have written to memory that it shares with the device, without a call that says so.
    pub fn touched_by_host(&mut self, start: Addr, size: Bytes) {
        self.note(|| Step::TouchedByHost { start, size });
        self.engine.hear(&HostEvent::Memset { start, size });
    }

    /// Copies from one place of the device to another; the places may overlap.
    pub fn copy_on_device(&mut self, to: Addr, from: Addr, size: Bytes) -> Result<(), HostError> {
        let mut data = vec![0; size.0 as usize];
        let copied = self.engine.read(from, &mut data).and_then(|()| self.engine.write(to, &data));
        self.noted(copied, |()| Step::CopyOnDevice { to, from, size })?;
        // For whoever follows memory it changes as by a memset: nothing crosses the link to the host.
        self.engine.hear(&HostEvent::Memset { start: to, size });
        Ok(())
    }

    /// The address of a module-scope variable.
    pub fn symbol(&mut self, module: ModuleId, name: &str) -> Result<SymbolAddress, HostError> {
        let told = self.engine.symbol(module, name);
        self.noted(told, |answer| Step::Symbol { module, name: name.to_owned(), answer: *answer })
    }

    /// Launches a kernel and waits for it.
    pub fn launch(
        &mut self,
        module: ModuleId,
        kernel: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        shared: u32,
        args: &[Arg],
    ) -> Result<(), HostError> {
        let params = self.pack(module, kernel, args)?;
        let (grid, block) = (grid.into(), block.into());
        self.run(Launch { module, kernel: kernel.to_owned(), grid, block, shared, params, cooperative: false })
    }

    /// Runs a launch whose parameter block is already packed, and what its kernel submits.
    pub fn run(&mut self, launch: Launch) -> Result<(), HostError> {
        self.note(|| Step::Run(launch.clone()));
        // What a kernel submits is not asked by the host.
        let script = self.script.take();
        self.run_all(launch)?;
        self.script = script;
        Ok(())
    }

    fn run_all(&mut self, launch: Launch) -> Result<(), HostError> {
        // A kernel is at its end when all that it has launched is: the next thing to do is on top.
        let mut to_do = vec![Submitted::Launch(launch)];
        while let Some(work) = to_do.pop() {
            match work {
                Submitted::Launch(launch) => {
                    let submitted = self.run_one(launch)?;
                    to_do.extend(submitted.into_iter().rev());
                }
                Submitted::Copy { to, from, size } => self.copy_on_device(to, from, size)?,
                Submitted::Set { to, byte, size } => self.memset(to, size, byte)?,
            }
        }
        Ok(())
    }

    /// Runs a launch; gives what its kernel submitted.
    fn run_one(&mut self, launch: Launch) -> Result<Vec<Submitted>, HostError> {
        let (kernel, grid, block) = (launch.kernel.clone(), launch.grid, launch.block);
        let module = launch.module.0;
        self.engine.hear(&HostEvent::LaunchBegin { module, kernel: kernel.clone(), grid, block });
        let mut report = self.engine.launch(&launch)?;
        self.engine.hear(&HostEvent::LaunchEnd { kernel });
        let submitted = std::mem::take(&mut report.submitted);
        self.launches.push((launch, report));
        Ok(submitted)
    }

    /// Lays arguments out as the kernel declares them.
    pub fn pack(&self, module: ModuleId, kernel: &str, args: &[Arg]) -> Result<Vec<u8>, HostError> {
        let shape = self.engine.kernel(module, kernel)?;
        if shape.params.len() != args.len() {
            let reason = format!("kernel `{kernel}` takes {} arguments, {} were given", shape.params.len(), args.len());
            return Err(HostError::Call { call: "launch", reason });
        }
        let mut block = vec![0; shape.params.last().map_or(0, |p| (p.offset + p.size) as usize)];
        for (index, (param, arg)) in shape.params.iter().zip(args).enumerate() {
            let bytes = arg.to_bytes();
            if bytes.len() != param.size as usize {
                let reason = format!(
                    "argument {index} of kernel `{kernel}` has {} bytes, the kernel declares {}",
                    bytes.len(),
                    param.size
                );
                return Err(HostError::Call { call: "launch", reason });
            }
            block[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        Ok(block)
    }

    /// Says how many launches the program will make in all, if it knows: whoever watches can tell how far it is.
    pub fn announce(&mut self, launches: u64) {
        self.note(|| Step::Announce { launches });
        self.engine.hear(&HostEvent::Announce { launches });
    }

    /// Says that what follows prepares what the program is run for (a network is trained until its weights look like
    /// weights), up to [`begin_measurement`](Self::begin_measurement): it is executed, since the rest works on what it
    /// leaves in memory, but not timed.
    pub fn begin_preparation(&mut self) {
        self.note(|| Step::BeginPreparation);
        self.engine.hear(&HostEvent::Prepare);
    }

    /// Ends the preparation: launches so far are forgotten. A program that never prepares is measured from its beginning.
    pub fn begin_measurement(&mut self) {
        self.note(|| Step::BeginMeasurement);
        self.launches.clear();
        self.engine.hear(&HostEvent::Measure);
    }

    /// Waits for everything; a no-op in time, but mechanisms hear it.
    pub fn synchronize(&mut self) {
        self.note(|| Step::Synchronize);
        self.engine.hear(&HostEvent::Sync);
    }

    /// What copies did so far.
    pub fn copies(&self) -> CopyReport {
        self.engine.copies()
    }

    /// What was launched since the last call, for programs that go on for long.
    pub fn take_launches(&mut self) -> Vec<(Launch, LaunchReport)> {
        std::mem::take(&mut self.launches)
    }

    /// What was launched so far, with what each launch did; without what prepared it.
    pub fn launches(&self) -> &[(Launch, LaunchReport)] {
        &self.launches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_footprint_is_what_was_allocated_at_once() {
        let mut footprint = Footprint::default();
        let device = AllocFlags::default();
        footprint.allocated(Addr(0), Bytes(100), device);
        footprint.allocated(Addr(512), Bytes(50), AllocFlags { pinned: true, ..device });
        assert_eq!(footprint.freed(Addr(0)), Bytes(100));
        footprint.allocated(Addr(1024), Bytes(60), device);
        assert_eq!((footprint.now, footprint.most), (Bytes(110), Bytes(150)));
        assert_eq!(footprint.freed(Addr(512)), Bytes(0), "it is the host's");
    }
}
