//! How fast the codecs are, and how small they make things: GB/s of one core to measure, encode and decode entries,
//! and the ratio with the eight sizes of the ideal study. Beside them LZ4 and zstd, which see the whole data at once.
//!
//! Without arguments: on eight kinds of made data, all in one table. Arguments: `--each` for a table per kind; files
//! (raw dumps) to use instead of the made data; anything else is part of the name of a kind or codec to measure alone.

mod data;

use data::Data;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use strata_codec::{Codec, Encoded, Entry, SizeClasses};

/// The fastest of so many passes counts: what others do on the machine only ever slows. A pass takes milliseconds, so
/// that some are not interrupted.
const PASSES: usize = 15;

/// Nanoseconds of the fastest pass, and what it gave.
fn fastest<T>(mut pass: impl FnMut() -> T) -> (f64, T) {
    let mut timed = || {
        let start = Instant::now();
        let given = black_box(pass());
        (start.elapsed().as_nanos() as f64, given)
    };
    (1..PASSES).fold(timed(), |best, _| {
        let this = timed();
        if this.0 < best.0 { this } else { best }
    })
}

/// Time and size, summed over kinds of data.
#[derive(Default)]
struct Row {
    bytes: f64,
    stored: f64,
    size: f64,
    encode: f64,
    decode: f64,
}

impl Row {
    fn print(&self, name: &str) {
        let rate = |time: f64| if time > 0.0 { format!("{:>9.2}", self.bytes / time) } else { format!("{:>9}", "-") };
        let (size, encode, decode) = (rate(self.size), rate(self.encode), rate(self.decode));
        println!("{name:<12} {size} {encode} {decode} {:>9.2}", self.bytes / self.stored);
    }

    fn add_codec(&mut self, codec: Codec, entries: &[Entry]) {
        let (size, stored) =
            fastest(|| entries.iter().map(|entry| u64::from(SizeClasses::IDEAL.bytes(codec.size(entry)))).sum::<u64>());
        let mut encoded: Vec<Encoded> = Vec::with_capacity(entries.len());
        let (encode, ()) = fastest(|| {
            encoded.clear();
            encoded.extend(entries.iter().map(|entry| codec.encode(entry)));
        });
        let (decode, same) = fastest(|| {
            entries
                .iter()
                .zip(&encoded)
                .all(|(entry, stored)| stored.form().decode(stored.bytes()).as_ref() == Ok(entry))
        });
        assert!(same, "{codec} changed an entry");
        self.add(size_of_val(entries), stored as f64, size, encode, decode);
    }

    fn add_lz4(&mut self, bytes: &[u8]) {
        let (encode, packed) = fastest(|| lz4_flex::block::compress(bytes));
        let (decode, back) = fastest(|| lz4_flex::block::decompress(&packed, bytes.len()).expect("it was just packed"));
        assert!(back == bytes, "LZ4 changed the data");
        self.add(bytes.len(), packed.len() as f64, 0.0, encode, decode);
    }

    fn add_zstd(&mut self, bytes: &[u8], level: i32) {
        let (encode, packed) = fastest(|| zstd::bulk::compress(bytes, level).expect("memory suffices"));
        let (decode, back) = fastest(|| zstd::bulk::decompress(&packed, bytes.len()).expect("it was just packed"));
        assert!(back == bytes, "zstd changed the data");
        self.add(bytes.len(), packed.len() as f64, 0.0, encode, decode);
    }

    fn add(&mut self, bytes: usize, stored: f64, size: f64, encode: f64, decode: f64) {
        self.bytes += bytes as f64;
        self.stored += stored;
        self.size += size;
        self.encode += encode;
        self.decode += decode;
    }
}

fn table(title: &str, data: &[Data], codecs: &[Codec]) {
    println!("\n{title:<12} {:>9} {:>9} {:>9} {:>9}", "size", "encode", "decode", "ratio");
    for &codec in codecs {
        let mut row = Row::default();
        for data in data {
            row.add_codec(codec, data.entries());
        }
        row.print(codec.name());
    }
    let mut others = [Row::default(), Row::default(), Row::default()];
    for data in data {
        others[0].add_lz4(data.bytes());
        others[1].add_zstd(data.bytes(), 1);
        others[2].add_zstd(data.bytes(), 3);
    }
    others.iter().zip(["LZ4", "zstd -1", "zstd -3"]).for_each(|(row, name)| row.print(name));
}

fn main() {
    // Cargo itself passes `--bench`.
    let (options, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let (files, names): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| Path::new(word).is_file());
    let mut data = if files.is_empty() { data::kinds() } else { files.iter().map(|file| Data::read(file)).collect() };
    let named = |name: &str| names.iter().any(|part| name.contains(part.as_str()));
    if data.iter().any(|data| named(&data.name)) {
        data.retain(|data| named(&data.name));
    }
    let mut codecs = Codec::ALL.to_vec();
    if codecs.iter().any(|codec| named(codec.name())) {
        codecs.retain(|codec| named(codec.name()));
    }
    println!("GB/s of one core (10^9 bytes per second); ratio of original to stored size");
    if options.iter().any(|option| option == "--each") {
        for data in &data {
            table(&data.name, std::slice::from_ref(data), &codecs);
        }
    }
    table("all", &data, &codecs);
}
