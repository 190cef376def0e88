//! A validation as a page: every row, and the cycles of kernels against silicon's.

use super::plot::{self, Point};
use super::{Row, Validation};
use crate::report::{Cell, Figure, Page};
use std::path::Path;
use strata_core::files;
use strata_run::LabError;

const PLOT: &str = "cycles.svg";

impl Validation {
    /// Writes a page into a folder: tables, their rows as CSV, and the plot.
    pub fn save_page(&self, folder: &Path) -> Result<(), LabError> {
        std::fs::create_dir_all(folder).map_err(|e| LabError::io("make", folder, e))?;
        let plot = self.plot();
        if let Some(picture) = &plot {
            let path = folder.join(PLOT);
            files::write_text(&path, picture).map_err(|e| LabError::io("write", &path, e))?;
        }
        self.page(plot.is_some()).save(&[], folder)
    }

    /// Cycles of kernels against silicon's, both axes logarithmic.
    fn plot(&self) -> Option<String> {
        let tables: Vec<_> = self.kernels.iter().chain(&self.programs).collect();
        let points = |(series, (_, rows)): (usize, &&(String, Vec<Row>))| {
            let cycles = rows.iter().filter(|row| row.is_cycles_of_kernel());
            let point = |row: &Row| {
                let name = format!("{} {}", row.table, row.name);
                row.ours.map(|ours| Point { name, series, silicon: row.silicon, ours })
            };
            cycles.filter_map(point).collect::<Vec<_>>()
        };
        let points: Vec<_> = tables.iter().enumerate().flat_map(points).collect();
        let names: Vec<_> = tables.iter().map(|(gpu, _)| gpu.as_str()).collect();
        plot::svg(&points, &names)
    }

    fn page(&self, plotted: bool) -> Page {
        let microbenchmarks = &self.silicon.microbenchmarks;
        let micro =
            self.microbenchmarks.iter().map(|(gpu, rows)| ("microbenchmarks", &microbenchmarks.card, gpu, rows));
        let kernels = self.kernels.iter().map(|(gpu, rows)| ("kernels", &self.silicon.kernels.card, gpu, rows));
        let programs = self.programs.iter().map(|(gpu, rows)| ("programs", &self.silicon.programs.card, gpu, rows));
        let mut figures: Vec<_> =
            micro.chain(kernels).chain(programs).map(|(id, card, gpu, rows)| figure(id, card, gpu, rows)).collect();
        if plotted && let Some(last) = figures.last_mut() {
            let text = "cycles of kernels against silicon's; dashed: a factor of two";
            last.pictures.push((PLOT.to_owned(), text.to_owned()));
        }
        let (judged, passed) = self.judged();
        let introduction = format!("{passed} of {judged} judged rows pass.");
        Page { title: "The machines beside silicon".into(), introduction, summary: None, figures }
    }
}

/// The rows of one card.
fn figure(id: &str, card: &str, gpu: &str, rows: &[Row]) -> Figure {
    let cells = |row: &Row| {
        vec![
            Cell::Text(row.table.clone()),
            Cell::Text(row.name.clone()),
            Cell::Text(format!("{}, {}", row.quantity, row.unit)),
            Cell::Number(row.silicon, 1),
            Cell::number(row.ours, 1),
            Cell::number(row.error().map(|error| 100.0 * error), 1),
            Cell::number(row.accel_sim, 0),
        ]
    };
    let headings = ["table", "row", "quantity", "silicon", "ours", "error, %", "Accel-Sim"];
    Figure {
        id: id.to_owned(),
        title: format!("{gpu} beside {card}"),
        note: "Every row, good or bad.".to_owned(),
        headings: headings.map(str::to_owned).to_vec(),
        rows: rows.iter().map(cells).collect(),
        chart: None,
        pictures: Vec::new(),
    }
}
