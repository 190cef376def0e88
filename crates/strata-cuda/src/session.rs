//! One process of a program: its device, its modules, its questions.

use super::allocations::{Allocations, Way};
use super::modules::Modules;
use super::selection::Selection;
use super::transfers::pieces;
use super::{Record, code, gpu};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use strata_core::{Addr, AddressMode, Bytes, Channel, Dim3, Format, Image, Texture};
use strata_cudart::protocol::{self, Kernel, Param, Reply, Request, Sampling, VERSION, kind, receive, send};
use strata_emu::Capacity;
use strata_host::{CopyReport, Device, HostError, Launch, ModuleId};
use strata_run::KernelRun;
use strata_run::engine::most_registers;
use strata_run::setup::SharedSetup;
use strata_sim::config::GpuConfig;
use strata_sim::{KernelNeeds, Machine};

/// The most threads of a block (CUDA programming guide, all compute capabilities).
const THREADS_PER_BLOCK: u64 = 1024;

/// What a session is made of.
pub(super) struct Parts {
    pub(super) device: Device,
    pub(super) capacity: Capacity,
    /// The file that backs managed and pinned memory, which the program maps, too.
    pub(super) memory: Arc<File>,
    pub(super) gpu: GpuConfig,
    /// Launches are timed on a machine, not only executed.
    pub(super) timed: bool,
    /// Somebody looks at what memory holds, and must be told what the host may have changed.
    pub(super) watched: bool,
    /// Pages of managed memory move.
    pub(super) paged: bool,
    pub(super) program: String,
    /// Which launches are timed, as the request selects them.
    pub(super) selection: Selection,
    /// What mechanisms have to say when the process has ended, saved into the folder of the result.
    pub(super) setup: Option<SharedSetup>,
    pub(super) directory: PathBuf,
}

pub(super) struct Session {
    pub(super) parts: Parts,
    modules: Modules,
    record: Arc<Record>,
    pub(super) allocations: Allocations,
    /// Launches of this process so far.
    launches: u64,
    /// What happens now is executed, and not timed.
    skipping: bool,
    /// Core cycles of all launches.
    cycles: u64,
    began: Instant,
    /// Made when somebody asks what fits on an SM.
    machine: Option<Machine>,
}

pub(super) type Answer = Result<Reply, Reply>;

pub(super) fn refuse(code: u32, message: impl Into<String>) -> Reply {
    Reply::Refused { code, sticky: false, message: message.into() }
}

/// Serves a process to its end.
pub(super) fn serve(
    mut stream: UnixStream,
    record: Arc<Record>,
    make: impl FnOnce() -> Result<Parts, String>,
) -> io::Result<()> {
    match receive(&mut stream)? {
        Some(Request::Hello { version: VERSION, process }) => record.met(process),
        Some(Request::Loaded) => {
            record.loaded();
            return send(&mut stream, &Reply::Done);
        }
        Some(_) => {
            return send(
                &mut stream,
                &refuse(code::INITIALIZATION, "the program's libcudart.so is of another StrataSim"),
            );
        }
        None => return Ok(()),
    }
    let parts = match make() {
        Ok(parts) => parts,
        Err(message) => {
            record.failed(message.clone());
            record.ended(&CopyReport::default(), Bytes(0), Vec::new());
            return send(&mut stream, &refuse(code::INITIALIZATION, message));
        }
    };
    let managed = parts.capacity.managed_range();
    let welcome = Reply::Welcome {
        device: parts.capacity.base.0,
        managed: managed.start.0,
        end: managed.end.0,
        process: std::process::id(),
        file: parts.memory.as_raw_fd() as u32,
    };
    let mut session = Session {
        modules: Modules::new(parts.program.clone()),
        parts,
        record,
        allocations: Allocations::default(),
        launches: 0,
        skipping: false,
        cycles: 0,
        began: Instant::now(),
        machine: None,
    };
    session.choose(session.parts.selection.includes(1, ""));
    let served = send(&mut stream, &welcome).and_then(|()| session.serve(&mut stream));
    session.end();
    served
}

impl Session {
    /// What is left to say when the process is gone.
    fn end(&mut self) {
        let mut copies = self.parts.device.copies();
        self.allocations.count(&mut copies.stats);
        let saved =
            self.parts.setup.as_ref().map_or(Ok(Vec::new()), |setup| setup.borrow().save(&self.parts.directory));
        let warnings = saved.unwrap_or_else(|error| vec![error.to_string()]);
        self.record.ended(&copies, self.parts.device.most_allocated(), warnings);
    }

    /// From now on things are timed, or only executed.
    fn choose(&mut self, timed: bool) {
        if !self.parts.selection.leaves_out() || self.skipping != timed {
            return;
        }
        self.skipping = !timed;
        if timed {
            self.parts.device.begin_measurement();
        } else {
            self.parts.device.begin_preparation();
        }
    }

