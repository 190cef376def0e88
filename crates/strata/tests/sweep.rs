//! `strata sweep`: killed and resumed, on disks that refuse, and on a cluster.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn strata() -> Command {
    Command::new(env!("CARGO_BIN_EXE_strata"))
}

/// A plan of `seeds` tiny points.
fn plan(folder: &Path, seeds: usize) -> PathBuf {
    let path = folder.join("plan.toml");
    let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
    let text = format!(
        "programs = ['saxpy']\nsizes = ['tiny']\ngpu = 'titan-v'\nseeds = [{}]\n[grid]\nsm.count = [4, 8]\n",
        seeds.join(", ")
    );
    fs::write(&path, text).expect("written");
    path
}

fn sweep(plan: &Path, store: &Path) -> Command {
    let mut command = strata();
    command.arg("sweep").arg(plan).arg("--store").arg(store).arg("--json");
    command
}

fn told(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("one JSON object on standard output: {e}\n{text}"))
}

/// The collected results.
fn results(told: &Value) -> Vec<u8> {
    fs::read(told["results"].as_str().expect("a path")).expect("there")
}

fn points_in(store: &Path) -> usize {
    let groups = fs::read_dir(store.join("points")).into_iter().flatten().flatten();
    let points = groups.flat_map(|group| fs::read_dir(group.path()).into_iter().flatten().flatten());
    // Not what a killed process had not put in its place yet.
    let is_there = |point: &fs::DirEntry| !point.file_name().to_string_lossy().starts_with('.');
    points.filter(|point| is_there(point) && point.path().join("point.json").is_file()).count()
}

#[test]
fn a_sweep_that_is_killed_five_times_gives_the_bytes_of_one_that_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path(), 100);
    let (calm, rough) = (folder.path().join("calm"), folder.path().join("rough"));
    let sweep = |store: &Path| {
        let mut command = sweep(&plan, store);
        command.args(["--jobs", "2"]);
        command
    };
    let undisturbed = told(&sweep(&calm).output().expect("it runs"));
    let count = undisturbed["points"].as_u64().expect("a number") as usize;
    assert_eq!((count, undisturbed["done"].as_u64()), (200, Some(200)), "{undisturbed}");
    let mut seen = Vec::new();
    for round in 1..=5 {
        let mut child = sweep(&rough).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        // In the middle: when so many points are there, whatever the speed of this machine.
        let began = Instant::now();
        while points_in(&rough) < count * round / 7 && began.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(1));
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        seen.push(points_in(&rough));
    }
    assert!(seen.is_sorted() && seen[0] > 0 && seen[4] < count, "killed in the middle: {seen:?} of {count}");
    let resumed = told(&sweep(&rough).output().expect("it runs"));
    assert_eq!(resumed["reused"].as_u64(), Some(seen[4] as u64), "nothing is lost and nothing runs twice");
    assert_eq!(resumed["done"], undisturbed["done"]);
    assert_eq!(points_in(&rough), count);
    assert!(results(&resumed) == results(&undisturbed), "the same bytes");
}

#[test]
fn failures_are_listed_and_stop_no_other_point() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["vecadd.ptx", "vecadd.expected.npy"] {
        fs::copy(examples.join(name), folder.path().join(name)).expect("copied");
    }
    let text = fs::read_to_string(examples.join("vecadd.toml")).expect("there");
    fs::write(folder.path().join("good.toml"), &text).expect("written");
    fs::write(folder.path().join("beyond.toml"), text.replace("{ u32 = 1000 }", "{ u32 = 1024 }")).expect("written");
    let plan = folder.path().join("plan.toml");
    fs::write(&plan, "programs = ['beyond.toml', 'good.toml']\ngpu = 'titan-v'\n").expect("written");
    let store = folder.path().join("store");
    for _ in 0..2 {
        let output = sweep(&plan, &store).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let told = told(&output);
        assert_eq!((&told["points"], &told["done"]), (&2.into(), &1.into()));
        assert_eq!(told["failed"][0]["point"], 0);
        let message = told["failed"][0]["message"].as_str().expect("a message");
        assert!(message.contains("out of bounds") && message.contains("vecadd.ptx:"), "{message}");
    }
    let show = strata().arg("show").arg(&store).arg("--json").output().expect("it runs");
    let rows: Value = serde_json::from_slice(&show.stdout).expect("JSON");
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(2));
    assert!(rows["rows"][0]["error"].is_string() && rows["rows"][1]["cycles"].is_u64(), "{rows}");
}

