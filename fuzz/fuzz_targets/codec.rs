//! Every codec gives back any entry, and says beforehand how large it will be; any bytes are decoded or refused, and what
//! they decode to is an entry like any other.
//!
//! `cargo +nightly fuzz run codec -- -max_len=128`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_codec::{Codec, ENTRY_BYTES, Entry, Form, Scheme};

fuzz_target!(|bytes: &[u8]| {
    let mut entry = [0; ENTRY_BYTES];
    entry.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    round_trip(&entry);
    for scheme in Scheme::ALL {
        if let Ok(entry) = Form::Coded(scheme).decode(bytes) {
            round_trip(&entry);
        }
    }
});

fn round_trip(entry: &Entry) {
    for codec in Codec::ALL {
        let stored = codec.encode(entry);
        assert_eq!(stored.size(), codec.size(entry), "{codec}");
        assert_eq!(stored.bytes().len(), stored.size().bytes(), "{codec}");
        assert_eq!(stored.form().decode(stored.bytes()).as_ref(), Ok(entry), "{codec}");
    }
}
