//! Models as a whole: that they learn, the same at any number of threads, that what is saved comes back, that one prediction has
//! the bits of many, and that damaged files are told.

use crate::access::{Access, Cluster, Feature, Unit};
use crate::baseline::Baseline;
use crate::checkpoint::Trained;
use crate::dataset::{Dataset, HISTORY, Protocol, Split, Task, Vocabularies};
use crate::inference::Predictor;
use crate::model::{Model, Workspace};
use crate::online::{Online, Rules};
use crate::quantise::Precision;
use crate::score::Score;
use crate::spec::{Kind, Spec};
use crate::train::{Plan, State, evaluate, train};
use std::path::Path;

/// Four warps of two SMs that each walk through deltas whose turn depends on the one two before: 1, 1, 5, 5, 1, 1, ... pages, with
/// a jump after every seventh. Neither the last delta nor the commonest tells the next one.
fn requests(count: usize) -> Vec<Access> {
    let mut accesses = Vec::new();
    for k in 0..count as u64 {
        let (warp, turn) = (k % 4, k / 4);
        let jumps = turn / 7 * 40;
        let page = (0..turn).map(|t| if t / 2 % 2 == 0 { 1 } else { 5 }).sum::<u64>() + jumps;
        let (sm, pc) = (warp as u32 / 2, (turn % 3) as u32 * 8);
        let warp = warp as u32;
        accesses.push(Access { cycle: k, instructions: k, warp, sm, pc, page: page << 12, ..Access::default() });
    }
    accesses
}

fn data(kind: Kind) -> (Vec<Access>, Dataset, Split, Vocabularies) {
    let accesses = requests(3000);
    let data = Dataset::new(&accesses, kind.task(1)).expect("long enough");
    let split = data.split(Protocol::Paper, 1, 1000);
    let words = data.vocabularies(data.samples(), 100);
    (accesses, data, split, words)
}

fn small(kind: Kind, data: &Dataset, words: &Vocabularies) -> Model {
    let mut spec = Spec::new(kind, data.task(), words);
    // The paper's width takes minutes.
    spec.hidden = spec.hidden.min(32);
    Model::new(spec)
}

fn trained(kind: Kind, threads: usize, epochs: usize) -> (Model, Vec<Access>, Dataset, Split, Vocabularies) {
    let (accesses, data, split, words) = data(kind);
    let mut model = small(kind, &data, &words);
    let plan = Plan { epochs, rate: 5e-3, patience: None, threads, ..Plan::default() };
    let mut state = State::new(&model);
    train(&mut model, (&data, &split, &words), &plan, &mut state, &mut |_| (), &mut |_, _| ());
    (model, accesses, data, split, words)
}

#[test]
fn small_models_learn_what_the_simplest_tables_do_not() {
    for (kind, epochs) in [(Kind::Revised, 6), (Kind::Distilled, 40)] {
        let (model, accesses, data, split, words) = trained(kind, 2, epochs);
        let score = |precision| evaluate(&model, precision, (&data, &words), &split.test, 2).1;
        let [float, four] = [Precision::Float, Precision::FourBit].map(score);
        let best = |baseline: Baseline| baseline.score(&accesses, &data, &split, &words.labels).top1;
        let simple = best(Baseline::Majority).max(best(Baseline::LastDelta));
        // The stated margin: twenty of a hundred better than the better of the simplest tables.
        assert!(float.top1 > simple + 0.2, "{}: {} against {simple}", kind.name(), float.top1);
        assert!(four.top1 > float.top1 - 0.15, "{}: four bits {} of {}", kind.name(), four.top1, float.top1);
    }
}

#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    let [one, three] = [1, 3].map(|threads| trained(Kind::Revised, threads, 1).0);
    assert_eq!(one.parameters(), three.parameters());
}

#[test]
fn every_parameter_of_every_model_is_trained() {
    for kind in Kind::ALL {
        let (_, data, split, words) = data(kind);
        let mut model = small(kind, &data, &words);
        let before = model.parameters().to_vec();
        let plan = Plan { epochs: 1, ..Plan::default() };
        let few = Split { train: split.train[..64].to_vec(), validate: split.train[..32].to_vec(), test: Vec::new() };
        let mut state = State::new(&model);
        train(&mut model, (&data, &few, &words), &plan, &mut state, &mut |_| (), &mut |_, _| ());
        for tensor in model.parameters().tensors() {
            let moved = tensor.range.clone().any(|at| model.parameters()[at] != before[at]);
            assert!(moved, "{}: `{}` never moves", kind.name(), tensor.name);
        }
    }
}

