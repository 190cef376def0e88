//! What has to wait waits exactly as long as it must, and the reason is counted.

use crate::latency::{To, answered};
use crate::script::{BARRIER, Bench, gpu, load_word, run, script, use_of};
use strata_core::OpClass;
use strata_testkit::Instr;

/// `n` instructions that need nothing of each other.
fn independent(n: u32) -> Vec<Instr> {
    (0..n).map(|k| Instr::add(k, 50 + k)).collect()
}

/// `n` instructions that each need the one before.
fn chain(n: u32) -> Vec<Instr> {
    vec![Instr::add(1, 1); n as usize]
}

#[test]
fn a_full_mshr_file_holds_a_request_until_an_answer_is_back() {
    let program = [load_word(1, 0), load_word(2, 1 << 20), use_of(1), use_of(2)];
    let mut bench = Bench::new(gpu("titan-v", &["l1.mshrs=1"]));
    let (begin, config) = (bench.begin(), bench.0.config().clone());
    let ran = bench.run(script(&[&program]));
    let first = answered(&config, begin, To::Dram);
    // The second request has done its way to the MSHRs when the first answer comes, and leaves at once.
    let second = answered(&config, first - u64::from(config.l1.miss_latency), To::Dram);
    assert_eq!(begin + ran.cycles, second + 1);
    assert!(ran.counted.machine.wait_mshr > 0);
    let wide = run(&gpu("titan-v", &["l1.mshrs=2"]), &[&program]);
    assert_eq!(wide.counted.machine.wait_mshr, 0);
    assert!(wide.cycles < ran.cycles);
}

#[test]
fn a_full_l2_mshr_file_holds_the_slice() {
    let program = [load_word(1, 0), load_word(2, 1 << 20), use_of(1), use_of(2)];
    let one_slice = ["dram.channels=1", "l2.slices=1"];
    let narrow = run(&gpu("titan-v", &[&one_slice[..], &["l2.mshrs=1"]].concat()), &[&program]);
    let wide = run(&gpu("titan-v", &one_slice), &[&program]);
    assert_eq!(wide.counted.machine.wait_memory_queue, 0);
    assert!(narrow.counted.machine.wait_memory_queue > 0);
    assert!(narrow.cycles > wide.cycles, "{} and {}", narrow.cycles, wide.cycles);
}

#[test]
fn memory_instructions_wait_for_room_before_the_load_store_unit() {
    // Each load occupies the unit for 8 cycles; with one place before it, the third load waits for the second to begin.
    let program: Vec<Instr> = (0..4).map(|k| load_word(k, 0)).collect();
    let config = |places: &str| {
        let mut config = gpu("titan-v", &["l1.instruction_cycles=8", places]);
        config.isa.rows.iter_mut().for_each(|(_, row)| row.interval = 1.0);
        config
    };
    let ran = run(&config("sm.memory_queue=1"), &[&program]);
    // They issue at 0, 1, 2 and 8. The third finds room at 8 and the fourth at 16: until then the warp goes no further.
    assert_eq!(ran.counted.machine.stall_queue, 5 + 7);
    let roomy = run(&config("sm.memory_queue=8"), &[&program]);
    assert_eq!(roomy.counted.machine.stall_queue, 0);
}

#[test]
fn sms_of_one_port_send_one_after_another() {
    let both = |per_port: u32| {
        let port = format!("sm.per_port={per_port}");
        let mut bench = Bench::new(gpu("titan-v", &["sm.count=2", "crossbar.sm_out_bytes=4", &port]));
        bench.run(script(&[&[load_word(1, 0), use_of(1)]]).grid(2, 1 << 20))
    };
    let (apart, shared) = (both(1), both(2));
    let config = gpu("titan-v", &[]);
    let header = u64::from(config.crossbar.header_bytes / 4);
    // Each header takes its cycles at 4 B per cycle; at a common port the second waits for the first.
    assert_eq!(apart.counted.machine.wait_request_port, 2 * header);
    assert_eq!(shared.counted.machine.wait_request_port, 3 * header);
    assert!(shared.cycles > apart.cycles);
}

