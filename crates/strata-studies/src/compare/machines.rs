//! The machines that are set side by side: families of mechanisms, each on the machine of its paper and against one of equal cost.

use strata_mechanism::{Combination, MechanismError, Registry};
use strata_run::{LabError, What, gpus};

/// A machine: what `strata run` is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// What tables call it: the mechanisms, or what is otherwise.
    pub label: String,
    /// Preset, or path of a `.toml` file.
    pub gpu: String,
    /// The mechanisms in it.
    pub with: Combination,
    /// Changes to the machine and to settings of its mechanisms.
    pub set: Vec<String>,
}

/// Machines that are compared with one baseline, and the programs that run on them.
#[derive(Clone, Debug)]
pub struct Group {
    /// What is compared: `compression`.
    pub family: Family,
    /// What the machines have in common, for people.
    pub title: String,
    /// What the others are compared with.
    pub baseline: Machine,
    /// The others.
    pub schemes: Vec<Machine>,
    /// Programs with their sizes.
    pub programs: Vec<(What, Option<String>)>,
}

/// What a mechanism is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Less memory and less traffic by compression.
    Compression,
    /// Less traffic by finding duplicates.
    Deduplication,
    /// Prefetchers and replacement of caches.
    Caches,
    /// Pages that come before they are asked for.
    UnifiedMemory,
    /// Code that runs where its data are.
    NearData,
    /// Anything else: other GPUs, other settings, a mechanism from outside.
    Other,
}

impl Family {
    /// The families that have mechanisms of the house, in the order of the report.
    pub const ALL: [Self; 5] =
        [Self::Compression, Self::Deduplication, Self::Caches, Self::UnifiedMemory, Self::NearData];

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compression => "compression",
            Self::Deduplication => "deduplication",
            Self::Caches => "prefetching and replacement in caches",
            Self::UnifiedMemory => "unified memory",
            Self::NearData => "near-data processing",
            Self::Other => "machines",
        }
    }

    /// What a combination is there for: the first of its mechanisms that has a family.
    pub fn of(with: &Combination) -> Self {
        let family = |name: &str| match name {
            "bpc" | "buddy" => Some(Self::Compression),
            "l2-5mb" | "cmd" | "dedup-car" | "dedup" | "esd" | "bcd" => Some(Self::Deduplication),
            "stride" | "srrip" => Some(Self::Caches),
            "uvm" => Some(Self::UnifiedMemory),
            "tom" => Some(Self::NearData),
            _ => None,
        };
        with.list().iter().find_map(|mechanism| family(mechanism.name())).unwrap_or(Self::Other)
    }

    /// The machine that the family is looked at on unless somebody names another: that of the mechanism's paper, of which
    /// programs of a few megabytes see an eighth where caches would otherwise hold them.
    const fn gpu(self) -> (&'static str, u32) {
        match self {
            Self::Compression => ("p100-buddy", 16),
            Self::Deduplication => ("cmd-gddr6", 8),
            Self::Caches | Self::Other => ("titan-v", 8),
            Self::UnifiedMemory => ("gtx1080ti", 1),
            Self::NearData => ("ndp-maxwell", 1),
        }
    }

    /// What the family is compared with, and what is compared unless somebody names it: label, mechanisms and settings.
    fn schemes(self) -> (SchemeText, &'static [SchemeText]) {
        const PLAIN: SchemeText = ("plain", "none", &[]);
        match self {
            Self::Compression => (PLAIN, &[("bpc", "bpc", &[]), ("buddy", "buddy", &[])]),
            // CMD's tables take the area of a quarter more L2 (its section IV-E).
            Self::Deduplication => (
                PLAIN,
                &[("a quarter more L2", "none", &["l2.ways=20"]), ("cmd", "cmd", &[]), ("cmd+bpc", "cmd+bpc", &[])],
            ),
            Self::Caches => {
                (PLAIN, &[("stride", "stride", &[]), ("srrip", "srrip", &[]), ("stride+srrip", "stride+srrip", &[])])
            }
            Self::UnifiedMemory => (
                ("on demand", "uvm", &["uvm.prefetcher=none"]),
                &[
                    ("tree prefetcher", "uvm", &["uvm.prefetcher=tree"]),
                    ("learned prefetcher", "uvm", &["uvm.prefetcher=learned"]),
                ],
            ),
            Self::NearData => (("plain", "none", &[]), &[("tom", "tom", &[])]),
            Self::Other => (PLAIN, &[]),
        }
    }

    /// The programs that press on what the family is about, with sizes: chosen by how much they use the memory of the
    /// machine before anything is put into it. And the seconds that each of their runs took, in the mean, on one core of the
    /// computer that they were chosen on: later families take longer, and whoever waits is told.
    const fn programs(self) -> &'static [(&'static str, &'static str, f64)] {
        match self {
            Self::Compression => &[
                ("cg", "tiny", 0.6),
                ("hpgmg", "tiny", 0.3),
                ("ilbdc", "tiny", 0.1),
                ("lulesh", "tiny", 0.1),
                ("seismic", "tiny", 0.2),
                ("sp", "tiny", 0.3),
            ],
            Self::Deduplication => {
                &[("mis", "small", 1.6), ("dwt2d", "small", 1.6), ("kmeans", "small", 3.6), ("cfd", "small", 3.5)]
            }
            Self::Caches => &[("stencil", "small", 5.1), ("srad", "small", 5.1), ("transpose", "small", 2.7)],
            Self::UnifiedMemory => &[("addvectors", "small", 3.7), ("pathfinder", "small", 5.2), ("nw", "small", 2.6)],
            Self::NearData => &[("reduction", "small", 2.8), ("scalarprod", "small", 1.3), ("kmeans", "small", 4.0)],
            Self::Other => &[],
        }
    }

    /// About how many seconds a run of a program takes that the family has, if it is one of them.
    pub(super) fn seconds(self, name: &str, size: &str) -> Option<f64> {
        let known = self.programs().iter().find(|known| (known.0, known.1) == (name, size));
        known.map(|(_, _, seconds)| *seconds)
    }
}

