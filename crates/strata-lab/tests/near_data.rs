//! TOM in whole programs: results and data stay right with every policy and mapping, and blocks are offloaded where they should.

use std::path::Path;
use std::sync::Arc;
use strata_lab::mechanisms::combination;
use strata_lab::{LabError, Monitor, RunRequest, RunResult, What, equal_cost, run};

/// A run at tiny size with an L2 so small that lines leave it, and every load checked.
fn checked(program: &str, gpu: &str, set: &[&str], out: &Path) -> Result<RunResult, LabError> {
    let request = RunRequest {
        size: Some("tiny".into()),
        gpu: Some(gpu.into()),
        with: combination("tom").expect("known"),
        set: ["l2.ways=4"].iter().chain(set).map(|s| (*s).to_owned()).collect(),
        check_data: true,
        out: Some(out.to_owned()),
        ..RunRequest::new(What::Workload(program.into()))
    };
    run(&request, &Arc::new(Monitor::default()))
}

/// The paper's ten.
const PROGRAMS: [&str; 10] =
    ["backprop", "bfs", "kmeans", "cfd", "heartwall", "libor", "ray", "fwt", "scalarprod", "reduction"];

/// All programs with a policy and every mapping; stacks have room for few warps, so that they queue up.
#[track_caller]
fn check_policy(policy: &str) {
    let out = tempfile::tempdir().expect("a folder");
    for program in PROGRAMS {
        for mapping in ["baseline", "learned", "oracle"] {
            let set = [&format!("tom.policy={policy}"), &format!("tom.mapping={mapping}"), "stacks.warps=4"];
            let result = checked(program, "ndp-maxwell", &set, out.path()).expect("a good request");
            assert_eq!((result.passed, &result.error), (Some(true), &None), "{program} with {set:?}");
        }
    }
}

#[test]
fn uncontrolled_offloading_loses_no_data() {
    check_policy("uncontrolled");
}

#[test]
fn controlled_offloading_loses_no_data() {
    check_policy("controlled");
}

#[test]
fn alu_aware_offloading_loses_no_data() {
    check_policy("alu-aware");
}

#[test]
fn queue_aware_offloading_loses_no_data() {
    check_policy("queue-aware");
}

#[test]
fn blocks_behind_each_other_on_a_stack_lose_no_data() {
    let out = tempfile::tempdir().expect("a folder");
    let mut batched = 0.0;
    for program in PROGRAMS {
        let set = ["tom.policy=uncontrolled", "tom.batch=per-warp", "stacks.warps=4"];
        let result = checked(program, "ndp-maxwell", &set, out.path()).expect("a good request");
        assert_eq!((result.passed, &result.error), (Some(true), &None), "{program}");
        batched += result.stats().number("gpu.tom.batched").expect("it is counted");
    }
    assert!(batched > 0.0, "some warp stays for a second block");
}

/// A stack's SM drops its cache at every spawn, so that L2 drops lines that requests wait for more often than else.
#[test]
fn no_request_is_lost_when_a_line_is_dropped_that_somebody_waits_for() {
    let out = tempfile::tempdir().expect("a folder");
    let set = ["tom.invalidation=every-spawn", "tom.mapping=baseline"];
    let result = checked("heartwall", "ndp-maxwell", &set, out.path()).expect("a good request");
    assert_eq!((result.passed, &result.error), (Some(true), &None));
}

#[test]
fn blocks_are_offloaded_and_their_mapping_is_learned() {
    let out = tempfile::tempdir().expect("a folder");
    // The few warps of this size access more lines than learning waits for.
    let set = ["tom.policy=uncontrolled", "tom.learning_instances=64", "tom.learning_most=0"];
    let result = checked("kmeans", "ndp-maxwell", &set, out.path()).expect("a good request");
    let stats = result.stats();
    let number = |path: &str| stats.number(&format!("gpu.{path}")).unwrap_or_else(|| panic!("no {path}"));
    assert!(number("offload.blocks") > 0.0);
    let at_host = number("host.reads") + number("host.writes");
    assert!(at_host > 0.0, "the first instances run out of the host's memory");
    assert!(number("tom.learned_from") >= 64.0);
    assert!(number("tom.instances") > number("offload.blocks"));
    let saved = std::fs::read_to_string(result.host.directory.join("tom.json")).expect("saved");
    let saved: serde_json::Value = serde_json::from_str(&saved).expect("JSON");
    assert!(saved["mapped_by_bit"].as_u64().is_some_and(|bit| (7..=16).contains(&bit)), "{saved}");
}

