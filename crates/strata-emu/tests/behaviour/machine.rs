//! A device for tests: modules, buffers, launches.
//!
//! Everything happens twice, with and without vector units, and both must agree in every byte, count and message.

use strata_core::{Addr, Bytes, Counts, Dim3};
use strata_emu::{Capacity, LaunchConfig, LaunchError, Memory, Output, Program};

/// A plain number that buffers hold and kernels take.
pub(crate) trait Value: Copy {
    fn to_bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! values {
    ($($ty:ty),*) => { $(impl Value for $ty {
        fn to_bytes(self) -> Vec<u8> {
            self.to_le_bytes().to_vec()
        }
        fn from_bytes(bytes: &[u8]) -> Self {
            Self::from_le_bytes(bytes.try_into().expect("a chunk has the size of a value"))
        }
    })* };
}
values!(u8, u16, i16, u32, i32, f32, u64, i64, f64);

/// A kernel argument: the bytes it has in the parameter block.
pub(crate) struct Arg(pub(crate) Vec<u8>);

impl<T: Value> From<T> for Arg {
    fn from(value: T) -> Self {
        Self(value.to_bytes())
    }
}

impl From<Addr> for Arg {
    fn from(address: Addr) -> Self {
        Self(address.0.to_bytes())
    }
}

/// Makes the arguments of a launch.
#[macro_export]
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::machine::Arg::from($value)),*] };
}

struct Side {
    memory: Memory,
    program: Program,
    output: Output,
}

/// A device with one module.
pub(crate) struct Machine {
    sides: [Side; 2],
    launches: u64,
    /// What is not said by the shape of a launch: dynamic shared memory, limits, host threads.
    pub(crate) options: LaunchConfig,
}

const CAPACITY: Capacity = Capacity {
    base: Addr(strata_emu::DEVICE_BASE),
    device: Bytes(256 << 20),
    managed: Bytes(16 << 20),
    local: Bytes(256 << 20),
    guard: Bytes(0),
};

impl Machine {
    /// Loads hand-written PTX.
    #[track_caller]
    pub(crate) fn new(text: &str) -> Self {
        Self::load_text("test.ptx", text)
    }

    /// Loads a compiled file of `tests/cuda`.
    #[track_caller]
    pub(crate) fn load(name: &str) -> Self {
        let path = format!("{}/tests/cuda/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        Self::load_text(&format!("{name}.ptx"), &text)
    }

    #[track_caller]
    fn load_text(file: &str, text: &str) -> Self {
        let side = |vector: bool| {
            let mut memory = Memory::new(CAPACITY).expect("address space");
            let parsed = strata_ptx::parse(file, text);
            let module = parsed.module.unwrap_or_else(|| panic!("{file} has errors: {:?}", parsed.diagnostics));
            let program = Program::load(file, text, module, &mut memory).expect("room for the variables");
            let program = if vector { program } else { program.without_vector_units() };
            Side { memory, program, output: Output::default() }
        };
        let options = LaunchConfig::new(Dim3::from(1), Dim3::from(1));
        Self { sides: [side(true), side(false)], launches: 0, options }
    }

    /// Allocates a buffer with contents.
    pub(crate) fn buffer<T: Value>(&mut self, name: &str, values: &[T]) -> Addr {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_bytes()).collect();
        let starts = self.sides.each_mut().map(|side| {
            let start = side.memory.alloc(Bytes(bytes.len() as u64), false, name).expect("room").start;
            side.memory.write(start, &bytes).expect("inside the buffer");
            start
        });
        assert_eq!(starts[0], starts[1], "addresses are deterministic");
        starts[0]
    }

    /// Frees a buffer.
    pub(crate) fn free(&mut self, start: Addr) {
        for side in &mut self.sides {
            side.memory.free(start).expect("a buffer");
        }
    }

    /// Where a variable of the module is.
    pub(crate) fn symbol(&self, name: &str) -> Addr {
        self.sides[0].program.symbol(name).expect("the module has the variable").0
    }

    /// Reads values.
    pub(crate) fn read<T: Value>(&self, start: Addr, count: usize) -> Vec<T> {
        let size = size_of::<T>();
        let mut bytes = vec![0; count * size];
        self.sides[0].memory.read(start, &mut bytes).expect("inside the buffer");
        bytes.chunks(size).map(T::from_bytes).collect()
    }

    /// What the device printed.
    pub(crate) fn printed(&self) -> String {
        String::from_utf8(self.sides[0].output.take()).expect("text")
    }

    /// Every byte of every live allocation.
    pub(crate) fn contents(&self) -> Vec<u8> {
        contents(&self.sides[0].memory)
    }

    /// Launches a kernel.
    pub(crate) fn launch(
        &mut self,
        kernel: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        args: &[Arg],
    ) -> Result<Counts, LaunchError> {
        self.launches += 1;
        let params = self.sides[0].program.params(kernel).unwrap_or_default();
        let mut packed = vec![0; params.last().map_or(0, |p| (p.offset + p.size) as usize)];
        for (param, arg) in params.iter().zip(args) {
            packed[param.offset as usize..][..arg.0.len()].copy_from_slice(&arg.0);
        }
        packed.truncate(packed.len() * args.len() / params.len().max(1));
        let config = LaunchConfig { grid: grid.into(), block: block.into(), params: packed, ..self.options.clone() };
        let number = self.launches;
        let [vector, plain] =
            self.sides.each_mut().map(|s| s.program.launch(kernel, &config, &mut s.memory, number, &s.output, &|_| {}));
        match (&vector, &plain) {
            (Ok(a), Ok(b)) => assert_eq!(a, b, "counts with and without vector units"),
            (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string(), "messages with and without vector units"),
            _ => panic!("with vector units: {vector:?}; without: {plain:?}"),
        }
        assert!(contents(&self.sides[0].memory) == contents(&self.sides[1].memory), "vector units change bytes");
        vector
    }

    /// Launches a kernel that must come to its end.
    #[track_caller]
    pub(crate) fn run(&mut self, kernel: &str, grid: impl Into<Dim3>, block: impl Into<Dim3>, args: &[Arg]) -> Counts {
        // A program that hangs fails instead; a limit would keep host threads from being used.
        if self.options.threads == 1 {
            self.options.instruction_limit.get_or_insert(50_000_000);
        }
        match self.launch(kernel, grid, block, args) {
            Ok(counts) => counts,
            Err(e) => panic!("{e}"),
        }
    }

    /// Launches a kernel that must fail, and gives the message.
    #[track_caller]
    pub(crate) fn fail(&mut self, kernel: &str, grid: impl Into<Dim3>, block: impl Into<Dim3>, args: &[Arg]) -> String {
        match self.launch(kernel, grid, block, args) {
            Ok(_) => panic!("`{kernel}` should have failed"),
            Err(e) => e.to_string(),
        }
    }
}

fn contents(memory: &Memory) -> Vec<u8> {
    let mut all = Vec::new();
    for record in memory.allocations() {
        let at = all.len();
        all.resize(at + record.size.0 as usize, 0);
        memory.read(record.start, &mut all[at..]).expect("a live allocation");
    }
    all
}

/// A module with one kernel `k` that takes pointers `a`, `b` and a word `n`, its registers declared, `%r0` the thread.
pub(crate) fn kernel(body: &str) -> String {
    kernel_with("", body)
}

/// As [`kernel`], with variables and functions before it.
pub(crate) fn kernel_with(before: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{before}
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{{
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %fd<2>;
    ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u32 %r31, [n];
    mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
{body}
}}"
    )
}

/// Instructions before the body of [`kernel`].
pub(crate) const PROLOGUE: u64 = 7;
