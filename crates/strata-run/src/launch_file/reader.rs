//! Launch file text to [`Program`]: pure, touches no file, and reports every error it can find.

use super::fields::Reader;
use super::files::is_npy;
use super::limits;
use super::program::{Action, After, ArgValue, At, Buffer, Contents, LaunchStep, Program, SymbolValue};
use crate::diagnostics::Diagnostic;
use crate::element::{Element, Number};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use strata_core::config::{self, Fields};
use strata_core::{Bytes, Dim3};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Buffers by name: their indices.
type Names = BTreeMap<String, usize>;

/// Reads a launch file. The program is complete only if no error is reported; what is sound of it is there anyway, so
/// that later stages can look for more errors.
pub fn parse(text: &str) -> (Program, Vec<Diagnostic>) {
    let (document, syntax) = DeTable::parse_recoverable(text);
    let mut reader = Reader::default();
    for error in &syntax {
        reader.error(error.span().unwrap_or(0..0), error.message(), None);
    }
    // A half-read document would draw complaints about what the syntax error hid.
    let mut program = Program::default();
    if syntax.is_empty() {
        program = reader.program(&document);
    }
    (program, reader.into_errors())
}

impl Reader {
    fn program(&mut self, document: &Spanned<DeTable<'_>>) -> Program {
        let known = ["ptx", "seed", "buffers", "symbols", "launch", "after"];
        let fields = self.fields(document.get_ref(), document.span(), "a launch file", &known);
        let mut program = Program { seed: limits::DEFAULT_SEED, ..Program::default() };
        if let Some(value) = fields.get("ptx") {
            program.ptx = self.one_or_more_paths(value);
        } else {
            let help = "add `ptx = \"kernel.ptx\"` at the top of the file";
            self.error(0..0, "no PTX is named", Some(help.into()));
        }
        if let Some(seed) = fields.get("seed").and_then(|v| self.integer(v, 0, i128::from(u64::MAX))) {
            program.seed = seed as u64;
        }
        if let Some(table) = fields.get("buffers").and_then(|v| self.table(v)) {
            for (name, value) in Self::in_file_order(table) {
                if program.buffers.len() == limits::BUFFERS {
                    let help = format!("a launch file has at most {}", limits::BUFFERS);
                    self.error(name.span, "too many buffers", Some(help));
                    break;
                }
                program.buffers.extend(self.buffer(name, value));
            }
        }
        let names: Names = program.buffers.iter().map(|b| b.name.value.clone()).zip(0..).collect();
        if let Some(table) = fields.get("symbols").and_then(|v| self.table(v)) {
            for (name, value) in Self::in_file_order(table) {
                program.symbols.extend(self.symbol(name, value));
            }
        }
        if let Some(list) = fields.get("launch").and_then(|v| self.array(v, "[[launch]]")) {
            for value in list {
                program.launches.extend(self.launch(value, &names));
            }
        }
        if let Some(list) = fields.get("after").and_then(|v| self.array(v, "[[after]]")) {
            for value in list {
                self.after(value, &names, &program.buffers, &mut program.after);
            }
        }
        if fields.get("launch").is_none() {
            let help = "add a `[[launch]]` section with `kernel`, `grid`, `block` and `args`";
            self.error(0..0, "nothing is launched", Some(help.into()));
        }
        self.check_total_launches(&program);
        self.check_written_names(&program);
        program
    }

