//! The programs `StrataSim` carries: their PTX, inputs, host drivers and CPU references.
//!
//! A program is a folder under `workloads/` (CUDA source, PTX compiled from it, register counts, a page that says what
//! it is and how its inputs are made), a driver in this crate, and a line in the registry ([`all`]). A driver makes its
//! inputs from a seed, drives a [`Device`] the way the program's own host code would, and compares the result with a
//! reference computed on the CPU from the definition of the problem, not from the kernel.
//!
//! Besides its sizes a program may have [`Instance`]s: the exact shapes that were measured on real cards or that
//! simulation speed is measured with. Programs on graphs also take one from a file ([`Graph`]). [`micro`] holds kernels that measure one property of a machine each.
//!
//! Invariants:
//! * Inputs depend on the program, the size and the seed alone, on every machine: no library mathematics, no clock.
//! * A driver knows the device and nothing behind it: which engine runs, and which mechanism is on, it cannot tell.
//! * A wrong result is an [`Outcome`], a failing device a [`HostError`]; neither is a panic.
//!
//! ```
//! use strata_workloads::{Size, find};
//!
//! let hotspot = find("HotSpot")?;
//! assert_eq!(hotspot.info().name, "hotspot");
//! assert!(hotspot.info().sizes.contains(&Size::Tiny));
//! assert_eq!(find("hotspott").err().and_then(|e| e.nearest), Some("hotspot"));
//! # Ok::<(), strata_workloads::UnknownWorkload>(())
//! ```

mod check;
mod field;
mod gpu;
mod graph;
pub mod gv100;
mod instance;
mod linear;
mod math;
pub mod micro;
mod module;
mod nn;
mod npb;
mod program;
mod programs;
mod registry;
mod rng;
mod size;
mod source;
mod sparse;

pub use check::Outcome;
pub use graph::{Graph, GraphError};
pub use instance::{Instance, Purpose, instances};
pub use module::{Module, Resources};
pub use registry::{UnknownWorkload, all, find};
pub use size::{Size, UnknownSize};
pub use source::source_line;

use strata_host::{Device, HostError};

/// What a program is.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// The collection it is known from (`polybench`, `rodinia`, …).
    pub suite: &'static str,
    /// The papers that use it: `buddy`, `cmd`, `tom`, `uvm`.
    pub papers: &'static [&'static str],
    /// The sizes it can run at, smallest first, the papers' sizes last.
    pub sizes: &'static [Size],
    /// Other names it is found by.
    pub aliases: &'static [&'static str],
    /// One line for people.
    pub description: &'static str,
}

impl Info {
    /// The one of its sizes that is meant: where one paper sized the program, `paper` and that paper's own name for it are the
    /// same.
    pub fn size_for(&self, asked: Size) -> Option<Size> {
        if self.sizes.contains(&asked) {
            return Some(asked);
        }
        let mut papers = self.sizes.iter().copied().filter(|size| size.is_papers());
        let lone = papers.next().filter(|_| papers.next().is_none())?;
        let uses_it = asked.name().strip_prefix("paper-").is_none_or(|paper| self.papers.contains(&paper));
        (asked.is_papers() && uses_it).then_some(lone)
    }
}

/// A program with everything it needs to run and to be judged.
pub trait Workload: Sync {
    /// Name, suite, papers, sizes and a line for people.
    fn info(&self) -> &Info;

    /// The modules it loads.
    fn modules(&self) -> &'static [Module];

    /// Makes the inputs, drives `device`, frees what it allocated and compares the result with the CPU reference.
    ///
    /// A size that is not in [`Info::sizes`] is an error that names those that are; [`Size::Paper`] stands for the
    /// paper's size of a program that only one paper sized, and the other way round.
    fn run(&self, size: Size, seed: u64, device: &mut Device) -> Result<Outcome, HostError>;

    /// The exact shapes it can run besides its sizes.
    fn instances(&self) -> Vec<Instance> {
        Vec::new()
    }

    /// The same as [`run`](Self::run) for the instance of this label, letters in either case.
    ///
    /// A label that is not among [`instances`](Self::instances) is an error that names those that are.
    fn run_instance(&self, label: &str, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        let _ = (seed, device);
        Err(HostError::Call { call: "run", reason: format!("`{}` has no instance `{label}`", self.info().name) })
    }

    /// True if it runs on graphs of the user's.
    fn takes_graphs(&self) -> bool {
        false
    }

    /// The same as [`run`](Self::run) on this graph; the seed decides what is random besides it.
    ///
    /// A program that takes no graphs, or not this one, says so in its error.
    fn run_graph(&self, graph: &Graph, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        let _ = (graph, seed, device);
        Err(HostError::Call { call: "run", reason: format!("`{}` takes no graph", self.info().name) })
    }
}
