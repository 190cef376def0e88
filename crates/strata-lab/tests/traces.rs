//! Recorded programs: a replay takes the cycles of the execution, and a trace that is missing or damaged is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_lab::{LabError, Monitor, RunRequest, RunResult, What, run, trace};

const GPU: &str = "titan-x-pascal";

fn request(what: What, folder: &Path) -> RunRequest {
    RunRequest { out: Some(folder.join("out")), ..RunRequest::new(what) }
}

fn carried_out(request: &RunRequest) -> Result<RunResult, LabError> {
    run(request, &Arc::new(Monitor::default()))
}

/// Records a program at size tiny (if it has sizes).
fn record(what: &What, folder: &Path) -> (RunResult, PathBuf) {
    let file = folder.join("program.strata-trace");
    let request = RunRequest { size: size(what), ..request(what.clone(), folder) };
    let result = trace::record(&request, &file, &Arc::new(Monitor::default())).unwrap_or_else(|e| panic!("{e}"));
    (result, file)
}

fn size(what: &What) -> Option<String> {
    matches!(what, What::Workload(_)).then(|| "tiny".to_owned())
}

fn replay(file: &Path, folder: &Path) -> Result<RunResult, LabError> {
    carried_out(&RunRequest { gpu: Some(GPU.into()), ..request(What::Trace(file.to_owned()), folder) })
}

/// A replay of `what` gives the counts and the cycles of its execution, launch by launch.
fn check(what: &What) {
    let folder = tempfile::tempdir().expect("a folder");
    let (recorded, file) = record(what, folder.path());
    assert!(recorded.is_success(), "{what:?}: {:?}", recorded.error);
    let timed = RunRequest { gpu: Some(GPU.into()), size: size(what), ..request(what.clone(), folder.path()) };
    let executed = carried_out(&timed).unwrap_or_else(|e| panic!("{what:?}: {e}"));
    let replayed = replay(&file, folder.path()).unwrap_or_else(|e| panic!("{what:?}: {e}"));
    assert_eq!((replayed.passed, &replayed.error), (None, &None), "{what:?}");
    assert_eq!(replayed.about.name, executed.about.name);
    assert_eq!(replayed.kernels.len(), executed.kernels.len(), "{what:?}");
    for (k, (ours, theirs)) in replayed.kernels.iter().zip(&executed.kernels).enumerate() {
        assert_eq!((&ours.name, &ours.counts), (&theirs.name, &theirs.counts), "{what:?}, launch {k}");
        assert_eq!(ours.cycles, theirs.cycles, "{what:?}, launch {k}");
    }
}

#[test]
fn workloads_take_the_same_cycles() {
    for name in ["vectoradd", "reduction", "bfs", "matmul-tiled"] {
        check(&What::Workload(name.into()));
    }
}

/// A launch file with one kernel `k(out)`, `threads` words of `out`.
fn program(folder: &Path, body: &str, grid: u32, block: u32) -> What {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n{body}\nret;\n}}\n"
    );
    fs::write(folder.join("k.ptx"), text).expect("written");
    let file = folder.join("k.toml");
    let launch = format!(
        "ptx = \"k.ptx\"\n[buffers.out]\ntype = \"u32\"\ncount = {}\ninit = \"zeros\"\n\
         [[launch]]\nkernel = \"k\"\ngrid = {grid}\nblock = {block}\nargs = [\"out\"]\n",
        grid * block
    );
    fs::write(&file, launch).expect("written");
    What::LaunchFile(file)
}

/// Warp 0 takes 100 rounds and does `last`; the others do `barrier` and then take 100 rounds. So a barrier that opens too
/// early shows in the cycles.
fn late(last: &str, barrier: &str) -> String {
    let rounds = |name: &str| {
        format!("mov.u32 %r3, 100;\n{name}:\nsub.u32 %r3, %r3, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra {name};")
    };
    let (before, after) = (rounds("BEFORE"), rounds("AFTER"));
    format!("setp.ge.u32 %p1, %r1, 32;\n@%p1 bra WAITS;\n{before}\n{last}\nret;\nWAITS:\n{barrier}\n{after}")
}