    fn one_or_more_paths(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<At<String>> {
        let DeValue::Array(list) = value.get_ref() else {
            return self.path(value).into_iter().collect();
        };
        if list.is_empty() {
            self.error(value.span(), "no PTX is named", Some("name at least one file".into()));
        }
        list.iter().filter_map(|item| self.path(item)).collect()
    }

    fn path(&mut self, value: &Spanned<DeValue<'_>>) -> Option<At<String>> {
        let path = self.string(value)?;
        if path.is_empty() || path.contains('\0') {
            self.error(value.span(), "this is no path of a file", None);
            return None;
        }
        Some(At::new(path.to_owned(), value.span()))
    }

    fn element(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Element> {
        let name = self.string(value)?;
        let element = Element::named(name);
        if element.is_none() {
            let names = Element::ALL.map(Element::name);
            self.unknown(value.span(), format!("`{name}` is no element type"), name, names);
        }
        element
    }

    fn buffer(&mut self, name: At<String>, value: &Spanned<DeValue<'_>>) -> Option<Buffer> {
        let table = self.table(value)?;
        let fields = self.fields(table, name.span.clone(), "a buffer", &["type", "count", "size", "init", "managed"]);
        let errors_before = self.errors.len();
        let element = fields.get("type").and_then(|v| self.element(v));
        let contents = fields.get("init").map_or(Some(Contents::Zeros), |v| self.contents(v, &fields, element));
        let size = self.buffer_size(&fields, element, matches!(contents, Some(Contents::File(_))));
        let managed = fields.get("managed").and_then(|v| self.boolean(v));
        if let (Some(size), Some(element)) = (&size, element)
            && size.value.0 % element.bytes() as u64 != 0
        {
            let message = format!("{} bytes are not a whole number of `{element}`", size.value.0);
            self.error(size.span.clone(), message, Some("give `count` instead of `size`".into()));
        }
        // A buffer with an error still has its name: arguments that refer to it are no errors of their own.
        let contents = contents.unwrap_or(Contents::Zeros);
        let size = size.or_else(|| (self.errors.len() > errors_before).then(|| At::new(Bytes(1), name.span.clone())));
        Some(Buffer { name, element, size, contents, managed })
    }

    fn buffer_size(&mut self, fields: &Fields<'_>, element: Option<Element>, from_file: bool) -> Option<At<Bytes>> {
        let largest = limits::DEVICE_MEMORY.0;
        let size = match (fields.get("size"), fields.get("count")) {
            (Some(_), Some(count)) => {
                let help = "keep one of them: `size` in bytes, or `count` of elements with `type`";
                self.error(count.span(), "both `size` and `count` are given", Some(help.into()));
                return None;
            }
            (Some(size), None) => At::new(self.size(size)?, size.span()),
            (None, Some(count)) => {
                let number = self.integer(count, 1, i128::from(largest))? as u64;
                if fields.get("type").is_none() {
                    let help = "add `type = \"f32\"`, or give `size` in bytes";
                    self.error(count.span(), "`count` needs the type of the elements", Some(help.into()));
                }
                At::new(Bytes(number.saturating_mul(element?.bytes() as u64)), count.span())
            }
            (None, None) if from_file => return None,
            (None, None) => {
                let help = "add `size = \"4MiB\"`, or `type = \"f32\"` and `count = 1024`";
                self.error(fields.span.clone(), "the buffer has no size", Some(help.into()));
                return None;
            }
        };
        if size.value.0 == 0 {
            self.error(size.span, "a buffer has at least one byte", Some("leave the buffer out".into()));
            return None;
        }
        if size.value.0 > largest {
            let message = format!("{} is more than the device's memory of {}", size.value, limits::DEVICE_MEMORY);
            self.error(size.span, message, Some("make the buffer smaller".into()));
            return None;
        }
        Some(size)
    }

    fn contents(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        buffer: &Fields<'_>,
        element: Option<Element>,
    ) -> Option<Contents> {
        const FORMS: &str = "write \"zeros\", \"iota\", { constant = 1.5 }, { iota = { start = 0, step = 2 } }, \
                             { random = [0, 1] } or { file = \"data.npy\" }";
        let word = match value.get_ref() {
            DeValue::String(word) => {
                return match word.as_ref() {
                    "zeros" => Some(Contents::Zeros),
                    "iota" => {
                        let element = self.typed(value, buffer, element)?;
                        Some(Contents::Iota(element, Number::Int(0), Number::Int(1)))
                    }
                    _ => {
                        self.error(value.span(), format!("`{word}` is no way to fill a buffer"), Some(FORMS.into()));
                        None
                    }
                };
            }
            DeValue::Table(table) => table,
            other => {
                let message = format!("a buffer is not filled with {}", config::Reader::kind(other));
                self.error(value.span(), message, Some(FORMS.into()));
                return None;
            }
        };
        let forms = self.fields(word, value.span(), "`init`", &["constant", "iota", "random", "file"]);
        let (form, what) = self.only_one(&forms, "exactly one way to fill the buffer is needed", FORMS)?;
        match form {
            "file" => Some(Contents::File(self.path(what)?)),
            "constant" => {
                let element = self.typed(what, buffer, element)?;
                Some(Contents::Constant(element, self.number_of(what, element)?))
            }
            "iota" => {
                let element = self.typed(what, buffer, element)?;
                let table = self.table(what)?;
                let parts = self.fields(table, what.span(), "`iota`", &["start", "step"]);
                let start = parts.get("start").map_or(Some(Number::Int(0)), |v| self.number_of(v, element))?;
                let step = parts.get("step").map_or(Some(Number::Int(1)), |v| self.step_of(v, element))?;
                Some(Contents::Iota(element, start, step))
            }
            _ => {
                let element = self.typed(what, buffer, element)?;
                let [low, high] = match what.get_ref() {
                    DeValue::Array(list) if list.len() == 2 => [&list[0], &list[1]],
                    _ => {
                        let help = "write `random = [low, high]`; both bounds may occur";
                        self.error(what.span(), "random contents need two bounds", Some(help.into()));
                        return None;
                    }
                };
                let (low, high) = (self.finite_of(low, element)?, self.finite_of(high, element)?);
                if low.as_f64() > high.as_f64() {
                    self.error(what.span(), format!("{low} is above {high}"), Some("put the lower bound first".into()));
                    return None;
                }
                Some(Contents::Random(element, low, high))
            }
        }
    }

    /// The buffer's element type, or a complaint that what stands at `value` needs one.
    fn typed(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        buffer: &Fields<'_>,
        element: Option<Element>,
    ) -> Option<Element> {
        if element.is_none() && buffer.get("type").is_none() {
            let help = "add `type = \"f32\"` to the buffer";
            self.error(value.span(), "these contents need the type of the elements", Some(help.into()));
        }
        element
    }

    /// A step may be negative even for an unsigned type: it counts down.
    fn step_of(&mut self, value: &Spanned<DeValue<'_>>, element: Element) -> Option<Number> {
        match value.get_ref() {
            DeValue::Integer(_) if !element.is_float() => {
                self.integer(value, i128::from(i64::MIN), i128::from(u64::MAX)).map(Number::Int)
            }
            _ => self.finite_of(value, element),
        }
    }

    fn symbol(&mut self, name: At<String>, value: &Spanned<DeValue<'_>>) -> Option<SymbolValue> {
        let bytes = self.typed_bytes(value, true)?;
        if bytes.is_empty() {
            self.error(value.span(), "a value has at least one byte", None);
            return None;
        }
        Some(SymbolValue { name, bytes })
    }

    /// `{ f32 = 1.5 }`, with `lists` also `{ f32 = [1, 2] }`, or `{ bytes = "00 ff" }`.
    fn typed_bytes(&mut self, value: &Spanned<DeValue<'_>>, lists: bool) -> Option<Vec<u8>> {
        let table = self.table(value)?;
        let known: Vec<&str> = Element::ALL.map(Element::name).into_iter().chain(["bytes"]).collect();
        let fields = self.fields(table, value.span(), "a value", &known);
        let help = "write one type and its value, as in `{ i32 = 5 }`, or `{ bytes = \"00 ff\" }`";
        let (ty, what) = self.only_one(&fields, "a value has exactly one type", help)?;
        let mut bytes = Vec::new();
        match (Element::named(ty), what.get_ref()) {
            (None, _) => bytes = self.hex(what)?,
            (Some(element), DeValue::Array(list)) if lists => {
                for item in list {
                    element.encode(self.number_of(item, element)?, &mut bytes);
                }
            }
            (Some(element), _) => element.encode(self.number_of(what, element)?, &mut bytes),
        }
        Some(bytes)
    }

    fn hex(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Vec<u8>> {
        let text = self.string(value)?;
        let digits: Vec<u32> =
            text.chars().filter(|c| !c.is_whitespace() && *c != '_').map(|c| c.to_digit(16).unwrap_or(16)).collect();
        if !digits.len().is_multiple_of(2) || digits.iter().any(|&d| d > 15) || digits.is_empty() {
            let help = "write two hexadecimal digits per byte, lowest address first: \"00 01 ff\"";
            self.error(value.span(), "these are no bytes", Some(help.into()));
            return None;
        }
        Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
    }

    fn launch(&mut self, value: &Spanned<DeValue<'_>>, buffers: &Names) -> Option<LaunchStep> {
        let table = self.table(value)?;
        let known = ["kernel", "grid", "block", "shared", "args", "prefetch", "repeat"];
        let fields = self.fields(table, value.span(), "a launch", &known);
        let kernel = match self.required(&fields, "kernel", "kernel = \"name\"") {
            Some(v) => self.string(v).map(|name| At::new(name.to_owned(), v.span())),
            None => None,
        };
        let grid = self
            .required(&fields, "grid", "grid = 128, or grid = [x, y, z]")
            .and_then(|v| self.extents(v, limits::GRID, "a grid"));
        let block = self
            .required(&fields, "block", "block = 256, or block = [x, y, z]")
            .and_then(|v| self.extents(v, limits::BLOCK, "a block"));
        if let (Some(block), Some(v)) = (block, fields.get("block"))
            && block.count() > limits::BLOCK_THREADS
        {
            let message = format!("{} threads are more than a block can have", block.count());
            self.error(v.span(), message, Some(format!("at most {} threads fit", limits::BLOCK_THREADS)));
        }
        let shared = fields.get("shared").map_or(Some(0), |v| self.shared(v));
        let repeat = fields.get("repeat").map_or(Some(1), |v| self.integer(v, 1, i128::from(limits::LAUNCHES)));
        let args = match fields.get("args") {
            None => Some(At::new(Vec::new(), value.span())),
            Some(v) => self.args(v, buffers),
        };
        let prefetch = fields.get("prefetch").map_or(Some(Vec::new()), |v| self.prefetch(v, buffers));
        Some(LaunchStep {
            kernel: kernel?,
            grid: grid?,
            block: block?,
            shared: shared?,
            args: args?,
            prefetch: prefetch?,
            repeat: repeat? as u32,
        })
    }

    fn prefetch(&mut self, value: &Spanned<DeValue<'_>>, buffers: &Names) -> Option<Vec<usize>> {
        let list = self.array(value, "prefetch = [\"a\"]")?;
        let read: Vec<_> = list.iter().map(|item| self.buffer_named(item, buffers)).collect();
        read.into_iter().collect()
    }

    fn shared(&mut self, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        let size = self.size(value)?;
        if size.0 > limits::SHARED_MEMORY.0 {
            let message = format!("{size} of shared memory are more than a block can have");
            self.error(value.span(), message, Some(format!("at most {}", limits::SHARED_MEMORY)));
            return None;
        }
        Some(size.0 as u32)
    }

    fn extents(&mut self, value: &Spanned<DeValue<'_>>, most: [u32; 3], what: &str) -> Option<Dim3> {
        let mut extents = [1; 3];
        match value.get_ref() {
            DeValue::Array(list) if (1..=3).contains(&list.len()) => {
                for ((item, extent), most) in list.iter().zip(&mut extents).zip(most) {
                    *extent = self.integer(item, 1, i128::from(most))? as u32;
                }
            }
            DeValue::Integer(_) => extents[0] = self.integer(value, 1, i128::from(most[0]))? as u32,
            _ => {
                let help = "write one number, or up to three: [x, y, z]";
                self.error(value.span(), format!("{what} has one to three extents"), Some(help.into()));
                return None;
            }
        }
        Some(Dim3::new(extents[0], extents[1], extents[2]))
    }

    fn args(&mut self, value: &Spanned<DeValue<'_>>, buffers: &Names) -> Option<At<Vec<At<ArgValue>>>> {
        let list = self.array(value, "args = [ … ]")?;
        let read: Vec<_> =
            list.iter().map(|item| self.arg(item, buffers).map(|arg| At::new(arg, item.span()))).collect();
        read.into_iter().collect::<Option<Vec<_>>>().map(|args| At::new(args, value.span()))
    }

    fn arg(&mut self, value: &Spanned<DeValue<'_>>, buffers: &Names) -> Option<ArgValue> {
        match value.get_ref() {
            DeValue::String(_) => self.buffer_named(value, buffers).map(|index| ArgValue::Buffer(index, 0)),
            DeValue::Table(table) if table.contains_key("buffer") => {
                let fields = self.fields(table, value.span(), "a buffer argument", &["buffer", "offset"]);
                let index = fields.get("buffer").and_then(|v| self.buffer_named(v, buffers))?;
                let offset = fields.get("offset").map_or(Some(Bytes(0)), |v| self.size(v))?;
                Some(ArgValue::Buffer(index, offset.0))
            }
            DeValue::Table(_) => self.typed_bytes(value, false).map(ArgValue::Bytes),
            other => {
                let help = "name a buffer (\"a\"), or give a scalar its type: `{ i32 = 5 }`";
                self.error(
                    value.span(),
                    format!("{} has no type of its own", config::Reader::kind(other)),
                    Some(help.into()),
                );
                None
            }
        }
    }

    fn buffer_named(&mut self, value: &Spanned<DeValue<'_>>, buffers: &Names) -> Option<usize> {
        let name = self.string(value)?;
        let index = buffers.get(name).copied();
        if index.is_none() {
            let message = format!("there is no buffer `{name}`");
            self.unknown(value.span(), message, name, buffers.keys().map(String::as_str));
        }
        index
    }

    fn after(&mut self, value: &Spanned<DeValue<'_>>, buffers: &Names, declared: &[Buffer], out: &mut Vec<After>) {
        let Some(table) = self.table(value) else { return };
        let known = ["buffer", "type", "write", "compare", "abs", "rel", "checksum"];
        let fields = self.fields(table, value.span(), "`[[after]]`", &known);
        let buffer = self.required(&fields, "buffer", "buffer = \"name\"").and_then(|v| self.buffer_named(v, buffers));
        let known = buffer.and_then(|b| declared.get(b)).and_then(|b| b.element);
        let element = fields.get("type").map_or(known, |v| self.element(v));
        let mut actions = Vec::new();
        if let Some(v) = fields.get("write") {
            actions.extend(self.written_file(v, element).map(|name| At::new(Action::Write(name), v.span())));
        }
        for key in ["abs", "rel"] {
            if let (Some(v), None) = (fields.get(key), fields.get("compare")) {
                let help = "add `compare = \"expected.npy\"`, or leave the tolerance out";
                self.error(v.span(), format!("`{key}` without `compare`"), Some(help.into()));
            }
        }
        if let Some(v) = fields.get("compare") {
            let [abs, rel] = ["abs", "rel"].map(|key| fields.get(key).map_or(Some(0.0), |v| self.tolerance(v)));
            if let (Some(file), Some(abs), Some(rel)) = (self.data_file(v), abs, rel) {
                actions.push(At::new(Action::Compare { file, abs, rel }, v.span()));
            }
        }
        if let Some(v) = fields.get("checksum")
            && self.boolean(v) == Some(true)
        {
            actions.push(At::new(Action::Checksum, v.span()));
        }
        if !["write", "compare", "checksum"].iter().any(|key| fields.get(key).is_some()) {
            let help = "add `write = \"out.npy\"`, `compare = \"expected.npy\"` or `checksum = true`";
            self.error(value.span(), "nothing is to be done with the buffer", Some(help.into()));
        }
        if let Some(buffer) = buffer {
            out.extend(actions.into_iter().map(|action| After { buffer, element, action }));
        }
    }

    fn tolerance(&mut self, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let number = self.real(value)?;
        if !(number >= 0.0 && number.is_finite()) {
            self.error(value.span(), "a tolerance is a number of 0 or more", None);
            return None;
        }
        Some(number)
    }

    fn data_file(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let path = self.path(value)?.value;
        if !is_npy(&path) && Path::new(&path).extension().is_none_or(|e| e != "bin") {
            let help = "use `.npy` (with type and shape) or `.bin` (bytes as they are)";
            self.error(value.span(), "the file's kind is not known", Some(help.into()));
            return None;
        }
        Some(path)
    }

    /// Results stay inside the result directory: a launch file from a stranger cannot overwrite anything else.
    fn written_file(&mut self, value: &Spanned<DeValue<'_>>, element: Option<Element>) -> Option<String> {
        let path = self.data_file(value)?;
        if !Path::new(&path).components().all(|c| matches!(c, Component::Normal(_))) {
            let help = "give a plain name such as \"c.npy\"; the file goes to the result directory";
            self.error(value.span(), "the file would lie outside the result directory", Some(help.into()));
            return None;
        }
        if is_npy(&path) && element.is_none() {
            let help = "add `type = \"f32\"`, or write a `.bin` file";
            self.error(value.span(), "a `.npy` file needs the type of the elements", Some(help.into()));
            return None;
        }
        if is_npy(&path) && element == Some(Element::Bf16) {
            let help = "write a `.bin` file, or give `type = \"u16\"`";
            self.error(value.span(), "`.npy` files have no type `bf16`", Some(help.into()));
            return None;
        }
        Some(path)
    }

    fn check_total_launches(&mut self, program: &Program) {
        let total: u64 = program.launches.iter().map(|l| u64::from(l.repeat)).sum();
        if let Some(last) = program.launches.last()
            && total > u64::from(limits::LAUNCHES)
        {
            let message = format!("{total} launches in all are more than one run keeps");
            let help = format!("lower the `repeat` counts: at most {} launches", limits::LAUNCHES);
            self.error(last.kernel.span.clone(), message, Some(help));
        }
    }

    fn check_written_names(&mut self, program: &Program) {
        let mut seen = BTreeSet::new();
        for after in &program.after {
            if let Action::Write(name) = &after.action.value
                && !seen.insert(name)
            {
                let help = "give each its own name";
                self.error(after.action.span.clone(), format!("`{name}` is written twice"), Some(help.into()));
            }
        }
    }
}
