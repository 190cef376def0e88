//! The points of a plan: every run that it stands for, looked up and keyed.

use crate::plan::{Method, PlanFile, Word, Worth};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use strata_core::nearest::suggestion;
use strata_core::random::SplitMix64;
use strata_mechanism::{Combination, Registry};
use strata_run::diagnostics::Diagnostic;
use strata_run::gpus::{Gpu, gpu};
use strata_run::run::Found;
use strata_run::{LabError, RunRequest, Step, What, parallel};

/// More points than this are a mistake.
const MOST_POINTS: usize = 1_000_000;
/// What constraints can ask for besides settings.
const OF_A_POINT: [&str; 5] = ["program", "size", "seed", "gpu", "with"];
/// The capacity of the whole L2, which machines have as a number of ways.
const L2_SIZE: &str = "l2.size";

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its place in the plan, from 0.
    pub number: usize,
    /// The name of its result.
    pub key: String,
    /// What is run.
    pub request: RunRequest,
    /// The settings that differ between points, those that this one has.
    pub settings: Vec<(String, String)>,
}

impl Point {
    /// What people call it.
    pub fn name(&self) -> String {
        let request = &self.request;
        let size = request.size.iter().map(String::clone);
        let seed = request.seed.iter().map(|seed| format!("seed {seed}"));
        let gpu = request.gpu.iter().map(|gpu| format!("on {gpu}"));
        let with = (!request.with.is_plain()).then(|| format!("with {}", request.with));
        let settings = self.settings.iter().map(|(key, value)| format!("{key}={value}"));
        let words = [request.what.name()].into_iter().chain(size).chain(seed).chain(gpu).chain(with);
        words.chain(settings).collect::<Vec<_>>().join(" ")
    }
}

/// All points of a plan, in the order of the plan, each once. What is kept of one is its key and which combination it is, so
/// that ten thousand take no more room than a thousand; the rest is said anew whenever somebody asks.
pub struct Points<'p> {
    space: Space<'p>,
    list: Vec<Kept>,
    /// Combinations that are the same run as another.
    pub repeated: usize,
    /// Combinations that constraints leave out.
    pub excluded: usize,
    /// Combinations that no machine can be, left out because the plan says so.
    pub invalid: usize,
}

/// What is kept of a point.
#[derive(Clone, Copy, Debug)]
struct Kept {
    combination: u32,
    key: Key,
}

/// A key as bytes, the last first, so that it needs no alignment.
type Key = [u8; 16];

