//! Ctrl-C: what is half made goes, and the shell is told by which signal.

use crate::caller::Caller;
use crate::output;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};

/// From now on a signal that ends us removes the folders of results below `out`, or in the store there, that this process has
/// begun. In a program that calls us, signals are its own affair.
pub(super) fn leave_nothing_in(out: &Path) {
    if Caller::here().is_some() {
        return;
    }
    // Without signals a killed run leaves a hidden folder, which the next run of the same kind removes.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let out = out.to_owned();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for folder in begun(&out) {
                let _ = std::fs::remove_dir_all(folder);
            }
            let kept = if is_store(&out) { "runs that ended are kept" } else { "nothing of this run was saved" };
            output::message(&format!("stopped: {kept}\n"));
            std::process::exit(128 + signal);
        }
    });
}

/// Folders that this process has begun: `.<name>.<process>-<number>.partial`.
fn begun(out: &Path) -> Vec<PathBuf> {
    let own = format!(".{}-", std::process::id());
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with('.') && name.ends_with(".partial") && name.contains(&own)
    };
    let below = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let groups = below(&points(out)).flat_map(|group| below(&group).collect::<Vec<_>>());
    below(out).chain(groups).filter(is_own).collect()
}

/// Where the points of a store are.
fn points(store: &Path) -> PathBuf {
    store.join("points")
}

fn is_store(folder: &Path) -> bool {
    points(folder).is_dir()
}
