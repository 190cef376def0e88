//! What was recorded is what is replayed, whatever order warps run in.

mod common;

use common::{LOCAL, Script, ScriptSource, Segment, drive};
use proptest::prelude::*;
use std::io::Cursor;
use strata_core::{Addr, Bytes, Counts, Dim3};
use strata_trace::{Event, LaunchInfo, Origin, Recorder, Replay, Step, TraceFile, TraceWriter, record_launch};

fn info(script: &Script) -> LaunchInfo {
    LaunchInfo {
        kernel: "kernel".into(),
        grid: Dim3::from(script.ctas.len() as u32),
        block: script.block,
        registers: 32,
        shared: Bytes(48),
        local: Bytes(LOCAL),
    }
}

fn counts(n: u64) -> Counts {
    Counts { bytes_read: n, ..Counts::default() }
}

fn writer() -> TraceWriter<Vec<u8>> {
    let origin = Origin { program: "script".into(), size: Some("tiny".into()), seed: 7 };
    TraceWriter::new(Vec::new(), &origin).expect("memory can be written")
}

/// Each script as one launch, recorded without time.
fn recorded(scripts: &[Script]) -> Vec<u8> {
    let mut writer = writer();
    for (k, script) in scripts.iter().enumerate() {
        writer.event(Event::CopyIn { start: Addr(512 * k as u64), size: Bytes(k as u64) });
        let mut ended = 0;
        let mut source = ScriptSource::new(script);
        record_launch(&mut source, info(script), 8, &mut writer, &mut |n| ended = n).expect("recorded");
        assert_eq!(ended, script.ctas.len() as u64);
        writer.end_launch(counts(k as u64)).expect("all CTAs are there");
    }
    writer.finish().expect("written")
}

fn replayed(bytes: &[u8], launch: usize, slots: u32, order: u64) -> Vec<Vec<Vec<Segment>>> {
    let mut file = TraceFile::open(Cursor::new(bytes)).expect("whole");
    let mut replay = Replay::new(&mut file, launch).expect("there");
    drive(&mut replay, slots, order).unwrap_or_else(|| panic!("{:?}", replay.take_error()))
}

proptest! {
    #[test]
    fn streams_come_back_in_any_order(seed: u64, order: u64, slots in 1u32..5) {
        let script = Script::random(seed);
        prop_assert_eq!(&replayed(&recorded(&[Script::random(seed)]), 0, slots, order), &script.ctas);
    }

    #[test]
    fn a_recorder_changes_nothing_and_records_all(seed: u64, order: u64, slots in 1u32..5) {
        let script = Script::random(seed);
        let mut writer = writer();
        let mut source = ScriptSource::new(&script);
        let mut recorder = Recorder::new(&mut source, info(&script), &mut writer).expect("it fits");
        let passed = drive(&mut recorder, slots, order);
        recorder.finish().expect("recorded");
        writer.end_launch(counts(1)).expect("all CTAs are there");
        let bytes = writer.finish().expect("written");
        prop_assert_eq!(passed.as_ref(), Some(&script.ctas));
        prop_assert_eq!(&replayed(&bytes, 0, slots, order ^ 1), &script.ctas);
    }
}

#[test]
fn launches_events_and_counts_come_back_in_order() {
    let scripts = [1, 2, 1].map(Script::random);
    let bytes = recorded(&scripts);
    assert_eq!(bytes, recorded(&[1, 2, 1].map(Script::random)), "same stream, same bytes");
    let mut file = TraceFile::open(Cursor::new(&bytes)).expect("whole");
    assert_eq!((file.origin().program.as_str(), file.launches()), ("script", 3));
    let copies: Vec<_> = (0..3).map(|k| Event::CopyIn { start: Addr(512 * k), size: Bytes(k) }).collect();
    let steps: Vec<_> = copies.iter().enumerate().flat_map(|(k, e)| [Step::Event(e), Step::Launch(k)]).collect();
    assert_eq!(file.steps().collect::<Vec<_>>(), steps);
    for (k, script) in scripts.iter().enumerate() {
        let summary = file.summary(k).expect("there");
        assert_eq!((summary.info, summary.counts), (info(script), counts(k as u64)));
        let operations: usize = script.ctas.iter().flatten().flatten().map(|segment| segment.ops.len()).sum();
        assert_eq!(summary.operations, operations as u64);
        assert_eq!(replayed(&bytes, k, 2, 3), script.ctas);
    }
}

#[test]
fn every_kind_of_event_comes_back() {
    let (start, size) = (Addr(1 << 40), Bytes(4096));
    let events = [
        Event::Alloc { id: 3, start, size, managed: false, name: "weights".into() },
        Event::Alloc { id: 4, start, size, managed: true, name: String::new() },
        Event::CopyIn { start, size },
        Event::CopyOut { start, size },
        Event::Memset { start, size },
        Event::Free { id: 3 },
        Event::Sync,
    ];
    let mut writer = writer();
    for event in &events {
        writer.event(event.clone());
    }
    let file = TraceFile::open(Cursor::new(writer.finish().expect("written"))).expect("whole");
    assert_eq!(file.steps().collect::<Vec<_>>(), events.iter().map(Step::Event).collect::<Vec<_>>());
}

#[test]
fn a_launch_that_is_not_whole_is_refused() {
    let script = Script::random(5);
    let mut writer = writer();
    let mut source = ScriptSource::new(&script);
    let recorder = Recorder::new(&mut source, info(&script), &mut writer).expect("it fits");
    recorder.finish().expect("nothing went wrong so far");
    let error = writer.end_launch(counts(0)).expect_err("no CTA has run").to_string();
    assert!(error.contains("0 of") && error.contains("kernel"), "{error}");
    let wrong = LaunchInfo { grid: Dim3::from(99), ..info(&script) };
    assert!(Recorder::new(&mut source, wrong, &mut writer).is_err());
}
