//! The table of static instructions of a kernel, and its bytes.
//!
//! Invariant: numbers in a file are places in the arrays below; they are added to at the end, never moved.

use crate::wire::{Malformed, Take, put, put_text};
use arrayvec::ArrayVec;
use strata_core::{Access, LaneMask, OpClass, OpInfo, OpKind, Space};

/// Spaces by their number in a file.
pub(crate) const SPACES: [Space; 7] =
    [Space::None, Space::Global, Space::Shared, Space::Local, Space::Const, Space::Param, Space::Generic];
const ACCESSES: [Access; 7] =
    [Access::None, Access::Load, Access::Store, Access::Atomic, Access::Reduce, Access::Copy, Access::Prefetch];

/// Register numbers stay below this. A machine keeps a time for each register of each warp, so the number must not be a
/// stranger's choice; the largest functions of compilers have some ten thousand.
pub(crate) const MAX_REGISTERS: u32 = 1 << 16;

/// The first version whose tables hold the kinds of instructions; before it, the spelling tells.
const WITH_KINDS: u32 = 2;

const BYPASS_L1: u8 = 1;
const READ_ONLY: u8 = 2;

/// No address slot.
const NONE: u32 = u32::MAX;

/// The instructions of a kernel, and which of them have addresses.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) infos: Vec<OpInfo>,
    /// By program counter: the number among the instructions that name a space, or [`NONE`].
    slots: Vec<u32>,
    /// How many name a space.
    pub(crate) addressed: usize,
}

impl Table {
    pub(crate) fn new(infos: Vec<OpInfo>) -> Self {
        let mut addressed = 0;
        let slot = |info: &OpInfo| {
            if info.space == Space::None {
                return NONE;
            }
            addressed += 1;
            addressed - 1
        };
        let slots = infos.iter().map(slot).collect();
        Self { infos, slots, addressed: addressed as usize }
    }

    /// Where the last address of the instruction at `pc` is kept.
    pub(crate) fn slot(&self, pc: u32) -> Option<usize> {
        self.slots.get(pc as usize).filter(|&&slot| slot != NONE).map(|&slot| slot as usize)
    }

    /// True if an operation nearly always has addresses: it names a memory and has a lane. Parameters are mostly read
    /// as constants, without an address.
    pub(crate) fn expects_addresses(&self, pc: u32, mask: LaneMask) -> bool {
        mask != 0 && !matches!(self.infos[pc as usize].space, Space::None | Space::Param)
    }
}

/// The table as bytes; the error names what does not fit.
pub(crate) fn encode(infos: &[OpInfo]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    put(&mut out, infos.len() as u64);
    for info in infos {
        let place = |found: Option<usize>| found.map_or(u8::MAX, |k| k as u8);
        out.push(info.class as u8);
        out.push(info.kind as u8);
        out.push(place(SPACES.iter().position(|s| *s == info.space)));
        out.push(place(ACCESSES.iter().position(|a| *a == info.access)));
        out.push(info.width);
        out.push(if info.bypass_l1 { BYPASS_L1 } else { 0 } | if info.read_only { READ_ONLY } else { 0 });
        put(&mut out, u64::from(info.line));
        for registers in [&info.dst[..], &info.src[..]] {
            put(&mut out, registers.len() as u64);
            for &register in registers {
                if register >= MAX_REGISTERS {
                    return Err(format!(
                        "the instruction in line {} uses register {register}; a trace holds {MAX_REGISTERS}",
                        info.line
                    ));
                }
                put(&mut out, u64::from(register));
            }
        }
        put_text(&mut out, &info.name);
    }
    Ok(out)
}

/// The table of a file of version `version`.
pub(crate) fn decode(bytes: &[u8], version: u32) -> Result<Table, Malformed> {
    let mut take = Take::new(bytes);
    let count = take.count()?;
    let mut infos = Vec::new();
    for _ in 0..count {
        infos.push(decode_info(&mut take, version)?);
    }
    take.end()?;
    Ok(Table::new(infos))
}

fn decode_info(take: &mut Take<'_>, version: u32) -> Result<OpInfo, Malformed> {
    let class = one_of(take, &OpClass::ALL, "class of instructions")?;
    let kind = if version < WITH_KINDS { None } else { Some(one_of(take, &OpKind::ALL, "kind of instructions")?) };
    let space = one_of(take, &SPACES, "memory space")?;
    let access = one_of(take, &ACCESSES, "kind of access")?;
    let width = take.byte()?;
    let flags = take.byte()?;
    if flags & !(BYPASS_L1 | READ_ONLY) != 0 {
        return take.wrong(format!("unknown flags {flags:#x} of an instruction"));
    }
    let line = take.u32("line")?;
    let (dst, src) = (registers(take)?, registers(take)?);
    let name = take.text()?;
    Ok(OpInfo {
        class,
        kind: kind.unwrap_or_else(|| strata_ptx::kind_of(name)),
        space,
        access,
        width,
        bypass_l1: flags & BYPASS_L1 != 0,
        read_only: flags & READ_ONLY != 0,
        dst,
        src,
        line,
        name: name.into(),
    })
}

fn one_of<T: Copy>(take: &mut Take<'_>, all: &[T], what: &'static str) -> Result<T, Malformed> {
    let number = take.byte()?;
    match all.get(usize::from(number)) {
        Some(&value) => Ok(value),
        None => take.wrong(format!("there is no {what} {number}")),
    }
}

fn registers<const N: usize>(take: &mut Take<'_>) -> Result<ArrayVec<u32, N>, Malformed> {
    let count = take.at_most("number of registers", N as u64)?;
    (0..count).map(|_| take.at_most("register", u64::from(MAX_REGISTERS - 1)).map(|r| r as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::VERSION;

    fn info(space: Space, register: u32) -> OpInfo {
        OpInfo {
            class: OpClass::Memory,
            kind: OpKind::Sum64,
            space,
            access: Access::Load,
            width: 8,
            bypass_l1: true,
            read_only: false,
            dst: [register].into_iter().collect(),
            src: [1, 2].into_iter().collect(),
            line: 77,
            name: "ld.global.u64".into(),
        }
    }

    #[test]
    fn tables_come_back() {
        let infos: Vec<_> = SPACES.into_iter().map(|space| info(space, 3)).collect();
        let table = decode(&encode(&infos).expect("it fits"), VERSION).expect("it is right");
        assert_eq!(format!("{:?}", table.infos), format!("{infos:?}"));
        assert_eq!((table.addressed, table.slot(0), table.slot(1), table.slot(99)), (6, None, Some(0), None));
    }

    #[test]
    fn registers_are_limited() {
        assert!(encode(&[info(Space::Global, MAX_REGISTERS)]).expect_err("too many").contains("line 77"));
    }
}
