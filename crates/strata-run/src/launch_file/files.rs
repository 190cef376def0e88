//! The files a launch file names: found, measured and hashed before anything is allocated or run.

use super::limits;
use super::program::{Action, ArgValue, Buffer, Contents, Program};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::element::Element;
use crate::error::LabError;
use crate::npy;
use std::fs::File;
use std::io::{BufReader, Read, Result as IoResult};
use std::ops::Range;
use std::path::{Path, PathBuf};
use strata_core::Bytes;
use strata_core::fnv::Fnv1a64;

/// A launch file with everything it refers to, checked and ready to run.
#[derive(Debug)]
pub struct Loaded {
    /// The path as given, for messages.
    pub path: String,
    /// The text of the launch file, which diagnostics quote.
    pub text: String,
    /// What the text says, after reading.
    pub program: Program,
    /// Modules: name for diagnostics, and text.
    pub modules: Vec<(String, String)>,
    /// Size of each buffer of the program.
    pub sizes: Vec<Bytes>,
    /// Every file read, with the hash of its contents, in the order of the launch file.
    pub inputs: Vec<(String, Fnv1a64)>,
    folder: PathBuf,
}

impl Loaded {
    /// Reads a launch file and everything it names.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let shown = path.display().to_string();
        let text = read_text(path, limits::FILE_BYTES).map_err(|source| LabError::io("read", path, source))?;
        let (program, errors) = super::parse(&text);
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let inputs = vec![(file_name(path), Fnv1a64::of(text.as_bytes()))];
        let mut loaded = Self { path: shown, text, program, modules: Vec::new(), sizes: Vec::new(), inputs, folder };
        let mut finder = Finder { errors };
        finder.modules(&mut loaded);
        finder.buffers(&mut loaded);
        finder.offsets(&loaded);
        finder.comparisons(&mut loaded);
        if finder.errors.is_empty() { Ok(loaded) } else { Err(LabError::LaunchFile(loaded.diagnose(finder.errors))) }
    }

    /// The folder of the launch file, which paths in it are relative to.
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Errors of this file, ready to be shown.
    pub(super) fn diagnose(&self, errors: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics::new(&self.path, &self.text, errors)
    }

    /// Bytes of buffer `index`, as it says itself or as its file has.
    pub(super) fn size(&self, index: usize) -> u64 {
        self.sizes[index].0
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Reads a text file of limited size.
pub fn read_text(path: &Path, most: u64) -> IoResult<String> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(std::io::Error::other(format!("it is larger than {}", Bytes(most))));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes().iter().take(at).filter(|&&b| b == b'\n').count();
        std::io::Error::other(format!("it is not UTF-8 text (line {line})"))
    })
}

/// Opens a regular file: a pipe or a device could block for ever or never end.
pub fn open_regular(path: &Path) -> IoResult<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

/// True for NumPy files, by name.
pub(super) fn is_npy(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == "npy")
}

/// A data file opened at its first byte of data.
pub(super) struct DataFile {
    pub(super) reader: BufReader<File>,
    pub(super) bytes: u64,
    /// `.npy` files know their type.
    pub(super) element: Option<Element>,
}

impl DataFile {
    pub(super) fn open(path: &Path) -> IoResult<Self> {
        let file = open_regular(path)?;
        let metadata = file.metadata()?;
        let mut reader = BufReader::new(file);
        if path.to_str().is_some_and(is_npy) {
            let header = npy::read_header(&mut reader)?;
            let bytes = header.count * header.element.bytes() as u64;
            let held = metadata.len().saturating_sub(std::io::Seek::stream_position(&mut reader)?);
            if held < bytes {
                let reason = format!("its header promises {bytes} bytes of data, it holds {held}");
                return Err(std::io::Error::other(reason));
            }
            return Ok(Self { reader, bytes, element: Some(header.element) });
        }
        Ok(Self { reader, bytes: metadata.len(), element: None })
    }
}

struct Finder {
    errors: Vec<Diagnostic>,
}

impl Finder {
    fn error(&mut self, span: &Range<usize>, message: String, help: &str) {
        self.errors.push(Diagnostic { span: span.clone(), message, help: Some(help.to_owned()) });
    }

    fn unreadable(&mut self, span: &Range<usize>, path: &str, error: &std::io::Error) {
        self.error(span, format!("cannot read `{path}`: {error}"), "paths are relative to the launch file");
    }

