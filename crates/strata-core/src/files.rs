//! Files and folders that are there whole or not at all: written under another name, then renamed.

use rustix::fs::{FlockOperation, flock};
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

/// How the name of a folder ends that is not whole.
const PARTIAL: &str = ".partial";

/// A folder that appears under its name when it is committed; dropped before that, it leaves nothing behind. Where its process
/// is killed it stays under another, hidden name, until the same folder is begun again.
pub struct AtomicFolder {
    temporary: PathBuf,
    target: PathBuf,
    /// Locked as long as this process lives: others can tell what a dead one left.
    _lock: File,
}

impl AtomicFolder {
    /// Begins to make `target`, making the directories above it.
    pub fn create(target: &Path) -> Result<Self> {
        let parent = target.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(parent)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        remove_abandoned(parent, &name);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = parent.join(format!(".{name}.{}-{number}{PARTIAL}", std::process::id()));
        // Left by a process of the same number.
        let _ = fs::remove_dir_all(&temporary);
        fs::create_dir(&temporary)?;
        let lock = File::open(&temporary)?;
        // A file system without locks keeps what killed processes leave; nothing else changes.
        let _ = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        Ok(Self { temporary, target: target.to_owned(), _lock: lock })
    }

    /// Where it is while it is made.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Puts the folder in its place. If there is one already, files of the same names are replaced one by one, `last` after
    /// all others, and the rest stays: it may be somebody's.
    pub fn commit(self, last: &str) -> Result<()> {
        match fs::rename(&self.temporary, &self.target) {
            Err(_) if self.target.is_dir() => merge(&self.temporary, &self.target, Some(last)),
            done => done,
        }
    }
}

impl Drop for AtomicFolder {
    fn drop(&mut self) {
        // Nothing is there once it was committed, and nothing can be done about what cannot be removed.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Moves the files of a folder to another.
fn merge(from: &Path, to: &Path, last: Option<&str>) -> Result<()> {
    let mut names = fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>>>()?;
    names.sort_by_key(|name| last.is_some_and(|last| name == last));
    for name in names {
        let (source, target) = (from.join(&name), to.join(&name));
        if source.is_dir() && target.is_dir() {
            merge(&source, &target, None)?;
        } else {
            fs::rename(source, target)?;
        }
    }
    Ok(())
}

/// Removes what killed processes left of the folder `name`.
fn remove_abandoned(parent: &Path, name: &str) {
    let begins = format!(".{name}.");
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let other = entry.file_name();
        let is_partial = other.to_str().is_some_and(|other| other.starts_with(&begins) && other.ends_with(PARTIAL));
        // One that nobody holds, and that was not made just now: its lock comes after it.
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|made| made.elapsed().ok());
        if is_partial
            && age.is_some_and(|age| age.as_secs() > 1)
            && let Ok(folder) = File::open(entry.path())
            && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
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

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("there");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_appears_whole_and_replaces_only_what_it_has() {
        let below = tempfile::tempdir().expect("a folder");
        let target = below.path().join("a/result");
        let begun = AtomicFolder::create(&target).expect("made");
        fs::write(begun.path().join("x"), "half").expect("written");
        assert!(!target.exists());
        drop(begun);
        assert_eq!(names(&below.path().join("a")), [""; 0]);
        for round in ["one", "two"] {
            let begun = AtomicFolder::create(&target).expect("made");
            fs::create_dir(begun.path().join("sub")).expect("made");
            fs::write(begun.path().join("sub/x"), round).expect("written");
            begun.commit("x").expect("committed");
            fs::write(target.join("sub/notes"), "mine").expect("written");
            assert_eq!(fs::read_to_string(target.join("sub/x")).expect("there"), round);
        }
        assert_eq!(names(&target.join("sub")), ["notes", "x"]);
        assert_eq!(names(&below.path().join("a")), ["result"]);
    }

    #[test]
    fn what_a_killed_process_left_goes_and_what_a_living_one_makes_stays() {
        let below = tempfile::tempdir().expect("a folder");
        let target = below.path().join("result");
        let living = AtomicFolder::create(&target).expect("made");
        let dead = below.path().join(".result.1-0.partial");
        fs::create_dir(&dead).expect("made");
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        for folder in [&dead, living.path()] {
            File::open(folder).expect("there").set_modified(old).expect("set");
        }
        let another = AtomicFolder::create(&target).expect("made");
        assert!(!dead.exists() && living.path().exists() && another.path().exists());
    }

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
