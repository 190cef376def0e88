//! A network's description, text to [`Network`]: pure, and every error has its place.
//!
//! A layer is a table with one key that says what it is, and others that say how. After a layer that is wrong, shapes are not
//! known any more: layers behind it are still read, but not fitted together.

use super::build::Builder;
use super::network::{Network, Shape, Window, limits};
use strata_core::config::{Diagnostic, Fields, Reader};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// What a layer can be: its key, and the keys beside it.
const KINDS: [(&str, &[&str]); 11] = [
    ("conv", &["kernel", "stride", "pad", "groups", "norm", "relu"]),
    ("pool", &["stride", "pad"]),
    ("global_pool", &[]),
    ("lrn", &[]),
    ("fc", &["relu"]),
    ("concat", &[]),
    ("add", &["relu"]),
    ("embedding", &["size"]),
    ("highway", &[]),
    ("lstm", &["projection"]),
    ("softmax", &["sampled"]),
];

/// Layers that are there several times.
const REPEAT: (&str, &[&str]) = ("repeat", &["layers"]);

type Value<'a> = Spanned<DeValue<'a>>;

/// What a layer does to a network; refused with a reason if it does not fit.
type Make = Box<dyn FnOnce(&mut Builder) -> Result<(), String>>;

/// Reads a description; without errors there is a network.
pub(super) fn parse(text: &str) -> Result<Network, Vec<Diagnostic>> {
    let (document, syntax) = DeTable::parse_recoverable(text);
    let mut reader = LayerReader::default();
    for error in &syntax {
        reader.0.error(error.span().unwrap_or(0..0), error.message(), None);
    }
    let network = if syntax.is_empty() { reader.network(&document) } else { None };
    match network {
        Some(network) if reader.0.errors.is_empty() => Ok(network),
        _ => Err(reader.0.errors),
    }
}

#[derive(Default)]
struct LayerReader(Reader);

impl LayerReader {
    fn network(&mut self, document: &Spanned<DeTable<'_>>) -> Option<Network> {
        let known = ["name", "source", "input", "steps", "layers"];
        let fields = self.0.fields(document.get_ref(), document.span(), "a network", &known);
        let name = self.text(&fields, "name", "name = \"AlexNet\"");
        let source = self.text(&fields, "source", "source = \"the paper and its table\"");
        let steps = self.optional(&fields, "steps", &limits::STEPS, 1);
        let input = self.0.required(&fields, "input", "input = [3, 224, 224]");
        let shape = input.and_then(|value| self.shape(value));
        let layers = self.0.required(&fields, "layers", "layers = [{ fc = 1000 }]");
        // Layers are read even where the input is not: they may have errors of their own.
        let mut builder = shape.zip(steps).map(|(shape, steps)| Builder::new(shape, steps));
        self.layers(layers?, &mut builder, 0);
        let operations = builder?.operations;
        Some(Network { name: name?, source: source?, input: shape?.values() * steps?, operations })
    }

    fn text(&mut self, fields: &Fields<'_>, key: &str, example: &str) -> Option<String> {
        let value = self.0.required(fields, key, example)?;
        self.0.string(value).map(str::to_owned)
    }

    fn shape(&mut self, value: &Value<'_>) -> Option<Shape> {
        let form = "[channels, height, width]";
        let list = self.0.array(value, form)?;
        let [channels, height, width] = list.iter().collect::<Vec<_>>()[..] else {
            self.0.error(value.span(), "an input has three extents", Some(format!("write `{form}`")));
            return None;
        };
        let channels = self.number(channels, &limits::CHANNELS);
        let (height, width) = (self.number(height, &limits::POSITIONS), self.number(width, &limits::POSITIONS));
        Some(Shape { channels: channels?, height: height?, width: width? })
    }

    fn number(&mut self, value: &Value<'_>, allowed: &std::ops::Range<i128>) -> Option<u64> {
        self.0.integer(value, allowed.start, allowed.end - 1).map(|number| number as u64)
    }

    fn optional(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        allowed: &std::ops::Range<i128>,
        default: u64,
    ) -> Option<u64> {
        fields.get(key).map_or(Some(default), |value| self.number(value, allowed))
    }

    fn needed(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        allowed: &std::ops::Range<i128>,
        example: &str,
    ) -> Option<u64> {
        let value = self.0.required(fields, key, example)?;
        self.number(value, allowed)
    }

    fn flag(&mut self, fields: &Fields<'_>, key: &str, default: bool) -> Option<bool> {
        fields.get(key).map_or(Some(default), |value| self.0.boolean(value))
    }

    /// A list of layers, one behind the other.
    fn layers(&mut self, value: &Value<'_>, builder: &mut Option<Builder>, depth: usize) {
        if depth > limits::DEPTH {
            let message = format!("more than {} lists of layers within each other", limits::DEPTH);
            self.0.error(value.span(), message, None);
            *builder = None;
            return;
        }
        let list: Option<&DeArray<'_>> = self.0.array(value, "[{ conv = 64, kernel = 3 }, …]");
        for layer in list.into_iter().flatten() {
            if self.layer(layer, builder, depth).is_none() {
                *builder = None;
            }
        }
    }

