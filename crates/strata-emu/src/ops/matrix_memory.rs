//! Matrices between registers and memory: `wmma.load`, `wmma.store`, `ldmatrix`, `stmatrix`; and `movmatrix`.

use super::matrix::together;
use super::memory::{GENERIC, GLOBAL, SHARED, addresses, lane_pointer, report, window};
use crate::exec::{Exec, Flow, Slot};
use crate::fragment::Fragment;
use crate::inst::{Inst, MatrixOperation};
use crate::lanes::{read_lanes, write_lanes};
use crate::memory::SHARED_WINDOW;
use strata_core::{LANES, LaneMask, Space};

/// A fragment and where it is in memory.
pub(crate) struct Transfer {
    pub(crate) fragment: Fragment,
    pub(crate) row_major: bool,
    pub(crate) offset: i64,
    /// Elements from one row (or column) to the next, if not as many as a row has.
    pub(crate) stride: Option<Slot>,
}

/// Matrices of 8 by 8 halves whose rows are addressed by lanes.
pub(crate) struct Rows {
    pub(crate) registers: Box<[Slot]>,
    pub(crate) transposed: bool,
    pub(crate) offset: i64,
}

/// Host pointer to a lane's piece, whatever the space.
#[inline(always)]
fn pointer(x: &mut Exec<'_>, i: &Inst, lane: usize, address: u64, width: u64) -> Result<*mut u8, Flow> {
    match i.fields::<MatrixOperation>().space {
        GLOBAL => lane_pointer::<GLOBAL>(x, i, lane, address, width),
        SHARED => lane_pointer::<SHARED>(x, i, lane, address, width),
        _ => lane_pointer::<GENERIC>(x, i, lane, address, width),
    }
}

/// The memory that an address of the instruction is in, and the address there.
fn resolved(i: &Inst, address: u64) -> (Space, u64) {
    match i.fields::<MatrixOperation>().space {
        GENERIC if window(address) == Space::Shared => (Space::Shared, address.wrapping_sub(SHARED_WINDOW)),
        GLOBAL | GENERIC => (Space::Global, address),
        _ => (Space::Shared, address),
    }
}

/// Counts bytes moved, tells the checker of bytes written to shared memory.
fn moved(x: &mut Exec<'_>, space: Space, first: u64, bytes: u64, stores: bool) {
    match (space, stores) {
        (Space::Global, false) => x.bytes_read += bytes,
        (Space::Global, true) => x.bytes_written += bytes,
        (_, true) => {
            if let Some(mut checker) = x.checker.take() {
                checker.wrote_shared(x, first, bytes);
                x.checker = Some(checker);
            }
        }
        _ => {}
    }
}

/// Addresses of the instruction's lanes.
unsafe fn lane_addresses(x: &Exec<'_>, i: &Inst, offset: i64) -> [u64; LANES] {
    // SAFETY: decoding gave an address slot of that width.
    unsafe {
        if i.fields::<MatrixOperation>().wide_address {
            addresses::<true>(x, i.a, offset)
        } else {
            addresses::<false>(x, i.a, offset)
        }
    }
}

/// Where a transfer's matrix begins, and the bits from one row (or column) to the next. All lanes must agree on both
/// (PTX ISA 9.7.14.4.3); the first is asked.
unsafe fn matrix_at(x: &Exec<'_>, i: &Inst, m: LaneMask, t: &Transfer) -> (u64, u64) {
    let lane = m.trailing_zeros() as usize % LANES;
    let run = if t.row_major { t.fragment.columns } else { t.fragment.rows };
    // SAFETY: passed on; decoding gave a 32-bit slot.
    unsafe {
        let base = lane_addresses(x, i, t.offset)[lane];
        let stride = t.stride.map_or(run as u64, |s| read_lanes::<u32>(x, s)[lane].into());
        (base, stride * t.fragment.number.bits() as u64)
    }
}

/// Tells the listener of the pieces of a matrix, see [`crate::fragment::footprint`].
fn report_matrix(x: &mut Exec<'_>, i: &Inst, t: &Transfer, base: u64, pitch_bits: u64) {
    if x.sink.is_none() {
        return;
    }
    let (rows, columns) = (t.fragment.rows, t.fragment.columns);
    let (total, piece) = crate::fragment::footprint(rows, columns, t.fragment.number);
    let run = if t.row_major { total / rows } else { total / columns };
    let (space, base) = resolved(i, base);
    for set in 0..total / (piece * LANES) {
        let addresses = std::array::from_fn(|l| {
            let byte = (set * LANES + l) * piece;
            base.wrapping_add((byte / run) as u64 * (pitch_bits / 8) + (byte % run) as u64)
        });
        report(x, space, LaneMask::MAX, &addresses);
    }
}

