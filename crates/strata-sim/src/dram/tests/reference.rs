//! The scheduler as one would write it down: every cycle, every request. The channel must give the very same commands.

use super::checker::{arrivals, finer_gates};
use super::{Outcome, access_cycles, kinds, serve};
use crate::config::DramConfig;
use crate::dram::{Command, DramRequest, OVERTAKE_LIMIT};
use proptest::prelude::*;

#[derive(Clone, Copy)]
struct Waiting {
    request: DramRequest,
    left: u8,
}

#[derive(Clone, Copy, Default)]
struct Bank {
    row: Option<u32>,
    /// Earliest read, write, precharge, activate.
    gates: [u64; 4],
}

const READ: usize = 0;
const WRITE: usize = 1;
const PRECHARGE: usize = 2;
const ACTIVATE: usize = 3;

struct Reference<'a> {
    config: &'a DramConfig,
    waiting: Vec<Waiting>,
    banks: Vec<Bank>,
    /// Earliest read, write, (unused), activate of each group.
    groups: Vec<[u64; 4]>,
    any: [u64; 4],
    activates: Vec<u64>,
    /// By kind and bank: how often the oldest request was overtaken.
    overtaken: [Vec<u16>; 2],
    kind: usize,
    draining: bool,
    turn_left: u32,
    outcome: Outcome,
}

impl Reference<'_> {
    fn count(&self, kind: usize) -> u32 {
        self.waiting.iter().filter(|w| usize::from(w.request.write) == kind).count() as u32
    }

    fn take_turns(&mut self) {
        let (reads, writes) = (self.count(READ), self.count(WRITE));
        let (high, low) = (self.config.write_high, self.config.write_low);
        if self.kind == READ && writes > 0 && (reads == 0 || writes >= high && self.turn_left == 0) {
            self.draining = writes >= high && self.turn_left == 0;
            self.turn_left = high - low;
            self.kind = WRITE;
        } else if self.kind == WRITE {
            if !self.draining && writes >= high {
                (self.draining, self.turn_left) = (true, high - low);
            }
            if reads > 0 && (!self.draining || writes <= low || self.turn_left == 0) {
                self.turn_left = if self.draining && writes > low { high - low } else { 0 };
                (self.draining, self.kind) = (false, READ);
            }
        }
    }

    /// The command each bank wants, with the index of the request it is for, by age.
    fn wishes(&self) -> Vec<(usize, usize, usize)> {
        let mut wishes = Vec::new();
        for (bank, state) in self.banks.iter().enumerate() {
            let mine = |w: &&Waiting| usize::from(w.request.write) == self.kind && usize::from(w.request.bank) == bank;
            let index = |wanted: &Waiting| self.waiting.iter().position(|w| std::ptr::eq(w, wanted)).unwrap();
            let Some(oldest) = self.waiting.iter().find(mine) else { continue };
            let hit = self.waiting.iter().filter(mine).find(|w| Some(w.request.row) == state.row);
            let wish = match (hit, state.row) {
                (_, None) => (index(oldest), bank, ACTIVATE),
                (Some(hit), _) if std::ptr::eq(hit, oldest) || self.overtaken[self.kind][bank] < OVERTAKE_LIMIT => {
                    (index(hit), bank, self.kind)
                }
                _ => (index(oldest), bank, PRECHARGE),
            };
            wishes.push(wish);
        }
        wishes.sort_unstable();
        wishes
    }

    fn possible(&self, now: u64, bank: usize, what: usize) -> bool {
        let group = bank * self.groups.len() / self.banks.len();
        let recent = self.activates.iter().filter(|&&at| at + u64::from(self.config.timing.faw) > now).count();
        now >= self.banks[bank].gates[what].max(self.any[what]).max(self.groups[group][what])
            && (what != ACTIVATE || recent < 4)
    }

    fn column(&mut self, now: u64, index: usize, bank: usize) {
        let t = self.config.timing;
        let [ccd, ccdl, cl, wl, wr, cdlr, rtpl] = [t.ccd, t.ccdl, t.cl, t.wl, t.wr, t.cdlr, t.rtpl].map(u64::from);
        let access = access_cycles(self.config);
        let number = bank as u16;
        let group = bank * self.groups.len() / self.banks.len();
        let wtrl = u64::from(t.wtrl.max(t.cdlr));
        let to_read = if self.kind == READ { ccdl } else { ccdl.max(wl + access + wtrl) };
        self.groups[group][READ] = self.groups[group][READ].max(now + to_read);
        self.groups[group][WRITE] = now + ccdl;
        let (next_read, next_write, close, end, command) = if self.kind == READ {
            (
                access,
                if t.rtw > 0 { t.rtw.into() } else { cl + access + 2 - wl },
                rtpl,
                cl + access,
                Command::Read { bank: number },
            )
        } else {
            (wl + access + cdlr, access, wl + access + wr, wl + access, Command::Write { bank: number })
        };
        self.any[READ] = self.any[READ].max(now + ccd.max(next_read));
        self.any[WRITE] = self.any[WRITE].max(now + ccd.max(next_write));
        let gates = &mut self.banks[bank].gates;
        gates[PRECHARGE] = gates[PRECHARGE].max(now + close);
        self.outcome.commands.push((now, command));
        self.waiting[index].left -= 1;
        if self.waiting[index].left == 0 {
            let older = self.waiting[..index]
                .iter()
                .any(|w| usize::from(w.request.bank) == bank && usize::from(w.request.write) == self.kind);
            let overtaken = &mut self.overtaken[self.kind][bank];
            *overtaken = if older { *overtaken + 1 } else { 0 };
            self.outcome.done.push((now + end, self.waiting[index].request.tag));
            self.waiting.remove(index);
            self.turn_left = self.turn_left.saturating_sub(1);
            self.take_turns();
        }
    }

    fn row(&mut self, now: u64, index: usize, bank: usize, what: usize) {
        let t = self.config.timing;
        let [rrd, rcd, ras, rp, rc, wl] = [t.rrd, t.rcd, t.ras, t.rp, t.rc, t.wl].map(u64::from);
        let number = bank as u16;
        let state = &mut self.banks[bank];
        if what == ACTIVATE {
            let row = self.waiting[index].request.row;
            state.row = Some(row);
            state.gates = [now + rcd, now + rcd.saturating_sub(wl + 1), now + ras, now + rc];
            self.any[ACTIVATE] = now + rrd;
            let group = bank * self.groups.len() / self.banks.len();
            self.groups[group][ACTIVATE] = now + rrd.max(t.rrdl.into());
            self.activates.push(now);
            self.outcome.commands.push((now, Command::Activate { bank: number, row }));
        } else {
            state.row = None;
            state.gates[ACTIVATE] = state.gates[ACTIVATE].max(now + rp);
            self.outcome.commands.push((now, Command::Precharge { bank: number }));
        }
    }

    fn cycle(&mut self, now: u64) {
        let wishes = self.wishes();
        let column = wishes.into_iter().find(|&(_, bank, what)| what <= WRITE && self.possible(now, bank, what));
        if let Some((index, bank, _)) = column {
            self.column(now, index, bank);
        }
        let wishes = self.wishes();
        let row = wishes.into_iter().find(|&(_, bank, what)| what > WRITE && self.possible(now, bank, what));
        if let Some((index, bank, what)) = row {
            self.row(now, index, bank, what);
        }
    }
}

