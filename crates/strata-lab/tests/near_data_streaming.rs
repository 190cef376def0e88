//! TOM on kernels that do nothing but stream: how far offloading can go on `ndp-maxwell`, by arithmetic.
//!
//! What the paper counts in section 3 and Table 1, for each of the four stacks:
//!
//! * A load moves a line of 128 B over RX and 4 B over TX, so the GPU gets 80 GB/s of a stack, whatever its SMs do.
//! * The vaults give 160 GB/s: no policy can be faster than 2x.
//! * The SM of a stack takes an access of 128 B in a cycle of 1.4 GHz, 179 GB/s: its load/store unit is not the limit. With an
//!   access every four cycles it would be at 44.8 GB/s, and the speed below (80 + 44.8) / 80 = 1.56x.
//! * Little: a warp that waits for each of its loads moves 128 B in the latency of a vault. That is 137 ns on an idle machine
//!   (192 cycles, of which the loop's arithmetic takes about 20), so 48 warps move 45 GB/s, 1.56x; 162 ns if the GPU keeps the
//!   vaults half busy, 38 GB/s, 1.47x. Places that stand empty until the next warp comes to its block cost the rest: 1.31x.
//! * With sixteen loads in flight the 128 MSHRs of L1 are the limit: 128 x 128 B in 162 ns are 101 GB/s on a machine whose
//!   vaults have 80 GB/s left.
//! * A block of 32 lines saves 4 KB on RX and costs two registers of 128 B, and 12 B, on TX: control loses little.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_lab::mechanisms::combination;
use strata_lab::{Monitor, RunRequest, What, run};

/// Lines that each warp reads, one after another: 4 KB, so that bits 12 and 13 can name a stack.
const LINES: usize = 32;

/// Threads of a block of which an SM has room for eight: all 48 warps.
const THREADS: usize = 192;

/// Blocks that read 64 MB.
const BLOCKS: usize = (64 << 20) / 128 / LINES / (THREADS / 32) + 1;

const IDEAL: [&str; 2] = ["tom.policy=ideal", "tom.mapping=baseline"];

/// Writes a kernel whose warps have so many loads in flight, and the file that launches it.
fn stream(folder: &Path, loads: usize) -> PathBuf {
    let load = |k: usize| format!("ld.global.f32 %f{}, [%rd3+{}];\n", k + 2, 128 * k);
    let add = |k: usize| format!("add.f32 %f1, %f1, %f{};\n", k + 2);
    let body: String = (0..loads).map(load).chain((0..loads).map(add)).collect();
    let ptx = format!(
        ".version 7.0\n.target sm_52\n.address_size 64\n
        .visible .entry stream(.param .u64 data, .param .u64 sums)
        {{
            .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f<{registers}>;
            ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [sums];
            cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
            mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r4, %r2, {THREADS}, %r1;
            shr.u32 %r5, %r4, 5; and.b32 %r6, %r4, 31;
            mad.lo.u32 %r7, %r5, {words}, %r6; mul.wide.u32 %rd3, %r7, 4; add.u64 %rd3, %rd1, %rd3;
            mov.f32 %f1, 0f00000000; mov.u32 %r8, 0;
        AGAIN:
            {body}
            add.u64 %rd3, %rd3, {bytes};
            add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, {trips}; @%p1 bra AGAIN;
            setp.ne.u32 %p1, %r6, 0; @%p1 bra DONE;
            mul.wide.u32 %rd4, %r5, 4; add.u64 %rd4, %rd2, %rd4; st.global.f32 [%rd4], %f1;
        DONE:
            ret;
        }}\n",
        registers = loads + 2,
        words = 32 * LINES,
        bytes = 128 * loads,
        trips = LINES / loads,
    );
    let warps = BLOCKS * THREADS / 32;
    let buffer =
        |name: &str, count: usize| format!("[buffers.{name}]\ntype = \"f32\"\ncount = {count}\ninit = \"zeros\"\n");
    let launch = format!(
        "ptx = \"stream.ptx\"\n{}{}[[launch]]\nkernel = \"stream\"\ngrid = {BLOCKS}\nblock = {THREADS}\nargs = [\"data\", \
         \"sums\"]\n",
        buffer("data", warps * LINES * 32),
        buffer("sums", warps),
    );
    std::fs::write(folder.join("stream.ptx"), ptx).expect("written");
    std::fs::write(folder.join("stream.toml"), launch).expect("written");
    folder.join("stream.toml")
}

/// Speeds of `ndp-maxwell` with these settings over `ndp-maxwell-68`.
fn speeds<const N: usize>(loads: usize, settings: [&[&str]; N]) -> [f64; N] {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = stream(folder.path(), loads);
    let cycles = |gpu: &str, with: &str, set: &[&str]| {
        let request = RunRequest {
            gpu: Some(gpu.to_owned()),
            with: combination(with).expect("known"),
            set: set.iter().map(|one| (*one).to_owned()).collect(),
            out: Some(folder.path().join("out")),
            ..RunRequest::new(What::LaunchFile(launch.clone()))
        };
        let result = run(&request, &Arc::new(Monitor::default())).expect("a good request");
        assert_eq!(result.error, None, "{set:?}");
        result.cycles().expect("it was timed") as f64
    };
    let baseline = cycles("ndp-maxwell-68", "none", &[]);
    // 64 MB at 320 GB/s are 210 us.
    let at_full_speed = 64.0 * 1.048_576e6 / 320e9 * 1.4e9;
    assert!((1.0..1.05).contains(&(baseline / at_full_speed)), "the links are not busy: {baseline} cycles");
    settings.map(|set| baseline / cycles("ndp-maxwell", "tom", set))
}

#[test]
fn sixteen_loads_in_flight_fill_links_and_vaults() {
    let many = [&IDEAL[..], &["stacks.warps=192", "l1.mshrs=512"]].concat();
    let slow = [&IDEAL[..], &["l1.instruction_cycles=4"]].concat();
    let [ideal, more, pipe, controlled] = speeds(16, [&IDEAL, &many, &slow, &["tom.mapping=oracle"]]);
    assert!((1.65..2.0).contains(&ideal), "ideal {ideal}");
    assert!((1.85..2.0).contains(&more), "ideal with 192 warps and as many misses {more}");
    assert!(pipe <= 1.56, "an access every four cycles moves 44.8 GB/s, but {pipe}");
    assert!(controlled >= 0.9 * ideal, "controlled {controlled}, ideal {ideal}");
}

#[test]
fn one_load_in_flight_moves_what_littles_law_says() {
    let many = [&IDEAL[..], &["stacks.warps=192"]].concat();
    let waiting = [&IDEAL[..], &["tom.pending_limit=96"]].concat();
    let [ideal, full, more, controlled] = speeds(1, [&IDEAL, &waiting, &many, &["tom.mapping=oracle"]]);
    assert!((1.3..1.56).contains(&ideal), "ideal {ideal}");
    assert!((1.45..1.56).contains(&full), "with a warp for every place that gets empty {full}");
    assert!((1.8..2.0).contains(&more), "192 warps {more}");
    assert!(controlled >= 0.9 * ideal, "controlled {controlled}, ideal {ideal}");
}
