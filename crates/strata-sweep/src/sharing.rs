//! What points of a sweep share: the work of their program's host, which makes inputs and references from size and seed alone.
//!
//! The first point of a *family* (one program, size, seed and set of mechanisms) keeps what its host did; the others do the same
//! without the program, and execute and time its launches themselves ([`HostWork`]). So the result of a point is the same, byte for
//! byte, whether it shares or not. A family in which some device answers the host otherwise (mechanisms place memory otherwise, sums
//! take their terms in another order) ends its sharing there: each point that is left runs its program.
//!
//! How long the host took is measured where it works, but not in the points that a process begins with: these are slower than others.
//! Of a family whose work such a point did, one more point does it.
//!
//! Invariant: kept is the work of families that have points left, so memory does not grow with the sweep.

use crate::points::{Point, Points};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_core::Bytes;
use strata_run::run::HostWork;
use xxhash_rust::xxh3::xxh3_128;

/// Data that the work of one host may hold; a program with more does it in each point.
pub(crate) const ROOM: Bytes = Bytes(256 << 20);

/// The points of one sweep by families.
pub(crate) struct Sharing {
    families: Mutex<HashMap<u128, Family>>,
    /// Some point has ended.
    is_warm: AtomicBool,
}

/// Points of which one could do the host's work for all.
struct Family {
    /// Points that have not begun.
    left: usize,
    known: Known,
}

#[derive(Clone)]
enum Known {
    /// No point has ended.
    Nothing,
    /// What the host did, the CPU time that it took, in seconds, as far as known, and whether somebody measures that.
    Work { work: Arc<HostWork>, seconds: Option<f64>, is_measured: bool },
    /// The work cannot be shared.
    Own,
}

/// How a point is to be run.
pub(crate) enum Way {
    /// By its program alone.
    Alone,
    /// By its program; what its host does is kept, and measured unless the process is cold.
    Keep { is_cold: bool },
    /// By its program; what its host does is measured.
    Measure,
    /// With what another's host did in so many seconds of CPU time, as far as known.
    Again(Arc<HostWork>, Option<f64>),
}

impl Sharing {
    /// Of the points of these numbers, and the order in which they are best run: members of a family one after the other.
    pub(crate) fn of(points: &Points<'_>, numbers: &[usize]) -> (Self, Vec<usize>) {
        let mut families: HashMap<u128, Family> = HashMap::new();
        let mut first: HashMap<u128, usize> = HashMap::new();
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(numbers.len());
        for (place, number) in numbers.iter().enumerate() {
            let family = family(&points.point(*number));
            families.entry(family).or_insert(Family { left: 0, known: Known::Nothing }).left += 1;
            order.push((*first.entry(family).or_insert(place), *number));
        }
        // Who is alone shares nothing, and has no need to be remembered.
        families.retain(|_, family| family.left > 1);
        order.sort_by_key(|(first, _)| *first);
        (
            Self { families: Mutex::new(families), is_warm: AtomicBool::new(false) },
            order.into_iter().map(|(_, number)| number).collect(),
        )
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u128, Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A point begins.
    pub(crate) fn begins(&self, point: &Point) -> Way {
        let key = family(point);
        let mut families = self.lock();
        let Some(family) = families.get_mut(&key) else { return Way::Alone };
        family.left -= 1;
        let is_last = family.left == 0;
        let way = match family.known.clone() {
            Known::Work { work, seconds, is_measured: false } if !is_last => {
                family.known = Known::Work { work, seconds, is_measured: true };
                Way::Measure
            }
            Known::Work { work, seconds, .. } => Way::Again(work, seconds),
            Known::Nothing if !is_last => Way::Keep { is_cold: !self.is_warm.load(Ordering::Relaxed) },
            Known::Nothing | Known::Own => Way::Alone,
        };
        if is_last {
            families.remove(&key);
        }
        way
    }

    /// A point has ended, however that went.
    pub(crate) fn ended(&self) {
        self.is_warm.store(true, Ordering::Relaxed);
    }

    /// The host of a point took so many seconds.
    pub(crate) fn measured(&self, point: &Point, seconds: f64) {
        if let Some(family) = self.lock().get_mut(&family(point))
            && let Known::Work { seconds: known, .. } = &mut family.known
        {
            *known = Some(seconds);
        }
    }

    /// A point has run; `work` is what its host did, if that could be kept, in so many seconds, if those say anything.
    pub(crate) fn kept(&self, point: &Point, work: Option<HostWork>, seconds: Option<f64>) {
        if let Some(family) = self.lock().get_mut(&family(point))
            && matches!(family.known, Known::Nothing)
        {
            let kept = |work| Known::Work { work: Arc::new(work), seconds, is_measured: seconds.is_some() };
            family.known = work.map_or(Known::Own, kept);
        }
    }

    /// The device of a point did not answer as another's did.
    pub(crate) fn differs(&self, point: &Point) {
        if let Some(family) = self.lock().get_mut(&family(point)) {
            family.known = Known::Own;
        }
    }
}

/// The name of a point's family.
fn family(point: &Point) -> u128 {
    let request = &point.request;
    xxh3_128(format!("{:?} {:?} {:?} {}", request.what, request.size, request.seed, request.with).as_bytes())
}
