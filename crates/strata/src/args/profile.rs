//! `strata profile`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use strata_lab::LabError;
use strata_lab::compress::Rule;

const PROFILE_EXAMPLES: &str = "\
Examples:
  strata profile ep --size small -o ep-targets.toml
  strata run ep --size medium --gpu p100-buddy --with buddy --set buddy.targets=ep-targets.toml
  strata profile ep --gpu p100-buddy
  strata profile prog.toml --threshold 0.1 --design per-allocation
  strata profile ep --snapshots ep && strata compress ep/*.safetensors";

/// Take snapshots of a program's memory and choose Buddy Compression's target for each allocation
#[derive(Args)]
#[command(after_help = PROFILE_EXAMPLES)]
pub(crate) struct Profile {
    /// Workload or launch file
    pub(crate) what: String,
    /// tiny, small, medium, paper, or an instance's label [default: small]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Seed of the inputs [default: 1, or the launch file's]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Time the program on this machine, too, and let the threshold limit the share of fills and write-backs over the link
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) gpu: Option<String>,
    /// Change a value of that machine
    #[arg(long, value_name = "KEY=VALUE", requires = "gpu")]
    pub(crate) set: Vec<String>,
    /// How finely to annotate
    #[arg(long, value_enum, default_value_t = Design::ZeroPage)]
    pub(crate) design: Design,
    /// Buddy Threshold: the largest share of an allocation's entries, or with --gpu accesses, that may be over its target
    #[arg(long, value_name = "SHARE", default_value_t = 0.3)]
    pub(crate) threshold: f64,
    /// Least share of entries within 8 bytes, in every snapshot, for a target of 16x
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub(crate) mostly_zero: f64,
    /// Say what targets come to, too, if the allocations are tensors that a framework's caching allocator keeps in segments
    #[arg(long)]
    pub(crate) cached: bool,
    /// Save the snapshots in this directory, for `strata compress`
    #[arg(long, value_name = "DIR")]
    pub(crate) snapshots: Option<PathBuf>,
    /// Write the targets to this annotation file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The designs that the paper compares
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Design {
    /// One target for the whole program
    Naive,
    /// A target for each allocation, up to 4x
    PerAllocation,
    /// And 16x for allocations that stay mostly zero
    ZeroPage,
}

impl From<Design> for strata_lab::profile::Design {
    fn from(design: Design) -> Self {
        match design {
            Design::Naive => Self::Naive,
            Design::PerAllocation => Self::PerAllocation,
            Design::ZeroPage => Self::ZeroPage,
        }
    }
}

impl Profile {
    /// The rule that the shares make.
    pub(crate) fn rule(&self) -> Result<Rule, LabError> {
        for (share, option) in [(self.threshold, "--threshold"), (self.mostly_zero, "--mostly-zero")] {
            if !(0.0..=1.0).contains(&share) {
                return Err(LabError::Request(format!("`{option}` is a share: 0 to 1, not {share}")));
            }
        }
        Ok(Rule { threshold: self.threshold, mostly_zero: self.mostly_zero, ..Rule::default() })
    }
}
