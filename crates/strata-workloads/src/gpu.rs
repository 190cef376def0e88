//! The device as a driver uses it: typed arrays and one module.

use crate::Module;
use std::marker::PhantomData;
use strata_core::{Addr, Bytes, Channel, Dim3, Format, Image, Texture};
use strata_host::{Arg, Device, HostError, ModuleId};

/// A value that arrays in device memory hold.
pub(crate) trait Word: Copy {
    /// Bytes of one value.
    const SIZE: usize;
    /// Writes the value as the device stores it (little-endian).
    fn store(self, bytes: &mut [u8]);
    /// Reads a value that the device stored.
    fn load(bytes: &[u8]) -> Self;
}

macro_rules! words {
    ($($ty:ty),*) => { $(impl Word for $ty {
        const SIZE: usize = size_of::<$ty>();
        fn store(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_le_bytes());
        }
        fn load(bytes: &[u8]) -> Self {
            let mut own = [0; size_of::<$ty>()];
            own.copy_from_slice(bytes);
            Self::from_le_bytes(own)
        }
    })* };
}
words!(u8, i32, u32, u64, f32, f64);

/// An array in device memory.
#[derive(Debug)]
pub(crate) struct Array<T> {
    start: Addr,
    len: usize,
    holds: PhantomData<T>,
}

// Not derived: an array is a handle, whatever it holds.
impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Array<T> {}

impl<T> Array<T> {
    /// Where it begins.
    pub(crate) const fn address(self) -> Addr {
        self.start
    }
}

/// An array as a kernel argument is its address.
impl<T> From<Array<T>> for Arg {
    fn from(array: Array<T>) -> Self {
        Self::Ptr(array.start)
    }
}

/// A device with the program's module loaded and its allocations remembered.
pub(crate) struct Gpu<'d> {
    device: &'d mut Device,
    module: ModuleId,
    allocated: Vec<Addr>,
}

impl<'d> Gpu<'d> {
    pub(crate) fn new(device: &'d mut Device, module: &Module) -> Result<Self, HostError> {
        let module = device.load_module(module.path, module.ptx)?;
        Ok(Self { device, module, allocated: Vec::new() })
    }

    /// An array of `len` values, contents undefined.
    pub(crate) fn array<T: Word>(&mut self, name: &str, len: usize) -> Result<Array<T>, HostError> {
        let start = self.device.alloc(name, Bytes((len * T::SIZE) as u64))?;
        self.allocated.push(start);
        Ok(Array { start, len, holds: PhantomData })
    }

    /// The same, on the device also where all other arrays are managed.
    pub(crate) fn array_on_device<T: Word>(&mut self, name: &str, len: usize) -> Result<Array<T>, HostError> {
        let start = self.device.alloc_on_device(name, Bytes((len * T::SIZE) as u64))?;
        self.allocated.push(start);
        Ok(Array { start, len, holds: PhantomData })
    }

    /// An array that holds `values`.
    pub(crate) fn array_of<T: Word>(&mut self, name: &str, values: &[T]) -> Result<Array<T>, HostError> {
        let array = self.array(name, values.len())?;
        self.write(array, values)?;
        Ok(array)
    }

    /// An array of `len` values whose bytes are all zero.
    pub(crate) fn zeros<T: Word>(&mut self, name: &str, len: usize) -> Result<Array<T>, HostError> {
        let array = self.array(name, len)?;
        self.device.memset(array.start, Bytes((len * T::SIZE) as u64), 0)?;
        Ok(array)
    }

    /// Copies `values` to the beginning of the array.
    pub(crate) fn write<T: Word>(&mut self, array: Array<T>, values: &[T]) -> Result<(), HostError> {
        let mut bytes = vec![0; values.len() * T::SIZE];
        for (value, place) in values.iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
            value.store(place);
        }
        self.device.copy_in(array.start, &bytes)
    }

    /// Copies `values` to a variable of the module.
    pub(crate) fn write_symbol<T: Word>(&mut self, name: &str, values: &[T]) -> Result<(), HostError> {
        let start = self.device.symbol(self.module, name)?.start;
        self.write(Array { start, len: values.len(), holds: PhantomData }, values)
    }

    /// A texture of an array of rows, read between texels: the value that kernels name it by.
    pub(crate) fn texture(&mut self, array: Array<f32>, width: u32, height: u32) -> Result<u64, HostError> {
        let format = Format { channel: Channel::Float, bits: 32, channels: 1 };
        let image = Image::packed(array.start, [width, height, 1], format);
        self.device.create_texture(&Texture { linear: true, ..Texture::new(image) })
    }

    /// Copies the whole array to the host.
    pub(crate) fn read<T: Word>(&mut self, array: Array<T>) -> Result<Vec<T>, HostError> {
        self.read_first(array, array.len)
    }

    /// Copies the first `len` values of the array to the host.
    pub(crate) fn read_first<T: Word>(&mut self, array: Array<T>, len: usize) -> Result<Vec<T>, HostError> {
        let mut bytes = vec![0; len * T::SIZE];
        self.device.copy_out(array.start, &mut bytes)?;
        Ok(bytes.chunks_exact(T::SIZE).map(T::load).collect())
    }

    /// Says how many launches the program will make in all.
    pub(crate) fn announce(&mut self, launches: usize) {
        self.device.announce(launches as u64);
    }

    /// Launches a kernel of the program's module, without dynamic shared memory.
    pub(crate) fn launch(
        &mut self,
        kernel: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        args: &[Arg],
    ) -> Result<(), HostError> {
        self.device.launch(self.module, kernel, grid, block, 0, args)
    }

    /// Says that what follows prepares what is measured.
    pub(crate) fn begin_preparation(&mut self) {
        self.device.begin_preparation();
    }

    /// Says that what was done so far was preparation.
    pub(crate) fn begin_measurement(&mut self) {
        self.device.begin_measurement();
    }

    /// Waits for the device, as the program's host code does before it reads results.
    pub(crate) fn synchronize(&mut self) {
        self.device.synchronize();
    }

    /// Gives all memory back, in the order it was taken.
    pub(crate) fn free_all(self) -> Result<(), HostError> {
        self.allocated.into_iter().try_for_each(|start| self.device.free(start))
    }
}

/// Blocks of `block` threads that cover `threads`; a count that no grid can have is refused by the launch.
pub(crate) fn blocks(threads: usize, block: usize) -> u32 {
    u32::try_from(threads.div_ceil(block)).unwrap_or(u32::MAX)
}
