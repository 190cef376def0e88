//! Opcodes, modifier words and special registers: PTX's vocabulary, each name once.

use crate::ast::Type;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "the variants are PTX's own names")]
        pub enum $name { $($variant),* }

        impl $name {
            /// Every variant.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name as PTX writes it, without dot or percent sign.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// The variant with that name.
            pub fn parse(text: &str) -> Option<Self> {
                // A hash look-up: a `match` on hundreds of strings compares them one after another.
                static NAMES: LazyLock<FxHashMap<&'static str, $name>> =
                    LazyLock::new(|| $name::ALL.iter().map(|&v| (v.name(), v)).collect());
                NAMES.get(text).copied()
            }
        }
    };
}

vocabulary! {
    /// The part of an instruction before the first dot.
    Opcode {
        Abs = "abs", Activemask = "activemask", Add = "add", Addc = "addc", Alloca = "alloca", And = "and",
        Applypriority = "applypriority", Atom = "atom", Bar = "bar", Barrier = "barrier", Bfe = "bfe", Bfi = "bfi",
        Bfind = "bfind", Bmsk = "bmsk", Bra = "bra", Brev = "brev", Brkpt = "brkpt", Brx = "brx", Call = "call",
        Clz = "clz", Cnot = "cnot", Copysign = "copysign", Cos = "cos", Cp = "cp", Createpolicy = "createpolicy",
        Cvt = "cvt", Cvta = "cvta", Discard = "discard", Div = "div", Dp2a = "dp2a", Dp4a = "dp4a", Elect = "elect",
        Ex2 = "ex2", Exit = "exit", Fence = "fence", Fma = "fma", Fns = "fns", Getctarank = "getctarank",
        Griddepcontrol = "griddepcontrol", Isspacep = "isspacep", Istypep = "istypep", Ld = "ld",
        Ldmatrix = "ldmatrix", Ldu = "ldu", Lg2 = "lg2", Lop3 = "lop3", Mad = "mad", Mad24 = "mad24", Madc = "madc",
        Mapa = "mapa", Match = "match", Max = "max", Mbarrier = "mbarrier", Membar = "membar", Min = "min",
        Mma = "mma", Mov = "mov", Movmatrix = "movmatrix", Mul = "mul", Mul24 = "mul24", Nanosleep = "nanosleep",
        Neg = "neg", Not = "not", Or = "or", Pmevent = "pmevent", Popc = "popc", Prefetch = "prefetch",
        Prefetchu = "prefetchu", Prmt = "prmt", Rcp = "rcp", Red = "red", Redux = "redux", Rem = "rem", Ret = "ret",
        Rsqrt = "rsqrt", Sad = "sad", Selp = "selp", Set = "set", Setmaxnreg = "setmaxnreg", Setp = "setp",
        Shf = "shf", Shfl = "shfl", Shl = "shl", Shr = "shr", Sin = "sin", Slct = "slct", Sqrt = "sqrt", St = "st",
        Stackrestore = "stackrestore", Stacksave = "stacksave", Stmatrix = "stmatrix", Sub = "sub", Subc = "subc",
        Suld = "suld", Suq = "suq", Sured = "sured", Sust = "sust", Szext = "szext", Tanh = "tanh", Testp = "testp",
        Tex = "tex", Tld4 = "tld4", Trap = "trap", Txq = "txq", Vabsdiff = "vabsdiff", Vabsdiff2 = "vabsdiff2",
        Vabsdiff4 = "vabsdiff4", Vadd = "vadd", Vadd2 = "vadd2", Vadd4 = "vadd4", Vavrg2 = "vavrg2",
        Vavrg4 = "vavrg4", Vmad = "vmad", Vmax = "vmax", Vmax2 = "vmax2", Vmax4 = "vmax4", Vmin = "vmin",
        Vmin2 = "vmin2", Vmin4 = "vmin4", Vote = "vote", Vset = "vset", Vset2 = "vset2", Vset4 = "vset4",
        Vshl = "vshl", Vshr = "vshr", Vsub = "vsub", Vsub2 = "vsub2", Vsub4 = "vsub4", Wgmma = "wgmma",
        Wmma = "wmma", Xor = "xor", Clusterlaunchcontrol = "clusterlaunchcontrol", Multimem = "multimem", Tcgen05 = "tcgen05", Tensormap = "tensormap",
    }
}

