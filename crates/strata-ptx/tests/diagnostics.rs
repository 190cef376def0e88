//! What the checker says, line by line, and that it says all of it.

use strata_ptx::{LineIndex, Severity, parse};

/// Parses `body` inside a kernel (its first line is line 1) and compares `line: message | help` of every finding.
#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let module = format!(
        ".version 8.0 .target sm_75 .address_size 64 .global .u32 table[4]; .func (.param .b32 r) f (.param .b32 a); \
         .visible .entry kernel(.param .u64 buffer) {{ .reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<5>; \
         .reg .f32 %f<5>; .reg .b64 %d<3>; {body}\n}}"
    );
    check_module(&module, expected);
}

#[track_caller]
fn check_module(text: &str, expected: &[&str]) {
    let parsed = parse("test.ptx", text);
    let lines = LineIndex::new(text);
    let found: Vec<String> = parsed
        .diagnostics
        .iter()
        .map(|d| {
            let help = d.help.as_ref().map(|help| format!(" | {help}")).unwrap_or_default();
            format!("{}: {}{help}", lines.line_of(d.span), d.message)
        })
        .collect();
    assert_eq!(found, expected, "\n{}", parsed.render(text, false));
    assert_eq!(parsed.module.is_none(), parsed.diagnostics.iter().any(|d| d.severity == Severity::Error));
}

#[test]
fn good_code_is_silent() {
    check("ld.param.u64 %d0, [buffer]; add.s32 %r0, %r1, -5; setp.lt.and.f32 %p0|%p1, %f0, 0f3F800000, !%p2;", &[]);
    check("mov.b64 {%r0, %r1}, %d0; mov.b64 %d0, {%r0, %r1}; mov.u64 %d1, table; mov.u32 %r0, %tid.x;", &[]);
    check("ld.global.u8 %r0, [%d0]; st.global.u8 [%d0+-1], %r0; cvt.u16.u32 %r0, %r1; cvt.s64.s8 %d0, %h0;", &[]);
    check("vote.ballot.sync.b32 %r0, %p0, -1; vote.sync.ballot.b32 %r0, !%p0, 0xffffffff;", &[]);
    check("atom.add.acq_rel.cta.u64 %d0, [%d1], 1; atom.global.sys.add.u32 %r0, [%d0], %r1;", &[]);
    check(
        "ld.global.b32 { %r0 }, [ %d0 + 0 ]; shfl.sync.down.b32 %r0|%p0, %r1, 1, 31, -1; prmt.b32 %r0, %r1, 0, 4;",
        &[],
    );
    check(
        "and.pred %p0, !%p1, %p2; selp.b32 %r0, 1, 0, !%p0; mov.v4.u32 {%r0, %r1, %r2, %r3}, %tid; mov.f32 %f0, .5;",
        &[],
    );
    check("ld .global .u32 %r0, [%d0]; @!%p0 bra end; end: ret;", &[]);
}

#[test]
fn unknown_instructions_and_modifiers_name_the_nearest() {
    check(
        "ad.s32 %r0, %r1, %r2;\nadd.s31 %r0, %r1, %r2;\nshf.l.b32 %r0, %r1, %r2;\nquux.u32 %r0;\nshl.b32 %r0, %r1, 1;",
        &[
            "1: unknown instruction `ad` | did you mean `add`?",
            "2: `add` has no modifier `.s31` | did you mean `.s32`?",
            "3: `shf.l.b32` is no form of `shf` | its forms are `shf.side.mode.b32`",
            "4: unknown instruction `quux`",
        ],
    );
}

#[test]
fn undeclared_names_are_reported_once() {
    check(
        "mov.u32 %r0, %tid.q;\nmov.u32 %r9, 1;\nmov.u32 %r9, 2;\nmov.u64 %d0, tabel;\nbra nowhere;\nnowhare: ret;\ncall (x), g, ();",
        &[
            "1: `%tid.q` is not declared | did you mean `%tid.x`?",
            "2: `%r9` is not declared | declare more registers",
            "4: `tabel` is not declared | did you mean `table`?",
            "5: branch to `nowhere`, which is no label here | did you mean `nowhare`?",
            "7: `x` is not declared",
        ],
    );
}

