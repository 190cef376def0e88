//! Drivers against a device that remembers everything and computes nothing.
//!
//! What a driver does is all there is to see here: what it launches, in which shape, on which inputs, and whether its
//! check notices that no kernel ran. Whether the kernels are right is tested where there is an emulator.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use strata_core::{Addr, Bytes, Dim3};
use strata_host::{
    AllocFlags, Allocation, AllocationId, Device, Engine, HostError, HostEvent, KernelShape, Launch, LaunchReport,
    ModuleId, ParamShape, SymbolAddress,
};
use strata_workloads::{Purpose, Size, Workload, all, find, instances};

/// What the device remembers.
#[derive(Default)]
struct Memory {
    live: BTreeMap<Addr, Vec<u8>>,
    names: Vec<String>,
    announced: Option<u64>,
    /// Bytes of all allocations.
    allocated: u64,
    launched: usize,
    launched_before_measurement: Option<usize>,
    /// Checksum of everything copied in, in order.
    copied_in: u64,
}

#[derive(Default)]
struct Idle {
    memory: Rc<RefCell<Memory>>,
    modules: Vec<String>,
    next: u64,
}

impl Idle {
    /// Calls `f` with the `size` bytes at `start`.
    fn bytes<R>(&self, start: Addr, size: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, HostError> {
        let mut memory = self.memory.borrow_mut();
        let found = memory.live.range_mut(..=start).next_back().and_then(|(base, bytes)| {
            let offset = (start.0 - base.0) as usize;
            bytes.get_mut(offset..offset + size)
        });
        found.map(f).ok_or_else(|| HostError::Call { call: "copy", reason: format!("{size} bytes at {start}") })
    }
}

impl Engine for Idle {
    fn load_module(&mut self, _name: &str, text: &str) -> Result<ModuleId, HostError> {
        self.modules.push(text.to_owned());
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    fn kernel(&self, module: ModuleId, name: &str) -> Result<KernelShape, HostError> {
        let text = &self.modules[module.0 as usize];
        let declared = text.split(".visible .entry ").find_map(|entry| entry.strip_prefix(name)?.strip_prefix('('));
        let declared = declared.ok_or_else(|| HostError::Module(format!("no kernel {name}")))?;
        let mut end = 0;
        let lines = declared.lines().map(str::trim).take_while(|line| *line != ")");
        let params = lines.filter(|line| line.starts_with(".param")).map(|line| {
            let size = if line.contains("64 ") { 8 } else { 4 };
            let offset = u32::next_multiple_of(end, size);
            end = offset + size;
            ParamShape { offset, size }
        });
        Ok(KernelShape { name: name.to_owned(), params: params.collect() })
    }

    fn symbol(&self, _module: ModuleId, name: &str) -> Result<SymbolAddress, HostError> {
        Err(HostError::Module(format!("no variable {name}")))
    }

    fn alloc(&mut self, size: Bytes, flags: AllocFlags, name: &str) -> Result<Allocation, HostError> {
        self.next += 1 << 32;
        let start = Addr(self.next);
        let mut memory = self.memory.borrow_mut();
        memory.live.insert(start, vec![0; size.0 as usize]);
        memory.allocated += size.0;
        memory.names.push(name.to_owned());
        Ok(Allocation { id: AllocationId(memory.names.len() as u32), start, size, name: name.to_owned(), flags })
    }

    fn free(&mut self, start: Addr) -> Result<AllocationId, HostError> {
        let freed = self.memory.borrow_mut().live.remove(&start);
        let missing = || HostError::Call { call: "free", reason: format!("{start} is not allocated") };
        freed.map(|_| AllocationId(0)).ok_or_else(missing)
    }

    fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError> {
        self.bytes(start, data.len(), |bytes| bytes.copy_from_slice(data))?;
        let mut memory = self.memory.borrow_mut();
        memory.copied_in = data.chunks(8).fold(memory.copied_in, |hash, chunk| {
            let word = chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        Ok(())
    }

    fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), HostError> {
        self.bytes(start, data.len(), |bytes| data.copy_from_slice(bytes))
    }

    fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError> {
        self.bytes(start, size.0 as usize, |bytes| bytes.fill(byte))
    }

    fn launch(&mut self, _launch: &Launch) -> Result<LaunchReport, HostError> {
        self.memory.borrow_mut().launched += 1;
        Ok(LaunchReport::default())
    }

    fn hear(&mut self, event: &HostEvent) {
        let mut memory = self.memory.borrow_mut();
        match event {
            HostEvent::Announce { launches } => memory.announced = Some(*launches),
            HostEvent::Measure => memory.launched_before_measurement = Some(memory.launched),
            _ => {}
        }
    }
}

fn device() -> (Device, Rc<RefCell<Memory>>) {
    let engine = Idle::default();
    let memory = Rc::clone(&engine.memory);
    (Device::new(Box::new(engine)), memory)
}

#[test]
fn every_check_notices_that_nothing_was_computed() {
    for workload in all() {
        let (mut device, memory) = device();
        let name = workload.info().name;
        let outcome = workload.run(Size::Tiny, 1, &mut device).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!outcome.passed, "{name} passed on a device that computes nothing: {}", outcome.checked);
        assert!(!device.launches().is_empty());
        let memory = memory.borrow();
        assert!(memory.live.is_empty(), "{name} leaks");
        assert!(memory.names.iter().all(|n| !n.is_empty()));
    }
}

#[test]
fn as_many_launches_follow_as_are_announced() {
    let mut announcing = 0;
    for workload in all() {
        let (mut device, memory) = device();
        let name = workload.info().name;
        workload.run(Size::Tiny, 1, &mut device).expect("an idle device refuses nothing");
        // Not every program can say: how many levels a graph has is known when the search is over.
        let memory = memory.borrow();
        if let Some(announced) = memory.announced {
            assert_eq!(announced, memory.launched as u64, "{name}");
            announcing += 1;
        }
    }
    assert!(announcing >= 15, "only {announcing} programs say how many launches they make");
}

#[test]
fn inputs_come_from_the_seed_alone() {
    let inputs = |name: &str, seed| {
        let (mut device, memory) = device();
        let workload = find(name).expect("it is in the list");
        workload.run(Size::Tiny, seed, &mut device).expect("an idle device refuses nothing");
        memory.take().copied_in
    };
    for workload in all() {
        let name = workload.info().name;
        assert_eq!(inputs(name, 1), inputs(name, 1), "{name}");
        // The benchmark that initialises its arrays on the device copies nothing in.
        assert_eq!(inputs(name, 1) == inputs(name, 2), name == "babelstream", "{name}");
    }
}

/// Inputs are part of every published result: a change of a generator must be deliberate, and no machine may differ.
#[test]
fn inputs_are_those_of_every_machine() {
    let checksum = |workload: &&dyn Workload| {
        let (mut device, memory) = device();
        workload.run(Size::Tiny, 1, &mut device).expect("an idle device refuses nothing");
        format!("{} {:016x}\n", workload.info().name, memory.take().copied_in)
    };
    let listed: String = all().iter().map(checksum).collect();
    assert_eq!(listed, include_str!("inputs.txt"));
}

/// Kernel, grid, block, launches.
struct Shape(&'static str, (u32, u32), (u32, u32), usize);

/// The unified-memory baseline's own benchmark runs.
const PUBLISHED: [(&str, &[Shape]); 13] = [
    ("addvectors", &[Shape("add", (4096, 1), (256, 1), 1)]),
    ("streamtriad", &[Shape("stream_triad", (4096, 1), (256, 1), 1)]),
    ("2dconv", &[Shape("Convolution2D_kernel", (32, 128), (32, 8), 1)]),
    ("atax", &[Shape("atax_kernel1", (5, 1), (256, 1), 1), Shape("atax_kernel2", (5, 1), (256, 1), 1)]),
    ("bicg", &[Shape("bicg_kernel1", (16, 1), (256, 1), 1), Shape("bicg_kernel2", (16, 1), (256, 1), 1)]),
    ("mvt", &[Shape("mvt_kernel1", (16, 1), (256, 1), 1), Shape("mvt_kernel2", (16, 1), (256, 1), 1)]),
    ("backprop", &[Shape("layerforward", (1, 8191), (16, 16), 1), Shape("adjust_weights", (1, 8191), (16, 16), 1)]),
    ("hotspot", &[Shape("calculate_temp", (86, 86), (16, 16), 4)]),
    ("pathfinder", &[Shape("dynproc_kernel", (212, 1), (256, 1), 20)]),
    ("srad", &[Shape("srad_cuda_1", (64, 64), (16, 16), 4), Shape("srad_cuda_2", (64, 64), (16, 16), 4)]),
    (
        "fdtd2d",
        &[
            Shape("fdtd_step1", (38, 150), (32, 8), 5),
            Shape("fdtd_step2", (38, 150), (32, 8), 5),
            Shape("fdtd_step3", (38, 150), (32, 8), 5),
        ],
    ),
    ("ra", &[Shape("random_access", (4096, 1), (256, 1), 1)]),
    ("stencil3d", &[Shape("block2D_hybrid_coarsen_x", (8, 128), (32, 4), 10)]),
];

#[test]
fn paper_sizes_have_the_published_launch_shapes() {
    for (name, kernels) in PUBLISHED {
        let (mut device, _) = device();
        let workload = find(name).expect("it is in the list");
        workload.run(Size::PaperUvm, 1, &mut device).expect("an idle device refuses nothing");
        for Shape(kernel, grid, block, times) in kernels {
            let shape = (*kernel, Dim3::from(*grid), Dim3::from(*block));
            let same = |(l, _): &&(Launch, LaunchReport)| (l.kernel.as_str(), l.grid, l.block) == shape;
            assert_eq!(device.launches().iter().filter(same).count(), *times, "{kernel}");
        }
        assert_eq!(device.launches().len(), kernels.iter().map(|k| k.3).sum::<usize>(), "{name}");
    }
}

#[test]
fn the_wavefront_of_nw_grows_to_64_tiles_and_shrinks_again() {
    let (mut device, _) = device();
    find("nw").expect("it is in the list").run(Size::Paper, 1, &mut device).expect("an idle device refuses nothing");
    let tiles: Vec<u32> = device.launches().iter().map(|(launch, _)| launch.grid.x).collect();
    let expected: Vec<u32> = (1..=64).chain((1..64).rev()).collect();
    assert_eq!(tiles, expected);
    assert!(device.launches().iter().all(|(launch, _)| launch.block == Dim3::from(16)));
}

/// What was measured: kernels with their grids and blocks, in order.
type Rows = &'static [(&'static str, &'static str, &'static [(&'static str, (u32, u32), (u32, u32))])];

const MEASURED: Rows = &[
    ("matmul-tiled", "32", &[("matmul_tiled", (1, 1), (32, 32))]),
    ("matmul-tiled", "64", &[("matmul_tiled", (2, 2), (32, 32))]),
    ("matmul-tiled", "128", &[("matmul_tiled", (4, 4), (32, 32))]),
    ("matmul-naive", "32,32,32", &[("matmul_naive", (1, 1), (32, 32))]),
    ("matmul-naive", "32,64,128", &[("matmul_naive", (4, 1), (32, 32))]),
    ("matmul-naive", "128,32,32", &[("matmul_naive", (1, 4), (32, 32))]),
    ("vectoradd", "f32-100", &[("vectoradd_f32", (1, 1), (1024, 1))]),
    ("vectoradd", "f32-1K", &[("vectoradd_f32", (1, 1), (1024, 1))]),
    ("vectoradd", "f32-100K", &[("vectoradd_f32", (98, 1), (1024, 1))]),
    ("vectoradd", "f32-500K", &[("vectoradd_f32", (489, 1), (1024, 1))]),
    ("vectoradd", "f64-100", &[("vectoradd_f64", (1, 1), (1024, 1))]),
    ("vectoradd", "f64-1K", &[("vectoradd_f64", (1, 1), (1024, 1))]),
    ("vectoradd", "f64-100K", &[("vectoradd_f64", (98, 1), (1024, 1))]),
    ("vectoradd", "f64-500K", &[("vectoradd_f64", (489, 1), (1024, 1))]),
    ("transpose", "128-coalesced", &[("transpose_coalesced", (8, 8), (16, 16))]),
    ("transpose", "128-naive", &[("transpose_naive", (8, 8), (16, 16))]),
    ("transpose", "256-coalesced", &[("transpose_coalesced", (16, 16), (16, 16))]),
    ("transpose", "256-naive", &[("transpose_naive", (16, 16), (16, 16))]),
    (
        "babelstream",
        "102400",
        &[
            ("stream_init", (100, 1), (1024, 1)),
            ("stream_copy", (100, 1), (1024, 1)),
            ("stream_mul", (100, 1), (1024, 1)),
            ("stream_add", (100, 1), (1024, 1)),
            ("stream_triad", (100, 1), (1024, 1)),
            ("stream_dot", (256, 1), (1024, 1)),
        ],
    ),
];

#[test]
fn silicon_rows_launch_what_was_measured_and_nothing_else() {
    let listed: Vec<_> = instances(Purpose::Silicon).map(|(w, i)| (w.info().name, i.label)).collect();
    assert_eq!(listed, MEASURED.iter().map(|(name, label, _)| (*name, *label)).collect::<Vec<_>>());
    for (name, label, kernels) in MEASURED {
        let (mut device, memory) = device();
        let workload = find(name).expect("it is in the list");
        let outcome = workload.run_instance(label, 1, &mut device).expect("an idle device refuses nothing");
        assert!(!outcome.passed, "{name} {label} passed on a device that computes nothing");
        let launched = device.launches().iter().map(|(l, _)| (l.kernel.clone(), l.grid, l.block));
        let expected = kernels.iter().map(|(k, g, b)| ((*k).to_owned(), Dim3::from(*g), Dim3::from(*b)));
        assert_eq!(launched.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{name} {label}");
        assert!(memory.borrow().live.is_empty(), "{name} {label} leaks");
    }
}

#[test]
fn a_label_that_a_program_lacks_is_an_error_that_names_those_it_has() {
    let run = |name, label| {
        let (mut device, _) = device();
        find(name).expect("it is in the list").run_instance(label, 1, &mut device).map_err(|e| e.to_string())
    };
    assert_eq!(run("saxpy", "2M"), Err("run: `saxpy` has no instance `2M`; it has 1M".to_owned()));
    assert_eq!(run("nw", "2M"), Err("run: `nw` has no instance `2M`".to_owned()));
}

#[test]
fn a_size_that_a_program_lacks_is_an_error_that_names_those_it_has() {
    let run = |name, size| {
        let (mut device, _) = device();
        find(name).expect("it is in the list").run(size, 1, &mut device).map_err(|e| e.to_string())
    };
    assert_eq!(
        run("saxpy", Size::Paper),
        Err("run: `saxpy` has no size `paper`; it has tiny, small, medium".to_owned())
    );
    // Three papers sized backprop: `paper` alone does not say which. One sized addvectors, and it was not CMD.
    assert!(run("backprop", Size::Paper).is_err_and(|e| e.contains("paper-cmd, paper-tom, paper-uvm")));
    assert!(run("addvectors", Size::PaperCmd).is_err());
}

/// The name of the folder that a module lies in.
fn folder(module: &strata_workloads::Module) -> &'static str {
    module.path.split('/').nth(1).expect("workloads/FOLDER/FILE.ptx")
}

#[test]
fn every_folder_is_a_program_or_a_module_and_has_its_files() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
    let entries = std::fs::read_dir(root).expect("the folder of programs");
    let folders = entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir());
    let found: BTreeSet<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let programs: BTreeSet<&str> = all().iter().map(|workload| workload.info().name).collect();
    // Most programs have their module in their own folder; several may share one.
    let modules: BTreeSet<&str> = all().iter().flat_map(|workload| workload.modules()).map(folder).collect();
    // The kernels of the microbenchmarks and of the programs that a GV100 was measured with, which are no programs of ours.
    let others = [&"micro", &"gv100"];
    let listed: BTreeSet<String> = programs.union(&modules).chain(others).map(|name| (*name).to_owned()).collect();
    assert_eq!(found, listed);
    let there = |file: String| std::fs::exists(format!("{root}/{file}")).is_ok_and(|there| there);
    let index = std::fs::read_to_string(format!("{root}/README.md")).expect("the list of programs");
    for name in &listed {
        assert!(there(format!("{name}/README.md")), "{name} has no page");
        assert!(index.contains(&format!("[{name}]({name})")), "{name} is not in workloads/README.md");
    }
    for name in modules {
        assert!(there(format!("{name}/{name}.cu")), "{name} has no source");
    }
}

/// The bytes of all allocations of a run that computes nothing.
fn footprint(workload: &dyn Workload, size: Size) -> u64 {
    let (mut device, memory) = device();
    workload.run(size, 1, &mut device).expect("an idle device refuses nothing");
    memory.take().allocated
}

#[test]
fn networks_have_the_size_of_their_table() {
    let networks: Vec<_> = all().iter().filter(|workload| workload.info().suite == "deep-learning").collect();
    assert_eq!(networks.len(), 6);
    for workload in networks {
        let megabytes = footprint(*workload, Size::Small) / 1_000_000;
        assert!((6..=12).contains(&megabytes), "{}: {megabytes} MB", workload.info().name);
    }
}

#[test]
fn training_before_the_measured_step_is_preparation() {
    for name in ["alexnet", "lstm"] {
        let (mut device, memory) = device();
        find(name).expect("it is in the list").run(Size::Tiny, 1, &mut device).expect("an idle device refuses nothing");
        let (launches, before) = (device.launches().len(), memory.borrow().launched_before_measurement);
        // Three steps of warm-up and one of full size come before the measured one.
        assert_eq!(before, Some(4 * launches), "{name}");
    }
}

/// The kernels that a program launches, in order.
fn kernels(name: &str) -> Vec<String> {
    let (mut device, _) = device();
    find(name).expect("it is in the list").run(Size::Tiny, 1, &mut device).expect("an idle device refuses nothing");
    device.launches().iter().map(|(launch, _)| launch.kernel.clone()).collect()
}

#[test]
fn a_convolution_is_darknets_sequence_of_kernels() {
    let first = [
        // The gradient is cleared although nobody wants it, then the output, to which the product of each image is added.
        "fill",
        "fill",
        "im2col_3",
        "gemm_nn_8",
        "im2col_3",
        "gemm_nn_8",
        "copy_tensor",
        "normalise",
        "scale_channels",
        "bias_forward",
        "activate",
        "fill",
        "max_pool_forward",
    ];
    assert_eq!(kernels("darknet")[..first.len()], first);
}

#[test]
fn networks_have_the_layers_of_darknets_files() {
    /// Convolutions, those that are normalised, and other kernels with how often they are launched.
    type Layers = (&'static str, usize, usize, &'static [(&'static str, usize)]);
    const NETWORKS: [Layers; 4] = [
        ("darknet", 8, 7, &[("max_pool_forward", 6), ("mean_pool_forward", 1), ("softmax", 1)]),
        ("yolo-tiny", 9, 8, &[("max_pool_forward", 6), ("softmax", 1)]),
        ("yolo2", 23, 22, &[("max_pool_forward", 5), ("reorganise", 1), ("softmax", 1)]),
        ("yolo3", 75, 72, &[("upsample", 2), ("max_pool_forward", 0), ("softmax", 0)]),
    ];
    for (name, convolutions, normalised, others) in NETWORKS {
        let kernels = kernels(name);
        let count = |kernel: &str| kernels.iter().filter(|k| *k == kernel).count();
        assert_eq!((count("bias_forward"), count("normalise")), (convolutions, normalised), "{name}");
        for (kernel, times) in others {
            assert_eq!(count(kernel), *times, "{name}: {kernel}");
        }
    }
    // A shortcut, too, ends with an activation.
    assert_eq!(kernels("yolo3").iter().filter(|kernel| *kernel == "activate").count(), 75 + 23);
}
