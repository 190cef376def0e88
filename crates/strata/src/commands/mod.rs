//! One file per command.

pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod compress;
pub(crate) mod cuda;
mod files;
pub(crate) mod fingerprint;
pub(crate) mod gpus;
mod interrupt;
pub(crate) mod mechanisms;
pub(crate) mod offload;
pub(crate) mod prefetch;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod validate;
pub(crate) mod view;
pub(crate) mod workloads;
