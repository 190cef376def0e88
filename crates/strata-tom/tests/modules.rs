//! Whole modules: what compilers wrote, what nobody would write, and how long it takes.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use strata_core::random::SplitMix64;
use strata_ptx::ast::{Module, Type};
use strata_testkit::shuffled;
use strata_tom::candidate::{Assumptions, Found, find};

fn folder(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// The PTX files in a folder and in the folders in it, by name.
fn ptx_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(ptx_files(&path));
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn parse(path: &Path) -> Module {
    let text = std::fs::read_to_string(path).expect("readable");
    strata_ptx::parse("file.ptx", &text).module.unwrap_or_else(|| panic!("{} has errors", path.display()))
}

/// What must hold of every table, whatever the module.
fn verify(module: &Module, found: &[Found]) {
    let assumptions = Assumptions::default();
    for Found { function, candidates, .. } in found {
        let function = &module.functions[*function];
        let words = |registers: &[strata_ptx::ast::RegId]| -> u64 {
            let types = registers.iter().map(|r| function.registers[r.0 as usize].ty);
            types.filter(|&ty| ty != Type::Pred).map(|ty| u64::from(ty.bits().div_ceil(32))).sum()
        };
        for c in candidates {
            let at = format!("{} at {}..={}", function.name, c.begin, c.end);
            assert!(c.begin <= c.end && (c.end as usize) < function.instructions.len(), "{at}");
            let specials = c.live_in_specials.len() as u64;
            assert_eq!(c.traffic.registers_in, words(&c.live_in) + specials, "{at}");
            assert_eq!(c.traffic.registers_out, words(&c.live_out), "{at}");
            assert_eq!(c.change, assumptions.change(&c.traffic, c.iterations), "{at}");
            assert!(c.change.total() < 0.0, "{at}");
            if let Some(condition) = c.condition {
                assert!(c.live_in.contains(&condition.register), "{at}");
                assert!(assumptions.change(&c.traffic, c.iterations - 1).total() >= 0.0, "{at}");
            }
        }
        assert!(candidates.windows(2).all(|pair| pair[0].end < pair[1].begin), "{} overlaps", function.name);
        assert!(candidates.len() <= assumptions.table_entries);
    }
}

/// One line for each workload: candidates by kind, those with a condition, loops without a candidate. A workload that is
/// not listed yet is searched and not compared; `UPDATE_SNAPSHOT=1 cargo test -p strata-tom` writes the list anew.
#[test]
fn the_workloads() {
    let snapshot = folder("tests/workloads.txt");
    let workloads = folder("../../workloads");
    let mut lines = String::new();
    for path in ptx_files(&workloads) {
        let module = parse(&path);
        let found = find(&module, &Assumptions::default());
        verify(&module, &found);
        let all = || found.iter().flat_map(|f| &f.candidates);
        let of = |kind| all().filter(|c| format!("{:?}", c.kind) == kind).count();
        let _ = writeln!(
            lines,
            "{}: {} loops, {} regions, {} pieces, {} conditional, {} loops refused",
            path.strip_prefix(&workloads).expect("below it").display(),
            of("Loop"),
            of("Region"),
            of("Piece"),
            all().filter(|c| c.condition.is_some()).count(),
            found.iter().map(|f| f.refused.len()).sum::<usize>(),
        );
    }
    if std::env::var_os("UPDATE_SNAPSHOT").is_some() {
        std::fs::write(&snapshot, &lines).expect("it can be written");
    }
    let expected = std::fs::read_to_string(&snapshot).expect("tests/workloads.txt");
    let found: Vec<_> = lines.lines().collect();
    let missing: Vec<_> = expected.lines().filter(|line| !found.contains(line)).collect();
    assert!(missing.is_empty(), "no longer so: {missing:#?}\nfound: {lines}");
}

#[test]
fn modules_of_other_compilers_and_versions() {
    for path in ptx_files(&folder("../strata-ptx/tests/data")) {
        let module = parse(&path);
        verify(&module, &find(&module, &Assumptions::default()));
    }
}

fn kernel(body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<9>; .reg .b64 %a<9>; \
         .reg .pred %p; .reg .f32 %f<9>;\n{body}\n}}\n"
    );
    let parsed = strata_ptx::parse("made.ptx", &text);
    let rendered = parsed.render(&text, false);
    parsed.module.unwrap_or_else(|| panic!("{rendered}"))
}

