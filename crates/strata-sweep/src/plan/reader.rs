//! The text of a plan to a [`Plan`].

use super::axis::{Axis, MOST_VALUES, Range, Spread};
use super::{Constraint, Method, Plan, Sample, Word};
use strata_core::config::{Diagnostic, Reader, parse_size};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Value<'a> = Spanned<DeValue<'a>>;

const KEYS: [&str; 12] =
    ["name", "programs", "sizes", "seeds", "gpu", "with", "set", "grid", "list", "sample", "constraints", "invalid"];
const RANGE_KEYS: [&str; 5] = ["from", "to", "step", "count", "scale"];
const RANGE_FORM: &str = "write a list, `{ from = 1, to = 8, step = 1 }` or `{ from = 1, to = 8, count = 4 }`";
/// Points of a sample, and values of a grid.
const MOST_DRAWN: i128 = 1_000_000;

/// Reads a plan. What is wrong with it comes beside what could be read.
pub fn parse(text: &str) -> (Plan, Vec<Diagnostic>) {
    let (document, found) = DeTable::parse_recoverable(text);
    if !found.is_empty() {
        let diagnostic = |error: &toml::de::Error| Diagnostic {
            span: error.span().unwrap_or(0..0),
            message: error.message().to_owned(),
            help: None,
        };
        return (Plan::default(), found.iter().map(diagnostic).collect());
    }
    let mut reader = PlanReader::default();
    let plan = reader.plan(document.get_ref());
    (plan, reader.reader.errors)
}

#[derive(Default)]
struct PlanReader {
    reader: Reader,
    /// Values of all axes so far.
    values: usize,
}

impl PlanReader {
    fn plan(&mut self, document: &DeTable<'_>) -> Plan {
        let fields = self.reader.fields(document, 0..0, "a plan", &KEYS);
        let name = fields.get("name").and_then(|value| self.name(value));
        let programs = match self.reader.required(&fields, "programs", "programs = [\"saxpy\"]") {
            Some(value) => self.words(value, "[\"saxpy\", \"mine.toml\"]"),
            None => Vec::new(),
        };
        let mut words = |key: &str, form| fields.get(key).map_or_else(Vec::new, |value| self.words(value, form));
        let sizes = words("sizes", "[\"tiny\", \"small\"]");
        let gpus = words("gpu", "[\"titan-v\", \"v100\"]");
        let with = words("with", "[\"none\", \"bpc\"]");
        let seeds = fields.get("seeds").map_or_else(Vec::new, |value| self.seeds(value));
        let set = fields.get("set").map_or_else(Vec::new, |value| self.settings(value));
        let grid = fields.get("grid").map_or_else(Vec::new, |value| self.grid(value));
        let list = fields.get("list").map_or_else(Vec::new, |value| self.list(value));
        let sample = fields.get("sample").and_then(|value| self.sample(value));
        let constraints = fields.get("constraints").map_or_else(Vec::new, |value| self.constraints(value));
        let skip_invalid = fields.get("invalid").is_some_and(|value| self.choice(value, &["error", "skip"]) == Some(1));
        let plan =
            Plan { name, programs, sizes, seeds, gpus, with, set, grid, list, sample, constraints, skip_invalid };
        self.refuse_twice(&plan);
        plan
    }

    /// A name becomes that of a folder.
    fn name(&mut self, value: &Value<'_>) -> Option<String> {
        let name = self.reader.string(value)?.to_owned();
        let is_good = |c: char| c.is_alphanumeric() || ['-', '_', '.'].contains(&c);
        if name.is_empty() || name.starts_with('.') || name.len() > 64 || !name.chars().all(is_good) {
            let help = "letters, digits, `-`, `_` and `.`, at most 64: a folder is called so".to_owned();
            self.reader.error(value.span(), format!("`{name}` is no name of a sweep"), Some(help));
            return None;
        }
        Some(name)
    }

