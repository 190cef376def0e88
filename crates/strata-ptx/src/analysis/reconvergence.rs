//! Where lanes that a branch has parted meet again.

use super::cfg::{BlockId, Cfg};
use super::dominators::DominatorTree;

/// For each block that more than one block may follow, the block where all ways from it meet: its immediate
/// post-dominator.
///
/// `bra.uni` is no exception: the promise that lanes do not part costs nothing if it is kept, and must not lose lanes if
/// it is not. A guarded `ret`, `exit` or `trap` parts no lanes: those that leave are gone and the others go on.
#[derive(Clone, Debug)]
pub struct Reconvergence {
    /// [`Cfg::exit`] where there is no such block.
    meeting: Vec<BlockId>,
    exit: BlockId,
}

impl Reconvergence {
    /// Reads the points off the post-dominators of `cfg`.
    pub fn build(cfg: &Cfg, post_dominators: &DominatorTree) -> Self {
        let exit = cfg.exit();
        let meeting = cfg
            .ids()
            .map(|b| if Self::parts(cfg, b) { post_dominators.immediate(b).unwrap_or(exit) } else { exit })
            .collect();
        Self { meeting, exit }
    }

    /// True if lanes can part at the end of `b`.
    pub fn parts(cfg: &Cfg, b: BlockId) -> bool {
        cfg.successors(b).len() > 1
    }

    /// Where lanes that part at the end of `b` meet; none if they do not part there, or never meet before they leave the
    /// function.
    pub fn point(&self, b: BlockId) -> Option<BlockId> {
        Some(self.meeting[b.index()]).filter(|&meeting| meeting != self.exit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::CallsEndBlocks;
    use super::super::testing::{Body, any_function};
    use super::*;
    use crate::ast::{Function, Type};
    use proptest::prelude::*;

    fn build(function: &Function) -> (Cfg, Reconvergence) {
        let cfg = Cfg::build(function, CallsEndBlocks::No);
        let reconvergence = Reconvergence::build(&cfg, &DominatorTree::post_dominators(&cfg));
        (cfg, reconvergence)
    }

    #[test]
    fn arms_of_a_branch_meet_after_it() {
        let mut body = Body::new();
        let (p, r) = (body.register(Type::Pred), body.register(Type::B32));
        let (other, after) = (body.label(), body.label());
        body.bra_if(p, other); // block 0
        body.bra(after); // block 1
        body.place(other);
        body.compute(&[r], &[r]); // block 2
        body.place(after);
        body.store(&[r]); // block 3
        let (_, reconvergence) = build(&body.finish());
        assert_eq!(reconvergence.point(BlockId(0)), Some(BlockId(3)));
        assert_eq!(reconvergence.point(BlockId(1)), None);
    }

    #[test]
    fn an_arm_that_returns_never_meets_the_other() {
        let mut body = Body::new();
        let p = body.register(Type::Pred);
        let other = body.label();
        body.bra_if(p, other);
        body.ret();
        body.place(other);
        body.ret();
        let (cfg, reconvergence) = build(&body.finish());
        assert!(Reconvergence::parts(&cfg, cfg.entry()));
        assert_eq!(reconvergence.point(cfg.entry()), None);
    }

    proptest! {
        #[test]
        fn every_way_on_passes_the_point(function in any_function()) {
            let (cfg, reconvergence) = build(&function);
            let post = DominatorTree::post_dominators(&cfg);
            for b in cfg.ids() {
                if let Some(point) = reconvergence.point(b) {
                    prop_assert!(cfg.successors(b).len() > 1);
                    prop_assert!(cfg.successors(b).iter().all(|&s| post.dominates(point, s)));
                }
            }
        }
    }
}
