//! Tables 1 to 8 and Figures 5 to 7 and 9, made from what was trained.

use super::suite::{CLUSTERED, CLUSTERS, COMPARED, FAR, SIMPLIFIED, ablations};
use super::trainings::Learned;
use crate::prefetch::{Feature, Fitting, Kind as Model};
use crate::report::{Cell, Chart, Figure, Kind, Series};
use crate::reproduce::by_program::{self, Frame, Mean, by_program};
use crate::reproduce::{PaperNumbers, Subject};

impl Subject for &Learned {
    fn name(&self) -> &'static str {
        self.program.name
    }
}

type Column<'a> = by_program::Column<'a, &'a Learned>;

fn frame(id: &'static str, title: &'static str, note: &str) -> Frame {
    Frame { id, title, note: note.to_owned(), axis: "top-1", mean: Mean::Arithmetic, baseline: None, timed: false }
}

/// What a job's model came to, at full precision.
fn of<'a>(heading: impl Into<String>, job: impl Into<String>, key: &'static str) -> Column<'a> {
    at(heading, job, "float", key)
}

/// The same at a precision.
fn at<'a>(
    heading: impl Into<String>,
    job: impl Into<String>,
    precision: &'static str,
    key: &'static str,
) -> Column<'a> {
    let job = job.into();
    Column::new(heading, 4, move |l: &&Learned| l.get(&job, None, precision, key))
}

/// What a table came to on the samples of a job.
fn table<'a>(heading: &str, job: &'static str, name: &'static str) -> Column<'a> {
    Column::new(heading, 4, move |l: &&Learned| l.get(job, Some(name), "", TOP1))
}

/// What the paper prints.
fn printed<'a>(
    heading: impl Into<String>,
    paper: &'a PaperNumbers,
    table: &'static str,
    place: &'static str,
) -> Column<'a> {
    Column::new(heading, 4, move |l: &&Learned| paper.get(&format!("{table}.{}.{place}", l.program.paper)))
}

const TOP1: &str = "/top1";
const TOP10: &str = "/top10";
const F1: &str = "/f1";

/// The programs of a table that the paper made of some.
fn some<'a>(all: &[&'a Learned], names: &[&str]) -> Vec<&'a Learned> {
    all.iter().copied().filter(|l| names.contains(&l.program.name)).collect()
}

/// Everything that this much training gives.
pub(super) fn all(learned: &[Learned], paper: &PaperNumbers, standard: bool) -> Vec<Figure> {
    let learned: Vec<&Learned> = learned.iter().collect();
    let mut figures = vec![table_1(&learned, paper), table_8(&learned, paper), tables_6_and_7(&learned, paper)];
    figures.extend(figure_7(&learned));
    if standard {
        figures.extend([table_2(&learned, paper), table_3(&learned, paper), tables_4_and_5(&learned, paper)]);
        figures.extend([figure_5(&learned), figure_6(&learned), figure_9(&learned), ablation(&learned)]);
    }
    figures
}

fn table_1(learned: &[&Learned], paper: &PaperNumbers) -> Figure {
    let note = "The unconstrained Transformer at a distance of one request, by the paper's protocol: trained on 80 % of the \
                sequences, tested on all of them. Beside it on the same samples: the commonest delta, and tables that learn as \
                they go.";
    let columns = [
        printed("F1, paper", paper, "table1", "0"),
        of("F1, ours", "transformer", F1),
        printed("top-1, paper", paper, "table1", "1"),
        of("top-1, ours", "transformer", TOP1),
        printed("top-10, paper", paper, "table1", "2"),
        of("top-10, ours", "transformer", TOP10),
        table("majority", "transformer", "majority"),
        table("last delta", "transformer", "last delta"),
        table("stride", "transformer", "stride per pc and cluster"),
        table("Markov 1", "transformer", "markov 1"),
        table("Markov 2", "transformer", "markov 2"),
    ];
    by_program(learned, frame("table-1", "The unconstrained Transformer", note), &columns)
}