/// Label, mechanisms, settings.
type SchemeText = (&'static str, &'static str, &'static [&'static str]);

/// The near-data machine, and the one of equal cost: as many SMs, all of them on the GPU (TOM, section 5.1).
const NEAR: (&str, &str) = ("ndp-maxwell", "ndp-maxwell-68");

/// What the user leaves open, and what not.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The programs; none: those of each family.
    pub programs: Vec<What>,
    /// Their sizes; none: `small`, or what the suite says.
    pub sizes: Vec<String>,
    /// The machines; none: that of each family.
    pub gpus: Vec<String>,
    /// The mechanisms; none: those of every family.
    pub schemes: Option<Vec<Combination>>,
    /// Settings of which each value is a machine of its own.
    pub vary: Vec<(String, Vec<String>)>,
    /// Changes to all machines.
    pub set: Vec<String>,
    /// The machines are smaller by this factor in every part.
    pub scale: Option<u32>,
}

impl Wanted {
    /// The comparisons that come of it.
    pub fn groups(&self, registry: &Registry) -> Result<Vec<Group>, LabError> {
        let groups = self.grouped(registry)?;
        self.all_heard(&groups, registry)?;
        Ok(groups)
    }

    /// Refuses a setting of a mechanism that no machine has: it would change nothing, and nobody would know.
    fn all_heard(&self, groups: &[Group], registry: &Registry) -> Result<(), LabError> {
        let keys = self.set.iter().map(|one| one.split('=').next().unwrap_or_default());
        for key in keys.chain(self.vary.iter().map(|(key, _)| key.as_str())) {
            let Some(mechanism) = registry.of_key(&format!("{key}=")) else { continue };
            let name = mechanism.name();
            let mut machines = groups.iter().flat_map(|group| group.schemes.iter().chain([&group.baseline]));
            if !machines.any(|machine| machine.with.has(name)) {
                let cure = format!("add it to `--with`: `--with {name}`");
                return Err(LabError::Request(format!(
                    "`{key}` is a setting of `{name}`, which none of these machines has: {cure}"
                )));
            }
        }
        Ok(())
    }

