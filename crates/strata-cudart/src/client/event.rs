//! Events: moments in simulated time, or in the host's if the machine has none.

use super::boundary::Out;
use super::error::{Code, Outcome};
use super::graph::{Graph, Kind};
use super::{cuda, device, server, stream};
use crate::protocol::{Reply, Request};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Default)]
struct Event {
    flags: u32,
    /// Milliseconds, once it was recorded.
    at: Option<f64>,
    /// It was recorded in a capture.
    capture: Option<Arc<Graph>>,
}

/// `cudaEventDisableTiming`.
const NO_TIMING: u32 = 2;

#[derive(Default)]
struct Events {
    made: BTreeMap<u64, Event>,
    count: u64,
}

static EVENTS: Mutex<Option<Events>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Events>> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(use_them: impl FnOnce(&mut Events) -> T) -> T {
    use_them(lock().get_or_insert_default())
}

/// Handles of events are addresses in no program, and no streams.
const FIRST_HANDLE: u64 = 0x9000_0000;

fn get(event: u64) -> Outcome<Event> {
    with(|events| events.made.get(&event).cloned().ok_or(Code::INVALID_HANDLE))
}

/// The capture that an event was recorded in.
pub(super) fn capture_of(event: u64) -> Outcome<Option<Arc<Graph>>> {
    Ok(get(event)?.capture)
}

fn change(event: u64, change: impl FnOnce(&mut Event)) -> Outcome {
    with(|events| events.made.get_mut(&event).map(change).ok_or(Code::INVALID_HANDLE))
}

fn create(handle: Out<u64>, flags: u32) -> Outcome {
    let made = with(|events| {
        let made = FIRST_HANDLE + 8 * events.count;
        events.count += 1;
        events.made.insert(made, Event { flags, ..Event::default() });
        made
    });
    handle.set(made)
}

/// `cudaEventRecordExternal`: in a capture, the event becomes a node of the graph.
const EXTERNAL: u32 = 1;

fn record(event: u64, in_stream: u64, flags: u32) -> Outcome {
    get(event)?;
    let capture = stream::capture_of(in_stream);
    let only_orders = capture.is_some() && flags & EXTERNAL == 0;
    change(event, |event| event.capture.clone_from(&capture))?;
    if only_orders {
        // It says what waits for what, and may be gone when the graph is launched.
        return Ok(());
    }
    stream::submit(in_stream, Kind::Event, move || {
        let Reply::Time { milliseconds } = server::ask(&Request::Now)? else { return Err(Code::UNKNOWN) };
        change(event, |event| event.at = Some(milliseconds))
    })
}

cuda! {
    /// Makes an event.
    fn cudaEventCreate(event: Out<u64>) { create(event, 0) }
    /// Makes an event.
    fn cudaEventCreateWithFlags(event: Out<u64>, flags: u32) { create(event, flags) }

    /// Forgets an event.
    fn cudaEventDestroy(event: u64) {
        with(|events| events.made.remove(&event).map(|_| ()).ok_or(Code::INVALID_HANDLE))
    }

    /// Notes the time when everything before it in the stream has happened.
    fn cudaEventRecord(event: u64, stream: u64) { record(event, stream, 0) }
    /// Notes the time when everything before it in the stream has happened.
    fn cudaEventRecordWithFlags(event: u64, stream: u64, flags: u32) { record(event, stream, flags) }

    /// Everything before it has happened already.
    fn cudaEventQuery(event: u64) { get(event).map(|_| ()) }

    /// Everything before it has happened already; what the device has printed is shown.
    fn cudaEventSynchronize(event: u64) {
        get(event)?;
        device::synchronize()
    }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: u64, end: u64) {
        let (start, end) = (get(start)?, get(end)?);
        if (start.flags | end.flags) & NO_TIMING != 0 {
            return Err(Code::INVALID_HANDLE);
        }
        match (start.at, end.at) {
            (Some(from), Some(to)) => milliseconds.set((to - from) as f32),
            _ => Err(Code::INVALID_HANDLE),
        }
    }
}