#[test]
fn every_instance_is_counted_once_and_has_one_fate() {
    let out = tempfile::tempdir().expect("a folder");
    let counted = |set: &[&str]| {
        let result = checked("kmeans", "ndp-maxwell", set, out.path()).expect("a good request");
        let stats = result.stats();
        let number = |path: &str| stats.number(&format!("gpu.{path}")).unwrap_or_else(|| panic!("no {path}"));
        let stays = ["learning", "off", "condition", "tx_busy", "rx_busy", "full", "alu_busy", "queued"];
        let stays: f64 = stays.iter().map(|reason| number(&format!("tom.stay.{reason}"))).sum();
        let instances = number("tom.instances");
        assert_eq!(number("offload.blocks") + stays, instances, "{set:?}");
        assert_eq!(number("tom.learned_from") > 0.0, set.is_empty(), "{set:?}");
        instances
    };
    // Instances that learning was ended in come to the heads of their loops again.
    assert_eq!(counted(&[]), counted(&["tom.mapping=baseline"]));
}

#[test]
fn machines_that_cannot_are_refused() {
    let out = tempfile::tempdir().expect("a folder");
    let refused = |gpu: &str, set: &[&str]| match checked("saxpy", gpu, set, out.path()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("`{gpu}` with {set:?} is accepted"),
    };
    assert!(refused("titan-v", &[]).contains("its memory is not in stacks"));
    assert!(refused("ndp-maxwell-68", &[]).contains("its stacks have no SMs"));
    assert!(refused("ndp-maxwell", &["tom.policy=ideal"]).contains("leaves out what keeps data right"));
    assert!(refused("ndp-maxwell", &["tom.coherence=left-out"]).contains("leaves out what keeps data right"));
    assert!(refused("ndp-maxwell", &["l2.write=back"]).contains("`--set l2.write=through`"));
}

#[test]
fn a_program_is_surveyed_once() {
    let out = tempfile::tempdir().expect("a folder");
    let surveys = || -> Vec<_> {
        let folder = std::fs::read_dir(out.path().join("surveys")).into_iter().flatten();
        folder.map(|entry| entry.expect("readable").path()).collect()
    };
    let cycles = |set: &[&str]| checked("vectoradd", "ndp-maxwell", set, out.path()).expect("it runs").cycles();
    cycles(&["tom.mapping=baseline"]);
    assert_eq!(surveys().len(), 0, "nothing has to be known for the baseline's map");
    let learned = cycles(&[]);
    let kept = surveys();
    assert_eq!(kept.len(), 1);

    // What lies there is taken as it is, for any policy.
    let text = std::fs::read_to_string(&kept[0]).expect("readable");
    cycles(&["tom.policy=uncontrolled"]);
    let modified = |path| std::fs::metadata(path).and_then(|file| file.modified()).expect("there");
    let before = modified(&kept[0]);
    cycles(&["tom.busy_threshold=0.5"]);
    assert_eq!((surveys().len(), modified(&kept[0])), (1, before));

    std::fs::write(&kept[0], "{ \"instances\": ").expect("written");
    assert_eq!(cycles(&[]), learned, "half a file is none");
    assert_eq!(std::fs::read_to_string(&kept[0]).expect("readable"), text);

    cycles(&["tom.load_miss_rate=1"]);
    assert_eq!(surveys().len(), 2, "with other assumptions candidates are others");
}

#[test]
fn a_run_is_set_beside_the_plain_machine_of_equal_cost() {
    let out = tempfile::tempdir().expect("a folder");
    let request = |with: &str, gpu: &str, set: &[&str]| RunRequest {
        size: Some("tiny".into()),
        gpu: Some(gpu.into()),
        with: combination(with).expect("known"),
        set: set.iter().map(|s| (*s).to_owned()).collect(),
        out: Some(out.path().to_owned()),
        ..RunRequest::new(What::Workload("scalarprod".into()))
    };
    let monitor = Arc::new(Monitor::default());
    let near = request("tom", "ndp-maxwell", &["tom.policy=uncontrolled", "tom.mapping=baseline"]);
    let result = run(&near, &monitor).expect("it runs");
    let beside = equal_cost(&near, &monitor).expect("it runs").expect("TOM names a machine");
    let plain = run(&request("none", "ndp-maxwell-68", &[]), &monitor).expect("it runs").cycles().expect("timed");
    let speed = plain as f64 / result.cycles().expect("timed") as f64;
    assert_eq!(beside.speed(&result), Some(speed));
    assert!(beside.text(&result).contains(&format!("{speed:.2} times the speed of ndp-maxwell-68")));
    let none = |request: &RunRequest| equal_cost(request, &monitor).expect("good").is_none();
    assert!(none(&request("none", "ndp-maxwell", &[])), "nothing is gained by nothing");
    assert!(none(&request("tom", "ndp-maxwell", &["sm.count=60"])), "that costs something else");
}
