//! Pages that come and go, as memory sides see them: line by line, in the order of the write-backs before and behind them.
//!
//! A page's frame has the page's own number. While a page is at the host, the image of memory holds what the host holds of it;
//! memory sides have nothing of it, and are told all of it when it comes.

use super::{Deferred, MemorySides, Partition};
use crate::cache::SectorMask;
use crate::image::{MemoryImage, ZEROS};
use crate::machine::Machine;
use crate::machine::home::Home;
use crate::seam::{Below, Line, LineKind, LineRequest, LocalLine, PageRange, Reserved};
use strata_core::{Addr, LINE_BYTES, LineAddr, Paged};

/// What happens to a line of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum PageMove {
    /// It comes from the host.
    Came,
    /// It is at the host alone.
    Left,
    /// The device has written these sectors of it at the host.
    WrittenAway(SectorMask),
}

impl MemorySides {
    /// Shows a move to the sides of a line.
    #[cold]
    pub(super) fn move_line(
        &mut self,
        what: PageMove,
        home: &Home,
        line: LineAddr,
        memory: &mut dyn FnMut(LineAddr, &mut Line),
    ) {
        if let PageMove::WrittenAway(sectors) = what {
            let mut data = ZEROS;
            memory(line, &mut data);
            self.written_away(*home, line, sectors, &data);
            return;
        }
        let Partition { chain, image, lines, .. } = &mut self.partitions[usize::from(home.partition)];
        if what == PageMove::Left {
            return Below(chain).page_left(home.local);
        }
        if image.is_some() {
            *lines.get_mut(home.local.0) = Some(line);
        }
        let data = image.as_ref().map_or(&ZEROS, |image| image.line(home.local));
        Below(chain).page_came(&host_write(home, line, SectorMask::ALL, data));
    }

    /// L2 has asked for a line, or written it, while all data are at the host.
    pub(super) fn asked_away(&mut self, home: &Home, request: &LineRequest<'_>) {
        if request.kind == LineKind::WriteBack {
            Below(&mut self.partitions[usize::from(home.partition)].chain).written_away(request);
        }
    }

    /// Lines are about to get other homes: sides forget all of them. What memory holds of each.
    fn take_lines(&mut self) -> Vec<(LineAddr, Line)> {
        let mut taken = Vec::new();
        for Partition { chain, image, lines, .. } in &mut self.partitions {
            let Some(image) = image else { continue };
            for (local, line) in lines.iter().filter_map(|(local, line)| Some((LocalLine(local), (*line)?))) {
                taken.push((line, *image.line(local)));
                Below(chain).page_left(local);
            }
            (*image, *lines) = (MemoryImage::default(), Paged::default());
        }
        taken
    }

    /// Sectors of a line have been written while its page is at the host.
    pub(in crate::machine) fn written_away(&mut self, home: Home, line: LineAddr, sectors: SectorMask, data: &Line) {
        let Partition { chain, image, lines, .. } = &mut self.partitions[usize::from(home.partition)];
        if let Some(image) = image {
            image.write(home.local, sectors, data);
            *lines.get_mut(home.local.0) = Some(line);
        }
        let data = image.as_ref().map_or(&ZEROS, |image| image.line(home.local));
        Below(chain).written_away(&host_write(&home, line, sectors, data));
    }

    /// Bytes of device memory that are kept for a line of the allocation at an address.
    pub(in crate::machine) fn reserved(&self, start: Addr) -> u32 {
        self.partitions.first().map_or(LINE_BYTES as u32, |p| Reserved(&p.chain).bytes(start.line()))
    }
}

fn host_write<'a>(home: &Home, line: LineAddr, sectors: SectorMask, data: &'a Line) -> LineRequest<'a> {
    LineRequest {
        line: home.local,
        address: line,
        sectors,
        resident: SectorMask::NONE,
        kind: LineKind::HostWrite,
        data,
    }
}

impl Machine {
    /// Pages have come or gone: memory sides are told, behind what was written back before.
    pub(in crate::machine) fn move_pages(&mut self, what: PageMove, pages: PageRange) {
        if self.sides.is_none() && self.offload.is_none() {
            return;
        }
        let Some(lines) = self.tlbs.as_ref().map(|tlbs| tlbs.lines_of(pages)) else { return };
        if let Some(pager) = &mut self.pager {
            pager.moved(pages, what == PageMove::Came);
        }
        if self.sides.is_none() {
            return;
        }
        for line in lines.map(LineAddr) {
            self.move_line(what, line);
        }
    }

    /// Lines get other homes by `remap`: sides forget them at the old ones and are told of them at the new ones.
    pub(in crate::machine) fn rehome_lines<T>(&mut self, remap: impl FnOnce(&mut Self) -> T) -> T {
        let taken = self.sides.as_mut().map(|sides| sides.take_lines()).unwrap_or_default();
        let result = remap(self);
        for (line, data) in taken {
            let (home, away) = (self.interleave.home(line), self.is_away(line));
            let Some(sides) = &mut self.sides else { break };
            if away {
                sides.written_away(home, line, SectorMask::ALL, &data);
            } else {
                sides.host_wrote(home, line, SectorMask::ALL, &data);
            }
        }
        result
    }

    /// A page of this line has come or gone.
    pub(in crate::machine) fn move_line(&mut self, what: PageMove, line: LineAddr) {
        let home = self.interleave.home(line);
        let Some(sides) = &mut self.sides else { return };
        if self.sides_look_at_data {
            sides.deferred.push(Deferred::Page(what, home, line));
        } else {
            sides.move_line(what, &home, line, &mut |_, _| ());
        }
    }
}
