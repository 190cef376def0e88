//! A launch driven from outside gives the same bytes and counts as one that runs by itself, and tells everything it does.

use std::collections::BTreeSet;
use strata_core::{
    Access, Addr, Bytes, Counts, Dim3, GridSource, OpBatch, OpClass, Space, Stop, WarpId, WarpOp, WarpSource,
    WatchPoint,
};
use strata_emu::{Capacity, Execution, LaunchConfig, Memory, Output, Program};

/// Each block reverses its 64 values through shared memory, doubles the odd ones and counts them.
const TEXT: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry reverse(.param .u64 data, .param .u64 odd)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<6>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [odd];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 64, %r1;
    mul.wide.u32 %rd3, %r3, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    mov.u32 %r5, tile;
    mad.lo.s32 %r6, %r1, 4, %r5;
    st.shared.u32 [%r6], %r4;
    bar.sync 0;
    xor.b32 %r7, %r1, 63;
    mad.lo.s32 %r7, %r7, 4, %r5;
    ld.shared.u32 %r8, [%r7];
    and.b32 %r4, %r8, 1;
    setp.eq.s32 %p1, %r4, 0;
    @%p1 bra EVEN;
    shl.b32 %r8, %r8, 1;
    red.global.add.u32 [%rd2], 1;
EVEN:
    st.global.u32 [%rd4], %r8;
    ret;
}";
const BLOCKS: u32 = 5;

struct Set {
    memory: Memory,
    program: Program,
    config: LaunchConfig,
    data: Addr,
    odd: Addr,
}

impl Set {
    fn new() -> Self {
        let module = strata_ptx::parse("reverse.ptx", TEXT).module.expect("no errors");
        let mut memory = Memory::new(Capacity::default()).unwrap();
        let program = Program::load("reverse.ptx", TEXT, module, &mut memory).unwrap();
        let data = memory.alloc(Bytes(u64::from(BLOCKS) * 256), false, "data").unwrap().start;
        let odd = memory.alloc(Bytes(4), false, "odd").unwrap().start;
        let values: Vec<u8> = (0..BLOCKS * 64).flat_map(|v| (v * 7 % 251).to_le_bytes()).collect();
        memory.write(data, &values).unwrap();
        memory.fill(odd, Bytes(4), 0).unwrap();
        let mut params = data.0.to_le_bytes().to_vec();
        params.extend(odd.0.to_le_bytes());
        let config = LaunchConfig { params, ..LaunchConfig::new(Dim3::from(BLOCKS), Dim3::from(64)) };
        Self { memory, program, config, data, odd }
    }

    fn launch(&mut self) -> Counts {
        self.program
            .launch("reverse", &self.config, &mut self.memory, 1, &Output::default(), &|_| {})
            .expect("the kernel is right")
    }

    fn drive(&mut self) -> (Vec<Told>, Counts) {
        self.program
            .drive("reverse", &self.config, &mut self.memory, 1, &Output::default(), drive)
            .expect("the kernel is right")
    }

    fn contents(&self) -> (Vec<u8>, [u8; 4]) {
        let (mut data, mut odd) = (vec![0; BLOCKS as usize * 256], [0; 4]);
        self.memory.read(self.data, &mut data).unwrap();
        self.memory.read(self.odd, &mut odd).unwrap();
        (data, odd)
    }
}

/// One operation with its addresses.
struct Told {
    op: WarpOp,
    addresses: Vec<u64>,
}

/// Runs all blocks in two slots, warps in turn, and collects what was told.
fn drive(e: &mut Execution<'_>) -> (Vec<Told>, Counts) {
    let mut told = Vec::new();
    let mut batch = OpBatch::default();
    let mut next = 0;
    // By warp: two slots of two.
    let (mut live, mut waiting) = ([false; 4], [false; 4]);
    loop {
        for slot in 0..2u32 {
            if !live[slot as usize * 2] && !live[slot as usize * 2 + 1] && next < e.ctas() {
                e.start_cta(slot, next);
                next += 1;
                live[slot as usize * 2..][..2].fill(true);
            }
        }
        if live == [false; 4] {
            return (told, e.counts());
        }
        for slot in 0..2 {
            for w in 0..2 {
                let id = e.warp(slot, w);
                let k = id.0 as usize;
                if !live[k] || waiting[k] {
                    continue;
                }
                batch.clear();
                match e.advance(id, &mut batch) {
                    Stop::Ready => {}
                    Stop::Barrier => waiting[k] = true,
                    Stop::Exited => live[k] = false,
                    Stop::Failed => panic!("{}", e.take_fault().unwrap()),
                }
                for &op in &batch.ops {
                    let set = batch.addresses.get(op.addresses as usize);
                    let addresses = set.map_or_else(Vec::new, |set| batch.lanes(set).iter().map(|a| a.0).collect());
                    told.push(Told { op, addresses });
                }
                let mut opened = Vec::new();
                e.take_opened(&mut opened);
                for id in opened {
                    waiting[id.0 as usize] = false;
                }
            }
        }
    }
}