vocabulary! {
    /// A modifier: what follows a dot in an instruction.
    Word {
        // Types.
        B1 = "b1", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128", U2 = "u2", U4 = "u4", U8 = "u8", U16 = "u16",
        U32 = "u32", U64 = "u64", S2 = "s2", S4 = "s4", S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64", F16 = "f16", F16x2 = "f16x2",
        F32 = "f32", F32x2 = "f32x2", F64 = "f64", Bf16 = "bf16", Bf16x2 = "bf16x2", Tf32 = "tf32", E4m3 = "e4m3",
        E5m2 = "e5m2", E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2", U16x2 = "u16x2", S16x2 = "s16x2", U8x4 = "u8x4",
        S8x4 = "s8x4", Pred = "pred",
        // Rounding and other floating-point behaviour.
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rs = "rs", Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
        Ftz = "ftz", Sat = "sat", Satfinite = "satfinite", Approx = "approx", Full = "full", Relu = "relu",
        NaN = "NaN", XorSign = "xorsign", Abs = "abs", Oob = "oob",
        // Integer behaviour.
        Hi = "hi", Lo = "lo", Wide = "wide", Cc = "cc", Shiftamt = "shiftamt", Clamp = "clamp", Wrap = "wrap",
        L = "l", R = "r", F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
        // Comparison and combination.
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Ls = "ls", Hs = "hs", Equ = "equ",
        Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu", Num = "num", Nan = "nan", And = "and",
        Or = "or", Xor = "xor", Not = "not", Popc = "popc",
        Finite = "finite", Infinite = "infinite", Number = "number", Notanumber = "notanumber", Normal = "normal",
        Subnormal = "subnormal",
        // Spaces.
        Global = "global", Const = "const", Shared = "shared", SharedCta = "shared::cta",
        SharedCluster = "shared::cluster", Local = "local", Param = "param", ParamEntry = "param::entry",
        ParamFunc = "param::func", To = "to",
        // Vectors, caching, order and scope.
        V2 = "v2", V4 = "v4", V8 = "v8", Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt", Nc = "nc",
        Weak = "weak", Volatile = "volatile", Relaxed = "relaxed", Acquire = "acquire", Release = "release",
        AcqRel = "acq_rel", Sc = "sc", Mmio = "mmio", Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys",
        Gl = "gl", L1 = "L1", L2 = "L2",
        L1EvictNormal = "L1::evict_normal", L1EvictUnchanged = "L1::evict_unchanged",
        L1EvictFirst = "L1::evict_first", L1EvictLast = "L1::evict_last", L1NoAllocate = "L1::no_allocate",
        L2EvictNormal = "L2::evict_normal", L2EvictLast = "L2::evict_last", L2EvictFirst = "L2::evict_first",
        L2CacheHint = "L2::cache_hint", L264B = "L2::64B", L2128B = "L2::128B", L2256B = "L2::256B",
        Unified = "unified",
        // Atomic operations.
        Add = "add", Min = "min", Max = "max", Inc = "inc", Dec = "dec", Cas = "cas", Exch = "exch", Noftz = "noftz",
        // Control and synchronisation.
        Uni = "uni", Idx = "idx", Sync = "sync", Arrive = "arrive", Red = "red", Aligned = "aligned", Warp = "warp",
        All = "all", Any = "any", Ballot = "ballot", Up = "up", Down = "down", Bfly = "bfly", Async = "async",
        CommitGroup = "commit_group", WaitGroup = "wait_group", WaitAll = "wait_all", Mbarrier = "mbarrier",
        Proxy = "proxy", Alias = "alias", Tensormap = "tensormap", Generic = "generic",
        // Video instructions.
        Bx = "b0", H0 = "h0", H1 = "h1", Shr7 = "shr7", Shr15 = "shr15", Po = "po",
        // Tensors, textures, surfaces, asynchronous copies and other forms that only parse.
        MbarrierCompleteTxBytes = "mbarrier::complete_tx::bytes", Bulk = "bulk",
        L2EvictUnchanged = "L2::evict_unchanged", Fractional = "fractional", Range = "range", Cvt = "cvt",
        Texref = "texref", Samplerref = "samplerref", Surfref = "surfref", E2m1x2 = "e2m1x2", E2m3x2 = "e2m3x2",
        E3m2x2 = "e3m2x2", S2f6x2 = "s2f6x2", E4m3x4 = "e4m3x4", E5m2x4 = "e5m2x4", E2m1x4 = "e2m1x4",
        E2m3x4 = "e2m3x4", E3m2x4 = "e3m2x4", ScaledN2Ue8m0 = "scaled::n2::ue8m0", Ue8m0x2 = "ue8m0x2", Pack = "pack",
        Noinc = "noinc", BulkGroup = "bulk_group", CtaGroup1 = "cta_group::1", CtaGroup2 = "cta_group::2", D1d = "1d",
        D2d = "2d", D3d = "3d", D4d = "4d", D5d = "5d", Tile = "tile", Im2col = "im2col", Im2colW = "im2col::w",
        Im2colW128 = "im2col::w::128", Im2colNoOffs = "im2col_no_offs", TileGather4 = "tile::gather4",
        TileScatter4 = "tile::scatter4", MulticastCluster = "multicast::cluster", CpMask = "cp_mask",
        IgnoreOob = "ignore_oob", Read = "read", Prefetch = "prefetch", Tensor = "tensor", Reduce = "reduce",
        GlobalAddress = "global_address", Rank = "rank", BoxDim = "box_dim", GlobalDim = "global_dim",
        GlobalStride = "global_stride", ElementStride = "element_stride", Elemtype = "elemtype",
        InterleaveLayout = "interleave_layout", SwizzleMode = "swizzle_mode", SwizzleAtomicity = "swizzle_atomicity",
        FillMode = "fill_mode", Replace = "replace", B1024 = "b1024", CpFenceproxy = "cp_fenceproxy",
        TensormapGeneric = "tensormap::generic", Base = "base", Level = "level", Grad = "grad", A1d = "a1d",
        A2d = "a2d", Cube = "cube", Acube = "acube", D2dms = "2dms", A2dms = "a2dms", G = "g", B = "b", A = "a",
        Width = "width", Height = "height", Depth = "depth", ChannelDataType = "channel_data_type",
        ChannelOrder = "channel_order", NormalizedCoords = "normalized_coords", ArraySize = "array_size",
        NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples", FilterMode = "filter_mode",
        AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2",
        ForceUnnormalizedCoords = "force_unnormalized_coords", MemoryLayout = "memory_layout", P = "p", Trap = "trap",
        Zero = "zero", Wait = "wait", SyncRestrictSharedCta = "sync_restrict::shared::cta",
        SyncRestrictSharedCluster = "sync_restrict::shared::cluster", MbarrierInit = "mbarrier_init",
        AsyncGeneric = "async::generic", LaunchDependents = "launch_dependents", Mask = "mask",
        ExpectTx = "expect_tx", CompleteTx = "complete_tx", ArriveDrop = "arrive_drop", TestWait = "test_wait",
        TryWait = "try_wait", Init = "init", Inval = "inval", NoComplete = "noComplete", Parity = "parity",
        PendingCount = "pending_count", GetFirstCtaidX = "get_first_ctaid::x", GetFirstCtaidY = "get_first_ctaid::y",
        GetFirstCtaidZ = "get_first_ctaid::z", AccF32 = "acc::f32", AccF16 = "acc::f16", TryCancel = "try_cancel",
        MulticastClusterAll = "multicast::cluster::all", QueryCancel = "query_cancel", IsCanceled = "is_canceled",
        GetFirstCtaid = "get_first_ctaid", LdReduce = "ld_reduce", St = "st", C = "c", Row = "row", Col = "col",
        M16n16k16 = "m16n16k16", M32n8k16 = "m32n8k16", M8n32k16 = "m8n32k16", M16n16k8 = "m16n16k8",
        M8n8k4 = "m8n8k4", M8n8k32 = "m8n8k32", M8n8k128 = "m8n8k128", Load = "load", Store = "store", D = "d",
        Mma = "mma", M8n8k16 = "m8n8k16", M16n8k4 = "m16n8k4", M16n8k8 = "m16n8k8", M16n8k16 = "m16n8k16",
        M16n8k32 = "m16n8k32", M16n8k64 = "m16n8k64", M16n8k128 = "m16n8k128", M16n8k256 = "m16n8k256",
        KindF8f6f4 = "kind::f8f6f4", KindMxf8f6f4 = "kind::mxf8f6f4", KindMxf4 = "kind::mxf4",
        KindMxf4nvf4 = "kind::mxf4nvf4", ScaleVec1X = "scale_vec::1X", ScaleVec2X = "scale_vec::2X",
        ScaleVec4X = "scale_vec::4X", E3m2 = "e3m2", E2m3 = "e2m3", E2m1 = "e2m1", Ue8m0 = "ue8m0", Ue4m3 = "ue4m3",
        M8n8 = "m8n8", M8n16 = "m8n16", M16n16 = "m16n16", M16n8 = "m16n8", X1 = "x1", X2 = "x2", X4 = "x4",
        B8x16 = "b8x16", B6x16P32 = "b6x16_p32", B4x16P64 = "b4x16_p64", BlockScale = "block_scale", Sp = "sp",
        SpOrderedMetadata = "sp::ordered_metadata", Trans = "trans", Fence = "fence", MmaAsync = "mma_async",
        D16x64b = "16x64b", D16x128b = "16x128b", D16x256b = "16x256b", D32x32b = "32x32b", D16x32bx2 = "16x32bx2",
        X8 = "x8", X16 = "x16", X32 = "x32", X64 = "x64", X128 = "x128", D128x256b = "128x256b", D4x256b = "4x256b",
        D128x128b = "128x128b", D64x128b = "64x128b", D32x128b = "32x128b", Warpx20213 = "warpx2::02_13",
        Warpx20123 = "warpx2::01_23", Warpx4 = "warpx4", KindF16 = "kind::f16", KindTf32 = "kind::tf32",
        KindI8 = "kind::i8", Block16 = "block16", Block32 = "block32", CollectorAFill = "collector::a::fill",
        CollectorAUse = "collector::a::use", CollectorALastuse = "collector::a::lastuse",
        CollectorADiscard = "collector::a::discard", Alloc = "alloc", Dealloc = "dealloc",
        RelinquishAllocPermit = "relinquish_alloc_permit", Ld = "ld", Pack16b = "pack::16b",
        Unpack16b = "unpack::16b", WaitLd = "wait::ld", WaitSt = "wait::st",
        FenceBeforeThreadSync = "fence::before_thread_sync", FenceAfterThreadSync = "fence::after_thread_sync",
        Cp = "cp", Shift = "shift", Commit = "commit", MbarrierArriveOne = "mbarrier::arrive::one", Ws = "ws",
        Ashift = "ashift",
        // Later additions to tensor copies and products (PTX ISA 9).
        MulticastCluster32b = "multicast::cluster::32b", Ue5m3x2 = "ue5m3x2",
        CollectorB0Discard = "collector::b0::discard", CollectorB0Fill = "collector::b0::fill",
        CollectorB0Lastuse = "collector::b0::lastuse", CollectorB0Use = "collector::b0::use",
        CollectorB1Discard = "collector::b1::discard", CollectorB1Fill = "collector::b1::fill",
        CollectorB1Lastuse = "collector::b1::lastuse", CollectorB1Use = "collector::b1::use",
        CollectorB2Discard = "collector::b2::discard", CollectorB2Fill = "collector::b2::fill",
        CollectorB2Lastuse = "collector::b2::lastuse", CollectorB2Use = "collector::b2::use",
        CollectorB3Discard = "collector::b3::discard", CollectorB3Fill = "collector::b3::fill",
        CollectorB3Lastuse = "collector::b3::lastuse", CollectorB3Use = "collector::b3::use",
        MbarrierReportDisabled = "mbarrier::report::disabled", MbarrierReportFabric = "mbarrier::report::fabric",
        MbarrierReportValidityPer16bytes8 = "mbarrier::report::validity::per_16bytes::8",
        MbarrierReportValidityPer16bytes80 = "mbarrier::report::validity::per_16bytes::80",
        MbarrierReportValidityPer16bytes8000 = "mbarrier::report::validity::per_16bytes::8000",
        MbarrierReportValidityPer16bytes80000000 = "mbarrier::report::validity::per_16bytes::80000000",
        MbarrierReportValidityPerElementFf = "mbarrier::report::validity::per_element::ff",
        OverrideGlobalAddress = "override::global_address", OverrideGlobalDim = "override::global_dim",
        OverrideGlobalDimStride = "override::global_dim_stride",
        // Shapes of wgmma.
        M64n8k8 = "m64n8k8", M64n8k16 = "m64n8k16", M64n8k32 = "m64n8k32", M64n8k256 = "m64n8k256",
        M64n16k8 = "m64n16k8", M64n16k16 = "m64n16k16", M64n16k32 = "m64n16k32", M64n16k256 = "m64n16k256",
        M64n24k8 = "m64n24k8", M64n24k16 = "m64n24k16", M64n24k32 = "m64n24k32", M64n24k256 = "m64n24k256",
        M64n32k8 = "m64n32k8", M64n32k16 = "m64n32k16", M64n32k32 = "m64n32k32", M64n32k256 = "m64n32k256",
        M64n40k8 = "m64n40k8", M64n40k16 = "m64n40k16", M64n40k32 = "m64n40k32", M64n40k256 = "m64n40k256",
        M64n48k8 = "m64n48k8", M64n48k16 = "m64n48k16", M64n48k32 = "m64n48k32", M64n48k256 = "m64n48k256",
        M64n56k8 = "m64n56k8", M64n56k16 = "m64n56k16", M64n56k32 = "m64n56k32", M64n56k256 = "m64n56k256",
        M64n64k8 = "m64n64k8", M64n64k16 = "m64n64k16", M64n64k32 = "m64n64k32", M64n64k256 = "m64n64k256",
        M64n72k8 = "m64n72k8", M64n72k16 = "m64n72k16", M64n72k32 = "m64n72k32", M64n72k256 = "m64n72k256",
        M64n80k8 = "m64n80k8", M64n80k16 = "m64n80k16", M64n80k32 = "m64n80k32", M64n80k256 = "m64n80k256",
        M64n88k8 = "m64n88k8", M64n88k16 = "m64n88k16", M64n88k32 = "m64n88k32", M64n88k256 = "m64n88k256",
        M64n96k8 = "m64n96k8", M64n96k16 = "m64n96k16", M64n96k32 = "m64n96k32", M64n96k256 = "m64n96k256",
        M64n104k8 = "m64n104k8", M64n104k16 = "m64n104k16", M64n104k32 = "m64n104k32", M64n104k256 = "m64n104k256",
        M64n112k8 = "m64n112k8", M64n112k16 = "m64n112k16", M64n112k32 = "m64n112k32", M64n112k256 = "m64n112k256",
        M64n120k8 = "m64n120k8", M64n120k16 = "m64n120k16", M64n120k32 = "m64n120k32", M64n120k256 = "m64n120k256",
        M64n128k8 = "m64n128k8", M64n128k16 = "m64n128k16", M64n128k32 = "m64n128k32", M64n128k256 = "m64n128k256",
        M64n136k8 = "m64n136k8", M64n136k16 = "m64n136k16", M64n136k32 = "m64n136k32", M64n136k256 = "m64n136k256",
        M64n144k8 = "m64n144k8", M64n144k16 = "m64n144k16", M64n144k32 = "m64n144k32", M64n144k256 = "m64n144k256",
        M64n152k8 = "m64n152k8", M64n152k16 = "m64n152k16", M64n152k32 = "m64n152k32", M64n152k256 = "m64n152k256",
        M64n160k8 = "m64n160k8", M64n160k16 = "m64n160k16", M64n160k32 = "m64n160k32", M64n160k256 = "m64n160k256",
        M64n168k8 = "m64n168k8", M64n168k16 = "m64n168k16", M64n168k32 = "m64n168k32", M64n168k256 = "m64n168k256",
        M64n176k8 = "m64n176k8", M64n176k16 = "m64n176k16", M64n176k32 = "m64n176k32", M64n176k256 = "m64n176k256",
        M64n184k8 = "m64n184k8", M64n184k16 = "m64n184k16", M64n184k32 = "m64n184k32", M64n184k256 = "m64n184k256",
        M64n192k8 = "m64n192k8", M64n192k16 = "m64n192k16", M64n192k32 = "m64n192k32", M64n192k256 = "m64n192k256",
        M64n200k8 = "m64n200k8", M64n200k16 = "m64n200k16", M64n200k32 = "m64n200k32", M64n200k256 = "m64n200k256",
        M64n208k8 = "m64n208k8", M64n208k16 = "m64n208k16", M64n208k32 = "m64n208k32", M64n208k256 = "m64n208k256",
        M64n216k8 = "m64n216k8", M64n216k16 = "m64n216k16", M64n216k32 = "m64n216k32", M64n216k256 = "m64n216k256",
        M64n224k8 = "m64n224k8", M64n224k16 = "m64n224k16", M64n224k32 = "m64n224k32", M64n224k256 = "m64n224k256",
        M64n232k8 = "m64n232k8", M64n232k16 = "m64n232k16", M64n232k32 = "m64n232k32", M64n232k256 = "m64n232k256",
        M64n240k8 = "m64n240k8", M64n240k16 = "m64n240k16", M64n240k32 = "m64n240k32", M64n240k256 = "m64n240k256",
        M64n248k8 = "m64n248k8", M64n248k16 = "m64n248k16", M64n248k32 = "m64n248k32", M64n248k256 = "m64n248k256",
        M64n256k8 = "m64n256k8", M64n256k16 = "m64n256k16", M64n256k32 = "m64n256k32", M64n256k256 = "m64n256k256",
        // Byte and half selectors of the video instructions, elements of vector registers.
        B3 = "b3", B2 = "b2", B31 = "b31", B30 = "b30", B21 = "b21", B20 = "b20", B10 = "b10", B321 = "b321",
        B320 = "b320", B310 = "b310", B210 = "b210", B3210 = "b3210", H10 = "h10", X = "x", Y = "y", Z = "z", W = "w",
    }
}

