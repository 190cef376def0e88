//! The event queue: everything that happens, in the order of (time, sequence).
//!
//! The near future is a ring of buckets, each a span of time; the far future is a heap. A bucket is a few lists of nodes, one for
//! each part of its span, sorted when it opens: putting an event in costs a few instructions, and taking one out costs its share
//! of a sort of a handful. A part is so short that mostly all its events are of one edge of a clock; these are in order already,
//! for a list has the last that was put in first. Events put in for the bucket that is open (a unit that acts again within the same span) are inserted in their place.
//!
//! Nodes are used again, last freed first, so that the queue lives in as much memory as there are events to come, not in as
//! much as there are buckets: it must not push the caches of the simulated machine out of those of the host.

use crate::time::Picos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Span of a bucket, as a power of two of picoseconds: 1,024 ps is about one core cycle.
const BUCKET_SHIFT: u32 = 10;
/// Buckets of the ring: about four microseconds ahead.
const BUCKETS: usize = 1 << 12;
/// Span of a part of a bucket, likewise, and the parts that a bucket has.
const PART_SHIFT: u32 = 8;
const PARTS: usize = 1 << (BUCKET_SHIFT - PART_SHIFT);
/// No node.
const NONE: u32 = u32::MAX;

/// An event: what, and for whom. 16 bytes with its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry<E> {
    time: u64,
    sequence: u32,
    event: E,
}

/// An event in a bucket.
struct Node<E> {
    entry: Entry<E>,
    /// The next of the bucket, or of the free ones.
    next: u32,
}

/// Events of type `E`, ordered by time and then by the order in which they were put in.
pub struct EventQueue<E> {
    /// The first node of each part of each bucket.
    ring: Box<[[u32; PARTS]]>,
    nodes: Vec<Node<E>>,
    free: u32,
    /// The open bucket, latest first, so that the next event is taken from the end.
    open: Vec<Entry<E>>,
    /// Number of the open bucket since the beginning of time.
    bucket: u64,
    far: BinaryHeap<Reverse<Entry<E>>>,
    in_ring: usize,
    sequence: u32,
    taken: u64,
    now: Picos,
}

impl<E: Copy + Ord> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            ring: vec![[NONE; PARTS]; BUCKETS].into_boxed_slice(),
            nodes: Vec::new(),
            free: NONE,
            open: Vec::new(),
            bucket: 0,
            far: BinaryHeap::new(),
            in_ring: 0,
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
        self.open.is_empty() && self.in_ring == 0 && self.far.is_empty()
    }

    /// Puts an event in; a time before now means now.
    #[inline]
    pub fn push(&mut self, time: Picos, event: E) {
        let time = time.0.max(self.now.0);
        let entry = Entry { time, sequence: self.sequence, event };
        self.sequence = self.sequence.wrapping_add(1);
        let bucket = time >> BUCKET_SHIFT;
        if bucket <= self.bucket {
            // Latest first: behind everything that comes later, before its equals, which were put in earlier.
            let at = self.open.partition_point(|e| e.time > time);
            self.open.insert(at, entry);
        } else if bucket - self.bucket < BUCKETS as u64 {
            self.put_in_bucket(entry);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    #[inline]
    fn put_in_bucket(&mut self, entry: Entry<E>) {
        let part = (entry.time >> PART_SHIFT) as usize;
        let first = &mut self.ring[part / PARTS % BUCKETS][part % PARTS];
        let node = Node { entry, next: *first };
        let at = if self.free == NONE {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let at = self.free;
            self.free = std::mem::replace(&mut self.nodes[at as usize], node).next;
            at
        };
        *first = at;
        self.in_ring += 1;
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picos, E)> {
        if self.open.is_empty() && !self.open_next() {
            return None;
        }
        let entry = self.open.pop()?;
        self.now = Picos(entry.time);
        self.taken += 1;
        Some((self.now, entry.event))
    }

    /// The event that comes after so many others, if that is known already.
    #[inline]
    pub fn upcoming(&self, others: usize) -> Option<E> {
        let at = self.open.len().checked_sub(others + 1)?;
        Some(self.open[at].event)
    }

    /// Opens the next bucket that holds anything.
    fn open_next(&mut self) -> bool {
        if self.in_ring == 0 {
            let Some(Reverse(first)) = self.far.peek() else { return false };
            self.bucket = first.time >> BUCKET_SHIFT;
        } else {
            loop {
                self.bucket += 1;
                // What was too far away may be near now.
                if self.ring[self.bucket as usize % BUCKETS] != [NONE; PARTS] || self.far_is_due() {
                    break;
                }
            }
        }
        let parts = std::mem::replace(&mut self.ring[self.bucket as usize % BUCKETS], [NONE; PARTS]);
        // Latest first.
        for part in parts.into_iter().rev().filter(|&first| first != NONE) {
            let first = self.open.len();
            let mut at = part;
            while at != NONE {
                let node = &mut self.nodes[at as usize];
                self.open.push(node.entry);
                let next = std::mem::replace(&mut node.next, self.free);
                self.free = at;
                self.in_ring -= 1;
                at = next;
            }
            sort(&mut self.open[first..]);
        }
        if self.far_is_due() {
            while self.far_is_due() {
                self.open.extend(self.far.pop().map(|r| r.0));
            }
            sort(&mut self.open);
        }
        true
    }

    fn far_is_due(&self) -> bool {
        self.far.peek().is_some_and(|Reverse(e)| e.time >> BUCKET_SHIFT <= self.bucket)
    }
}

/// Sorts events of one bucket, latest first.
#[inline]
fn sort<E>(events: &mut [Entry<E>]) {
    // Within a bucket the low bits of the time tell events apart: one number to compare, not two.
    events.sort_unstable_by_key(|e| Reverse(e.time << 32 | u64::from(e.sequence)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the obvious implementation: a stable sort of what is left.
        #[test]
        fn order_is_time_then_sequence(steps in proptest::collection::vec((any::<bool>(), 0u64..1 << 24), 1..400)) {
            let mut queue = EventQueue::default();
            let mut plain: Vec<(u64, u32)> = Vec::new();
            let mut next = 0u32;
            for (take, delay) in steps {
                if take {
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