/// The slot a CTA runs in decides where its local memory is.
#[test]
fn local_memory_moves_with_the_slot() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "
    .local .align 4 .b8 depot[64];
    and.b32 %r3, %r1, 15;
    mul.wide.u32 %rd2, %r3, 4;
    mov.u64 %rd3, depot;
    add.s64 %rd4, %rd3, %rd2;
    st.local.u32 [%rd4], %r1;
    ld.local.u32 %r4, [%rd4];
    mad.lo.s32 %r5, %r2, 64, %r1;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd1, %rd5;
    st.global.u32 [%rd6], %r4;";
    check(&program(folder.path(), body, 2000, 64));
}

/// Recorded, warp 0 exits first; in time, the others wait for its exit.
#[test]
fn a_barrier_waits_for_exits() {
    let folder = tempfile::tempdir().expect("a folder");
    check(&program(folder.path(), &late("", "bar.sync 0;"), 3, 128));
}

/// Recorded, warp 0 arrives first; in time, the others wait for it.
#[test]
fn a_barrier_waits_for_arrivals() {
    let folder = tempfile::tempdir().expect("a folder");
    check(&program(folder.path(), &late("bar.arrive 1, 64;", "bar.sync 1, 64;"), 3, 64));
}

/// CTA 0 waits for CTA 1: it is recorded to its end and replayed, if not in the same time.
#[test]
fn blocks_that_wait_for_each_other_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra SET;
WAIT:
    ld.volatile.global.u32 %r3, [%rd1];
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra WAIT;
    ret;
SET:
    mov.u32 %r4, 1;
    st.volatile.global.u32 [%rd1], %r4;";
    let (recorded, file) = record(&program(folder.path(), body, 2, 32), folder.path());
    assert!(recorded.is_success(), "{:?}", recorded.error);
    let replayed = replay(&file, folder.path()).expect("whole");
    assert_eq!(replayed.counts(), recorded.counts());
}

#[test]
fn a_failing_program_leaves_no_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "    st.global.u32 [%rd1+4096], %r1;";
    let (result, file) = record(&program(folder.path(), body, 2, 32), folder.path());
    assert!(result.error.expect("why").contains("out of bounds"));
    assert!(!file.exists());
    let left: Vec<_> = fs::read_dir(folder.path()).expect("there").map(|e| e.expect("an entry").file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("partial")), "{left:?}");
}

#[test]
fn a_damaged_trace_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, file) = record(&What::Workload("vectoradd".into()), folder.path());
    let whole = fs::read(&file).expect("there");
    let refused = |bytes: &[u8], cause: &str| {
        fs::write(&file, bytes).expect("written");
        let error = replay(&file, folder.path()).expect_err("damaged").to_string();
        assert!(error.contains("program.strata-trace") && error.contains(cause), "{error}");
    };
    refused(&whole[..whole.len() / 2], "cut off");
    // Inside the first block of CTAs: found when the machine comes there.
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    refused(&changed, "the checksum is wrong");
    refused(b"not a trace at all", "no StrataSim trace");
}

#[test]
fn what_makes_no_sense_is_refused_with_the_cure() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, file) = record(&What::Workload("vectoradd".into()), folder.path());
    let trace = request(What::Trace(file.clone()), folder.path());
    let refused = |request: &RunRequest, part: &str| {
        let error = carried_out(request).expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&trace, "--gpu NAME");
    refused(&RunRequest { gpu: Some(GPU.into()), seed: Some(3), ..trace.clone() }, "leave these options out");
    let record = |file: &Path, request: &RunRequest| {
        trace::record(request, file, &Arc::new(Monitor::default())).expect_err("refused").to_string()
    };
    let workload = request(What::Workload("vectoradd".into()), folder.path());
    assert!(record(&file.with_extension("trace"), &workload).contains("program.strata-trace"));
    assert!(record(&file, &trace).contains("--gpu NAME"), "a trace is not recorded again");
}