/// A file system in memory, mounted for a test; `None` where that is not allowed.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).output();
        mount.is_ok_and(|output| output.status.success()).then(|| Self(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Everything that looks like a result below a folder.
fn torn(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            _ if path.is_dir() => torn(&path, found),
            Some("json") if serde_json::from_slice::<Value>(&fs::read(&path).unwrap_or_default()).is_err() => {
                found.push(path);
            }
            Some("partial") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing_torn() {
    let Some(disk) = Mounted::new("size=256k") else {
        eprintln!("skipped: a_full_disk_is_told_and_leaves_nothing_torn: no file system can be mounted here");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path(), 30);
    let store = disk.0.path().join("store");
    let output = sweep(&plan, &store).output().expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("the disk is full") && message.contains("run the same command again"), "{message}");
    let mut found = Vec::new();
    torn(disk.0.path(), &mut found);
    assert!(found.is_empty(), "{found:?}");
    let run =
        strata().args(["run", "saxpy", "--size", "tiny", "--gpu", "titan-v", "--out"]).arg(disk.0.path()).output();
    assert_eq!(run.expect("it runs").status.code(), Some(2));
    let left = fs::read_dir(disk.0.path()).expect("there").flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["store"], "a run that cannot be saved leaves nothing");
}

#[test]
fn a_store_that_cannot_be_written_is_told_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path(), 1);
    let read_only = Mounted::new("ro");
    let places = [Some(PathBuf::from("/dev/null/store")), read_only.as_ref().map(|disk| disk.0.path().join("store"))];
    for store in places.into_iter().flatten() {
        let output = sweep(&plan, &store).output().expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("cannot write `{}`", store.display())), "{message}");
    }
    if read_only.is_none() {
        eprintln!("skipped: a read-only file system: none can be mounted here");
    }
}

