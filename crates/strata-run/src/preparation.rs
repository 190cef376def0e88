//! What mechanisms can ask for before a run is timed: executions of its program without time, and what earlier ones found.

use crate::description;
use crate::engine::{self, EngineOptions};
use crate::error::LabError;
use crate::monitor::Monitor;
use crate::request::{DEFAULT_OUT, RunRequest, What};
use crate::{run, snapshot};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use strata_core::fnv::Fnv1a64;
use strata_core::{Addr, files};
use strata_emu::Capacity;
use strata_mechanism::{Input, Look, MechanismError, Preparation, Role, Spectator};
use strata_sim::config::GpuConfig;

/// A run that is being prepared.
pub struct RunPreparation<'a> {
    request: &'a RunRequest,
    gpu: &'a GpuConfig,
    capacity: Capacity,
    monitor: &'a Arc<Monitor>,
}

impl<'a> RunPreparation<'a> {
    /// Of a request, on a machine whose memory is where `capacity` says.
    pub fn new(request: &'a RunRequest, gpu: &'a GpuConfig, capacity: Capacity, monitor: &'a Arc<Monitor>) -> Self {
        Self { request, gpu, capacity, monitor }
    }

    /// The program and its input alone: what is executed beforehand depends on neither the machine nor how it is run.
    fn program(&self, input: Input) -> RunRequest {
        let request = self.request;
        let size = match (&request.what, input) {
            _ if request.input.is_some() => None,
            (_, Input::Same) => request.size.clone(),
            (What::Workload(_), Input::Small) if request.size.as_deref() == Some("tiny") => request.size.clone(),
            (What::Workload(_), Input::Small) => Some("small".to_owned()),
            (_, Input::Small) => None,
        };
        RunRequest {
            size,
            seed: request.seed,
            input: request.input.clone(),
            out: request.out.clone(),
            ..RunRequest::new(request.what.clone())
        }
    }

    /// Where something is kept: beside the results, in a file that is named after everything it depends on, the sources of
    /// the simulator among that.
    fn place(&self, kind: &str, key: &Value) -> Result<PathBuf, LabError> {
        let source = description::source(self.request)?;
        let program = RunRequest { out: None, ..self.program(Input::Same) };
        let resolved = run::resolved(&program)?;
        let key = json!({ "source": source, "program": resolved.to_json(&program), "key": key });
        let hash = Fnv1a64::of(key.to_string().as_bytes()).to_string();
        let out = self.request.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_OUT));
        Ok(out.join(kind).join(format!("{}-{}.json", resolved.name, &hash[..12])))
    }
}

impl Preparation for RunPreparation<'_> {
    fn gpu(&self) -> &GpuConfig {
        self.gpu
    }

    fn managed(&self) -> Range<Addr> {
        self.capacity.managed_range()
    }

    fn pages(&self) -> bool {
        self.request.with.list().iter().any(|mechanism| mechanism.roles().contains(&Role::Pages))
    }

    fn runs_once(&self) -> bool {
        matches!(self.request.what, What::Program(_) | What::Trace(_))
    }

    fn snapshots(&mut self, input: Input, count: usize, look: Look) -> Result<usize, MechanismError> {
        let seen = snapshot::observe(&self.program(input), count, self.monitor, look)?;
        self.monitor.forget_warnings();
        Ok(seen)
    }

    fn rehearse(&mut self, spectator: Rc<RefCell<dyn Spectator>>) -> Result<(), MechanismError> {
        let options =
            EngineOptions { threads: 1, check: false, check_races: false, ..run::options(self.request, self.monitor) };
        let engine = engine::watched(options, spectator).map_err(LabError::Device)?;
        drop(run::execute(self.request, self.monitor, engine)?);
        self.monitor.forget_warnings();
        Ok(())
    }

    fn recall(&self, kind: &str, key: &Value) -> Result<Option<Value>, MechanismError> {
        let kept = std::fs::read(self.place(kind, key)?).ok();
        // Half a file is none.
        Ok(kept.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    fn keep(&self, kind: &str, key: &Value, value: &Value) -> Result<(), MechanismError> {
        let path = self.place(kind, key)?;
        files::write_text(&path, &format!("{value:#}\n")).map_err(|e| MechanismError::io("write", &path, e))
    }
}
