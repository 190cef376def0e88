//! Every codec gives back every entry, and says beforehand how large it will be; decoding stands any bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use strata_codec::{Codec, DecodeError, ENTRY_BYTES, Entry, Form, Scheme, SizeClasses};

fn from_words(words: &[u32]) -> Entry {
    std::array::from_fn(|i| (words[i / 4] >> (i % 4 * 8)) as u8)
}

fn from_longs(longs: &[u64]) -> Entry {
    std::array::from_fn(|i| (longs[i / 8] >> (i % 8 * 8)) as u8)
}

/// A linear congruential generator's upper half.
fn random() -> impl FnMut() -> u32 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 32) as u32
    }
}

/// Entries of the kinds that programs have, each with a few words that do not fit in.
fn entries() -> impl Strategy<Value = Entry> {
    let words = || vec(any::<u32>(), 32);
    let kinds = prop_oneof![
        words().prop_map(|words| from_words(&words)),
        Just([0; ENTRY_BYTES]),
        // Small numbers, unsigned and signed, and numbers near a base.
        (words(), 0u32..32)
            .prop_map(|(words, shift)| from_words(&words.iter().map(|w| w >> shift).collect::<Vec<_>>())),
        (words(), 0u32..32, any::<u32>()).prop_map(|(words, shift, base)| {
            let near = |word: &u32| base.wrapping_add((*word as i32 >> shift) as u32);
            from_words(&words.iter().map(near).collect::<Vec<_>>())
        }),
        // Steps, of words and of 8-byte values.
        (any::<u32>(), any::<u32>(), 0u32..32).prop_map(|(base, step, shift)| {
            from_words(&(0..32).map(|i| base.wrapping_add((step >> shift).wrapping_mul(i))).collect::<Vec<_>>())
        }),
        (any::<u64>(), any::<u64>(), 0u32..64).prop_map(|(base, step, shift)| {
            from_longs(&(0..16).map(|i| base.wrapping_add((step >> shift).wrapping_mul(i))).collect::<Vec<_>>())
        }),
        // Floating-point numbers of one size.
        vec(0.5f32..2.0, 32).prop_map(|floats| from_words(&floats.into_iter().map(f32::to_bits).collect::<Vec<_>>())),
        vec(any::<f64>(), 16).prop_map(|floats| from_longs(&floats.into_iter().map(f64::to_bits).collect::<Vec<_>>())),
        // A few values, over and over.
        vec(any::<u64>(), 1..4).prop_map(|few| from_longs(&few.iter().copied().cycle().take(16).collect::<Vec<_>>())),
        vec(any::<u8>(), 1..20).prop_map(|few| few
            .iter()
            .copied()
            .cycle()
            .take(ENTRY_BYTES)
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()),
    ];
    (kinds, vec((0..ENTRY_BYTES, any::<u8>()), 0..4)).prop_map(|(mut entry, changes)| {
        for (at, byte) in changes {
            entry[at] = byte;
        }
        entry
    })
}

/// All forms that an entry can be stored in.
fn forms() -> impl Iterator<Item = Form> {
    [Form::Zero, Form::Repeated, Form::Raw].into_iter().chain(Scheme::ALL.map(Form::Coded))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_entry_comes_back(entry in entries()) {
        for codec in Codec::ALL {
            let stored = codec.encode(&entry);
            prop_assert_eq!(stored.size(), codec.size(&entry), "{}", codec);
            prop_assert_eq!(stored.bytes().len(), stored.size().bytes(), "{}", codec);
            prop_assert_eq!(stored.form().decode(stored.bytes()), Ok(entry), "{}", codec);
        }
    }

    /// A memory gives back whole sectors, whose rest holds what was there before.
    #[test]
    fn bytes_after_a_code_do_not_matter(entry in entries(), before: [u8; 32]) {
        for codec in Codec::ALL {
            let stored = codec.encode(&entry);
            let mut sectors = before.repeat(SizeClasses::SECTORS.index(stored.size()));
            sectors[..stored.bytes().len()].copy_from_slice(stored.bytes());
            prop_assert_eq!(stored.form().decode(&sectors), Ok(entry), "{}", codec);
        }
    }

    #[test]
    fn a_code_without_its_last_byte_is_too_short(entry in entries()) {
        for codec in Codec::ALL {
            let stored = codec.encode(&entry);
            if let Some((_, shorter)) = stored.bytes().split_last() {
                let error = DecodeError::TooShort { form: stored.form(), bytes: shorter.len() };
                prop_assert_eq!(stored.form().decode(shorter), Err(error), "{}", codec);
            }
        }
    }

    #[test]
    fn any_bytes_can_be_decoded_or_refused(bytes in vec(any::<u8>(), 0..140), zeros in 0usize..140) {
        let mut sparse = vec![0; zeros];
        sparse.extend(&bytes);
        for form in forms() {
            for bytes in [&bytes, &sparse] {
                if let Err(error) = form.decode(bytes) {
                    prop_assert!(!error.to_string().is_empty());
                }
            }
        }
    }

    #[test]
    fn the_better_of_two(entry in entries()) {
        let better = Codec::Bdi.size(&entry).min(Codec::Fpc.size(&entry));
        prop_assert_eq!(Codec::BdiFpc.size(&entry), better);
    }
}

