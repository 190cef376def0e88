//! Snapshots: what device memory holds at kernel boundaries, allocation by allocation.
//!
//! The paper on Buddy Compression divides a run into ten regions of equal length and looks at memory at the kernel boundary
//! nearest to the end of each (section II-C). Here a run is executed twice: to learn how long each launch is, in thread
//! instructions, and to look. Preparation (see `Device::begin_preparation`) is no part of the run.

use crate::engine;
use crate::error::LabError;
use crate::monitor::Monitor;
use crate::request::RunRequest;
use crate::run;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use strata_core::{Addr, Allocation, HostEvent};
use strata_host::{Around, Device, Engine, HostError, Launch, LaunchReport};
use strata_mechanism::{Look, Moment};

/// Runs a program without time and shows `count` moments of it to `look`. How many there were: a run with fewer launches
/// has fewer.
pub fn observe(request: &RunRequest, count: usize, monitor: &Arc<Monitor>, look: Look) -> Result<usize, LabError> {
    let lengths = launch_lengths(request, monitor)?;
    let boundaries = boundaries(&lengths, count);
    let engine = engine::functional(run::options(request, monitor)).map_err(LabError::Device)?;
    let failure = Rc::<RefCell<Option<String>>>::default();
    let watching = Watching {
        engine,
        allocations: Vec::new(),
        launches: 0,
        seen: 0,
        boundaries,
        look,
        failure: Rc::clone(&failure),
    };
    let seen = watching.boundaries.len();
    run::execute(request, monitor, Box::new(watching))?;
    match failure.take() {
        Some(reason) => Err(LabError::Device(HostError::Call { call: "snapshot", reason })),
        None => Ok(seen),
    }
}

/// Thread instructions of each launch that is measured.
fn launch_lengths(request: &RunRequest, monitor: &Arc<Monitor>) -> Result<Vec<u64>, LabError> {
    let engine = engine::functional(run::options(request, monitor)).map_err(LabError::Device)?;
    let device: Device = run::execute(request, monitor, engine)?;
    Ok(device.launches().iter().map(|(_, report)| report.counts.thread_instructions()).collect())
}

/// The launches after which to look: those whose ends are nearest to the ends of equal parts of the run.
fn boundaries(lengths: &[u64], count: usize) -> Vec<usize> {
    let mut ends = Vec::with_capacity(lengths.len());
    let mut total = 0u64;
    for length in lengths {
        total += length;
        ends.push(total);
    }
    let mut chosen: Vec<usize> = (1..=count as u64)
        .filter_map(|k| {
            let wanted = (u128::from(total) * u128::from(k) / count as u128) as u64;
            (0..ends.len()).min_by_key(|&launch| ends[launch].abs_diff(wanted)).map(|launch| launch + 1)
        })
        .collect();
    chosen.dedup();
    chosen
}

/// An engine whose memory is looked at between launches.
struct Watching {
    engine: Box<dyn Engine>,
    allocations: Vec<Allocation>,
    launches: usize,
    seen: usize,
    boundaries: Vec<usize>,
    look: Look,
    failure: Rc<RefCell<Option<String>>>,
}

impl Around for Watching {
    fn inside(&self) -> &dyn Engine {
        &*self.engine
    }

    fn inside_mut(&mut self) -> &mut dyn Engine {
        &mut *self.engine
    }

    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        let report = self.engine.launch(launch)?;
        self.launches += 1;
        if self.boundaries.get(self.seen) == Some(&self.launches) {
            let memory = |start: Addr, data: &mut [u8]| self.engine.read(start, data).map_err(|e| e.to_string());
            let (number, of) = (self.seen, self.boundaries.len());
            let moment = Moment { number, of, allocations: &self.allocations, memory: &memory };
            if let Err(reason) = (self.look)(&moment) {
                self.failure.borrow_mut().get_or_insert(reason);
            }
            self.seen += 1;
        }
        Ok(report)
    }

    fn hear(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Alloc(allocation) => self.allocations.push(allocation.clone()),
            HostEvent::Free { id, .. } => self.allocations.retain(|a| a.id != *id),
            HostEvent::Prepare => self.launches = usize::MAX / 2,
            HostEvent::Measure => self.launches = 0,
            _ => {}
        }
        self.engine.hear(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lengths: &[u64], count: usize, expected: &[usize]) {
        assert_eq!(boundaries(lengths, count), expected, "{lengths:?}");
    }

    #[test]
    fn boundaries_divide_a_run_by_instructions() {
        check(&[1; 10], 10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        check(&[1; 20], 4, &[5, 10, 15, 20]);
        // One long launch in the middle: its beginning or its end is nearest.
        check(&[10, 80, 10], 4, &[1, 2, 3]);
        check(&[5], 10, &[1]);
        check(&[], 10, &[]);
    }
}