    fn serve(&mut self, stream: &mut UnixStream) -> io::Result<()> {
        while let Some(request) = receive(stream)? {
            let answer = match request {
                Request::CopyIn { to } => self.copy_in(stream, to)?,
                Request::CopyOut { from } => match self.copy_out(from) {
                    Ok(data) => {
                        send(stream, &Reply::Done)?;
                        stream.write_all(&data)?;
                        continue;
                    }
                    Err(refused) => Err(refused),
                },
                other => self.answer(other),
            };
            let (Ok(reply) | Err(reply)) = answer;
            send(stream, &reply)?;
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Module { images } => Ok(number(u64::from(self.modules.add(&images)))),
            Request::Kernel { module, name } => self.kernel(module, &name),
            Request::Symbol { module, name } => {
                let id = self.module(module)?;
                let found = self.parts.device.symbol(id, &name);
                let found = found.map_err(|e| refuse(code::INVALID_SYMBOL, e.to_string()))?;
                Ok(Reply::Symbol { start: found.start.0, size: found.size.0 })
            }
            Request::Launch { module, name, grid, block, shared, params, cooperative } => {
                let module = self.module(module)?;
                let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
                let (grid, block) = (dim(grid), dim(block));
                self.launch(Launch { module, kernel: name, grid, block, shared, params, cooperative })
            }
            Request::Occupancy { module, name, threads, shared } => self.occupancy(module, &name, threads, shared),
            Request::Properties => {
                Ok(Reply::Properties { properties: gpu::properties(&self.parts.gpu, self.modules.capability()) })
            }
            Request::Alloc { size, kind } => self.alloc(size, kind),
            Request::Free { start } => self.free(start),
            Request::CopyOn { to, from } => self.copy_on(to, from),
            Request::Memset { to, byte } => {
                for (start, size) in pieces(to)? {
                    let set = self.parts.device.memset(Addr(start), Bytes(size), byte);
                    set.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
                    self.allocations.moved(start, size, Way::Set);
                }
                Ok(Reply::Done)
            }
            Request::Synchronize => {
                self.parts.device.synchronize();
                Ok(Reply::Printed { text: self.record.take_printed() })
            }
            Request::Printed => Ok(Reply::Printed { text: self.record.take_printed() }),
            Request::Now => Ok(Reply::Time { milliseconds: self.now() }),
            Request::MemInfo => Ok(Reply::Memory { free: self.free_memory(), total: self.parts.gpu.dram.size.0 }),
            Request::Prefetch { start, size, to_device } => {
                self.parts.device.prefetch(Addr(start), Bytes(size), to_device);
                Ok(Reply::Done)
            }
            Request::CreateTexture { image, sampling } => self.texture(image, &sampling),
            Request::CreateSurface { image } => {
                let made = image_of(&image)
                    .and_then(|image| self.parts.device.create_surface(&image).map_err(|e| invalid(&e)));
                Ok(number(made?))
            }
            Request::DestroyObject { handle } => {
                self.parts.device.destroy_object(handle).map_err(|e| invalid(&e))?;
                Ok(Reply::Done)
            }
            Request::Bind { reference, handle } => {
                self.parts.device.bind(Addr(reference), handle).map_err(|e| invalid(&e))?;
                Ok(Reply::Done)
            }
            Request::Room { start } => Ok(number(self.allocations.room(start).unwrap_or(u64::MAX))),
            Request::Advise { start, size, advice, to_device } => {
                let advice = code::advice_of(advice, to_device).ok_or_else(|| refuse(code::INVALID_VALUE, ""))?;
                self.parts.device.advise(Addr(start), Bytes(size), advice);
                Ok(Reply::Done)
            }
            Request::Hello { .. } | Request::Loaded | Request::CopyIn { .. } | Request::CopyOut { .. } => {
                Err(refuse(code::INVALID_VALUE, "a message at the wrong time"))
            }
        }
    }

    fn module(&mut self, number: u32) -> Result<ModuleId, Reply> {
        let loaded = self.modules.loaded(number, &mut self.parts.device);
        loaded.map_err(|e| refuse(code::NO_KERNEL_IMAGE, e.to_string()))
    }

    fn kernel(&mut self, number: u32, name: &str) -> Answer {
        let module = self.module(number)?;
        let device = &mut self.parts.device;
        let missing = |e: HostError| refuse(code::INVALID_FUNCTION, e.to_string());
        let shape = device.kernel(module, name).map_err(missing)?;
        let needs = device.resources(module, name).map_err(missing)?;
        let max_threads = needs.max_threads.unwrap_or(THREADS_PER_BLOCK).min(THREADS_PER_BLOCK) as u32;
        let kernel = Kernel {
            params: shape.params.iter().map(|p| Param { offset: p.offset, size: p.size }).collect(),
            registers: needs.registers.min(most_registers(&self.parts.gpu, max_threads)),
            shared: needs.shared.0,
            local: needs.local.0,
            max_threads,
            architecture: self.modules.architecture(number),
        };
        Ok(Reply::Kernel { kernel })
    }

