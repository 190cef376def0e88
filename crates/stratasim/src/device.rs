//! A device of one's own: modules are loaded, memory is allocated, and kernels run on the interpreter's arrays.
//!
//! The device lives on a thread of its own, so that kernels run without the interpreter's lock and end on Ctrl-C. What is asked of it
//! is done in the order asked.

use crate::{StrataError, background, mechanisms};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use strata_core::stats::Value as Number;
use strata_core::{Addr, Bytes, Dim3};
use strata_host::{Device as HostDevice, HostError, Launch, ModuleId};
use strata_lab::{Abandoned, KernelRun, LabError, Monitor, RunRequest, StopSign, What};

/// Something that is done on the device's thread.
type Task = Box<dyn FnOnce(&mut HostDevice) + Send>;

/// One GPU, as a program sees it.
#[pyclass(frozen)]
pub(crate) struct Device {
    /// `None` once the device has gone.
    tasks: Mutex<Option<Sender<Task>>>,
    monitor: Arc<Monitor>,
    stop: StopSign,
    printed: Arc<Mutex<Vec<u8>>>,
}

/// Memory of a buffer that is held while the device's thread uses it.
struct Held(NonNull<[u8]>);

// SAFETY: the method that made it waits until the device's thread has answered, and holds the buffer until then.
unsafe impl Send for Held {}

/// The size and kind of each parameter of a kernel: `float`, `whole` or `bytes`.
type Parameters = Vec<(&'static str, u32)>;

#[pymethods]
impl Device {
    /// On a machine (`gpu`, `None`: without time) with mechanisms and settings, as on the command line.
    #[new]
    #[pyo3(signature = (gpu, with_, set, check, check_data, max_instructions))]
    fn new(
        py: Python<'_>,
        gpu: Option<String>,
        with_: &str,
        set: Vec<String>,
        check: bool,
        check_data: bool,
        max_instructions: Option<u64>,
    ) -> PyResult<Self> {
        let with =
            mechanisms::registry()?.combination(with_).map_err(|error| StrataError::new_err(error.to_string()))?;
        // A program whose host side is the interpreter's: it runs once, and nobody can rehearse it.
        let what = What::Program(vec!["python".into()]);
        let request = RunRequest { gpu, with, set, check, check_data, max_instructions, ..RunRequest::new(what) };
        let (stop, printed) = (StopSign::default(), Arc::new(Mutex::new(Vec::new())));
        let heard = Arc::clone(&printed);
        let print = move |bytes: &[u8]| heard.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        let monitor = Arc::new(Monitor::new(print).stopped_by(stop.clone()));
        let (tasks, todo) = channel::<Task>();
        let (ready, is_ready) = channel();
        let watched = Arc::clone(&monitor);
        std::thread::Builder::new().name("device".into()).spawn(move || {
            let made = strata_lab::run::device(&request, &watched);
            let mut device = match made {
                Ok(device) => device,
                Err(error) => {
                    // If nobody waits any more, nobody wants to know.
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            let _ = ready.send(Ok(()));
            for task in todo {
                if catch_unwind(AssertUnwindSafe(|| task(&mut device))).is_err() {
                    // In the middle of a launch nobody knows what memory holds.
                    return;
                }
            }
        })?;
        let made = background::wait(py, &stop, |_| Ok(()), is_ready)?;
        made.unwrap_or_else(|| Err(LabError::Request("the device's thread ended".into()))).map_err(refused)?;
        Ok(Self { tasks: Mutex::new(Some(tasks)), monitor, stop, printed })
    }

    /// Loads a module; its number, and the parameters of its kernels.
    fn load(&self, py: Python<'_>, name: String, text: String) -> PyResult<(u32, Vec<(String, Parameters)>)> {
        self.ask(py, move |device| {
            let module = device.load_module(&name, &text)?;
            let parsed = strata_ptx::parse(&name, &text).module.unwrap_or_default();
            let entries = parsed.functions.iter().filter(|function| function.is_entry && !function.is_declaration);
            let mut kernels = Vec::new();
            for function in entries {
                let shape = device.kernel(module, &function.name)?;
                let kinds = function.params.iter().map(|param| match param {
                    param if !param.extents.is_empty() || param.vector > 1 => "bytes",
                    param if param.ty.is_float() => "float",
                    _ => "whole",
                });
                kernels.push((function.name.clone(), kinds.zip(shape.params.iter().map(|param| param.size)).collect()));
            }
            Ok((module.0, kernels))
        })
    }

    /// Allocates memory; its address.
    fn alloc(&self, py: Python<'_>, name: String, bytes: u64) -> PyResult<u64> {
        self.ask(py, move |device| device.alloc(&name, Bytes(bytes)).map(|start| start.0))
    }

    /// Gives memory back.
    fn free(&self, py: Python<'_>, start: u64) -> PyResult<()> {
        self.ask(py, move |device| device.free(Addr(start)))
    }

    /// Copies a contiguous buffer of bytes to the device.
    fn write(&self, py: Python<'_>, start: u64, from: PyBuffer<u8>) -> PyResult<()> {
        let held = Held(contiguous(&from)?);
        self.ask(py, move |device| {
            let held = held;
            // SAFETY: the buffer is held until this has answered, and nobody else may write to an array that is being copied.
            device.copy_in(Addr(start), unsafe { held.0.as_ref() })
        })
    }

    /// Copies from the device into a contiguous buffer of bytes.
    fn read(&self, py: Python<'_>, start: u64, into: PyBuffer<u8>) -> PyResult<()> {
        if into.readonly() {
            return Err(StrataError::new_err("the array is read-only"));
        }
        let held = Held(contiguous(&into)?);
        self.ask(py, move |device| {
            let mut held = held;
            // SAFETY: as in `write`; it can be written.
            device.copy_out(Addr(start), unsafe { held.0.as_mut() })
        })
    }

    /// Launches a kernel with its parameters as bytes and waits for it; what it did, as JSON.
    #[expect(clippy::too_many_arguments, reason = "a launch has that many")]
    fn launch(
        &self,
        py: Python<'_>,
        module: u32,
        kernel: String,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared: u32,
        arguments: Vec<Vec<u8>>,
        tell: Bound<'_, PyAny>,
        printed: Bound<'_, PyAny>,
    ) -> PyResult<String> {
        let (grid, block) = (Dim3::from(grid), Dim3::from(block));
        let print = |py: Python<'_>| {
            let bytes = std::mem::take(&mut *self.printed.lock().unwrap_or_else(PoisonError::into_inner));
            if bytes.is_empty() { Ok(()) } else { printed.call1((PyBytes::new(py, &bytes),)).map(drop) }
        };
        let name = kernel.clone();
        let tick = |py: Python<'_>| {
            print(py)?;
            let share = self.monitor.running_share();
            tell.call1((format!("{name}  {:.0} % of its warps are done", share * 100.0), share)).map(drop)
        };
        let ran = self.ask_with(py, tick, move |device| {
            let arguments: Vec<_> = arguments.into_iter().map(strata_host::Arg::Raw).collect();
            let module = ModuleId(module);
            let params = device.pack(module, &kernel, &arguments)?;
            device.run(Launch { module, kernel, grid, block, shared, params, cooperative: false })?;
            let launches = device.take_launches();
            Ok(launches.last().map(|(launch, report)| to_json(&KernelRun::new(launch, report))).unwrap_or_default())
        });
        print(py)?;
        ran.map(|json| json.to_string())
    }

    /// What looked suspicious so far.
    fn warnings(&self) -> Vec<String> {
        self.monitor.warnings()
    }
}

impl Device {
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&mut HostDevice) -> Result<T, HostError> + Send + 'static,
    ) -> PyResult<T> {
        self.ask_with(py, |_| Ok(()), task)
    }

    /// Has something done on the device's thread and waits for it.
    fn ask_with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        tick: impl FnMut(Python<'_>) -> PyResult<()>,
        task: impl FnOnce(&mut HostDevice) -> Result<T, HostError> + Send + 'static,
    ) -> PyResult<T> {
        let gone = || StrataError::new_err("this device was stopped in the middle of a launch: make another");
        let (send, receive) = channel();
        let why = Arc::new(Mutex::new(None));
        let thrown = Arc::clone(&why);
        let task: Task = Box::new(move |device| match catch_unwind(AssertUnwindSafe(|| task(device))) {
            // The one who asked waits.
            Ok(answer) => drop(send.send(answer)),
            Err(panic) => {
                let text = panic.downcast_ref::<Abandoned>().map(|why| why.0.clone());
                *thrown.lock().unwrap_or_else(PoisonError::into_inner) = text;
                std::panic::resume_unwind(panic);
            }
        });
        // Not held while waiting: another thread of the interpreter may ask, too.
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tasks.ok_or_else(gone)?.send(task).map_err(|_| gone())?;
        let answer = background::wait(py, &self.stop, tick, receive);
        if !matches!(answer, Ok(Some(_))) {
            *self.tasks.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        match answer? {
            Some(answer) => answer.map_err(|error| refused(error.into())),
            None => Err(mechanisms::take_error().unwrap_or_else(|| {
                let why = why.lock().unwrap_or_else(PoisonError::into_inner).take();
                StrataError::new_err(
                    why.unwrap_or_else(|| "the simulator itself failed, which is a mistake in it".into()),
                )
            })),
        }
    }
}

