//! What a channel knows of each bank, and the banks that wait for a command, by the age of whom they wait for.

use super::gates::MAX_BANKS;
use super::pending::{EMPTY, List};

/// No row is open.
pub(super) const CLOSED: u32 = u32::MAX;

/// A bank: all that a command reads or changes of it, in one line of the host's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Bank {
    /// Earliest column command of each kind, as far as the bank alone decides.
    pub(super) column: [u64; 2],
    /// Earliest activate, as far as the bank alone decides.
    pub(super) activate: u64,
    /// Earliest precharge.
    pub(super) precharge: u64,
    /// Requests of each kind that wait for it.
    pub(super) lists: [List; 2],
    /// The row that is open, or [`CLOSED`].
    pub(super) row: u32,
    /// The group it is in.
    pub(super) group: u8,
    /// What it waits for.
    pub(super) wants: Wants,
    /// It is to be refreshed before it serves anybody.
    pub(super) refresh: bool,
}

impl Bank {
    pub(super) fn new(group: u8) -> Self {
        Self {
            column: [0; 2],
            activate: 0,
            precharge: 0,
            lists: [EMPTY; 2],
            row: CLOSED,
            group,
            wants: Wants::Nothing,
            refresh: false,
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.row != CLOSED
    }
}

/// A bank group: earliest commands in any of its banks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// Column command of each kind.
    pub(super) column: [u64; 2],
}

/// The command that a bank waits for. Those that are waited for are the first, as indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wants {
    Column,
    Precharge,
    Activate,
    Nothing,
}

/// Whom a bank waits for: the request's rank by arrival.
pub(super) type Age = u64;

/// Age and bank in one number, so that the least is the oldest.
const BANK_BITS: u32 = MAX_BANKS.ilog2();
/// 40 bits of age are a million million requests, and leave 18 for waiting cycles: the sum of several gates.
pub(super) const KEY_BITS: u32 = 40 + BANK_BITS;

/// The banks that wait for a command, as a set for each command, and whom each waits for.
///
/// Sets and not lists by age: a choice that looks at all members without a branch is faster than one that stops at the first
/// that can go, which the host cannot foresee.
#[derive(Clone, Debug)]
pub(super) struct Waiters {
    key: [u64; MAX_BANKS],
    sets: [u64; 4],
}

impl Waiters {
    pub(super) fn new() -> Self {
        Self { key: [0; MAX_BANKS], sets: [0; 4] }
    }

    /// Whom a bank waits for, and the bank.
    #[inline]
    pub(super) fn key(&self, bank: usize) -> u64 {
        self.key[bank % MAX_BANKS]
    }

    /// A bank waits for a command, on behalf of the request of that age.
    #[inline]
    pub(super) fn insert(&mut self, wants: Wants, bank: usize, age: Age) {
        self.key[bank % MAX_BANKS] = (age << BANK_BITS | bank as u64) & ((1 << KEY_BITS) - 1);
        self.again(wants, bank);
    }

    /// A bank waits for its next command on behalf of the same request.
    #[inline]
    pub(super) fn again(&mut self, wants: Wants, bank: usize) {
        self.sets[wants as usize] |= 1 << (bank % MAX_BANKS);
    }

    /// A bank no longer waits for the command that it waited for.
    #[inline]
    pub(super) fn remove(&mut self, wants: Wants, bank: usize) {
        self.sets[wants as usize] &= !(1 << (bank % MAX_BANKS));
    }

    /// The banks that wait for a command.
    #[inline]
    pub(super) fn set(&self, wants: Wants) -> u64 {
        self.sets[wants as usize]
    }
}

/// The members of a set of banks or bank groups.
#[inline]
pub(super) fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let member = set.trailing_zeros() as usize % MAX_BANKS;
            set &= set - 1;
            member
        })
    })
}
