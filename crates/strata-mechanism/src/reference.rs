//! Mechanisms and their settings, for people and for scripts.

use crate::{Mechanism, Registry};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use strata_core::settings::Setting;
use strata_core::text::{Align, columns, wrapped};

/// Columns of a terminal that text is broken for.
const WIDTH: usize = 100;

fn default_of(setting: &Setting) -> &'static str {
    if setting.default.is_empty() { "none" } else { setting.default }
}

/// Mechanisms and how many settings each has, as text.
pub fn list_table(mechanisms: &[Arc<dyn Mechanism>]) -> String {
    let headings = [("mechanism", Align::Left), ("settings", Align::Right), ("what it does", Align::Left)];
    let row =
        |m: &Arc<dyn Mechanism>| vec![m.name().to_owned(), m.settings().len().to_string(), m.description().to_owned()];
    columns(&headings, &mechanisms.iter().map(row).collect::<Vec<_>>())
}

/// Which mechanisms go together two by two, and why others do not.
pub fn matrix(registry: &Registry) -> String {
    let names: Vec<_> = registry.names().collect();
    let headings: Vec<_> = [("", Align::Left)].into_iter().chain(names.iter().map(|n| (*n, Align::Left))).collect();
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let mut rows = Vec::new();
    for (k, a) in names.iter().enumerate() {
        let mut row = vec![(*a).to_owned()];
        for (l, b) in names.iter().enumerate() {
            row.push(if l >= k { String::new() } else { matrix_cell(registry, b, a, &mut reasons) });
        }
        rows.push(row);
    }
    let mut out = columns(&headings, &rows);
    for (number, (why, pairs)) in (1..).zip(&reasons) {
        out += "\n";
        out += &wrapped(&format!("{number}: {why}: {}", pairs.join(", ")), WIDTH, 0);
    }
    out
}

/// The same as JSON: every pair, and why it is refused if it is.
pub fn matrix_json(registry: &Registry) -> Value {
    let names: Vec<_> = registry.names().collect();
    let pairs = names.iter().enumerate().flat_map(|(k, a)| names[k + 1..].iter().map(move |b| format!("{a}+{b}")));
    let told = |pair: String| match registry.combination(&pair) {
        Ok(_) => json!({ "pair": pair, "together": true }),
        Err(error) => json!({ "pair": pair, "together": false, "why": error.to_string() }),
    };
    json!({ "pairs": pairs.map(told).collect::<Vec<_>>() })
}

/// `yes`, or the number of the reason why not.
fn matrix_cell(registry: &Registry, a: &str, b: &str, reasons: &mut Vec<(String, Vec<String>)>) -> String {
    let pair = format!("{a}+{b}");
    let Err(error) = registry.combination(&pair) else { return "yes".to_owned() };
    let text = error.to_string();
    let why = text.split_once("do not go together: ").map_or(text.as_str(), |(_, why)| why).to_owned();
    let at = reasons.iter().position(|(known, _)| *known == why).unwrap_or_else(|| {
        reasons.push((why, Vec::new()));
        reasons.len() - 1
    });
    reasons[at].1.push(pair);
    (at + 1).to_string()
}

/// A mechanism with its settings, as text.
pub fn table(mechanism: &dyn Mechanism) -> String {
    let mut out = wrapped(&format!("{}: {}", mechanism.name(), mechanism.description()), WIDTH, 0);
    for s in mechanism.settings() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{}.{} = {}", mechanism.name(), s.key, default_of(s));
        out += &wrapped(s.meaning, WIDTH, 4);
        out += &wrapped(&format!("allowed: {}", s.allowed.describe()), WIDTH, 4);
        out += &wrapped(&format!("default from: {}", s.source), WIDTH, 4);
    }
    out
}

/// All mechanisms and their settings with the sources of their defaults, as Markdown behind an introduction.
pub fn reference(registry: &Registry, introduction: &str) -> String {
    let mut out = introduction.to_owned();
    for mechanism in registry.all() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n## `{}`\n\n{}.\n", mechanism.name(), mechanism.description());
        if mechanism.settings().is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "| setting | default | allowed | meaning | source of the default |\n| --- | --- | --- | --- | --- |"
        );
        for s in mechanism.settings() {
            let (name, default, allowed) = (mechanism.name(), default_of(s), s.allowed.describe());
            let _ = writeln!(out, "| `{name}.{}` | {default} | {allowed} | {} | {} |", s.key, s.meaning, s.source);
        }
    }
    out
}

/// The same of some as JSON.
pub fn to_json(mechanisms: &[Arc<dyn Mechanism>]) -> Value {
    let setting = |s: &Setting| {
        json!({
            "key": s.key, "default": s.default, "allowed": s.allowed.describe(), "meaning": s.meaning, "source": s.source,
        })
    };
    let one = |m: &Arc<dyn Mechanism>| {
        let settings: Vec<_> = m.settings().iter().map(setting).collect();
        json!({ "name": m.name(), "description": m.description(), "settings": settings })
    };
    json!({ "mechanisms": mechanisms.iter().map(one).collect::<Vec<_>>() })
}
