//! What is told of instructions whose lanes read several places: filtered textures, matrices.

use strata_core::{
    AddressMode, Bytes, Channel, Dim3, Format, GridSource, Image, OpBatch, OpInfo, Stop, Texture, WarpSource,
};
use strata_emu::{Capacity, LaunchConfig, Memory, Output, Program};

/// Runs one warp of a kernel; gives, of each memory operation in order, its width and the addresses of its sets.
fn told(body: &str, memory: &mut Memory, params: [u64; 2]) -> Vec<(u8, Vec<[u64; 32]>)> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b) {{\n\
         .reg .b64 %a, %b; .reg .b32 %r<9>; .reg .f32 %f<9>;\nld.param.u64 %a, [a]; ld.param.u64 %b, [b];\n\
         mov.u32 %r0, %laneid; cvt.rn.f32.u32 %f0, %r0;\n{body}\nret;\n}}"
    );
    let parsed = strata_ptx::parse("k.ptx", &text);
    let module = parsed.module.as_ref().unwrap_or_else(|| panic!("{}", parsed.render(&text, false))).clone();
    let mut program = Program::load("k.ptx", &text, module, memory).expect("a program");
    let config = LaunchConfig {
        params: params.iter().flat_map(|p| p.to_le_bytes()).collect(),
        ..LaunchConfig::new(Dim3::from(1), Dim3::from(32))
    };
    let run = program.drive("k", &config, memory, 1, &Output::default(), |e| {
        e.start_cta(0, 0);
        let mut out: Vec<(u32, Vec<[u64; 32]>)> = Vec::new();
        let mut batch = OpBatch::default();
        loop {
            batch.clear();
            let stop = e.advance(e.warp(0, 0), &mut batch);
            for op in &batch.ops {
                if let Some(set) = batch.addresses.get(op.addresses as usize) {
                    let addresses = batch.lanes(set).map(|a| a.0);
                    match out.last_mut().filter(|last| last.0 == op.pc) {
                        Some(last) => last.1.push(addresses),
                        None => out.push((op.pc, vec![addresses])),
                    }
                }
            }
            match stop {
                Stop::Ready => {}
                Stop::Exited => {
                    let width = |pc: u32| e.instructions().get(pc as usize).map_or(0, |i: &OpInfo| i.width);
                    return out.into_iter().map(|(pc, sets)| (width(pc), sets)).collect();
                }
                _ => panic!("the warp does not end"),
            }
        }
    });
    run.expect("the kernel runs")
}

#[test]
fn a_filtered_read_is_a_load_of_each_texel() {
    let mut memory = Memory::new(Capacity::default()).expect("memory");
    let start = memory.alloc(Bytes(64 * 64 * 4), false, "image").expect("room").start;
    let image = Image::packed(start, [64, 64, 1], Format { channel: Channel::Float, bits: 32, channels: 1 });
    let linear = Texture { linear: true, address: [AddressMode::Border; 3], ..Texture::new(image) };
    let texture = memory.create_texture(&linear).expect("a texture");
    // Between columns l and l + 1 and between rows 7 and 8; the first row is read at the border too.
    let body = "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%a, {%f0, 0f41000000}];";
    let told = told(body, &mut memory, [texture, 0]);
    let texel = |column: u64, row: u64| start.0 + (row * 64 + column) * 4;
    let sets: Vec<[u64; 32]> = [(0, 7), (1, 7), (0, 8), (1, 8)]
        .map(|(right, row)| std::array::from_fn(|l| (l as u64 + right).checked_sub(1).map_or(0, |c| texel(c, row))))
        .to_vec();
    assert_eq!(told, [(1, sets)]);
}

#[test]
fn matrices_are_loads_of_wide_pieces() {
    let mut memory = Memory::new(Capacity::default()).expect("memory");
    let start = memory.alloc(Bytes(4096), false, "matrix").expect("room").start;
    let body = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%a], 64;\n\
         wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%a], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, 32;";
    let told = told(body, &mut memory, [start.0, 0]);
    // 16 rows of 32 bytes, 128 bytes apart; 16 columns of 64 bytes, 128 bytes apart.
    let loads = std::array::from_fn(|l| start.0 + l as u64 / 2 * 128 + l as u64 % 2 * 16);
    let stores = |first: u64| std::array::from_fn(|l| start.0 + (first + l as u64 / 4) * 128 + l as u64 % 4 * 16);
    assert_eq!(told, [(16, vec![loads]), (16, vec![stores(0), stores(8)])]);
}

#[test]
fn handles_that_are_nothing_are_told() {
    let mut memory = Memory::new(Capacity::default()).expect("memory");
    let start = memory.alloc(Bytes(64), false, "image").expect("room").start;
    let format = Format { channel: Channel::Unsigned, bits: 8, channels: 4 };
    let fits = Image::packed(start, [16, 1, 1], format);
    let surface = memory.create_surface(&fits).expect("a surface");
    assert!(memory.create_surface(&Image { width: 17, ..fits }).is_err(), "larger than its memory");
    assert!(memory.create_texture(&Texture { linear: true, ..Texture::new(fits) }).is_err(), "integers between texels");
    assert!(memory.destroy_object(surface).is_ok());
    assert!(memory.destroy_object(surface).is_err(), "destroyed twice");
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {\n.reg .b64 %a; .reg .b32 %r;\n\
         ld.param.u64 %a, [a];\nsuld.b.1d.b32.trap %r, [%a, {%r}];\nret;\n}";
    let module = strata_ptx::parse("k.ptx", text).module.expect("no errors");
    let mut program = Program::load("k.ptx", text, module, &mut memory).expect("a program");
    let params = surface.to_le_bytes().to_vec();
    let config = LaunchConfig { params, ..LaunchConfig::new(Dim3::from(1), Dim3::from(1)) };
    let error = program.launch("k", &config, &mut memory, 1, &Output::default(), &|_| {}).expect_err("no surface");
    assert!(error.to_string().contains("is no surface object"), "{error}");
}
