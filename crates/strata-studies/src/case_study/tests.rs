//! Networks have the sizes that were published; the models grow where they must; wrong descriptions are told.

use super::*;

const CAPACITY: Bytes = Bytes(12 << 30);

fn network(name: &str) -> Network {
    Network::named(name).expect("a built-in network")
}

#[track_caller]
fn check_within(what: &str, value: f64, published: f64, share: f64) {
    assert!((value / published - 1.0).abs() <= share, "{what}: {value:.4e}, published {published:.4e}");
}

#[test]
fn parameters_are_as_many_as_published() {
    // The papers named in the data files; Inception v2 and SqueezeNet: their published Caffe models.
    for (name, millions) in [
        ("AlexNet", 61.0),
        ("VGG16", 138.4),
        ("ResNet50", 25.6),
        ("SqueezeNet v1.1", 1.24),
        ("Inception v2", 11.3),
        ("BigLSTM", 1040.0),
    ] {
        check_within(name, network(name).parameters() as f64, millions * 1e6, 0.02);
    }
}

#[test]
fn multiply_adds_are_as_many_as_published() {
    for (name, billions) in
        [("AlexNet", 0.72), ("VGG16", 15.5), ("ResNet50", 3.9), ("SqueezeNet v1.1", 0.35), ("Inception v2", 2.0)]
    {
        check_within(name, network(name).multiply_adds() as f64, billions * 1e9, 0.025);
    }
    // 20 words, each through both layers of (1024 + 1024) x 32768 and 8192 x 1024.
    let lstm = 20 * 2 * (2048 * 32768 + 8192 * 1024);
    let products = network("BigLSTM");
    let recurrent: u64 = products.products().filter(|p| p.steps > 1).map(Product::multiply_adds).sum();
    assert_eq!(recurrent, lstm);
}

#[test]
fn a_footprint_is_weights_three_times_and_outputs_twice() {
    let text = "name = 'n'\nsource = 's'\ninput = [2, 4, 4]\nlayers = [{ conv = 3, kernel = 3 }, { fc = 5 }]";
    let network = Network::parse("n.toml", text).expect("sound");
    let parameters = 3 * 2 * 9 + 3 + 12 * 5 + 5;
    // The lowered image: 2 x 2 positions of 2 x 3 x 3 values.
    let fixed = 4 * (3 * parameters + 4 * 18);
    let per_sample = 4 * (32 + 2 * (3 * 4 + 5));
    assert_eq!(Footprint::of(&network), Footprint { fixed: Bytes(fixed), per_sample: Bytes(per_sample) });
    assert_eq!(footprint(&network, 10), Bytes(fixed + 10 * per_sample));
}

#[test]
fn footprints_grow_with_the_batch_and_the_largest_batch_is_the_last_that_fits() {
    for network in Network::built_in() {
        let sizes: Vec<_> = (0..10).map(|power| footprint(&network, 1 << power)).collect();
        assert!(sizes.is_sorted() && sizes[0] < sizes[9], "{}: {sizes:?}", network.name);
        for ratio in [1.0, 1.5, 2.0] {
            let batch = largest_batch(&network, CAPACITY, ratio).expect("it fits");
            let room = Bytes((CAPACITY.0 as f64 * ratio) as u64);
            assert!(footprint(&network, batch) <= room && room < footprint(&network, batch + 1), "{}", network.name);
        }
        assert_eq!(largest_batch(&network, Bytes(1000), 1.0), None);
    }
}

#[test]
fn larger_batches_train_no_slower_but_for_the_last_wave() {
    for network in Network::built_in() {
        let speed = |batch| throughput(&network, batch, &TrainingGpu::TITAN_V);
        assert_eq!(speed(0), 0.0);
        let points = curve(&network, &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512], &TrainingGpu::TITAN_V);
        for pair in points.windows(2) {
            assert!(pair[1].throughput > 0.97 * pair[0].throughput, "{}: {pair:?}", network.name);
        }
        // No faster than the GPU's peak: three products for each forward one, or two where nobody needs a gradient.
        let peak = TrainingGpu::TITAN_V.peak / (2.0 * 2.0 * network.multiply_adds() as f64);
        assert!(speed(512) < peak, "{}", network.name);
    }
}