#[test]
fn forms_that_need_no_code() {
    let repeated = from_longs(&[0x0102_0304_0506_0708; 16]);
    let noise = from_words(&std::iter::repeat_with(random()).take(32).collect::<Vec<_>>());
    for codec in Codec::ALL {
        let zero = codec.encode(&[0; ENTRY_BYTES]);
        assert_eq!((zero.form(), zero.size().bits(), zero.bytes()), (Form::Zero, 0, &[][..]), "{codec}");

        let raw = codec.encode(&noise);
        assert_eq!((raw.form(), raw.size().bits(), raw.bytes()), (Form::Raw, 1024, &noise[..]), "{codec}");

        let has_form = matches!(codec, Codec::Bdi | Codec::BdiFpc);
        assert_eq!(codec.encode(&repeated).form() == Form::Repeated, has_form, "{codec}");
    }
    let stored = Codec::Bdi.encode(&repeated);
    assert_eq!((stored.size().bits(), stored.bytes()), (64, &[8, 7, 6, 5, 4, 3, 2, 1][..]));
}

/// 4 bits per entry (Buddy Compression, section III) tell size class and form, whatever the codec.
#[test]
fn metadata_fits_four_bits() {
    let mut next = random();
    let mut entries = vec![[0; ENTRY_BYTES], from_longs(&[u64::MAX / 3; 16])];
    for shift in 0..32 {
        for kept in 1..=32 {
            let words: Vec<_> = (0..32).map(|i| if i < kept { next() >> shift } else { 0 }).collect();
            entries.push(from_words(&words));
            let base = next();
            entries.push(from_words(&words.iter().map(|word| base.wrapping_add(*word)).collect::<Vec<_>>()));
        }
        let long = u64::from(next()) << 32;
        entries.push(from_longs(&(0..16).map(|i| long + (i << shift)).collect::<Vec<_>>()));
    }
    for codec in Codec::ALL {
        let mut states = Vec::new();
        for entry in &entries {
            let stored = codec.encode(entry);
            // A region with a 16x target stores 8 B where it can, the others whole sectors.
            for classes in [SizeClasses::BUDDY, SizeClasses::SECTORS] {
                let state = (stored.form(), classes.bytes(stored.size()));
                if !states.contains(&state) {
                    states.push(state);
                }
            }
        }
        assert!((4..=12).contains(&states.len()), "{codec}: {states:?}");
    }
}

#[test]
fn codecs_have_names() {
    for codec in Codec::ALL {
        assert_eq!(codec.to_string().parse(), Ok(codec));
    }
    let error = "lz4".parse::<Codec>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no codec `lz4`; there are bpc, bdi, fpc, bdi+fpc, c-pack, zero-value, fibonacci, mpc"
    );
}

#[test]
fn errors_say_what_to_look_at() {
    let check = |form: Form, bytes: &[u8], message: &str| {
        assert_eq!(form.decode(bytes).unwrap_err().to_string(), message);
    };
    check(
        Form::Raw,
        &[0; 96],
        "an entry stored as Raw goes on after its 96 bytes; was its size class read from the right metadata?",
    );
    check(
        Form::Coded(Scheme::CPack),
        &[0xf0; 32],
        "no entry has this CPack code: 1111 begins no code (before bit 4); is it the form it was stored in?",
    );
}
