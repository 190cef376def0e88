//! Mechanisms in whole programs: results stay right, data is never lost, memory that is full says so.

use std::path::Path;
use std::sync::Arc;
use strata_lab::mechanisms::combination;
use strata_lab::{Monitor, RunRequest, RunResult, What, run};

/// A run at tiny size on Buddy Compression's machine, with an L2 so small that lines leave it, and every load checked.
fn checked(program: &str, with: &str, set: &[&str], out: &Path) -> RunResult {
    checked_on("p100-buddy", program, with, set, out)
}

fn checked_on(gpu: &str, program: &str, with: &str, set: &[&str], out: &Path) -> RunResult {
    let request = RunRequest {
        size: Some("tiny".into()),
        gpu: Some(gpu.into()),
        with: combination(with).expect("known"),
        set: ["l2.sets=1", "l2.ways=4"].iter().chain(set).map(|s| (*s).to_owned()).collect(),
        check_data: true,
        out: Some(out.to_owned()),
        ..RunRequest::new(What::Workload(program.into()))
    };
    run(&request, &Arc::new(Monitor::default())).expect("a good request")
}

#[test]
fn no_mechanism_loses_data() {
    let out = tempfile::tempdir().expect("a folder");
    let cases: [(&str, &[&str]); 3] =
        [("bpc", &[]), ("bpc", &["bpc.metadata=cached"]), ("buddy", &["buddy.metadata_cache=4KB"])];
    for program in ["ep", "cg", "seismic", "lulesh", "hpgmg", "srad", "bfs"] {
        for (with, set) in cases {
            let result = checked(program, with, set, out.path());
            assert_eq!((result.passed, &result.error), (Some(true), &None), "{program} with {with} {set:?}");
        }
    }
}

/// Deduplicated memory carries its bytes in these runs: a wrong mapping, count or copy would be found.
#[test]
fn no_deduplication_loses_data() {
    let out = tempfile::tempdir().expect("a folder");
    let thrash = ["cmd.map_cache=128", "cmd.type_cache=128", "cmd.mask_cache=128", "cmd.hash_store=256"];
    let cases: [(&str, &[&str]); 9] = [
        ("cmd", &[]),
        ("cmd", &thrash),
        ("cmd", &["cmd.hash=crc", "cmd.max_count=3", "cmd.partial_sectors=merge"]),
        ("dedup", &["dedup.store=exact", "dedup.study=on"]),
        ("dedup-car", &["dedup-car.hash=ideal"]),
        ("esd", &[]),
        ("bcd", &[]),
        ("cmd+bpc", &["bpc.metadata=cached"]),
        ("cmd+bpc", &["cmd.hash=crc", "cmd.partial_sectors=merge", "bpc.metadata=cached"]),
    ];
    for program in ["bfs", "pagerank", "backprop", "seismic"] {
        for (with, set) in cases {
            let result = checked_on("cmd-gddr6", program, with, set, out.path());
            assert_eq!((result.passed, &result.error), (Some(true), &None), "{program} with {with} {set:?}");
        }
    }
}

/// In whole programs: what L2 asked for was kept or removed, and what was kept is what DRAM moved.
#[test]
fn requests_before_are_those_after_and_those_removed() {
    let out = tempfile::tempdir().expect("a folder");
    for program in ["bfs", "seismic", "lulesh"] {
        let stats = checked_on("cmd-gddr6", program, "cmd", &[], out.path()).stats();
        let number = |path: &str| stats.number(&format!("gpu.{path}")).unwrap_or_else(|| panic!("{program}: {path}"));
        let reads = |when: &str| {
            number(&format!("cmd.requests.data_read.{when}")) + number(&format!("cmd.requests.read_only.{when}"))
        };
        let fifo = number("cmd.fifo.hits");
        assert_eq!(reads("before"), number("l2.fetches") + fifo, "{program}");
        let removed = number("cmd.reads.from_map") + number("cmd.reads.copied") + fifo;
        assert_eq!(reads("before") - reads("after"), removed, "{program}");
        assert_eq!(32.0 * reads("after"), number("traffic.data.dram_read"), "{program}");
        let writes = number("cmd.writes.intra") + number("cmd.writes.inter");
        let (before, after) = (number("cmd.requests.write.before"), number("cmd.requests.write.after"));
        assert_eq!(before - after, writes, "{program}");
        assert_eq!(number("cmd.write_sectors.before"), number("l2.write_backs"), "{program}");
    }
}