/// A Slurm of one node, alive as long as the test.
struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<std::process::Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Cluster {
    /// `None` where Slurm is not installed, or not as root: its daemons would not start.
    fn start() -> Option<Self> {
        let is_there = |name: &str| ["/usr/sbin", "/usr/bin"].iter().any(|place| Path::new(place).join(name).is_file());
        let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
        if !root || !["munged", "slurmctld", "slurmd", "sbatch"].iter().all(|name| is_there(name)) {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let shown = |name: &str| place(name).display().to_string();
        for name in ["state", "spool", "run"] {
            fs::create_dir(place(name)).expect("made");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("set");
        fs::write(place("key"), [42; 1024]).expect("written");
        fs::set_permissions(place("key"), fs::Permissions::from_mode(0o400)).expect("set");
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_owned();
        let lines = [
            "ClusterName=strata".to_owned(),
            format!("SlurmctldHost={host}(127.0.0.1)"),
            format!("SlurmctldPort={}\nSlurmdPort={}", free_port(), free_port()),
            "SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge".to_owned(),
            // A task that is requeued waits until its credential has expired.
            format!("AuthInfo=socket={},cred_expire=5", shown("run/munge")),
            format!("StateSaveLocation={}\nSlurmdSpoolDir={}", shown("state"), shown("spool")),
            format!("SlurmctldPidFile={}\nSlurmdPidFile={}", shown("run/slurmctld"), shown("run/slurmd")),
            format!("SlurmctldLogFile={}\nSlurmdLogFile={}", shown("slurmctld.log"), shown("slurmd.log")),
            "ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSelectType=select/cons_tres".to_owned(),
            "SelectTypeParameters=CR_CPU\nMpiDefault=none\nReturnToService=2".to_owned(),
            "SchedulerParameters=sched_interval=1,batch_sched_delay=0".to_owned(),
            format!("NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN"),
            "PartitionName=test Nodes=ALL Default=YES MaxTime=10 State=UP\n".to_owned(),
        ];
        fs::write(place("slurm.conf"), lines.join("\n")).expect("written");
        let mut cluster = Self { folder, daemons: Vec::new() };
        let run = cluster.folder.path().join("run");
        let option = |name: &str, file: &str| format!("--{name}={}", cluster.folder.path().join(file).display());
        let munged = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            option("key-file", "key"),
            option("socket", "run/munge"),
            option("pid-file", "run/munged"),
            option("log-file", "munged.log"),
            option("seed-file", "seed"),
        ];
        let conf = cluster.folder.path().join("slurm.conf").display().to_string();
        let foreground = ["-D".to_owned(), "-f".to_owned(), conf];
        cluster.daemon("munged", &munged);
        until("munge's socket", || run.join("munge").exists());
        cluster.daemon("slurmctld", &foreground);
        cluster.daemon("slurmd", &foreground);
        until("a node", || cluster.ask("sinfo", &["--noheader", "--format=%T"]).contains("idle"));
        Some(cluster)
    }

    fn daemon(&mut self, name: &str, arguments: &[String]) {
        let path = Path::new("/usr/sbin").join(name);
        let quiet = || Stdio::null();
        let child = Command::new(path).args(arguments).stdout(quiet()).stderr(quiet()).spawn().expect("it starts");
        self.daemons.push(child);
    }

    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("SLURM_CONF", self.conf()).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }
}

#[track_caller]
fn until(what: &str, is_there: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} did not come");
        sleep(Duration::from_millis(50));
    }
}

/// A task is killed in the middle and requeued: the sweep completes, with the bytes of one that ran here.
#[test]
fn a_sweep_on_slurm_completes_although_a_task_is_killed() {
    let Some(cluster) = Cluster::start() else {
        eprintln!("skipped: a_sweep_on_slurm_completes_although_a_task_is_killed: needs root, slurm-wlm and munge");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.toml");
    let text = "programs = ['cg']\nsizes = ['tiny']\ngpu = 'titan-v'\nseeds = [1, 2, 3, 4, 5, 6]\n[grid]\nsm.count = [40, 80]\n";
    fs::write(&plan, text).expect("written");
    let store = folder.path().join("store");
    let mut command = sweep(&plan, &store);
    command.args(["--engine", "slurm", "--task-minutes", "1"]).env("SLURM_CONF", cluster.conf());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    // Two tasks of six points, one of which has some: it is killed, and queued again.
    until("a first point", || points_in(&store) > 0);
    let running = cluster.ask("squeue", &["--noheader", "--states=RUNNING", "--format=%A"]);
    let task = running.split_whitespace().next().expect("a task runs").to_owned();
    let at = points_in(&store);
    cluster.ask("scontrol", &["requeue", &task]);
    assert!(at < 12, "in the middle: {at}");
    let output = ended_within(child, Duration::from_secs(50));
    let told = told(&output);
    assert_eq!((&told["points"], &told["done"], &told["failed"]), (&12.into(), &12.into(), &Value::Array(Vec::new())));
    let here = self::told(&sweep(&plan, &folder.path().join("here")).output().expect("it runs"));
    assert!(results(&told) == results(&here), "the same bytes");
}

/// The output of a process that must end within a time.
fn ended_within(mut child: std::process::Child, most: Duration) -> Output {
    let began = Instant::now();
    while child.try_wait().expect("a status").is_none() {
        if began.elapsed() > most {
            let _ = child.kill();
            panic!("it did not end within {most:?}");
        }
        sleep(Duration::from_millis(50));
    }
    child.wait_with_output().expect("its output")
}
