//! What all drivers share: a program is data and one function.

use crate::gpu::Gpu;
use crate::{Graph, Info, Instance, Module, Outcome, Size, Workload};
use strata_host::{Device, HostError};

/// A program whose runs differ by a shape `S` alone.
pub(crate) struct Program<S: 'static> {
    pub(crate) info: Info,
    pub(crate) module: &'static [Module; 1],
    /// What each size means, in the order of [`Info::sizes`] (which [`sizes`] makes from this table).
    pub(crate) shapes: &'static [(Size, S)],
    /// Runs one shape with one seed. The module is loaded, and what it allocates is freed after it.
    pub(crate) run: fn(&S, u64, &mut Gpu<'_>) -> Result<Outcome, HostError>,
}

/// The sizes of a table of shapes.
pub(crate) const fn sizes<S, const N: usize>(shapes: &[(Size, S); N]) -> [Size; N] {
    let mut names = [Size::Tiny; N];
    let mut i = 0;
    while i < N {
        names[i] = shapes[i].0;
        i += 1;
    }
    names
}

impl<S> Program<S> {
    fn shape(&self, size: Size) -> Result<&S, HostError> {
        let meant = self.info.size_for(size);
        let found = self.shapes.iter().find(|(s, _)| Some(*s) == meant);
        found.map(|(_, shape)| shape).ok_or_else(|| {
            let names: Vec<_> = self.info.sizes.iter().map(|s| s.name()).collect();
            let reason = format!("`{}` has no size `{size}`; it has {}", self.info.name, names.join(", "));
            HostError::Call { call: "run", reason }
        })
    }

    fn run_shape(&self, shape: &S, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        let mut gpu = Gpu::new(device, &self.module[0])?;
        let outcome = (self.run)(shape, seed, &mut gpu)?;
        gpu.free_all()?;
        Ok(outcome)
    }
}

impl<S: Sync> Workload for Program<S> {
    fn info(&self) -> &Info {
        &self.info
    }

    fn modules(&self) -> &'static [Module] {
        self.module
    }

    fn run(&self, size: Size, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        self.run_shape(self.shape(size)?, seed, device)
    }
}

/// A program that also runs exact shapes, by label.
pub(crate) struct Measured<S: 'static> {
    pub(crate) program: Program<S>,
    pub(crate) instances: &'static [(Instance, S)],
}

impl<S: Sync> Workload for Measured<S> {
    fn info(&self) -> &Info {
        self.program.info()
    }

    fn modules(&self) -> &'static [Module] {
        self.program.modules()
    }

    fn run(&self, size: Size, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        self.program.run(size, seed, device)
    }

    fn instances(&self) -> Vec<Instance> {
        self.instances.iter().map(|(instance, _)| *instance).collect()
    }

    fn run_instance(&self, label: &str, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        let found = self.instances.iter().find(|(instance, _)| instance.label.eq_ignore_ascii_case(label));
        let (_, shape) = found.ok_or_else(|| {
            let labels: Vec<_> = self.instances.iter().map(|(instance, _)| instance.label).collect();
            let name = self.program.info.name;
            let reason = format!("`{name}` has no instance `{label}`; it has {}", labels.join(", "));
            HostError::Call { call: "run", reason }
        })?;
        self.program.run_shape(shape, seed, device)
    }
}

/// A program that also runs on graphs of the user's.
pub(crate) struct OnGraphs<W> {
    pub(crate) program: W,
    /// Runs one graph with one seed, as [`Program::run`] does one shape.
    pub(crate) run_on: fn(&Graph, u64, &mut Gpu<'_>) -> Result<Outcome, HostError>,
}

impl<W: Workload> Workload for OnGraphs<W> {
    fn info(&self) -> &Info {
        self.program.info()
    }

    fn modules(&self) -> &'static [Module] {
        self.program.modules()
    }

    fn run(&self, size: Size, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        self.program.run(size, seed, device)
    }

    fn instances(&self) -> Vec<Instance> {
        self.program.instances()
    }

    fn run_instance(&self, label: &str, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        self.program.run_instance(label, seed, device)
    }

    fn takes_graphs(&self) -> bool {
        true
    }

    fn run_graph(&self, graph: &Graph, seed: u64, device: &mut Device) -> Result<Outcome, HostError> {
        let mut gpu = Gpu::new(device, &self.modules()[0])?;
        let outcome = (self.run_on)(graph, seed, &mut gpu)?;
        gpu.free_all()?;
        Ok(outcome)
    }
}
