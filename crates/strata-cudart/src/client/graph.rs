//! Graphs: a list of work that can be done again and again, in the order in which it was captured from a stream or added node by
//! node (`node.rs`). A node's number is its place in the list.

use super::boundary::Out;
use super::error::{Code, Outcome};
use super::{conditional, cuda, stream};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a node does (`cudaGraphNodeType`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Kernel = 0,
    Copy = 1,
    Set = 2,
    Host = 3,
    Graph = 4,
    Empty = 5,
    Event = 7,
    Alloc = 10,
    Free = 11,
    Conditional = 13,
}

/// One thing to do.
#[derive(Clone)]
pub(super) struct Work {
    kind: Kind,
    run: Arc<dyn Fn() -> Outcome + Send + Sync>,
}

impl Work {
    pub(super) fn run(&self) -> Outcome {
        (self.run)()
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn new(kind: Kind, work: impl Fn() -> Outcome + Send + Sync + 'static) -> Self {
        Self { kind, run: Arc::new(work) }
    }
}

/// What was captured, in order.
#[derive(Default)]
pub(super) struct Graph {
    work: Mutex<Vec<Work>>,
    /// Conditions that have a value whenever the graph begins.
    conditions: Mutex<Vec<(u64, u32)>>,
}

impl Graph {
    pub(super) fn add(&self, work: Work) -> usize {
        let mut list = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(work);
        list.len() - 1
    }

    /// Puts other work of the same kind into the place of a node.
    pub(super) fn replace(&self, place: usize, work: Work) -> Outcome {
        let mut list = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let node = list.get_mut(place).filter(|node| node.kind == work.kind).ok_or(Code::INVALID_VALUE)?;
        *node = work;
        Ok(())
    }

    /// A condition has this value whenever the graph begins.
    pub(super) fn begins_with(&self, condition: u64, value: u32) {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner).push((condition, value));
    }

    fn conditions(&self) -> Vec<(u64, u32)> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Does all of it.
    pub(super) fn run(&self) -> Outcome {
        self.conditions().into_iter().try_for_each(|(condition, value)| conditional::set(condition, value))?;
        self.work().iter().try_for_each(Work::run)
    }

    pub(super) fn work(&self) -> Vec<Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Default)]
struct Graphs {
    made: BTreeMap<u64, Arc<Graph>>,
    count: u64,
}

static GRAPHS: Mutex<Option<Graphs>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Graphs>> {
    GRAPHS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(use_them: impl FnOnce(&mut Graphs) -> T) -> T {
    use_them(lock().get_or_insert_default())
}

/// Handles of graphs are addresses in no program, and no streams or events.
const FIRST_HANDLE: u64 = 0xd000_0000;

/// Keeps a graph and gives its handle. An executable graph is one more handle on the same work.
pub(super) fn keep(graph: Arc<Graph>) -> u64 {
    with(|graphs| {
        let handle = FIRST_HANDLE + 8 * graphs.count;
        graphs.count += 1;
        graphs.made.insert(handle, graph);
        handle
    })
}

pub(super) fn get(handle: u64) -> Outcome<Arc<Graph>> {
    with(|graphs| graphs.made.get(&handle).cloned().ok_or(Code::INVALID_VALUE))
}

/// A graph that does what `graph` does now, whatever becomes of it.
fn copy(graph: u64, handle: Out<u64>) -> Outcome {
    let graph = get(graph)?;
    let (work, conditions) = (Mutex::new(graph.work()), Mutex::new(graph.conditions()));
    handle.set(keep(Arc::new(Graph { work, conditions })))
}

fn destroy(handle: u64) -> Outcome {
    with(|graphs| graphs.made.remove(&handle).map(|_| ()).ok_or(Code::INVALID_VALUE))
}

cuda! {
    /// An empty graph.
    fn cudaGraphCreate(graph: Out<u64>, _flags: u32) { graph.set(keep(Arc::default())) }
    /// Forgets a graph.
    fn cudaGraphDestroy(graph: u64) { destroy(graph) }
    /// Forgets an executable graph.
    fn cudaGraphExecDestroy(graph: u64) { destroy(graph) }
    /// The same work under another handle.
    fn cudaGraphClone(clone: Out<u64>, graph: u64) { copy(graph, clone) }
    /// Makes a graph executable. The further arguments, which differ between versions of CUDA, are about devices and errors.
    fn cudaGraphInstantiate(executable: Out<u64>, graph: u64) { copy(graph, executable) }
    /// Makes a graph executable.
    fn cudaGraphInstantiateWithFlags(executable: Out<u64>, graph: u64, _flags: u64) { copy(graph, executable) }
    /// Makes a graph executable.
    fn cudaGraphInstantiateWithParams(executable: Out<u64>, graph: u64, _params: u64) { copy(graph, executable) }
    /// There is nothing to prepare.
    fn cudaGraphUpload(graph: u64, _stream: u64) { get(graph).map(|_| ()) }

    /// Takes over the work of another graph; the last argument says that it could.
    fn cudaGraphExecUpdate(executable: u64, graph: u64, result: Out<u64>) {
        let work = get(graph)?.work();
        *get(executable)?.work.lock().unwrap_or_else(PoisonError::into_inner) = work;
        result.set_if_wanted(0);
        Ok(())
    }

    /// Does the work of a graph, in the order of a stream.
    fn cudaGraphLaunch(executable: u64, stream: u64) {
        let graph = get(executable)?;
        stream::submit(stream, Kind::Graph, move || graph.run())
    }
}
