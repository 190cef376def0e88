//! The race report on the built-in programs: what it says of them is so.

use std::sync::Arc;
use strata_run::{Monitor, RunRequest, What, run};

fn races_of(workload: &str) -> Vec<String> {
    let out = tempfile::tempdir().expect("a folder");
    let request = RunRequest {
        size: Some("tiny".into()),
        check_races: true,
        out: Some(out.path().to_owned()),
        ..RunRequest::new(What::Workload(workload.into()))
    };
    let result = run(&request, &Arc::new(Monitor::default())).expect("it runs");
    assert_eq!(result.passed, Some(true), "{workload}");
    result.warnings
}

/// Programs with shared memory, barriers, atomics and flags that many threads write.
#[test]
fn programs_that_synchronise_are_not_accused() {
    for workload in ["hotspot", "nw", "pathfinder", "backprop", "srad", "reduction", "scalarprod", "fwt", "bfs", "mis"]
    {
        assert_eq!(races_of(workload), Vec::<String>::new(), "{workload}");
    }
}

/// Eight warps write the same running sums to the same place: a race, as the program's own comment says, that does no harm
/// because the last of them is always the whole sum.
#[test]
fn the_race_of_mvt_is_found_in_both_kernels() {
    let found = races_of("mvt");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|race| race.starts_with("race: 4 bytes are written at global address")), "{found:?}");
}
