//! How PTX becomes machine instructions, and how long each takes: the rows of a GPU.
//!
//! **Which row an instruction gets.** A pattern is an opcode, then any modifiers: `mul.lo.s32`. It fits a spelling if the
//! opcode is the same and its modifiers occur in the spelling in this order, others between them or not: `ld.global` fits
//! `ld.global.nc.f32` and `ld.volatile.global.u32`, not `ld.shared.f32`. A modifier fits its own scoped forms too: `shared`
//! fits `shared::cta`. Of the patterns that fit, the one with the most words wins, then the first in the alphabet. If none
//! fits, the row named as the instruction's class is taken (`int_mul`); every GPU has one for each class.

use super::kinds::{Kind, Real};
use super::layers::{ROWS, Resolver};
use super::schema::{Key, Section, Written};
use super::steps::{StepList, Steps};
use super::{IsaConfig, OpTiming};
use std::cmp::Reverse;
use strata_core::OpClass;

/// The fields of a row.
pub(super) const ROW_FIELDS: [&str; 4] = ["latency", "interval", "issues", "steps"];

const LATENCY: Real = Real(0.0, 1e5);
const INTERVAL: Real = Real(0.0, 1e5);
const ISSUES: Real = Real(0.0, 1e4);

/// True for what can be a pattern: words of lower-case letters, digits, `_` and `::`, joined by dots.
pub(super) fn is_pattern(pattern: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b':'))
    };
    pattern.len() <= 100 && pattern.split('.').all(word)
}

fn is_class(pattern: &str) -> bool {
    OpClass::ALL.iter().any(|class| class.name() == pattern)
}

