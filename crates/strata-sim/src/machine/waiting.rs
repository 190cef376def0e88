//! Requests that are merged with outstanding misses (the target lists of MSHRs), by the way that the miss fills.
//!
//! A list is threaded through the requests themselves, newest first: waiting allocates nothing. Its head lies with the tag.

use super::NONE;
use super::sm_memory::Request;
use crate::cache::{Tags, WayIndex};
use crate::slab::Slab;

/// A position in a list that has been taken.
pub(super) struct WaitCursor(u32);

/// Adds a request to the list of a way.
#[inline]
pub(super) fn enqueue(tags: &mut Tags, way: WayIndex, request: u32, requests: &mut Slab<Request>) {
    requests[request].next = std::mem::replace(tags.waiters_mut(way), request);
}

/// Takes the list of a way that is filled. Requests that are merged from now on go into a new list.
#[inline]
pub(super) fn take(tags: &mut Tags, way: WayIndex) -> WaitCursor {
    WaitCursor(std::mem::replace(tags.waiters_mut(way), NONE))
}

/// The next request of a taken list that is ready; those before it that are not go back into the way's list.
#[inline]
pub(super) fn next_ready(
    tags: &mut Tags,
    taken: &mut WaitCursor,
    way: WayIndex,
    requests: &mut Slab<Request>,
    mut is_ready: impl FnMut(&Request) -> bool,
) -> Option<u32> {
    while taken.0 != NONE {
        let request = taken.0;
        taken.0 = requests[request].next;
        if is_ready(&requests[request]) {
            return Some(request);
        }
        enqueue(tags, way, request, requests);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::SectorMask;
    use crate::machine::sm_memory::RequestKind;

    #[test]
    fn who_has_what_it_wants_goes_and_the_others_stay() {
        let (mut requests, mut tags, way) = (Slab::default(), Tags::new(1, 2), WayIndex::at(1));
        for sectors in [1, 2, 1, 3] {
            let waiting = Request::test(RequestKind::Read, 7, SectorMask(sectors));
            let handle = requests.add(waiting);
            enqueue(&mut tags, way, handle, &mut requests);
        }
        let mut go = |valid: u8| {
            let (mut gone, mut taken) = (Vec::new(), take(&mut tags, way));
            let ready = |r: &Request| r.sectors.without(SectorMask(valid)).is_empty();
            while let Some(request) = next_ready(&mut tags, &mut taken, way, &mut requests, ready) {
                gone.push(request);
            }
            gone
        };
        assert_eq!(go(1), [2, 0], "the newest first");
        assert_eq!(go(0), [0; 0]);
        assert_eq!(go(3), [3, 1]);
        assert_eq!(go(3), [0; 0]);
    }
}