fn reference(config: &DramConfig, arrivals: &[(u64, DramRequest)]) -> Outcome {
    let banks = config.banks as usize;
    let mut reference = Reference {
        config,
        waiting: Vec::new(),
        banks: vec![Bank::default(); banks],
        groups: vec![[0; 4]; config.bank_groups as usize],
        any: [0; 4],
        activates: Vec::new(),
        overtaken: [vec![0; banks], vec![0; banks]],
        kind: READ,
        draining: false,
        turn_left: 0,
        outcome: Outcome { commands: Vec::new(), done: Vec::new(), stats: super::ChannelStats::default() },
    };
    let mut coming = arrivals.iter().peekable();
    let mut now = 0;
    while coming.peek().is_some() || !reference.waiting.is_empty() {
        while let Some(&(_, request)) = coming.next_if(|a| a.0 <= now) {
            reference.waiting.push(Waiting { request, left: request.accesses });
            reference.take_turns();
        }
        reference.cycle(now);
        now += 1;
    }
    reference.outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_channel_is_the_reference(kind in 0usize..4, list in arrivals(8), high in 2u32..40, gates in finer_gates()) {
        let (name, mut config) = kinds()[kind].clone();
        gates.set(&mut config.timing);
        // Room for all: how a full channel is refilled is the caller's affair.
        config.queue = list.len().max(40) as u32;
        (config.write_high, config.write_low) = (high, high / 3);
        let expected = reference(&config, &list);
        let outcome = serve(&config, &list);
        for (n, (got, wanted)) in outcome.commands.iter().zip(&expected.commands).enumerate() {
            prop_assert_eq!(got, wanted, "{}, command {}", name, n);
        }
        prop_assert_eq!(outcome.done, expected.done, "{}", name);
    }
}
