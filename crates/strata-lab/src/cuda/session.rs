//! One process of a program: its device, its modules, its questions.

use super::modules::Modules;
use super::{Record, code, gpu};
use crate::result::KernelRun;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;
use strata_core::{Addr, Bytes, Dim3};
use strata_cudart::protocol::{Kernel, Param, Region, Reply, Request, VERSION, kind, receive, send};
use strata_emu::Capacity;
use strata_host::{Device, HostError, Launch, ModuleId};
use strata_sim::config::GpuConfig;
use strata_sim::{KernelNeeds, Machine};

/// The most threads of a block (CUDA programming guide, all compute capabilities).
const THREADS_PER_BLOCK: u64 = 1024;

/// What a session is made of.
pub(super) struct Parts {
    pub(super) device: Device,
    pub(super) capacity: Capacity,
    /// Managed memory.
    pub(super) memory: Arc<File>,
    pub(super) gpu: GpuConfig,
    /// The machine has time.
    pub(super) timed: bool,
    /// Somebody looks at what memory holds, and must be told what the host may have changed.
    pub(super) watched: bool,
    pub(super) program: String,
}

struct Session {
    parts: Parts,
    modules: Modules,
    record: Arc<Record>,
    /// Live memory by first byte.
    memory: BTreeMap<u64, (u64, u8)>,
    made: [u32; 3],
    /// Core cycles of all launches.
    cycles: u64,
    began: Instant,
    /// Made when somebody asks what fits on an SM.
    machine: Option<Machine>,
}

type Answer = Result<Reply, Reply>;

fn refuse(code: u32, message: impl Into<String>) -> Reply {
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
            send(&mut stream, &refuse(code::INITIALIZATION, message.clone()))?;
            record.failed(message);
            return Ok(());
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
    send(&mut stream, &welcome)?;
    let mut session = Session {
        modules: Modules::new(parts.program.clone()),
        parts,
        record,
        memory: BTreeMap::new(),
        made: [0; 3],
        cycles: 0,
        began: Instant::now(),
        machine: None,
    };
    let served = session.serve(&mut stream);
    session.record.ended(&session.parts.device.copies(), session.parts.device.most_allocated());
    served
}

