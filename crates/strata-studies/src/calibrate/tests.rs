//! A preset that is changed in five parameters is the card: what it measures tells them again.

use super::*;
use crate::silicon::Silicon;

/// Five parameters of the card that the preset has otherwise.
const CARD: [(&str, f64); 5] = [
    ("l1.latency", 41.0),
    ("shared.latency", 22.0),
    ("l2.latency", 150.0),
    ("l2.atomic_cycles", 60.0),
    ("isa.rows.special.latency", 30.0),
];

/// What a machine measures, as a card would tell it.
fn measured(set: &[String], names: &[&str]) -> Microbenchmarks {
    let table = Silicon::built_in().microbenchmarks;
    let rows = names.iter().map(|name| MicroRow { micro: (*name).into(), silicon: 1.0, judged: true, note: None });
    let asked = Microbenchmarks { rows: rows.collect(), ..table };
    let gpu = gpus::gpu("titan-v", set).expect("a sound machine").config;
    let mut failures = Vec::new();
    let found = measure_microbenchmarks(gpu, &asked, &mut failures);
    assert_eq!(failures, Vec::<String>::new());
    let value = |row: &Row| row.ours.expect("a value");
    let rows = asked.rows.iter().zip(&found).map(|(row, found)| MicroRow { silicon: value(found), ..row.clone() });
    Microbenchmarks { rows: rows.collect(), ..asked }
}

#[test]
fn five_changed_parameters_are_found_again() {
    let changes: Vec<_> = CARD.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let rows: Vec<_> =
        CARD.iter().filter_map(|(key, _)| PARAMETERS.iter().find(|p| p.name == *key).map(|p| p.row)).collect();
    assert_eq!(rows.len(), CARD.len());
    let silicon = measured(&changes, &rows);
    let request = CalibrateRequest { silicon, gpu: "titan-v".into(), set: Vec::new(), only: Vec::new() };
    let found = calibrate(&request, &mut |_| {}).expect("it can be fitted");
    assert_eq!(found.parameters.len(), CARD.len());
    for (key, value) in CARD {
        let fitted = found.parameters.iter().find(|f| f.parameter.name == key).expect("it was fitted");
        assert!((fitted.after - value).abs() <= 0.03 * value, "{key}: {} instead of {value}", fitted.after);
        assert!(fitted.before != fitted.after && !fitted.at_bound);
    }
    let table: toml::Table = found.preset.parse().expect("a GPU file");
    assert_eq!(table["base"].as_str(), Some("titan-v"));
    assert_eq!(table["l1"]["latency"].as_integer(), Some(41));
    assert!(table["sources"]["l1.latency"].as_str().is_some_and(|source| source.starts_with("l1-latency: cycles")));
}

#[test]
fn steps_follow_the_line_through_the_last_two() {
    // A latency: 10 more than its parameter.
    assert_eq!(step(&[(30.0, 40.0)], 55.0), 45.0);
    // A rate: 100 divided by its parameter.
    let second = step(&[(2.0, 50.0)], 25.0);
    assert_eq!(second, 1.0, "by proportion it goes the wrong way, and not far");
    let third = step(&[(2.0, 50.0), (1.0, 100.0)], 25.0);
    assert_eq!(third, 2.5, "then by the line");
}

#[test]
fn a_value_stays_within_its_bounds() {
    let of = |name: &str, value: f64| PARAMETERS.iter().find(|p| p.name == name).map(|p| p.rounded(value));
    assert_eq!(of("l1.latency", 5.0), Some(10.0));
    assert_eq!(of("l1.latency", 33.4), Some(33.0));
    assert_eq!(of("l1.instruction_cycles", 1.638), Some(1.64));
}

#[test]
fn a_parameter_that_nobody_knows_is_refused() {
    let silicon = Microbenchmarks { rows: Vec::new(), ..Silicon::built_in().microbenchmarks };
    let only = vec!["l1.colour".to_owned()];
    let request = CalibrateRequest { silicon, gpu: "titan-v".into(), set: Vec::new(), only };
    let error = calibrate(&request, &mut |_| {}).expect_err("no such parameter").to_string();
    assert!(error.contains("`l1.colour`") && error.contains("l1.latency"), "{error}");
}
