//! Lost data is found: each test leaves one step of the machine out and names what must be said; with the step, all is well.

use super::*;
use crate::config::GpuConfig;
use crate::machine::MachineBuilder;
use crate::machine::testing::{gpu, run};
use strata_core::{Allocation, HostEvent};
use strata_testkit::Instr;

const A: u64 = 0x10000;

/// A machine that checks data, with `A` allocated.
fn machine(config: GpuConfig) -> Machine {
    let mut builder = MachineBuilder::new(config);
    builder.check_data();
    let mut machine = builder.build().unwrap();
    tell(&mut machine, &HostEvent::Alloc(Allocation::on_device(0, "A", Addr(A), Bytes(0x400))));
    machine
}

fn tell(machine: &mut Machine, event: &HostEvent) {
    machine.host_event(event, |_, _| ());
}

fn copy_in(machine: &mut Machine, start: u64, size: u64) {
    tell(machine, &HostEvent::CopyIn { start: Addr(start), size: Bytes(size) });
}

/// One line per slice and set: whatever comes pushes out what was there.
fn small_l2() -> GpuConfig {
    let mut config = gpu("titan-v");
    (config.l2.sets, config.l2.ways) = (1, 2);
    config
}

/// Runs the kernels, the host writing `A` between them, and copies `A` out.
fn kernels(
    config: &GpuConfig,
    leave_out: Option<Mutation>,
    kernels: &[&[&[Instr]]],
) -> Result<CheckCounts, MachineError> {
    let mut machine = machine(config.clone());
    machine.checker.as_mut().unwrap().leave_out = leave_out;
    for warps in kernels {
        copy_in(&mut machine, A, 0x400);
        run(&mut machine, warps)?;
    }
    machine.check_copy_out(Addr(A), Bytes(0x400))?;
    Ok(machine.checked().unwrap())
}

#[test]
fn a_store_that_does_not_update_its_own_l1() {
    let script = [Instr::load(A + 64), Instr::store(A + 64), Instr::load(A + 64)];
    let expected = "the load of PTX line 3 in launch 1 on SM 0 at cycle CYCLE finds old data in the sector at A+0x40: \
                    L1 of SM 0 lacks the write of PTX line 2 in launch 1 on SM 0 at cycle CYCLE; \
                    an update or invalidation of L1 by its own SM was missed";
    check(&gpu("titan-v"), Mutation::L1Update, &[&[&script]], expected);
}

#[test]
fn an_l1_that_is_not_emptied_at_launch() {
    let mut config = gpu("titan-v");
    config.shared.from_l1 = false;
    let expected = "the load of PTX line 1 in launch 2 on SM 0 at cycle CYCLE finds old data in the sector at A+0x0: \
                    L1 of SM 0 lacks a write of the host; an invalidation of L1 at the begin of the kernel was missed";
    // The first launch finds nothing to empty: the step is left out at the second.
    let mut left_out = machine(config.clone());
    for launch in 0..2 {
        copy_in(&mut left_out, A, 0x400);
        left_out.checker.as_mut().unwrap().leave_out = (launch == 1).then_some(Mutation::L1Flush);
        let result = run(&mut left_out, &[&[Instr::load(A)]]);
        match launch {
            0 => result.unwrap(),
            _ => assert_eq!(
                without_cycles(&result.unwrap_err().to_string()),
                format!("the machine lost data: {expected}")
            ),
        }
    }
    kernels(&config, None, &[&[&[Instr::load(A)]], &[&[Instr::load(A)]]]).unwrap();
}

#[test]
fn a_dirty_sector_that_is_not_written_back() {
    // Enough other lines to push `A` out of every slice.
    let mut script = vec![Instr::store_line(A)];
    script.extend((1..600).map(|k| Instr::load_past_l1(A + 0x10000 + 128 * k)));
    script.push(Instr::load_past_l1(A));
    let expected = "the load of PTX line 601 in launch 1 on SM 0 at cycle CYCLE finds old data in the sector at A+0x0: \
                    L2 slice SLICE lacks the write of PTX line 1 in launch 1 on SM 0 at cycle CYCLE; \
                    a write-back of a dirty sector was missed";
    check(&small_l2(), Mutation::WriteBack, &[&[&script]], expected);
}

#[test]
fn a_lost_write_back_that_nobody_reads_is_found_at_the_end_of_the_kernel() {
    let mut script = vec![Instr::store(A)];
    script.extend((1..600).map(|k| Instr::load_past_l1(A + 0x10000 + 128 * k)));
    let mut config = small_l2();
    config.l2.copies_fill = false;
    let expected = "the end of a kernel finds old data in the sector at A+0x0: memory lacks the write of PTX line 1 \
                    in launch 1 on SM 0 at cycle CYCLE; a write-back of a dirty sector was missed";
    check(&config, Mutation::WriteBack, &[&[&script]], expected);
}

#[test]
fn a_fill_that_overwrites_what_a_store_had_put_there() {
    let mut config = gpu("titan-x-pascal");
    config.l2.copies_fill = false;
    let script = [Instr::store(A + 4), Instr::load(A)];
    let expected = "the load of PTX line 2 in launch 1 on SM 0 at cycle CYCLE finds old data in the sector at A+0x0: \
                    L2 slice SLICE lacks the write of PTX line 1 in launch 1 on SM 0 at cycle CYCLE; \
                    a fill was not merged with bytes that stores had written";
    check(&config, Mutation::FillMerge, &[&[&script]], expected);
}