fn table_8(learned: &[&Learned], paper: &PaperNumbers) -> Figure {
    let note = "The revised predictor, top-1. By the paper's protocol: as it printed it (clamped to [-8, 8]), ours clamped, with \
                real four-bit weights and with floats, and the distilled one with four bits; held out in time and at random, \
                four bits; tables on the samples of the paper's protocol.";
    let revised = "revised paper";
    let columns = [
        printed("paper", paper, "table8", "1"),
        at("clamped", revised, "clamped", TOP1),
        at("4 bit", revised, "4bit", TOP1),
        of("float", revised, TOP1),
        at("distilled, 4 bit", "distilled", "4bit", TOP1),
        at("in time", "revised time", "4bit", TOP1),
        at("at random", "revised random", "4bit", TOP1),
        table("majority", revised, "majority"),
        table("last delta", revised, "last delta"),
        table("stride", revised, "stride per pc and cluster"),
        table("Markov 1", revised, "markov 1"),
        table("Markov 2", revised, "markov 2"),
    ];
    by_program(learned, frame("table-8", "The revised predictor", note), &columns)
}

fn tables_6_and_7(learned: &[&Learned], paper: &PaperNumbers) -> Figure {
    let note = "MB (10^6 bytes) of parameters and of activations of a batch of 128, forward and backward, as torchinfo counts them: \
                the unconstrained model with floats, the revised one with four bits; classes; median nanoseconds of one \
                prediction on this machine, revised and distilled.";
    let bytes = |heading: &str, job: &'static str, precision: &'static str, key: &'static str| {
        Column::new(heading, 3, move |l: &&Learned| l.get(job, None, precision, key).map(|b| b / 1e6))
    };
    let whole = |heading: &str, job: &'static str, key: &'static str| {
        Column::new(heading, 0, move |l: &&Learned| l.get(job, None, "4bit", key))
    };
    let (parameters, activations) = ("/parameters_bytes", "/activations_bytes");
    let columns = [
        printed("T parameters, paper", paper, "table6", "0"),
        bytes("ours", "transformer", "float", parameters),
        printed("T activations, paper", paper, "table6", "1"),
        bytes("ours", "transformer", "float", activations),
        printed("R parameters, paper", paper, "table7", "0"),
        bytes("ours", "revised paper", "4bit", parameters),
        printed("R activations, paper", paper, "table7", "1"),
        bytes("ours", "revised paper", "4bit", activations),
        whole("R classes", "revised paper", "/classes"),
        whole("R ns", "revised paper", "/latency_ns/p50"),
        whole("distilled ns", "distilled", "/latency_ns/p50"),
    ];
    let mut figure = by_program(learned, frame("tables-6-7", "Memory and latency of the predictors", note), &columns);
    figure.chart = None;
    figure
}

fn table_2(learned: &[&Learned], paper: &PaperNumbers) -> Figure {
    let note = "Top-1 of the Transformer when sequences are those of an instruction, a kernel, an SM, a CTA or a warp; histories are \
                as long as clusters have requests, at most 30.";
    let mut columns = Vec::new();
    for cluster in CLUSTERS {
        let name = cluster.name();
        columns.push(Column::new(format!("{name}, paper"), 4, move |l: &&Learned| {
            let at = CLUSTERED.iter().position(|program| *program == l.program.name)?;
            paper.get(&format!("table2.{name}.{at}.1"))
        }));
        columns.push(of("ours", format!("cluster {name}"), TOP1));
    }
    by_program(&some(learned, &CLUSTERED), frame("table-2", "Clusters", note), &columns)
}

fn table_3(learned: &[&Learned], paper: &PaperNumbers) -> Figure {
    let note = "Top-1 of the Transformer one and thirty requests ahead, after as much training.";
    let columns = [
        printed("1, paper", paper, "table1", "1"),
        of("1, ours", "ordered", TOP1),
        printed("30, paper", paper, "table3", "1"),
        of("30, ours", "distance 30", TOP1),
    ];
    by_program(&some(learned, &FAR), frame("table-3", "Distance", note), &columns)
}

