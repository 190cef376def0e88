//! The deduplicated memory of one partition: which block's bytes are where, without time.
//!
//! Every block (a line of 128 bytes) has a *home*, the place of the same number. Its masked sectors, those that kernels have
//! written, are in its map entry ([`Kind::Intra`]), at its home ([`Kind::Own`]) or at another place ([`Kind::Inter`]); its
//! other sectors are at its home. Invariants, recounted after every step by the tests:
//!
//! * a place is *occupied* exactly if the masked sectors of some block are there;
//! * a place with several blocks has an entry in the hash store, whose count is their number;
//! * blocks at one place have equal masks and equal masked bytes;
//! * unmasked data of a block are at its home, where no other block's masked sectors cover them;
//! * no count leaks: writes, host copies and frees take a block away from its old place.
//!
//! When a block that others share is written, the old bytes stay for the others and the new ones go to a *free* place: the
//! home of a block whose own data are elsewhere, or, with none, a line of the spill area.

mod bytes;
mod places;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::Mutation;

use crate::block::{Block, Kind};
use crate::fingerprint::{Fingerprint, masked, repeated_word};
use crate::hash_store::{EntryId, HashStore};
use bytes::PlaceBytes;
use places::Places;
use strata_sim::cache::SectorMask;
use strata_sim::seam::Line;

/// How duplicates are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Blocks of one repeated word are kept in their map entries.
    pub intra: bool,
    /// What is compared.
    pub fingerprint: Fingerprint,
    /// A fingerprint that is found is no proof: the reference is read and compared.
    pub verify: bool,
    /// Entries of the hash store.
    pub entries: u32,
    /// The largest count.
    pub max_count: u32,
    /// First line of the spill area.
    pub spill: u64,
}

/// Sectors at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// The place, a line of the partition.
    pub place: u64,
    /// The sectors of that line.
    pub sectors: SectorMask,
}

/// What a write came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// One word, kept in the map entry.
    Intra,
    /// Equal to what is at a place already.
    Inter,
    /// No duplicate: these sectors are written.
    Stored(At),
}

/// Everything that a write does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Metadata of the block before the write.
    pub before: Block,
    /// Metadata of the block after it.
    pub after: Block,
    /// A fingerprint was made.
    pub hashed: bool,
    /// The reference that is read and compared.
    pub compared: Option<At>,
    /// The fingerprint was found and the bytes were others.
    pub collided: bool,
    /// Where the data went.
    pub outcome: Outcome,
}

/// Where the sectors that a read wants are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Metadata of the block that is read.
    pub block: Block,
    /// Wanted sectors that kernels have written.
    pub masked: SectorMask,
    /// Where those are; none if they are in the map entry.
    pub place: Option<u64>,
    /// Wanted sectors that nobody has written: at the block's home.
    pub at_home: SectorMask,
    /// The block at its home whose copy in L2 holds the same masked sectors.
    pub reference: Option<u64>,
}

/// The deduplicated memory.
pub struct Dedup {
    rules: Rules,
    places: Places,
    store: HashStore,
    bytes: Option<PlaceBytes>,
    #[cfg(test)]
    mutation: Option<Mutation>,
}