impl Session {
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
                }
                Ok(Reply::Done)
            }
            Request::Synchronize => {
                self.parts.device.synchronize();
                Ok(Reply::Printed { text: self.record.take_printed() })
            }
            Request::Now => Ok(Reply::Time { milliseconds: self.now() }),
            Request::MemInfo => Ok(Reply::Memory { free: self.free_memory(), total: self.parts.gpu.dram.size.0 }),
            Request::Prefetch { start, size, to_device } => {
                self.parts.device.prefetch(Addr(start), Bytes(size), to_device);
                Ok(Reply::Done)
            }
            Request::Advise { start, size, advice, to_device } => {
                let advice = code::advice_of(advice, to_device).ok_or_else(|| refuse(code::INVALID_VALUE, ""))?;
                self.parts.device.advise(Addr(start), Bytes(size), advice);
                Ok(Reply::Done)
            }
            Request::Hello { .. } | Request::CopyIn { .. } | Request::CopyOut { .. } => {
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
        let kernel = Kernel {
            params: shape.params.iter().map(|p| Param { offset: p.offset, size: p.size }).collect(),
            registers: needs.registers,
            shared: needs.shared.0,
            local: needs.local.0,
            max_threads: needs.max_threads.unwrap_or(THREADS_PER_BLOCK).min(THREADS_PER_BLOCK) as u32,
            architecture: self.modules.architecture(number),
        };
        Ok(Reply::Kernel { kernel })
    }

    fn launch(&mut self, launch: Launch) -> Answer {
        if self.parts.watched {
            for (&start, &(size, kind)) in &self.memory {
                if kind != kind::DEVICE {
                    self.parts.device.touched_by_host(Addr(start), Bytes(size));
                }
            }
        }
        match self.parts.device.run(launch) {
            Ok(()) => {
                for (launch, report) in self.parts.device.take_launches() {
                    self.cycles += report.cycles.unwrap_or(0);
                    self.record.launched(KernelRun::new(&launch, &report));
                }
                Ok(Reply::Done)
            }
            Err(HostError::Program(text)) => {
                let (code, sticky) = code::failure(&text);
                self.record.failed(text.clone());
                Err(Reply::Refused { code, sticky, message: text })
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
        let needs = KernelNeeds { threads, registers: needs.registers, shared: needs.shared.0.saturating_add(shared) };
        // What does not fit at all fits zero times.
        let fit = self.machine.as_ref().map_or(0, |machine| machine.occupancy(&needs).unwrap_or(0));
        Ok(number(u64::from(fit)))
    }

    /// What device memory has room for. Managed memory may be larger than that, pinned memory is the host's.
    fn free_memory(&self) -> u64 {
        let used: u64 = self.memory.values().filter(|(_, k)| *k != kind::PINNED).map(|(size, _)| size).sum();
        self.parts.gpu.dram.size.0.saturating_sub(used)
    }

    fn alloc(&mut self, size: u64, kind: u8) -> Answer {
        if kind == kind::DEVICE && size > self.free_memory() {
            return Err(refuse(code::MEMORY_ALLOCATION, ""));
        }
        let (label, made) = match kind {
            kind::DEVICE => ("device", &mut self.made[0]),
            kind::MANAGED => ("managed", &mut self.made[1]),
            kind::PINNED => ("pinned", &mut self.made[2]),
            _ => return Err(refuse(code::INVALID_VALUE, format!("memory of kind {kind}"))),
        };
        // Nobody says what an allocation is called: its number among those of its kind is the same in every run.
        let name = format!("{label}{made}");
        let device = &mut self.parts.device;
        let start = match kind {
            kind::MANAGED => device.alloc_managed(&name, Bytes(size)),
            kind::PINNED => device.alloc_pinned(&name, Bytes(size)),
            _ => device.alloc(&name, Bytes(size)),
        };
        // Programs try how much they can get: that is no error to shout about.
        let start = start.map_err(|_| refuse(code::MEMORY_ALLOCATION, ""))?;
        *made += 1;
        self.memory.insert(start.0, (size, kind));
        Ok(number(start.0))
    }

    fn free(&mut self, start: u64) -> Answer {
        let freed = self.parts.device.free(Addr(start));
        freed.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
        self.memory.remove(&start);
        Ok(Reply::Done)
    }

    /// The bytes must be taken from the stream whatever becomes of them.
    fn copy_in(&mut self, stream: &mut UnixStream, to: Region) -> io::Result<Answer> {
        let size = to.bytes().ok_or_else(|| io::Error::other("a copy larger than memory"))?;
        let mut data = Vec::new();
        stream.take(size).read_to_end(&mut data)?;
        if (data.len() as u64) < size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.put(to, &data))
    }

    fn put(&mut self, to: Region, data: &[u8]) -> Answer {
        let mut rest = data;
        for (start, size) in pieces(to)? {
            let (piece, after) = rest.split_at_checked(size as usize).unwrap_or((rest, &[]));
            let copied = self.parts.device.copy_in(Addr(start), piece);
            copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
            rest = after;
        }
        Ok(Reply::Done)
    }

    fn copy_out(&mut self, from: Region) -> Result<Vec<u8>, Reply> {
        let mut data = Vec::new();
        for (start, size) in pieces(from)? {
            let at = data.len();
            self.check(start, size)?;
            data.resize(at + size as usize, 0);
            let copied = self.parts.device.copy_out(Addr(start), &mut data[at..]);
            copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
        }
        Ok(data)
    }

    /// Sizes are checked before memory is taken for them: no allocation is larger than the device.
    fn check(&self, start: u64, size: u64) -> Result<(), Reply> {
        let capacity = &self.parts.capacity;
        if size > capacity.device.0 + capacity.managed.0 {
            return Err(refuse(code::INVALID_VALUE, format!("a copy of {size} bytes at {}", Addr(start))));
        }
        Ok(())
    }

    fn copy_on(&mut self, to: Region, from: Region) -> Answer {
        let (to_pieces, from_pieces): (Vec<_>, Vec<_>) = (pieces(to)?.collect(), pieces(from)?.collect());
        if let ([(to, size)], [(from, same)]) = (&to_pieces[..], &from_pieces[..])
            && size == same
        {
            self.check(*from, *size)?;
            let copied = self.parts.device.copy_on_device(Addr(*to), Addr(*from), Bytes(*size));
            copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
            return Ok(Reply::Done);
        }
        // Different gaps on both sides: row by row.
        for slice in 0..to.slices {
            for row in 0..to.rows {
                let at = |region: &Region| {
                    let offset = slice.wrapping_mul(region.slice_pitch).wrapping_add(row.wrapping_mul(region.pitch));
                    Addr(region.start.wrapping_add(offset))
                };
                self.check(to.start, to.width)?;
                let copied = self.parts.device.copy_on_device(at(&to), at(&from), Bytes(to.width));
                copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
            }
        }
        Ok(Reply::Done)
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

fn pieces(region: Region) -> Result<impl Iterator<Item = (u64, u64)>, Reply> {
    region.pieces().ok_or_else(|| refuse(code::INVALID_VALUE, "a region larger than memory"))
}