/// True if the pattern fits the spelling.
fn fits(pattern: &str, spelling: &str) -> bool {
    let (mut wanted, mut given) = (pattern.split('.'), spelling.split('.'));
    wanted.next() == given.next()
        && wanted.all(|modifier| {
            given.any(|word| word.strip_prefix(modifier).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
        })
}

/// Most words first, then the alphabet; classes after all patterns.
fn order(pattern: &str) -> (bool, Reverse<usize>, &str) {
    (is_class(pattern), Reverse(pattern.split('.').count()), pattern)
}

impl IsaConfig {
    /// How the instruction spelt `spelling` (`mul.wide.s32`), of class `class`, behaves. Meant to be asked once per static
    /// instruction.
    ///
    /// ```
    /// use strata_core::OpClass;
    /// let isa = strata_sim::config::load("titan-x-pascal", &[""; 0]).expect("a preset").config.isa;
    /// assert_eq!(isa.timing("mad.lo.s32", OpClass::IntMul).issues, 3.0);
    /// assert_eq!(isa.timing("cvta.to.global.u64", OpClass::Move).issues, 0.0);
    /// ```
    pub fn timing(&self, spelling: &str, class: OpClass) -> OpTiming {
        let of_class = || self.rows.iter().find(|(pattern, _)| pattern == class.name());
        let row = self.rows.iter().find(|(pattern, _)| !is_class(pattern) && fits(pattern, spelling)).or_else(of_class);
        // Loaded configurations have a row for each class; one that was put together by hand may not.
        row.map_or(OpTiming::of(1.0, 1.0, 1.0), |&(_, timing)| timing)
    }
}

impl OpTiming {
    /// An instruction without steps.
    const fn of(latency: f64, interval: f64, issues: f64) -> Self {
        Self { latency, interval, issues, steps: Steps::NONE }
    }

    /// An instruction of these steps.
    fn of_steps(steps: Steps) -> Self {
        Self { latency: 0.0, interval: 0.0, issues: steps.iter().len() as f64, steps }
    }
}

/// True if a row is its steps: of these and the other fields, what was given later counts.
fn has_steps(resolver: &mut Resolver<'_>, path: &str, pattern: &str) -> bool {
    let layer = |field: &str| resolver.layer_of(&format!("{path}.{pattern}.{field}"));
    let (steps, others) = (layer("steps"), layer("latency").max(layer("interval")).max(layer("issues")));
    if steps.is_some() && steps == others {
        let message = format!("`{pattern}` has `steps` and other fields");
        let help = "steps take what the rows of their classes say: leave the others out".to_owned();
        resolver.refuse(&[&format!("{path}.{pattern}.steps")], message, Some(help));
    }
    steps > others
}

impl Section for Vec<(String, OpTiming)> {
    fn read(resolver: &mut Resolver<'_>, path: &str) -> Self {
        let mut rows = Vec::new();
        for pattern in resolver.patterns() {
            let key = |field: &str| format!("{path}.{pattern}.{field}");
            if has_steps(resolver, path, &pattern) {
                let steps = resolver.optional(&key("steps"), &StepList).unwrap_or_default();
                rows.push((pattern, OpTiming::of_steps(steps)));
                continue;
            }
            let given = resolver.layer_of(&key("issues")).is_some();
            let issues = resolver.optional(&key("issues"), &ISSUES);
            // Folded into another instruction, it takes no time of its own; one whose `issues` is wrong has its error.
            let (latency, interval) = if given && issues.is_none_or(|issues| issues == 0.0) {
                (
                    resolver.optional(&key("latency"), &LATENCY).unwrap_or(0.0),
                    resolver.optional(&key("interval"), &INTERVAL).unwrap_or(0.0),
                )
            } else {
                (resolver.value(&key("latency"), &LATENCY), resolver.value(&key("interval"), &INTERVAL))
            };
            let issues = issues.unwrap_or(1.0);
            rows.push((pattern, OpTiming::of(latency, interval, issues)));
        }
        rows.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        for class in OpClass::ALL {
            let key = format!("{path}.{}.latency", class.name());
            if !rows.iter().any(|(pattern, _)| pattern == class.name()) {
                resolver.value(&key, &LATENCY);
            }
        }
        refuse_steps_of_steps(resolver, path, &rows);
        rows
    }

    fn write(&self, path: &str, out: &mut Vec<Written>) {
        for (pattern, timing) in self {
            let OpTiming { latency, interval, issues, steps } = timing;
            let value = if steps.is_empty() {
                format!(
                    "{{ latency = {}, interval = {}, issues = {} }}",
                    LATENCY.write(latency),
                    INTERVAL.write(interval),
                    ISSUES.write(issues)
                )
            } else {
                format!("{{ steps = {} }}", StepList.write(steps))
            };
            out.push(Written { table: path.to_owned(), name: pattern.clone(), value });
        }
    }

    fn keys(_: &str, out: &mut Vec<Key>) {
        let allowed = [LATENCY.describe(), INTERVAL.describe(), ISSUES.describe(), StepList.describe()];
        for (field, allowed) in ROW_FIELDS.into_iter().zip(allowed) {
            out.push(Key { path: format!("{ROWS}.PATTERN.{field}"), place: ("OpTiming", field), allowed });
        }
    }
}

/// A step is one machine instruction: its class has no steps of its own.
fn refuse_steps_of_steps(resolver: &mut Resolver<'_>, path: &str, rows: &[(String, OpTiming)]) {
    let of_class = |class: OpClass| rows.iter().find(|(pattern, _)| pattern == class.name());
    for (pattern, timing) in rows {
        let composed = timing.steps.iter().find(|step| of_class(step.class).is_some_and(|(_, t)| !t.steps.is_empty()));
        if let Some(step) = composed {
            let message = format!("`{}` is no single machine instruction: it has steps of its own", step.class.name());
            resolver.refuse(&[&format!("{path}.{pattern}.steps")], message, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn isa(patterns: &[&str]) -> IsaConfig {
        let mut rows: Vec<_> = patterns
            .iter()
            .zip(1..)
            .map(|(pattern, n)| (String::from(*pattern), OpTiming::of(1.0, 1.0, f64::from(n))))
            .collect();
        rows.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        IsaConfig {
            rows,
            hoist_window: 0,
            hoist_registers: 0,
            fuse_wide: false,
            branch_cycles: 0,
            guard_cycles: 0,
            predication: false,
            shared_merge: strata_core::Bytes(0),
            constant_merge: strata_core::Bytes(0),
            constant_operands: false,
            unroll: 1,
            reductions: false,
        }
    }

    #[test]
    fn the_most_specific_pattern_wins() {
        let isa = isa(&["mul", "mul.lo.s32", "mul.s32", "mul.wide", "int_mul", "ld.shared", "f32"]);
        let issues = |spelling, class| isa.timing(spelling, class).issues;
        assert_eq!(issues("mul.lo.s32", OpClass::IntMul), 2.0);
        assert_eq!(issues("mul.hi.s32", OpClass::IntMul), 3.0);
        assert_eq!(issues("mul.wide.u32", OpClass::IntMul), 4.0);
        assert_eq!(issues("mul.wide.s32", OpClass::IntMul), 3.0, "a tie: `s32` stands before `wide`");
        assert_eq!(issues("mul.lo.u64", OpClass::IntMul), 1.0);
        assert_eq!(issues("mad.lo.s32", OpClass::IntMul), 5.0, "no pattern fits: the class");
        assert_eq!(issues("ld.volatile.shared::cta.f32", OpClass::Memory), 6.0);
        assert_eq!(issues("f32", OpClass::F32), 7.0);
    }

    #[test]
    fn modifiers_fit_in_order_and_whole() {
        assert!(fits("ld.global", "ld.global.nc.f32"));
        assert!(!fits("ld.f32.global", "ld.global.f32"));
        assert!(!fits("ld.glob", "ld.global.f32"));
        assert!(!fits("ld", "ldu.global.f32"));
    }

    #[test]
    fn what_is_no_pattern() {
        for pattern in ["", ".", "mul.", "Mul", "mul lo", "mül"] {
            assert!(!is_pattern(pattern), "{pattern}");
        }
    }
}