#[test]
fn a_sector_that_is_taken_for_whole_before_it_is() {
    let mut config = gpu("titan-v");
    config.l2.copies_fill = false;
    let script = [Instr::store(A + 4), Instr::load_past_l1(A)];
    let mut machine = machine(config.clone());
    copy_in(&mut machine, A, 0x400);
    machine.checker.as_mut().unwrap().leave_out = Some(Mutation::ByteCount);
    let error = run(&mut machine, &[&script]).unwrap_err().to_string();
    assert!(without_cycles(&error).contains("lacks a write of the host"), "{error}");
    kernels(&config, None, &[&[&script]]).unwrap();
}

#[test]
fn a_stale_l1_line_of_another_sm_is_a_race_of_the_program() {
    let pause: Vec<_> = (0..20).map(|k| Instr::load_past_l1(A + 0x10000 + 128 * k)).collect();
    let reads = [&[Instr::load(A)], &pause[..], &[Instr::load(A)]].concat();
    let writes = [&pause[..10], &[Instr::store(A)]].concat();
    let counts = kernels(&gpu("titan-v"), None, &[&[&reads, &writes]]).unwrap();
    assert_eq!((counts.races, counts.overtaken), (1, 0));
    let past_l1 = [&[Instr::load(A)], &pause[..], &[Instr::load_past_l1(A)]].concat();
    let counts = kernels(&gpu("titan-v"), None, &[&[&past_l1, &writes]]).unwrap();
    assert_eq!((counts.races, counts.overtaken), (0, 0));
}

#[test]
fn what_a_copy_pushes_out_of_l2_is_in_memory() {
    let mut machine = machine(small_l2());
    run(&mut machine, &[&[Instr::store_line(A)]]).unwrap();
    copy_in(&mut machine, A + 0x10000, 128 * 600);
    assert!(!machine.l2_state(Addr(A).line()).1.valid.0 != 0);
    machine.check_copy_out(Addr(A), Bytes(128)).unwrap();
}

#[test]
fn a_copy_into_a_part_of_a_line_leaves_the_rest() {
    let mut machine = machine(gpu("titan-v"));
    run(&mut machine, &[&[Instr::store_line(A), Instr::store(A + 128)]]).unwrap();
    copy_in(&mut machine, A + 4, 4);
    tell(&mut machine, &HostEvent::Memset { start: Addr(A + 132), size: Bytes(40) });
    machine.check_copy_out(Addr(A), Bytes(256)).unwrap();
    let dirty = |machine: &Machine, a| machine.l2_state(Addr(a).line()).1.dirty;
    assert_eq!((dirty(&machine, A), dirty(&machine, A + 128)), (SectorMask(0b1111), SectorMask(0b0001)));
    copy_in(&mut machine, A, 32);
    assert_eq!(dirty(&machine, A), SectorMask(0b1110));
}

#[test]
fn an_atomic_meets_a_fill_on_its_way_to_its_own_l1() {
    // The load's line is on its way when the atomic of another warp passes; the load after that must see it.
    let mut config = gpu("titan-v");
    config.sm.count = 1;
    let first = [Instr::load(A)];
    let second = [Instr::reduce(A + 4), Instr::load(A + 4)];
    kernels(&config, None, &[&[&first, &second]]).unwrap();
}

#[test]
fn local_stores_update_an_l1_that_global_loads_bypass() {
    let script = [Instr::load_local(A), Instr::store_local(A), Instr::load_local(A)];
    kernels(&gpu("titan-x-pascal"), None, &[&[&script]]).unwrap();
}

#[test]
fn a_load_that_waits_for_two_fills_survives_an_atomic() {
    // Warp 2 waits for the sectors that warps 0 and 1 bring; the atomic of warp 3 empties the line in between.
    let mut config = gpu("titan-v");
    config.sm.count = 1;
    config.l2.copies_fill = false;
    let whole = [Instr::load_line(A)];
    let parts = [&[Instr::load(A)][..], &[Instr::load(A + 32)], &whole, &[Instr::reduce(A)], &whole];
    kernels(&config, None, &[&parts]).unwrap();
}

#[test]
fn ranges_are_cut_into_lines() {
    let lines = |start, size| lines_of(Addr(start), Bytes(size)).map(|(l, t, w)| (l.0, t.0, w.0)).collect::<Vec<_>>();
    assert_eq!(lines(0, 128), [(0, 15, 15)]);
    assert_eq!(lines(100, 64), [(0, 0b1000, 0), (1, 0b0011, 0b0001)]);
    assert_eq!(lines(160, 4), [(1, 0b0010, 0)]);
    assert_eq!(lines(160, 0), []);
}

/// The message with the numbers that depend on timing and hashing replaced.
fn without_cycles(message: &str) -> String {
    let mut words: Vec<String> = message.split(' ').map(str::to_owned).collect();
    for k in 1..words.len() {
        let place = match words[k - 1].as_str() {
            "cycle" => "CYCLE",
            "slice" => "SLICE",
            _ => continue,
        };
        let rest = words[k].trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
        words[k] = format!("{place}{rest}");
    }
    words.join(" ")
}

#[track_caller]
fn check(config: &GpuConfig, step: Mutation, scripts: &[&[&[Instr]]], expected: &str) {
    if let Err(error) = kernels(config, None, scripts) {
        panic!("nothing is left out, yet: {error}");
    }
    let error = kernels(config, Some(step), scripts).expect_err("not found").to_string();
    assert_eq!(without_cycles(&error), format!("the machine lost data: {expected}"));
}
