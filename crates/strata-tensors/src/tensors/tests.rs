use super::*;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use proptest::prelude::*;
use std::io::{Cursor, Write};

/// Names and bytes of all tensors, read in pieces of 100 bytes.
fn read(format: Format, file: &[u8]) -> Result<Vec<(String, Vec<u8>)>, TensorError> {
    let mut file = TensorFile::new("folder/file", format, Cursor::new(file))?;
    let mut read: Vec<_> = file.tensors().iter().map(|tensor| (tensor.name.clone(), Vec::new())).collect();
    let mut buffer = [0; 100];
    while let Some(chunk) = file.next_chunk(&mut buffer)? {
        let (_, bytes) = &mut read[chunk.tensor];
        assert_eq!(bytes.len() as u64, chunk.at);
        bytes.extend(&buffer[..chunk.bytes]);
    }
    assert!(read.iter().zip(file.tensors()).all(|((_, bytes), tensor)| bytes.len() as u64 == tensor.bytes));
    Ok(read)
}

#[track_caller]
fn check(format: Format, file: &[u8], tensors: &[(&str, &[u8])]) {
    let read = read(format, file).unwrap_or_else(|error| panic!("{error}"));
    let read: Vec<_> = read.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    assert!(read == tensors, "{:?}", read.iter().map(|(name, bytes)| (name, bytes.len())).collect::<Vec<_>>());
}

#[track_caller]
fn refused(format: Format, file: &[u8], offset: u64, cause: &str) {
    let error = read(format, file).expect_err(cause);
    assert!(error.cause.contains(cause) && error.offset == offset, "{error}");
}

fn numbers(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * i / 7) as u8).collect()
}

#[test]
fn anything_is_a_raw_dump() {
    check(Format::Raw, &numbers(333), &[("file", &numbers(333))]);
    check(Format::Raw, &[], &[("file", &[])]);
    let formats = ["a.safetensors", "a.npy", "a.npz", "a.bin", "npz"].map(|path| Format::of(Path::new(path)));
    assert_eq!(formats, [Format::Safetensors, Format::Npy, Format::Npz, Format::Raw, Format::Raw]);
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

#[test]
fn safetensors_are_read_in_the_order_of_their_bytes() {
    let header = r#"{"__metadata__": {"format": "pt"},
        "b": {"dtype": "F32", "shape": [2, 5], "data_offsets": [200, 240]},
        "empty": {"dtype": "F32", "shape": [0, 5], "data_offsets": [200, 200]},
        "a": {"dtype": "BF16", "shape": [100], "data_offsets": [0, 200]},
        "new": {"dtype": "F3", "shape": [], "data_offsets": [240, 241], "more": [{}]}}"#;
    let data = numbers(241);
    let tensors = [("a", &data[..200]), ("empty", &[]), ("b", &data[200..240]), ("new", &data[240..])];
    check(Format::Safetensors, &safetensors(header, &data), &tensors);
    check(Format::Safetensors, &safetensors("{}", &[]), &[]);
}