    fn grouped(&self, registry: &Registry) -> Result<Vec<Group>, LabError> {
        let varied = self.varied();
        if self.gpus.is_empty() && varied.is_empty() {
            return self.by_family(registry);
        }
        let schemes = self.schemes.clone().unwrap_or_default();
        let plain = registry.combination("none")?;
        if schemes.iter().all(Combination::is_plain) {
            return Ok(vec![self.machines(&plain, &varied)?]);
        }
        let gpus =
            if self.gpus.is_empty() { vec![Family::of(&schemes[0]).gpu().0.to_owned()] } else { self.gpus.clone() };
        gpus.iter().map(|gpu| self.on(gpu, &schemes, &varied, &plain)).collect()
    }

    /// Mechanisms on the machine of their family.
    fn by_family(&self, registry: &Registry) -> Result<Vec<Group>, LabError> {
        let mut groups = Vec::new();
        let families = Family::ALL.into_iter().chain([Family::Other]);
        for family in families {
            let (gpu, usual) = family.gpu();
            let scale = self.scale.unwrap_or(usual);
            let (baseline, usual_schemes) = family.schemes();
            let machine = |(label, with, set): &SchemeText| -> Result<Machine, LabError> {
                let with = registry.combination(with)?;
                let on = if family == Family::NearData && !with.has("tom") { NEAR.1 } else { gpu };
                self.machine((*label).to_owned(), on, &with, scale, set.iter().map(|s| (*s).to_owned()).collect())
            };
            let schemes = match &self.schemes {
                None => usual_schemes.iter().map(machine).collect::<Result<Vec<_>, _>>()?,
                Some(named) => {
                    let own = named.iter().filter(|with| !with.is_plain() && Family::of(with) == family);
                    own.map(|with| self.machine(with.to_string(), gpu, with, scale, Vec::new()))
                        .collect::<Result<Vec<_>, _>>()?
                }
            };
            if schemes.is_empty() {
                continue;
            }
            let programs = if self.programs.is_empty() && self.sizes.is_empty() {
                let named = |(name, size, _): &(&str, &str, f64)| {
                    (What::Workload((*name).to_owned()), Some((*size).to_owned()))
                };
                family.programs().iter().map(named).collect()
            } else if self.programs.is_empty() {
                let all = family.programs().iter().map(|(name, ..)| What::Workload((*name).to_owned()));
                self.sized(all)
            } else {
                self.sized(self.programs.iter().cloned())
            };
            let title = format!("{}, on {}", family.name(), described(gpu, scale));
            groups.push(Group { family, title, baseline: machine(&baseline)?, schemes, programs });
        }
        if groups.is_empty() {
            return Err(LabError::Request(
                "nothing to compare: name mechanisms with `--with`, or machines with `--gpu`".into(),
            ));
        }
        Ok(groups)
    }

    /// Mechanisms, perhaps with varied settings, on one machine.
    fn on(
        &self,
        gpu: &str,
        schemes: &[Combination],
        varied: &[(String, Vec<String>)],
        plain: &Combination,
    ) -> Result<Group, LabError> {
        let scale = self.scale.unwrap_or(1);
        let near = gpu == NEAR.0 && schemes.iter().any(|with| with.has("tom"));
        let on = if near { NEAR.1 } else { gpu };
        let baseline = self.machine("plain".to_owned(), on, plain, scale, Vec::new())?;
        let mut machines = Vec::new();
        for with in schemes.iter().filter(|with| !with.is_plain()) {
            if varied.is_empty() {
                machines.push(self.machine(with.to_string(), gpu, with, scale, Vec::new())?);
            }
            for (label, set) in varied {
                let label = format!("{with}, {label}");
                machines.push(self.machine(label, gpu, with, scale, with.relevant(set))?);
            }
        }
        let family = Family::of(&schemes[0]);
        let title = format!("{} on {}", Self::title(schemes), described(gpu, scale));
        Ok(Group {
            family,
            title,
            baseline,
            schemes: machines,
            programs: self.sized(self.programs_of(family).into_iter()),
        })
    }

