//! The event queue: everything that happens, in the order of (time, sequence).
//!
//! The near future is a ring of buckets, each a span of time; the far future is a heap. A bucket keeps its events in the order in
//! which they were put in, a few to a chunk of two cache lines of the host, and is sorted by time when it opens: putting an event in
//! costs a few instructions, and taking one out costs its share of a sort of a handful, mostly of one edge of a clock and so in
//! order already. Events put in for a bucket that is open (a unit that acts again within the same span) are inserted in their place.
//!
//! Chunks are used again, last freed first, so that the queue lives in as much memory as there are events to come, not in as
//! much as there are buckets: it must not push the caches of the simulated machine out of those of the host.

use crate::time::Picos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Span of a bucket, as a power of two of picoseconds: 512 ps is somewhat less than a core cycle.
const BUCKET_SHIFT: u32 = 9;
/// Buckets of the ring: about four microseconds ahead.
const BUCKETS: usize = 1 << 13;
/// Buckets whose events to come are told by one word of the map.
const WORD: usize = 64;
/// Events of a chunk.
const CHUNK: usize = 7;
/// So many events should be known beyond the next one, for those who ask the host's caches for what they need …
const AHEAD: usize = 7;
/// … if they come within so many buckets.
const SOON: u64 = 4;
/// So many events are sorted by inserting one after another, more by merging.
const FEW: usize = 32;
/// No chunk.
const NONE: u32 = u32::MAX;

/// An event: what and when. 16 bytes.
#[derive(Clone, Copy)]
struct Entry<E> {
    time: u64,
    event: E,
}

/// An event that is too far away for the ring; of those at one time the first comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Far<E> {
    time: u64,
    sequence: u64,
    event: E,
}

/// Some of the events of a bucket, in the order in which they were put in.
#[repr(align(64))]
struct Chunk<E> {
    entries: [Entry<E>; CHUNK],
    /// How many there are.
    count: u32,
    /// The chunk that was filled before, or the next of the free ones.
    next: u32,
}

/// Events of type `E`, ordered by time and then by the order in which they were put in.
pub struct EventQueue<E> {
    /// The last chunk of each bucket.
    ring: Box<[u32]>,
    /// One bit per bucket: it holds events.
    filled: Box<[u64]>,
    chunks: Vec<Chunk<E>>,
    free: u32,
    /// The events of the buckets that are open, in order, and how many of them have been taken.
    open: Vec<Entry<E>>,
    next: usize,
    /// Number of the last open bucket since the beginning of time; all before it are open or empty.
    bucket: u64,
    far: BinaryHeap<Reverse<Far<E>>>,
    /// Events that were ever put into the far future.
    sequence: u64,
    taken: u64,
    now: Picos,
}

impl<E: Copy + Ord> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            ring: vec![NONE; BUCKETS].into_boxed_slice(),
            filled: vec![0; BUCKETS / WORD].into_boxed_slice(),
            chunks: Vec::new(),
            free: NONE,
            open: Vec::new(),
            next: 0,
            bucket: 0,
            far: BinaryHeap::new(),
            sequence: 0,
            taken: 0,
            now: Picos(0),
        }
    }
}

impl<E: Copy + Ord> EventQueue<E> {
    /// The time of the event taken last.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Events taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// True if nothing is left to happen.
    pub fn is_empty(&self) -> bool {
        self.next == self.open.len() && self.far.is_empty() && self.filled.iter().all(|&word| word == 0)
    }

    /// Puts an event in; a time before now means now.
    #[inline]
    pub fn push(&mut self, time: Picos, event: E) {
        let entry = Entry { time: time.0.max(self.now.0), event };
        let bucket = entry.time >> BUCKET_SHIFT;
        if bucket <= self.bucket {
            self.insert_into_open(entry);
        } else if bucket - self.bucket < BUCKETS as u64 {
            self.put_in_bucket(bucket as usize % BUCKETS, entry);
        } else {
            self.put_far_away(entry);
        }
    }

    #[cold]
    fn put_far_away(&mut self, Entry { time, event }: Entry<E>) {
        self.sequence += 1;
        self.far.push(Reverse(Far { time, sequence: self.sequence, event }));
    }

    /// Inserts an event into the open buckets: before everything that comes later, behind its equals, which were put in earlier.
    #[inline]
    fn insert_into_open(&mut self, entry: Entry<E>) {
        self.open.push(entry);
        sink(&mut self.open[self.next..]);
    }

    #[inline]
    fn put_in_bucket(&mut self, bucket: usize, entry: Entry<E>) {
        let last = self.ring[bucket];
        if let Some(chunk) = self.chunks.get_mut(last as usize)
            && let Some(place) = chunk.entries.get_mut(chunk.count as usize)
        {
            *place = entry;
            chunk.count += 1;
            return;
        }
        self.ring[bucket] = self.begin_chunk(entry, last);
        self.filled[bucket / WORD] |= 1 << (bucket % WORD);
    }

    /// A chunk with one event, behind another chunk.
    fn begin_chunk(&mut self, entry: Entry<E>, next: u32) -> u32 {
        let at = self.free;
        if let Some(chunk) = self.chunks.get_mut(at as usize) {
            self.free = chunk.next;
            chunk.entries[0] = entry;
            (chunk.count, chunk.next) = (1, next);
            return at;
        }
        self.chunks.push(Chunk { entries: [entry; CHUNK], count: 1, next });
        self.chunks.len() as u32 - 1
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picos, E)> {
        let left = self.open.len() - self.next;
        if (left == 0 || left <= AHEAD && self.soon() > self.bucket) && !self.open_more() {
            return None;
        }
        let entry = self.open[self.next];
        self.next += 1;
        self.now = Picos(entry.time);
        self.taken += 1;
        Some((self.now, entry.event))
    }

