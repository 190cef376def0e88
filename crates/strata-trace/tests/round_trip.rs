//! What was recorded is what is replayed, whatever order warps run in.

mod common;

use common::{LOCAL, Launch};
use proptest::prelude::*;
use std::io::Cursor;
use strata_core::{Addr, Bytes, Counts, Dim3};
use strata_testkit::{Streams, drive};
use strata_trace::{Event, LaunchInfo, Origin, Recorder, Replay, Step, TraceFile, TraceWriter, record_launch};

fn info(launch: &Launch) -> LaunchInfo {
    LaunchInfo {
        kernel: "kernel".into(),
        grid: Dim3::from(launch.ctas.len() as u32),
        block: launch.block,
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

/// Launches, recorded without time.
fn recorded(launches: &[Launch]) -> Vec<u8> {
    let mut writer = writer();
    for (k, launch) in launches.iter().enumerate() {
        writer.event(Event::CopyIn { start: Addr(512 * k as u64), size: Bytes(k as u64) });
        let mut ended = 0;
        let mut source = launch.source();
        record_launch(&mut source, info(launch), 8, &mut writer, &mut |n| ended = n).expect("recorded");
        assert_eq!(ended, launch.ctas.len() as u64);
        writer.end_launch(counts(k as u64)).expect("all CTAs are there");
    }
    writer.finish().expect("written")
}

fn replayed(bytes: &[u8], launch: usize, slots: u32, order: u64) -> Streams {
    let mut file = TraceFile::open(Cursor::new(bytes)).expect("whole");
    let mut replay = Replay::new(&mut file, launch).expect("there");
    drive(&mut replay, slots, LOCAL, order).unwrap_or_else(|| panic!("{:?}", replay.take_error()))
}

proptest! {
    #[test]
    fn streams_come_back_in_any_order(seed: u64, order: u64, slots in 1u32..5) {
        let launch = Launch::random(seed);
        prop_assert_eq!(&replayed(&recorded(&[Launch::random(seed)]), 0, slots, order), &launch.ctas);
    }

    #[test]
    fn a_recorder_changes_nothing_and_records_all(seed: u64, order: u64, slots in 1u32..5) {
        let launch = Launch::random(seed);
        let mut writer = writer();
        let mut source = launch.source();
        let mut recorder = Recorder::new(&mut source, info(&launch), &mut writer).expect("it fits");
        let passed = drive(&mut recorder, slots, LOCAL, order);
        recorder.finish().expect("recorded");
        writer.end_launch(counts(1)).expect("all CTAs are there");
        let bytes = writer.finish().expect("written");
        prop_assert_eq!(passed.as_ref(), Some(&launch.ctas));
        prop_assert_eq!(&replayed(&bytes, 0, slots, order ^ 1), &launch.ctas);
    }
}

#[test]
fn launches_events_and_counts_come_back_in_order() {
    let launches = [1, 2, 1].map(Launch::random);
    let bytes = recorded(&launches);
    assert_eq!(bytes, recorded(&[1, 2, 1].map(Launch::random)), "same stream, same bytes");
    let mut file = TraceFile::open(Cursor::new(&bytes)).expect("whole");
    assert_eq!((file.origin().program.as_str(), file.launches()), ("script", 3));
    let copies: Vec<_> = (0..3).map(|k| Event::CopyIn { start: Addr(512 * k), size: Bytes(k) }).collect();
    let steps: Vec<_> = copies.iter().enumerate().flat_map(|(k, e)| [Step::Event(e), Step::Launch(k)]).collect();
    assert_eq!(file.steps().collect::<Vec<_>>(), steps);
    for (k, launch) in launches.iter().enumerate() {
        let summary = file.summary(k).expect("there");
        assert_eq!((summary.info, summary.counts), (info(launch), counts(k as u64)));
        let operations: usize = launch.ctas.iter().flatten().flatten().map(|segment| segment.ops.len()).sum();
        assert_eq!(summary.operations, operations as u64);
        assert_eq!(replayed(&bytes, k, 2, 3), launch.ctas);
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
    let launch = Launch::random(5);
    let mut writer = writer();
    let mut source = launch.source();
    let recorder = Recorder::new(&mut source, info(&launch), &mut writer).expect("it fits");
    recorder.finish().expect("nothing went wrong so far");
    let error = writer.end_launch(counts(0)).expect_err("no CTA has run").to_string();
    assert!(error.contains("0 of") && error.contains("kernel"), "{error}");
    let wrong = LaunchInfo { grid: Dim3::from(99), ..info(&launch) };
    assert!(Recorder::new(&mut source, wrong, &mut writer).is_err());
}