#[test]
fn safetensors_that_lie_are_refused() {
    let refuse = |header: &str, at: u64, cause: &str| {
        let start = 8 + header.len() as u64;
        refused(Format::Safetensors, &safetensors(header, &numbers(16)), start + at, cause);
    };
    let one = |name: &str, from: u64, to: u64| {
        format!(
            r#""{name}": {{"dtype": "U8", "shape": [{}], "data_offsets": [{from}, {to}]}}"#,
            to.saturating_sub(from)
        )
    };
    let two = |a: String, b: String| format!("{{{a}, {b}}}");
    refuse(&two(one("a", 0, 9), one("b", 8, 16)), 8, "`b` overlaps the tensor before it, which ends at 9");
    refuse(&two(one("a", 0, 16), one("b", 0, 16)), 0, "`b` overlaps");
    refuse(&two(one("a", 0, 7), one("b", 8, 16)), 7, "the bytes before `b`, from 7 to 8");
    refuse(&format!("{{{}}}", one("a", 0, 15)), 15, "the last 1 bytes");
    refuse(&format!("{{{}}}", one("a", 0, 17)), 0, "`a` ends at byte 17 of the data, which are 16");
    refuse(&format!("{{{}}}", one("a", 0, u64::MAX)), 0, "ends at byte 18446744073709551615");
    refuse(&format!("{{{}}}", one("a", 8, 4)), 8, "before it begins");
    refuse(&two(one("a", 0, 8), one("a", 8, 16)), 8, "two tensors are called `a`");
    refuse(r#"{"a": {"dtype": "F32", "shape": [5], "data_offsets": [0, 16]}}"#, 0, "its shape of F32 does not fill");
    let huge = r#"{"a": {"dtype": "U8", "shape": [4294967296, 4294967296, 4294967296], "data_offsets": [0, 16]}}"#;
    refuse(huge, 0, "does not fill");
}

#[test]
fn headers_of_safetensors_are_not_trusted() {
    let at_header = |header: &str, cause: &str| refused(Format::Safetensors, &safetensors(header, &[]), 8, cause);
    at_header("", "the header cannot be read");
    at_header("[]", "an object that names tensors");
    at_header(&"[".repeat(100_000), "the header cannot be read");
    at_header(&format!("{{\"__metadata__\": {}", "[".repeat(100_000)), "the header cannot be read");
    at_header(r#"{"a": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]}}"#, "invalid value");
    refused(Format::Safetensors, b"short", 0, "too short");
    refused(Format::Safetensors, &[0xff; 50], 0, "claims 18446744073709551615 bytes, 42 follow");
    let many: Vec<_> =
        (0..=MOST_TENSORS).map(|i| format!(r#""{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#)).collect();
    at_header(&format!("{{{}}}", many.join(",")), "more than 262144 tensors");
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// An array of bytes.
fn array(data: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},)}}", data.len()), data)
}

#[test]
fn an_array_is_a_tensor_named_after_the_file() {
    let data = numbers(240);
    check(Format::Npy, &array(&data), &[("file", &data)]);
    check(Format::Npy, &npy("{'descr': '>c8', 'fortran_order': True, 'shape': (5, 6)}", &data), &[("file", &data)]);
    let cut = array(&data)[..200].to_vec();
    let start = array(&[]).len() as u64 + 2;
    refused(Format::Npy, &cut, start, &format!("promises an array of 240 bytes, {} follow", 200 - start));
    refused(Format::Npy, &[array(&data), vec![0]].concat(), start, "promises an array of 240 bytes, 241 follow");
    refused(Format::Npy, b"\x93NUMPY\x01\x00\x10", 0, "ends inside its header");
    refused(Format::Npy, b"PK\x03\x04abcdefgh", 0, "does not begin like a `.npy` file");
}

/// A member of an archive to be made.
#[derive(Clone)]
struct Made {
    name: &'static str,
    method: u16,
    packed: Vec<u8>,
    bytes: u32,
    crc: u32,
    /// Where the directory says that it is, instead of where it is.
    elsewhere: Option<u32>,
    /// Sizes and place as 64-bit numbers.
    wide: bool,
}

fn stored(name: &'static str, data: &[u8]) -> Made {
    let (bytes, crc) = (data.len() as u32, crc32fast::hash(data));
    Made { name, method: 0, packed: data.to_vec(), bytes, crc, elsewhere: None, wide: false }
}

fn deflated(name: &'static str, data: &[u8]) -> Made {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).expect("into memory");
    Made { method: 8, packed: encoder.finish().expect("into memory"), ..stored(name, data) }
}

fn archive(members: &[Made]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for made in members {
        let at = made.elsewhere.unwrap_or(file.len() as u32);
        let (name, packed) = (made.name.as_bytes(), made.packed.len() as u32);
        let name_bytes = (name.len() as u16).to_le_bytes();
        let (sizes, extra) = if made.wide {
            let wide = [made.bytes, packed, at].map(|n| u64::from(n).to_le_bytes()).concat();
            ([u32::MAX; 3], [&[9, 9, 1, 0, 7, 1, 0, 24, 0][..], &wide].concat())
        } else {
            ([made.bytes, packed, at], Vec::new())
        };
        let common = [&made.method.to_le_bytes()[..], &[0; 4], &made.crc.to_le_bytes()].concat();
        let size = |n: u32| n.to_le_bytes();
        file.extend([b"PK\x03\x04\x14\x00\x00\x00", &common[..], &size(packed), &size(made.bytes)].concat());
        file.extend([&name_bytes[..], &[0; 2], name, &made.packed].concat());
        directory
            .extend([b"PK\x01\x02\x14\x00\x14\x00\x00\x00", &common[..], &size(sizes[1]), &size(sizes[0])].concat());
        directory.extend([&name_bytes[..], &(extra.len() as u16).to_le_bytes(), &[0; 10], &size(sizes[2])].concat());
        directory.extend([name, &extra].concat());
    }
    let (start, bytes) = (file.len() as u32, directory.len() as u32);
    let count = (members.len() as u16).to_le_bytes();
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &bytes.to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat();
    [file, directory, end].concat()
}

#[test]
fn archives_hold_arrays_stored_and_deflated() {
    let (long, short) = (numbers(100_000), numbers(3));
    let tensors: &[(&str, &[u8])] = &[("a", &long), ("b/c", &short), ("readme", b"text"), ("z", &[0; 5000])];
    let members = [
        deflated("a.npy", &array(&long)),
        stored("b/c.npy", &array(&short)),
        stored("readme", b"text"),
        deflated("z.npy", &array(&[0; 5000])),
    ];
    check(Format::Npz, &archive(&members), tensors);
    let wide = members.map(|made| Made { wide: true, ..made });
    check(Format::Npz, &archive(&wide), tensors);
    check(Format::Npz, &archive(&[]), &[]);
}

#[test]
fn an_archive_may_end_with_a_comment_or_a_64_bit_directory() {
    let file = archive(&[stored("a", b"data")]);
    let (body, end) = file.split_at(file.len() - 22);
    let comment = b"PK\x05\x06 is how an archive ends";
    let commented = [body, &end[..20], &(comment.len() as u16).to_le_bytes(), comment].concat();
    check(Format::Npz, &commented, &[("a", b"data")]);

    let (bytes, start) = (u64::from(end[12]), u64::from(end[16]));
    let mut end64 = [b"PK\x06\x06".as_slice(), &[0; 36], &bytes.to_le_bytes(), &start.to_le_bytes()].concat();
    let locator = [b"PK\x06\x07\0\0\0\0".as_slice(), &(body.len() as u64).to_le_bytes(), &[0; 4]].concat();
    let narrow = [b"PK\x05\x06\0\0\0\0".as_slice(), &[0xff; 12], &[0, 0]].concat();
    check(Format::Npz, &[body, &end64, &locator, &narrow].concat(), &[("a", b"data")]);
    end64[0] = 0;
    refused(
        Format::Npz,
        &[body, &end64, &locator, &narrow].concat(),
        body.len() as u64,
        "64-bit directory is not there",
    );
}

#[test]
fn archives_that_lie_are_refused() {
    let data = array(&numbers(1000));
    let plain = [stored("a.npy", &data), deflated("b.npy", &data)];
    let second = archive(&plain[..1]).len() - 22 - 46 - 5;
    let change = |index: usize, change: fn(&mut Made)| {
        let mut members = plain.to_vec();
        change(&mut members[index]);
        archive(&members)
    };
    let directory = archive(&plain).len() - 22 - 2 * (46 + 5);
    let refuse = |file: &[u8], at: usize, cause: &str| refused(Format::Npz, file, at as u64, cause);
    refuse(&change(0, |m| m.crc ^= 1), 35, "checksum");
    refuse(&change(1, |m| m.crc ^= 1), second + 35, "checksum");
    refuse(&change(0, |m| m.method = 12), directory, "`a.npy` is packed with method 12");
    refuse(&change(1, |m| m.elsewhere = Some(0)), 0, "overlaps");
    refuse(&change(0, |m| m.elsewhere = Some(7)), 7, "`a.npy` is not here");
    refuse(
        &change(1, |m| m.elsewhere = Some(u32::MAX - 1)),
        u32::MAX as usize - 1,
        "reaches into the archive's directory",
    );
    refuse(&change(0, |m| m.bytes += 1), directory, "claims 1069 bytes, its 1068 packed ones cannot give more");
    refuse(&change(1, |m| m.bytes = u32::MAX - 1), directory + 51, "claims 4294967294 bytes");
    refuse(&change(1, |m| m.bytes -= 1), second + 35, "promises an array of 1000 bytes, 999 follow");
    refuse(&change(1, |m| m.name = "a.npy"), second + 35, "two tensors are called `a`");
    refuse(&change(0, |m| m.packed[0] = 0), 35, "does not begin like a `.npy` file");
    let cut = archive(&plain);
    refuse(&cut[..cut.len() - 1], cut.len() - 1, "does not end like an `.npz` file");
    refuse(&cut[cut.len() - 22..], 0, "beyond its own end");
    refuse(b"PK", 2, "does not end like");
    refuse(&[&cut[..directory], &[0; 102], &cut[directory + 102..]].concat(), directory, "directory is broken");
}

#[test]
fn damaged_code_is_no_panic_and_no_endless_loop() {
    let data = array(&numbers(5000));
    let member = deflated("a", &data);
    // The last bits only say that the code ends.
    let right_or_refused = |packed: Vec<u8>| {
        let read = read(Format::Npz, &archive(&[Made { packed, ..member.clone() }]));
        assert!(read.is_err() || read == Ok(vec![("a".to_owned(), data.clone())]));
    };
    for at in 0..member.packed.len() {
        let mut damaged = member.packed.clone();
        damaged[at] ^= 0x55;
        right_or_refused(damaged);
        right_or_refused(member.packed[..at].to_vec());
    }
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.bin");
    std::fs::write(&path, numbers(1000)).expect("written");
    let mut file = TensorFile::open(&path).expect("it is there");
    File::options().write(true).open(&path).and_then(|file| file.set_len(10)).expect("cut");
    let error = file.next_chunk(&mut [0; 128]).expect_err("it is shorter now").to_string();
    assert!(error.contains("dump.bin`, byte 0: it cannot be read"), "{error}");
    assert!(TensorFile::open(folder.path()).expect_err("a folder").to_string().contains("not a regular file"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        for format in [Format::Safetensors, Format::Npy, Format::Npz, Format::Raw] {
            let _ = read(format, &bytes);
        }
    }

    #[test]
    fn changed_archives_are_read_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut file = archive(&[stored("a.npy", &array(b"some")), deflated("b.npy", &array(&numbers(300)))]);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let _ = read(Format::Npz, &file);
    }
}
