//! The settings of `buddy` and `bpc`.

use strata_core::Bytes;
use strata_core::settings::{Allowed, Setting, Settings as Values};

const METADATA_CACHE: Setting = Setting {
    key: "metadata_cache",
    default: "64 KiB",
    allowed: Allowed::Size(1 << 10, 16 << 20),
    meaning: "bytes of all metadata caches together, one per partition",
    source: "Buddy Compression, Table I and Figure 6b: 64 KB; section III-C and Table I also say 4 KB slices, 32 KB in all",
};
const METADATA_WAYS: Setting = Setting {
    key: "metadata_ways",
    default: "4",
    allowed: Allowed::Whole(1, 64),
    meaning: "ways of a metadata cache",
    source: "Buddy Compression, Table I",
};
const METADATA_CYCLES: Setting = Setting {
    key: "metadata_cycles",
    default: "4",
    allowed: Allowed::Whole(0, 1000),
    meaning: "L2 cycles of a hit in a metadata cache",
    source: "choice: a small cache at the controller",
};
const CODEC_CYCLES: Setting = Setting {
    key: "codec_cycles",
    default: "11",
    allowed: Allowed::Whole(0, 1000),
    meaning: "DRAM command-clock cycles of a compression, and of a decompression; both take one entry per L2 cycle",
    source: "Buddy Compression, section IV-A: 11 DRAM cycles",
};

const CODEC: Setting = Setting {
    key: "codec",
    default: "bpc",
    allowed: Allowed::Choice(&["bpc", "raw"]),
    meaning: "how entries are compressed; `raw`: not at all, which sets what the mechanism costs apart from what compression gives",
    source: "Buddy Compression, section II-B: BPC",
};

const SHADOW_CACHES: Setting = Setting {
    key: "shadow_caches",
    default: "off",
    allowed: Allowed::Choice(&["off", "on"]),
    meaning: "count what metadata caches of other sizes would have hit",
    source: "Buddy Compression, Figure 6b",
};

/// Settings of Buddy Compression.
pub const BUDDY: &[Setting] = &[
    Setting {
        key: "targets",
        default: "",
        allowed: Allowed::Text,
        meaning: "annotation file with the target of each allocation, as `strata profile` writes it; without one the program is profiled first",
        source: "Buddy Compression, section III-B: profiled on a smaller input",
    },
    Setting {
        key: "threshold",
        default: "0.3",
        allowed: Allowed::Real(0.0, 1.0),
        meaning: "Buddy Threshold of that profile: the largest share of an allocation's entries that may be over its target",
        source: "Buddy Compression, section III-B",
    },
    METADATA_CACHE,
    METADATA_WAYS,
    METADATA_CYCLES,
    CODEC,
    CODEC_CYCLES,
    SHADOW_CACHES,
];

/// Settings of bandwidth-only compression.
pub const BPC: &[Setting] = &[
    Setting {
        key: "metadata",
        default: "free",
        allowed: Allowed::Choice(&["free", "cached"]),
        meaning: "whether the sizes of entries are known for nothing or looked up in metadata caches",
        source: "free: Buddy Compression, Figure 12; cached: CMD",
    },
    METADATA_CACHE,
    METADATA_WAYS,
    METADATA_CYCLES,
    CODEC,
    CODEC_CYCLES,
    SHADOW_CACHES,
];

/// What the memory side needs of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of all metadata caches; none if metadata is free.
    pub metadata_cache: Option<Bytes>,
    /// Ways of a cache.
    pub metadata_ways: u32,
    /// L2 cycles of a hit.
    pub metadata_cycles: u32,
    /// Nothing is compressed.
    pub stores_raw: bool,
    /// DRAM cycles of a compression or decompression.
    pub codec_dram_cycles: u32,
    /// Count what caches of other sizes would hit.
    pub shadows: bool,
}

impl Settings {
    /// From the values of [`BUDDY`].
    pub fn of_buddy(values: &Values) -> Self {
        Self {
            metadata_cache: Some(values.size("metadata_cache")),
            metadata_ways: values.whole("metadata_ways") as u32,
            metadata_cycles: values.whole("metadata_cycles") as u32,
            stores_raw: values.text("codec") == "raw",
            codec_dram_cycles: values.whole("codec_cycles") as u32,
            shadows: values.text("shadow_caches") == "on",
        }
    }

    /// From the values of [`BPC`].
    pub fn of_bpc(values: &Values) -> Self {
        let cached = values.text("metadata") == "cached";
        let all = Self::of_buddy(values);
        Self { metadata_cache: all.metadata_cache.filter(|_| cached), ..all }
    }
}