    /// A text, or several.
    fn words(&mut self, value: &Value<'_>, form: &str) -> Vec<Word> {
        let items: Vec<&Value<'_>> = match value.get_ref() {
            DeValue::Array(list) => list.iter().collect(),
            DeValue::String(_) => vec![value],
            _ => {
                self.reader.mismatch(value, &format!("text or a list: `{form}`"));
                return Vec::new();
            }
        };
        if items.is_empty() {
            self.reader.error(value.span(), "the list is empty", Some(format!("write `{form}`, or leave the key out")));
        }
        let mut words = Vec::new();
        for item in items {
            if let Some(text) = self.reader.string(item) {
                words.push(Word { text: text.to_owned(), span: item.span() });
            }
        }
        words
    }

    /// A number, a list, or a range, in which every whole number is meant unless it says otherwise.
    fn seeds(&mut self, value: &Value<'_>) -> Vec<u64> {
        match value.get_ref() {
            DeValue::Integer(_) => {
                return self.reader.integer(value, 0, i128::from(u64::MAX)).map(|n| n as u64).into_iter().collect();
            }
            DeValue::Table(_) => return self.seeds_of_range(value).unwrap_or_default(),
            _ => {}
        }
        let Some(list) = self.reader.array(value, "[1, 2, 3]") else { return Vec::new() };
        list.iter().filter_map(|item| self.reader.integer(item, 0, i128::from(u64::MAX))).map(|n| n as u64).collect()
    }

    fn seeds_of_range(&mut self, value: &Value<'_>) -> Option<Vec<u64>> {
        let (range, count) = self.range(value)?;
        let seeds = match count {
            Some(count) => Some(range.spaced(count)),
            None => range.stepped(range.step.unwrap_or(1.0)),
        };
        let seeds: Option<Vec<u64>> = seeds.and_then(|seeds| seeds.iter().map(|seed| seed.parse().ok()).collect());
        if seeds.is_none() {
            let message = "seeds are whole numbers from 0, not too many of them";
            self.reader.error(value.span(), message, Some("write `seeds = { from = 1, to = 100 }`".into()));
        }
        seeds
    }

    fn choice(&mut self, value: &Value<'_>, names: &[&str]) -> Option<usize> {
        let text = self.reader.string(value)?;
        let found = names.iter().position(|name| *name == text);
        if found.is_none() {
            self.reader.unknown(value.span(), format!("`{text}` is none of its values"), text, names.iter().copied());
        }
        found
    }

    /// Keys of settings with their values: `l2.size = …` is a table in a table, and the same as `"l2.size" = …`.
    fn flat<'a>(&mut self, value: &'a Value<'a>) -> Vec<(Word, &'a Value<'a>)> {
        let Some(table) = self.reader.table(value) else { return Vec::new() };
        let mut flat = Vec::new();
        let mut wanted = vec![(String::new(), table)];
        while let Some((prefix, table)) = wanted.pop() {
            for (key, value) in table {
                let name =
                    if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
                match value.get_ref() {
                    DeValue::Table(inner) if !["from", "to"].iter().any(|end| inner.contains_key(*end)) => {
                        wanted.push((name, inner));
                    }
                    _ => flat.push((Word { text: name, span: key.span() }, value)),
                }
            }
        }
        flat.sort_by_key(|(key, _)| key.span.start);
        flat
    }

    /// A value as `--set` has it.
    fn scalar(&mut self, value: &Value<'_>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(_) => {
                self.reader.integer(value, i128::from(i64::MIN), i128::from(u64::MAX)).map(|n| n.to_string())
            }
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Some(truth.to_string()),
            _ => {
                self.reader.mismatch(value, "a number or text");
                None
            }
        }
    }

    fn settings(&mut self, value: &Value<'_>) -> Vec<(Word, String)> {
        let flat = self.flat(value);
        flat.into_iter().filter_map(|(key, value)| Some((key, self.scalar(value)?))).collect()
    }

    fn grid(&mut self, value: &Value<'_>) -> Vec<Axis> {
        let mut axes = Vec::new();
        for (key, value) in self.flat(value) {
            let values = match value.get_ref() {
                DeValue::Table(_) => self.values_of_range(value),
                _ => self.values(value),
            };
            let Some(values) = values else { continue };
            self.values += values.len();
            if self.values > MOST_DRAWN as usize {
                self.reader.error(key.span, "a grid cannot have so many values", Some("sample some of them".into()));
                break;
            }
            axes.push(Axis { key, values });
        }
        axes
    }

    /// A list of values.
    fn values(&mut self, value: &Value<'_>) -> Option<Vec<String>> {
        let DeValue::Array(list) = value.get_ref() else {
            let message = format!("expected values, found {}", Reader::kind(value.get_ref()));
            self.reader.error(value.span(), message, Some(RANGE_FORM.into()));
            return None;
        };
        if list.is_empty() || list.len() > MOST_VALUES {
            self.reader.error(value.span(), "the list is empty or far too long", Some(RANGE_FORM.into()));
            return None;
        }
        Some(list.iter().filter_map(|item| self.scalar(item)).collect())
    }

    fn values_of_range(&mut self, value: &Value<'_>) -> Option<Vec<String>> {
        let (range, count) = self.range(value)?;
        let values = match (range.step, count) {
            (Some(step), None) => range.stepped(step),
            (None, Some(count)) => Some(range.spaced(count)),
            _ => {
                self.reader.error(
                    value.span(),
                    "a range of a grid has either `step` or `count`",
                    Some(RANGE_FORM.into()),
                );
                return None;
            }
        };
        if values.is_none() {
            self.reader.error(value.span(), "the range has far too many values", Some("make the step larger".into()));
        }
        values
    }

    fn range(&mut self, value: &Value<'_>) -> Option<(Range, Option<usize>)> {
        let table = self.reader.table(value)?;
        let fields = self.reader.fields(table, value.span(), "a range", &RANGE_KEYS);
        let (from, from_whole) =
            self.reader.required(&fields, "from", "from = 1").and_then(|value| self.number(value))?;
        let (to, to_whole) = self.reader.required(&fields, "to", "to = 8").and_then(|value| self.number(value))?;
        let step = fields.get("step").and_then(|value| self.number(value));
        let count = fields.get("count").and_then(|value| self.reader.integer(value, 1, MOST_VALUES as i128));
        let log = fields.get("scale").and_then(|value| self.choice(value, &["linear", "log"])) == Some(1);
        let wrong = if from > to {
            "`from` is larger than `to`"
        } else if step.is_some_and(|(step, _)| step <= 0.0) {
            "`step` is not larger than 0"
        } else if log && from <= 0.0 {
            "a logarithmic scale begins above 0"
        } else {
            let whole = from_whole && to_whole && step.is_none_or(|(_, whole)| whole);
            return Some((Range { from, to, step: step.map(|(step, _)| step), whole, log }, count.map(|n| n as usize)));
        };
        self.reader.error(value.span(), wrong, None);
        None
    }

    /// A number or a size, and whether it is whole.
    fn number(&mut self, value: &Value<'_>) -> Option<(f64, bool)> {
        if let DeValue::String(text) = value.get_ref() {
            return match parse_size(text) {
                Ok(size) => Some((size.0 as f64, true)),
                Err(reason) => {
                    self.reader.error(value.span(), reason, None);
                    None
                }
            };
        }
        let number = self.reader.real(value)?;
        if !number.is_finite() {
            self.reader.error(value.span(), "a range ends at a number", None);
            return None;
        }
        Some((number, matches!(value.get_ref(), DeValue::Integer(_))))
    }

    fn list(&mut self, value: &Value<'_>) -> Vec<Vec<(Word, String)>> {
        let Some(list) = self.reader.array(value, "[[list]]") else { return Vec::new() };
        list.iter().map(|table| self.settings(table)).collect()
    }

    fn sample(&mut self, value: &Value<'_>) -> Option<Sample> {
        let table = self.reader.table(value)?;
        let fields = self.reader.fields(table, value.span(), "`sample`", &["method", "points", "seed", "over"]);
        let method = fields.get("method").map_or(Some(1), |value| self.choice(value, &["random", "latin-hypercube"]));
        let points = self.reader.required(&fields, "points", "points = 100");
        let points = points.and_then(|value| self.reader.integer(value, 1, MOST_DRAWN));
        let seed = fields.get("seed").map_or(Some(1), |value| self.reader.integer(value, 0, i128::from(u64::MAX)));
        let over = self.reader.required(&fields, "over", "over = { l2.latency = { from = 100, to = 300 } }");
        let mut spreads = Vec::new();
        for (key, value) in over.map_or_else(Vec::new, |over| self.flat(over)) {
            let spread = match value.get_ref() {
                DeValue::Table(_) => self.range(value).map(|(range, _)| Spread::Range(range)),
                _ => self.values(value).filter(|values| !values.is_empty()).map(Spread::List),
            };
            spreads.extend(spread.map(|spread| (key, spread)));
        }
        let method = if method? == 0 { Method::Random } else { Method::LatinHypercube };
        Some(Sample { method, points: points? as usize, seed: seed? as u64, over: spreads })
    }

    fn constraints(&mut self, value: &Value<'_>) -> Vec<Constraint> {
        let mut constraints = Vec::new();
        for word in self.words(value, "[\"l2.size <= 4MB\"]") {
            match Constraint::parse(&word.text, word.span.clone()) {
                Ok(constraint) => constraints.push(constraint),
                Err(reason) => {
                    let help = "write `l2.size <= 4MB`, `with == 'none' or sm.count % 2 == 0`".to_owned();
                    self.reader.error(word.span, format!("the condition cannot be read: {reason}"), Some(help));
                }
            }
        }
        constraints
    }

    /// A key that is given in two ways would have two values.
    fn refuse_twice(&mut self, plan: &Plan) {
        let grid = plan.grid.iter().map(|axis| &axis.key);
        let sample = plan.sample.iter().flat_map(|sample| sample.over.iter().map(|(key, _)| key));
        let mut listed: Vec<&Word> = plan.list.iter().flatten().map(|(key, _)| key).collect();
        listed.sort_by(|a, b| a.text.cmp(&b.text));
        listed.dedup_by(|a, b| a.text == b.text);
        let mut all: Vec<&Word> = plan.set.iter().map(|(key, _)| key).chain(grid).chain(sample).chain(listed).collect();
        all.sort_by(|a, b| a.text.cmp(&b.text).then(a.span.start.cmp(&b.span.start)));
        for pair in all.windows(2) {
            if pair[0].text == pair[1].text {
                let message = format!("`{}` is given twice", pair[1].text);
                let help = "a key stands in one of `set`, `grid`, `list` and `sample`".to_owned();
                self.reader.error(pair[1].span.clone(), message, Some(help));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        name = "l2"
        programs = ["saxpy", "mine.toml"]
        gpu = "titan-v"
        with = ["none", "bpc"]
        seeds = [1, 2]
        constraints = ["l2.size <= 4MB"]
        invalid = "skip"
        [set]
        dram.channels = 8
        [grid]
        l2.latency = [100, 200]
        "l2.size" = { from = "1MB", to = "4MB", step = "1MB" }
        [[list]]
        clock.core = 1000
        clock.dram = 800
        [sample]
        points = 3
        over.sm.count = { from = 2, to = 8 }
    "#;

    #[test]
    fn a_plan_is_read() {
        let (plan, errors) = parse(GOOD);
        assert_eq!(errors, []);
        assert_eq!(plan.programs.len(), 2);
        assert_eq!((plan.set[0].0.text.as_str(), plan.set[0].1.as_str()), ("dram.channels", "8"));
        let axes: Vec<_> = plan.grid.iter().map(|axis| (axis.key.text.as_str(), axis.values.len())).collect();
        assert_eq!(axes, [("l2.latency", 2), ("l2.size", 4)]);
        assert_eq!(plan.grid[1].values[1], (2 << 20).to_string());
        assert_eq!(plan.list[0].len(), 2);
        let sample = plan.sample.expect("a sample");
        assert_eq!(
            (sample.method, sample.points, sample.over[0].0.text.as_str()),
            (Method::LatinHypercube, 3, "sm.count")
        );
        assert!(plan.skip_invalid);
    }

    #[test]
    fn all_errors_are_told_at_once() {
        let text = "programms = ['saxpy']\ngpu = 3\nconstraints = ['l2.size <']\n\
                    [grid]\nl2.size = 3\nl2.latency = { from = 8, to = 1, step = 1 }\n\
                    [set]\nl2.latency = 4\n[sample]\nmethod = 'sobol'\npoints = 0\n";
        let (_, errors) = parse(text);
        let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        for part in [
            "no key `programms`",
            "`programs` is missing",
            "expected text or a list",
            "cannot be read: something is missing",
            "expected values, found an integer",
            "`from` is larger than `to`",
            "`sobol` is none",
            "out of range",
            "`over` is missing",
        ] {
            assert!(messages.iter().any(|message| message.contains(part)), "{part}: {messages:?}");
        }
    }

    #[test]
    fn seeds_are_one_a_list_or_a_range() {
        let seeds = |text: &str| {
            let (plan, errors) = parse(&format!("programs = 'saxpy'\nseeds = {text}\n"));
            if errors.is_empty() { Ok(plan.seeds) } else { Err(errors[0].message.clone()) }
        };
        assert_eq!(seeds("7"), Ok(vec![7]));
        assert_eq!(seeds("[3, 1]"), Ok(vec![3, 1]));
        assert_eq!(seeds("{ from = 1, to = 3 }"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("{ from = 0, to = 9, step = 4 }"), Ok(vec![0, 4, 8]));
        assert_eq!(seeds("{ from = 0, to = 9, count = 2 }"), Ok(vec![0, 9]));
        for wrong in ["{ from = -1, to = 3 }", "{ from = 0.5, to = 3 }", "{ from = 1, to = 1000000000 }"] {
            assert!(seeds(wrong).is_err_and(|message| message.contains("whole numbers")), "{wrong}");
        }
    }

    #[test]
    fn a_key_has_one_place() {
        let (_, errors) =
            parse("programs = 'saxpy'\n[set]\na.b = 1\n[grid]\na.b = [1, 2]\n[[list]]\nc = 1\n[[list]]\nc = 2\n");
        assert_eq!(errors.len(), 1);
        assert!(errors[0].message.contains("`a.b` is given twice"));
    }
}
