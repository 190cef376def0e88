//! How big a run is.

use std::fmt;
use std::str::FromStr;
use strata_core::nearest::suggestion;

/// The size of a run; what it means in elements is the program's own business.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    /// Milliseconds, for tests.
    Tiny,
    /// About a second, functionally.
    Small,
    /// For benchmarks.
    Medium,
    /// As the only paper that sized it ran it.
    Paper,
    /// As the Buddy Compression paper ran it.
    PaperBuddy,
    /// As the CMD paper ran it.
    PaperCmd,
    /// As the TOM paper ran it.
    PaperTom,
    /// As the unified-memory prefetching paper ran it.
    PaperUvm,
}

impl Size {
    /// Every size, in the order they are listed.
    pub const ALL: [Self; 8] = [
        Self::Tiny,
        Self::Small,
        Self::Medium,
        Self::Paper,
        Self::PaperBuddy,
        Self::PaperCmd,
        Self::PaperTom,
        Self::PaperUvm,
    ];

    /// Its name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Paper => "paper",
            Self::PaperBuddy => "paper-buddy",
            Self::PaperCmd => "paper-cmd",
            Self::PaperTom => "paper-tom",
            Self::PaperUvm => "paper-uvm",
        }
    }

    /// True for the sizes that reproduce a paper.
    pub const fn is_papers(self) -> bool {
        matches!(self, Self::Paper | Self::PaperBuddy | Self::PaperCmd | Self::PaperTom | Self::PaperUvm)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no size.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a size; {hint}", hint = suggestion(.0, Size::ALL.map(Size::name)))]
pub struct UnknownSize(
    /// The text that was given.
    pub String,
);

impl FromStr for Size {
    type Err = UnknownSize;

    fn from_str(text: &str) -> Result<Self, UnknownSize> {
        let same = |size: &Self| size.name().eq_ignore_ascii_case(text);
        Self::ALL.into_iter().find(same).ok_or_else(|| UnknownSize(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_the_message_lists_them_all() {
        let message = UnknownSize("huge".to_owned()).to_string();
        for size in Size::ALL {
            assert_eq!(size.name().to_uppercase().parse(), Ok(size));
            assert!(message.contains(size.name()));
        }
        assert!(UnknownSize("smal".to_owned()).to_string().ends_with("did you mean `small`?"));
        assert_eq!("huge".parse::<Size>(), Err(UnknownSize("huge".to_owned())));
    }
}
