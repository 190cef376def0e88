//! An independent reading of the rules: replays commands and complains about the first gate that is not kept.
//!
//! It keeps the whole history of each bank and compares every command with all that went before, straight from the data
//! sheet's gates; it shares nothing with the scheduler but the definition of a command.

use super::{Outcome, access_cycles, kinds, serve, serve_asking};
use crate::config::{DramConfig, DramTiming};
use crate::dram::{Command, DramRequest};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a bank remembers.
#[derive(Clone, Default)]
struct Bank {
    row: Option<u32>,
    activates: Vec<u64>,
    reads: Vec<u64>,
    writes: Vec<u64>,
    precharges: Vec<u64>,
    refreshes: Vec<u64>,
}

struct Checker<'a> {
    t: &'a DramTiming,
    access: u64,
    per_group: usize,
    banks: Vec<Bank>,
    refreshes: Vec<u64>,
    /// Activates and refreshes of single banks, with their groups.
    activates: Vec<(u64, usize)>,
    /// Accesses by bank, row and whether they were writes.
    moved: BTreeMap<(u16, u32, bool), u64>,
}

impl Checker<'_> {
    fn apart(now: u64, gate: &str, earlier: &[u64], cycles: u64) -> Result<(), String> {
        match earlier.last() {
            Some(&e) if now < e + cycles => Err(format!("{gate}: {now} is less than {cycles} after {e}")),
            _ => Ok(()),
        }
    }

    fn command(&mut self, now: u64, command: Command) -> Result<(), String> {
        let t = *self.t;
        match command {
            Command::Activate { bank, row } => {
                self.opens(now, usize::from(bank))?;
                let b = &mut self.banks[usize::from(bank)];
                b.row = Some(row);
                b.activates.push(now);
            }
            Command::RefreshBank { bank } => {
                self.opens(now, usize::from(bank))?;
                self.banks[usize::from(bank)].refreshes.push(now);
            }
            Command::Read { bank } => self.column(now, bank, false)?,
            Command::Write { bank } => self.column(now, bank, true)?,
            Command::Precharge { bank } => self.precharge(now, usize::from(bank))?,
            Command::PrechargeAll => {
                for bank in 0..self.banks.len() {
                    if self.banks[bank].row.is_some() {
                        self.precharge(now, bank)?;
                    }
                }
            }
            Command::Refresh => {
                for b in &self.banks {
                    if b.row.is_some() {
                        return Err(format!("{now}: refresh of an open bank"));
                    }
                    Self::apart(now, "RP before refresh", &b.precharges, t.rp.into())?;
                    Self::apart(now, "RC before refresh", &b.activates, t.rc.into())?;
                }
                Self::apart(now, "RFC between refreshes", &self.refreshes, t.rfc.into())?;
                self.refreshes.push(now);
            }
        }
        Ok(())
    }

    /// An activate or the refresh of a bank.
    fn opens(&mut self, now: u64, bank: usize) -> Result<(), String> {
        let t = self.t;
        let group = bank / self.per_group;
        for &(e, other) in &self.activates {
            let (gate, cycles) = if other == group { ("RRDL", t.rrd.max(t.rrdl)) } else { ("RRD", t.rrd) };
            Self::apart(now, gate, &[e], cycles.into())?;
        }
        if self.activates.iter().filter(|&&(e, _)| e + u64::from(t.faw) > now).count() >= 4 {
            return Err(format!("FAW: {now} is the fifth in {} cycles", t.faw));
        }
        self.activates.push((now, group));
        Self::apart(now, "RFC", &self.refreshes, t.rfc.into())?;
        let b = &self.banks[bank];
        if b.row.is_some() {
            return Err(format!("{now}: bank {bank} is open already"));
        }
        Self::apart(now, "RC", &b.activates, t.rc.into())?;
        Self::apart(now, "RP", &b.precharges, t.rp.into())?;
        Self::apart(now, "RFCSB", &b.refreshes, t.rfcsb.into())
    }

    fn precharge(&mut self, now: u64, bank: usize) -> Result<(), String> {
        let t = self.t;
        let b = &mut self.banks[bank];
        if b.row.take().is_none() {
            return Err(format!("{now}: precharge of a closed bank"));
        }
        Self::apart(now, "RAS", &b.activates, t.ras.into())?;
        Self::apart(now, "RTPL", &b.reads, t.rtpl.into())?;
        Self::apart(now, "WR", &b.writes, u64::from(t.wl + t.wr) + self.access)?;
        b.precharges.push(now);
        Ok(())
    }

    fn column(&mut self, now: u64, bank: u16, write: bool) -> Result<(), String> {
        let t = *self.t;
        let group = usize::from(bank) / self.per_group;
        for (other, b) in self.banks.iter().enumerate() {
            for earlier in [&b.reads, &b.writes] {
                Self::apart(now, "CCD", earlier, t.ccd.into())?;
                if other / self.per_group == group {
                    Self::apart(now, "CCDL", earlier, t.ccdl.into())?;
                }
            }
            // On the data bus accesses follow each other, with two cycles to turn it round for writes.
            let (same, turn, gate) = if write {
                let data = u64::from(t.cl + 2) + self.access - u64::from(t.wl);
                (&b.writes, (&b.reads, if t.rtw > 0 { t.rtw.into() } else { data }), "read to write")
            } else {
                (&b.reads, (&b.writes, u64::from(t.wl + t.cdlr) + self.access), "CDLR")
            };
            Self::apart(now, "data bus", same, self.access)?;
            if !write && other / self.per_group == group {
                Self::apart(now, "WTRL", &b.writes, u64::from(t.wl + t.wtrl) + self.access)?;
            }
            Self::apart(now, gate, turn.0, turn.1)?;
        }
        let b = &mut self.banks[usize::from(bank)];
        let Some(row) = b.row else { return Err(format!("{now}: access to closed bank {bank}")) };
        let rcd = if write { t.rcd.saturating_sub(t.wl + 1) } else { t.rcd };
        Self::apart(now, if write { "RCDWR" } else { "RCD" }, &b.activates, rcd.into())?;
        if write {
            b.writes.push(now);
        } else {
            b.reads.push(now);
        }
        *self.moved.entry((bank, row, write)).or_default() += 1;
        Ok(())
    }
}

