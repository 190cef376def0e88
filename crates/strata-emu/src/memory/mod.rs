//! Device memory: real bytes behind deterministic device addresses.
//!
//! One reservation of host address space backs the whole device, so that a device address becomes a host pointer with one
//! subtraction and one addition. The operating system provides pages when they are first touched; a device with 32 GiB of
//! memory costs nothing until a program uses it.
//!
//! The reservation has three parts, at fixed device addresses: ordinary allocations, managed allocations, and the local
//! memory of resident warps. Every allocation is known to the [`Table`], which answers the question behind each bounds
//! check: which allocation, if any, does this address belong to?
//!
//! Invariant: [`Memory`] never hands out a host pointer to bytes outside its reservation; callers check an address range
//! with [`Memory::range_of`] (or hold a range it returned) before they dereference.

mod table;

pub use table::{AllocationRecord, Nearest};
use table::{Kind, Table};

#[cfg(target_os = "linux")]
use memmap2::UncheckedAdvice;
use memmap2::{MmapMut, MmapOptions};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use strata_core::{Addr, Bytes, Image, LINE_BYTES, LineAddr, Texture};

/// First address of ordinary device memory, unless a device is told otherwise.
pub const DEVICE_BASE: u64 = 0x7f00_0000_0000;
/// Generic addresses of shared memory: offset 0 of a CTA's shared memory appears here.
pub const SHARED_WINDOW: u64 = 0x0100_0000_0000;
/// Generic addresses of local memory: offset 0 of a thread's local memory appears here.
pub const LOCAL_WINDOW: u64 = 0x0200_0000_0000;
/// Size of either window.
pub const WINDOW_BYTES: u64 = 1 << 24;
/// Alignment of ordinary allocations, as `cudaMalloc` gives.
pub const DEVICE_ALIGN: u64 = 512;
/// Alignment of managed allocations: one 2 MB tree of the unified-memory driver.
pub const MANAGED_ALIGN: u64 = 2 << 20;

/// Zeros in ranges smaller than this are written; larger ones are left to the operating system.
#[cfg(target_os = "linux")]
const WORTH_RETURNING: u64 = 1 << 20;
/// A multiple of the page size of every machine.
#[cfg(target_os = "linux")]
const PAGE_BYTES: u64 = 1 << 16;

/// How much memory a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// First address of ordinary device memory; managed memory follows it.
    pub base: Addr,
    /// Ordinary device memory.
    pub device: Bytes,
    /// Managed (unified) memory.
    pub managed: Bytes,
    /// Local memory of all resident warps together.
    pub local: Bytes,
    /// What stays free behind every allocation, so that an index too large does not land in the next one.
    pub guard: Bytes,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            base: Addr(DEVICE_BASE),
            device: Bytes(32 << 30),
            managed: Bytes(32 << 30),
            local: Bytes(8 << 30),
            guard: Bytes(0),
        }
    }
}

impl Capacity {
    /// Where managed memory lies in a device of this capacity.
    pub fn managed_range(&self) -> Range<Addr> {
        let base = self.base.0 + self.device.0;
        Addr(base.next_multiple_of(MANAGED_ALIGN))..Addr(base + self.managed.0)
    }
}

/// A memory call that cannot be served.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MemoryError {
    /// The host refused the address space.
    #[error("cannot reserve {0} of host address space for device memory: {1}; give the device less memory")]
    Reserve(Bytes, String),
    /// The arena is full.
    #[error("out of device memory: {asked} asked for, {free} of {capacity} free")]
    Full {
        /// Size of the request.
        asked: Bytes,
        /// What is left, in pieces.
        free: Bytes,
        /// Size of the arena.
        capacity: Bytes,
    },
    /// `free` of something that is no allocation's start.
    #[error("{0} is not the start of a live allocation{1}")]
    NotAllocated(Addr, String),
    /// A texture or surface that cannot be.
    #[error("{0}")]
    Image(String),
    /// Managed memory cannot be shared with another process.
    #[error("cannot share managed memory with the program: {0}")]
    Share(String),
    /// A host copy leaves its allocation.
    #[error("the range {start}..{end} is not inside one live allocation{nearest}")]
    OutOfRange {
        /// First byte of the copy.
        start: Addr,
        /// One past the last byte.
        end: Addr,
        /// Which allocation is near, as text.
        nearest: String,
    },
}

/// The bytes of one device.
pub struct Memory {
    map: MmapMut,
    capacity: Capacity,
    table: Mutex<Table>,
    /// Textures and surfaces, by handle; destroyed ones leave their place empty, so that handles are never used again.
    objects: Vec<Option<Object>>,
    /// Managed memory belongs to a file that another process maps too.
    shared: bool,
}