vocabulary! {
    /// A special register (PTX ISA 10), without the percent sign.
    Special {
        TidX = "tid.x", TidY = "tid.y", TidZ = "tid.z", NtidX = "ntid.x", NtidY = "ntid.y", NtidZ = "ntid.z",
        CtaidX = "ctaid.x", CtaidY = "ctaid.y", CtaidZ = "ctaid.z", NctaidX = "nctaid.x", NctaidY = "nctaid.y",
        NctaidZ = "nctaid.z", Laneid = "laneid", Warpid = "warpid", Nwarpid = "nwarpid", Smid = "smid",
        Nsmid = "nsmid", Gridid = "gridid", LanemaskEq = "lanemask_eq", LanemaskLe = "lanemask_le",
        LanemaskLt = "lanemask_lt", LanemaskGe = "lanemask_ge", LanemaskGt = "lanemask_gt", Clock = "clock",
        ClockHi = "clock_hi", Clock64 = "clock64", Globaltimer = "globaltimer", GlobaltimerLo = "globaltimer_lo",
        GlobaltimerHi = "globaltimer_hi", Envreg1 = "envreg1", Envreg2 = "envreg2",
        DynamicSmemSize = "dynamic_smem_size", TotalSmemSize = "total_smem_size",
        Envreg0 = "envreg0", Envreg3 = "envreg3", Envreg4 = "envreg4", Envreg5 = "envreg5", Envreg6 = "envreg6",
        Envreg7 = "envreg7", Envreg8 = "envreg8", Envreg9 = "envreg9", Envreg10 = "envreg10", Envreg11 = "envreg11",
        Envreg12 = "envreg12", Envreg13 = "envreg13", Envreg14 = "envreg14", Envreg15 = "envreg15",
        Envreg16 = "envreg16", Envreg17 = "envreg17", Envreg18 = "envreg18", Envreg19 = "envreg19",
        Envreg20 = "envreg20", Envreg21 = "envreg21", Envreg22 = "envreg22", Envreg23 = "envreg23",
        Envreg24 = "envreg24", Envreg25 = "envreg25", Envreg26 = "envreg26", Envreg27 = "envreg27",
        Envreg28 = "envreg28", Envreg29 = "envreg29", Envreg30 = "envreg30", Envreg31 = "envreg31",
        ClusteridX = "clusterid.x", ClusteridY = "clusterid.y", ClusteridZ = "clusterid.z",
        NclusteridX = "nclusterid.x", NclusteridY = "nclusterid.y", NclusteridZ = "nclusterid.z",
        ClusterCtaidX = "cluster_ctaid.x", ClusterCtaidY = "cluster_ctaid.y", ClusterCtaidZ = "cluster_ctaid.z",
        ClusterNctaidX = "cluster_nctaid.x", ClusterNctaidY = "cluster_nctaid.y", ClusterNctaidZ = "cluster_nctaid.z",
        ClusterCtarank = "cluster_ctarank", ClusterNctarank = "cluster_nctarank",
        IsExplicitCluster = "is_explicit_cluster", AggrSmemSize = "aggr_smem_size",
        CurrentGraphExec = "current_graph_exec", ReservedSmemOffsetBegin = "reserved_smem_offset_begin",
        ReservedSmemOffsetEnd = "reserved_smem_offset_end", ReservedSmemOffsetCap = "reserved_smem_offset_cap",
        ReservedSmemOffset0 = "reserved_smem_offset_0", ReservedSmemOffset1 = "reserved_smem_offset_1", Pm0 = "pm0",
        Pm1 = "pm1", Pm2 = "pm2", Pm3 = "pm3", Pm4 = "pm4", Pm5 = "pm5", Pm6 = "pm6", Pm7 = "pm7", Pm064 = "pm0_64",
        Pm164 = "pm1_64", Pm264 = "pm2_64", Pm364 = "pm3_64", Pm464 = "pm4_64", Pm564 = "pm5_64", Pm664 = "pm6_64",
        Pm764 = "pm7_64",
    }
}

