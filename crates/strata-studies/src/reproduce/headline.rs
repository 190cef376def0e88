//! The first screen of a reproduction: what the paper claims, and what was found, in three sentences.

use super::{Paper, Row, Standing, Verdict};
use crate::report::{Chart, Kind, Series};

/// The paper's claim, in its own numbers.
const fn claim(paper: Paper) -> &'static str {
    match paper {
        // Abstract.
        Paper::Buddy => {
            "The paper: memory holds 1.9 times the data of HPC programs and 1.5 times that of deep-learning training, within 2 % \
             of the speed of a GPU without a memory limit."
        }
        // Abstract.
        Paper::Cmd => {
            "The paper: 31.01 % fewer off-chip accesses, 32.78 % less energy and 37.79 % more performance; 50.18 % more for \
             memory-intensive programs."
        }
        // Section 1.
        Paper::Uvm => {
            "The paper: 10.89 % more IPC than UVMSmart, a page hit rate of 89.02 % (76.10 % with UVMSmart) and 11.05 % less \
             traffic between CPU and GPU."
        }
        // Section 1, and section 6.2 for the traffic of the controlled system.
        Paper::Tom => {
            "The paper: 30 % more performance on average (up to 76 %), 13 % less memory traffic with controlled offloading (38 % \
             without control) and 11 % less energy, against a GPU with as many SMs."
        }
    }
}

/// The rows that answer the claim, number by number: programs and metric.
const fn answers(paper: Paper) -> &'static [(&'static str, &'static str)] {
    match paper {
        Paper::Buddy => &[
            ("HPC", "capacity ratio, final"),
            ("DL training", "capacity ratio, final"),
            ("HPC", "slowdown at 150 GB/s"),
            ("DL training", "slowdown at 150 GB/s"),
        ],
        Paper::Cmd => &[
            ("all", "requests removed, gross"),
            ("all", "energy saved, cmd"),
            ("all", "IPC gain, cmd"),
            ("memory-intensive", "IPC gain, cmd"),
        ],
        Paper::Uvm => &[
            ("all", "gain in IPC, geometric mean"),
            ("all", "page hit rate, learned, mean"),
            ("all", "page hit rate, mean"),
            ("all", "bytes over PCI Express saved, geometric mean"),
        ],
        Paper::Tom => &[
            ("all", "speed-up, ctrl, tmap"),
            ("all", "largest speed-up, ctrl, tmap"),
            ("all", "traffic saved, ctrl, tmap"),
            ("all", "traffic saved, no-ctrl, tmap"),
            ("all", "energy saved, ctrl, tmap"),
        ],
    }
}

/// Those of the rows that answer the claim, where both sides have a number.
fn answering(paper: Paper, rows: &[Row]) -> Vec<&Row> {
    let is = |row: &Row, wanted: &(&str, &str)| (row.workload.as_str(), row.metric.as_str()) == *wanted;
    let found = answers(paper).iter().filter_map(|wanted| rows.iter().find(|row| is(row, wanted)));
    found.filter(|row| row.paper_value.is_some() && row.ours.value.is_some()).collect()
}

/// The claim beside what was found, as the first picture of the page; none if the study was of something else.
pub(super) fn chart(paper: Paper, rows: &[Row]) -> Option<Chart> {
    let rows = answering(paper, rows);
    let series = |name: &str, value: fn(&Row) -> Option<f64>| Series {
        name: name.to_owned(),
        values: rows.iter().map(|row| value(row)).collect(),
    };
    (!rows.is_empty()).then(|| Chart {
        kind: Kind::Bars,
        axis: "as the paper prints it".to_owned(),
        categories: rows.iter().map(|row| format!("{}, {}", row.workload, row.metric)).collect(),
        series: vec![series("paper", |row| row.paper_value), series("ours", |row| row.ours.value)],
        baseline: None,
    })
}

/// The claim, the rows that answer it (or, where a study has none of those, its first means), and how far single programs are off.
pub(super) fn headline(paper: Paper, rows: &[Row]) -> Vec<String> {
    let judged = |row: &&Row| row.standing == Standing::Judged && row.paper_value.is_some() && row.ours.value.is_some();
    let mut found = answering(paper, rows);
    if found.is_empty() {
        found = rows.iter().filter(judged).filter(|row| row.ours.programs.is_some()).take(4).collect();
    }
    let shown = |row: &&Row| {
        let programs = row.ours.programs.map_or_else(String::new, |(n, of)| format!(", {n} of {of} programs"));
        let [theirs, ours] = [row.paper_value, row.ours.value].map(|value| format!("{:.3}", value.unwrap_or(0.0)));
        format!("{} ({}, {}): paper {theirs}, ours {ours}{programs}", row.metric, row.item, row.workload)
    };
    let mut out = vec![claim(paper).to_owned()];
    if !found.is_empty() {
        out.push(format!("Here: {}.", found.iter().map(shown).collect::<Vec<_>>().join("; ")));
    }
    let farthest = rows.iter().filter(judged).filter(|row| row.verdict() != Verdict::Close);
    let farthest = farthest.max_by(|a, b| {
        let off = |row: &Row| row.difference().map_or(0.0, f64::abs);
        off(a).total_cmp(&off(b))
    });
    out.extend(farthest.map(|row| format!("Farthest from the paper: {}.", shown(&row))));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(metric: &str, ours: f64, programs: Option<(usize, usize)>) -> Row {
        Row {
            paper: Paper::Cmd,
            item: "Figure 14",
            workload: "all".to_owned(),
            metric: metric.to_owned(),
            paper_value: Some(1.4),
            ours: super::super::Measured { value: Some(ours), programs },
            standing: Standing::Judged,
        }
    }

    /// Means that flatter may stand first in the table: the claim is answered by what it is about.
    #[test]
    fn the_claim_is_answered_by_its_own_numbers() {
        let rows = [row("writes per L2 access", 1.4, Some((13, 13))), row("IPC gain, cmd", 0.1, Some((13, 13)))];
        let told = headline(Paper::Cmd, &rows);
        assert_eq!(told[1], "Here: IPC gain, cmd (Figure 14, all): paper 1.400, ours 0.100, 13 of 13 programs.");
        let chart = chart(Paper::Cmd, &rows).expect("an answer");
        assert_eq!((chart.categories.len(), chart.series[1].values.clone()), (1, vec![Some(0.1)]));
        assert!(super::chart(Paper::Cmd, &rows[..1]).is_none());
    }

    #[test]
    fn the_claim_comes_first_and_means_say_of_how_many() {
        let told = headline(Paper::Cmd, &[row("speed-up", 1.3, Some((9, 13))), row("of one", 5.0, None)]);
        assert!(told[0].starts_with("The paper: "));
        assert_eq!(told[1], "Here: speed-up (Figure 14, all): paper 1.400, ours 1.300, 9 of 13 programs.");
        assert_eq!(told[2], "Farthest from the paper: of one (Figure 14, all): paper 1.400, ours 5.000.");
    }
}