    /// The event that comes after so many others, if that is known already.
    #[inline]
    pub fn upcoming(&self, others: usize) -> Option<E> {
        self.open.get(self.next + others).map(|entry| entry.event)
    }

    /// The last bucket that is opened before it is needed.
    #[inline]
    fn soon(&self) -> u64 {
        (self.now.0 >> BUCKET_SHIFT) + SOON
    }

    /// Opens buckets until enough events are known; false if there are none.
    fn open_more(&mut self) -> bool {
        self.open.copy_within(self.next.., 0);
        self.open.truncate(self.open.len() - self.next);
        self.next = 0;
        while self.open.len() <= AHEAD {
            let in_ring = self.next_filled();
            let far = self.far.peek().map(|Reverse(e)| e.time >> BUCKET_SHIFT);
            let is_wanted = |bucket: &u64| self.open.is_empty() || *bucket <= self.soon();
            let Some(bucket) = in_ring.into_iter().chain(far).min().filter(is_wanted) else {
                self.bucket = self.bucket.max(self.soon());
                break;
            };
            self.bucket = bucket;
            self.open_bucket(bucket, in_ring == Some(bucket), far == Some(bucket));
        }
        !self.open.is_empty()
    }

    /// Opens a bucket behind those that are open.
    #[inline]
    fn open_bucket(&mut self, bucket: u64, in_ring: bool, far: bool) {
        let first = self.open.len();
        if far {
            // What is far away was put in before everything that is near by now.
            while let Some(&Reverse(Far { time, event, .. })) = self.far.peek()
                && time >> BUCKET_SHIFT == bucket
            {
                self.open.push(Entry { time, event });
                self.far.pop();
            }
        }
        if in_ring {
            self.collect(bucket as usize % BUCKETS);
        }
        let opened = &mut self.open[first..];
        if opened.len() <= FEW {
            for sorted in 2..=opened.len() {
                sink(&mut opened[..sorted]);
            }
        } else {
            opened.sort_by_key(|entry| entry.time);
        }
    }

    /// The next bucket of the ring, by its number since the beginning of time, that holds anything.
    #[inline]
    fn next_filled(&self) -> Option<u64> {
        let first = (self.bucket + 1) as usize % BUCKETS;
        let mut map = self.filled[first / WORD] & u64::MAX << (first % WORD);
        let mut before = first / WORD * WORD;
        // Once round: the word that was looked at first may hold the last buckets, too.
        for _ in 0..=BUCKETS / WORD {
            if map != 0 {
                let bucket = before + map.trailing_zeros() as usize;
                return Some(self.bucket + 1 + (bucket.wrapping_sub(first) % BUCKETS) as u64);
            }
            before = (before + WORD) % BUCKETS;
            map = self.filled[before / WORD];
        }
        None
    }

    /// Empties a bucket of the ring into the open one.
    #[inline]
    fn collect(&mut self, bucket: usize) {
        let last = std::mem::replace(&mut self.ring[bucket], NONE);
        self.filled[bucket / WORD] &= !(1 << (bucket % WORD));
        // The first chunk is the last of the list: it is turned round, which for most buckets is nothing to do.
        let (mut at, mut behind) = (last, NONE);
        while let Some(chunk) = self.chunks.get_mut(at as usize) {
            (behind, at) = (at, std::mem::replace(&mut chunk.next, behind));
        }
        at = behind;
        while let Some(chunk) = self.chunks.get_mut(at as usize) {
            self.open.extend_from_slice(&chunk.entries[..chunk.count as usize % (CHUNK + 1)]);
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = at;
            at = next;
        }
    }
}

/// Moves the last event of a list to its place among the others, which are in order.
#[inline]
fn sink<E: Copy>(events: &mut [Entry<E>]) {
    let Some((&last, others)) = events.split_last() else { return };
    let mut at = others.len();
    while at > 0 && events[at - 1].time > last.time {
        events[at] = events[at - 1];
        at -= 1;
    }
    events[at] = last;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the obvious implementation: a stable sort of what is left.
        #[test]
        fn order_is_time_then_sequence(
            steps in proptest::collection::vec((0u8..5, prop_oneof![0u64..3_000, 0u64..1 << 24]), 1..400),
        ) {
            let mut queue = EventQueue::default();
            let mut plain: Vec<(u64, u32)> = Vec::new();
            let mut next = 0u32;
            for (kind, delay) in steps {
                if kind < 2 {
                    let expected = plain.iter().enumerate().min_by_key(|(_, e)| **e).map(|(k, _)| k);
                    let got = queue.pop();
                    prop_assert_eq!(got.map(|(t, e)| (t.0, e)), expected.map(|k| plain.remove(k)));
                } else {
                    let time = queue.now().0 + delay;
                    queue.push(Picos(time), next);
                    plain.push((time, next));
                    next += 1;
                }
            }
            while let Some((t, e)) = queue.pop() {
                let k = plain.iter().enumerate().min_by_key(|(_, e)| **e).map(|(k, _)| k).unwrap();
                prop_assert_eq!((t.0, e), plain.remove(k));
            }
            prop_assert!(plain.is_empty());
        }
    }
}
