//! scratch
use strata_learn::{dataset::*, trace_file, model::*, spec::*, train::*, quantise::Precision};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let kind = Kind::named(&args[1]).unwrap();
    let most: usize = args[2].parse().unwrap();
    let epochs: usize = args[3].parse().unwrap();
    let rate: f32 = args[4].parse().unwrap();
    for path in &args[5..] {
        let a = trace_file::read(path.as_ref()).unwrap();
        let task = kind.task(1);
        let d = Dataset::new(&a, task.clone()).unwrap();
        let split = d.split(Protocol::Paper, 1, most);
        let words = d.vocabularies(d.samples(), MOST_VALUES);
        let mut spec = Spec::new(kind, &task, &words);
        spec.bypass = kind == Kind::Revised && d.convergence(&split.train) >= 0.9;
        let mut model = Model::new(spec);
        let mut state = State::new(&model);
        let plan = Plan { epochs, rate, threads: 2, ..Plan::default() };
        let t = std::time::Instant::now();
        println!("{path} params {} mults {} classes {}", model.parameters().len(), model.multiplications(), model.spec().classes);
        train(&mut model, (&d, &split, &words), &plan, &mut state, &mut |_| (), &mut |_, s| println!("  {:?} {:.1}s", s.curve.last().unwrap(), t.elapsed().as_secs_f64()));
        for p in Precision::ALL { println!("  {} {:?}", p.name(), evaluate(&model, p, (&d, &words), &split.test, 2).1); }
    }
}
