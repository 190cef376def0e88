//! Files that were cut off or changed are refused, with the place and the cause.

mod common;

use common::{LOCAL, Launch};
use std::io::Cursor;
use strata_core::{Bytes, Counts, Dim3};
use strata_testkit::{Streams, drive};
use strata_trace::{LaunchInfo, Origin, Replay, TraceError, TraceFile, TraceWriter, record_launch};

fn sample() -> (Launch, Vec<u8>) {
    let launch = Launch::random(11);
    let origin = Origin { program: "script".into(), size: None, seed: 1 };
    let mut writer = TraceWriter::new(Vec::new(), &origin).expect("memory can be written");
    let (grid, block) = (Dim3::from(launch.ctas.len() as u32), launch.block);
    let (registers, shared, local) = (32, Bytes(0), Bytes(LOCAL));
    let info = LaunchInfo { kernel: "kernel".into(), grid, block, registers, shared, local };
    record_launch(&mut launch.source(), info, 8, &mut writer, &mut |_| {}).expect("recorded");
    writer.end_launch(Counts::default()).expect("whole");
    let bytes = writer.finish().expect("written");
    (launch, bytes)
}

/// Opens and replays everything.
fn read(bytes: &[u8]) -> Result<Streams, TraceError> {
    let mut file = TraceFile::open(Cursor::new(bytes))?;
    let mut replay = Replay::new(&mut file, 0)?;
    match drive(&mut replay, 2, LOCAL, 5) {
        Some(told) => Ok(told),
        None => Err(replay.take_error().expect("a reason")),
    }
}

#[test]
fn every_changed_byte_is_found() {
    let (launch, bytes) = sample();
    assert_eq!(read(&bytes).expect("whole"), launch.ctas);
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            let error = read(&changed).expect_err("changed").to_string();
            let named = error.contains("byte") || error.contains("no StrataSim trace") || error.contains("format");
            assert!(named, "byte {at}: {error}");
        }
    }
}

#[test]
fn every_cut_is_found() {
    let (_, bytes) = sample();
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).expect_err("cut off");
        if length >= 12 {
            assert!(error.to_string().contains("cut off") || error.to_string().contains("ends before"), "{error}");
        }
    }
}

#[test]
fn messages_say_what_to_do() {
    let (_, bytes) = sample();
    let message = |bytes: &[u8]| read(bytes).expect_err("damaged").to_string();
    assert_eq!(message(b"#!/bin/sh\necho hello"), "this is no StrataSim trace: it begins in another way");
    let mut newer = bytes.clone();
    newer[8] = 9;
    assert_eq!(message(&newer), "the trace has format 9, this program reads formats 1 to 2: record it again");
    let mut changed = bytes;
    changed[30] ^= 1;
    assert_eq!(message(&changed), "the trace is damaged at byte 12: the checksum is wrong; record it again");
}