#[test]
fn projections_are_in_the_order_asked_for_and_refuse_what_is_no_network_or_ratio() {
    let project = |name, ratio| project(&[(name, ratio)], CAPACITY, &TrainingGpu::TITAN_V);
    let same = &project("AlexNet", 1.0).expect("sound")[0];
    assert_eq!((same.speedup, same.best_speedup, same.batch), (Some(0.0), Some(0.0), same.compressed_batch));
    let larger = &project("BigLSTM", 1.5).expect("sound")[0];
    assert!(larger.compressed_batch > larger.batch && larger.speedup > Some(0.0), "{larger:?}");
    // 70 samples fill a wave worse than 64, which fit as well.
    assert!(Some(0.0) < larger.best_speedup && larger.best_speedup < larger.speedup, "{larger:?}");
    let error = project("AlexNett", 1.0).expect_err("no such network").to_string();
    assert!(error.contains("there is no network `AlexNett`: did you mean `AlexNet`?"), "{error}");
    let error = project("AlexNet", f64::NAN).expect_err("no ratio").to_string();
    assert_eq!(error, "AlexNet has a compression ratio of NaN: give a number greater than 0");
}

#[test]
fn wrong_descriptions_are_told_with_their_lines() {
    #[track_caller]
    fn check(layers: &str, expected: &[(usize, &str)]) {
        let text = format!("name = 'n'\nsource = 's'\ninput = [3, 8, 8]\nlayers = [\n{layers}\n]");
        let errors = Network::parse("n.toml", &text).expect_err("wrong");
        let found: Vec<_> = errors.list().iter().map(|e| (errors.line(&e.span), e.message.as_str())).collect();
        assert_eq!(found, expected);
    }
    check("{ conf = 3 }", &[(5, "it is not clear what this layer is")]);
    check("{ conv = 3 },\n{ fc = 0 }", &[(5, "`kernel` is missing"), (6, "the number is out of range")]);
    check("{ fc = 3, rely = true }", &[(5, "a layer `fc` has no key `rely`")]);
    check("{ fc = 3 },\n{ pool = 2 }", &[(6, "a kernel of 2 is larger than its input of 1")]);
    check("{ conv = 4, kernel = 1, groups = 2 }", &[(5, "2 groups divide 3 input channels or 4 output channels not")]);
    check(
        "{ add = [[{ conv = 4, kernel = 1 }], []] }",
        &[(5, "a branch of 4 channels and 8 x 8 positions cannot be added to one of 3 channels and 8 x 8 positions")],
    );
    check(
        "{ concat = [[{ pool = 2, stride = 2 }], []] }",
        &[(5, "a branch of 4 x 4 positions cannot be joined to one of 8 x 8 positions")],
    );
    check("{ concat = [] }", &[(5, "there is no branch")]);
    check("{ lrn = false }", &[(5, "a layer that is not there")]);
    check("{ conv = 4, kernel = [1, 2, 3] }", &[(5, "a kernel has two extents")]);
    check(
        "{ repeat = 999, layers = [{ repeat = 999, layers = [{ lrn = true }] }] }",
        &[(5, "the network has more than 4096 operations")],
    );
    check(
        "{ repeat = 40, layers = [{ concat = [[], []] }] }",
        &[(5, "the layer has more than 1099511627776 values or multiply-adds")],
    );
    let deep = format!("{}{{ fc = 1 }}{}", "{ repeat = 1, layers = [".repeat(10), "] }".repeat(10));
    check(&deep, &[(5, "more than 8 lists of layers within each other")]);
    let broken = Network::parse("n.toml", "name = ").expect_err("no TOML");
    assert_eq!(broken.line(&broken.list()[0].span), 1);
    let empty = Network::parse("n.toml", "").expect_err("nothing there");
    assert_eq!(empty.list().len(), 4, "{empty}");
}