#[test]
fn driven_and_free_runs_agree() {
    let (mut free, mut driven) = (Set::new(), Set::new());
    let counts = free.launch();
    let (told, driven_counts) = driven.drive();
    assert_eq!(free.contents(), driven.contents());
    assert_ne!(free.contents().1, [0; 4]);
    assert_eq!(counts, driven_counts);
    assert_eq!(told.len() as u64, counts.warp_instructions());
}

#[test]
fn addresses_and_masks_are_told() {
    let mut set = Set::new();
    let infos = set.program.instructions("reverse").unwrap();
    let (told, _) = set.drive();
    let info = |t: &Told| &infos[t.op.pc as usize];
    let is_load = |t: &&Told| info(t).access == Access::Load && info(t).space == Space::Global;
    let loads: Vec<&Told> = told.iter().filter(is_load).collect();
    assert_eq!(loads.len(), BLOCKS as usize * 2);
    let starts: BTreeSet<u64> = loads.iter().map(|t| t.addresses[0]).collect();
    assert_eq!(starts, (0..u64::from(BLOCKS) * 2).map(|k| set.data.0 + k * 128).collect());
    assert!(loads.iter().all(|t| t.op.mask == u32::MAX && t.addresses[31] == t.addresses[0] + 124));
    // Half of a warp's values are odd, so the reduction runs under a partial mask; masked lanes have no address.
    let reduction = told.iter().find(|t| info(t).access == Access::Reduce).unwrap();
    let mask = reduction.op.mask;
    assert!(mask != u32::MAX && mask != 0);
    assert!((0..32).all(|l| (reduction.addresses[l] == set.odd.0) == (mask >> l & 1 != 0)));
    let barriers = told.iter().filter(|t| info(t).class == OpClass::Barrier).count();
    assert_eq!(barriers, BLOCKS as usize * 2);
}

#[test]
fn segments_end_where_somebody_watches_and_registers_are_shown() {
    let mut set = Set::new();
    let data = set.data;
    // Program counter 7 loads from what %rd4 holds.
    let function = strata_ptx::parse("reverse.ptx", TEXT).module.expect("no errors").functions.remove(0);
    let number = |name: &str| function.registers.iter().position(|r| r.name == name).expect("named") as u32;
    let point = WatchPoint { pc: 7, registers: vec![number("%r3"), number("%rd4"), number("%p1")] };
    let drive = |e: &mut Execution<'_>| {
        e.watch(&[point]);
        e.start_cta(0, 2);
        let mut batch = OpBatch::default();
        let mut advance = |e: &mut Execution<'_>| {
            batch.clear();
            let stop = e.advance(WarpId(1), &mut batch);
            (stop, batch.ops[0].pc, batch.ops.len(), e.watched().to_vec())
        };
        [advance(e), advance(e)]
    };
    let config = set.config.clone();
    let [first, second] =
        set.program.drive("reverse", &config, &mut set.memory, 1, &Output::default(), drive).expect("it runs");
    assert_eq!(first, (Stop::Ready, 0, 7, Vec::new()), "seven instructions, then the point");
    let (stop, pc, _, values) = second;
    assert_eq!((stop, pc, values.len()), (Stop::Barrier, 7, 3));
    let thread = 2 * 64 + 32;
    assert_eq!((values[0][0], values[0][5]), (thread, thread + 5));
    assert_eq!(values[1][3], data.0 as i64 + 4 * (thread + 3));
    assert_eq!(values[2][0], 0, "a predicate is no number");
}

#[test]
fn a_point_can_be_the_last_instruction_of_a_block() {
    const RET: u32 = 21;
    let mut set = Set::new();
    let drive = |e: &mut Execution<'_>| {
        e.watch(&[WatchPoint { pc: RET, registers: Vec::new() }]);
        let (told, counts) = drive(e);
        let returns: Vec<_> = told.iter().filter(|t| t.op.pc == RET).collect();
        assert_eq!(returns.len() as u32, 2 * BLOCKS, "each warp returns once");
        counts
    };
    let config = set.config.clone();
    let counts = set.program.drive("reverse", &config, &mut set.memory, 1, &Output::default(), drive).expect("it runs");
    assert_eq!(counts, Set::new().launch(), "cuts change nothing");
}
