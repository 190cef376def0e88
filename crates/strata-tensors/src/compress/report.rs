//! What was measured, for people and for scripts.

use super::{Codec, Compression, FileCompression, Target, TensorCounts};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use strata_buddy::counts::CLASSES;
use strata_core::Bytes;
use strata_run::table::{Align, columns, grouped};

impl FileCompression {
    /// Bytes of its tensors.
    pub fn bytes(&self) -> u64 {
        self.tensors.iter().map(|(_, bytes, _)| bytes).sum()
    }

    /// All its tensors together.
    pub fn total(&self) -> TensorCounts {
        let mut total = TensorCounts::default();
        self.tensors.iter().for_each(|(_, _, counts)| total.merge(counts));
        total
    }

    fn table(&self, codecs: &[Codec], target: impl Fn(&str) -> Target) -> String {
        let total = self.total();
        let mut out = format!(
            "{}: {} in {}, {} entries; {} of the bytes are zero, entropy {:.2} bits per byte\n\n",
            self.path.display(),
            Bytes(self.bytes()),
            counted(self.tensors.len(), "tensor"),
            grouped(total.entries),
            percent(self.values.zero_share()),
            self.values.entropy(),
        );
        let rows: Vec<_> = codecs.iter().map(|&codec| vec![codec.to_string(), ratio(&total, codec)]).collect();
        out += &columns(&[("codec", Align::Left), ("ratio", Align::Right)], &rows);
        let sizes = CLASSES.all().iter().zip(total.sizes);
        let rows: Vec<_> = sizes
            .map(|(bytes, entries)| {
                let share = entries as f64 / total.entries.max(1) as f64;
                vec![format!("{bytes} B"), grouped(entries), percent(share)]
            })
            .collect();
        let headings = [("size with BPC", Align::Right), ("entries", Align::Right), ("share", Align::Right)];
        let _ = write!(out, "\n{}", columns(&headings, &rows));
        let row = |(name, bytes, counts): &(String, u64, TensorCounts)| {
            let name_shown = name.replace(char::is_control, "\u{fffd}");
            vec![name_shown, grouped(*bytes), ratio(counts, Codec::Bpc), target(name).to_string()]
        };
        let rows: Vec<_> = self.tensors.iter().map(row).collect();
        let headings =
            [("tensor", Align::Left), ("bytes", Align::Right), ("ratio", Align::Right), ("target", Align::Right)];
        let _ = write!(out, "\n{}", columns(&headings, &rows));
        if let Some(path) = &self.heat_map {
            let _ = write!(out, "\nheat map: {}\n", path.display());
        }
        out
    }

    fn to_json(&self, codecs: &[Codec], target: impl Fn(&str) -> Target) -> Value {
        let total = self.total();
        let ratios: Map<_, _> = codecs.iter().map(|&c| (c.name().to_owned(), total.ratio(c).into())).collect();
        let sizes = CLASSES.all().iter().zip(total.sizes);
        let sizes: Map<_, _> = sizes.map(|(bytes, entries)| (bytes.to_string(), entries.into())).collect();
        let tensor = |(name, bytes, counts): &(String, u64, TensorCounts)| {
            json!({
                "name": name,
                "bytes": bytes,
                "ratio": counts.ratio(Codec::Bpc),
                "target": three_decimals(target(name).ratio()),
            })
        };
        let tensors: Vec<_> = self.tensors.iter().map(tensor).collect();
        json!({
            "path": self.path.display().to_string(),
            "bytes": self.bytes(),
            "entries": total.entries,
            "ratio": ratios,
            "bpc_sizes": sizes,
            "zero_byte_share": self.values.zero_share(),
            "entropy": self.values.entropy(),
            "heat_map": self.heat_map.as_ref().map(|path| path.display().to_string()),
            "tensors": tensors,
        })
    }
}

impl Compression {
    /// Everything, as `strata compress` prints it.
    pub fn table(&self) -> String {
        let target = |name: &str| self.choice.targets.get(name);
        let mut out: String = self.files.iter().map(|file| file.table(&self.codecs, target) + "\n").collect();
        let _ = writeln!(
            out,
            "targets with a Buddy Threshold of {}: {:.2} times the memory, {} of the entries need buddy memory",
            percent(self.rule.threshold),
            self.choice.outcome.ratio(),
            percent(self.choice.outcome.buddy_accesses()),
        );
        if let Some(cached) = &self.cached {
            let (held, taken) = cached.outcome.footprint();
            let _ = writeln!(
                out,
                "in {} of a caching allocator: {} take {} of the device, {:.2} times the memory",
                counted(cached.targets.iter().count(), "segment"),
                Bytes(held as u64),
                Bytes(taken as u64),
                cached.outcome.ratio(),
            );
        }
        let repeated = self.repeated();
        if repeated > 0 {
            let _ = writeln!(
                out,
                "{} in several files: each file is a snapshot, and a target holds in the worst",
                if repeated == 1 {
                    "1 tensor is".to_owned()
                } else {
                    format!("{} tensors are", grouped(repeated as u64))
                },
            );
        }
        let bytes: u64 = self.files.iter().map(FileCompression::bytes).sum();
        let _ = writeln!(out, "{} in {:.2} s", Bytes(bytes), self.seconds);
        out
    }

    /// Tensors that are in more than one file.
    fn repeated(&self) -> usize {
        let mut files = BTreeMap::<&str, usize>::new();
        for (name, ..) in self.files.iter().flat_map(|file| &file.tensors) {
            *files.entry(name).or_default() += 1;
        }
        files.values().filter(|&&count| count > 1).count()
    }

    /// Everything for scripts. A ratio is null where nothing is stored: there is no entry, or all are zero.
    pub fn to_json(&self) -> Value {
        let target = |name: &str| self.choice.targets.get(name);
        let files: Vec<_> = self.files.iter().map(|file| file.to_json(&self.codecs, target)).collect();
        json!({
            "files": files,
            "targets": {
                "threshold": self.rule.threshold,
                "mostly_zero": self.rule.mostly_zero,
                "ratio": self.choice.outcome.ratio(),
                "buddy_accesses": self.choice.outcome.buddy_accesses(),
            },
            "cached": self.cached.as_ref().map(|cached| json!({
                "segments": cached.targets.iter().count(),
                "bytes": cached.outcome.footprint().0 as u64,
                "device": cached.outcome.footprint().1 as u64,
                "ratio": cached.outcome.ratio(),
                "buddy_accesses": cached.outcome.buddy_accesses(),
            })),
            "seconds": self.seconds,
        })
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{} {what}s", grouped(count as u64)) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn ratio(counts: &TensorCounts, codec: Codec) -> String {
    let nothing = if counts.entries == 0 { "-" } else { "all zero" };
    counts.ratio(codec).map_or_else(|| nothing.to_owned(), |ratio| format!("{ratio:.2}"))
}

/// 4/3 as scripts know it: 1.333.
fn three_decimals(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
