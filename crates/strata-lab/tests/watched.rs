//! Programs on a machine that is watched: no data is lost, the explanation accounts for everything, and watching changes nothing.

use strata_core::Stats;
use strata_host::Device;
use strata_lab::explain::Explanation;
use strata_lab::{EngineOptions, engine, gpus};
use strata_workloads::{Size, find};

/// The statistics of a workload at tiny size.
fn run(name: &str, gpu: &str, check_data: bool, explain: bool) -> Stats {
    let config = gpus::gpu(gpu, &[""; 0]).expect("a preset").config;
    let workload = find(name).expect("a workload");
    let options = EngineOptions { check_data, explain, ..EngineOptions::plain(workload.modules()) };
    let mut device = Device::new(engine::timed(options, config).expect("an engine"));
    let outcome = workload.run(Size::Tiny, 1, &mut device).unwrap_or_else(|e| panic!("{name} on {gpu}: {e}"));
    assert!(outcome.passed, "{name} on {gpu}: {}", outcome.checked);
    let mut stats = Stats::default();
    device.launches().iter().for_each(|(_, report)| stats.add(&report.stats));
    stats
}

fn count(stats: &Stats, path: &str) -> u64 {
    stats.number(path).unwrap_or_else(|| panic!("no {path}")) as u64
}

#[test]
fn no_load_gets_old_data() {
    // Bypassed and cached global loads; write-through without sectors.
    for gpu in ["titan-x-pascal", "titan-v", "ndp-maxwell"] {
        for name in ["bfs", "hotspot", "reduction", "pagerank", "nw", "transpose"] {
            let stats = run(name, gpu, true, false);
            assert!(count(&stats, "gpu.check.sectors") > 0, "{name} on {gpu}");
        }
    }
    for gpu in ["titan-x-pascal", "titan-v"] {
        run("matmul-tiled", gpu, true, false);
    }
}

#[test]
fn only_programs_that_race_have_races() {
    // The threads of bfs set the same flag without a lock; hotspot's blocks write apart.
    assert!(count(&run("bfs", "titan-v", true, false), "gpu.check.races") > 0);
    assert_eq!(count(&run("hotspot", "titan-v", true, false), "gpu.check.races"), 0);
}

#[test]
fn an_explanation_accounts_for_every_sector_and_all_time() {
    for name in ["pagerank", "nw"] {
        let stats = run(name, "titan-x-pascal", false, true);
        let json = Explanation::of(&stats).expect("asked for").to_json();
        let all = |list: &str, key: &str| -> f64 {
            json[list].as_array().expect("a list").iter().filter_map(|row| row[key].as_f64()).sum()
        };
        let sum = |paths: [&str; 2]| paths.iter().map(|path| count(&stats, path)).sum::<u64>() as f64;
        assert_eq!(all("allocations", "l2_sectors"), sum(["gpu.l2.reads", "gpu.l2.writes"]), "{name}");
        assert_eq!(all("allocations", "dram_sectors"), sum(["gpu.dram.reads", "gpu.dram.writes"]), "{name}");
        assert!((all("waits", "share") - 1.0).abs() < 1e-9, "{name}");
    }
}

#[test]
fn watching_changes_nothing() {
    let (plain, watched) = (run("bfs", "titan-v", false, false), run("bfs", "titan-v", true, true));
    for (path, stat) in plain.iter() {
        assert_eq!(watched.get(path), Some(stat), "{path}");
    }
}