#[test]
fn compressed_memory_is_used_and_counted() {
    let out = tempfile::tempdir().expect("a folder");
    let result = checked("seismic", "buddy", &[], out.path());
    let stats = result.stats();
    let number = |path: &str| stats.number(path).unwrap_or(0.0);
    let (fills, writes) = (number("gpu.buddy.fills"), number("gpu.buddy.write_backs"));
    assert!(fills > 0.0 && writes > 0.0, "{fills} {writes}");
    assert!(number("gpu.buddy.metadata.accesses") >= fills + writes);
    // Everything that DRAM moved has a reason.
    let reasons = ["data", "metadata", "merge", "overflow"];
    let read: f64 = reasons.iter().map(|r| number(&format!("gpu.traffic.{r}.dram_read"))).sum();
    assert_eq!(read, 32.0 * number("gpu.dram.asked_reads"));
}

#[test]
fn preparation_is_executed_and_not_timed() {
    let out = tempfile::tempdir().expect("a folder");
    let timed = checked("lstm", "none", &[], out.path());
    assert_eq!(timed.passed, Some(true));
    let request = RunRequest {
        size: Some("tiny".into()),
        out: Some(out.path().to_owned()),
        ..RunRequest::new(What::Workload("lstm".into()))
    };
    let executed = run(&request, &Arc::new(Monitor::default())).expect("a good request");
    assert_eq!(timed.kernels.len(), executed.kernels.len());
    assert_eq!(timed.counts().thread_instructions(), executed.counts().thread_instructions());
    assert!(timed.kernels.iter().all(|kernel| kernel.cycles.is_some()));
}

#[test]
fn a_full_memory_says_so_and_compression_makes_room() {
    let out = tempfile::tempdir().expect("a folder");
    // At tiny size, seismic takes about a megabyte, most of it zero.
    let full = checked("seismic", "none", &["dram.size=1MB"], out.path());
    let error = full.error.unwrap_or_default();
    assert!(error.contains("out of device memory") && error.contains("of 1 MiB are in use"), "{error}");
}

#[test]
fn a_target_for_nothing_is_told() {
    let out = tempfile::tempdir().expect("a folder");
    let file = out.path().join("targets.toml");
    std::fs::write(&file, "[targets]\nxx = \"2\"\nzz = \"4\"\n").expect("written");
    let result = checked("ep", "buddy", &[&format!("buddy.targets={}", file.display())], out.path());
    assert_eq!(result.warnings, ["the annotation file has a target for `zz`, which the program never allocated"]);
}

/// A run of a program at tiny size with unified memory.
fn unified(program: &str, set: &[&str], check_data: bool, out: &Path) -> Result<RunResult, String> {
    let request = RunRequest {
        size: Some("tiny".into()),
        gpu: Some("gtx1080ti".into()),
        with: combination("uvm").expect("known"),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        check_data,
        out: Some(out.to_owned()),
        ..RunRequest::new(What::Workload(program.into()))
    };
    run(&request, &Arc::new(Monitor::default())).map_err(|e| e.to_string())
}

#[test]
fn programs_run_on_unified_memory() {
    let out = tempfile::tempdir().expect("a folder");
    for program in [
        "addvectors",
        "atax",
        "backprop",
        "bicg",
        "bfs",
        "hotspot",
        "mvt",
        "nw",
        "pathfinder",
        "srad",
        "fdtd2d",
        "ra",
        "stencil3d",
    ] {
        for set in [&["uvm.device_memory=2MB"][..], &["uvm.model=driver", "uvm.oversubscription=1.5"]] {
            let result = unified(program, set, true, out.path()).expect("a good request");
            assert_eq!((result.passed, &result.error), (Some(true), &None), "{program} {set:?}");
            assert!(result.stats().number("gpu.uvm.migrated_pages") > Some(0.0), "{program} {set:?}");
        }
    }
}

#[test]
fn unified_memory_is_saved_for_learning_and_plotting() {
    let out = tempfile::tempdir().expect("a folder");
    let result = unified("bicg", &["uvm.trace=on"], false, out.path()).expect("a good request");
    let read = |name: &str| std::fs::read(result.host.directory.join(name)).expect("saved");
    assert_eq!(&read("gmmu.parquet")[..4], b"PAR1");
    let seen: serde_json::Value = serde_json::from_slice(&read("uvm.json")).expect("JSON");
    let bytes: u64 =
        seen["pcie"]["bytes_in"].as_array().expect("a list").iter().filter_map(serde_json::Value::as_u64).sum();
    let counted = result.stats().number("gpu.uvm.pcie.in_bytes").expect("counted");
    assert_eq!(bytes as f64, counted);
    assert_eq!(seen["allocations"].as_array().map(Vec::len), Some(5));
    for name in ["page_hit_rate", "accuracy", "coverage", "unity", "stall_cycles", "pcie", "course", "allocations"] {
        assert!(seen["definitions"][name].is_string() && !seen[name].is_null(), "{name}");
    }
    let busy = seen["pcie"]["busy_in"].as_array().expect("a list");
    assert!(busy.iter().all(|share| share.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share))));
    let hits = seen["course"]["page_hits"].as_array().expect("a list");
    assert!(!hits.is_empty() && hits.iter().map(serde_json::Value::as_u64).is_sorted(), "{hits:?}");
    assert_eq!(&read("heat-0-A.png")[1..4], b"PNG");
}

