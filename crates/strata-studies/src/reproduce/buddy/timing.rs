//! The programs on the paper's machine: plain, with compression for bandwidth, and with Buddy Compression over links of
//! several speeds.

use super::memory::Memory;
use super::suite::Inputs;
use crate::mechanisms::combination;
use crate::reproduce::runs::Runs;
use crate::reproduce::scale_model::ScaleModel;
use strata_buddy::SHADOW_KIB;
use strata_core::Bytes;
use strata_run::LabError;
use strata_run::RunRequest;
use strata_run::Step;
use strata_run::parallel;

/// The machine of Table I.
pub(super) const GPU: &str = "p100-buddy";
/// Its metadata caches, together.
const METADATA_KIB: u32 = 64;
/// The machine, and a working set of eight times what the metadata caches reach: 128 entries of 128 bytes per 64 bytes.
const MODEL: ScaleModel = ScaleModel {
    sms: 56,
    slices: 32,
    channels: 32,
    least_working_set: Bytes(8 * (METADATA_KIB as u64 * 1024) * 2 * 128),
    most: 16,
};
/// The link of the plain machine, GB/s.
pub(super) const PLAIN_LINK: u32 = 150;

/// A machine that a program runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scheme {
    /// No compression, no memory limit.
    Plain,
    /// Compression for bandwidth, its metadata free.
    Bandwidth,
    /// Buddy Compression over a link of so many GB/s.
    Buddy(u32),
    /// Buddy Compression with metadata caches of half the size, at 150 GB/s.
    HalfMetadata,
    /// Buddy Compression at 150 GB/s with targets whose threshold is on accesses.
    ByAccesses,
}

/// What is kept of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    pub(super) cycles: f64,
    pub(super) copy_cycles: f64,
    pub(super) bus_use: f64,
    /// Rows opened, and bytes moved.
    pub(super) activates: f64,
    pub(super) dram_bytes: f64,
    pub(super) energy: f64,
    pub(super) warp_instructions: f64,
    /// Fills and write-backs of compressed memory (of all memory with compression for bandwidth), and those of them that used the
    /// link.
    pub(super) accesses: f64,
    pub(super) over_link: f64,
    pub(super) overflows: f64,
    pub(super) merges: f64,
    pub(super) link_use: f64,
    pub(super) metadata_hit_rate: Option<f64>,
    pub(super) shadows: [Option<f64>; SHADOW_KIB.len()],
    pub(super) passed: bool,
}

/// What came of each machine, or why nothing did.
type Points = Vec<(Scheme, Result<Point, String>)>;

/// One program on all machines.
pub(super) struct Timing {
    /// The machine is smaller by this factor, because the program is.
    pub(super) scale: u32,
    /// It still is less than eight times what caches reach: no part of means.
    pub(super) resident: bool,
    pub(super) points: Points,
    /// On a scale model beside the whole machine: its factor, and some of the schemes.
    pub(super) model: Option<(u32, Points)>,
}

/// What scale models are compared with the whole machine on.
const ON_MODELS: [Scheme; 3] = [Scheme::Plain, Scheme::Bandwidth, Scheme::Buddy(PLAIN_LINK)];

impl Timing {
    pub(super) fn point(&self, scheme: Scheme) -> Option<Point> {
        self.points.iter().find(|(s, _)| *s == scheme).and_then(|(_, point)| point.as_ref().ok().copied())
    }

    /// How much longer launches take than on the plain machine: 1 is as long.
    pub(super) fn time_ratio(&self, scheme: Scheme) -> Option<f64> {
        Some(self.point(scheme)?.cycles / self.point(Scheme::Plain)?.cycles)
    }

    /// The same on the scale model.
    pub(super) fn model_time_ratio(&self, scheme: Scheme) -> Option<f64> {
        let (_, points) = self.model.as_ref()?;
        let cycles = |wanted| points.iter().find(|(s, _)| *s == wanted)?.1.as_ref().ok().map(|point| point.cycles);
        Some(cycles(scheme)? / cycles(Scheme::Plain)?)
    }

    /// Fills and write-backs over the link, of those of all memory: the denominator is what compression for bandwidth sees, which
    /// compresses all of it.
    pub(super) fn over_link(&self, scheme: Scheme) -> Option<f64> {
        Some(self.point(scheme)?.over_link / self.point(Scheme::Bandwidth)?.accesses.max(1.0))
    }
}

/// Times all programs, each of which was observed before.
pub(super) fn study(
    memories: &[Memory],
    inputs: Inputs<'_>,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Timing>, LabError> {
    let schemes: Vec<Scheme> = [Scheme::Plain, Scheme::Bandwidth]
        .into_iter()
        .chain(inputs.links.iter().copied().map(Scheme::Buddy))
        .chain([Scheme::HalfMetadata, Scheme::ByAccesses])
        .collect();
    let on_machine = |memory: &Memory| inputs.scale(memory.timed_bytes);
    let on_model = |memory: &Memory| Some(MODEL.scale(memory.timed_bytes)).filter(|&scale| inputs.whole && scale > 1);
    let jobs: Vec<(&Memory, u32, Scheme)> = memories
        .iter()
        .flat_map(|memory| {
            let all = schemes.iter().map(move |scheme| (memory, on_machine(memory), *scheme));
            let models =
                on_model(memory).into_iter().flat_map(move |scale| ON_MODELS.map(|scheme| (memory, scale, scheme)));
            all.chain(models)
        })
        // Where no allocation is compressed, Buddy Compression is the plain machine.
        .filter(|(memory, _, scheme)| differs(memory, *scheme))
        .collect();
    let name = |(memory, scale, scheme): &(&Memory, u32, Scheme)| match scale {
        1 => format!("{} on {}", memory.program.name, scheme.name()),
        _ => format!("{} on {}, 1/{scale} of the machine", memory.program.name, scheme.name()),
    };
    let work = |&(memory, scale, scheme): &(&Memory, u32, Scheme)| time(memory, scale, scheme, inputs, runs);
    let points = parallel::map(&jobs, parallel::threads(), name, begins, work);
    let mut points = points.into_iter();
    let mut timed = |memory: &Memory, schemes: &[Scheme]| {
        let mut own: Points = Vec::new();
        for scheme in schemes.iter().copied() {
            let point = match own.first() {
                Some((_, plain)) if !differs(memory, scheme) => plain.clone(),
                _ => points.next().transpose()?.unwrap_or_else(|| Err("it did not run".to_owned())),
            };
            own.push((scheme, point));
        }
        Ok::<_, LabError>(own)
    };
    memories
        .iter()
        .map(|memory| {
            let scale = on_machine(memory);
            let points = timed(memory, &schemes)?;
            let model =
                on_model(memory).map(|scale| Ok::<_, LabError>((scale, timed(memory, &ON_MODELS)?))).transpose()?;
            Ok(Timing { scale, resident: MODEL.is_resident(memory.timed_bytes, scale), points, model })
        })
        .collect()
}

