//! What a comparison comes to: a sentence for each machine, where it helps and where not.

use super::{CompareRow, Compared, Comparison, Family};
use strata_core::text::grouped;

/// Changes below this share are not worth a word.
const WORTH_SAYING: f64 = 0.01;

/// A sentence for each machine that was compared, in the order of the tables.
pub fn sentences(comparison: &Comparison) -> Vec<String> {
    let of_group = |group: &Compared| group.group.schemes.iter().map(|m| sentence(group, &m.label)).collect::<Vec<_>>();
    comparison.groups.iter().flat_map(of_group).collect()
}

fn sentence(group: &Compared, label: &str) -> String {
    let rows: Vec<&CompareRow> = group.telling(label).filter(|row| row.speedup.is_some()).collect();
    let (mean, n, of) = group.mean(label, |row| row.speedup);
    let baseline = &group.group.baseline.label;
    let Some(mean) = mean else {
        let why = if group.rows.iter().any(|row| row.machine.label == label && row.run.is_err()) {
            "no program ran on it"
        } else {
            "no program presses on the memory of this machine"
        };
        return format!("{label}: nothing can be said, {why}.");
    };
    let over = if n == 1 { "one program".to_owned() } else { format!("{n} of {of} programs (geometric mean)") };
    let speed = match mean - 1.0 {
        change if change >= WORTH_SAYING => format!("{mean:.2} times as fast as {baseline} over {over}"),
        change if change <= -WORTH_SAYING => {
            format!("{:.0} % slower than {baseline} over {over}", 100.0 * (1.0 / mean - 1.0))
        }
        _ => format!("as fast as {baseline} over {over}"),
    };
    let parts = [Some(speed), purpose(group, label, &rows), extremes(&rows)];
    format!("{label}: {}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Where it helps most and where least.
fn extremes(rows: &[&CompareRow]) -> Option<String> {
    let speed = |row: &&&CompareRow| row.speedup.unwrap_or(1.0);
    let best = rows.iter().max_by(|a, b| speed(a).total_cmp(&speed(b)))?;
    let worst = rows.iter().min_by(|a, b| speed(a).total_cmp(&speed(b)))?;
    if rows.len() < 2 {
        return None;
    }
    let (high, low) = (speed(&best), speed(&worst));
    let names = |is: &dyn Fn(f64) -> bool| {
        let all: Vec<_> = rows.iter().filter(|row| is(speed(row))).map(|row| row.workload.as_str()).collect();
        all.join(", ")
    };
    Some(match (high >= 1.0 + WORTH_SAYING, low <= 1.0 - WORTH_SAYING) {
        (true, true) => format!("it helps {} ({high:.2}) and hurts {} ({low:.2})", best.workload, worst.workload),
        (true, false) if low < 1.0 + WORTH_SAYING => {
            let without = names(&|x| x < 1.0 + WORTH_SAYING);
            format!("most on {} ({high:.2}), nothing on {without}", best.workload)
        }
        (true, false) => format!("most on {} ({high:.2}), least on {} ({low:.2})", best.workload, worst.workload),
        (false, true) => format!("it helps nowhere and costs most on {} ({low:.2})", worst.workload),
        (false, false) => "it changes the time of none of them".to_owned(),
    })
}

/// What it exists for.
fn purpose(group: &Compared, label: &str, rows: &[&CompareRow]) -> Option<String> {
    let quantity = |row: &CompareRow, name: &str| {
        let run = row.run.as_ref().ok()?;
        run.quantities.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    };
    let total = |name: &str| rows.iter().filter_map(|row| quantity(row, name)).sum::<f64>();
    let traffic = || {
        let mean = group.mean(label, |row| row.traffic).0?;
        Some(match mean - 1.0 {
            change if change <= -WORTH_SAYING => format!("{:.0} % fewer bytes off chip", -100.0 * change),
            change if change >= WORTH_SAYING => format!("{:.0} % more bytes off chip", 100.0 * change),
            _ => "as many bytes off chip".to_owned(),
        })
    };
    match group.group.family {
        Family::Compression => {
            let capacity = group.mean(label, |row| row.run.as_ref().ok().map(|run| run.capacity)).0?;
            let bytes = traffic()?;
            Some(if capacity > 1.0 + WORTH_SAYING {
                format!("{capacity:.2} times the data in the same memory, {bytes}")
            } else {
                bytes
            })
        }
        Family::Deduplication if total("requests_before") > 0.0 => {
            let change = total("requests_after") / total("requests_before") - 1.0;
            let way = if change < 0.0 { "fewer" } else { "more" };
            let equal = equal_cost(group, label).unwrap_or_default();
            Some(format!("{:.0} % {way} requests to DRAM, metadata included{equal}", 100.0 * change.abs()))
        }
        Family::UnifiedMemory => {
            // Of the programs that ran on this machine.
            let ran = |baseline: &&CompareRow| rows.iter().any(|row| row.program() == baseline.program());
            let baseline = group.rows.iter().filter(|row| row.is_baseline).filter(ran);
            let before: f64 = baseline.filter_map(|row| quantity(row, "far_faults")).sum();
            let shown = |faults: f64| grouped(faults as u64);
            (before > 0.0).then(|| format!("{} faults instead of {}", shown(total("far_faults")), shown(before)))
        }
        Family::NearData => {
            let share = total("offloaded") / total("instances").max(1.0);
            Some(format!("{:.0} % of the blocks worth it run in the stacks, {}", 100.0 * share, traffic()?))
        }
        Family::Caches | Family::Deduplication | Family::Other => traffic(),
    }
}

/// What the area of deduplication gives as L2.
fn equal_cost(group: &Compared, label: &str) -> Option<String> {
    let equal = group.group.schemes.iter().find(|machine| machine.with.is_plain() && machine.label != label)?;
    let mean = group.mean(&equal.label, |row| row.speedup).0?;
    Some(format!(" (the same area as L2 gives {mean:.2})"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;
    use super::*;

    #[test]
    fn a_sentence_says_where_a_mechanism_helps_and_where_not() {
        let told = sentences(&comparison(&[("a", 1.5), ("b", 1.0)]));
        assert_eq!(
            told[0],
            "bpc: 1.22 times as fast as plain over 2 of 2 programs (geometric mean); 50 % fewer bytes off chip; most on a (1.50), \
             nothing on b."
        );
        let hurts = sentences(&comparison(&[("a", 1.5), ("b", 0.5)]));
        assert!(hurts[0].contains("it helps a (1.50) and hurts b (0.50)"), "{}", hurts[0]);
    }

    #[test]
    fn what_presses_on_nothing_says_nothing() {
        let mut all = comparison(&[("a", 1.0)]);
        for row in &mut all.groups[0].rows {
            row.no_pressure = Some("it fits".to_owned());
        }
        assert_eq!(sentences(&all)[0], "bpc: nothing can be said, no program presses on the memory of this machine.");
    }
}
