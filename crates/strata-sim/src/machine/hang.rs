//! The message of a hang, when no event is left and warps have not exited: the queues, fullest first.

use super::Machine;
use std::fmt::Write;

/// So many queues are named; a hang has few causes and many consequences.
const MOST: usize = 8;

/// Something that holds waiting things: how full it is (1: as many as it is made for) and what to say of it.
struct Queue {
    fullness: f64,
    text: String,
}

fn queue(name: &str, holds: usize, of: usize) -> Option<Queue> {
    let text = format!("{name}: {holds} of {of}");
    (holds > 0).then(|| Queue { fullness: holds as f64 / of.max(1) as f64, text })
}

impl Machine {
    /// The fullest queues first, for the message.
    #[cold]
    pub(super) fn describe_hang(&self, warps_per_cta: u32) -> String {
        let mut queues: Vec<Queue> = Vec::new();
        queues.extend(self.barriers(warps_per_cta as usize));
        let (l1, l2) = (&self.config.l1, &self.config.l2);
        for (number, sm) in self.sms.iter().enumerate() {
            queues.extend(queue(
                &format!("MSHRs of SM {number}"),
                sm.memory.l1.outstanding as usize,
                l1.mshrs as usize,
            ));
            queues.extend(queue(&format!("requests held by SM {number}"), sm.memory.l1.held.len(), l1.mshrs as usize));
        }
        for (number, slice) in self.slices.iter().enumerate() {
            let (mshrs, room) = (l2.mshrs as usize, l2.miss_queue as usize);
            queues.extend(queue(&format!("MSHRs of L2 slice {number}"), slice.outstanding as usize, mshrs));
            queues.extend(queue(&format!("queue of L2 slice {number} to memory"), slice.queued as usize, room));
            queues.extend(queue(
                &format!("write-backs of L2 slice {number} at memory sides"),
                slice.posted as usize,
                mshrs,
            ));
            queues.extend(queue(&format!("requests held by L2 slice {number}"), slice.held.len(), room));
        }
        for (number, port) in self.channels.iter().enumerate() {
            let (inside, room) = (port.channel.waiting(false) + port.channel.waiting(true), self.config.dram.queue);
            queues.extend(queue(&format!("DRAM channel {number}"), inside as usize, room as usize));
            queues.extend(queue(&format!("way to DRAM channel {number}"), port.inbound.len(), room as usize));
        }
        queues.sort_by(|a, b| b.fullness.total_cmp(&a.fullness));
        let mut text = format!(
            "no event is left, but {} line requests, {} loads and {} L2 misses are under way, and {} accesses wait for pages",
            self.requests.len(),
            self.loads.len(),
            self.misses.len(),
            self.faulted_accesses()
        );
        for queue in queues.iter().take(MOST) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n  {}", queue.text);
        }
        if queues.len() > MOST {
            let _ = write!(text, "\n  and {} that are less full", queues.len() - MOST);
        }
        text
    }

    /// The blocks of which warps wait at a barrier.
    fn barriers(&self, warps_per_cta: usize) -> impl Iterator<Item = Queue> {
        self.warps.chunks(warps_per_cta.max(1)).enumerate().filter_map(move |(slot, warps)| {
            let numbers = |f: fn(&super::WarpState) -> bool| {
                let of: Vec<_> = (0..warps.len()).filter(|&w| f(&warps[w])).map(|w| w.to_string()).collect();
                (of.len(), of.join(", "))
            };
            let (waiting, who) = numbers(|w| w.at_barrier && !w.exited);
            let (exited, _) = numbers(|w| w.exited);
            let (blocked, _) = numbers(|w| !w.exited && w.is_blocked());
            let text = format!(
                "barrier of the block in slot {slot} on SM {}: {waiting} of {} warps wait (warps {who}), {exited} exited, {blocked} wait for a register",
                warps.first()?.sm,
                warps.len(),
            );
            (waiting > 0).then(|| Queue { fullness: waiting as f64 / warps.len() as f64, text })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::gpu;
    use super::super::{KernelNeeds, Machine, MachineError};
    use strata_testkit::{Instr, Script};

    #[test]
    fn a_barrier_that_nobody_else_reaches_is_named() {
        let mut machine = Machine::new(gpu("titan-v")).unwrap();
        let (waits, leaves) = (vec![Instr::load(0x1000), Instr::barrier_of(3)], vec![Instr::load(0x2000)]);
        let needs = KernelNeeds { threads: 96, registers: 8, shared: 0 };
        let error = machine.run_kernel(&mut Script::new(&[leaves, waits.clone(), waits]), &needs).unwrap_err();
        assert!(matches!(error, MachineError::Hang(_)));
        assert_eq!(
            error.to_string(),
            "the machine hangs: no event is left, but 0 line requests, 0 loads and 0 L2 misses are under way, and 0 accesses wait for pages\n  \
             barrier of the block in slot 0 on SM 0: 2 of 3 warps wait (warps 1, 2), 1 exited, 0 wait for a register"
        );
    }

    #[test]
    fn the_fullest_queue_comes_first() {
        let mut machine = Machine::new(gpu("titan-v")).unwrap();
        machine.sms[7].memory.l1.outstanding = machine.config.l1.mshrs / 2;
        machine.slices[3].outstanding = machine.config.l2.mshrs;
        machine.slices[5].held.extend([(0, 0)]);
        let text = machine.describe_hang(1);
        let names: Vec<_> = text.lines().skip(1).map(|l| l.split(':').next().unwrap_or("").trim()).collect();
        assert_eq!(names, ["MSHRs of L2 slice 3", "MSHRs of SM 7", "requests held by L2 slice 5"]);
    }
}