/// Moves a fragment between registers and memory.
#[inline(always)]
unsafe fn transfer(x: &mut Exec<'_>, i: &Inst, m: LaneMask, t: &Transfer, stores: bool) -> Flow {
    // SAFETY: passed on.
    let (base, pitch) = unsafe { matrix_at(x, i, m, t) };
    let columns = t.fragment.columns;
    let bits = t.fragment.number.bits() as u64;
    let width = t.fragment.piece_bits() / 8;
    let mask = u64::MAX >> (64 - t.fragment.piece_bits());
    let mut failed = None;
    t.fragment.each_piece(|lane, register, shift, place| {
        if m >> lane & 1 == 0 || failed.is_some() {
            return;
        }
        let (row, column) = ((place / columns) as u64, (place % columns) as u64);
        let (line, along) = if t.row_major { (row, column) } else { (column, row) };
        let address = base.wrapping_add((line.wrapping_mul(pitch).wrapping_add(along * bits)) / 8);
        match pointer(x, i, lane, address, width as u64) {
            // SAFETY: the access was just checked.
            Ok(at) => unsafe {
                let old = t.fragment.get(x, register, lane);
                if stores {
                    std::ptr::copy_nonoverlapping((old >> shift).to_le_bytes().as_ptr(), at, width);
                    let (space, first) = resolved(i, address);
                    moved(x, space, first, width as u64, true);
                } else {
                    let mut bytes = [0; 8];
                    std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), width);
                    let new = old & !(mask << shift) | u64::from_le_bytes(bytes) << shift;
                    t.fragment.set(x, register, lane, new);
                }
            },
            Err(flow) => failed = Some(flow),
        }
    });
    if !stores {
        moved(x, resolved(i, base).0, base, t.fragment.bytes() as u64, false);
    }
    report_matrix(x, i, t, base, pitch);
    failed.unwrap_or(Flow::Next)
}

together!(load_fragment, "`wmma.load`.", |x, i, m, Transfer(t)| {
    // SAFETY: passed on to the caller of an `OpFn`.
    unsafe { transfer(x, i, m, t, false) }
});
together!(store_fragment, "`wmma.store`.", |x, i, m, Transfer(t)| {
    // SAFETY: as above.
    unsafe { transfer(x, i, m, t, true) }
});

/// Bytes of a row of 8 halves.
const ROW_BYTES: u64 = 16;

/// A matrix of 8 by 8 halves in one register: lane `l` holds two neighbours of row `l / 4`.
fn from_lanes(lanes: &[u32; LANES]) -> [[u16; 8]; 8] {
    let half = |row: usize, column: usize| (lanes[row * 4 + column / 2] >> (column % 2 * 16)) as u16;
    std::array::from_fn(|row| std::array::from_fn(|column| half(row, column)))
}

/// The register of a matrix.
fn to_lanes(matrix: &[[u16; 8]; 8]) -> [u32; LANES] {
    std::array::from_fn(|l| {
        let pair = &matrix[l / 4][l % 4 * 2..];
        u32::from(pair[0]) | u32::from(pair[1]) << 16
    })
}

fn transpose(matrix: &[[u16; 8]; 8]) -> [[u16; 8]; 8] {
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
}

/// Moves rows between memory and registers: those of matrix `k` are addressed by lanes `8k` to `8k + 7`.
#[inline(always)]
unsafe fn move_rows(x: &mut Exec<'_>, i: &Inst, m: LaneMask, rows: &Rows, stores: bool) -> Flow {
    // SAFETY: passed on.
    let addresses = unsafe { lane_addresses(x, i, rows.offset) };
    let count = rows.registers.len();
    let mut loaded = [[[0u16; 8]; 8]; 4];
    if stores {
        for (k, &register) in rows.registers.iter().enumerate() {
            // SAFETY: decoding gave 32-bit registers.
            let lanes = unsafe { read_lanes::<u32>(x, register) };
            let matrix = from_lanes(&lanes);
            loaded[k] = if rows.transposed { transpose(&matrix) } else { matrix };
        }
    }
    for lane in 0..8 * count {
        let row = &mut loaded[lane / 8][lane % 8];
        match pointer(x, i, lane, addresses[lane], ROW_BYTES) {
            // SAFETY: the access was just checked; halves have no invalid bits.
            Ok(at) => unsafe {
                if stores {
                    std::ptr::copy_nonoverlapping(row.as_ptr().cast(), at, ROW_BYTES as usize);
                } else {
                    std::ptr::copy_nonoverlapping(at, row.as_mut_ptr().cast(), ROW_BYTES as usize);
                }
            },
            Err(flow) => return flow,
        }
        let (space, first) = resolved(i, addresses[lane]);
        moved(x, space, first, ROW_BYTES, stores);
    }
    if !stores {
        for (k, &register) in rows.registers.iter().enumerate() {
            let lanes = to_lanes(&if rows.transposed { transpose(&loaded[k]) } else { loaded[k] });
            // SAFETY: decoding gave 32-bit registers.
            unsafe { write_lanes::<u32>(x, register, m, |l| lanes[l]) };
        }
    }
    let (space, _) = resolved(i, addresses[0]);
    report(x, space, u32::MAX >> (LANES - 8 * count), &addresses.map(|a| resolved(i, a).1));
    Flow::Next
}

together!(load_rows, "`ldmatrix`.", |x, i, m, Rows(rows)| {
    // SAFETY: as above.
    unsafe { move_rows(x, i, m, rows, false) }
});
together!(store_rows, "`stmatrix`.", |x, i, m, Rows(rows)| {
    // SAFETY: as above.
    unsafe { move_rows(x, i, m, rows, true) }
});

/// `movmatrix`: `d` is the transpose of `a`.
pub(crate) unsafe fn transpose_register(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    if x.live & !m != 0 {
        return Flow::Wait;
    }
    // SAFETY: decoding gave 32-bit registers.
    unsafe {
        let lanes = to_lanes(&transpose(&from_lanes(&read_lanes::<u32>(x, i.a))));
        write_lanes::<u32>(x, i.d, m, |l| lanes[l]);
    }
    Flow::Next
}
