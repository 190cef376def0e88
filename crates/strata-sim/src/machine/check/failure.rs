//! A load that would get old data, in words.

use super::ledger::Origin;
use crate::machine::names::Names;
use strata_core::{Addr, LINE_BYTES, LineAddr, SECTOR_BYTES};

/// Who reads the stale data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reader {
    Load(Origin),
    /// A prefetch into L1, which fills it with stale data.
    Prefetch,
    /// An atomic without a result, performed at L2.
    Reduction,
    /// A device-to-host copy.
    Host,
    /// Nobody yet: the newest data is nowhere.
    EndOfKernel,
    /// A mechanism between L2 and DRAM, which has other bytes.
    MemorySide,
}

/// Which copy is stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copy {
    /// A line in the L1 of this SM.
    L1(u32),
    /// A reply of L2 to this SM.
    Answer(u32),
    /// A line in this L2 slice.
    L2(u32),
    /// In memory, and L2 has none.
    Memory,
    /// In L2, of another line that was taken for this.
    OtherLine,
    /// At the host: its page is not on the device.
    HostPage,
    /// The write has never arrived at L2.
    OnTheWay,
}

/// Old data where new should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) line: LineAddr,
    pub(super) sector: usize,
    pub(super) reader: Reader,
    pub(super) at: Copy,
    /// The write that the copy lacks.
    pub(super) missed: Origin,
}

impl Failure {
    /// The message; `dirty`: L2 says that the sector is newer than memory.
    pub(super) fn describe(&self, names: &Names, dirty: bool) -> String {
        let address = names.address(Addr(self.line.0 * LINE_BYTES + self.sector as u64 * SECTOR_BYTES));
        let reader = match self.reader {
            Reader::Load(origin) => format!("the load of {}", instruction(&origin, names)),
            Reader::Prefetch => "a prefetch into L1".to_owned(),
            Reader::Reduction => "an atomic at L2".to_owned(),
            Reader::Host => "a copy to the host".to_owned(),
            Reader::EndOfKernel => "the end of a kernel".to_owned(),
            Reader::MemorySide => return Self::of_memory_side(self.at, &address),
        };
        let missed = if self.missed.kernel == Origin::HOST {
            "a write of the host".to_owned()
        } else {
            format!("the write of {}", instruction(&self.missed, names))
        };
        let (place, cause) = self.cause(dirty);
        format!("{reader} finds old data in the sector at {address}: {place} lacks {missed}; {cause}")
    }

    /// Bytes differ where a mechanism says that they are the same.
    fn of_memory_side(at: Copy, address: &str) -> String {
        match at {
            Copy::OtherLine => format!(
                "a memory side copies the sector at {address} from L2 for a line that holds other bytes; the line that it \
                 maps to has moved or changed"
            ),
            _ => format!(
                "a memory side would deliver other bytes than were stored for the sector at {address}; a mapping, a count \
                 or a write of its own is wrong"
            ),
        }
    }

    fn cause(&self, dirty: bool) -> (String, &'static str) {
        let own = matches!(self.reader, Reader::Load(o) if o.kernel == self.missed.kernel);
        let on_stack = matches!(self.reader, Reader::Load(o) if o.block > 0);
        match self.at {
            Copy::L1(sm) | Copy::Answer(sm) if on_stack => {
                let cause = "the stack did not drop its cache before the block began, or the block overtook a store";
                (format!("the stack of SM {sm}"), cause)
            }
            Copy::L1(sm) if self.missed.block > 0 => {
                (format!("L1 of SM {sm}"), "what an offloaded block wrote was not dropped when it ended")
            }
            Copy::L2(slice) if self.missed.block > 0 => {
                (format!("L2 slice {slice}"), "what an offloaded block wrote was not dropped when it ended")
            }
            Copy::L1(sm) if own => {
                (format!("L1 of SM {sm}"), "an update or invalidation of L1 by its own SM was missed")
            }
            Copy::L1(sm) => (format!("L1 of SM {sm}"), "an invalidation of L1 at the begin of the kernel was missed"),
            Copy::Answer(sm) => (format!("the answer of L2 to SM {sm}"), "the load overtook the write"),
            Copy::L2(slice) if dirty => {
                (format!("L2 slice {slice}"), "a fill was not merged with bytes that stores had written")
            }
            Copy::L2(slice) => (format!("L2 slice {slice}"), "a write-back of a dirty sector was missed"),
            Copy::HostPage => {
                ("the host's copy of the page".to_owned(), "a page was not copied to the host when it left")
            }
            Copy::Memory => ("memory".to_owned(), "a write-back of a dirty sector was missed"),
            Copy::OtherLine => ("L2".to_owned(), "another line was taken for it"),
            Copy::OnTheWay => ("L2".to_owned(), "the write never arrived there"),
        }
    }
}

fn instruction(origin: &Origin, names: &Names) -> String {
    let Origin { kernel, sm, line, cycle, block: _ } = *origin;
    format!("PTX line {line} in {} on SM {sm} at cycle {cycle}", names.kernel(kernel))
}
