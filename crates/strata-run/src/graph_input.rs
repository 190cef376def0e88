//! The graph that a user gives a workload to run on.

use crate::error::LabError;
use crate::launch_file::open_regular;
use crate::request::RunRequest;
use std::io::Read;
use std::path::Path;
use strata_core::fnv::Fnv1a64;
use strata_workloads::{Graph, GraphError, Workload};

/// Reads the graph of a file for `workload`, with the file's name and the hash of what was read.
pub(crate) fn read(
    workload: &dyn Workload,
    path: &Path,
    request: &RunRequest,
) -> Result<(Graph, (String, Fnv1a64)), LabError> {
    if !workload.takes_graphs() {
        let takers = strata_workloads::all().iter().filter(|w| w.takes_graphs());
        let names: Vec<_> = takers.map(|w| format!("`{}`", w.info().name)).collect();
        let reason = format!("`{}` takes no graph; these do: {}", workload.info().name, names.join(", "));
        return Err(LabError::Request(reason));
    }
    if request.size.is_some() {
        return Err(LabError::Request("the file of `--input` gives the size; leave `--size` out".into()));
    }
    let unreadable = |source| LabError::io("read", path, source);
    let file = open_regular(path).map_err(unreadable)?;
    // One byte more than a graph may have: a file that grows while it is read is refused like one that is too long.
    let mut bytes = Vec::new();
    file.take(Graph::MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let wrong = |source: GraphError| LabError::Graph { path: path.display().to_string(), source };
    let graph = Graph::parse(&bytes).map_err(wrong)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((graph, (name, Fnv1a64::of(&bytes))))
}
