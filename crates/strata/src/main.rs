//! The command line of StrataSim.
fn main() {}
