//! How well pages can be foreseen: Tables 1 to 8 and Figures 5 to 7 and 9.
//!
//! Traces of the nine programs are recorded, models are trained on them, and each is judged beside the paper's numbers and
//! beside tables that any engineer would try first. `suite` says what is trained, `trainings` does it and keeps it on disk.

mod figures;
mod suite;
mod trainings;

use super::super::runs::Runs;
use super::super::{Effort, Paper, PaperNumbers, Row, Standing, mean};
use crate::report::Figure;
use crate::reproduce::by_program::ALL;
use strata_run::LabError;
use strata_run::Step;
use suite::{Extent, PROGRAMS, Program, QUICK};
use trainings::{Learned, Trainings};

/// Trains everything and makes the figures.
pub(super) fn study(
    effort: Effort,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Vec<Figure>, Vec<Row>), LabError> {
    let is_part = |program: &Program| effort != Effort::Quick || QUICK.contains(&program.name);
    let programs: Vec<Program> = PROGRAMS.into_iter().filter(is_part).collect();
    of(&programs, Extent::of(effort), runs, begins)
}

fn of(
    programs: &[Program],
    extent: Extent,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Vec<Figure>, Vec<Row>), LabError> {
    let paper = PaperNumbers::of(Paper::Uvm);
    let learned = Trainings { runs, extent }.all(programs, begins)?;
    Ok((figures::all(&learned, &paper, extent.side.is_some()), rows(&learned, &paper)))
}

/// The paper's numbers beside ours.
fn rows(learned: &[Learned], paper: &PaperNumbers) -> Vec<Row> {
    let tables: [(&str, &str, &str, &str); 5] = [
        ("Table 1", "table1", "transformer", "float"),
        ("Table 3", "table3", "distance 30", "float"),
        ("Table 4", "table4", "linear", "float"),
        ("Table 5", "table5", "hashed", "float"),
        ("Table 8", "table8", "revised paper", "clamped"),
    ];
    let mut rows = Vec::new();
    for (item, table, job, precision) in tables {
        let (mut printed, mut found) = (Vec::new(), Vec::new());
        for l in learned {
            let paper_value = paper.get(&format!("{table}.{}.1", l.program.paper));
            let ours = l.get(job, None, precision, "/top1");
            // Both means are of the same programs.
            printed.push(paper_value.filter(|_| ours.is_some()));
            found.push(ours);
            if ours.is_some() {
                let (workload, ours, standing) = (l.program.name.to_owned(), ours.into(), Standing::Judged);
                let metric = "top-1".to_owned();
                rows.push(Row { paper: Paper::Uvm, item, workload, metric, paper_value, ours, standing });
            }
        }
        let ours = mean(found);
        if ours.value.is_some() {
            let (workload, metric, standing) = (ALL.to_owned(), "top-1, mean".to_owned(), Standing::Judged);
            let paper_value = mean(printed).value;
            rows.push(Row { paper: Paper::Uvm, item, workload, metric, paper_value, ours, standing });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use suite::Amount;

    /// The whole road, with so little training that only the numbers of the revised predictor mean something.
    #[test]
    fn predictors_are_trained_once_and_judged_beside_the_paper() {
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("a store");
        let programs: Vec<Program> = PROGRAMS.into_iter().filter(|program| program.name == "nw").collect();
        let amount = |sequences, epochs| Amount { sequences, transformer_epochs: 1, epochs };
        let main_only = Extent { main: amount(200, 3), side: None, is_full: false };
        let mut steps = 0;
        let (figures, rows) = of(&programs, main_only, &runs, &mut |_| steps += 1).expect("it learns");
        assert_eq!(steps, 5);
        let of_table =
            |item| rows.iter().find(|row| row.item == item && row.workload == "nw").and_then(|row| row.ours.value);
        assert!(of_table("Table 8").is_some_and(|top1| top1 > 0.5), "{rows:?}");
        // Again, from what is on disk; then everything else.
        let (again, _) = of(&programs, main_only, &runs, &mut |_| ()).expect("it is there");
        let shown = |figures: &[Figure]| figures.iter().map(Figure::text).collect::<String>();
        assert_eq!(shown(&figures), shown(&again), "latencies, too: nothing was trained twice");
        let all = Extent { main: amount(200, 3), side: Some(amount(20, 1)), is_full: false };
        let (figures, _) = of(&programs, all, &runs, &mut |_| ()).expect("it learns");
        for id in ["1", "2", "3", "8"].map(|n| format!("table-{n}")).into_iter().chain(
            ["tables-4-5", "tables-6-7", "figure-5", "figure-6", "figure-7", "figure-9", "ablations"]
                .map(str::to_owned),
        ) {
            let figure = figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id} is missing"));
            let is_filled = |row: &Vec<_>| row.iter().all(|cell| *cell != crate::report::Cell::None);
            assert!(figure.rows.iter().any(is_filled), "{id}: {}", figure.text());
        }
    }
}
