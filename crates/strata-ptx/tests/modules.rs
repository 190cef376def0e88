//! The typed module: what parsing makes of each construct, and that printing it back loses nothing.

use strata_ptx::ast::{
    Base, Function, Immediate, Initial, Linkage, List, Module, Operand, RegId, Span, StateSpace, Symbol, Type, Variable,
};
use strata_ptx::parse;

#[track_caller]
fn module(text: &str) -> Module {
    let text = format!(".version 8.4\n.target sm_80, debug\n.address_size 64\n{text}");
    let parsed = parse("test.ptx", &text);
    let rendered = parsed.render(&text, false);
    let module = parsed.module.unwrap_or_else(|| panic!("{rendered}"));
    assert_same_when_printed(&module);
    module
}

#[track_caller]
fn kernel(body: &str) -> Function {
    module(&format!(".visible .entry k() {{ {body} }}")).functions.remove(0)
}

/// Takes away what printing does not keep: places, and names that blocks share.
fn anonymous(mut module: Module) -> Module {
    let forget = |variables: &mut Vec<Variable>| {
        for variable in variables {
            variable.span = Span::default();
        }
    };
    forget(&mut module.variables);
    for function in &mut module.functions {
        function.span = Span::default();
        forget(&mut function.params);
        forget(&mut function.returns);
        forget(&mut function.variables);
        for list in &mut function.lists {
            if let List::Prototype { returns, params } = list {
                forget(returns);
                forget(params);
            }
        }
        for variable in &mut function.variables {
            variable.name.clear();
        }
        for register in &mut function.registers {
            register.name.clear();
        }
        for label in &mut function.labels {
            label.name.clear();
            label.span = Span::default();
        }
        for instruction in &mut function.instructions {
            instruction.span = Span::default();
        }
    }
    module
}

#[track_caller]
fn assert_same_when_printed(module: &Module) {
    let printed = module.to_string();
    let again = parse("printed.ptx", &printed);
    let rendered = again.render(&printed, false);
    let again = again.module.unwrap_or_else(|| panic!("{rendered}\n{printed}"));
    assert_eq!(anonymous(again), anonymous(module.clone()), "{printed}");
}

#[test]
fn compiler_output_survives_printing() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("tests/data") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = std::fs::read_to_string(&path).expect("readable");
            let parsed = parse(&path.display().to_string(), &text);
            let rendered = parsed.render(&text, false);
            assert_same_when_printed(&parsed.module.unwrap_or_else(|| panic!("{rendered}")));
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} modules");
}

#[test]
fn header_and_directives() {
    let m = module(
        ".file 1 \"a.cu\"\n.visible .entry k(.param .u64 .ptr .global .align 8 p, .param .align 4 .b8 s[12]) .maxntid 128, 2 \
         .minnctapersm 3 .maxnreg 40 { .loc 1 7 3, function_name $L__info, inlined_at 1 2 3\n ret; .pragma \"nounroll\"; }\n\
         .section .debug_str { $L__info: .b8 1, 2 }",
    );
    assert_eq!((m.version, m.address_size), ((8, 4), 64));
    assert_eq!(m.targets, ["sm_80", "debug"]);
    assert_eq!(m.files, [(1, "a.cu".to_owned())]);
    let k = m.entry("k").expect("the kernel");
    assert_eq!(k.tuning.max_threads, Some([128, 2, 1]));
    assert_eq!((k.tuning.min_ctas, k.tuning.max_registers, k.tuning.exact_threads), (Some(3), Some(40), false));
    assert_eq!((k.params[1].align, k.params[1].bytes(), k.params[1].space), (4, 12, StateSpace::Param));
    assert_eq!(k.instructions[0].loc.map(|loc| (loc.file, loc.line)), Some((1, 7)));
}

#[test]
fn declarations_and_definitions_are_one() {
    let m = module(
        ".func (.param .b32 r) f (.param .b32 a);\n.extern .global .u32 g;\n.func later();\n\
         .visible .entry k() { { .param .b32 r; call.uni (r), f, (5); } call later; ret; }\n\
         .func (.param .b32 r) f (.param .b32 a) { ret; }\n.visible .global .u32 g = 4;\n.func later() { ret; }",
    );
    assert_eq!(
        m.functions.iter().map(|f| (&*f.name, f.is_declaration)).collect::<Vec<_>>(),
        [("f", false), ("later", false), ("k", false)]
    );
    assert_eq!((m.variables.len(), m.variables[0].linkage), (1, Linkage::Visible));
    let call = &m.functions[2].instructions[0];
    assert_eq!(
        call.operands,
        [
            Operand::Vector(vec![Operand::Symbol(Symbol::Local(0), 0)]),
            Operand::Symbol(Symbol::Function(0), 0),
            Operand::Vector(vec![Operand::Immediate(Immediate::Int(5))]),
            Operand::Sink,
        ]
    );
}