/// Checks that all gates are kept, that exactly the requested accesses are made, and that every request ends once.
fn check(config: &DramConfig, arrivals: &[(u64, DramRequest)], outcome: &Outcome) -> Result<(), String> {
    let mut checker = Checker {
        t: &config.timing,
        access: access_cycles(config),
        per_group: (config.banks / config.bank_groups) as usize,
        banks: vec![Bank::default(); config.banks as usize],
        refreshes: Vec::new(),
        activates: Vec::new(),
        moved: BTreeMap::new(),
    };
    let (mut last_row, mut last_column, mut latest) = (None, None, 0);
    for &(now, command) in &outcome.commands {
        if now < latest {
            return Err(format!("{now}: commands out of order"));
        }
        latest = now;
        let column = matches!(command, Command::Read { .. } | Command::Write { .. });
        let bus = if column { &mut last_column } else { &mut last_row };
        if *bus == Some(now) {
            return Err(format!("{now}: two commands on one bus"));
        }
        *bus = Some(now);
        checker.command(now, command)?;
    }
    let mut wanted = BTreeMap::new();
    for (_, r) in arrivals {
        *wanted.entry((r.bank, r.row, r.write)).or_default() += u64::from(r.accesses);
    }
    if wanted != checker.moved {
        return Err("other accesses were made than were asked for".into());
    }
    let mut ended: Vec<u32> = outcome.done.iter().map(|d| d.1).collect();
    let mut tags: Vec<u32> = arrivals.iter().map(|a| a.1.tag).collect();
    ended.sort_unstable();
    tags.sort_unstable();
    if ended != tags {
        return Err("requests were lost or ended twice".into());
    }
    let s = &outcome.stats;
    let requests = arrivals.len() as u64;
    let count = |wanted: fn(&Command) -> bool| outcome.commands.iter().filter(|c| wanted(&c.1)).count() as u64;
    let counted = s.reads + s.writes == requests
        && s.row_hits + s.row_misses + s.row_conflicts == requests
        && s.activates == count(|c| matches!(c, Command::Activate { .. }))
        && s.read_accesses == count(|c| matches!(c, Command::Read { .. }))
        && s.write_accesses == count(|c| matches!(c, Command::Write { .. }))
        && s.refreshes == count(|c| matches!(c, Command::Refresh | Command::RefreshBank { .. }));
    if counted { Ok(()) } else { Err(format!("the counts do not add up: {s:?}")) }
}

