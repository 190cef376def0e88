//! Streams. Work takes effect when it is submitted, unless its stream is being captured: then it becomes a node of a graph.

use super::boundary::{self, Out, StreamCallback};
use super::error::{Code, Outcome};
use super::graph::{self, Graph, Kind, Work};
use super::{cuda, device, event};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The default stream under its three names: null, legacy, per thread.
const BUILT_IN: [u64; 3] = [0, 1, 2];

struct Stream {
    flags: u32,
    priority: c_int,
}

#[derive(Default)]
struct Streams {
    made: BTreeMap<u64, Stream>,
    count: u64,
    /// Streams that are being captured; those with the same graph are captured together.
    captured: BTreeMap<u64, Arc<Graph>>,
    /// Which of them the capture began with.
    origins: BTreeMap<u64, u64>,
}

static STREAMS: Mutex<Option<Streams>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Streams>> {
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(use_them: impl FnOnce(&mut Streams) -> T) -> T {
    use_them(lock().get_or_insert_default())
}

/// Handles of streams are addresses in no program.
const FIRST_HANDLE: u64 = 0x5000;

fn check(stream: u64) -> Outcome {
    let known = BUILT_IN.contains(&stream) || with(|streams| streams.made.contains_key(&stream));
    if known { Ok(()) } else { Err(Code::INVALID_HANDLE) }
}

/// The graph that a stream is captured into.
pub(super) fn capture_of(stream: u64) -> Option<Arc<Graph>> {
    with(|streams| streams.captured.get(&stream).cloned())
}

/// Does some work in the order of a stream.
pub(super) fn submit(stream: u64, kind: Kind, work: impl Fn() -> Outcome + Send + Sync + 'static) -> Outcome {
    check(stream)?;
    match capture_of(stream) {
        Some(graph) => {
            graph.add(Work::new(kind, work));
            Ok(())
        }
        None => work(),
    }
}

/// For calls that wait: they have no place in a capture.
fn wait(stream: u64) -> Outcome {
    check(stream)?;
    if capture_of(stream).is_some() {
        return Err(Code::CAPTURE_UNSUPPORTED);
    }
    device::synchronize()
}

fn create(handle: Out<u64>, flags: u32, priority: c_int) -> Outcome {
    let made = with(|streams| {
        let made = FIRST_HANDLE + 8 * streams.count;
        streams.count += 1;
        streams.made.insert(made, Stream { flags, priority });
        made
    });
    handle.set(made)
}

fn read<T>(stream: u64, value: impl FnOnce(&Stream) -> T) -> Outcome<T> {
    if BUILT_IN.contains(&stream) {
        return Ok(value(&Stream { flags: 0, priority: 0 }));
    }
    with(|streams| streams.made.get(&stream).map(value).ok_or(Code::INVALID_HANDLE))
}

/// `cudaStreamCaptureStatusNone`, `cudaStreamCaptureStatusActive`.
fn status(stream: u64) -> c_int {
    c_int::from(capture_of(stream).is_some())
}

/// Work of a stream becomes part of a graph from now on.
fn capture(stream: u64, graph: Arc<Graph>) -> Outcome {
    check(stream)?;
    with(|streams| {
        if streams.captured.contains_key(&stream) {
            return Err(Code(401));
        }
        streams.captured.insert(stream, graph);
        streams.origins.insert(stream, stream);
        Ok(())
    })
}

/// Whether a stream is being captured, and into which graph; which nodes the next one waits for is not told: all that there are.
fn capture_info(
    stream: u64,
    capturing: Out<c_int>,
    id: Out<u64>,
    graph: Out<u64>,
    nodes: Out<u64>,
    count: Out<usize>,
) -> Outcome {
    check(stream)?;
    id.set_if_wanted(stream);
    nodes.set_if_wanted(0);
    count.set_if_wanted(0);
    if let Some(captured) = capture_of(stream).filter(|_| graph.wanted()) {
        graph.set(graph::keep(captured))?;
    }
    capturing.set(status(stream))
}

cuda! {
    /// Makes a stream.
    fn cudaStreamCreate(stream: Out<u64>) { create(stream, 0, 0) }
    /// Makes a stream.
    fn cudaStreamCreateWithFlags(stream: Out<u64>, flags: u32) { create(stream, flags, 0) }
    /// Makes a stream.
    fn cudaStreamCreateWithPriority(stream: Out<u64>, flags: u32, priority: c_int) { create(stream, flags, priority) }

    /// Forgets a stream.
    fn cudaStreamDestroy(stream: u64) {
        with(|streams| streams.made.remove(&stream).map(|_| ()).ok_or(Code::INVALID_HANDLE))
    }

    /// Waits for what a stream does.
    fn cudaStreamSynchronize(stream: u64) { wait(stream) }

    /// Everything has taken effect already.
    fn cudaStreamQuery(stream: u64) { check(stream) }

    /// What follows in the stream waits for an event, which has taken effect already; in a capture the stream joins it.
    fn cudaStreamWaitEvent(stream: u64, event: u64, _flags: u32) {
        check(stream)?;
        if let Some(graph) = event::capture_of(event)? {
            with(|streams| {
                // Unless that capture has ended.
                if streams.captured.values().any(|active| Arc::ptr_eq(active, &graph)) {
                    streams.captured.entry(stream).or_insert(graph);
                }
            });
        }
        Ok(())
    }

    /// Runs a function of the program in the order of a stream.
    fn cudaStreamAddCallback(stream: u64, callback: StreamCallback, data: u64, _flags: u32) {
        submit(stream, Kind::Host, move || {
            callback.call(stream, data);
            Ok(())
        })
    }

    /// Managed memory is visible to everybody at all times here.
    fn cudaStreamAttachMemAsync(stream: u64, _start: u64, _size: usize, _flags: u32) { check(stream) }

    /// How it was made.
    fn cudaStreamGetFlags(stream: u64, flags: Out<u32>) { flags.set(read(stream, |stream| stream.flags)?) }
    /// How it was made.
    fn cudaStreamGetPriority(stream: u64, priority: Out<c_int>) { priority.set(read(stream, |stream| stream.priority)?) }
    /// A number of its own.
    fn cudaStreamGetId(stream: u64, id: Out<u64>) {
        check(stream)?;
        id.set(stream)
    }
    /// There is one device.
    fn cudaStreamGetDevice(stream: u64, device: Out<c_int>) {
        check(stream)?;
        device.set(0)
    }
    /// Attributes are about priorities and caches.
    fn cudaStreamSetAttribute(stream: u64, _attribute: u32, _value: u64) { check(stream) }

    /// Work submitted from now on becomes a graph.
    fn cudaStreamBeginCapture(stream: u64, _mode: u32) { capture(stream, Arc::default()) }

    /// Work submitted from now on becomes part of a graph that is there.
    fn cudaStreamBeginCaptureToGraph(stream: u64, graph: u64) { capture(stream, graph::get(graph)?) }

    /// What is captured next waits for other nodes; all that were added are done before.
    fn cudaStreamUpdateCaptureDependencies(stream: u64) { check(stream) }
    /// The same with edges, as CUDA 12 calls it.
    fn cudaStreamUpdateCaptureDependencies_v2(stream: u64) { check(stream) }

    /// The graph of what was submitted.
    fn cudaStreamEndCapture(stream: u64, graph: Out<u64>) {
        let captured = with(|streams| {
            streams.origins.remove(&stream).ok_or(Code::CAPTURE_UNMATCHED)?;
            let captured = streams.captured.remove(&stream).ok_or(Code::CAPTURE_UNMATCHED)?;
            streams.captured.retain(|_, other| !Arc::ptr_eq(other, &captured));
            Ok(captured)
        })?;
        // Who captures into a graph that is there knows it.
        if graph.wanted() { graph.set(graph::keep(captured)) } else { Ok(()) }
    }

    /// Whether a stream is being captured.
    fn cudaStreamIsCapturing(stream: u64, capturing: Out<c_int>) {
        check(stream)?;
        capturing.set(status(stream))
    }

    /// Whether a stream is being captured, and into which graph. CUDA 11 has the first three arguments.
    fn cudaStreamGetCaptureInfo(
        stream: u64, capturing: Out<c_int>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, edges: Out<u64>, count: Out<usize>
    ) {
        if boundary::cuda_major() < 13 {
            let none = Out::from_address(0);
            return capture_info(stream, capturing, id, none, none, Out::from_address(0));
        }
        edges.set_if_wanted(0);
        capture_info(stream, capturing, id, graph, nodes, count)
    }
    /// The same, as CUDA 11 and 12 call it.
    fn cudaStreamGetCaptureInfo_v2(
        stream: u64, capturing: Out<c_int>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, count: Out<usize>
    ) {
        capture_info(stream, capturing, id, graph, nodes, count)
    }
    /// The same with edges.
    fn cudaStreamGetCaptureInfo_v3(
        stream: u64, capturing: Out<c_int>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, edges: Out<u64>, count: Out<usize>
    ) {
        edges.set_if_wanted(0);
        capture_info(stream, capturing, id, graph, nodes, count)
    }

    /// How strictly captures are watched; they are not.
    fn cudaThreadExchangeStreamCaptureMode(_mode: Out<u32>) { Ok(()) }

    /// Priorities do not matter where everything happens in order.
    fn cudaDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        least.set_if_wanted(0);
        greatest.set_if_wanted(0);
        Ok(())
    }
}