impl<'p> Points<'p> {
    /// Those of a plan; results and what is prepared for them go below `out`.
    pub fn of(
        file: &'p PlanFile,
        registry: &'p Registry,
        out: &'p Path,
        begins: &mut (dyn FnMut(Step<'_>) + Send),
    ) -> Result<Self, LabError> {
        let space = Space::of(file, registry, out)?;
        let numbers: Vec<u32> = (0..space.count()?).collect();
        let name = |number: &u32| format!("point {number}");
        let made = parallel::map(&numbers, parallel::threads(), name, begins, |number| space.judged(*number));
        let mut points = Self { space, list: Vec::new(), repeated: 0, excluded: 0, invalid: 0 };
        let (mut known, mut wrong) = (BTreeSet::new(), Vec::new());
        for (combination, one) in numbers.into_iter().zip(made) {
            match one {
                Made::Point(key) if known.insert(key) => points.list.push(Kept { combination, key }),
                Made::Point(_) => points.repeated += 1,
                Made::Excluded => points.excluded += 1,
                Made::LeftOut => points.invalid += 1,
                Made::Wrong(errors) => wrong.extend(errors),
            }
        }
        wrong.sort_by(|a, b| (a.span.start, &a.message).cmp(&(b.span.start, &b.message)));
        wrong.dedup();
        if wrong.is_empty() { Ok(points) } else { Err(file.wrong(wrong)) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The settings that differ between points, in the order of the plan.
    pub fn axes(&self) -> Vec<String> {
        self.space.axes()
    }

    /// The name of a point's result.
    ///
    /// # Panics
    /// If there is no point of that number.
    pub fn key(&self, number: usize) -> String {
        format!("{:032x}", u128::from_le_bytes(self.list[number].key))
    }

    /// A point.
    ///
    /// # Panics
    /// If there is no point of that number.
    pub fn point(&self, number: usize) -> Point {
        let (request, settings, _) = self.space.combination(self.list[number].combination);
        Point { number, key: self.key(number), request, settings }
    }

    /// One point after another.
    pub fn iter(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.len()).map(|number| self.point(number))
    }
}

/// What becomes of a combination.
enum Made {
    Point(Key),
    Excluded,
    /// No machine can be so, and the plan says that such are left out.
    LeftOut,
    /// The plan is wrong.
    Wrong(Vec<Diagnostic>),
}

/// Everything that a plan combines.
struct Space<'p> {
    file: &'p PlanFile,
    registry: &'p Registry,
    out: &'p Path,
    programs: Vec<(What, &'p Word)>,
    with: Vec<Combination>,
    gpus: Vec<Option<String>>,
    /// Where in its range each setting of each point of the sample lies, from 0 to 1: point by point.
    drawn: Vec<f64>,
    /// Where each setting stands in the plan.
    places: BTreeMap<&'p str, &'p Word>,
}

impl<'p> Space<'p> {
    fn of(file: &'p PlanFile, registry: &'p Registry, out: &'p Path) -> Result<Self, LabError> {
        let plan = &file.plan;
        let mut errors = Vec::new();
        let mut wrong = |word: &Word, message: String, help: Option<String>| {
            errors.push(Diagnostic { span: word.span.clone(), message, help });
        };
        let mut programs = Vec::new();
        for word in &plan.programs {
            match program(file, word) {
                Ok(what) => programs.push((what, word)),
                Err((message, help)) => wrong(word, message, help),
            }
        }
        let mut with = Vec::new();
        for word in &plan.with {
            match registry.combination(&word.text) {
                Ok(combination) => with.push(combination),
                Err(error) => wrong(word, error.to_string(), None),
            }
        }
        let mut gpus = Vec::new();
        for word in &plan.gpus {
            let is_file = Path::new(&word.text).extension().is_some_and(|extension| extension == "toml");
            let name = if is_file { file.resolve(&word.text).display().to_string() } else { word.text.clone() };
            match gpu(&name, &[""; 0]) {
                Ok(_) => gpus.push(Some(name)),
                Err(error) => wrong(word, error.to_string(), None),
            }
        }
        if let Some(first) = gpus.first().cloned().flatten() {
            errors.extend(unknown_keys(file, registry, &gpu(&first, &[""; 0])?));
        }
        if !errors.is_empty() {
            return Err(file.wrong(errors));
        }
        let listed = plan.list.iter().flatten().map(|(key, _)| key);
        let sampled = plan.sample.iter().flat_map(|sample| sample.over.iter().map(|(key, _)| key));
        let grid = plan.grid.iter().map(|axis| &axis.key);
        let keys = plan.set.iter().map(|(key, _)| key).chain(grid).chain(listed).chain(sampled);
        let places = keys.map(|key| (key.text.as_str(), key)).collect();
        if with.is_empty() {
            with.push(registry.combination("none")?);
        }
        if gpus.is_empty() {
            gpus.push(None);
        }
        Ok(Self { file, registry, out, programs, with, gpus, drawn: drawn(file), places })
    }

    /// How many of each there are: program, size, machine, mechanisms, list, grid, sample, seed. The last changes fastest.
    fn extents(&self) -> Vec<usize> {
        let plan = &self.file.plan;
        let mut extents =
            vec![self.programs.len(), plan.sizes.len(), self.gpus.len(), self.with.len(), plan.list.len()];
        extents.extend(plan.grid.iter().map(|axis| axis.values.len()));
        extents.extend([plan.sample.as_ref().map_or(0, |sample| sample.points), plan.seeds.len()]);
        extents.into_iter().map(|extent| extent.max(1)).collect()
    }

    fn count(&self) -> Result<u32, LabError> {
        let product = self.extents().into_iter().try_fold(1usize, usize::checked_mul);
        let few = product.filter(|count| *count <= MOST_POINTS).and_then(|count| u32::try_from(count).ok());
        few.ok_or_else(|| {
            let path = self.file.path().display();
            LabError::Request(format!("`{path}` stands for more than {MOST_POINTS} points: sample some of them"))
        })
    }

    /// Settings that differ between points.
    fn axes(&self) -> Vec<String> {
        let plan = &self.file.plan;
        let mut axes: Vec<String> = Vec::new();
        let listed = plan.list.iter().flatten().map(|(key, _)| key);
        let sampled = plan.sample.iter().flat_map(|sample| sample.over.iter().map(|(key, _)| key));
        for key in listed.chain(plan.grid.iter().map(|axis| &axis.key)).chain(sampled) {
            if !axes.contains(&key.text) {
                axes.push(key.text.clone());
            }
        }
        axes
    }

    /// One combination: what would be run, the settings that differ, and where the plan names its program.
    fn combination(&self, number: u32) -> (RunRequest, Vec<(String, String)>, &'p Word) {
        let plan = &self.file.plan;
        let extents = self.extents();
        let mut places = vec![0; extents.len()];
        let mut rest = number as usize;
        for (place, extent) in places.iter_mut().zip(&extents).rev() {
            *place = rest % extent;
            rest /= extent;
        }
        let (what, word) = &self.programs[places[0]];
        let with = &self.with[places[3]];
        let mut settings: Vec<(String, String)> = Vec::new();
        let listed = plan.list.get(places[4]).into_iter().flatten();
        settings.extend(listed.map(|(key, value)| (key.text.clone(), value.clone())));
        let grid = plan.grid.iter().zip(&places[5..]);
        settings.extend(grid.map(|(axis, place)| (axis.key.text.clone(), axis.values[*place].clone())));
        if let Some(sample) = &plan.sample {
            let shares = self.drawn.iter().skip(places[places.len() - 2] * sample.over.len());
            let over = sample.over.iter().zip(shares);
            settings.extend(over.map(|((key, spread), share)| (key.text.clone(), spread.drawn(*share))));
        }
        let is_relevant = |key: &str| !with.relevant(&[format!("{key}=")]).is_empty();
        settings.retain(|(key, _)| is_relevant(key));
        let fixed = plan.set.iter().map(|(key, value)| (key.text.as_str(), value.as_str()));
        let varied = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let all = fixed.filter(|(key, _)| is_relevant(key)).chain(varied);
        let set = all.map(|(key, value)| format!("{key}={value}")).collect();
        let request = RunRequest {
            size: plan.sizes.get(places[1]).map(|size| size.text.clone()).filter(|_| matches!(what, What::Workload(_))),
            seed: plan.seeds.get(places[places.len() - 1]).copied().filter(|_| !matches!(what, What::Trace(_))),
            gpu: self.gpus[places[2]].clone(),
            with: with.clone(),
            set,
            out: Some(self.out.to_owned()),
            ..RunRequest::new(what.clone())
        };
        (request, settings, word)
    }

    /// Looks a combination up and asks the constraints.
    fn judged(&self, number: u32) -> Made {
        let (request, _, word) = self.combination(number);
        let found = Found::new(&request);
        let plain = match &found {
            // What cannot be may be what a constraint leaves out.
            Err(_) => request.gpu.as_ref().and_then(|name| gpu(name, &[""; 0]).ok()),
            Ok(_) => None,
        };
        let machine = found.as_ref().ok().and_then(Found::gpu).or(plain.as_ref());
        let value = |key: &str| self.worth(key, &request, machine);
        for constraint in &self.file.plan.constraints {
            match constraint.holds(&value) {
                Ok(true) => {}
                Ok(false) => return Made::Excluded,
                Err(reason) => {
                    let message = format!("`{}` cannot be asked: {reason}", constraint.text);
                    return Made::Wrong(vec![Diagnostic { span: constraint.span.clone(), message, help: None }]);
                }
            }
        }
        match found {
            Err(_) if self.file.plan.skip_invalid => Made::LeftOut,
            Err(error) => Made::Wrong(self.placed(&error, word)),
            Ok(found) => Made::Point(found.about().key_number().to_le_bytes()),
        }
    }

    /// What a key is worth in a point.
    fn worth(&self, key: &str, request: &RunRequest, machine: Option<&Gpu>) -> Worth {
        let text = |text: &str| Worth::Text(text.to_owned());
        match key {
            "program" => return text(&request.what.name()),
            "size" => return text(request.size.as_deref().unwrap_or("small")),
            "seed" => return Worth::Number(request.seed.unwrap_or(1) as f64),
            "gpu" => return machine.map_or(Worth::Absent, |machine| text(&machine.config.name)),
            "with" => return text(&request.with.to_string()),
            _ => {}
        }
        let given = request.set.iter().rev().filter_map(|one| one.split_once('='));
        if let Some((_, value)) = given.into_iter().find(|(known, _)| *known == key) {
            return Worth::of(value);
        }
        if let Some(machine) = machine {
            if key == L2_SIZE {
                return Worth::Number(machine.config.l2_size().0 as f64);
            }
            if let Some(parameter) = machine.parameters.iter().find(|parameter| parameter.key() == key) {
                return Worth::of(&parameter.value);
            }
        }
        let Some((mechanism, name)) = key.split_once('.') else { return Worth::Absent };
        let has = self.registry.get(mechanism).filter(|_| request.with.has(mechanism));
        let setting = has.and_then(|mechanism| mechanism.settings().iter().find(|setting| setting.key == name));
        setting.map_or(Worth::Absent, |setting| Worth::of(setting.default))
    }

    /// The errors of a combination at the places of the plan they are about.
    fn placed(&self, error: &LabError, program: &Word) -> Vec<Diagnostic> {
        let mut told: Vec<(String, Option<String>)> = Vec::new();
        match error {
            LabError::Gpu(files) => {
                for file in files {
                    let lines: Vec<&str> = file.text().lines().collect();
                    for one in file.list() {
                        let line = lines.get(file.line(&one.span) - 1).copied().unwrap_or_default();
                        told.push((format!("{line}: {}", one.message), one.help.clone()));
                    }
                }
            }
            other => told.extend(other.to_string().lines().map(|line| (line.to_owned(), None))),
        }
        let is_about = |message: &str, key: &str| {
            message.strip_prefix(key).is_some_and(|rest| rest.starts_with('=')) || message.contains(&format!("`{key}"))
        };
        let place = |message: &str| self.places.iter().find(|(key, _)| is_about(message, key)).map(|(_, word)| *word);
        let cure = "leave the value out, exclude it with `constraints`, or write `invalid = \"skip\"`";
        let diagnostic = |(message, help): (String, Option<String>)| {
            let word = place(&message).unwrap_or(program);
            Diagnostic { span: word.span.clone(), message, help: Some(help.unwrap_or_else(|| cure.to_owned())) }
        };
        told.into_iter().map(diagnostic).collect()
    }
}

/// The program of a word: a path is relative to the plan.
fn program(file: &PlanFile, word: &Word) -> Result<What, (String, Option<String>)> {
    let is_path = ["toml", strata_run::trace::EXTENSION]
        .iter()
        .any(|known| Path::new(&word.text).extension().is_some_and(|extension| extension == *known));
    let text = if is_path { file.resolve(&word.text).display().to_string() } else { word.text.clone() };
    let what = What::named(&text).map_err(|error| (error.to_string(), None))?;
    if let What::Workload(name) = &what {
        let known: Vec<&str> = strata_run::workloads().map(|info| info.name).collect();
        if !known.contains(&name.as_str()) {
            let help = suggestion(name, known.iter().copied());
            return Err((format!("there is no workload `{name}`"), Some(help)));
        }
    }
    Ok(what)
}

/// Keys of constraints that nothing has.
fn unknown_keys(file: &PlanFile, registry: &Registry, machine: &Gpu) -> Vec<Diagnostic> {
    let mut known: BTreeSet<String> = machine.parameters.iter().map(strata_run::gpus::Parameter::key).collect();
    known.extend(OF_A_POINT.iter().chain([&L2_SIZE]).map(|&key| key.to_owned()));
    for mechanism in registry.all() {
        known.extend(mechanism.settings().iter().map(|setting| format!("{}.{}", mechanism.name(), setting.key)));
    }
    let mut errors = Vec::new();
    for constraint in &file.plan.constraints {
        for key in constraint.keys().into_iter().filter(|key| !known.contains(*key) && !key.starts_with("isa.rows.")) {
            let help = Some(suggestion(key, known.iter().map(String::as_str)));
            let message = format!("nothing has a key `{key}`");
            errors.push(Diagnostic { span: constraint.span.clone(), message, help });
        }
    }
    errors
}

/// Where in their ranges the settings of a sample lie, point by point, in the order of its keys.
fn drawn(file: &PlanFile) -> Vec<f64> {
    let Some(sample) = &file.plan.sample else { return Vec::new() };
    let axes = sample.over.len();
    let mut shares = vec![0.0; sample.points * axes];
    for axis in 0..axes {
        // Each axis has its own stream: one more leaves the others as they are.
        let mut random = SplitMix64::new(SplitMix64::at(sample.seed, axis as u64));
        let share = |random: &mut SplitMix64| (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let mut parts: Vec<usize> = (0..sample.points).collect();
        if sample.method == Method::LatinHypercube {
            for k in (1..parts.len()).rev() {
                parts.swap(k, random.below(k as u64 + 1) as usize);
            }
        }
        for (place, part) in shares.iter_mut().skip(axis).step_by(axes).zip(parts) {
            let within = share(&mut random);
            *place = match sample.method {
                Method::Random => within,
                Method::LatinHypercube => (part as f64 + within) / sample.points as f64,
            };
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a plan comes to: its points, the settings that differ, and how many are repeated, excluded and left out.
    #[derive(Debug)]
    struct Told {
        list: Vec<Point>,
        axes: Vec<String>,
        repeated: usize,
        excluded: usize,
        invalid: usize,
    }

    fn points(plan: &str) -> Result<Told, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, plan).expect("written");
        let file = PlanFile::read(&path).map_err(|error| error.to_string())?;
        let registry = Registry::default();
        let points = Points::of(&file, &registry, folder.path(), &mut |_| {}).map_err(|error| error.to_string())?;
        let Points { repeated, excluded, invalid, .. } = points;
        Ok(Told { list: points.iter().collect(), axes: points.axes(), repeated, excluded, invalid })
    }

    #[test]
    fn a_point_is_said_anew_as_it_was_keyed() {
        let plan = format!(
            "{HEAD}[sample]\npoints = 8\nover.l2.latency = {{ from = 100, to = 300 }}\nover.sm.count = [4, 8]\n"
        );
        for point in points(&plan).expect("points").list {
            assert_eq!(Found::new(&point.request).expect("it can be").about().key(), point.key, "{}", point.name());
        }
    }

    const HEAD: &str = "programs = ['saxpy']\nsizes = ['tiny']\ngpu = 'titan-v'\n";

    #[test]
    fn a_grid_is_every_value_with_every_other() {
        let plan = format!("{HEAD}seeds = [1, 2]\n[grid]\nl2.latency = [100, 200, 300]\nsm.count = [4, 8]\n");
        let points = points(&plan).expect("points");
        assert_eq!(
            (points.list.len(), points.axes.as_slice()),
            (12, ["l2.latency", "sm.count"].map(String::from).as_slice())
        );
        assert_eq!(points.list[0].name(), "saxpy tiny seed 1 on titan-v l2.latency=100 sm.count=4");
        assert_eq!(points.list[11].name(), "saxpy tiny seed 2 on titan-v l2.latency=300 sm.count=8");
        let keys: BTreeSet<_> = points.list.iter().map(|point| &point.key).collect();
        assert_eq!(keys.len(), 12);
    }

    #[test]
    fn the_same_run_is_a_point_once_and_constraints_leave_points_out() {
        let plan = format!("{HEAD}constraints = ['sm.count * 2 <= 16']\n[grid]\nsm.count = [4, 8, 4, 16]\n");
        let points = points(&plan).expect("points");
        assert_eq!((points.list.len(), points.repeated, points.excluded), (2, 1, 1));
    }

    #[test]
    fn what_no_machine_can_be_is_told_at_its_place_or_left_out() {
        let plan = format!("{HEAD}[grid]\nl2.sets = [3, 32]\nl2.sise = [1]\n");
        let error = points(&plan).expect_err("wrong");
        assert!(error.contains("3 sets are not a power of two") && error.contains("did you mean `size`?"), "{error}");
        assert!(error.contains("5 | l2.sets") && error.contains("plan.toml: 2 errors"), "{error}");
        let plan = format!("invalid = 'skip'\n{HEAD}[grid]\nl2.sets = [3, 32]\n");
        let left = points(&plan).expect("points");
        assert_eq!((left.list.len(), left.invalid), (1, 1));
    }

    #[test]
    fn wrong_names_are_told_with_the_nearest() {
        let error = points("programs = ['saxpi', 'saxpy']\ngpu = 'titan-w'\nwith = 'bpx'\n").expect_err("wrong");
        for part in ["did you mean `saxpy`?", "there is no GPU `titan-w`", "there is no mechanism `bpx`", "3 errors"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let plan = format!("{HEAD}constraints = ['l2.latensy < 3']\n");
        assert!(points(&plan).expect_err("wrong").contains("did you mean `l2.latency`?"));
    }

    #[test]
    fn a_latin_hypercube_uses_every_part_of_every_axis_once() {
        let plan = "programs = 'saxpy'\n[sample]\npoints = 16\nover.a = { from = 0, to = 15 }\nover.b = ['x', 'y']\n";
        let path = Path::new("plan.toml");
        let text = plan.to_owned();
        let (plan, errors) = crate::parse(&text);
        assert_eq!(errors, []);
        let file = PlanFile::of(plan, text, path);
        let shares = drawn(&file);
        let over = &file.plan.sample.as_ref().expect("a sample").over;
        let values = |axis: usize| -> Vec<String> {
            shares.iter().skip(axis).step_by(2).map(|share| over[axis].1.drawn(*share)).collect()
        };
        let (first, second) = (values(0), values(1));
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 16, "{first:?}");
        assert_eq!(second.iter().filter(|value| *value == "x").count(), 8);
        let sorted: Vec<_> = (0..16).map(|k| k.to_string()).collect();
        assert_ne!(first, sorted, "shuffled");
    }
}
