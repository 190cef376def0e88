//! Runs a program and writes down what its warps did.

use super::EXTENSION;
use crate::engine;
use crate::error::LabError;
use crate::monitor::Monitor;
use crate::request::RunRequest;
use crate::result::RunResult;
use crate::run;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use strata_core::Bytes;
use strata_core::files::AtomicFile;
use strata_emu::Execution;
use strata_host::{HostError, HostEvent, Launch, LaunchReport};
use strata_trace::{Event, LaunchInfo, TraceError, TraceWriter, record_launch};

type Writer = TraceWriter<AtomicFile>;

/// Where an engine writes down its launches; the trace is ended by whoever made it.
pub(crate) struct Recording {
    writer: Arc<Mutex<Option<Writer>>>,
}

/// Runs a request without time, as [`crate::run()`] does, and records it in `file`. If the program fails or its result is
/// wrong there is no trace: the result says why.
pub fn record(request: &RunRequest, file: &Path, monitor: &Arc<Monitor>) -> Result<RunResult, LabError> {
    if file.extension().is_none_or(|e| e != EXTENSION) {
        let name = file.with_extension(EXTENSION);
        return Err(LabError::Request(format!("name the trace `{}`, so that `strata run` knows it", name.display())));
    }
    if request.gpu.is_some() || request.threads > 1 {
        return Err(LabError::Request("a program is recorded without time, on one host thread".into()));
    }
    let origin = run::origin(request)?;
    let wrong = |e: TraceError| LabError::trace(file, e);
    let target = AtomicFile::create(file).map_err(|e| LabError::io("write", file, e))?;
    let writer = Arc::new(Mutex::new(Some(TraceWriter::new(target, &origin).map_err(wrong)?)));
    let recording = Recording { writer: Arc::clone(&writer) };
    let engine = engine::recording(run::options(request, monitor), recording).map_err(LabError::Device)?;
    let result = run::run_on(request, monitor, engine)?;
    let written = writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(writer) = written.filter(|_| result.is_success()) {
        let target = writer.finish().map_err(wrong)?;
        target.commit().map_err(|e| LabError::io("write", file, e))?;
    }
    Ok(result)
}

impl Recording {
    /// Runs a launch and writes it down.
    pub(crate) fn launch(
        &self,
        launch: &Launch,
        execution: &mut Execution<'_>,
        registers: u32,
        monitor: &Monitor,
    ) -> Result<LaunchReport, HostError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = writer.as_mut() else {
            return Err(HostError::Call { call: "launch", reason: "the trace has already ended".into() });
        };
        let info = LaunchInfo {
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            registers,
            shared: Bytes(execution.shared_bytes()),
            local: Bytes(execution.local_bytes_per_cta()),
        };
        let (ctas, resident) = (launch.grid.count(), execution.resident_limit());
        let mut progress = |ended: u64| monitor.set_running(0, ended as f64 / ctas as f64);
        let recorded = record_launch(execution, info, resident, writer, &mut progress).and_then(|()| {
            let counts = execution.counts();
            writer.end_launch(counts.clone()).map(|()| counts)
        });
        match recorded {
            Ok(counts) => Ok(LaunchReport { counts, ..LaunchReport::default() }),
            Err(error) => {
                let fault = execution.take_fault();
                Err(HostError::Program(fault.map_or_else(|| error.to_string(), |fault| fault.to_string())))
            }
        }
    }

    /// Writes down what the host did.
    pub(crate) fn hear(&self, event: &HostEvent) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(writer), Some(event)) = (writer.as_mut(), recorded_event(event)) {
            writer.event(event);
        }
    }
}

/// What a trace keeps of an event; launches are kept apart.
fn recorded_event(event: &HostEvent) -> Option<Event> {
    Some(match event {
        HostEvent::Alloc(a) => {
            Event::Alloc { id: a.id.0, start: a.start, size: a.size, managed: a.flags.managed, name: a.name.clone() }
        }
        HostEvent::Free { id, .. } => Event::Free { id: id.0 },
        HostEvent::CopyIn { start, size } => Event::CopyIn { start: *start, size: *size },
        HostEvent::CopyOut { start, size } => Event::CopyOut { start: *start, size: *size },
        HostEvent::Memset { start, size } => Event::Memset { start: *start, size: *size },
        HostEvent::Sync => Event::Sync,
        HostEvent::ModuleLoaded { .. }
        | HostEvent::Prefetch { .. }
        | HostEvent::Advise { .. }
        | HostEvent::LaunchBegin { .. }
        | HostEvent::LaunchEnd { .. }
        | HostEvent::Announce { .. }
        | HostEvent::Prepare
        | HostEvent::Measure => return None,
    })
}