#[test]
fn operands_are_counted_and_their_kinds_checked() {
    check(
        "add.s32 %r0, %r1;\nld.global.u32 %r0, %d0;\nst.global.v2.u32 [%d0], {%r0};\nadd.s32 5, %r0, %r1;\nret %r0;\n@%r0 ret;",
        &[
            "1: `add` takes 3 operands, not 2 | the form is `add.int d, a, b`",
            "2: operand 2 of `ld` is a register, which it does not take there | the form is `ld{.sem}{.mmio}{.scope}{.space}{.nc}{.cop}{.evict}{.evict2}{.hint}{.fetch}{.vec}.type <d:1+>, [a]{, policy:b64}`",
            "3: operand 2 of `st` is a vector, which it does not take there | the form is `st{.wsem}{.mmio}{.scope}{.wspace}{.wcop}{.evict}{.evict2}{.hint}{.vec}.type [a], <b:1+>{, policy:b64}`",
            "4: operand 1 of `add` is a literal, which it does not take there | the form is `add.int d, a, b`",
            "5: `ret` takes 0 operands, not 1 | the form is `ret{.uni}`",
            "6: a guard is a predicate register",
        ],
    );
}

/// An instruction that takes any number of operands from some number on says no largest one.
#[test]
fn an_open_number_of_operands_is_told_as_such() {
    let text = "\
.version 8.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b64 %d<2>;\n.reg .f32 %f<2>;\n\
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0}, %d0;\nret;\n}";
    let diagnostics = parse("wgmma.ptx", text).diagnostics;
    let told: Vec<&str> = diagnostics.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(told, ["`wgmma` takes at least 4 operands, not 2"]);
}

#[test]
fn register_sizes_follow_the_instruction_type() {
    let cure = "convert it with `cvt` or `mov`, or change the type of the instruction";
    let expected = [
        format!("1: `%d0` is a `.b64` register, but `add` takes `.s32` here | {cure}"),
        format!("2: `%r0` is a `.b32` register, but `setp` takes `.pred` here | {cure}"),
        format!("3: `%f0` is a `.f32` register, but `add` takes `.u32` here | {cure}"),
        format!("4: `%h0` is a `.b16` register, but `ld` takes `.u32` here | {cure}"),
        "5: these elements have 32 bits together, not the 64 of `.b64` | the elements and the type must have the same size"
            .to_owned(),
        "6: an address cannot be in a `.b16` register | use `.b64` or `.b32`".to_owned(),
    ];
    check(
        "add.s32 %d0, %r1, %r2;\nsetp.eq.s32 %r0, %r1, 0;\nadd.u32 %r0, %f0, 1;\nld.global.u32 %h0, [%d0];\n\
         mov.b64 %d0, {%h0, %h1};\nld.global.u32 %r0, [%h0];",
        &expected.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
fn every_error_of_a_file_is_reported() {
    check_module(
        ".version 8.0\n.target sm_75\n.address_size 48\n.glob .u32 x;\n.global .u32 y[2] = {1, 2, 3};\n.global .u32 y;\n\
         .global .u32 y;\n.entry a(.param .u64 p {\nadd.s32 %r1, 1;\n}\n.entry b() {\nbad;\n{ mov.u32 %q, 1 }\nret;\n}\n\
         .entry b() { ret; }\n.func c() { \n",
        &[
            "3: the address size is 32 or 64",
            "4: `.glob` opens no statement at module scope | did you mean `.global`?",
            "5: 3 initial values for 2 elements",
            "7: `y` is defined more than once | rename one of them or remove it",
            "8: expected `,` or `)`, found `{`",
            "9: `%r1` is not declared",
            "12: unknown instruction `bad` | did you mean `bar`?",
            "13: `%q` is not declared",
            "16: `b` is defined more than once | rename one of them or remove it",
            "18: the body of this function is never closed",
        ],
    );
}

#[test]
fn broken_text_is_reported_where_it_breaks() {
    check_module(
        "/* never closed",
        &[
            "1: unterminated comment | close it with `*/`",
            "1: the file has no `.version` | a PTX module starts with `.version`, `.target` and `.address_size`",
        ],
    );
    check_module(
        ".version 8.0\n.file 1 \"open\n.pragma \"ok\";\n\\\\\\ \u{e9}\n",
        &[
            "2: unterminated string | close it with `\"` on the same line",
            "4: `\\\\\\\\\\\\` has no meaning in PTX",
            "4: `é` has no meaning in PTX",
        ],
    );
}

#[test]
fn rendering_looks_like_a_compiler() {
    let text =
        ".version 8.0\n.target sm_75\n.address_size 64\n.entry k() {\n\t.reg .b32 %r<2>;\n\tmov.u32 %r2, 1;\n}\n";
    assert_eq!(
        parse("k.ptx", text).render(text, false),
        "error: `%r2` is not declared\n --> k.ptx:6:10\n  |\n6 |     mov.u32 %r2, 1;\n  |             ^^^\n  |\n \
         ::: k.ptx:5:12\n  |\n5 |     .reg .b32 %r<2>;\n  |               -- this declares `%r0` to `%r1`\n  |\n  = help: declare more registers\n\n"
    );
}