    fn modules(&mut self, loaded: &mut Loaded) {
        for ptx in loaded.program.ptx.clone() {
            match read_text(&loaded.resolve(&ptx.value), limits::PTX_BYTES) {
                Ok(text) => {
                    loaded.inputs.push((ptx.value.clone(), Fnv1a64::of(text.as_bytes())));
                    loaded.modules.push((ptx.value, text));
                }
                Err(error) => self.unreadable(&ptx.span, &ptx.value, &error),
            }
        }
    }

    /// Decides the size of every buffer; a file may be shorter than its buffer (zeros follow), never longer.
    fn buffers(&mut self, loaded: &mut Loaded) {
        let mut total = 0u64;
        for buffer in loaded.program.buffers.clone() {
            let mut size = buffer.size.as_ref().map_or(0, |s| s.value.0);
            if let Contents::File(file) = &buffer.contents
                && let Some(data) = self.data(loaded, &file.value, &file.span)
            {
                self.fits(&buffer, &data, &file.span);
                size = if buffer.size.is_some() { size } else { data.bytes };
            }
            let before = total;
            total = total.saturating_add(size);
            let most = limits::DEVICE_MEMORY;
            if before <= most.0 && total > most.0 {
                let message = format!("up to here the buffers take {}, the device has {most}", Bytes(total));
                self.error(&buffer.name.span, message, "make buffers smaller or leave some out");
            }
            loaded.sizes.push(Bytes(size));
        }
    }

    fn fits(&mut self, buffer: &Buffer, data: &DataFile, span: &Range<usize>) {
        if data.bytes == 0 {
            self.error(span, "the file holds no data".into(), "leave `init` out for zeros");
        }
        if let Some(size) = &buffer.size
            && size.value.0 < data.bytes
        {
            let message = format!("the file holds {} bytes, the buffer {}", data.bytes, size.value.0);
            self.error(span, message, "leave `size` and `count` out to take the file's size");
        }
        if let (Some(declared), Some(held)) = (buffer.element, data.element)
            && declared != held
        {
            let message = format!("the file holds `{held}`, the buffer `{declared}`");
            self.error(span, message, "change `type`, or convert the file");
        }
    }

    /// A pointer may stand one past the end of its buffer, as in C, and no further.
    fn offsets(&mut self, loaded: &Loaded) {
        for arg in loaded.program.launches.iter().flat_map(|launch| &launch.args.value) {
            if let ArgValue::Buffer(index, offset) = arg.value
                && offset > loaded.size(index)
            {
                let message = format!("the offset is {offset}, the buffer has {} bytes", loaded.size(index));
                self.error(&arg.span, message, "stay inside the buffer");
            }
        }
    }

    fn comparisons(&mut self, loaded: &mut Loaded) {
        for after in loaded.program.after.clone() {
            let Action::Compare { file, .. } = &after.action.value else { continue };
            let span = &after.action.span;
            let Some(data) = self.data(loaded, file, span) else { continue };
            if after.element.or(data.element).is_none() {
                self.error(span, "the type of the elements is not known".into(), "add `type = \"f32\"`");
            }
            if let (Some(asked), Some(held)) = (after.element, data.element)
                && asked != held
            {
                let message = format!("the file holds `{held}`, the buffer is read as `{asked}`");
                self.error(span, message, "change `type`, or convert the file");
            }
            let size = loaded.size(after.buffer);
            if data.bytes != size && size != 0 {
                let message = format!("the file holds {} bytes, the buffer {size}", data.bytes);
                self.error(span, message, "compare files of the buffer's size");
            }
        }
    }

    fn data(&mut self, loaded: &mut Loaded, path: &str, span: &Range<usize>) -> Option<DataFile> {
        let resolved = loaded.resolve(path);
        let known = loaded.inputs.iter().any(|(input, _)| input == path);
        let opened = DataFile::open(&resolved).and_then(|data| {
            let hash = if known { None } else { Some(Fnv1a64::of_file(&resolved)?) };
            Ok((data, hash))
        });
        match opened {
            Ok((data, hash)) => {
                loaded.inputs.extend(hash.map(|hash| (path.to_owned(), hash)));
                Some(data)
            }
            Err(error) => {
                self.unreadable(span, path, &error);
                None
            }
        }
    }
}
