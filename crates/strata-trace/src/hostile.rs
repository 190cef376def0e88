//! Contents with a right checksum and anything inside: read or refused, never a panic.

#[path = "../tests/common/mod.rs"]
mod common;

use crate::block::{FrameReader, Kind};
use crate::cta::{CtaBlock, CtaCursor};
use crate::format::{VERSION, decode_index, decode_launch, decode_origin};
use crate::table::{self, Table};
use crate::wire::Malformed;
use crate::{LaunchInfo, Origin, TraceFile, TraceWriter, record_launch};
use common::{LOCAL, Launch};
use proptest::prelude::*;
use std::io::Cursor;
use std::sync::Arc;
use strata_core::random::SplitMix64;
use strata_core::{Bytes, Counts, Dim3, OpBatch, Stop};
use strata_testkit::drive;

/// The contents of the first block of a random launch, its table and the warps of a CTA.
fn block(seed: u64) -> (Vec<u8>, Arc<Table>, u32) {
    let launch = Launch::random(seed);
    assert_eq!(drive(&mut launch.source(), 2, LOCAL, seed).as_ref(), Some(&launch.ctas), "the script plays");
    let origin = Origin { program: "script".into(), size: None, seed };
    let mut writer = TraceWriter::new(Vec::new(), &origin).expect("memory can be written");
    let (grid, block) = (Dim3::from(launch.ctas.len() as u32), launch.block);
    let info = LaunchInfo { kernel: "k".into(), grid, block, registers: 1, shared: Bytes(0), local: Bytes(LOCAL) };
    record_launch(&mut launch.source(), info, 8, &mut writer, &mut |_| {}).expect("recorded");
    writer.end_launch(Counts::default()).expect("whole");
    let bytes = writer.finish().expect("written");
    let launch = TraceFile::open(Cursor::new(&bytes)).and_then(|mut file| file.launch(0)).expect("whole");
    let mut frames = FrameReader::new(Cursor::new(&bytes)).expect("memory can be read");
    let contents = frames.frame(Kind::Ctas, launch.blocks[0].0).expect("whole");
    (contents, launch.table, launch.summary.info.warps_per_cta())
}

/// Reads everything in a block, as a replay would, and checks what it promises.
fn read_all(bytes: Vec<u8>, table: &Table, warps: u32) -> Result<usize, Malformed> {
    let block = CtaBlock::decode(0, bytes, table)?;
    let (mut cursor, mut batch, mut opened) = (CtaCursor::default(), OpBatch::default(), Vec::new());
    let mut operations = 0;
    for index in 0..block.len() {
        cursor.start(&block, index, table, warps)?;
        let mut ready: Vec<u32> = (0..warps).collect();
        while let Some(warp) = ready.pop() {
            batch.clear();
            let stop = cursor.advance(warp as usize, &block.bytes, table, 0, &mut batch, &mut opened)?;
            assert!(batch.ops.iter().all(|op| (op.pc as usize) < table.infos.len()));
            assert!(batch.ops.is_sorted_by_key(|op| op.pc));
            assert!(batch.addresses.iter().all(|set| batch.lanes(set).iter().all(|a| a.0 >> 57 == 0)));
            operations += batch.ops.len();
            if stop == Stop::Ready {
                ready.push(warp);
            }
            ready.append(&mut opened);
        }
    }
    Ok(operations)
}

proptest! {
    #[test]
    fn changed_streams_are_read_or_refused(seed: u64, changes: u64) {
        let (mut bytes, table, warps) = block(seed);
        prop_assert!(read_all(bytes.clone(), &table, warps).is_ok());
        let mut r = SplitMix64::new(changes);
        for _ in 0..=r.below(4) {
            let at = r.below(bytes.len() as u64) as usize;
            bytes[at] = r.bits() as u8;
        }
        bytes.truncate(bytes.len() - r.below(3) as usize);
        let _ = read_all(bytes, &table, warps);
    }

    #[test]
    fn any_contents_are_read_or_refused(bytes: Vec<u8>, seed: u64) {
        let _ = (decode_origin(&bytes), decode_launch(&bytes), decode_index(&bytes));
        for version in 1..=VERSION {
            let _ = table::decode(&bytes, version);
        }
        let (_, table, warps) = block(seed);
        let _ = read_all(bytes, &table, warps);
    }

    #[test]
    fn changed_tables_are_read_or_refused(seed: u64, at: usize, value: u8) {
        let mut bytes = table::encode(&Launch::random(seed).infos).expect("it fits");
        let at = at % bytes.len();
        bytes[at] = value;
        for version in 1..=VERSION {
            let _ = table::decode(&bytes, version);
        }
    }
}
