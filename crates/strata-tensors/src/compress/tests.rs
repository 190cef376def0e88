use super::*;
use serde_json::json;

/// A folder of files, and what is asked of them.
fn measured(files: &[(&str, Vec<u8>)], change: impl FnOnce(&mut CompressRequest)) -> Result<Compression, LabError> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut request = CompressRequest {
        files: Vec::new(),
        codecs: Codec::ALL.to_vec(),
        heat_maps: Some(folder.path().join("maps")),
        rule: Rule::default(),
        cached: false,
    };
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, bytes).expect("written");
        request.files.push(path);
    }
    change(&mut request);
    let mut last = 0;
    let done = compress(&request, &mut |progress| {
        assert!(progress.done > last && progress.done <= progress.of);
        last = progress.done;
    })?;
    for file in &done.files {
        assert!(file.heat_map.as_ref().is_none_or(|map| map.is_file()));
    }
    Ok(done)
}

/// Words that are hard to compress: remainders of powers.
fn noise(bytes: usize) -> Vec<u8> {
    let mut power = 1u64;
    let words = std::iter::repeat_with(|| {
        power = power * 48_271 % 0x7fff_ffff;
        (power as u32).wrapping_mul(2_654_435_761).to_le_bytes()
    });
    words.flatten().take(bytes).collect()
}

/// Words that grow by three: 8 bytes with BPC.
fn counting(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).flat_map(|i| (1000 + 3 * i).to_le_bytes()).take(bytes).collect()
}

#[test]
fn every_entry_of_every_chunk_is_counted_once() {
    // More than one chunk, and a last entry that is not whole.
    let file = [noise(1 << 20), counting(1 << 20), vec![0; (1 << 20) + 5]].concat();
    let done = measured(&[("a.bin", file.clone())], |_| ()).expect("any bytes");
    let [only] = &done.files[..] else { panic!("one file") };
    let total = only.total();
    assert_eq!((only.bytes(), total.entries), (file.len() as u64, 3 * 8192 + 1));
    let expected: Vec<_> = Codec::ALL
        .iter()
        .map(|codec| {
            let mut padded = file.clone();
            padded.resize(padded.len().next_multiple_of(128), 0);
            let sizes = padded
                .as_chunks()
                .0
                .iter()
                .map(|entry| u64::from(strata_buddy::counts::CLASSES.bytes(codec.size(entry))));
            Some(padded.len() as f64 / sizes.sum::<u64>() as f64)
        })
        .collect();
    assert_eq!(Codec::ALL.map(|codec| total.ratio(codec)).to_vec(), expected);
    assert_eq!(total.sizes, [8193, 8192, 0, 0, 0, 0, 0, 8192]);
    assert!((only.values.zero_share() - 0.42).abs() < 0.02, "{}", only.values.zero_share());
}

#[test]
fn the_same_every_time() {
    let file = [noise(3 << 20), counting(1 << 20)].concat();
    let run = || {
        let mut json = measured(&[("a.bin", file.clone())], |request| request.heat_maps = None).expect("any").to_json();
        json["seconds"] = json!(null);
        json["files"][0]["path"] = json!(null);
        json.to_string()
    };
    assert_eq!(run(), run());
}

#[test]
fn a_file_is_a_snapshot_of_its_tensors() {
    let target = |files: &[(&str, Vec<u8>)]| {
        let done = measured(files, |_| ()).expect("any bytes");
        let targets: Vec<_> = done.choice.targets.iter().map(|(name, target)| (name.to_owned(), target)).collect();
        targets
    };
    let (zero, counted, noise) = (vec![0; 12800], counting(12800), noise(128_000));
    let is = |name: &str, target| (name.to_owned(), target);
    // Alone, zeros are held at 4x by the cap; beside much else they are not.
    assert_eq!(target(&[("a", zero.clone())]), [is("a", Target::X4)]);
    assert_eq!(target(&[("a", zero.clone()), ("b", noise.clone())]), [is("a", Target::X16), is("b", Target::X1)]);
    // Two snapshots of `a`: the worse decides.
    let snapshots = [("0/a", zero), ("1/a", noise[..12800].to_vec()), ("b", counted)];
    assert_eq!(target(&snapshots), [is("a", Target::X1), is("b", Target::X16)]);
}

#[test]
fn json_has_the_names_that_scripts_read() {
    let header = r#"{"w": {"dtype": "U8", "shape": [128], "data_offsets": [0, 128]}}"#;
    let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 128]].concat();
    let done = measured(&[("m.safetensors", file)], |request| {
        request.codecs = vec![Codec::Bdi];
        request.heat_maps = None;
    });
    let json = done.expect("sound").to_json();
    let file = &json["files"][0];
    assert_eq!(file["tensors"], json!([{ "name": "w", "bytes": 128, "ratio": null, "target": 4.0 }]));
    assert_eq!(
        (&file["bytes"], &file["ratio"], &file["heat_map"]),
        (&json!(128), &json!({ "bdi": null }), &json!(null))
    );
    assert!(json["seconds"].is_f64());
}

#[test]
fn heat_maps_of_files_of_the_same_name_do_not_meet() {
    let files = ["0/a.bin", "1/a.bin", "a.bin-2"].map(|name| (name, counting(500)));
    let done = measured(&files, |_| ()).expect("any bytes");
    let names: Vec<_> = done.files.iter().filter_map(|file| file.heat_map.as_ref()?.file_name()).collect();
    assert_eq!(names, ["a.bin.png", "a.bin-2.png", "a.bin-2-2.png"]);
}

#[test]
fn all_bad_files_are_named_before_anything_is_measured() {
    let error =
        measured(&[("a.npz", vec![1]), ("b.bin", vec![2]), ("c.npy", vec![3])], |_| ()).expect_err("two are bad");
    let text = error.render(false);
    assert!(text.matches("error: `").count() == 2 && text.contains("a.npz") && text.contains("c.npy"), "{text}");
    let error = measured(&[], |request| request.rule.threshold = 30.0).expect_err("percent");
    assert!(error.to_string().contains("from 0 to 1, not 30"));
}