/// The first handle of textures and surfaces; a number that is no address.
pub const OBJECT_BASE: u64 = 0x0400_0000_0000;

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Object {
    /// For `tex`, `tld4`, `txq`.
    Texture(Texture),
    /// For `suld`, `sust`, `suq`.
    Surface(Image),
}

impl Memory {
    /// Reserves address space for a device of that capacity.
    pub fn new(capacity: Capacity) -> Result<Self, MemoryError> {
        let total = capacity.device.0 + capacity.managed.0 + capacity.local.0;
        let map = MmapOptions::new()
            .len(total as usize)
            .no_reserve_swap()
            .map_anon()
            .map_err(|e| MemoryError::Reserve(Bytes(total), e.to_string()))?;
        // Lanes a row of a matrix apart touch a page each: huge pages spare most of the translations and page faults. It
        // is only advice; a system that does not take it is slower, not wrong.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let (base, managed) = (capacity.base.0, capacity.managed_range());
        let table = Table::new(base..base + capacity.device.0, managed.start.0..managed.end.0, capacity.guard);
        Ok(Self { map, capacity, table: Mutex::new(table), objects: Vec::new(), shared: false })
    }

    /// The same with managed memory in `file`, which another process maps at the addresses of
    /// [`Capacity::managed_range`]: what one writes the other sees.
    #[cfg(target_os = "linux")]
    pub fn with_managed_in(capacity: Capacity, file: &std::fs::File) -> Result<Self, MemoryError> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let mut memory = Self::new(capacity)?;
        let managed = capacity.managed_range();
        let len = managed.end.0 - managed.start.0;
        file.set_len(len).map_err(|e| MemoryError::Share(e.to_string()))?;
        let at = memory.map.as_mut_ptr().wrapping_add((managed.start.0 - capacity.base.0) as usize);
        // SAFETY: the range lies inside our own reservation, whose pages nobody has used yet; `map` unmaps it with the rest.
        let mapped = unsafe {
            let (readable, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
            mmap(at.cast(), len as usize, readable, flags | MapFlags::NORESERVE, file, 0)
        };
        mapped.map_err(|e| MemoryError::Share(e.to_string()))?;
        memory.shared = true;
        Ok(memory)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates ordinary or managed memory, zero-filled only the first time its bytes are used.
    pub fn alloc(&self, size: Bytes, managed: bool, name: &str) -> Result<AllocationRecord, MemoryError> {
        let kind = if managed { Kind::Managed } else { Kind::Device };
        self.table().alloc(size, kind, name)
    }

    /// Gives an allocation back; its record is returned and remembered to explain later misuse.
    pub fn free(&self, start: Addr) -> Result<AllocationRecord, MemoryError> {
        self.table().free(start)
    }

    /// Makes a texture of an image in one live allocation; gives the handle that kernels know it by.
    pub fn create_texture(&mut self, texture: &Texture) -> Result<u64, MemoryError> {
        let bytes = texture.check().map_err(MemoryError::Image)?;
        self.add_object(Object::Texture(*texture), texture.image.start, bytes)
    }

    /// Makes a surface of an image in one live allocation.
    pub fn create_surface(&mut self, image: &Image) -> Result<u64, MemoryError> {
        let bytes = image.bytes().map_err(MemoryError::Image)?;
        self.add_object(Object::Surface(*image), image.start, bytes)
    }

    fn add_object(&mut self, object: Object, start: Addr, bytes: Bytes) -> Result<u64, MemoryError> {
        self.checked(start, bytes.0)?;
        self.objects.push(Some(object));
        Ok(OBJECT_BASE + self.objects.len() as u64 - 1)
    }

    /// Forgets a texture or surface; the memory of its image stays.
    pub fn destroy_object(&mut self, handle: u64) -> Result<(), MemoryError> {
        let place = handle.checked_sub(OBJECT_BASE).and_then(|n| self.objects.get_mut(usize::try_from(n).ok()?));
        match place.and_then(Option::take) {
            Some(_) => Ok(()),
            None => Err(MemoryError::Image(format!("{handle:#x} is no texture or surface"))),
        }
    }

    /// What a handle stands for.
    pub(crate) fn object(&self, handle: u64) -> Option<&Object> {
        self.objects.get(usize::try_from(handle.checked_sub(OBJECT_BASE)?).ok()?)?.as_ref()
    }

    /// The live allocation that holds `addr`, as first byte and size.
    pub fn range_of(&self, addr: Addr) -> Option<(Addr, Bytes)> {
        self.table().find(addr).map(|r| (r.start, r.size))
    }

    /// The bytes at `start` as a program reads them that goes outside its allocations: what lies there in device memory, zeros in
    /// the pages before and behind it, nothing further away, where hardware has no memory either.
    pub(crate) fn stray(&self, start: Addr, data: &mut [u8]) -> bool {
        const PAGE: u64 = 2 << 20;
        let (base, end) = (self.capacity.base.0, self.capacity.base.0 + self.map.len() as u64);
        let last = start.0.saturating_add(data.len() as u64);
        data.fill(0);
        if start.0 >= base && last <= end {
            let from = self.host_origin().wrapping_add(start.0 as usize);
            // SAFETY: the range lies in the reservation; `data` is a distinct Rust slice.
            unsafe { std::ptr::copy_nonoverlapping(from, data.as_mut_ptr(), data.len()) };
            return true;
        }
        start.0 >= base.saturating_sub(PAGE) && last <= end.saturating_add(PAGE)
    }

    /// What can be said of an address that is in no live allocation.
    pub fn explain(&self, addr: Addr) -> Nearest {
        self.table().explain(addr)
    }

    /// All live allocations in address order.
    pub fn allocations(&self) -> Vec<AllocationRecord> {
        self.table().live().cloned().collect()
    }

    /// First address of device memory.
    pub(crate) fn base(&self) -> Addr {
        self.capacity.base
    }

    /// First address of local memory.
    pub fn local_base(&self) -> Addr {
        Addr(self.capacity.base.0 + self.capacity.device.0 + self.capacity.managed.0)
    }

    /// Size of local memory.
    pub fn local_capacity(&self) -> Bytes {
        self.capacity.local
    }

    /// The address that device address 0 would have on the host: adding a checked device address gives a host pointer.
    pub(crate) fn host_origin(&self) -> *mut u8 {
        self.map.as_ptr().cast_mut().wrapping_sub(self.capacity.base.0 as usize)
    }

    /// Host pointer to `size` bytes, if they lie in one live allocation.
    fn checked(&self, start: Addr, size: u64) -> Result<*mut u8, MemoryError> {
        let found = self.range_of(start);
        match found {
            Some((first, bytes)) if size <= bytes.0 - (start.0 - first.0) => {
                Ok(self.host_origin().wrapping_add(start.0 as usize))
            }
            _ => Err(MemoryError::OutOfRange {
                start,
                end: Addr(start.0.saturating_add(size)),
                nearest: self.explain(start).to_string(),
            }),
        }
    }

    /// Writes bytes inside one allocation.
    pub fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), MemoryError> {
        if data.is_empty() {
            return Ok(());
        }
        let to = self.checked(start, data.len() as u64)?;
        // SAFETY: `checked` proved that the range lies in the reservation; `&mut self` excludes running kernels.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        Ok(())
    }