    fn launch(&mut self, launch: Launch) -> Answer {
        let most = self.parts.gpu.shared.per_cta.0;
        if u64::from(launch.shared) > most {
            let reason = format!(
                "kernel `{}`: {} bytes of shared memory; a block has up to {most}",
                launch.kernel, launch.shared
            );
            return Err(refuse(code::INVALID_VALUE, reason));
        }
        self.launches += 1;
        self.choose(self.parts.selection.includes(self.launches, &launch.kernel));
        if self.parts.watched && !self.skipping {
            for (start, size) in self.allocations.seen_by_host(self.parts.paged) {
                self.parts.device.touched_by_host(Addr(start), Bytes(size));
            }
        }
        match self.parts.device.run(launch) {
            Ok(()) => {
                for (launch, report) in self.parts.device.take_launches() {
                    self.cycles += report.cycles.unwrap_or(0);
                    self.record.launched(KernelRun::new(&launch, &report));
                }
                Ok(Reply::Launched { printed: self.record.has_printed() })
            }
            Err(HostError::Program(text)) => {
                self.record.failed(text.clone());
                Err(Reply::Refused { code: code::failure(&text), sticky: true, message: text })
            }
            Err(error) => Err(refuse(code::INVALID_CONFIGURATION, error.to_string())),
        }
    }

    fn occupancy(&mut self, module: u32, name: &str, threads: u32, shared: u64) -> Answer {
        let module = self.module(module)?;
        let needs = self.parts.device.resources(module, name);
        let needs = needs.map_err(|e| refuse(code::INVALID_FUNCTION, e.to_string()))?;
        if self.machine.is_none() {
            let machine = Machine::new(self.parts.gpu.clone());
            self.machine = Some(machine.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?);
        }
        let registers = needs.registers.min(most_registers(&self.parts.gpu, threads));
        let needs = KernelNeeds { threads, registers, shared: needs.shared.0.saturating_add(shared) };
        // What does not fit at all fits zero times.
        let fit = self.machine.as_ref().map_or(0, |machine| machine.occupancy(&needs).unwrap_or(0));
        Ok(number(u64::from(fit)))
    }

    /// What device memory has room for. Managed memory may be larger than that, pinned memory is the host's.
    fn free_memory(&self) -> u64 {
        self.parts.gpu.dram.size.0.saturating_sub(self.allocations.on_device())
    }

    fn alloc(&mut self, size: u64, kind: u8) -> Answer {
        let Some(name) = self.allocations.next_name(kind) else {
            return Err(refuse(code::INVALID_VALUE, format!("memory of kind {kind}")));
        };
        if kind != kind::MANAGED && kind != kind::PINNED && size > self.free_memory() {
            return Err(refuse(code::MEMORY_ALLOCATION, ""));
        }
        let device = &mut self.parts.device;
        let start = match kind {
            kind::MANAGED => device.alloc_managed(&name, Bytes(size)),
            kind::PINNED => device.alloc_pinned(&name, Bytes(size)),
            _ => device.alloc_on_device(&name, Bytes(size)),
        };
        // Programs try how much they can get: that is no error to shout about.
        let start = start.map_err(|_| refuse(code::MEMORY_ALLOCATION, ""))?;
        self.allocations.made(name, start.0, size, kind);
        Ok(number(start.0))
    }

    fn free(&mut self, start: u64) -> Answer {
        self.parts.device.free(Addr(start)).map_err(|e| invalid(&e))?;
        self.allocations.freed(start);
        Ok(Reply::Done)
    }

    fn texture(&mut self, image: protocol::Image, sampling: &Sampling) -> Answer {
        let address = sampling.address.map(|mode| match mode {
            0 => AddressMode::Wrap,
            2 => AddressMode::Mirror,
            3 => AddressMode::Border,
            _ => AddressMode::Clamp,
        });
        let texture = Texture {
            image: image_of(&image)?,
            address,
            linear: sampling.linear,
            normalized: sampling.normalized,
            as_float: sampling.as_float,
            border: sampling.border.map(f32::from_bits),
        };
        Ok(number(self.parts.device.create_texture(&texture).map_err(|e| invalid(&e))?))
    }

    /// Milliseconds since the beginning: of the machine, or of the host if the machine has no time.
    fn now(&self) -> f64 {
        if self.parts.timed {
            let cycles = self.cycles + self.parts.device.copies().cycles.unwrap_or(0);
            cycles as f64 / self.parts.gpu.clock.core.khz() as f64
        } else {
            self.began.elapsed().as_secs_f64() * 1e3
        }
    }
}

fn number(value: u64) -> Reply {
    Reply::Number { value }
}

fn invalid(error: &HostError) -> Reply {
    refuse(code::INVALID_VALUE, error.to_string())
}

/// An image as the device knows it.
fn image_of(image: &protocol::Image) -> Result<Image, Reply> {
    let channel = match image.kind {
        0 => Channel::Signed,
        1 => Channel::Unsigned,
        2 => Channel::Float,
        other => return Err(refuse(code::INVALID_VALUE, format!("texels of kind {other}"))),
    };
    Ok(Image {
        start: Addr(image.start),
        width: image.width,
        height: image.height,
        depth: image.depth,
        pitch: image.pitch,
        slice: image.slice,
        format: Format { channel, bits: image.bits, channels: image.channels },
    })
}
