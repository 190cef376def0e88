//! The loader: what presets hold, what is refused, and with which words.

use super::{ConfigError, Gpu, load, presets};

#[track_caller]
fn gpu(name: &str, overrides: &[&str]) -> Gpu {
    load(name, overrides).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The errors of `name` with `overrides`, as `file:line: message (help)`.
#[track_caller]
fn errors(name: &str, overrides: &[&str]) -> Vec<String> {
    load(name, overrides).expect_err("it is wrong").to_string().lines().map(str::to_owned).collect()
}

/// A file below a temporary directory of this test.
fn file(name: &str, text: &str) -> String {
    let directory = std::env::temp_dir().join(format!("strata-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// The errors of a file that holds `text`, without its path.
#[track_caller]
fn errors_of(name: &str, text: &str) -> Vec<String> {
    let path = file(name, text);
    errors(&path, &[]).into_iter().map(|line| line.replace(&format!("{path}:"), "")).collect()
}

#[test]
fn every_value_of_every_preset_has_a_source() {
    for preset in presets() {
        let gpu = gpu(preset.name, &[]);
        assert_eq!(gpu.config.name, preset.name);
        for parameter in gpu.parameters.iter().filter(|parameter| !parameter.table.is_empty()) {
            assert!(parameter.source.is_some(), "{}: {} has no source", preset.name, parameter.key());
        }
    }
}

#[test]
fn every_preset_reads_back_as_it_is_written() {
    for preset in presets() {
        let original = gpu(preset.name, &["sm.policy=loose-round-robin", "clock.core=1234.567MHz"]);
        let path = file(&format!("{}.toml", preset.name), &original.to_toml());
        let again = gpu(&path, &[]);
        assert_eq!(again.config, original.config);
        assert_eq!(again.to_toml(), original.to_toml());
        let path = file(&format!("plain-{}.toml", preset.name), &original.config.to_toml());
        assert_eq!(gpu(&path, &[]).config, original.config);
    }
}

/// The numbers that the papers and the tables give outright.
#[test]
fn presets_are_the_machines_of_their_tables() {
    for (name, sms, core_khz, l2_kib, gb_per_s) in [
        ("titan-v", 80, 1_200_000, 4608, 652.8),
        ("titan-x-pascal", 28, 1_417_000, 3072, 480.0),
        ("v100", 80, 1_530_000, 6144, 898.048),
        ("gtx1080ti", 28, 1_481_000, 2816, 484.0),
        ("p100-buddy", 56, 1_300_000, 4096, 896.0),
        ("cmd-gddr6", 80, 1_365_000, 4096, 224.0),
        ("cmd-gddr6-l2-5mb", 80, 1_365_000, 5120, 224.0),
        ("ndp-maxwell", 64, 1_400_000, 1024, 640.0),
        ("ndp-maxwell-68", 68, 1_400_000, 1024, 640.0),
    ] {
        let config = gpu(name, &[]).config;
        assert_eq!(config.sm.count, sms, "{name}");
        assert_eq!(config.clock.core.khz(), core_khz, "{name}");
        assert_eq!(config.l2_size().0 >> 10, l2_kib, "{name}");
        let difference = config.dram_bytes_per_second() / 1e9 - gb_per_s;
        assert!(difference.abs() < 1e-6, "{name}: {} GB/s", config.dram_bytes_per_second() / 1e9);
    }
}

#[test]
fn a_size_of_the_l2_is_given_in_ways() {
    let larger = gpu("cmd-gddr6", &["l2.size=5MB"]);
    assert_eq!(larger.config.l2, gpu("cmd-gddr6-l2-5mb", &[]).config.l2);
    let ways = larger.parameters.iter().find(|parameter| parameter.key() == "l2.ways").expect("it is there");
    assert_eq!((ways.from.as_str(), ways.source.as_deref()), ("--set", Some("--set")));
    assert_eq!(gpu("cmd-gddr6", &["l2.size=8MB", "l2.sets=256"]).config.l2.ways, 16);
    assert_eq!(errors("cmd-gddr6", &["l2.size=4.1MiB"]), ["--set:1: `4.1MiB` is not a whole number of bytes"],);
    assert_eq!(
        errors("cmd-gddr6", &["l2.size=4000KiB"]),
        [
            "--set:1: \"4000 KiB\" are not a whole number of ways (a way of 16 slices x 128 sets is 256 KiB: take 3840 KiB \
             or 4 MiB, or change `l2.sets`)"
        ],
    );
    assert!(errors("cmd-gddr6", &["l2.size=5MB", "l2.ways=16"])[0].contains("disagree"));
}

#[test]
fn all_errors_of_overrides_are_reported_at_once() {
    let overrides = [
        "l2.slises=12",
        "clock.core=1200",
        "clock.l2=3 furlongs",
        "l3.size=1MB",
        "sm",
        "sm=3",
        "sm.count=0",
        "l1.sectored=maybe",
        "sm.policy=loose-round-robbin",
        "isa.rows.mul.lo.s32=4",
        "isa.rows.mul lo.issues=4",
        "energy.dram_io=nan pJ/bit",
        "isa.rows.cvta.issues=-1",
    ];
    let found = errors("titan-v", &overrides);
    let expected = [
        "--set:1: `l2` has no key `slises` (did you mean `slices`?)",
        "--set:2: a unit is missing: expected text, found an integer (write a number and a unit, as in \"150 MHz\")",
        "--set:3: `furlongs` is no unit of this quantity (units are `MHz`, `GHz`, `kHz`)",
        "--set:4: a GPU has no key `l3` (did you mean `l1`?)",
        "--set:5: `sm` sets nothing (write `key=value`, as in `l2.size=5MB`)",
        "--set:6: `sm` is a table (give one of its keys: `sm.acknowledged_stores`, `sm.barrier_cycles`, `sm.code_prefetch`, `sm.count`, `sm.cta_start_cycles`, `sm.ctas`, \
         `sm.memory_queue`, `sm.per_port`, `sm.policy`, `sm.register_granularity`, `sm.registers`, `sm.schedulers`, \
         `sm.threads`, `sm.warps`)",
        "--set:7: the number is out of range (allowed are 1 to 4096)",
        "--set:8: expected true or false, found text",
        "--set:9: `loose-round-robbin` is not known here (did you mean `loose-round-robin`?)",
        "--set:10: `isa.rows.mul.lo.s32` does not end in a field of a row (write `isa.rows.mul.lo.s32.issues=2`; fields are \
         latency, interval, issues, steps)",
        "--set:11: `mul lo` is no instruction (write an opcode with modifiers (`mul.lo.s32`) or a class (`int_mul`))",
        "--set:12: `nan pJ/bit` does not begin with a number (write a number and a unit, as in \"150 pJ/bit\")",
        "--set:13: the number is out of range (allowed are 0 to 10000)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn numbers_that_do_not_fit_together_are_refused() {
    for (overrides, expected) in [
        (&["l2.sets=48"][..], "48 sets are not a power of two"),
        (&["l2.slices=50"], "50 slices cannot be dealt evenly to 24 channels"),
        (&["dram.burst=4"], "16 B x 4 transfers move 64 B, not one sector of 32 B"),
        (&["dram.bus_bytes=8", "dram.burst=4"], "4 transfers do not fit 1 cycles of 2 transfers"),
        (&["sm.threads=2080"], "2080 threads do not fit 64 warps of 32"),
        (&["sm.warps=66"], "66 warps cannot be dealt evenly to 4 schedulers"),
        (&["l1.ways=7"], "128 KiB are not a whole number of sets of 7 ways"),
        (&["dram.timing.rc=20"], "rc 20 is shorter than ras 29"),
        (&["dram.timing.rfc=4000"], "a refresh of 4000 cycles every 3315 leaves no time for data"),
        (&["shared.per_cta=128KB"], "a CTA cannot have 128 KiB of 96 KiB"),
        (&["tlb.page=3MB"], "3 MiB are not a power of two"),
    ] {
        let found = errors("titan-v", overrides);
        assert!(found[0].contains(expected), "{expected}: {found:#?}");
    }
}

#[test]
fn files_build_on_presets_and_on_each_other() {
    let base =
        file("mine.toml", "name = 'mine'\nbase = 'titan-v'\n[sm]\ncount = 40\n[sources]\n'sm.count' = 'half a card'\n");
    let above = file(
        "above.toml",
        "name = 'above'\nbase = 'mine.toml'\n[isa.rows]\n'add.f32' = { latency = 9, interval = 1 }\n",
    );
    let gpu = gpu(&above, &["l1.latency=40"]);
    assert_eq!((gpu.config.sm.count, gpu.config.l1.latency, gpu.config.name.as_str()), (40, 40, "above"));
    let find = |key: &str| gpu.parameters.iter().find(|p| p.key() == key).expect("it is there");
    assert_eq!(find("sm.count").source.as_deref(), Some("half a card"));
    assert_eq!(find("sm.count").from, base);
    assert_eq!(find("isa.rows.add.f32").source, None, "a file of one's own may leave sources out");
    assert_eq!(find("l2.slices").from, "titan-v");
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let text = "name = 5\nbase = 'titan-v'\ncolour = 'green'\n\n[sm]\ncuont = 80\nthreads = '2048'\n\n[l2]\nslices = 0\n\n\
                [isa.rows]\nadd.f32 = { issues = 1 }\n\n[sources]\n'sm.count' = 'nothing here sets it'\n'l2' = ' '\n";
    assert_eq!(
        errors_of("wrong.toml", text),
        [
            "1: expected text in quotes, found an integer",
            "3: a GPU has no key `colour` (known here: `base`, `clock`, `constant`, `crossbar`, `description`, `dram`, \
             `energy`, `host_link`, `isa`, `l1`, `l2`, `launch`, `name`, `shared`, `sm`, `sources`, `stacks`, `tlb`)",
            "6: `sm` has no key `cuont` (did you mean `count`?)",
            "7: expected an integer, found text",
            "10: the number is out of range (allowed are 1 to 1024)",
            "13: the row `add` (patterns with a dot need quotes) has no key `f32` (known here: `latency`, `interval`, \
             `issues`, `steps`)",
            "16: `sm.count` names no value of this file (known here: `l2.slices`, `name`, `sm.threads`)",
            "17: the source is empty (name a table, a data sheet or a measurement, or write \"choice: \" and the reason)",
        ]
    );
}

#[test]
fn what_is_missing_is_said_once() {
    let found = errors_of("empty.toml", "name = 'empty'\n");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("more values are missing"), "{found:#?}");
    assert!(errors_of("nameless.toml", "base = 'titan-v'\n")[0].contains("no name of its own"));
}

#[test]
fn bases_that_go_round_or_do_not_exist() {
    file("a.toml", "name = 'a'\nbase = 'b.toml'\n");
    assert!(errors_of("b.toml", "name = 'b'\nbase = 'a.toml'\n")[0].contains("is its own base"));
    assert!(errors_of("c.toml", "name = 'c'\nbase = 'titan-w'\n")[0].contains("did you mean `titan-v`?"));
    assert!(errors_of("d.toml", "name = 'd'\nbase = 'nowhere.toml'\n")[0].contains("cannot read"));
    let twice = format!("name = 'e'\nbase = [{}]\n", "'titan-v', ".repeat(40));
    assert!(errors_of("e.toml", &twice)[0].contains("too many files"));
}

#[test]
fn names_that_do_not_exist() {
    let unknown = load("titan-w", &[""; 0]).expect_err("there is none");
    assert!(matches!(unknown, ConfigError::Unknown { .. }));
    assert_eq!(
        unknown.to_string(),
        "there is no GPU `titan-w`; did you mean `titan-v`?; a file of your own ends in `.toml`"
    );
    assert!(matches!(load("none.toml", &[""; 0]), Err(ConfigError::Unreadable { .. })));
}

/// A preset with any one character replaced or left out, or cut off anywhere, is read without a panic.
#[test]
fn no_slip_of_the_keyboard_panics() {
    let text = gpu("cmd-gddr6", &[]).config.to_toml();
    for at in (0..text.len()).step_by(307) {
        for between in ["", "\"", "[", "9", "-", "é"] {
            let path = file("slip.toml", &format!("{}{between}{}", &text[..at], &text[at + 1..]));
            if let Err(error) = load(&path, &[""; 0]) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
    for hostile in
        ["=", "a=", "=1", "l2.size", "l2.size=[[[[", "sm.count={a={a=1}}", "isa.rows.=1", "é.é=é", "sm..count=1", "\n"]
    {
        assert!(load("titan-v", &[hostile, "l2.ways=24"]).is_err(), "{hostile}");
    }
}