    /// Machines without mechanisms: the first, against the others and against itself with other settings.
    fn machines(&self, plain: &Combination, varied: &[(String, Vec<String>)]) -> Result<Group, LabError> {
        let first = self.gpus.first().map_or(Family::Other.gpu().0, String::as_str);
        let scale = self.scale.unwrap_or(1);
        let baseline = self.machine(name_of(first), first, plain, scale, Vec::new())?;
        let mut machines = Vec::new();
        for (label, set) in varied {
            machines.push(self.machine(label.clone(), first, plain, scale, set.clone())?);
        }
        for gpu in self.gpus.iter().skip(1) {
            machines.push(self.machine(name_of(gpu), gpu, plain, scale, Vec::new())?);
        }
        if machines.is_empty() {
            let cure =
                "name mechanisms with `--with`, several machines with `--gpu A,B`, or values with `--vary KEY=A,B`";
            return Err(LabError::Request(format!("nothing to compare `{first}` with: {cure}")));
        }
        let programs = self.sized(self.programs_of(Family::Caches).into_iter());
        let title = if scale > 1 { format!("machines, 1/{scale} of each") } else { "machines".to_owned() };
        Ok(Group { family: Family::Other, title, baseline, schemes: machines, programs })
    }

    fn title(schemes: &[Combination]) -> String {
        let names: Vec<_> = schemes.iter().filter(|with| !with.is_plain()).map(ToString::to_string).collect();
        names.join(", ")
    }

    fn programs_of(&self, family: Family) -> Vec<What> {
        if !self.programs.is_empty() {
            return self.programs.clone();
        }
        family.programs().iter().map(|(name, ..)| What::Workload((*name).to_owned())).collect()
    }

    /// Every program at every size; what has no sizes once.
    fn sized(&self, programs: impl Iterator<Item = What>) -> Vec<(What, Option<String>)> {
        let sizes = |what: &What| match what {
            What::Workload(_) if !self.sizes.is_empty() => self.sizes.iter().cloned().map(Some).collect(),
            _ => vec![None],
        };
        programs.flat_map(|what| sizes(&what).into_iter().map(move |size| (what.clone(), size))).collect()
    }