#[test]
fn a_training_goes_on_where_it_stopped() {
    let (_, data, split, words) = data(Kind::Distilled);
    let all = (&data, &split, &words);
    let plan = |epochs| Plan { epochs, patience: Some(9), ..Plan::default() };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("half.safetensors");
    let mut whole = small(Kind::Distilled, &data, &words);
    let mut state = State::new(&whole);
    let mut saved = |model: &Model, state: &State| {
        if state.curve.len() == 1 {
            let copy = copied(model);
            as_trained(copy, &data, &words, Precision::Float).save(&path, Some(state)).expect("saved");
        }
    };
    train(&mut whole, all, &plan(2), &mut state, &mut |_| (), &mut saved);
    let (half, state) = Trained::load(&path).expect("whole");
    let (mut model, mut state) = (half.model, state.expect("a state"));
    train(&mut model, all, &plan(2), &mut state, &mut |_| (), &mut |_, _| ());
    assert_eq!(model.parameters(), whole.parameters());
}

fn copied(model: &Model) -> Model {
    let mut copy = Model::new(model.spec().clone());
    copy.parameters_mut().copy_from_slice(model.parameters());
    copy
}

fn as_trained(model: Model, data: &Dataset, words: &Vocabularies, precision: Precision) -> Trained {
    Trained { task: data.task().clone(), words: words.clone(), model, precision, origin: "a test".into() }
}

#[test]
fn one_prediction_has_the_bits_of_many() {
    for kind in Kind::ALL {
        for precision in [Precision::Float, Precision::FourBit] {
            let (_, data, split, words) = data(kind);
            let model = small(kind, &data, &words);
            let (mut ids, mut labels, mut parameters) = (Vec::new(), Vec::new(), Vec::new());
            data.batch(&split.test[..7], &words, &mut ids, &mut labels);
            precision.apply(model.parameters(), &mut parameters);
            let mut work = Workspace::default();
            let many = model.forward(&parameters, &ids, &mut work).to_vec();
            let classes = model.spec().classes;
            let mut predictor = Predictor::new(as_trained(model, &data, &words, precision));
            let history = HISTORY * data.task().features.len();
            for (ids, row) in ids.chunks_exact(history).zip(many.chunks_exact(classes)) {
                let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(predictor.logits(ids)), bits(row), "{} {}", kind.name(), precision.name());
                let best = predictor.best(ids);
                let mut likeliest = Vec::new();
                predictor.likeliest(ids, 3, 0.0, &mut likeliest);
                assert_eq!(likeliest[0], best);
            }
        }
    }
}

fn score(predictor: &Trained, data: &Dataset, split: &Split) -> Score {
    evaluate(&predictor.model, predictor.precision, (data, &predictor.words), &split.test, 1).1
}

#[test]
fn what_is_saved_comes_back_and_damage_is_told() {
    let (model, _, data, split, words) = trained(Kind::Distilled, 2, 1);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("below/model.safetensors");
    for precision in [Precision::Float, Precision::FourBit] {
        let trained = as_trained(copied(&model), &data, &words, precision);
        trained.save(&path, None).expect("saved");
        let (back, state) = Trained::load(&path).expect("whole");
        assert_eq!((back.words.clone(), back.task.clone(), state), (words.clone(), data.task().clone(), None));
        assert_eq!(score(&back, &data, &split), score(&trained, &data, &split), "{}", precision.name());
    }
    let bytes = std::fs::read(&path).expect("there");
    let told = |bytes: &[u8]| Trained::parse(bytes).err().expect("refused");
    for length in [0, 7, 100, bytes.len() - 1] {
        assert!(told(&bytes[..length]).contains("cut off"), "{length}: {}", told(&bytes[..length]));
    }
    assert!(told(&[b'x'; 200]).contains("no safetensors file"));
    let changed = |from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).expect("there");
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        told(&changed)
    };
    assert!(told(b"PAR1 and more").contains("it is a trace"));
    assert!(changed("strata-learn 1", "strata-learn 9").contains("train again"));
    assert!(changed("\"U8\"", "\"I8\"").contains("is not of type U8"));
    let classes = format!("\\\"classes\\\":{}", words.labels.size());
    assert!(
        changed(&classes, "\\\"classes\\\":1").contains("vocabulary mismatch"),
        "{}",
        changed(&classes, "\\\"classes\\\":1")
    );
}