fn tables_4_and_5(learned: &[&Learned], paper: &PaperNumbers) -> Figure {
    let note = "Top-1 of the Transformer, of one fully connected layer that sees tokens in random order (what \"Shuffle True\" of \
                Table 4 must mean), and of the Transformer with one head of hashed attention (HLSH), all on as many sequences.";
    let columns = [
        printed("Transformer, paper", paper, "table1", "1"),
        of("ours", "ordered", TOP1),
        printed("one layer, paper", paper, "table4", "1"),
        of("ours", "linear", TOP1),
        printed("HLSH, paper", paper, "table5", "1"),
        of("ours", "hashed", TOP1),
    ];
    by_program(&some(learned, &SIMPLIFIED), frame("tables-4-5", "Without and with less attention", note), &columns)
}

fn figure_5(learned: &[&Learned]) -> Figure {
    let looked_into: Vec<&Learned> = learned.iter().copied().filter(|l| l.attention.is_some()).collect();
    let mut columns = vec![of("all thirteen", "ordered", TOP1)];
    columns.extend(Feature::ALL.map(|feature| of(feature.name(), format!("feature {}", feature.name()), TOP1)));
    let note = "Top-1 of the Transformer when a token has all features, and each of them alone.";
    by_program(&looked_into, frame("figure-5", "One feature alone", note), &columns)
}

fn figure_6(learned: &[&Learned]) -> Figure {
    let note = "The share of the commonest delta among an SM's requests (convergence), and top-1 of the Transformer with the requests of a \
                history in their order and shuffled.";
    let columns = [
        table("convergence", "ordered", "majority"),
        of("ordered", "ordered", TOP1),
        of("shuffled", "shuffled", TOP1),
        Column::new("lost", 4, |l: &&Learned| {
            Some(l.get("ordered", None, "float", TOP1)? - l.get("shuffled", None, "float", TOP1)?)
        }),
    ];
    by_program(learned, frame("figure-6", "Convergence of deltas, and what order is worth", note), &columns)
}

fn figure_7(learned: &[&Learned]) -> Option<Figure> {
    let (program, attention) = learned.iter().find_map(|l| Some((l.program.name, l.attention.as_ref()?)))?;
    let positions = attention.vectors.first()?.len();
    let series = attention.vectors.iter().enumerate().map(|(k, weights)| Series {
        name: format!("token {}", positions - attention.vectors.len() + k + 1),
        values: weights.iter().map(|&weight| Some(f64::from(weight))).collect(),
    });
    let row = |name: &str, value, decimals| vec![Cell::from(name), Cell::number(Some(value), decimals)];
    Some(Figure {
        id: "figure-7".to_owned(),
        title: "Sparsity of attention".to_owned(),
        note: format!(
            "First layer of the Transformer, trained on {program}. The chart: what the last five tokens of a sequence give to each \
             of the thirty, first head. The table: means over two hundred sequences and all heads."
        ),
        headings: vec!["of the weights that a token gives".to_owned(), "ours".to_owned()],
        rows: vec![
            row("the greatest", attention.greatest, 4),
            row("how many make up nine tenths", attention.to_ninety, 1),
            row("share below 0.01", attention.negligible, 4),
        ],
        chart: Some(Chart {
            kind: Kind::Lines,
            axis: "weight".to_owned(),
            categories: (1..=positions).map(|position| position.to_string()).collect(),
            series: series.collect(),
            baseline: None,
        }),
        pictures: Vec::new(),
    })
}

fn figure_9(learned: &[&Learned]) -> Figure {
    let note = "Top-1 on the 50 million instructions behind those that were trained on (of programs whose first \
                half of requests comes sooner: on the second half); histories of at least one request.";
    let mut columns: Vec<Column<'_>> =
        COMPARED.map(|kind| of(kind.name(), format!("window {}", kind.name()), TOP1)).into();
    columns.push(table("Markov 2", "window revised", "markov 2"));
    by_program(learned, frame("figure-9", "Predictors side by side", note), &columns)
}

fn ablation(learned: &[&Learned]) -> Figure {
    let note = "Top-1 of the revised predictor, floats, the paper's protocol, with one thing otherwise.";
    let columns: Vec<Column<'_>> =
        ablations(&Fitting::new(Model::Revised)).into_iter().map(|(label, _)| of(label, label, TOP1)).collect();
    by_program(
        &some(learned, &CLUSTERED),
        frame("ablations", "The revised predictor, with one thing otherwise", note),
        &columns,
    )
}
