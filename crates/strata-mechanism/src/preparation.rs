//! What a mechanism can ask for before a run: the machine, the program, executions of it without time, and what was found then.

use crate::MechanismError;
use serde_json::Value;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use strata_core::{Addr, Allocation, Bytes, GridSource, HostEvent};
use strata_sim::config::GpuConfig;

/// Which input a program is executed on beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The one that will be timed.
    Same,
    /// A small one, as a user would profile on; the same if that is not larger, or is all there is.
    Small,
}

/// A run that is being prepared.
pub trait Preparation {
    /// The machine.
    fn gpu(&self) -> &GpuConfig;

    /// The addresses of managed memory.
    fn managed(&self) -> Range<Addr>;

    /// True if a mechanism of this run moves managed pages: managed memory is on the device then, while its pages are.
    fn pages(&self) -> bool;

    /// True if the program cannot be executed beforehand: it is a process of its own, or a recorded trace.
    fn runs_once(&self) -> bool;

    /// Executes the program without time and shows device memory at `count` kernel boundaries, equally far apart in
    /// instructions. How many there were: a run with fewer launches has fewer.
    fn snapshots(&mut self, input: Input, count: usize, look: Look) -> Result<usize, MechanismError>;

    /// Executes the program without time; `spectator` takes the place of the machine.
    fn rehearse(&mut self, spectator: Rc<RefCell<dyn Spectator>>) -> Result<(), MechanismError>;

    /// What an earlier run kept under this kind and key, of the same program, input and version. Keys say all else that it
    /// depends on.
    fn recall(&self, kind: &str, key: &Value) -> Result<Option<Value>, MechanismError>;

    /// Keeps something for later runs.
    fn keep(&self, kind: &str, key: &Value, value: &Value) -> Result<(), MechanismError>;
}

/// Looks at a moment; an error ends the execution.
pub type Look = Box<dyn FnMut(&Moment<'_>) -> Result<(), String>>;

/// Reads device memory at an address; the error says why it cannot.
pub type ReadMemory<'a> = &'a dyn Fn(Addr, &mut [u8]) -> Result<(), String>;

/// Device memory between two launches.
pub struct Moment<'a> {
    /// Which snapshot it is, counted from 0.
    pub number: usize,
    /// How many there will be.
    pub of: usize,
    /// Living allocations, in the order of their making.
    pub allocations: &'a [Allocation],
    /// How memory is read.
    pub memory: ReadMemory<'a>,
}

impl Moment<'_> {
    /// Shows the bytes of an allocation, piece by piece; pieces are whole lines but for the last.
    pub fn read(&self, allocation: &Allocation, mut see: impl FnMut(&[u8])) -> Result<(), String> {
        const PIECE: u64 = 1 << 20;
        let mut buffer = vec![0; allocation.size.0.min(PIECE) as usize];
        let mut at = 0;
        while at < allocation.size.0 {
            let piece = &mut buffer[..(allocation.size.0 - at).min(PIECE) as usize];
            (self.memory)(allocation.start.offset(at), piece)?;
            see(piece);
            at += piece.len() as u64;
        }
        Ok(())
    }
}

/// Sees a program executed without time, launch by launch: what its warps do, and what the host does in between.
pub trait Spectator {
    /// The granularity at which memory is to be given out: that of the run to come.
    fn page(&self) -> Option<Bytes> {
        None
    }

    /// The host did something.
    fn host_event(&mut self, event: &HostEvent);

    /// A kernel runs: the spectator pulls what its warps do, to the end. False if the program failed.
    fn launch(&mut self, module: u32, kernel: &str, source: &mut dyn GridSource) -> bool;
}
