//! Trained models on disk, as safetensors files: what is predicted from what, the vocabularies, the shape and the parameters;
//! and, to go on with a training, its state.
//!
//! Parameters are stored as `F32`, or with [`Precision::FourBit`] as `U8`, two to a byte, their scales in the metadata. Files are
//! there whole or not at all; of one that is read, nothing is believed before it is checked.

use crate::adam::Adam;
use crate::dataset::{HISTORY, Task, Vocabularies};
use crate::error::LearnError;
use crate::model::Model;
use crate::parameters::Tensor;
use crate::quantise::{Precision, nibble, scale};
use crate::spec::Spec;
use crate::train::{Epoch, State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

/// What the metadata call this format; another number means another format.
const VERSION: &str = "strata-learn 1";
/// The longest header that is read.
const MOST_HEADER: u64 = 64 << 20;

/// A model with all that is needed to use it.
pub struct Trained {
    /// What it predicts from what.
    pub task: Task,
    /// Which values it knows.
    pub words: Vocabularies,
    /// The model.
    pub model: Model,
    /// What its weights are held to when it is used.
    pub precision: Precision,
    /// What it was trained on, in words.
    pub origin: String,
}

/// What the metadata say beside the version.
#[derive(Serialize, Deserialize)]
struct About {
    task: Task,
    words: Vocabularies,
    spec: Spec,
    precision: Precision,
    origin: String,
    curve: Vec<Epoch>,
    steps: u64,
    scales: Vec<f32>,
}

/// The vectors of a training's state, and their names in a file.
const STATE: [&str; 3] = ["state.best", "state.first", "state.second"];

impl Trained {
    /// Writes it, small if its weights have four bits, with the state of its training if that is to go on.
    pub fn save(&self, path: &Path, state: Option<&State>) -> Result<(), LearnError> {
        let parameters = self.model.parameters();
        let small = self.precision == Precision::FourBit && state.is_none();
        let (mut data, mut header, mut scales) = (Vec::new(), Map::new(), Vec::new());
        let mut put = |name: &str, dtype: &str, shape: Vec<usize>, bytes: Vec<u8>| {
            let offsets = [data.len(), data.len() + bytes.len()];
            data.extend(bytes);
            header.insert(name.to_owned(), json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets }));
        };
        for (k, Tensor { name, shape, range }) in parameters.tensors().iter().enumerate() {
            let weights = &parameters[range.clone()];
            if small {
                let scale = parameters.fixed_scale(k).unwrap_or_else(|| scale(weights));
                scales.push(scale);
                let low = |w: &f32| nibble(*w, scale).cast_unsigned() & 15;
                let bytes: Vec<u8> =
                    weights.chunks(2).map(|two| low(&two[0]) | two.get(1).map_or(0, low) << 4).collect();
                put(name, "U8", vec![bytes.len()], bytes);
            } else {
                put(name, "F32", shape.clone(), bytes_of(weights));
            }
        }
        if let Some(state) = state {
            for (name, vector) in STATE.into_iter().zip([&state.best, &state.adam.first, &state.adam.second]) {
                put(name, "F32", vec![vector.len()], bytes_of(vector));
            }
        }
        let about = About {
            task: self.task.clone(),
            words: self.words.clone(),
            spec: self.model.spec().clone(),
            precision: self.precision,
            origin: self.origin.clone(),
            curve: state.map(|state| state.curve.clone()).unwrap_or_default(),
            steps: state.map_or(0, |state| state.adam.steps),
            scales,
        };
        let about = serde_json::to_string(&about).map_err(|error| LearnError::checkpoint(path, error.to_string()))?;
        header.insert("__metadata__".to_owned(), json!({ "format": VERSION, "about": about }));
        let header = Value::Object(header).to_string();
        let write = || -> std::io::Result<()> {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let mut name = path.file_name().unwrap_or_default().to_os_string();
            name.push(format!(".{}.partial", std::process::id()));
            let temporary = path.with_file_name(name);
            let mut file = std::io::BufWriter::new(std::fs::File::create(&temporary)?);
            file.write_all(&(header.len() as u64).to_le_bytes())?;
            file.write_all(header.as_bytes())?;
            file.write_all(&data)?;
            file.into_inner()?.sync_all()?;
            std::fs::rename(&temporary, path)
        };
        write().map_err(|error| LearnError::io("write", path, error))
    }

    /// Reads one, and the state of its training if it is there.
    pub fn load(path: &Path) -> Result<(Self, Option<State>), LearnError> {
        let bytes = std::fs::read(path).map_err(|error| LearnError::io("read", path, error))?;
        Self::parse(&bytes).map_err(|reason| LearnError::checkpoint(path, reason))
    }

    /// The same of bytes; the text says what is wrong with them.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Option<State>), String> {
        if bytes.starts_with(b"PAR1") {
            return Err("it is a trace: checkpoints are made of traces by `strata prefetch train`".into());
        }
        let truncated = |what: &str| format!("it ends before its {what} does: it was cut off, train again");
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(|| truncated("header"))?;
        let length = u64::from_le_bytes(*length);
        if length > MOST_HEADER {
            return Err(format!("its header would have {length} bytes: it is no safetensors file"));
        }
        let header = rest.get(..length as usize).ok_or_else(|| truncated("header"))?;
        let data = &rest[length as usize..];
        let header: Map<String, Value> =
            serde_json::from_slice(header).map_err(|error| format!("its header is no JSON object: {error}"))?;
        let metadata = &header.get("__metadata__").unwrap_or(&Value::Null);
        match metadata["format"].as_str() {
            Some(VERSION) => {}
            Some(other) => return Err(format!("its format is `{other}`, this is `{VERSION}`: train again")),
            None => return Err("it has no format in its metadata: it was not made by `strata prefetch train`".into()),
        }
        let about = metadata["about"].as_str().unwrap_or_default();
        let about: About =
            serde_json::from_str(about).map_err(|error| format!("its description is damaged: {error}"))?;
        check(&about)?;
        // Two parameters are in a byte at best: a shape that the file cannot hold is not built.
        if about.spec.least_parameters() > 2 * data.len() as u128 {
            return Err(
                "its shape asks for more parameters than it has: it is damaged or was cut off, train again".into()
            );
        }
        let mut model = Model::new(about.spec);
        let tensors = model.parameters().tensors().to_vec();
        let is_small = !about.scales.is_empty();
        let part = |name: &str, bytes: usize| -> Result<&[u8], String> {
            let offsets = &header.get(name).ok_or_else(|| format!("it has no tensor `{name}`"))?["data_offsets"];
            let [from, to] = [0, 1].map(|k| offsets[k].as_u64().unwrap_or(u64::MAX) as usize);
            if to.checked_sub(from) != Some(bytes) {
                return Err(format!("tensor `{name}` has another size than the vocabulary and the shape say"));
            }
            let dtype = if is_small && !STATE.contains(&name) { "U8" } else { "F32" };
            if header[name]["dtype"] != dtype {
                return Err(format!("tensor `{name}` is not of type {dtype}"));
            }
            data.get(from..to).ok_or_else(|| truncated(&format!("tensor `{name}`")))
        };
        for (k, Tensor { name, range, .. }) in tensors.iter().enumerate() {
            let to = &mut model.parameters_mut()[range.clone()];
            if is_small {
                let packed = part(name, range.len().div_ceil(2))?;
                let scale = about.scales.get(k).copied().filter(|scale| *scale > 0.0).ok_or("a scale is missing")?;
                for (at, weight) in to.iter_mut().enumerate() {
                    let nibble = packed[at / 2] >> (4 * (at % 2)) & 15;
                    *weight = f32::from((nibble << 4).cast_signed() >> 4) * scale;
                }
            } else {
                numbers_of(part(name, 4 * range.len())?, to);
            }
        }
        if !model.parameters().iter().all(|weight| weight.is_finite()) {
            return Err("some of its weights are no numbers: its training failed or it is damaged, train again".into());
        }
        model.parameters_mut().fix_scales(about.scales);
        let mut state = None;
        if header.contains_key(STATE[0]) {
            let count = model.parameters().len();
            let vectors = STATE.map(|name| {
                part(name, 4 * count).map(|bytes| {
                    let mut vector = vec![0.0; count];
                    numbers_of(bytes, &mut vector);
                    vector
                })
            });
            let [best, first, second] = vectors;
            let adam = Adam { first: first?, second: second?, steps: about.steps };
            state = Some(State { curve: about.curve, best: best?, adam });
        }
        let trained =
            Self { task: about.task, words: about.words, model, precision: about.precision, origin: about.origin };
        Ok((trained, state))
    }
}

