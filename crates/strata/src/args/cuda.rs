//! `strata cuda`: CUDA programs.

use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

const CUDA_EXAMPLES: &str = "\
Examples:
  strata cuda build vecadd.cu            compile to ./vecadd
  strata cuda build main.cu kernels.cu -o prog -- -O2 -lineinfo -Iinclude
  strata run --gpu v100 -- ./prog        and run it

The compiler is NVIDIA's own `nvcc`, from $STRATA_CUDA_BIN or the path, or from Python packages (no GPU and no
CUDA installation is needed). docs/cuda.md says how to get it.";

/// Compile CUDA programs so that `strata run --` can run them
#[derive(Args)]
#[command(after_help = CUDA_EXAMPLES)]
pub(crate) struct Cuda {
    #[command(subcommand)]
    pub(crate) command: CudaCommand,
}

#[derive(Subcommand)]
pub(crate) enum CudaCommand {
    Build(CudaBuild),
}

/// Compile and link CUDA sources with PTX in them and the CUDA runtime as a shared library
#[derive(Args)]
pub(crate) struct CudaBuild {
    /// Sources
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The program to write [default: the first source without its extension]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Further arguments of nvcc
    #[arg(last = true, value_name = "NVCC ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}