impl Dedup {
    /// An empty memory.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            places: Places::new(rules.spill),
            store: HashStore::new(rules.entries, rules.max_count),
            bytes: None,
            #[cfg(test)]
            mutation: None,
        }
    }

    /// From now on, keep the bytes at each place.
    pub fn carry_bytes(&mut self) {
        self.bytes = Some(PlaceBytes::default());
    }

    /// The bytes at a place, if they are kept.
    pub fn bytes_at(&self, place: u64) -> Option<&Line> {
        self.bytes.as_ref().map(|bytes| bytes.line(place))
    }

    /// What metadata say of a block.
    pub fn block(&self, line: u64) -> Block {
        self.places.block(line)
    }

    /// Lines of the spill area in use at most.
    pub fn spilled(&self) -> u64 {
        self.places.spilled()
    }

    /// Sectors of a block are wanted.
    pub fn read(&self, line: u64, sectors: SectorMask) -> Found {
        let block = self.block(line);
        let masked = sectors.and(block.mask);
        let place = if masked.is_empty() { None } else { block.place(line) };
        let reference = place.filter(|&place| block.kind == Kind::Inter && self.is_reference(place));
        Found { block, masked, place, at_home: sectors.without(block.mask), reference }
    }

    /// True if the masked sectors of a block are at its home: what L2 has under its name is what is there.
    fn is_reference(&self, line: u64) -> bool {
        #[cfg(test)]
        if self.mutation == Some(Mutation::TrustsReference) {
            return true;
        }
        self.block(line).kind == Kind::Own
    }

    /// Old sectors of a block that a write does not cover and that DRAM must be asked for before it: a Dedup-Read (CMD,
    /// equation 1).
    pub fn uncovered(&self, line: u64, sectors: SectorMask) -> Option<At> {
        let block = self.block(line);
        let old = block.mask.without(sectors);
        block.place(line).filter(|_| !old.is_empty()).map(|place| At { place, sectors: old })
    }

    /// Sectors of a block are written back; `data` is the line afterwards.
    pub fn write(&mut self, line: u64, sectors: SectorMask, data: &Line) -> Written {
        let before = self.block(line);
        let mask = before.mask.or(sectors);
        let mut written = Written {
            before,
            after: Block { mask, ..before },
            hashed: false,
            compared: None,
            collided: false,
            outcome: Outcome::Intra,
        };
        if let Some(word) = repeated_word(mask, data).filter(|_| self.rules.intra) {
            self.depart(line, &before);
            (written.after.kind, written.after.map) = (Kind::Intra, u64::from(word));
        } else {
            self.write_hashed(line, sectors, data, &mut written);
        }
        self.places.set_block(line, written.after);
        self.places.note_if_free(line);
        written
    }

    /// The same without looking for duplicates: the block goes home, unless others' data are there.
    pub fn write_plain(&mut self, line: u64, sectors: SectorMask, data: &Line) -> Written {
        let before = self.block(line);
        let mask = before.mask.or(sectors);
        let at = if self.is_alone_at_home(line) {
            if let Some(entry) = self.places.place(line).entry.some() {
                self.store.remove(entry);
            }
            At { place: line, sectors }
        } else {
            self.depart(line, &before);
            At { place: self.places.take_home(line), sectors: mask }
        };
        self.settle(at, EntryId::NONE, data);
        let after = located(Block { mask, ..before }, line, at.place);
        self.places.set_block(line, after);
        self.places.note_if_free(line);
        Written { before, after, hashed: false, compared: None, collided: false, outcome: Outcome::Stored(at) }
    }

    /// A block's masked sectors are at its home, and no other's: a write there needs nothing of what it does not cover.
    pub fn is_alone_at_home(&self, line: u64) -> bool {
        self.block(line).place(line) == Some(line) && self.is_alone_at(line)
    }

    /// Sectors are at a place from now on.
    fn settle(&mut self, at: At, entry: EntryId, data: &Line) {
        let place = self.places.place_mut(at.place);
        (place.occupied, place.entry) = (true, entry);
        if let Some(bytes) = &mut self.bytes {
            bytes.write(at.place, at.sectors, data);
        }
    }

    /// The same for a block that is not one word.
    fn write_hashed(&mut self, line: u64, sectors: SectorMask, data: &Line, written: &mut Written) {
        let mask = written.after.mask;
        let bytes = masked(mask, data);
        let key = self.rules.fingerprint.of(mask, &bytes);
        let found = self.store.find(key);
        written.hashed = true;
        if let Some(id) = found {
            let place = self.store.place(id);
            written.compared = self.rules.verify.then_some(At { place, sectors: mask });
            written.collided = !self.store.holds(id, mask, &bytes);
            if (!written.collided || self.trusts_collisions()) && self.join(line, id, &written.before) {
                written.after = located(written.after, line, place);
                written.outcome = Outcome::Inter;
                return;
            }
        }
        let at = self.store_at(line, sectors, &written.before, mask);
        let mut entry = EntryId::NONE;
        if found.is_none() {
            let (inserted, evicted) = self.store.insert(key, mask, &bytes, at.place);
            if let Some(evicted) = evicted {
                self.places.place_mut(evicted).entry = EntryId::NONE;
            }
            entry = inserted;
        }
        self.settle(at, entry, data);
        written.after = located(written.after, line, at.place);
        written.outcome = Outcome::Stored(at);
    }

    /// A block is equal to that of an entry; false if its count says no.
    fn join(&mut self, line: u64, id: EntryId, before: &Block) -> bool {
        if before.place(line) == Some(self.store.place(id)) {
            self.store.touch(id);
            return true;
        }
        if !self.store.join(id) {
            return false;
        }
        self.depart(line, before);
        true
    }

    /// Where a block that is no duplicate is written, and which sectors: the new ones if the block alone is there already and
    /// covers nothing of the block whose home it is, all masked ones elsewhere.
    fn store_at(&mut self, line: u64, sectors: SectorMask, before: &Block, mask: SectorMask) -> At {
        if let Some(place) = before.place(line)
            && self.is_alone_at(place)
            && (place == line || self.block(place).pinned().and(mask).is_empty())
        {
            if let Some(entry) = self.places.place(place).entry.some() {
                self.store.remove(entry);
            }
            return At { place, sectors };
        }
        self.depart(line, before);
        At { place: self.places.take(line), sectors: mask }
    }

    fn is_alone_at(&self, place: u64) -> bool {
        #[cfg(test)]
        if self.mutation == Some(Mutation::OverwritesShared) {
            return true;
        }
        self.places.place(place).entry.some().is_none_or(|entry| self.store.count(entry) == 1)
    }

    #[cfg_attr(not(test), allow(clippy::unused_self, reason = "tests have hashes that must not be trusted"))]
    fn trusts_collisions(&self) -> bool {
        #[cfg(test)]
        if self.mutation == Some(Mutation::TrustsHash) {
            return true;
        }
        false
    }

    #[cfg_attr(not(test), allow(clippy::unused_self, reason = "tests forget who refers to a place"))]
    fn loses_references(&self) -> bool {
        #[cfg(test)]
        if self.mutation == Some(Mutation::LosesReferences) {
            return true;
        }
        false
    }

    /// The masked sectors of a block are no longer at their place.
    fn depart(&mut self, line: u64, before: &Block) {
        let Some(place) = before.place(line) else { return };
        #[cfg(test)]
        if self.mutation == Some(Mutation::LeaksCounts) {
            return;
        }
        if let Some(entry) = self.places.place(place).entry.some()
            && self.store.leave(entry) > 0
            && !self.loses_references()
        {
            return;
        }
        self.places.vacate(place);
    }

    /// The host has written sectors of a block; `data` is the line afterwards. The block is read-only again, at its home; if
    /// others' data are there, it gets another place as if a kernel had written it, which is told.
    pub fn host_wrote(&mut self, line: u64, sectors: SectorMask, data: &Line) -> u64 {
        let before = self.block(line);
        let known = before.mask.or(before.defined).or(sectors);
        self.depart(line, &before);
        self.places.set_block(line, Block { defined: known, ..Block::default() });
        let place = if self.places.place(line).occupied { self.places.take(line) } else { line };
        if place != line {
            let block = Block { mask: known, ..Block::default() };
            self.places.set_block(line, located(block, line, place));
            self.places.place_mut(place).occupied = true;
        }
        if let Some(bytes) = &mut self.bytes {
            bytes.write(place, known, data);
        }
        place
    }

    /// The program has freed a block: nothing of it is needed.
    pub fn freed(&mut self, line: u64) {
        let before = self.block(line);
        if before != Block::default() {
            self.depart(line, &before);
            self.places.set_block(line, Block::default());
        }
    }

    /// The bytes of a block as a read would find them, and the sectors that have any; none if bytes are not kept.
    pub fn delivers(&self, line: u64) -> Option<(SectorMask, Line)> {
        let bytes = self.bytes.as_ref()?;
        let block = self.block(line);
        let mut out = *bytes.line(line);
        match block.place(line) {
            Some(place) => bytes.copy(place, block.mask, &mut out),
            None => bytes::repeat(block.map as u32, block.mask, &mut out),
        }
        Some((block.mask.or(block.defined), out))
    }
}

/// The block with its masked sectors at a place.
fn located(block: Block, line: u64, place: u64) -> Block {
    if place == line {
        Block { kind: Kind::Own, map: 0, ..block }
    } else {
        Block { kind: Kind::Inter, map: place, ..block }
    }
}