fn refused(error: LabError) -> PyErr {
    StrataError::new_err(match error {
        LabError::Device(HostError::Call { reason, .. }) => reason,
        LabError::Device(error) => error.to_string(),
        other => other.to_string(),
    })
}

fn contiguous(buffer: &PyBuffer<u8>) -> PyResult<NonNull<[u8]>> {
    buffer.as_slice_ptr().ok_or_else(|| StrataError::new_err("the array is not contiguous"))
}

/// A launch with its statistics, like those of a run.
fn to_json(kernel: &KernelRun) -> Value {
    let mut stats = Map::new();
    for (path, stat) in kernel.stats().iter() {
        let value = match stat.value {
            Number::Count(count) => json!(count),
            Number::Amount(_) | Number::Quotient { .. } => json!(stat.value.as_f64()),
        };
        let stat = json!({ "value": value, "unit": stat.unit.name(), "description": stat.description });
        stats.insert(path.to_owned(), stat);
    }
    let instructions = kernel.counts.thread_instructions();
    json!({
        "name": kernel.name,
        "grid": [kernel.grid.x, kernel.grid.y, kernel.grid.z],
        "block": [kernel.block.x, kernel.block.y, kernel.block.z],
        "cycles": kernel.cycles,
        "launch_cycles": kernel.launch_cycles,
        "thread_instructions": instructions,
        "warp_instructions": kernel.counts.warp_instructions(),
        "ipc": kernel.cycles.filter(|&cycles| cycles > 0).map(|cycles| instructions as f64 / cycles as f64),
        "stats": stats,
    })
}
