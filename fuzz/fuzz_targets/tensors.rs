//! Any bytes are read as a file of tensors, in each format, without a panic; the sizes that were promised are those that are
//! read, and no file unpacks to more than deflate can give.
//!
//! `cargo +nightly fuzz run tensors -- -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use strata_lab::tensors::{Format, TensorFile};

fuzz_target!(|bytes: &[u8]| {
    for format in [Format::Safetensors, Format::Npy, Format::Npz, Format::Raw] {
        let Ok(mut file) = TensorFile::new("fuzz", format, Cursor::new(bytes)) else { continue };
        assert!(file.bytes() <= 1032 * bytes.len() as u64);
        let mut left: Vec<_> = file.tensors().iter().map(|tensor| tensor.bytes).collect();
        let mut buffer = [0; 1024];
        loop {
            match file.next_chunk(&mut buffer) {
                Ok(Some(chunk)) => {
                    assert_eq!(chunk.at + left[chunk.tensor], file.tensors()[chunk.tensor].bytes);
                    left[chunk.tensor] -= chunk.bytes as u64;
                }
                Ok(None) => {
                    assert!(left.iter().all(|&bytes| bytes == 0));
                    break;
                }
                Err(_) => break,
            }
        }
    }
});