    /// Every combination of the varied values, with its label.
    fn varied(&self) -> Vec<(String, Vec<String>)> {
        let mut all: Vec<Vec<String>> = vec![Vec::new()];
        for (key, values) in &self.vary {
            let with = |before: &Vec<String>, value: &String| {
                before.iter().cloned().chain([format!("{key}={value}")]).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
        }
        all.into_iter().filter(|set| !set.is_empty()).map(|set| (set.join(", "), set)).collect()
    }

    fn machine(
        &self,
        label: String,
        gpu: &str,
        with: &Combination,
        scale: u32,
        own: Vec<String>,
    ) -> Result<Machine, LabError> {
        let mut set = scaled(gpu, scale)?;
        if scale > 1 && with.has("buddy") {
            // One metadata cache per partition, and there are fewer of them.
            set.push(format!("buddy.metadata_cache={} B", (64 << 10) / scale));
        }
        set.extend(own);
        set.extend(with.relevant(&self.set));
        Ok(Machine { label, gpu: gpu.to_owned(), with: with.clone(), set })
    }
}

/// `titan-v`, or the name of a file without its ending.
fn name_of(gpu: &str) -> String {
    std::path::Path::new(gpu).file_stem().map_or_else(|| gpu.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// `titan-v`, `an eighth of titan-v`.
fn described(gpu: &str, scale: u32) -> String {
    let name = name_of(gpu);
    match scale {
        1 => name,
        2 => format!("half of {name}"),
        4 => format!("a quarter of {name}"),
        8 => format!("an eighth of {name}"),
        n => format!("1/{n} of {name}"),
    }
}

/// The settings of a machine that is smaller in every part: SMs, L2 slices, memory channels, the link to the host. What a warp, a
/// slice or a channel meets is then what it would meet in the whole machine under a program as many times larger.
fn scaled(gpu: &str, scale: u32) -> Result<Vec<String>, LabError> {
    if scale <= 1 {
        return Ok(Vec::new());
    }
    let config = gpus::gpu(gpu, &[""; 0])?.config;
    for (what, count) in [("L2 slices", config.l2.slices), ("memory channels", config.dram.channels)] {
        if count % scale != 0 {
            let reason =
                format!("`{gpu}` has {count} {what}, which cannot be divided by {scale}: choose another `--scale`");
            return Err(LabError::Request(reason));
        }
    }
    Ok(vec![
        format!("sm.count={}", ((config.sm.count + scale / 2) / scale).max(1)),
        format!("l2.slices={}", config.l2.slices / scale),
        format!("dram.channels={}", config.dram.channels / scale),
        format!("host_link.bandwidth={} GB/s", config.host_link.gb_per_s / f64::from(scale)),
    ])
}

/// Reads `KEY=A,B`.
pub fn varied(text: &str) -> Result<(String, Vec<String>), MechanismError> {
    let wrong = || MechanismError::Request(format!("`--vary {text}`: write KEY=VALUE,VALUE, such as `l2.ways=8,16`"));
    let (key, values) = text.split_once('=').ok_or_else(wrong)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if key.trim().is_empty() || values.iter().any(String::is_empty) {
        return Err(wrong());
    }
    Ok((key.trim().to_owned(), values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::registry;

    #[test]
    fn every_family_has_machines_and_programs_that_there_are() {
        let groups = Wanted::default().groups(registry()).expect("all there");
        assert_eq!(groups.len(), Family::ALL.len());
        for group in &groups {
            for machine in group.schemes.iter().chain([&group.baseline]) {
                let (_, more) = machine.with.settings(&machine.set).expect("settings that there are");
                gpus::gpu(&machine.gpu, &more).unwrap_or_else(|e| panic!("{}: {}", machine.label, e.render(false)));
            }
            for (what, size) in &group.programs {
                let What::Workload(name) = what else { panic!("{what:?}") };
                let sizes = strata_workloads::find(name).expect("built in").info().sizes;
                assert!(sizes.iter().any(|s| Some(s.name()) == size.as_deref()), "{name}");
            }
        }
    }

    #[test]
    fn tom_is_compared_with_a_machine_of_equal_cost() {
        let groups = Wanted::default().groups(registry()).expect("all there");
        let near = groups.iter().find(|group| group.family == Family::NearData).expect("there");
        assert_eq!((near.baseline.gpu.as_str(), near.schemes[0].gpu.as_str()), ("ndp-maxwell-68", "ndp-maxwell"));
    }

    #[test]
    fn settings_and_machines_are_varied() {
        let wanted = Wanted {
            gpus: vec!["titan-v".into(), "v100".into()],
            vary: vec![("l2.ways".into(), vec!["16".into(), "32".into()])],
            ..Wanted::default()
        };
        let group = &wanted.groups(registry()).expect("sound")[0];
        let labels: Vec<_> = group.schemes.iter().map(|m| m.label.as_str()).collect();
        assert_eq!((group.baseline.label.as_str(), labels), ("titan-v", vec!["l2.ways=16", "l2.ways=32", "v100"]));
        assert!(varied("l2.ways").is_err() && varied("=1").is_err() && varied("a=1,").is_err());
    }

    #[test]
    fn a_setting_goes_to_the_machines_that_have_its_mechanism_and_to_one_at_least() {
        let with = |names: &[&str], set: &str| Wanted {
            gpus: vec!["titan-v".into()],
            schemes: Some(names.iter().map(|name| registry().combination(name).expect("known")).collect()),
            set: vec![set.to_owned(), "l2.ways=8".to_owned()],
            ..Wanted::default()
        };
        let group = &with(&["bpc", "cmd"], "bpc.codec=raw").groups(registry()).expect("sound")[0];
        let set = |machine: &Machine| machine.set.clone();
        assert_eq!(set(&group.baseline), ["l2.ways=8"], "the plain machine has no codec");
        assert_eq!(set(&group.schemes[0]), ["bpc.codec=raw", "l2.ways=8"]);
        assert_eq!(set(&group.schemes[1]), ["l2.ways=8"]);
        let error = with(&["cmd"], "bpc.codec=raw").groups(registry()).expect_err("nobody hears it").to_string();
        assert!(error.contains("`bpc.codec` is a setting of `bpc`, which none of these machines has"), "{error}");
    }

    #[test]
    fn a_comparison_with_nothing_is_refused() {
        let plain = registry().combination("none").expect("known");
        let wanted = Wanted { gpus: vec!["titan-v".into()], schemes: Some(vec![plain]), ..Wanted::default() };
        assert!(
            wanted.groups(registry()).expect_err("alone").to_string().contains("nothing to compare `titan-v` with")
        );
    }
}
