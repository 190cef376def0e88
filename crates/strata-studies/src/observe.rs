//! How compressible a program's memory is: its snapshots, counted, and saved if they are wanted.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use strata_buddy::observation::{Observation, Wanted};
use strata_core::file_error::why;
use strata_mechanism::Moment;
use strata_run::{LabError, Monitor, RunRequest, snapshot};
use strata_tensors::tensors::write_safetensors;

/// Runs a program and counts its memory, at `count` moments; every snapshot is saved in `files`, if that is given, as
/// `snapshot-1.safetensors` and so on.
pub fn observe(
    request: &RunRequest,
    count: usize,
    wanted: Wanted,
    files: Option<PathBuf>,
    monitor: &Arc<Monitor>,
) -> Result<Observation, LabError> {
    let seen = Rc::<RefCell<Observation>>::default();
    let collected = Rc::clone(&seen);
    let look = move |moment: &Moment<'_>| {
        if let Some(folder) = &files {
            save(moment, &folder.join(format!("snapshot-{}.safetensors", moment.number + 1)))?;
        }
        collected.borrow_mut().see(moment, wanted)
    };
    let snapshots = snapshot::observe(request, count, monitor, Box::new(look))?;
    let mut observation = seen.take();
    observation.end(snapshots);
    Ok(observation)
}

/// Writes everything to a `.safetensors` file: a tensor of bytes for each allocation.
fn save(moment: &Moment<'_>, path: &Path) -> Result<(), String> {
    let tensors: Vec<_> = moment.allocations.iter().map(|a| (a.name.clone(), a.size)).collect();
    let written = write_safetensors(path, &tensors, |index, out| {
        let mut result = Ok(());
        moment
            .read(&moment.allocations[index], |bytes| {
                if result.is_ok() {
                    result = out.write_all(bytes);
                }
            })
            .map_err(std::io::Error::other)?;
        result
    });
    written.map_err(|e| format!("cannot write `{}`: {}", path.display(), why("write", path, &e)))
}
