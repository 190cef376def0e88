//! Programs that predictors are judged on, and therefore never trained on.

use super::fit::workload;
use std::path::Path;
use strata_run::LabError;

const LIST: &str = include_str!("../../data/judged-programs.txt");

/// Their names, in the order of the list.
pub fn judged() -> impl Iterator<Item = &'static str> + Clone {
    LIST.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Refuses a trace of such a program; a trace is called after its program.
pub(super) fn may_train_on(trace: &Path) -> Result<(), LabError> {
    let program = workload(trace);
    if !judged().any(|name| name == program) {
        return Ok(());
    }
    Err(LabError::Request(format!(
        "`{}` is of `{program}`, one of the programs on which predictors are judged ({}): a predictor that has seen it could \
         not be judged any more; train on others, such as `atax` or `nw`",
        trace.display(),
        judged().collect::<Vec<_>>().join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_judged_is_not_trained_on() {
        let refused = |path: &str| may_train_on(Path::new(path)).map_err(|error| error.to_string());
        assert!(refused("traces/bfs.parquet").expect_err("it is judged").contains("fdtd2d, ra, bfs"));
        assert_eq!(refused("traces/atax.parquet"), Ok(()));
        let all: Vec<_> = judged().collect();
        assert_eq!(all.len(), 7);
        assert!(all.iter().all(|name| strata_workloads::find(name).is_ok()), "{all:?}");
    }
}