    /// Reads bytes inside one allocation.
    pub fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), MemoryError> {
        if data.is_empty() {
            return Ok(());
        }
        let from = self.checked(start, data.len() as u64)?;
        // SAFETY: as in `write`; `data` is a distinct Rust slice.
        unsafe { std::ptr::copy_nonoverlapping(from, data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    /// Reads a whole line, whatever lies there: what no allocation covers is zero or left over. Leaves `out` alone if the
    /// line is no device memory.
    pub fn read_line(&self, line: LineAddr, out: &mut [u8; LINE_BYTES as usize]) {
        let offset = line.addr().0.wrapping_sub(self.capacity.base.0);
        let inside = offset.checked_add(LINE_BYTES).is_some_and(|end| end <= self.map.len() as u64);
        if inside {
            // SAFETY: the line lies in the reservation; `out` is a distinct Rust array.
            unsafe {
                let from = self.map.as_ptr().add(offset as usize);
                std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len());
            }
        }
    }

    /// Sets bytes inside one allocation.
    pub fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), MemoryError> {
        if size.0 == 0 {
            return Ok(());
        }
        let to = self.checked(start, size.0)?;
        let returned = if byte == 0 { self.return_pages(start, size) } else { 0..0 };
        // SAFETY: as in `write`; the pages in between are zeros already.
        unsafe {
            std::ptr::write_bytes(to, byte, returned.start as usize);
            std::ptr::write_bytes(to.add(returned.end as usize), byte, (size.0 - returned.end) as usize);
        }
        Ok(())
    }

    /// Gives whole pages of a large range back to the operating system, which provides zeros when they are next used:
    /// zeros do not cost memory. Returns the offsets in the range that are zeros now.
    fn return_pages(&mut self, start: Addr, size: Bytes) -> Range<u64> {
        #[cfg(target_os = "linux")]
        if size.0 >= WORTH_RETURNING && !(self.shared && start >= self.capacity.managed_range().start) {
            let first = start.0.next_multiple_of(PAGE_BYTES);
            let end = (start.0 + size.0) / PAGE_BYTES * PAGE_BYTES;
            let (offset, len) = ((first - self.capacity.base.0) as usize, (end - first) as usize);
            // SAFETY: the pages are private and anonymous (shared ones were left out), and `&mut self` proves that nobody holds a reference.
            if unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, offset, len) }.is_ok() {
                return first - start.0..end - start.0;
            }
        }
        let _ = (start, size);
        0..0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Memory {
        Memory::new(small_capacity()).unwrap()
    }

    fn small_capacity() -> Capacity {
        Capacity { device: Bytes(1 << 20), managed: Bytes(8 << 20), local: Bytes(1 << 20), ..Capacity::default() }
    }

    #[test]
    fn nothing_lies_right_behind_an_allocation_that_is_guarded() {
        let m = Memory::new(Capacity { guard: Bytes(4096), ..small_capacity() }).unwrap();
        let a = m.alloc(Bytes(1024), false, "a").unwrap();
        let b = m.alloc(Bytes(1024), false, "b").unwrap();
        assert_eq!(b.start.0 - a.start.0, 1024 + 4096);
        assert_eq!(
            m.explain(a.start.offset(1024)).to_string(),
            format!("; just past the end of `a` (1.0 KiB at {})", a.start)
        );
        m.free(a.start).unwrap();
        assert_eq!(m.alloc(Bytes(1000), false, "c").unwrap().start, a.start);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn managed_memory_in_a_file_is_seen_by_who_else_has_the_file() {
        use std::os::unix::fs::FileExt;
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = std::fs::File::from(rustix::fs::memfd_create("managed", flags).unwrap());
        let capacity = Capacity { base: Addr(0x2000_0000_0000), ..small_capacity() };
        let mut m = Memory::with_managed_in(capacity, &file).unwrap();
        let a = m.alloc(Bytes(3 << 20), true, "a").unwrap();
        let offset = a.start.0 - capacity.managed_range().start.0;
        m.write(a.start.offset(100), b"seen").unwrap();
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, offset + 100).unwrap();
        assert_eq!(&bytes, b"seen");
        m.fill(a.start, Bytes(3 << 20), 0).unwrap();
        file.read_exact_at(&mut bytes, offset + 100).unwrap();
        assert_eq!(bytes, [0; 4]);
    }

    #[test]
    fn bytes_come_back() {
        let mut m = small();
        let a = m.alloc(Bytes(100), false, "a").unwrap();
        m.fill(a.start, Bytes(100), 7).unwrap();
        m.write(a.start.offset(10), &[1, 2, 3]).unwrap();
        let mut out = [0; 5];
        m.read(a.start.offset(9), &mut out).unwrap();
        assert_eq!(out, [7, 1, 2, 3, 7]);
    }

    #[test]
    fn a_copy_past_the_end_names_the_allocation() {
        let mut m = small();
        let a = m.alloc(Bytes(100), false, "weights").unwrap();
        let e = m.write(a.start.offset(98), &[0; 3]).unwrap_err().to_string();
        assert!(e.contains("weights"), "{e}");
        assert!(m.write(a.start.offset(97), &[0; 3]).is_ok());
    }

    #[test]
    fn large_ranges_of_zeros_leave_their_neighbours_alone() {
        let mut m = Memory::new(Capacity::default()).unwrap();
        let size = 3 << 20;
        let a = m.alloc(Bytes(size), false, "a").unwrap();
        for (from, to) in [(0, size), (1, size - 1), (65_535, size - 65_535), (0, size / 2 + 7), (4096, size - 4096)] {
            m.fill(a.start, Bytes(size), 0xab).unwrap();
            m.fill(a.start.offset(from), Bytes(to - from), 0).unwrap();
            let mut bytes = vec![1; size as usize];
            m.read(a.start, &mut bytes).unwrap();
            let wrong = (0..size).find(|&k| bytes[k as usize] != if (from..to).contains(&k) { 0 } else { 0xab });
            assert_eq!(wrong, None, "zeros in {from}..{to}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn zeros_cost_no_memory() {
        let resident = || {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
        };
        let mut m = Memory::new(Capacity::default()).unwrap();
        let a = m.alloc(Bytes(16 << 30), false, "a").unwrap();
        let before = resident();
        m.fill(a.start, Bytes(16 << 30), 0).unwrap();
        assert!(resident() < before + (1 << 30), "{} resident", Bytes(resident()));
    }

    #[test]
    fn a_range_without_end_is_refused() {
        let mut m = small();
        let a = m.alloc(Bytes(100), false, "a").unwrap();
        assert!(m.fill(a.start.offset(1), Bytes(u64::MAX), 0).is_err());
    }

    #[test]
    fn managed_memory_is_aligned_to_trees() {
        let m = small();
        let a = m.alloc(Bytes(1), true, "a").unwrap();
        let b = m.alloc(Bytes(1), true, "b").unwrap();
        assert_eq!((a.start.0 % MANAGED_ALIGN, b.start.0 % MANAGED_ALIGN), (0, 0));
    }
}
