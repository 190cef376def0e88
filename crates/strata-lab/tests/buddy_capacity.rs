//! Capacity that is true: a program with Buddy Compression runs on the device that its profile promises, and on no smaller one.

use std::path::Path;
use std::sync::Arc;
use strata_lab::mechanisms::combination;
use strata_lab::profile::{Design, ProfileRequest, Rule, profile};
use strata_lab::{Monitor, RunRequest, What, run};

/// Buffers of which one compresses to nothing, one well and one not at all; a kernel that needs little of them.
const PROGRAM: &str = r#"
ptx = "vecadd.ptx"

[buffers.zeros]
type = "f32"
count = 900000

[buffers.steps]
type = "u32"
count = 700000
init = "iota"

[buffers.noise]
type = "f32"
count = 300000
init = { random = [-1.0, 1.0] }

[[launch]]
kernel = "vecadd"
grid = 8
block = 128
args = ["noise", "zeros", "zeros", { u32 = 100 }]
"#;

fn request(folder: &Path) -> RunRequest {
    RunRequest { out: Some(folder.join("out")), ..RunRequest::new(What::LaunchFile(folder.join("program.toml"))) }
}

/// True if the program runs with its targets on a device of so many 64 KiB.
fn fits(folder: &Path, units: u64) -> bool {
    let set =
        [format!("dram.size={}", units << 16), format!("buddy.targets={}", folder.join("targets.toml").display())];
    let request = RunRequest {
        gpu: Some("p100-buddy".into()),
        with: combination("buddy").expect("known"),
        set: set.into(),
        ..request(folder)
    };
    match run(&request, &Arc::new(Monitor::default())) {
        Ok(result) => {
            assert_eq!(result.error, None);
            true
        }
        Err(error) => {
            let error = format!("{error:?}");
            assert!(error.contains("out of device memory"), "{error}");
            false
        }
    }
}

#[test]
fn the_smallest_device_is_the_one_that_was_promised() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/vecadd.ptx");
    std::fs::copy(ptx, folder.join("vecadd.ptx")).expect("copied");
    std::fs::write(folder.join("program.toml"), PROGRAM).expect("written");
    let wanted = ProfileRequest {
        run: request(folder),
        design: Design::ZeroPage,
        rule: Rule::default(),
        snapshots: None,
        gpu: None,
        set: Vec::new(),
        cached: false,
    };
    let profiled = profile(&wanted, &Arc::new(Monitor::default())).expect("profiled");
    profiled.save(&folder.join("targets.toml")).expect("saved");
    let (asked, promised) = profiled.choice.outcome.footprint();
    assert!(promised * 2 < asked, "{promised} of {asked}");
    // A 64th of the device holds metadata: 1/256 of the four times as much that both memories can hold.
    let (mut too_small, mut enough) = (0, 1 << 8);
    assert!(fits(folder, enough));
    while enough - too_small > 1 {
        let middle = u64::midpoint(too_small, enough);
        *(if fits(folder, middle) { &mut enough } else { &mut too_small }) = middle;
    }
    let for_programs = |units: u64| u128::from((units << 16) - (units << 16) / 64);
    assert!(for_programs(enough) >= promised && for_programs(too_small) < promised, "{enough} x 64 KiB, {promised}");
}

#[test]
fn a_program_is_profiled_once() {
    let out = tempfile::tempdir().expect("a folder");
    let profiles = || -> Vec<_> {
        let folder = std::fs::read_dir(out.path().join("profiles")).into_iter().flatten();
        folder.map(|entry| entry.expect("readable").path()).collect()
    };
    // The cycles of a run, and what it says of its profile.
    let ran = |set: &[&str]| {
        let request = RunRequest {
            size: Some("tiny".into()),
            gpu: Some("p100-buddy".into()),
            with: combination("buddy").expect("known"),
            set: set.iter().map(|&one| one.to_owned()).collect(),
            out: Some(out.path().to_owned()),
            ..RunRequest::new(What::Workload("cg".into()))
        };
        let result = run(&request, &Arc::new(Monitor::default())).expect("it runs");
        let told = std::fs::read_to_string(result.host.directory.join("buddy.json")).expect("readable");
        (result.cycles(), told, result.warnings)
    };
    let profiled = ran(&[]);
    let kept = profiles();
    assert_eq!(kept.len(), 1);
    let modified = |path| std::fs::metadata(path).and_then(|file| file.modified()).expect("there");
    let before = modified(&kept[0]);
    assert_eq!(ran(&[]), profiled, "what was kept is what was found");
    ran(&["l2.latency=300"]);
    assert_eq!((profiles().len(), modified(&kept[0])), (1, before), "no other machine asks again");
    std::fs::write(&kept[0], "{ \"targets\": ").expect("written");
    assert_eq!(ran(&[]), profiled, "half a file is none");
    ran(&["buddy.threshold=0.1"]);
    assert_eq!(profiles().len(), 2, "another threshold has other targets");
}