#[test]
fn aliases_resolve_to_their_target() {
    let m = module(".func real() { ret; }\n.func other();\n.alias other, real;\n.entry k() { call other; }");
    assert_eq!(m.aliases, [("other".to_owned(), 0)]);
    assert_eq!(m.functions[2].instructions[0].operands[1], Operand::Symbol(Symbol::Function(0), 0));
}

#[test]
fn initial_values() {
    let m = module(
        ".func f(); .global .b8 bytes[4] = {1, 0xFF, -1};\n.const .f32 c[2] = {1.5, 0f40000000};\n\
         .global .u32 grid[2][3] = {{1}, {2, 3}};\n.global .u64 p[3] = {generic(bytes)+1, bytes+2, f};\n\
         .global .b8 parts[2] = {0xFF(bytes), 0xFF00(generic(bytes))};\n.global .s32 n[] = {1<<4|1, (2+3)*-2, 7};\n\
         .global .v2 .f32 v = {1.0, 2.0};\n.global .attribute(.managed) .align 16 .u64 m;\n.global .texref t;",
    );
    let ints = |at: usize| -> Vec<i64> {
        let value = |initial: &Initial| match initial {
            Initial::Value(Immediate::Int(n)) => *n,
            other => panic!("{other:?}"),
        };
        m.variables[at].initial.iter().map(value).collect()
    };
    assert_eq!(ints(0), [1, 255, -1]);
    assert_eq!(
        m.variables[1].initial,
        [Initial::Value(Immediate::F32(0x3FC00000)), Initial::Value(Immediate::F32(0x40000000))]
    );
    assert_eq!(ints(2), [1, 0, 0, 2, 3]);
    let address = |symbol, offset, generic, byte| Initial::Address { symbol, offset, generic, byte };
    assert_eq!(
        m.variables[3].initial,
        [
            address(Symbol::Global(0), 1, true, None),
            address(Symbol::Global(0), 2, false, None),
            address(Symbol::Function(0), 0, false, None)
        ]
    );
    assert_eq!(
        m.variables[4].initial,
        [address(Symbol::Global(0), 0, false, Some(0)), address(Symbol::Global(0), 0, true, Some(1))]
    );
    assert_eq!((ints(5), &m.variables[5].extents), (vec![17, -10, 7], &vec![3]));
    assert_eq!((m.variables[6].vector, m.variables[6].align, m.variables[6].bytes()), (2, 8, 8));
    assert!(m.variables[7].managed && m.variables[7].align == 16);
    assert_eq!(m.variables[8].ty, Type::Texref);
}

