//! Heat maps of managed memory: how often the GMMU was asked for each page, a picture for each allocation.
//!
//! A pixel is a page, a row is 64 of them, in the order of addresses; blue was never walked to, red most often. Colours
//! follow the logarithm, so that a page walked to once can be told from one that never was.

use crate::Uvm;
use std::path::Path;
use strata_core::files::AtomicFile;
use strata_heatmap::HeatMap;
use strata_mechanism::MechanismError;

/// The hottest colour of a [`HeatMap`].
const HOTTEST: u64 = 128;
/// Pictures of a run: a program with more allocations has the others in `uvm.json` alone.
const MOST: usize = 64;

/// Saves `heat-K-NAME.png` for each allocation, K counting from 0.
pub(crate) fn save(uvm: &Uvm, folder: &Path) -> Result<(), MechanismError> {
    for (k, allocation) in uvm.space().allocations().iter().enumerate().take(MOST) {
        let walks = uvm.heat(allocation);
        let most = logarithm(walks.iter().copied().max().unwrap_or(0)).max(1);
        let map = HeatMap::new(walks.len() as u64);
        for (page, &count) in (0..).zip(walks) {
            map.add(page, (logarithm(count) * HOTTEST / most) as u16);
        }
        let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
        let name: String = allocation.name.chars().take(40).map(letter).collect();
        let path = folder.join(format!("heat-{k}-{name}.png"));
        let written = AtomicFile::create(&path).and_then(|mut file| {
            map.write_png(&mut file)?;
            file.commit()
        });
        written.map_err(|e| MechanismError::io("write", &path, e))?;
    }
    Ok(())
}

/// The logarithm of one more, to the base of two, in sixteenths: whole numbers are the same everywhere.
fn logarithm(count: u32) -> u64 {
    let n = u64::from(count) + 1;
    let whole = u64::from(n.ilog2());
    16 * whole + (n << 4 >> whole) - 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_grows_from_nothing() {
        assert_eq!((logarithm(0), logarithm(1), logarithm(3)), (0, 16, 32));
        assert!((0..5000).map(logarithm).is_sorted());
        assert_eq!(logarithm(u32::MAX), 32 * 16);
    }
}