/// True if a scheme is another machine than the plain one for this program.
fn differs(memory: &Memory, scheme: Scheme) -> bool {
    match scheme {
        Scheme::Plain | Scheme::Bandwidth => true,
        Scheme::Buddy(_) | Scheme::HalfMetadata => memory.is_compressed(),
        Scheme::ByAccesses => memory.by_accesses.is_compressed,
    }
}

impl Inputs<'_> {
    /// By what factor the machine is smaller for a program of so many bytes.
    pub(super) fn scale(&self, bytes: Bytes) -> u32 {
        if self.whole { 1 } else { MODEL.scale(bytes) }
    }
}

impl Scheme {
    fn name(self) -> String {
        match self {
            Self::Plain => "the plain machine".into(),
            Self::Bandwidth => "bpc".into(),
            Self::Buddy(link) => format!("buddy at {link} GB/s"),
            Self::HalfMetadata => "buddy with half the metadata cache".into(),
            Self::ByAccesses => "buddy with targets by accesses".into(),
        }
    }

    fn link(self) -> u32 {
        if let Self::Buddy(link) = self { link } else { PLAIN_LINK }
    }
}

/// The machine, smaller by a factor, as far as it is none of a scheme's settings.
pub(super) fn machine(scale: u32, link: u32) -> Vec<String> {
    let mut set = MODEL.set(scale);
    set.push(format!("host_link.bandwidth={} GB/s", f64::from(link) / f64::from(scale)));
    set
}

fn time(
    memory: &Memory,
    scale: u32,
    scheme: Scheme,
    inputs: Inputs<'_>,
    runs: &Runs,
) -> Result<Result<Point, String>, LabError> {
    let mut set = machine(scale, scheme.link());
    let with = match scheme {
        Scheme::Plain => "none",
        Scheme::Bandwidth => "bpc",
        Scheme::Buddy(_) | Scheme::HalfMetadata | Scheme::ByAccesses => {
            let half = u32::from(scheme == Scheme::HalfMetadata);
            let by_accesses = scheme == Scheme::ByAccesses;
            let targets = if by_accesses { &memory.by_accesses.annotations } else { &memory.annotations };
            set.push(format!("buddy.targets={}", targets.display()));
            set.push(format!("buddy.metadata_cache={} KiB", (METADATA_KIB >> half) / scale));
            set.push("buddy.shadow_caches=on".to_owned());
            "buddy"
        }
    };
    let request = RunRequest {
        size: Some(inputs.timed(memory.program).to_owned()),
        seed: Some(inputs.seed),
        gpu: Some(GPU.to_owned()),
        with: combination(with)?,
        set,
        ..RunRequest::new(memory.program.what())
    };
    let result = runs.measure(request)?;
    if let Some(error) = result.error() {
        return Ok(Err(error.to_owned()));
    }
    let shadow = |kib: u64| {
        let accesses = result.number("gpu.shadow.accesses").filter(|n| *n > 0.0)?;
        // What a cache of this size would hit in the whole machine.
        let scaled = kib / u64::from(scale);
        let scaled = SHADOW_KIB.contains(&scaled).then(|| format!("gpu.shadow.hits_{scaled}k"))?;
        Some(result.count(&scaled) / accesses)
    };
    Ok(Ok(Point {
        cycles: result.total("cycles"),
        copy_cycles: result.total("copy_cycles"),
        bus_use: result.count("gpu.dram.bus_use"),
        activates: result.count("gpu.dram.activates"),
        dram_bytes: 32.0 * result.sum(&["gpu.dram.asked_reads", "gpu.dram.asked_writes"]),
        energy: result.count("gpu.energy.total"),
        warp_instructions: result.total("warp_instructions"),
        accesses: result.sum(&["gpu.buddy.fills", "gpu.buddy.write_backs", "gpu.bpc.fills", "gpu.bpc.write_backs"]),
        over_link: result.sum(&["gpu.buddy.fills_over_link", "gpu.buddy.write_backs_over_link"]),
        overflows: result.sum(&["gpu.buddy.overflows", "gpu.bpc.overflows"]),
        merges: result.sum(&["gpu.buddy.merges", "gpu.bpc.merges"]),
        link_use: result.count("gpu.link.in_use").max(result.count("gpu.link.out_use")),
        metadata_hit_rate: result.number("gpu.buddy.metadata.hit_rate"),
        shadows: SHADOW_KIB.map(shadow),
        passed: result.passed(),
    }))
}
