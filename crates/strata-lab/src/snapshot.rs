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
use crate::tensors::write_safetensors;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use strata_host::{Allocation, Around, Device, Engine, HostError, HostEvent, Launch, LaunchReport};

/// As many as the paper takes.
pub const SNAPSHOTS: usize = 10;

/// Device memory between two launches.
pub struct Moment<'a> {
    /// Which snapshot it is, counted from 0.
    pub number: usize,
    /// How many there will be.
    pub of: usize,
    /// Launches that have ended, of those that are measured.
    pub launches: usize,
    /// Living allocations, in the order of their making.
    pub allocations: &'a [Allocation],
    engine: &'a dyn Engine,
}

impl Moment<'_> {
    /// Shows the bytes of an allocation, piece by piece; pieces are whole entries but for the last.
    pub fn read(&self, allocation: &Allocation, mut see: impl FnMut(&[u8])) -> Result<(), HostError> {
        const PIECE: u64 = 1 << 20;
        let mut buffer = vec![0; allocation.size.0.min(PIECE) as usize];
        let mut at = 0;
        while at < allocation.size.0 {
            let piece = &mut buffer[..(allocation.size.0 - at).min(PIECE) as usize];
            self.engine.read(allocation.start.offset(at), piece)?;
            see(piece);
            at += piece.len() as u64;
        }
        Ok(())
    }
}

impl Moment<'_> {
    /// Writes everything to a `.safetensors` file: a tensor of bytes for each allocation.
    pub fn save(&self, path: &Path) -> Result<(), HostError> {
        let tensors: Vec<_> = self.allocations.iter().map(|a| (a.name.clone(), a.size)).collect();
        let written = write_safetensors(path, &tensors, |index, out| {
            let mut result = Ok(());
            self.read(&self.allocations[index], |bytes| {
                if result.is_ok() {
                    result = out.write_all(bytes);
                }
            })
            .map_err(std::io::Error::other)?;
            result
        });
        let reason = |e: std::io::Error| format!("cannot write `{}`: {e}", path.display());
        written.map_err(|e| HostError::Call { call: "snapshot", reason: reason(e) })
    }
}

/// Runs a program without time and shows `count` moments of it to `look`. How many there were: a run with fewer launches
/// has fewer.
pub fn observe(
    request: &RunRequest,
    count: usize,
    monitor: &Arc<Monitor>,
    look: impl FnMut(&Moment<'_>) -> Result<(), HostError> + 'static,
) -> Result<usize, LabError> {
    let lengths = launch_lengths(request, monitor)?;
    let boundaries = boundaries(&lengths, count);
    let engine = engine::functional(run::options(request, monitor)).map_err(LabError::Device)?;
    let failure = Rc::<RefCell<Option<HostError>>>::default();
    let watching = Watching {
        engine,
        allocations: Vec::new(),
        launches: 0,
        seen: 0,
        boundaries,
        look: Box::new(look),
        failure: Rc::clone(&failure),
    };
    let seen = watching.boundaries.len();
    run::execute(request, monitor, Box::new(watching))?;
    match failure.take() {
        Some(error) => Err(LabError::Device(error)),
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

/// Shows moments to whoever wants to look.
type Look = Box<dyn FnMut(&Moment<'_>) -> Result<(), HostError>>;

/// An engine whose memory is looked at between launches.
struct Watching {
    engine: Box<dyn Engine>,
    allocations: Vec<Allocation>,
    launches: usize,
    seen: usize,
    boundaries: Vec<usize>,
    look: Look,
    failure: Rc<RefCell<Option<HostError>>>,
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
            let Self { engine, allocations, launches, seen, boundaries, look, .. } = self;
            let (number, of, launches) = (*seen, boundaries.len(), *launches);
            let moment = Moment { number, of, launches, allocations, engine: &**engine };
            if let Err(error) = look(&moment) {
                self.failure.borrow_mut().get_or_insert(error);
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
