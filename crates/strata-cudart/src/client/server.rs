//! The connection to the simulator: made when the first call needs it, one question at a time.

use super::boundary;
use super::error::{Code, Outcome, lose_device, say};
use crate::protocol::{Reply, Request, SOCKET_VARIABLE, VERSION, receive, send};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the simulator's memory lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    device: u64,
    managed: u64,
    end: u64,
}

impl Layout {
    /// True for ordinary device memory, which the program cannot touch.
    pub(super) fn is_device(&self, address: u64) -> bool {
        (self.device..self.managed).contains(&address)
    }

    /// True for memory that program and device both see: managed or pinned.
    pub(super) fn is_shared(&self, address: u64) -> bool {
        (self.managed..self.end).contains(&address)
    }
}

struct Connection {
    stream: UnixStream,
    layout: Layout,
    /// Memory that the program shares with the simulator.
    memory: File,
    /// The process that connected; a fork of it must not talk on the same line.
    process: u32,
}

enum State {
    Fresh,
    Connected(Connection),
    /// It could not be made, or is broken.
    Lost(Code),
}

static SERVER: Mutex<State> = Mutex::new(State::Fresh);

fn server() -> MutexGuard<'static, State> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect() -> Result<Connection, String> {
    let Some(path) = std::env::var_os(SOCKET_VARIABLE) else {
        return Err("this libcudart.so is StrataSim's: start the program with `strata run -- PROGRAM`".into());
    };
    let failed = |e: io::Error| format!("cannot reach the simulator: {e}");
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    let process = std::process::id();
    send(&mut stream, &Request::Hello { version: VERSION, process }).map_err(failed)?;
    match receive(&mut stream).map_err(failed)? {
        Some(Reply::Welcome { device, managed, end, process: server, file }) => {
            let memory = format!("/proc/{server}/fd/{file}");
            let file = File::options().read(true).write(true).open(&memory);
            let file = file.map_err(|e| format!("cannot open the simulator's memory ({memory}): {e}"))?;
            if !boundary::map_at(&file, managed, end - managed) {
                return Err(format!(
                    "the program uses the addresses {managed:#x}..{end:#x}, which managed memory needs"
                ));
            }
            Ok(Connection { stream, layout: Layout { device, managed, end }, memory: file, process })
        }
        Some(Reply::Refused { message, .. }) => Err(message),
        _ => Err("the simulator does not answer".into()),
    }
}

/// Makes sure that there is a connection, and hands it out.
fn with<T>(use_it: impl FnOnce(&mut Connection) -> Outcome<T>) -> Outcome<T> {
    let mut state = server();
    if let State::Fresh = *state {
        *state = match connect() {
            Ok(connection) => State::Connected(connection),
            Err(message) => {
                say(&message);
                State::Lost(Code::NO_DEVICE)
            }
        };
    }
    match &mut *state {
        State::Connected(connection) if connection.process != std::process::id() => {
            say("a forked process cannot use the device of its parent; call CUDA in one of them only");
            *state = State::Lost(Code(3));
            Err(Code(3))
        }
        State::Connected(connection) => {
            let outcome = use_it(connection);
            if outcome.as_ref().is_err_and(|&code| code == BROKEN) {
                say("the simulator is gone");
                *state = State::Lost(Code::UNKNOWN);
                return Err(Code::UNKNOWN);
            }
            outcome
        }
        State::Lost(code) => Err(*code),
        State::Fresh => Err(Code::UNKNOWN),
    }
}

/// Stands for a connection that broke while it was used; no code of CUDA's.
const BROKEN: Code = Code(u32::MAX);

/// What an answer means: an error is told to the user and becomes its code.
fn judge(reply: Option<Reply>) -> Outcome<Reply> {
    match reply {
        Some(Reply::Refused { code, sticky, message }) => {
            if !message.is_empty() {
                say(&message);
            }
            if sticky {
                lose_device(Code(code));
            }
            Err(Code(code))
        }
        Some(reply) => Ok(reply),
        None => Err(BROKEN),
    }
}

fn exchange(stream: &mut UnixStream, request: &Request) -> Outcome<Reply> {
    send(stream, request).map_err(|_| BROKEN)?;
    judge(receive(stream).map_err(|_| BROKEN)?)
}

/// Asks the simulator.
pub(super) fn ask(request: &Request) -> Outcome<Reply> {
    with(|connection| exchange(&mut connection.stream, request))
}

/// Asks for something to be done.
pub(super) fn demand(request: &Request) -> Outcome {
    ask(request).map(|_| ())
}

/// Asks for a number.
pub(super) fn number(request: &Request) -> Outcome<u64> {
    match ask(request)? {
        Reply::Number { value } => Ok(value),
        _ => Err(Code::UNKNOWN),
    }
}

/// Sends a question and the bytes that follow it.
pub(super) fn ask_with<'a>(request: &Request, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    with(|connection| {
        let stream = &mut connection.stream;
        send(stream, request).map_err(|_| BROKEN)?;
        for piece in pieces {
            stream.write_all(piece).map_err(|_| BROKEN)?;
        }
        judge(receive(stream).map_err(|_| BROKEN)?).map(|_| ())
    })
}

/// Asks, and puts the bytes that follow the answer into their places.
pub(super) fn ask_for<'a>(request: &Request, pieces: impl Iterator<Item = &'a mut [u8]>) -> Outcome {
    with(|connection| {
        let stream = &mut connection.stream;
        exchange(stream, request)?;
        for piece in pieces {
            stream.read_exact(piece).map_err(|_| BROKEN)?;
        }
        Ok(())
    })
}

/// Makes memory of the program, whole pages, the same as shared memory at another address.
pub(super) fn share_pages(start: u64, size: u64, shared: u64) -> Outcome {
    with(|connection| {
        let offset = shared.checked_sub(connection.layout.managed).ok_or(Code::INVALID_VALUE)?;
        let replaced = boundary::replace_pages(start, size, Some((&connection.memory, offset)));
        if replaced { Ok(()) } else { Err(Code::INVALID_VALUE) }
    })
}

/// Where the simulator's memory lies.
pub(super) fn layout() -> Outcome<Layout> {
    with(|connection| Ok(connection.layout))
}

/// Says that this library was loaded, if nothing else was said: the program has not forgotten to link it.
pub(super) fn say_loaded() {
    if let (State::Fresh, Some(path)) = (&*server(), std::env::var_os(SOCKET_VARIABLE)) {
        let tell = |mut stream: UnixStream| {
            send(&mut stream, &Request::Loaded)?;
            receive::<Reply>(&mut stream).map(|_| ())
        };
        // A simulator that is gone does not miss this.
        let _ = UnixStream::connect(path).and_then(tell);
    }
}

/// True if the simulator was asked anything yet.
pub(super) fn is_connected() -> bool {
    matches!(*server(), State::Connected(_))
}