/// What lets a checkpoint be refused before its model is built.
#[test]
fn shapes_have_at_least_the_parameters_that_they_promise() {
    for kind in Kind::ALL {
        let (_, data, _, words) = data(kind);
        let model = Model::new(Spec::new(kind, data.task(), &words));
        let (least, all) = (model.spec().least_parameters(), model.parameters().len() as u128);
        assert!((1..=all).contains(&least), "{}: {least} of {all}", kind.name());
        let wide = Spec { hidden: 1 << 20, ..Spec::new(kind, data.task(), &words) };
        assert!(kind == Kind::Linear || wide.least_parameters() > 1 << 22, "{}", kind.name());
    }
}

#[test]
fn weights_that_are_no_numbers_are_told() {
    let (mut model, _, data, _, words) = trained(Kind::Distilled, 1, 1);
    model.parameters_mut()[3] = f32::NAN;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    as_trained(model, &data, &words, Precision::Float).save(&path, None).expect("saved");
    let told = Trained::load(&path).err().expect("refused").to_string();
    assert!(told.contains("no numbers"), "{told}");
}

#[test]
fn traces_that_are_none_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let told = |path: &Path| crate::trace_file::read(path).expect_err("refused").to_string();
    assert!(told(&path).contains("records it"));
    std::fs::write(&path, "no trace").expect("written");
    assert!(told(&path).contains("record it again"), "{}", told(&path));
    let few = Dataset::new(
        &requests(40),
        Task {
            cluster: Cluster::SmWarp,
            features: vec![Feature::Pc],
            distance: 1,
            unit: Unit::Page,
            least: HISTORY,
            shuffled: false,
        },
    );
    assert!(few.err().expect("refused").to_string().contains("record a longer run"));
}

#[test]
fn protocols_keep_what_they_test_apart() {
    let (_, data, ..) = data(Kind::Revised);
    for protocol in Protocol::ALL {
        let split = data.split(protocol, 3, usize::MAX);
        let trained = |sample: &u32| split.train.contains(sample) || split.validate.contains(sample);
        let seen = split.test.iter().filter(|sample| trained(sample)).count();
        match protocol {
            Protocol::Paper => assert_eq!(seen, split.test.len()),
            Protocol::NextWindow => {
                assert_eq!((seen, split.train.is_empty(), split.test.is_empty()), (0, false, false));
            }
            _ => assert_eq!((seen, split.test.len()), (0, data.samples().len() - data.samples().len().div_ceil(5) * 4)),
        }
    }
    for protocol in [Protocol::HeldOutInTime, Protocol::NextWindow] {
        let split = data.split(protocol, 3, usize::MAX);
        let place = |sample: &u32| data.samples().iter().position(|s| s == sample);
        assert!(split.train.iter().map(place).max() < split.test.iter().map(place).min(), "{}", protocol.name());
        assert_eq!(split.test.last(), data.samples().last());
    }
    // However few there are, something is tested.
    for protocol in [Protocol::HeldOutInTime, Protocol::HeldOutAtRandom] {
        assert!((2..20).all(|few| !data.split(protocol, 3, few).test.is_empty()), "{}", protocol.name());
    }
    // Of few samples, too, the paper's protocol tests on what it trained and validated on.
    let few = data.split(Protocol::Paper, 3, 100);
    assert_eq!((few.train.len(), few.validate.len(), few.test.len()), (80, 20, 100));
    assert!(few.train.iter().chain(&few.validate).all(|sample| few.test.contains(sample)));
}

#[test]
fn a_predictor_in_a_machine_learns_while_it_runs() {
    let (_, data, _, words) = data(Kind::Distilled);
    // It knows no class yet, but has room for some.
    let mut spec = Spec::new(Kind::Distilled, data.task(), &words);
    spec.classes = 20;
    let empty = Vocabularies { labels: Vec::new().into(), ..words };
    let fresh = as_trained(Model::new(spec), &data, &empty, Precision::Float);
    let mut online = Online::new(Predictor::new(fresh), Rules { top: 1, confidence: 0.0, fine_tune: Some(4000) });
    let (mut right, mut pages) = (0, Vec::new());
    let accesses = requests(12_000);
    for (k, access) in accesses.iter().enumerate() {
        online.observe(&Access { instructions: k as u64, ..*access });
        pages.clear();
        online.predict(&mut pages);
        let next = accesses.get(k + 4).map(|next| next.page);
        if k >= 8000 {
            right += usize::from(pages.first().copied() == next);
        } else if k < 4000 {
            assert!(pages.is_empty(), "nothing is known yet");
        }
    }
    assert_eq!(online.trainings(), 2);
    assert!(right > 2000, "{right} of 4000");
}
