//! Scratch.
use std::sync::Arc;
use strata_host::Device;
use strata_lab::engine::{self, EngineOptions};
use strata_lab::Monitor;
use strata_workloads::{instances, Purpose};
fn main() {
    let gpu = std::env::args().nth(1).unwrap_or("titan-x-pascal".into());
    let purpose = if std::env::args().nth(2).as_deref() == Some("bench") { Purpose::Bench } else { Purpose::Silicon };
    for (w, i) in instances(purpose) {
        let config = strata_sim::config::load(&gpu, &[""; 0]).map_err(|e| format!("{e:?}")).unwrap().config;
        let registers = w.modules().iter().flat_map(|m| m.resources().into_iter().map(|(k, r)| (k, r.registers))).collect();
        let options = EngineOptions { threads: 1, check: false, max_instructions: None, monitor: Arc::new(Monitor::default()), registers };
        let t = std::time::Instant::now();
        let mut device = Device::new(engine::timed(options, config).unwrap());
        let r = w.run_instance(i.label, 1, &mut device);
        let secs = t.elapsed().as_secs_f64();
        match r { Err(e) => println!("{} {}: {e}", w.info().name, i.label), Ok(o) => {
            for (l, rep) in device.launches() {
                println!("{:14} {:12} {:20} passed {} cycles {:8} ti {:10} {:.3}s {:.1} M/s", w.info().name, i.label, l.kernel, o.passed, rep.cycles.unwrap_or(0), rep.counts.thread_instructions(), secs, rep.counts.thread_instructions() as f64 / secs / 1e6);
            }
        } }
    }
}
