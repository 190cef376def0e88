//! Texture and surface references: variables of a module that hold the handle of what they are bound to.

use strata_core::{Addr, Bytes, Channel, Dim3, Format, Image, Texture};
use strata_emu::{Capacity, LaunchConfig, LaunchError, Memory, Output, Program};

const TEXT: &str = "
.version 7.8
.target sm_75
.address_size 64
.global .texref picture;
.global .surfref sheet;
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<12>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [picture, {%r1}];
    txq.width.b32 %r6, [picture];
    add.u32 %r2, %r2, %r6;
    st.global.u32 [%rd3], %r2;
    shl.b32 %r7, %r1, 2;
    suld.b.1d.b32.trap {%r8}, [sheet, {%r7}];
    add.u32 %r8, %r8, 1;
    sust.b.1d.b32.trap [sheet, {%r7}], {%r8};
    mov.u64 %rd4, picture;
    tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [%rd4, {%r1}];
    st.global.u32 [%rd3+128], %r2;
    ret;
}";

struct Device {
    memory: Memory,
    program: Program,
    out: Addr,
}

impl Device {
    fn new() -> Self {
        let parsed = strata_ptx::parse("references.ptx", TEXT);
        let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let mut memory = Memory::new(Capacity::default()).expect("address space");
        let program = Program::load("references.ptx", TEXT, module, &mut memory).expect("room");
        let out = memory.alloc(Bytes(256), false, "out").expect("room").start;
        Self { memory, program, out }
    }

    fn image(&mut self, first: u32) -> (Addr, Image) {
        let start = self.memory.alloc(Bytes(128), false, "image").expect("room").start;
        let bytes: Vec<u8> = (0..32).flat_map(|k| (first + k).to_le_bytes()).collect();
        self.memory.write(start, &bytes).expect("inside");
        (start, Image::packed(start, [32, 1, 1], Format { channel: Channel::Signed, bits: 32, channels: 1 }))
    }

    fn bind(&mut self, reference: &str, object: u64) {
        let place = self.program.symbol(reference).expect("the module has it").0;
        self.memory.write(place, &object.to_le_bytes()).expect("a variable");
    }

    fn run(&mut self) -> Result<(), LaunchError> {
        self.launch(&LaunchConfig::new(Dim3::from(1), Dim3::from(32)), &Output::default())
    }

    fn launch(&mut self, config: &LaunchConfig, output: &Output) -> Result<(), LaunchError> {
        let config = LaunchConfig { params: self.out.0.to_le_bytes().to_vec(), ..config.clone() };
        self.program.launch("k", &config, &mut self.memory, 1, output, &|_| {}).map(|_| ())
    }

    fn words(&self, start: Addr, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.memory.read(start, &mut bytes).expect("inside");
        bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

#[test]
fn a_reference_is_what_it_was_bound_to_when_the_launch_begins() {
    let mut device = Device::new();
    let (_, image) = device.image(100);
    let (sheet, surface) = device.image(0);
    let texture = device.memory.create_texture(&Texture::new(image)).expect("a texture");
    let surface = device.memory.create_surface(&surface).expect("a surface");
    device.bind("picture", texture);
    device.bind("sheet", surface);
    device.run().expect("it runs");
    let (direct, by_register): (Vec<u32>, Vec<u32>) = ((132..164).collect(), (100..132).collect());
    assert_eq!(device.words(device.out, 64), [direct, by_register].concat());
    assert_eq!(device.words(sheet, 32), (1..33).collect::<Vec<_>>());
    let (_, other) = device.image(500);
    let other = device.memory.create_texture(&Texture::new(other)).expect("a texture");
    device.bind("picture", other);
    device.run().expect("it runs");
    assert_eq!(device.words(device.out, 1), [532]);
}

/// Coordinates are no addresses: who looks at accesses leaves textures and surfaces alone.
#[test]
fn launches_that_are_looked_at_read_and_write_the_same() {
    let mut device = Device::new();
    let (_, image) = device.image(100);
    let (sheet, surface) = device.image(0);
    let texture = device.memory.create_texture(&Texture::new(image)).expect("a texture");
    let surface = device.memory.create_surface(&surface).expect("a surface");
    device.bind("picture", texture);
    device.bind("sheet", surface);
    let config = LaunchConfig { races: true, check: true, ..LaunchConfig::new(Dim3::from(1), Dim3::from(32)) };
    let output = Output::default();
    device.launch(&config, &output).expect("it runs");
    assert!(output.take_warnings().is_empty());
    assert_eq!(device.words(device.out, 32), (132..164).collect::<Vec<_>>());
    assert_eq!(device.words(sheet, 32), (1..33).collect::<Vec<_>>());
}

#[test]
fn a_reference_that_is_bound_to_nothing_says_so() {
    let text = Device::new().run().expect_err("nothing is bound").to_string();
    assert!(text.contains("the texture is bound to nothing") && text.contains("references.ptx:11"), "{text}");
}

#[test]
fn what_is_refused_is_one_list_for_modules_and_launches() {
    let text = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry bad() {
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    mov.u64 %rd1, 0;
    tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;
    ret;
}
.visible .entry good() { ret; }";
    let parsed = strata_ptx::parse("list.ptx", text);
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let listed = strata_emu::unsupported("list.ptx", text, &module);
    let mut memory = Memory::new(Capacity::default()).expect("address space");
    let mut program = Program::load("list.ptx", text, module, &mut memory).expect("room");
    assert_eq!(program.unsupported("bad"), Some(listed.clone()));
    assert_eq!(program.unsupported("good"), Some(Vec::new()));
    assert_eq!((listed.len(), listed[0].line, listed[0].function.as_str()), (1, 8, "bad"));
    let parsed = strata_ptx::parse("references.ptx", TEXT).module.expect("no errors");
    assert!(strata_emu::unsupported("references.ptx", TEXT, &parsed).is_empty());
}
