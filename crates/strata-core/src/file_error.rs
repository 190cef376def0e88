//! Why a file cannot be read or written, in words that say what to do about it.

use crate::nearest::nearest;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Why one cannot `action` (`read`, `write`, `run`) what is at `path`, and what to do: the operating system knows the first alone.
pub fn why(action: &str, path: &Path, error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound if action == "write" => {
            format!("nothing can be made in `{}`: choose another path", existing(path).display())
        }
        ErrorKind::NotFound => not_found(path),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => match file_above(path) {
            Some(file) => format!("`{}` is a file, not a folder: choose another path", file.display()),
            None => error.to_string(),
        },
        ErrorKind::IsADirectory => "it is a folder: name a file in it".to_owned(),
        ErrorKind::PermissionDenied => {
            format!(
                "no permission: choose another path, or see with `ls -ld '{}'` whose it is",
                existing(path).display()
            )
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full: make room there, or choose a folder elsewhere".to_owned()
        }
        ErrorKind::ReadOnlyFilesystem => "what is mounted there can only be read: choose a folder elsewhere".to_owned(),
        _ => error.to_string(),
    }
}

/// Names the folder that is not there, or the file beside it that was meant.
fn not_found(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return format!("there is no folder `{}`", folder.display());
    }
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    // In the order of names: that of the folder differs from one file system to another.
    names.sort();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match nearest(&name, names.iter().map(String::as_str)) {
        Some(meant) => format!("there is no such file; did you mean `{}`?", path.with_file_name(meant).display()),
        None => format!(
            "there is no such file in {}",
            folder.map_or("this folder".into(), |f| format!("`{}`", f.display()))
        ),
    }
}

/// The part of a path that is a file, or a device, where a folder should be.
fn file_above(path: &Path) -> Option<&Path> {
    path.ancestors().find(|part| part.exists() && !part.is_dir())
}

/// The part of a path that is there.
fn existing(path: &Path) -> &Path {
    let part = path.ancestors().find(|part| part.exists()).unwrap_or(path);
    if part.as_os_str().is_empty() { Path::new(".") } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_cause_has_a_cure() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("prog.toml"), "").expect("a file");
        let told = |name: &str, kind: ErrorKind| {
            why("read", &folder.join(name), &Error::from(kind)).replace(&folder.display().to_string(), "F")
        };
        let rows = [
            ("porg.toml", ErrorKind::NotFound, "there is no such file; did you mean `F/prog.toml`?"),
            ("bfs.strata-trace", ErrorKind::NotFound, "there is no such file in `F`"),
            ("nowhere/prog.toml", ErrorKind::NotFound, "there is no folder `F/nowhere`"),
            ("prog.toml/a/b", ErrorKind::NotADirectory, "`F/prog.toml` is a file, not a folder: choose another path"),
            ("", ErrorKind::IsADirectory, "it is a folder: name a file in it"),
            (
                "a/b",
                ErrorKind::PermissionDenied,
                "no permission: choose another path, or see with `ls -ld 'F'` whose it is",
            ),
            ("a", ErrorKind::StorageFull, "the disk is full: make room there, or choose a folder elsewhere"),
            ("a", ErrorKind::ReadOnlyFilesystem, "what is mounted there can only be read: choose a folder elsewhere"),
        ];
        for (name, kind, expected) in rows {
            assert_eq!(told(name, kind), expected);
        }
        let unmade = why("write", &folder.join("a/b"), &Error::from(ErrorKind::NotFound));
        assert_eq!(unmade, format!("nothing can be made in `{}`: choose another path", folder.display()));
    }
}