#[test]
fn blocks_shadow_registers_and_labels() {
    let f = kernel(
        ".reg .b32 x, %r<4>; .reg .pred p; mov.u32 x, 1; { .reg .b64 x; mov.u64 x, 2; L: @p bra L; { bra done; } } \
         { L: bra L; bra M; } mov.u32 x, %r3; M: done: ret;",
    );
    let written: Vec<(RegId, Type)> = f
        .instructions
        .iter()
        .filter_map(|i| match i.outputs() {
            [Operand::Register(r)] => Some((*r, f.registers[r.0 as usize].ty)),
            _ => None,
        })
        .collect();
    assert_eq!(written, [(RegId(0), Type::B32), (RegId(2), Type::B64), (RegId(0), Type::B32)]);
    let target = |at: usize| match f.instructions[at].operands[0] {
        Operand::Label(label) => f.labels[label.0 as usize].at,
        ref other => panic!("{other:?}"),
    };
    assert_eq!((target(2), target(3), target(4), target(5)), (2, 7, 4, 7));
    assert!(f.labels.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[test]
fn operands() {
    let f = kernel(
        ".shared .align 4 .b8 s[64]; .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .f32 %f<9>; .reg .pred %p<3>; .reg .v4 .f32 v; \
         .reg .f64 %g; add.f32 %f0, %f1, 1.5; add.f64 %g, %g, 2; mov.b32 %r0, 0f3F800000; ld.shared.u32 %r0, [s+8]; \
         ld.v4.f32 v, [%d0-16]; mov.f32 %f0, v.z; atom.cas.b32 %r0, [%d0], 0xFFFFFFFF, WARP_SZ; st.shared.u32 [16], %r0; \
         setp.ne.s32 %p0|_, %r0, 0; mov.u64 %d0, s; vadd.s32.s32.u32 %r0, %r1.b0, %r2.h1;",
    );
    let operand = |at: usize, n: usize| f.instructions[at].operands[n].clone();
    assert_eq!(operand(0, 2), Operand::Immediate(Immediate::F32(1.5f32.to_bits())));
    assert_eq!(operand(1, 2), Operand::Immediate(Immediate::F64(2f64.to_bits())));
    assert_eq!(operand(2, 1), Operand::Immediate(Immediate::F32(0x3F800000)));
    assert_eq!(operand(3, 1), Operand::Address { base: Base::Symbol(Symbol::Local(0)), offset: 8 });
    assert!(matches!(operand(4, 0), Operand::Vector(items) if items.len() == 4));
    assert!(matches!(operand(4, 1), Operand::Address { base: Base::Register(_), offset: -16 }));
    let Operand::Vector(v) = operand(4, 0) else { unreachable!() };
    assert_eq!(operand(5, 1), v[2]);
    assert_eq!(operand(6, 2), Operand::Immediate(Immediate::Int(0xFFFFFFFF)));
    assert_eq!(operand(6, 3), Operand::Immediate(Immediate::Int(32)));
    assert_eq!(operand(7, 0), Operand::Address { base: Base::Absolute, offset: 16 });
    assert!(matches!(operand(8, 0), Operand::Pair(_, sink) if *sink == Operand::Sink));
    assert_eq!(operand(9, 1), Operand::Symbol(Symbol::Local(0), 0));
    assert!(matches!(operand(10, 1), Operand::Selector(..)));
}

#[test]
fn outputs_and_execution_come_from_the_table() {
    let f = kernel(
        ".reg .b32 %r<9>; .reg .b64 %d; .reg .pred %p; ld.global.u32 %r0, [%d]; st.global.u32 [%d], %r0; \
         atom.global.add.u32 %r0, [%d], 1; red.global.add.u32 [%d], 1; shfl.sync.idx.b32 %r0|%p, %r1, 0, 31, -1; bar.sync 0; \
         txq.channel_order.b32 %r0, [%d]; ret;",
    );
    let outputs: Vec<u8> = f.instructions.iter().map(|i| i.outputs).collect();
    assert_eq!(outputs, [1, 0, 1, 0, 1, 0, 1, 0]);
    assert_eq!(
        f.instructions.iter().map(|i| i.executes).collect::<Vec<_>>(),
        [true, true, true, true, true, true, false, true]
    );
    let m = module(".entry k() { .reg .b64 %d; .reg .b32 %r; txq.channel_order.b32 %r, [%d]; ret; }");
    assert_eq!(
        m.unsupported().map(|(f, i)| format!("{}: {i}", f.name)).collect::<Vec<_>>(),
        ["k: txq.channel_order.b32"]
    );
}

#[test]
fn indirect_branches_and_calls() {
    let f = module(
        ".func f1() { ret; } .func f2() { ret; }\n.entry k() { .reg .b32 %r; .reg .b64 %d; T: .branchtargets A, B; \
         brx.idx %r, T; A: B: P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]); \
         C: .calltargets f1, f2; { .param .b32 r; call (r), %d, (5, 6), P; } call %d, (), C; ret; }",
    )
    .functions
    .remove(2);
    assert!(matches!(&f.lists[0], List::Branches(labels) if labels.len() == 2));
    assert!(
        matches!(&f.lists[1], List::Prototype { returns, params } if returns.len() == 1 && params[1].bytes() == 16)
    );
    assert_eq!(f.lists[2], List::Calls(vec![0, 1]));
    assert_eq!(f.instructions[0].operands[1], Operand::List(0));
    assert_eq!(f.instructions[1].operands[3], Operand::List(1));
}

#[test]
fn old_style_register_parameters() {
    let m = module(".func (.reg .b32 %out) f (.reg .b32 %a, .param .b64 p) { mov.u32 %out, %a; ret; }");
    let f = &m.functions[0];
    assert_eq!((&f.return_registers[..], &f.param_registers[..]), (&[Some(RegId(0))][..], &[Some(RegId(1)), None][..]));
    assert_eq!(f.instructions[0].operands, [Operand::Register(RegId(0)), Operand::Register(RegId(1))]);
}

#[test]
fn register_families_come_into_being_when_used() {
    let f = kernel(".reg .b32 %r<4294967295>, %v4<10>; mov.u32 %r4294967294, %r7; mov.u32 %v45, %r7;");
    assert_eq!(f.registers.iter().map(|r| &*r.name).collect::<Vec<_>>(), ["%r4294967294", "%r7", "%v45"]);
}