/// The shortest of three searches: other work on the machine only ever adds.
fn shortest(module: &Module) -> Duration {
    let time = |_| {
        let start = Instant::now();
        verify(module, &find(module, &Assumptions::default()));
        start.elapsed()
    };
    (0..3).map(time).min().expect("three")
}

/// Loops with an arm in them, one after another: 11 lines each.
#[test]
fn ten_thousand_lines_take_less_than_a_second() {
    let mut body = String::new();
    for n in 0..910 {
        let _ = writeln!(
            body,
            "next{n}:\nld.global.f32 %f1, [%a1];\nsetp.gt.f32 %p, %f1, 0f00000000;\n@%p bra skip{n};\n\
             st.global.f32 [%a2], %f1;\nskip{n}:\nadd.s64 %a1, %a1, 4;\nadd.s64 %a2, %a2, 4;\nadd.s32 %r1, %r1, -1;\n\
             setp.ne.s32 %p, %r1, 0;\n@%p bra next{n};\nadd.s32 %r1, %r2, {n};"
        );
    }
    assert!(body.lines().count() > 10_000);
    let took = shortest(&kernel(&body));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

/// Every range of these blocks is a region: the worst that regions can do.
#[test]
fn ten_thousand_arms_in_a_row_stay_cheap() {
    let mut body = String::new();
    for n in 0..10_000 {
        let _ = writeln!(body, "@%p bra arm{n}; st.global.f32 [%a1], %f1; arm{n}: ld.global.f32 %f{}, [%a1];", n % 9);
    }
    let took = shortest(&kernel(&body));
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn loops_in_one_another_and_pieces_without_end_stay_cheap() {
    let mut nested = String::new();
    for n in 0..5_000 {
        let _ = writeln!(nested, "top{n}: ld.global.f32 %f1, [%a1];");
    }
    for n in (0..5_000).rev() {
        let _ = writeln!(nested, "add.s32 %r1, %r1, 1; setp.lt.s32 %p, %r1, {n}; @%p bra top{n};");
    }
    let pieces = "st.global.f32 [%a1], %f1; bar.sync 0; ".repeat(50_000);
    for body in [nested, pieces] {
        let took = shortest(&kernel(&body));
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn odd_functions() {
    for body in [
        "",
        "again: bra again;",
        "ld.global.f32 %f1, [%a1];",
        "@%p exit; st.global.f32 [%a1], %f1; st.global.f32 [%a1], %f1; @%p ret;",
        "again: st.global.f32 [%a1], %f1; st.global.f32 [%a1], %f2; bra again;",
        "bra in; out: ret; in: st.global.f32 [%a1], %f1; @%p bra in; bra out;",
        "@%p bra b; a: st.global.v4.f32 [%a1], {%f1, %f2, %f3, %f4}; b: ld.global.f32 %f1, [%a1]; @%p bra a; bra end; end:",
        "t: .branchtargets x, y, x; x: st.global.v4.f32 [%a1], {%f1, %f1, %f1, %f1}; brx.idx %r1, t; y: ret;",
        "mov.u32 %r1, 0; l: add.s32 %r1, %r1, 0; st.global.f32 [%a1], %f1; setp.ne.s32 %p, %r1, 4; @%p bra l;",
        "l: sub.s64 %a1, %a1, -9223372036854775808; st.global.f32 [%a1], %f1; setp.ne.s64 %p, %a1, 4; @%p bra l;",
        "l: add.s64 %a1, %a1, 9223372036854775807; st.global.f32 [%a1], %f1; setp.lt.s64 %p, %a1, %a2; @%p bra l;",
        "mov.u64 %a1, 1; l: add.s64 %a1, %a1, 1; st.global.f32 [%a1], %f1; setp.lt.u64 %p, %a1, 18446744073709551615; @%p bra l;",
    ] {
        let module = kernel(body);
        verify(&module, &find(&module, &Assumptions::default()));
    }
}

/// Tokens of a real module deleted, repeated and exchanged: what still parses is searched.
#[test]
fn shuffled_modules() {
    let text = std::fs::read_to_string(folder("../../workloads/bfs/bfs.ptx")).expect("readable");
    let lines: Vec<&str> = text.lines().collect();
    let mut random = SplitMix64::new(1);
    let mut searched = 0;
    for _ in 0..400 {
        let text = shuffled(&lines, 4, &[], &mut random).join("\n");
        if let Some(module) = strata_ptx::parse("shuffled.ptx", &text).module {
            verify(&module, &find(&module, &Assumptions::default()));
            searched += 1;
        }
    }
    assert!(searched > 50, "only {searched} of 400 parse");
}
