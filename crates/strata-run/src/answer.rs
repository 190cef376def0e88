//! The answer of a timed run: how long it takes and what limits it, in a sentence or two.
//!
//! What limits it is read off how warps spend their time (`gpu.sm.stall.*`, which every timed run counts) and how busy memory is.

use crate::result::RunResult;
use crate::table::grouped;
use strata_core::Stats;

/// From this share of the time on, DRAM's buses are what a program waits for.
const BUSY_BUS: f64 = 0.6;
/// From this share of the time of launches on, starting them is what takes long.
const MOSTLY_LAUNCHES: f64 = 0.5;
/// Below this share of the places for warps there are too few of them to hide latencies.
const FEW_WARPS: f64 = 0.25;

/// What the warps of a run did with their time, as shares.
struct Shares {
    issuing: f64,
    memory: f64,
    arithmetic: f64,
    barrier: f64,
    other: f64,
}

impl Shares {
    fn of(stats: &Stats) -> Option<Self> {
        let cycles = |name: &str| stats.number(&format!("gpu.sm.stall.{name}")).unwrap_or(0.0);
        let memory = cycles("memory") + cycles("queue");
        let arithmetic = cycles("register") + cycles("unit");
        let [issuing, barrier] = ["issuing", "barrier"].map(cycles);
        let other = cycles("branch") + cycles("offload");
        let all = issuing + memory + arithmetic + barrier + other;
        let share = |part: f64| part / all;
        (all > 0.0).then(|| Self {
            issuing: share(issuing),
            memory: share(memory),
            arithmetic: share(arithmetic),
            barrier: share(barrier),
            other: share(other),
        })
    }
}

/// The answer; `None` if nothing was timed.
pub fn answer(result: &RunResult) -> Option<String> {
    let cycles = result.cycles()?;
    let gpu = result.about.gpu.as_deref().unwrap_or("the machine");
    let time = result.about.core_khz.map_or_else(String::new, |khz| {
        format!(" ({} at {:.0} MHz)", duration(cycles as f64 / (khz as f64 * 1e3)), khz as f64 / 1e3)
    });
    let with = if result.about.with.is_plain() { String::new() } else { format!(" with {}", result.about.with) };
    let took = format!("{} core cycles{time} on {gpu}{with}", grouped(cycles));
    let launches =
        result.kernels.iter().filter_map(|kernel| kernel.launch_cycles).sum::<u64>() as f64 / cycles.max(1) as f64;
    let why = limit(&result.stats(), launches);
    Some(why.map_or_else(|| format!("{took}."), |why| format!("{took}. {why}.")))
}

/// `76.2 us`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

/// What limits a run.
fn limit(stats: &Stats, launches: f64) -> Option<String> {
    let shares = Shares::of(stats)?;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let number = |path: &str| stats.number(path).unwrap_or(0.0);
    if launches >= MOSTLY_LAUNCHES {
        return Some(format!(
            "Starting kernels takes {} of that: fewer, larger launches would help more than faster memory",
            percent(launches)
        ));
    }
    let faults = number("gpu.uvm.far_faults");
    if faults > 0.0 && shares.memory >= 0.5 {
        let busy = number("gpu.uvm.pcie.in_use");
        return Some(format!(
            "Warps wait for memory {} of their time, behind {} page faults; PCI Express brings data {} of the time",
            percent(shares.memory),
            grouped(faults as u64),
            percent(busy)
        ));
    }
    let largest = [shares.memory, shares.arithmetic, shares.barrier, shares.other, shares.issuing]
        .into_iter()
        .fold(0.0, f64::max);
    if largest == shares.memory {
        let (bus, hits) = (number("gpu.dram.bus_use"), number("gpu.l2.read_hit_rate"));
        let occupancy = number("gpu.sm.occupancy");
        let because = if bus >= BUSY_BUS {
            "so the bandwidth of DRAM limits it".to_owned()
        } else if hits >= 0.9 {
            format!("but {} of reads hit in L2: latency and the bandwidth of L2 limit it", percent(hits))
        } else if occupancy < FEW_WARPS {
            format!(
                "so latency limits it: {} of the places for warps are taken, too few to hide it",
                percent(occupancy)
            )
        } else {
            "so the latency of memory limits it, not its bandwidth".to_owned()
        };
        return Some(format!(
            "It is memory-bound: warps wait for memory {} of their time; DRAM's buses are busy {}, {because}",
            percent(shares.memory),
            percent(bus)
        ));
    }
    Some(if largest == shares.arithmetic {
        format!(
            "Warps wait for arithmetic {} of their time, for memory {}",
            percent(shares.arithmetic),
            percent(shares.memory)
        )
    } else if largest == shares.barrier {
        format!(
            "Warps wait at barriers {} of their time, for memory {}",
            percent(shares.barrier),
            percent(shares.memory)
        )
    } else if largest == shares.issuing {
        format!("Warps issue {} of their time: the SMs are busy, memory is not what limits it", percent(shares.issuing))
    } else {
        format!(
            "Warps wait for branches {} of their time, for memory {}",
            percent(shares.other),
            percent(shares.memory)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::stats::Unit;

    fn told(stalls: &[(&str, u64)], rates: &[(&'static str, f64)], launches: f64) -> String {
        let mut stats = Stats::default();
        for (name, cycles) in stalls {
            stats.count(format!("gpu.sm.stall.{name}"), *cycles, Unit::Cycles, "");
        }
        for (path, value) in rates {
            stats.quotient(*path, *value, 1.0, Unit::Fraction, "");
        }
        limit(&stats, launches).expect("something was counted")
    }

    #[test]
    fn what_takes_most_of_the_time_limits_a_run() {
        let waits = [("memory", 80), ("issuing", 20)];
        assert_eq!(
            told(&waits, &[("gpu.dram.bus_use", 0.8)], 0.0),
            "It is memory-bound: warps wait for memory 80 % of their time; DRAM's buses are busy 80 %, so the bandwidth of DRAM \
             limits it"
        );
        assert!(
            told(&waits, &[("gpu.dram.bus_use", 0.1), ("gpu.sm.occupancy", 0.1)], 0.0).contains("too few to hide it")
        );
        assert!(told(&waits, &[("gpu.l2.read_hit_rate", 0.99)], 0.0).contains("hit in L2"));
        assert!(told(&[("register", 9), ("memory", 1)], &[], 0.0).contains("arithmetic 90 %"));
        assert!(told(&[("issuing", 9), ("memory", 1)], &[], 0.0).contains("SMs are busy"));
        assert!(told(&waits, &[], 0.7).starts_with("Starting kernels takes 70 %"));
    }

    #[test]
    fn times_have_units() {
        assert_eq!([duration(2.5), duration(0.0123), duration(7.62e-5)], ["2.50 s", "12.30 ms", "76.2 us"]);
    }
}