/// Golden runs of UVMSmart: page hit rates, far faults and migrated pages of its published logs.
#[test]
fn unified_memory_behaves_as_in_the_published_logs() {
    let out = tempfile::tempdir().expect("a folder");
    let rows = [
        ("backprop", "none", 0.0138, 6785.0, 6785.0),
        ("backprop", "random", 0.2290, 4718.0, 6786.0),
        ("backprop", "sequential", 0.1901, 460.0, 6800.0),
        ("backprop", "tree", 0.7100, 100.0, 6800.0),
        ("bfs", "none", 0.8537, 2491.0, 2491.0),
        ("bfs", "random", 0.8957, 1725.0, 2497.0),
        ("bfs", "sequential", 0.9456, 162.0, 2496.0),
        ("bfs", "tree", 0.9621, 53.0, 2496.0),
    ];
    for (program, prefetcher, hit_rate, faults, pages) in rows {
        let request = RunRequest {
            size: Some("paper-uvm".into()),
            gpu: Some("gtx1080ti".into()),
            with: combination("uvm").expect("known"),
            set: vec![format!("uvm.prefetcher={prefetcher}")],
            out: Some(out.path().to_owned()),
            ..RunRequest::new(What::Workload(program.into()))
        };
        let result = run(&request, &Arc::new(Monitor::default())).expect("a good request");
        let check = |name: &str, published: f64, within: f64| {
            let ours = result.stats().number(&format!("gpu.uvm.{name}")).expect("counted");
            assert!(
                (ours - published).abs() <= within,
                "{program}, {prefetcher}: {name} {ours}, published {published}"
            );
        };
        check("page_hit_rate", hit_rate, 0.05);
        check("migrated_pages", pages, 0.01 * pages);
        check("far_faults", faults, if prefetcher == "none" { 0.01 * faults } else { (0.1 * faults).max(10.0) });
    }
}

#[test]
fn bad_settings_of_unified_memory_are_refused() {
    let out = tempfile::tempdir().expect("a folder");
    let cases: [(&[&str], &str); 5] = [
        (&["uvm.page_size=64KB"], "`uvm.page_size` is 4 KiB or 2 MiB"),
        (&["uvm.device_memory=64KB"], "at least one tree of 2 MiB"),
        (&["uvm.device_memory=12GB"], "more than the 11 GiB of this GPU"),
        (&["uvm.prefetcher=nearest"], "`uvm.prefetcher` cannot be `nearest`"),
        (&["uvm.prefetcher=learned", "uvm.predictor=missing.safetensors"], "cannot read `missing.safetensors`"),
    ];
    for (set, message) in cases {
        let refused = unified("saxpy", set, false, out.path()).expect_err("refused");
        assert!(refused.contains(message), "{refused}");
    }
    let refused = unified("saxpy", &["uvm.adaptive=on"], true, out.path()).expect_err("refused");
    assert!(refused.contains("`--check-data` cannot follow"), "{refused}");
}

/// The predictor that comes with the project, trained further on the way: nothing is lost, and two runs are alike.
#[test]
fn a_learned_prefetcher_brings_pages_and_is_deterministic() {
    let set = ["uvm.prefetcher=learned", "uvm.fine_tune=20000", "uvm.prediction_top=2", "uvm.prediction_brings=block"];
    let runs = [0, 1].map(|_| {
        let out = tempfile::tempdir().expect("a folder");
        unified("bicg", &set, true, out.path()).expect("a good request")
    });
    assert_eq!(runs[0].passed, Some(true), "{:?}", runs[0].error);
    assert!(runs[0].stats().number("gpu.uvm.prefetched_pages") > Some(0.0));
    let [first, second] = runs.each_ref().map(|run| run.to_json()["stats"].clone());
    assert_eq!(first, second);
}