/// Requests with few rows, so that hits, conflicts and turnarounds are frequent.
pub(super) fn arrivals(banks: u16) -> impl Strategy<Value = Vec<(u64, DramRequest)>> {
    let gap = prop_oneof![8 => 0u64..4, 3 => 0u64..60, 1 => 0u64..3000];
    let request = (gap, 0..banks, 0u32..3, 1u8..=4, prop::bool::weighted(0.4));
    prop::collection::vec(request, 1..300).prop_map(|list| {
        let mut now = 0;
        let arrival = |(tag, (gap, bank, row, accesses, write))| {
            now += gap;
            (now, DramRequest { row, bank, accesses, write, tag: tag as u32 })
        };
        list.into_iter().enumerate().map(arrival).collect()
    })
}

/// Gates that are 0 where nothing finer is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinerGates {
    rrdl: u32,
    faw: u32,
    wtrl: u32,
    rtw: u32,
}

impl FinerGates {
    pub(super) fn set(self, t: &mut DramTiming) {
        // As a data sheet would: beyond what the coarser ones ask for.
        t.rrdl = if self.rrdl == 0 { 0 } else { t.rrd + self.rrdl };
        t.faw = if self.faw == 0 { 0 } else { 4 * t.rrd + self.faw };
        t.wtrl = if self.wtrl == 0 { 0 } else { t.cdlr + self.wtrl };
        t.rtw = if self.rtw == 0 { 0 } else { t.cl + 6 + self.rtw };
    }
}

pub(super) fn finer_gates() -> impl Strategy<Value = FinerGates> {
    (0u32..5, 0u32..9, 0u32..7, 0u32..5).prop_map(|(rrdl, faw, wtrl, rtw)| FinerGates { rrdl, faw, wtrl, rtw })
}

/// No refresh, of all banks, of one bank after another.
fn set_refresh(t: &mut DramTiming, kind: u32) {
    match kind {
        0 => {}
        1 => (t.refi, t.rfc) = (700, 90),
        _ => (t.refi, t.rfcsb) = (700, 60),
    }
}

proptest! {
    #[test]
    fn no_gate_is_violated(
        kind in 0usize..4,
        list in arrivals(8),
        refresh in 0u32..3,
        gates in finer_gates(),
        queue in 1u32..64,
        write_queue in prop_oneof![Just(0), 32u32..64],
    ) {
        let (name, mut config) = kinds()[kind].clone();
        gates.set(&mut config.timing);
        config.write_queue = write_queue;
        config.queue = queue;
        config.write_high = queue.div_ceil(2);
        config.write_low = queue / 4;
        prop_assume!(config.write_low < config.write_high);
        set_refresh(&mut config.timing, refresh);
        let outcome = serve(&config, &list);
        if let Err(complaint) = check(&config, &list, &outcome) {
            return Err(TestCaseError::fail(format!("{name}: {complaint}")));
        }
        prop_assert_eq!(serve(&config, &list), outcome);
    }

    /// Cycles are settled before they are left, so it makes no difference how often the channel is asked. (There is room
    /// for all: a full channel can be refilled earlier by those who ask more often.)
    #[test]
    fn asking_more_often_changes_nothing(
        kind in 0usize..4,
        list in arrivals(8),
        refresh in 0u32..3,
        gates in finer_gates(),
        asked in prop::collection::btree_set(0u64..6000, 0..200),
    ) {
        let (name, mut config) = kinds()[kind].clone();
        config.queue = 300;
        gates.set(&mut config.timing);
        set_refresh(&mut config.timing, refresh);
        let asked: Vec<u64> = asked.into_iter().collect();
        prop_assert_eq!(serve_asking(&config, &list, &asked), serve(&config, &list), "{}", name);
    }
}

