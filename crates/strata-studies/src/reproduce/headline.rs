//! The first screen of a reproduction: what the paper claims, and what was found, in three sentences.

use super::{Paper, Row, Standing, Verdict};

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

/// The claim, the means that answer it, and how far single programs are off.
pub(super) fn headline(paper: Paper, rows: &[Row]) -> Vec<String> {
    let judged = |row: &&Row| row.standing == Standing::Judged && row.paper_value.is_some() && row.ours.value.is_some();
    let means: Vec<&Row> = rows.iter().filter(judged).filter(|row| row.ours.programs.is_some()).collect();
    let shown = |row: &&Row| {
        let programs = row.ours.programs.map_or_else(String::new, |(n, of)| format!(", {n} of {of} programs"));
        let [theirs, ours] = [row.paper_value, row.ours.value].map(|value| format!("{:.3}", value.unwrap_or(0.0)));
        format!("{} ({}, {}): paper {theirs}, ours {ours}{programs}", row.metric, row.item, row.workload)
    };
    let mut out = vec![claim(paper).to_owned()];
    if !means.is_empty() {
        out.push(format!("Here: {}.", means.iter().take(4).map(shown).collect::<Vec<_>>().join("; ")));
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

    #[test]
    fn the_claim_comes_first_and_means_say_of_how_many() {
        let row = |metric: &str, ours: f64, programs| Row {
            paper: Paper::Cmd,
            item: "Figure 14",
            workload: "all".to_owned(),
            metric: metric.to_owned(),
            paper_value: Some(1.4),
            ours: super::super::Measured { value: Some(ours), programs },
            standing: Standing::Judged,
        };
        let told = headline(Paper::Cmd, &[row("speed-up", 1.3, Some((9, 13))), row("of one", 5.0, None)]);
        assert!(told[0].starts_with("The paper: "));
        assert_eq!(told[1], "Here: speed-up (Figure 14, all): paper 1.400, ours 1.300, 9 of 13 programs.");
        assert_eq!(told[2], "Farthest from the paper: of one (Figure 14, all): paper 1.400, ours 5.000.");
    }
}
