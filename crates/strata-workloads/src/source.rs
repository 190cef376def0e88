//! Lines of the CUDA programs that the workloads' PTX was made of, for those who show which of them are hot.

use crate::all;

/// Headers that kernels stand in, by name.
macro_rules! headers {
    ($($name:literal in $folder:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads", $folder, "/", $name)))),+]
    };
}

/// Those that more than one program uses, and those of the networks.
const HEADERS: [(&str, &str); 12] = headers![
    "navier_stokes.cuh" in "",
    "navier_stokes_rhs.cuh" in "",
    "convolution.cuh" in "/neural",
    "elementwise.cuh" in "/neural",
    "gemm.cuh" in "/neural",
    "inference.cuh" in "/neural",
    "loss.cuh" in "/neural",
    "normalisation.cuh" in "/neural",
    "pooling.cuh" in "/neural",
    "recurrent.cuh" in "/neural",
    "reduction.cuh" in "/neural",
    "update.cuh" in "/neural",
];

/// The line that a place such as `bfs.cu:31` names, without the space around it; none if it is of no built-in program.
pub fn source_line(place: &str) -> Option<&'static str> {
    let (file, number) = place.rsplit_once(':')?;
    let number: usize = number.parse().ok()?;
    let modules = all().iter().flat_map(|workload| workload.modules());
    let of_module = |path: &str| {
        path.rsplit('/').next().and_then(|name| name.strip_suffix(".ptx")).map(|name| format!("{name}.cu"))
    };
    let programs = modules.filter(|module| of_module(module.path).as_deref() == Some(file)).map(|module| module.source);
    let text = programs.chain(HEADERS.iter().filter(|(name, _)| *name == file).map(|(_, text)| *text)).next()?;
    text.lines().nth(number.checked_sub(1)?).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_of_programs_and_headers() {
        assert_eq!(
            source_line("saxpy.cu:1"),
            Some(crate::find("saxpy").expect("known").modules()[0].source.lines().next().expect("a line").trim())
        );
        assert!(source_line("gemm.cuh:1").is_some_and(|line| !line.is_empty()));
        for place in ["saxpy.cu:0", "saxpy.cu:99999", "saxpy.cu", "mine.cu:3", "saxpy.cu:x", ""] {
            assert_eq!(source_line(place), None, "{place}");
        }
    }
}