#[test]
fn a_barrier_opens_for_the_last_warp_and_counts_them_one_by_one() {
    let config = gpu("titan-v", &["sm.barrier_cycles=1"]);
    let latency = |name, class| u64::from(config.isa.timing(name, class).latency.round() as u32);
    let barrier = latency("bar.sync", strata_core::OpClass::Barrier).max(1);
    let add = latency("add.s32", strata_core::OpClass::Int);
    let late = [&chain(20)[..], &[BARRIER], &chain(1)].concat();
    let ran = run(&config, &[&[BARRIER, use_of(7)], &late]);
    // The late warp's barrier needs no register: it issues after the 20th addition, 19 latencies in.
    let opens = 19 * add + 1 + barrier;
    // Its last addition also waits for its own register.
    let last = opens.max(20 * add) + 1;
    assert_eq!(ran.cycles, last);
    // The early warp issued its barrier at once and waited for all but that cycle; the late one for its own latency.
    assert_eq!(ran.counted.machine.stall_barrier, (opens - 1) + (barrier - 1));
    // With many cycles per warp, counting them is what takes time.
    let slow = run(&gpu("titan-v", &["sm.barrier_cycles=64"]), &[&[BARRIER], &[BARRIER], &[BARRIER]]);
    assert_eq!(slow.cycles, barrier + 2 * 64);
}

#[test]
fn a_division_takes_its_steps_one_after_another() {
    let config = gpu("titan-v", &["isa.rows.div.rn.f32.steps=\"special +special f32*2 control\""]);
    let divide = Instr::compute(OpClass::FloatDiv, "div.rn.f32").to(1).needs(&[0]);
    let ran = run(&config, &[&[divide, use_of(1)]]);
    let latency = |class: OpClass| u64::from(config.isa.timing("", class).latency.round() as u32);
    let interval = config.isa.timing("", OpClass::Special).interval.round() as u64;
    // Two products wait for the reciprocal and for each other; the branch for them and for the check, which had the unit second.
    let branch = (latency(OpClass::Special) + 2 * latency(OpClass::F32)).max(interval + latency(OpClass::Special));
    assert_eq!(ran.cycles, branch + 1 + u64::from(config.isa.branch_cycles) + 1);
    assert_eq!(ran.counted.machine.warp_instructions, 6);
}

#[test]
fn greedy_stays_with_a_warp_and_round_robin_goes_in_turn() {
    let (a, n) = (independent(20), 20);
    let ran = |policy: &str| {
        let policy = format!("sm.policy={policy}");
        let config = gpu("titan-v", &["sm.schedulers=1", "isa.rows.int.interval=1", &policy]);
        run(&config, &[&a, &a])
    };
    let (greedy, turns) = (ran("greedy-then-oldest"), ran("loose-round-robin"));
    // All issue slots are used either way.
    assert_eq!((greedy.cycles, turns.cycles), (2 * n, 2 * n));
    // Greedy: the first warp ends after its n instructions, the second has waited for all of them.
    assert_eq!((greedy.counted.machine.resident, greedy.counted.machine.stall_unit), (n + 2 * n, n));
    // In turn: the first warp ends one cycle before the second.
    assert_eq!((turns.counted.machine.resident, turns.counted.machine.stall_unit), (2 * n - 1 + 2 * n, 2 * n - 1));
}

#[test]
fn every_cycle_of_a_warp_has_its_reason() {
    let config = gpu("titan-v", &[]);
    let add = u64::from(config.isa.timing("add.s32", strata_core::OpClass::Int).latency.round() as u32);
    let mut bench = Bench::new(config.clone());
    let begin = bench.begin();
    let ran = bench.run(script(&[&[&[load_word(1, 0), use_of(1)], &chain(3)[..]].concat()]));
    let data = answered(&config, begin, To::Dram) - begin;
    let machine = &ran.counted.machine;
    // Issued: a load, its use, three additions of which each but the first waits for the one before.
    assert_eq!(machine.warp_instructions, 5);
    assert_eq!(machine.stall_memory, data - 1);
    assert_eq!(machine.resident, data + 1 + 1 + 2 * add);
    assert_eq!(machine.resident, ran.cycles);
    let left = machine.resident - machine.warp_instructions - machine.stall_memory;
    assert_eq!(left, 2 * (add - 1), "the rest is waiting for registers");
    let places = u64::from(config.sm.count * config.sm.warps) * ran.cycles;
    assert_eq!(machine.places, places);
}