    /// One layer; nothing if it is wrong.
    fn layer(&mut self, value: &Value<'_>, builder: &mut Option<Builder>, depth: usize) -> Option<()> {
        let table = self.0.table(value)?;
        let kinds = KINDS.iter().chain([&REPEAT]);
        let mut present = kinds.clone().filter(|(kind, _)| table.contains_key(*kind));
        let (Some((kind, options)), None) = (present.next(), present.next()) else {
            let names: Vec<_> = kinds.map(|(kind, _)| *kind).collect();
            let help = format!("give it exactly one of {}", names.join(", "));
            self.0.error(value.span(), "it is not clear what this layer is", Some(help));
            return None;
        };
        let known: Vec<_> = [*kind].into_iter().chain(options.iter().copied()).collect();
        let errors = self.0.errors.len();
        let fields = self.0.fields(table, value.span(), &format!("a layer `{kind}`"), &known);
        let main = fields.get(kind)?;
        match *kind {
            "repeat" => self.repeat(main, &fields, builder, depth)?,
            "concat" | "add" => self.branches(kind, main, &fields, builder, depth)?,
            _ => {
                let make = self.plain(kind, main, &fields)?;
                self.apply(value, builder, make)?;
            }
        }
        (self.0.errors.len() == errors).then_some(())
    }

    /// Fits a layer to those before it, unless these are not known.
    fn apply(
        &mut self,
        value: &Value<'_>,
        builder: &mut Option<Builder>,
        make: impl FnOnce(&mut Builder) -> Result<(), String>,
    ) -> Option<()> {
        let Some(builder) = builder else { return Some(()) };
        make(builder).map_err(|message| self.0.error(value.span(), message, None)).ok()
    }

    /// A layer without layers in it.
    fn plain(&mut self, kind: &str, main: &Value<'_>, fields: &Fields<'_>) -> Option<Make> {
        Some(match kind {
            "conv" => {
                let out = self.number(main, &limits::CHANNELS);
                let kernel = self.0.required(fields, "kernel", "kernel = 3");
                let window = kernel.and_then(|kernel| self.window(kernel, fields));
                let groups = self.optional(fields, "groups", &limits::CHANNELS, 1);
                let (norm, relu) = (self.flag(fields, "norm", false)?, self.flag(fields, "relu", true)?);
                let (out, window, groups) = (out?, window?, groups?);
                Box::new(move |builder| builder.conv(out, window, groups, norm, relu))
            }
            "pool" => {
                let window = self.window(main, fields)?;
                Box::new(move |builder| builder.pool(window))
            }
            "fc" => {
                let (out, relu) = (self.number(main, &limits::CHANNELS), self.flag(fields, "relu", true)?);
                let out = out?;
                Box::new(move |builder| builder.fc(out, relu))
            }
            "embedding" => {
                let rows = self.number(main, &limits::CHANNELS);
                let size = self.needed(fields, "size", &limits::CHANNELS, "size = 16")?;
                let rows = rows?;
                Box::new(move |builder| builder.embedding(rows, size))
            }
            "lstm" => {
                let cells = self.number(main, &limits::CHANNELS);
                let projection = self.needed(fields, "projection", &limits::CHANNELS, "projection = 1024")?;
                let cells = cells?;
                Box::new(move |builder| builder.lstm(cells, projection))
            }
            "softmax" => {
                let words = self.number(main, &limits::CHANNELS);
                let sampled = self.needed(fields, "sampled", &limits::CHANNELS, "sampled = 8192")?;
                let words = words?;
                Box::new(move |builder| builder.softmax(words, sampled))
            }
            marker => {
                if !self.0.boolean(main)? {
                    self.0.error(main.span(), "a layer that is not there", Some("write `true` or leave it out".into()));
                    return None;
                }
                match marker {
                    "lrn" => Box::new(Builder::lrn),
                    "highway" => Box::new(Builder::highway),
                    _ => Box::new(Builder::global_pool),
                }
            }
        })
    }

    /// A kernel, `3` or `[1, 3]`, with its stride and padding.
    fn window(&mut self, kernel: &Value<'_>, fields: &Fields<'_>) -> Option<Window> {
        let extents = match kernel.get_ref() {
            DeValue::Array(list) => list.iter().map(|extent| self.number(extent, &limits::KERNEL)).collect(),
            _ => self.number(kernel, &limits::KERNEL).map(|extent| vec![extent, extent]),
        };
        let stride = self.optional(fields, "stride", &limits::KERNEL, 1);
        let pad = self.optional(fields, "pad", &(0..limits::KERNEL.end), 0);
        let [height, width] = extents?[..] else {
            self.0.error(kernel.span(), "a kernel has two extents", Some("write `3` or `[1, 3]`".into()));
            return None;
        };
        Some(Window { height, width, stride: stride?, pad: pad? })
    }

    fn repeat(
        &mut self,
        main: &Value<'_>,
        fields: &Fields<'_>,
        builder: &mut Option<Builder>,
        depth: usize,
    ) -> Option<()> {
        let times = self.number(main, &limits::REPEAT);
        let layers = self.0.required(fields, "layers", "layers = [{ fc = 1000 }]")?;
        self.layers(layers, builder, depth + 1);
        // Errors are told once.
        for _ in 1..times? {
            if builder.is_none() {
                break;
            }
            self.layers(layers, builder, depth + 1);
        }
        Some(())
    }

    /// Lists of layers that all begin at the output so far, and whose outputs are joined.
    fn branches(
        &mut self,
        kind: &str,
        main: &Value<'_>,
        fields: &Fields<'_>,
        builder: &mut Option<Builder>,
        depth: usize,
    ) -> Option<()> {
        let list = self.0.array(main, "[[{ conv = 64, kernel = 1 }], []]")?;
        let relu = self.flag(fields, "relu", true);
        let start = builder.as_ref().map(|builder| builder.shape);
        let mut ends = Vec::new();
        for branch in list {
            if let (Some(builder), Some(start)) = (builder.as_mut(), start) {
                builder.shape = start;
            }
            self.layers(branch, builder, depth + 1);
            ends.extend(builder.as_ref().map(|builder| builder.shape));
        }
        let relu = relu?;
        self.apply(main, builder, |builder| match kind {
            "concat" => builder.concat(&ends),
            _ => builder.add(&ends, relu),
        })
    }
}
