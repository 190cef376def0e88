//! Which sources the simulator was built from.
//!
//! Results are kept under a hash of everything they depend on, the simulator among that. A hash of the executable would do, but
//! would throw away every result with each rebuild; this one is of the sources of those crates that can change a result: a new
//! figure, a better message or another mechanism changes none. It is made by the build script and does not depend on where
//! the checkout lies.
//!
//! ```
//! let plain = strata_source::hash_of(&["strata-run"]).expect("a crate that is known");
//! assert_ne!(strata_source::hash_of(&["strata-run", "strata-workloads"]), Some(plain), "programs are apart");
//! assert_eq!(strata_source::hash_of(&["a-mechanism-from-outside"]), None);
//! ```

/// A crate that can change a result.
struct Crate {
    name: &'static str,
    /// Of its own sources.
    hash: u64,
    /// Those of our crates that it is built on.
    depends_on: &'static [&'static str],
}

/// In alphabetical order.
const CRATES: &[Crate] = &include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The built-in programs: many, often more, and none changes what another does with a program from elsewhere. They count only
/// where they are named.
const APART: &str = "strata-workloads";

fn find(name: &str) -> Option<&'static Crate> {
    CRATES.iter().find(|one| one.name == name)
}

/// The hash of the sources of these crates and of all that they are built on; the built-in programs only if they are named.
/// `None` if the sources of one are not known here.
pub fn hash_of(crates: &[&str]) -> Option<u64> {
    let mut wanted = crates.iter().map(|name| find(name)).collect::<Option<Vec<_>>>()?;
    let mut used: Vec<&Crate> = Vec::new();
    while let Some(one) = wanted.pop() {
        if !used.iter().any(|other| other.name == one.name) {
            used.push(one);
            wanted.extend(one.depends_on.iter().filter(|name| **name != APART).filter_map(|name| find(name)));
        }
    }
    used.sort_by_key(|one| one.name);
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in used.iter().flat_map(|one| one.name.bytes().chain(one.hash.to_le_bytes())) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_change_a_result_is_there_and_the_rest_is_not() {
        for name in
            ["strata-core", "strata-emu", "strata-sim", "strata-run", "strata-uvm", "strata-learn", "strata-buddy"]
        {
            assert!(find(name).is_some(), "{name}");
        }
        for name in ["strata", "strata-studies", "strata-lab", "strata-tensors", "strata-testkit", "strata-source"] {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_mechanism_counts_where_it_is_used() {
        let with = |name| hash_of(&["strata-run", name]);
        assert_ne!(with("strata-uvm"), hash_of(&["strata-run"]));
        assert_ne!(with("strata-uvm"), with("strata-buddy"));
        assert_eq!(with("strata-sim"), hash_of(&["strata-run"]), "what is there already adds nothing");
        assert_eq!(hash_of(&["strata-uvm", "strata-run"]), with("strata-uvm"), "in any order");
    }
}