impl Word {
    /// The type this word names, if it names one.
    pub const fn as_type(self) -> Option<Type> {
        Some(match self {
            Self::B8 => Type::B8,
            Self::B16 => Type::B16,
            Self::B32 => Type::B32,
            Self::B64 => Type::B64,
            Self::B128 => Type::B128,
            Self::U8 => Type::U8,
            Self::U16 => Type::U16,
            Self::U32 => Type::U32,
            Self::U64 => Type::U64,
            Self::S8 => Type::S8,
            Self::S16 => Type::S16,
            Self::S32 => Type::S32,
            Self::S64 => Type::S64,
            Self::F16 => Type::F16,
            Self::F16x2 => Type::F16x2,
            Self::F32 => Type::F32,
            Self::F32x2 => Type::F32x2,
            Self::F64 => Type::F64,
            Self::Bf16 => Type::Bf16,
            Self::Bf16x2 => Type::Bf16x2,
            Self::Tf32 => Type::Tf32,
            Self::E4m3 => Type::E4m3,
            Self::E5m2 => Type::E5m2,
            Self::E4m3x2 => Type::E4m3x2,
            Self::E5m2x2 => Type::E5m2x2,
            Self::U16x2 => Type::U16x2,
            Self::S16x2 => Type::S16x2,
            Self::U8x4 => Type::U8x4,
            Self::S8x4 => Type::S8x4,
            Self::Pred => Type::Pred,
            Self::B1
            | Self::U2
            | Self::S2
            | Self::U4
            | Self::S4
            | Self::E2m1
            | Self::E2m3
            | Self::E3m2
            | Self::Ue8m0
            | Self::Ue4m3
            | Self::E2m1x2
            | Self::E2m3x2
            | Self::E3m2x2
            | Self::Ue8m0x2
            | Self::S2f6x2
            | Self::Ue5m3x2
            | Self::E4m3x4
            | Self::E5m2x4
            | Self::E2m1x4
            | Self::E2m3x4
            | Self::E3m2x4
            | Self::B8x16
            | Self::B6x16P32
            | Self::B4x16P64
            | Self::B1024 => Type::Opaque,
            _ => return None,
        })
    }
}
