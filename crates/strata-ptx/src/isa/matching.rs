//! From the modifiers of an instruction to the forms they may spell.

use super::table::{Form, Slot, forms_of};
use crate::words::{Opcode, Word};

/// The forms that `words` spell; operands decide between several.
pub(crate) fn matching(op: Opcode, words: &[Word]) -> Vec<&'static Form> {
    forms_of(op).filter(|form| fits(form, words)).collect()
}

/// Forms have fewer slots than this, so a set of them is a `u32`.
const MOST_SLOTS: usize = 32;

fn fits(form: &Form, words: &[Word]) -> bool {
    debug_assert!(form.slots.len() < MOST_SLOTS);
    words.len() <= form.slots.len() && assign(&form.slots, words, 0, 0, &mut |_| {})
}

impl Form {
    /// The place of each of an instruction's modifiers among those of [`Form::choices`], if they spell this form.
    pub fn places(&self, words: &[Word]) -> Option<Vec<usize>> {
        let mut places = Vec::new();
        (words.len() <= self.slots.len() && assign(&self.slots, words, 0, 0, &mut |at| places.push(at))).then(|| {
            places.reverse();
            places
        })
    }
}

/// Gives each word its own slot, types in order; true if no required slot is left. The depth is bounded by the number
/// of slots, and a word rarely has more than one slot to go to. `found` hears the slots, that of the last word first.
fn assign(slots: &[Slot], words: &[Word], taken: u32, first_type: usize, found: &mut impl FnMut(usize)) -> bool {
    let Some((&word, rest)) = words.split_first() else {
        return slots.iter().enumerate().all(|(at, slot)| slot.optional || taken & (1 << at) != 0);
    };
    slots.iter().enumerate().any(|(at, slot)| {
        let fits = taken & (1 << at) == 0
            && slot.words.contains(&word)
            && (!slot.is_type || at >= first_type)
            && assign(slots, rest, taken | (1 << at), if slot.is_type { at + 1 } else { first_type }, found);
        if fits {
            found(at);
        }
        fits
    })
}

/// Why modifiers spell no form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mismatch {
    /// No form of the opcode knows this one (its index).
    Unknown(usize),
    /// Each is known, but not together.
    Combination,
}

/// Says why `words` spell no form of `op`.
pub(crate) fn mismatch(op: Opcode, words: &[Word]) -> Mismatch {
    words
        .iter()
        .position(|word| !forms_of(op).any(|form| form.slots.iter().any(|slot| slot.words.contains(word))))
        .map_or(Mismatch::Combination, Mismatch::Unknown)
}