/// One of the timings.
type Gate = fn(&mut DramTiming) -> &mut u32;

/// The checker is not blind: a channel that believes in a gate one cycle too short is found out, whichever gate it is.
#[test]
fn the_checker_sees_every_gate() {
    let (_, mut strict) = kinds()[1].clone();
    // Beyond RAS + RP, or RC would be implied by them.
    strict.timing.rc = strict.timing.ras + strict.timing.rp + 5;
    (strict.timing.refi, strict.timing.rfc) = (1500, 120);
    (strict.timing.rrdl, strict.timing.faw) = (14, 60);
    (strict.timing.wtrl, strict.timing.rtw) = (14, 30);
    let gates: [(&str, Gate); 18] = [
        ("CCD", |t| &mut t.ccd),
        ("CCDL", |t| &mut t.ccdl),
        ("RRD", |t| &mut t.rrd),
        ("RCD", |t| &mut t.rcd),
        ("RAS", |t| &mut t.ras),
        ("RP", |t| &mut t.rp),
        ("RC", |t| &mut t.rc),
        ("CL", |t| &mut t.cl),
        ("WL", |t| &mut t.wl),
        ("WR", |t| &mut t.wr),
        ("CDLR", |t| &mut t.cdlr),
        ("RTPL", |t| &mut t.rtpl),
        ("RFC", |t| &mut t.rfc),
        ("RRDL", |t| &mut t.rrdl),
        ("FAW", |t| &mut t.faw),
        ("WTRL", |t| &mut t.wtrl),
        ("RTW", |t| &mut t.rtw),
        ("RFCSB", |t| &mut t.rfcsb),
    ];
    for (name, gate) in gates {
        let (mut strict, mut loose) = (strict.clone(), strict.clone());
        if name == "CCD" {
            // The data bus hides a CCD that is not longer than an access.
            (strict.timing.ccd, loose.timing.ccd) = (5, 5);
        }
        if name == "CL" {
            // It is a gate where nothing else says when writes may follow reads.
            (strict.timing.rtw, loose.timing.rtw) = (0, 0);
        }
        if name == "RFCSB" {
            (strict.timing.rfcsb, loose.timing.rfcsb) = (100, 100);
        }
        *gate(&mut loose.timing) -= 1;
        let found = (0..200).any(|seed| {
            let list = scattered(seed, 200);
            let outcome = serve(&loose, &list);
            assert_eq!(check(&loose, &list, &outcome), Ok(()), "{name}");
            check(&strict, &list, &outcome).is_err()
        });
        assert!(found, "a shorter {name} goes unnoticed");
    }
}

/// Requests from a generator, the same for the same seed.
fn scattered(seed: u64, count: u32) -> Vec<(u64, DramRequest)> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % limit
    };
    let mut now = 0;
    let mut arrival = |tag| {
        now += if below(4) == 0 { below(200) } else { below(8) };
        let (bank, row, accesses) = (below(8) as u16, below(3) as u32, below(4) as u8 + 1);
        (now, DramRequest { row, bank, accesses, write: below(5) < 2, tag })
    };
    (0..count).map(&mut arrival).collect()
}
