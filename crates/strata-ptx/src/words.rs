//! Opcodes, modifier words and special registers: PTX's vocabulary, each name once.

use crate::ast::Type;

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
                match text { $($text => Some(Self::$variant),)* _ => None }
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
        Wmma = "wmma", Xor = "xor",
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
        Bx = "b0", By = "b1x", H0 = "h0", H1 = "h1", Shr7 = "shr7", Shr15 = "shr15", Po = "po",
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
            Self::B1 | Self::U2 | Self::S2 | Self::U4 | Self::S4 => Type::Opaque,
            _ => return None,
        })
    }
}
