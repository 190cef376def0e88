//! What the host does, in program order: the one vocabulary of devices, engines, machines and mechanisms.

use crate::{Addr, Advice, Bytes, Dim3};
use std::sync::Arc;

/// Names an allocation; never reused in one run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AllocationId(pub u32);

/// What kind of memory was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AllocFlags {
    /// Managed (unified) memory: lives in the managed arena, aligned to 2 MB.
    pub managed: bool,
    /// Device memory even where all other allocations are managed: the program says that it stays there.
    pub on_device: bool,
    /// Memory of the host that the device can address (`cudaMallocHost`); lives in the managed arena, too.
    pub pinned: bool,
}

/// Memory given to the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// Its name for mechanisms and statistics.
    pub id: AllocationId,
    /// Its first byte.
    pub start: Addr,
    /// Size as asked for.
    pub size: Bytes,
    /// What the program calls it (`weights`, `A`), for reports.
    pub name: String,
    /// Kind.
    pub flags: AllocFlags,
}

impl Allocation {
    /// Plain device memory.
    pub fn on_device(id: u32, name: &str, start: Addr, size: Bytes) -> Self {
        Self { id: AllocationId(id), start, size, name: name.to_owned(), flags: AllocFlags::default() }
    }

    /// True for memory that the program allocated on the device, managed or not: no variable of a module, and not the host's.
    pub fn is_on_heap(&self) -> bool {
        self.id != AllocationId(u32::MAX) && !self.flags.pinned
    }

    /// A managed variable of a module: no allocation of the program's, so it has no number of its own and is never freed.
    pub fn of_variable(name: &str, start: Addr, size: Bytes) -> Self {
        let flags = AllocFlags { managed: true, ..AllocFlags::default() };
        Self { flags, ..Self::on_device(u32::MAX, name, start, size) }
    }
}

/// Something the host did. Each is told after it took effect; [`HostEvent::LaunchBegin`] before the kernel runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the calls")]
pub enum HostEvent {
    /// A module was loaded. Its PTX is text: who wants to know what is in it parses it.
    ModuleLoaded {
        module: u32,
        name: String,
        text: Arc<str>,
    },
    Alloc(Allocation),
    /// Memory was given back; `size` is what that frees of the device, nothing if the memory is the host's.
    Free {
        id: AllocationId,
        start: Addr,
        size: Bytes,
    },
    CopyIn {
        start: Addr,
        size: Bytes,
    },
    CopyOut {
        start: Addr,
        size: Bytes,
    },
    /// Memory was set, or the host wrote to what it shares with the device.
    Memset {
        start: Addr,
        size: Bytes,
    },
    Prefetch {
        start: Addr,
        size: Bytes,
        to_device: bool,
    },
    Advise {
        start: Addr,
        size: Bytes,
        advice: Advice,
    },
    LaunchBegin {
        module: u32,
        kernel: String,
        grid: Dim3,
        block: Dim3,
    },
    LaunchEnd {
        kernel: String,
    },
    /// The host waits for the device.
    Sync,
    /// The program will make so many launches in all.
    Announce {
        launches: u64,
    },
    /// What follows is executed and not timed, up to [`HostEvent::Measure`].
    Prepare,
    Measure,
}
