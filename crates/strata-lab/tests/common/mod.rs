//! An engine that stores memory and records launches: enough of a device to test everything around it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use strata_core::{Addr, Bytes, Counts, OpClass};
use strata_host::{
    AllocFlags, Allocation, AllocationId, Engine, HostError, KernelShape, Launch, LaunchReport, ModuleId, ParamShape,
    SymbolAddress,
};

/// What the engine was told, seen from outside.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) launches: Vec<Launch>,
    pub(crate) allocations: Vec<Allocation>,
}

/// One module shape for all: a kernel `double(ptr, u32)` that doubles the first bytes of a buffer, a kernel `crash()`
/// that fails, and a variable `table` of eight bytes.
pub(crate) struct RecordingEngine {
    pub(crate) record: Arc<Mutex<Record>>,
    memory: BTreeMap<u64, Vec<u8>>,
    next: u64,
}

const TABLE: u64 = 0x100;

impl RecordingEngine {
    pub(crate) fn new() -> (Self, Arc<Mutex<Record>>) {
        let record = Arc::<Mutex<Record>>::default();
        let memory = BTreeMap::from([(TABLE, vec![0; 8])]);
        (Self { record: Arc::clone(&record), memory, next: 0x1_0000 }, record)
    }

    fn place(&self, start: Addr, len: usize) -> Result<(u64, usize), HostError> {
        let outside = || HostError::Call { call: "copy", reason: format!("{start} is outside every allocation") };
        let (&base, bytes) = self.memory.range(..=start.0).next_back().ok_or_else(outside)?;
        let offset = (start.0 - base) as usize;
        if offset + len > bytes.len() { Err(outside()) } else { Ok((base, offset)) }
    }
}

impl Engine for RecordingEngine {
    fn load_module(&mut self, name: &str, text: &str) -> Result<ModuleId, HostError> {
        if text.contains("syntax error") {
            return Err(HostError::Module(format!("error: {name} does not parse")));
        }
        Ok(ModuleId(0))
    }

    fn kernel(&self, _: ModuleId, name: &str) -> Result<KernelShape, HostError> {
        let params = match name {
            "double" => vec![ParamShape { offset: 0, size: 8 }, ParamShape { offset: 8, size: 4 }],
            "crash" => Vec::new(),
            _ => return Err(HostError::Module(format!("there is no kernel `{name}`"))),
        };
        Ok(KernelShape { name: name.into(), params })
    }

    fn symbol(&self, _: ModuleId, name: &str) -> Result<SymbolAddress, HostError> {
        if name == "table" {
            return Ok(SymbolAddress { start: Addr(TABLE), size: Bytes(8) });
        }
        Err(HostError::Module(format!("there is no variable `{name}`")))
    }

    fn alloc(&mut self, size: Bytes, flags: AllocFlags, name: &str) -> Result<Allocation, HostError> {
        let start = Addr(self.next);
        self.next += size.0.next_multiple_of(512) + 512;
        // Never zeros by chance: what a program does not write must show.
        self.memory.insert(start.0, vec![0xcd; size.0 as usize]);
        let mut record = self.record.lock().expect("one thread");
        let id = AllocationId(record.allocations.len() as u32);
        let allocation = Allocation { id, start, size, name: name.into(), flags };
        record.allocations.push(allocation.clone());
        Ok(allocation)
    }

    fn free(&mut self, start: Addr) -> Result<AllocationId, HostError> {
        self.memory.remove(&start.0);
        Ok(AllocationId(0))
    }

    fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError> {
        let (base, offset) = self.place(start, data.len())?;
        self.memory.get_mut(&base).expect("placed")[offset..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), HostError> {
        let (base, offset) = self.place(start, data.len())?;
        data.copy_from_slice(&self.memory[&base][offset..][..data.len()]);
        Ok(())
    }

    fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError> {
        self.write(start, &vec![byte; size.0 as usize])
    }

    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        if launch.kernel == "crash" {
            return Err(HostError::Program(
                "kernel `crash`, line 7, block (0,0,0), thread (3,0,0): null address".into(),
            ));
        }
        let start = Addr(u64::from_le_bytes(launch.params[..8].try_into().expect("eight bytes")));
        let mut bytes = vec![0; u32::from_le_bytes(launch.params[8..12].try_into().expect("four bytes")) as usize];
        self.read(start, &mut bytes)?;
        for byte in &mut bytes {
            *byte = byte.wrapping_mul(2);
        }
        self.write(start, &bytes)?;
        self.record.lock().expect("one thread").launches.push(launch.clone());
        let mut counts = Counts::default();
        counts.warp_by_class[OpClass::Int as usize] = launch.grid.count();
        counts.thread_by_class[OpClass::Int as usize] = launch.grid.count() * launch.block.count();
        Ok(LaunchReport { counts, ..LaunchReport::default() })
    }
}
