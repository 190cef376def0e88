//! `cudaDeviceProp` and `cudaDeviceGetAttribute`.
//!
//! The structure differs between CUDA 11, 12 and 13 (the last lost eight fields); one list of fields writes all three. Its
//! layout is that of `driver_types.h`; limits that are the same for every GPU since Volta are CUDA's own (programming guide,
//! table of compute capabilities).

use super::boundary::{Out, cuda_major};
use super::error::{Code, Outcome};
use super::{cuda, device};
use crate::protocol::Properties;
use std::ffi::c_int;

const THREADS_PER_BLOCK: u32 = 1024;
const BLOCK: [u32; 3] = [1024, 1024, 64];
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const CONSTANT_BYTES: u64 = 64 << 10;
const WARP: u32 = 32;
const TEXTURE_ALIGNMENT: u64 = 512;
const TEXTURE_PITCH_ALIGNMENT: u64 = 32;
const LONGEST_PITCH: u64 = i32::MAX as u64;
/// What a block has without asking for more.
const SHARED_BY_DEFAULT: u64 = 48 << 10;

/// Which structure is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layout {
    Eleven,
    Twelve,
    Thirteen,
}

/// Fields, one after the other, aligned as C does.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn int(&mut self, value: u32) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self.0.extend(value.to_ne_bytes());
    }

    fn ints(&mut self, values: &[u32]) {
        for &value in values {
            self.int(value);
        }
    }

    fn size(&mut self, value: u64) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(value.to_ne_bytes());
    }

    fn bytes(&mut self, value: &[u8], size: usize) {
        let end = self.0.len() + size;
        self.0.extend(&value[..value.len().min(size.saturating_sub(1))]);
        self.0.resize(end, 0);
    }
}

fn fields(p: &Properties, layout: Layout) -> Vec<u8> {
    let old = layout < Layout::Thirteen;
    let mut f = Fields::default();
    f.bytes(p.name.as_bytes(), 256);
    f.bytes(b"", 16 + 8); // uuid, luid
    f.int(0); // luidDeviceNodeMask
    f.size(p.memory);
    f.size(SHARED_BY_DEFAULT.min(p.shared_per_block));
    f.int(p.registers_per_sm);
    f.int(WARP);
    f.size(LONGEST_PITCH);
    f.int(THREADS_PER_BLOCK);
    f.ints(&BLOCK);
    f.ints(&GRID);
    if old {
        f.int(p.core_khz);
    }
    f.size(CONSTANT_BYTES);
    f.ints(&[p.capability / 10, p.capability % 10]);
    f.size(TEXTURE_ALIGNMENT);
    f.size(TEXTURE_PITCH_ALIGNMENT);
    if old {
        f.int(1); // deviceOverlap
    }
    f.int(p.sms);
    if old {
        f.int(0); // kernelExecTimeoutEnabled
    }
    f.ints(&[0, 1]); // integrated, canMapHostMemory
    if old {
        f.int(0); // computeMode
    }
    f.ints(&[131_072, 32_768]); // maxTexture1D, 1DMipmap
    if old {
        f.int(268_435_456); // maxTexture1DLinear
    }
    f.ints(&[131_072, 65_536, 32_768, 32_768]); // maxTexture2D, 2DMipmap
    f.ints(&[131_072, 65_000, 2_097_120, 32_768, 32_768]); // maxTexture2DLinear, 2DGather
    f.ints(&[16_384, 16_384, 16_384, 8192, 8192, 32_768]); // maxTexture3D, 3DAlt
    f.ints(&[32_768, 32_768, 2048, 32_768, 32_768, 2048]); // maxTextureCubemap, 1DLayered, 2DLayered
    f.ints(&[32_768, 2046]); // maxTextureCubemapLayered
    f.ints(&[32_768, 131_072, 65_536, 16_384, 16_384, 16_384]); // maxSurface1D, 2D, 3D
    f.ints(&[32_768, 2048, 32_768, 32_768, 2048]); // maxSurface1DLayered, 2DLayered
    f.ints(&[32_768, 32_768, 2046]); // maxSurfaceCubemap, CubemapLayered
    f.size(TEXTURE_ALIGNMENT); // surfaceAlignment
    f.ints(&[1, 0, 1, 0, 0, 0]); // concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver
    f.ints(&[2, 1]); // asyncEngineCount, unifiedAddressing
    if old {
        f.int(p.memory_khz);
    }
    f.ints(&[p.bus_bits, p.l2 as u32, 0, p.threads_per_sm]); // …, persistingL2CacheMaxSize, …
    f.ints(&[1, 1, 1]); // streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported
    f.size(p.shared_per_sm);
    f.int(p.registers_per_sm);
    f.ints(&[1, 0, 0, 0]); // managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported
    if old {
        f.int(2); // singleToDoublePrecisionPerfRatio
    }
    f.ints(&[0, 1, 1, 0, 1]); // pageableMemoryAccess, concurrentManagedAccess, computePreemption, hostPointer, cooperativeLaunch
    if old {
        f.int(0); // cooperativeMultiDeviceLaunch
    }
    f.size(p.shared_per_block);
    f.ints(&[0, 0, p.blocks_per_sm, 0]); // pageTables, directManagedMemAccess, …, accessPolicyMaxWindowSize
    f.size(0); // reservedSharedMemPerBlock
    if layout > Layout::Eleven {
        f.ints(&[1, 0, 0, 0, 1]); // hostRegisterSupported, sparse, readOnly, timeline, memoryPoolsSupported
    }
    f.0
}

