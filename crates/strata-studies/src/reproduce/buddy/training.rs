//! Figures 15a to 15c: what a larger memory is worth when the networks are trained at their full size.

use super::figures::Subject;
use super::row;
use crate::case_study::{Network, Projection, TrainingGpu, curve, project};
use crate::report::{Cell, Chart, Figure, Kind, Series};
use crate::reproduce::{PaperNumbers, Row, mean};
use strata_core::Bytes;
use strata_run::LabError;

/// The memory of the card that the paper projects for.
const CAPACITY: Bytes = Bytes(12 << 30);
/// The mini-batches of Figures 15a and 15b.
const BATCHES: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The networks of which our programs are small versions.
const NETWORKS: [(&str, &str); 6] = [
    ("alexnet", "AlexNet"),
    ("inception", "Inception v2"),
    ("squeezenet", "SqueezeNet v1.1"),
    ("vgg", "VGG16"),
    ("resnet", "ResNet50"),
    ("lstm", "BigLSTM"),
];

/// The figures, and the numbers beside the paper's.
pub(super) fn figures(subjects: &[Subject<'_>], paper: &PaperNumbers) -> Result<(Vec<Figure>, Vec<Row>), LabError> {
    let gpu = TrainingGpu::TITAN_V;
    let networks: Vec<Network> =
        NETWORKS.iter().map(|(_, network)| Network::named(network)).collect::<Result<_, _>>()?;
    let curves: Vec<_> = networks.iter().map(|network| curve(network, &BATCHES, &gpu)).collect();
    let gigabytes = |n: usize, k: usize| Some(curves[n][k].footprint.0 as f64 / f64::from(1 << 30));
    let speed = |n: usize, k: usize| Some(curves[n][k].throughput / curves[n][5].throughput);
    let ratios: Vec<(&str, f64)> = NETWORKS
        .iter()
        .filter_map(|(program, network)| {
            let subject = subjects.iter().find(|s| s.memory.program.name == *program)?;
            Some((*network, subject.memory.designs[2].1.ratio()))
        })
        .collect();
    let projections = project(&ratios, CAPACITY, &gpu)?;
    // The paper prints the mean of its networks alone.
    let printed = paper.get("final_ratio.dl");
    let at_paper: Vec<(&str, f64)> = NETWORKS.iter().filter_map(|(_, network)| Some((*network, printed?))).collect();
    let at_paper = project(&at_paper, CAPACITY, &gpu)?;
    let figures = vec![
        by_batch("figure-15a", "Memory footprint by mini-batch, GiB", "GiB", &gigabytes),
        by_batch("figure-15b", "Training speed by mini-batch, over that of 32", "relative speed", &speed),
        projected(&projections, &at_paper),
    ];
    let gain = |name: &str| projections.iter().find(|p| p.network == name).and_then(|p| p.speedup);
    let all = mean(projections.iter().map(|p| p.speedup));
    let at_paper_gain = |name: &str| at_paper.iter().find(|p| p.network == name).and_then(|p| p.speedup);
    let at_paper_all = mean(at_paper.iter().map(|p| p.speedup));
    let rows = vec![
        row("Figure 15c", "all", "projected speed-up, mean", paper.get("minibatch_speedup.mean"), all),
        row("Figure 15c", "BigLSTM", "projected speed-up", paper.get("minibatch_speedup.biglstm"), gain("BigLSTM")),
        row("Figure 15c", "VGG16", "projected speed-up", paper.get("minibatch_speedup.vgg16"), gain("VGG16")),
        row(
            "Figure 15c",
            "all",
            "the same at the paper's mean ratio",
            paper.get("minibatch_speedup.mean"),
            at_paper_all,
        ),
        row(
            "Figure 15c",
            "BigLSTM",
            "the same at the paper's mean ratio",
            paper.get("minibatch_speedup.biglstm"),
            at_paper_gain("BigLSTM"),
        ),
        row(
            "Figure 15c",
            "VGG16",
            "the same at the paper's mean ratio",
            paper.get("minibatch_speedup.vgg16"),
            at_paper_gain("VGG16"),
        ),
    ];
    Ok((figures, rows))
}

/// A figure with a line for each network.
fn by_batch(id: &str, title: &str, axis: &str, value: &dyn Fn(usize, usize) -> Option<f64>) -> Figure {
    let names = || NETWORKS.iter().map(|(_, network)| (*network).to_owned());
    Figure {
        id: id.into(),
        title: title.into(),
        note: "Networks at their published sizes, by an analytical model (`case_study`): a roofline for each layer with full and \
               part-full waves of thread blocks, on a Titan V."
            .into(),
        headings: ["mini-batch".to_owned()].into_iter().chain(names()).collect(),
        rows: (0..BATCHES.len())
            .map(|k| {
                let values = (0..NETWORKS.len()).map(|n| Cell::number(value(n, k), 2));
                [Cell::Number(BATCHES[k] as f64, 0)].into_iter().chain(values).collect()
            })
            .collect(),
        chart: Some(Chart {
            kind: Kind::Lines,
            axis: axis.into(),
            categories: BATCHES.iter().map(u64::to_string).collect(),
            series: names()
                .enumerate()
                .map(|(n, name)| Series { name, values: (0..BATCHES.len()).map(|k| value(n, k)).collect() })
                .collect(),
            baseline: None,
        }),
        pictures: Vec::new(),
    }
}

fn projected(ours: &[Projection], paper: &[Projection]) -> Figure {
    let batch = |batch: Option<u64>| Cell::number(batch.map(|b| b as f64), 0);
    let row = |whose: &str, p: &Projection| {
        vec![
            p.network.as_str().into(),
            whose.into(),
            Cell::Number(p.ratio, 2),
            Cell::Number(p.knee, 1),
            batch(p.batch),
            batch(p.compressed_batch),
            Cell::number(p.speedup, 3),
            Cell::number(p.best_speedup, 3),
            Cell::number(p.ceiling, 3),
        ]
    };
    let rows = ours.iter().map(|p| row("ours", p)).chain(paper.iter().map(|p| row("the paper's mean", p)));
    Figure {
        id: "figure-15c".into(),
        title: "Projected gain from the larger mini-batch that fits into 12 GiB with Buddy Compression".into(),
        note: "Capacity ratios are those of the final design on our small networks, then the paper's mean for all. `best` compares \
               the fastest mini-batches that fit instead of the largest; `ceiling` is what the fastest mini-batch of all would \
               gain over the largest that fits without compression: no ratio gives more in this model. Figure 15d, accuracy after \
               training, is out of scope."
            .into(),
        headings: [
            "network",
            "ratio",
            "capacity ratio",
            "knee",
            "batch",
            "batch with Buddy",
            "speed-up",
            "best",
            "ceiling",
        ]
        .map(str::to_owned)
        .into(),
        rows: rows.collect(),
        chart: None,
        pictures: Vec::new(),
    }
}
