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
    for workload in
        ["hotspot", "nw", "pathfinder", "backprop", "srad", "reduction", "scalarprod", "fwt", "bfs", "mis", "mvt"]
    {
        assert_eq!(races_of(workload), Vec::<String>::new(), "{workload}");
    }
}