fn tell(place: Out<u8>, layout: Layout, number: c_int) -> Outcome {
    let properties = device::properties()?;
    if number != 0 {
        return Err(Code::INVALID_DEVICE);
    }
    place.set_all(&fields(properties, layout))
}

/// The value of an attribute (`cudaDeviceAttr`).
fn attribute(p: &Properties, number: c_int) -> Option<u64> {
    Some(match number {
        1 => u64::from(THREADS_PER_BLOCK),
        2..=4 => u64::from(BLOCK[(number - 2) as usize]),
        5..=7 => u64::from(GRID[(number - 5) as usize]),
        8 => SHARED_BY_DEFAULT.min(p.shared_per_block),
        9 => CONSTANT_BYTES,
        10 => u64::from(WARP),
        11 => LONGEST_PITCH,
        12 | 82 => u64::from(p.registers_per_sm),
        13 => u64::from(p.core_khz),
        14 | 30 => TEXTURE_ALIGNMENT,
        16 => u64::from(p.sms),
        36 => u64::from(p.memory_khz),
        37 => u64::from(p.bus_bits),
        38 => p.l2,
        39 => u64::from(p.threads_per_sm),
        // Engines that copy; how much slower double precision is.
        40 | 87 => 2,
        21 | 22 | 42 => 131_072,
        23 => 65_536,
        24..=26 | 43 | 44 => 16_384,
        27 | 28 => 32_768,
        29 | 53 => 2048,
        51 => TEXTURE_PITCH_ALIGNMENT,
        75 => u64::from(p.capability / 10),
        76 => u64::from(p.capability % 10),
        81 => p.shared_per_sm,
        97 => p.shared_per_block,
        106 => u64::from(p.blocks_per_sm),
        // Overlap, mapped memory, concurrent kernels, a bus, unified addressing, priorities, L1, managed memory, its concurrent
        // use, preemption, cooperative launch, registration, pools.
        15 | 19 | 31 | 33 | 41 | 78..=80 | 83 | 89 | 90 | 95 | 99 | 115 => 1,
        // Of a capability that this device has not, or a limit that nobody asks for.
        17..=157 => 0,
        _ => return None,
    })
}

cuda! {
    /// What the device is like, as the program's version of CUDA knows it. Since CUDA 12 programs call the second version, which
    /// CUDA 13 calls the first again.
    fn cudaGetDeviceProperties(properties: Out<u8>, device: c_int) {
        tell(properties, if cuda_major() >= 13 { Layout::Thirteen } else { Layout::Eleven }, device)
    }
    /// What the device is like, in CUDA 12.
    fn cudaGetDeviceProperties_v2(properties: Out<u8>, device: c_int) { tell(properties, Layout::Twelve, device) }

    /// One property.
    fn cudaDeviceGetAttribute(value: Out<c_int>, number: c_int, device: c_int) {
        let properties = device::properties()?;
        if device != 0 {
            return Err(Code::INVALID_DEVICE);
        }
        value.set(c_int::try_from(attribute(properties, number).ok_or(Code::INVALID_VALUE)?).unwrap_or(c_int::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_the_headers_put_them() {
        let p = Properties {
            name: "a name".into(),
            capability: 75,
            memory: 1 << 34,
            sms: 80,
            threads_per_sm: 2048,
            blocks_per_sm: 32,
            registers_per_sm: 65536,
            shared_per_sm: 96 << 10,
            shared_per_block: 96 << 10,
            l2: 6 << 20,
            core_khz: 1_530_000,
            memory_khz: 877_000,
            bus_bits: 4096,
        };
        // Offsets that a C compiler gives (`offsetof`), with CUDA 13.4's header, and with 11.8's and 12.9's.
        let int = |layout, at: usize| {
            let bytes = fields(&p, layout);
            u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
        };
        for (layout, sms, bus, blocks) in OFFSETS {
            assert_eq!((int(layout, sms), int(layout, bus), int(layout, blocks)), (80, 4096, 32));
        }
    }

    const OFFSETS: [(Layout, usize, usize, usize); 3] =
        [(Layout::Thirteen, 384, 592, 688), (Layout::Twelve, 388, 612, 712), (Layout::Eleven, 388, 612, 712)];
}
