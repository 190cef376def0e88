//! Files that are there whole or not at all: written under another name, then renamed.

use std::fs::{self, File};
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Files begun so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A file that appears under its name when it is committed; dropped before that, it leaves nothing behind.
pub struct AtomicFile {
    writer: Option<BufWriter<File>>,
    temporary: PathBuf,
    target: PathBuf,
}

impl AtomicFile {
    /// Begins to write `target`, making the directories above it.
    pub fn create(target: &Path) -> Result<Self> {
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        // Two runs with the same request keep out of each other's way, in two processes or in one.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}-{number}.partial", std::process::id()));
        let temporary = target.with_file_name(name);
        let writer = Some(BufWriter::new(File::create(&temporary)?));
        Ok(Self { writer, temporary, target: target.to_owned() })
    }

    /// Puts the file in its place.
    pub fn commit(mut self) -> Result<()> {
        if let Some(mut writer) = self.writer.take() {
            let renamed = writer.flush().and_then(|()| fs::rename(&self.temporary, &self.target));
            if renamed.is_err() {
                self.writer = Some(writer);
            }
            return renamed;
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.writer.as_mut().map_or(Ok(0), |w| w.write(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // Nothing to be done about a temporary file that cannot be removed.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes `text` to `target`, whole or not at all.
pub fn write_text(target: &Path, text: &str) -> Result<()> {
    let mut file = AtomicFile::create(target)?;
    file.write_all(text.as_bytes())?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_file_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("below/x.bin");
        let mut file = AtomicFile::create(&target).expect("created");
        file.write_all(b"half").expect("written");
        drop(file);
        assert_eq!(fs::read_dir(target.parent().expect("a parent")).expect("there").count(), 0);
        write_text(&target, "whole").expect("written");
        assert_eq!(fs::read_to_string(&target).expect("there"), "whole");
        assert_eq!(fs::read_dir(target.parent().expect("a parent")).expect("there").count(), 1);
    }
}