/// Nothing that a model is built from may be beyond bounds, and vocabularies and shape must fit each other.
fn check(about: &About) -> Result<(), String> {
    let About { task, words, spec, .. } = about;
    let sizes = spec.features.iter().map(|(_, size, _)| *size).chain([spec.classes, spec.hidden]);
    let widths = spec.features.iter().map(|(_, _, width)| *width);
    let sound = sizes.into_iter().all(|size| (1..=1 << 20).contains(&size))
        && widths.clone().all(|width| (1..=1024).contains(&width))
        && (1..=13).contains(&spec.features.len())
        && (1..=64).contains(&spec.layers)
        && spec.heads > 0
        && spec.width() % spec.heads == 0
        && (1..=1024).contains(&task.distance)
        && (1..=HISTORY).contains(&task.least);
    if !sound {
        return Err("its shape is out of bounds: it is damaged".into());
    }
    let features = spec.features.iter().map(|(feature, ..)| *feature);
    if !features.eq(task.features.iter().copied()) || words.features.len() != task.features.len() {
        return Err("its features and its vocabularies do not belong together".into());
    }
    let fits = |known: usize, room: usize, of: &str| {
        let error = || format!("vocabulary mismatch: {known} values of {of}, and a model for {room}");
        (known <= room).then_some(()).ok_or_else(error)
    };
    for (words, (feature, room, _)) in words.features.iter().zip(&spec.features) {
        fits(words.size(), *room, feature.name())?;
    }
    fits(words.labels.size(), spec.classes, "the predicted delta")
}

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn numbers_of(bytes: &[u8], out: &mut [f32]) {
    for (number, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *number = f32::from_le_bytes(*bytes);
    }
}
