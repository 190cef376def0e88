//! A part of the model's fingerprint, made anew: what is committed is what this version gives.

use strata_lab::fingerprint::{Fingerprint, FingerprintRequest, fingerprint};
use strata_lab::mechanisms::{combination, registry};

#[track_caller]
fn check(programs: &[&str], gpus: &[&str], schemes: &[&str]) -> Fingerprint {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let request = FingerprintRequest {
        programs: owned(programs),
        gpus: owned(gpus),
        schemes: schemes.iter().map(|text| combination(text).expect("known")).collect(),
    };
    let made = fingerprint(&request, &mut |_| ()).expect("it runs");
    let cure = "a change of the machine raises `strata_sim::MODEL`, writes the rows anew with `strata fingerprint --write \
                crates/strata-studies/data/fingerprint.tsv`, and says in its commit which rows moved and why";
    assert!(made.moved.is_empty(), "{}\n{cure}", made.table());
    made
}

#[test]
fn plain_machines_give_what_is_committed() {
    let programs =
        ["addvectors", "atax", "backprop", "bfs", "hotspot", "nw", "reduction", "transpose", "gather", "chase"];
    assert_eq!(check(&programs, &[], &["none"]).rows.len(), 100);
}

#[test]
fn every_mechanism_and_pair_gives_what_is_committed() {
    let made = check(&["bfs"], &["cmd-gddr6", "ndp-maxwell"], &[]);
    for name in registry().names() {
        assert!(made.rows.keys().any(|key| key.scheme == name), "no row with {name}");
    }
}
