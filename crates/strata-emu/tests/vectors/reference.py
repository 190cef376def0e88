"""Writes the vectors of arithmetic, conversions, comparisons and plain memory accesses.

An implementation of its own, from the PTX ISA manual and IEEE 754, in exact integers and fractions; it shares nothing
with the emulator. `python3 reference.py` writes the files beside it; they are committed, so tests need no Python.
"""

from fractions import Fraction
from math import isqrt
from pathlib import Path

HERE = Path(__file__).parent
BITS = {t: int("".join(c for c in t if c.isdigit())) for t in "u8 s8 b8 u16 s16 b16 u32 s32 b32 u64 s64 b64 f32 f64 f16 b128".split()}
BITS |= {"bf16": 16, "f16x2": 32, "bf16x2": 32, "f32x2": 64, "u16x2": 32, "s16x2": 32, "u8x4": 32, "s8x4": 32, "pred": 1}
REG = {1: "p", 8: "c", 16: "h", 32: "r", 64: "d", 128: "q"}


def reg(bits, n):
    return f"{REG[bits]}{n}"


def wrap(value, ty):
    """The number that the low bits of `value` are in an integer type."""
    bits = BITS[ty]
    value &= (1 << bits) - 1
    return value - (1 << bits) if ty[0] == "s" and value >> (bits - 1) else value


def limits(ty):
    bits = BITS[ty]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if ty[0] == "s" else (0, (1 << bits) - 1)


def clamp(value, ty):
    low, high = limits(ty)
    return max(low, min(high, value))


class File:
    def __init__(self, name, about):
        self.name, self.lines = name, [f"# {about}", "# Written by reference.py."]

    def heading(self, text):
        self.lines += ["", f"# {text}"]

    def rows(self, instruction, rows):
        """`rows`: pairs of lists, inputs and outputs, ready to print."""
        head = instruction
        for inputs, outputs in rows:
            show = lambda values: ", ".join(str(v) for v in values)
            self.lines.append(f"{head} | {show(inputs)} | {show(outputs)}")
            head = " " * len(instruction)

    def save(self):
        (HERE / self.name).write_text("\n".join(self.lines) + "\n")


# ---- floats ----

FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
NAN, INF = "nan", "inf"


def decode(bits, ty):
    """A tuple (sign, Fraction), or (sign, "inf"), or "nan"."""
    p, emin, _ = FORMATS[ty]
    width = BITS[ty]
    sign = bits >> (width - 1) & 1
    fraction = bits & ((1 << (p - 1)) - 1)
    exponent = bits >> (p - 1) & ((1 << (width - p)) - 1)
    if exponent == (1 << (width - p)) - 1:
        return NAN if fraction else (sign, INF)
    if exponent == 0:
        return sign, Fraction(fraction) * Fraction(2) ** (emin - p + 1)
    return sign, Fraction(fraction + (1 << (p - 1))) * Fraction(2) ** (exponent - 1 + emin - p + 1)


def canonical_nan(ty):
    return {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8000000000000}[ty]


def infinity(ty, sign=0):
    p, _, _ = FORMATS[ty]
    width = BITS[ty]
    return sign << (width - 1) | ((1 << (width - p)) - 1) << (p - 1)


def greatest(ty, sign=0):
    return infinity(ty, sign) - 1


def encode(value, ty, mode="rn"):
    """The bits of (sign, magnitude), correctly rounded."""
    if value == NAN:
        return canonical_nan(ty)
    sign, magnitude = value
    p, emin, emax = FORMATS[ty]
    width = BITS[ty]
    top = sign << (width - 1)
    if magnitude == INF:
        return infinity(ty, sign)
    if magnitude == 0:
        return top
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    while Fraction(2) ** exponent > magnitude:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    exponent = max(exponent, emin)
    scaled = magnitude / Fraction(2) ** (exponent - p + 1)
    whole, rest = int(scaled), scaled - int(scaled)
    up = {"rn": rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole & 1, "rz": False,
          "rm": rest > 0 and sign, "rp": rest > 0 and not sign, "rna": rest >= Fraction(1, 2)}[mode]
    whole += bool(up)
    if whole == 1 << p:
        whole, exponent = whole >> 1, exponent + 1
    if exponent > emax:
        outward = {"rn": True, "rna": True, "rz": False, "rm": sign, "rp": not sign}[mode]
        return infinity(ty, sign) if outward else greatest(ty, sign)
    if whole < 1 << (p - 1):
        return top | whole
    return top | (exponent - emin + 1) << (p - 1) | whole & ((1 << (p - 1)) - 1)


def is_nan(bits, ty):
    return decode(bits, ty) == NAN


def flush(bits, ty, ftz):
    value = decode(bits, ty)
    p, emin, _ = FORMATS[ty]
    small = value != NAN and value[1] != INF and value[1] < Fraction(2) ** emin
    return bits & (1 << (BITS[ty] - 1)) if ftz and small else bits


def finish(bits, ty, ftz=False, sat=False, relu=False):
    bits = flush(bits, ty, ftz)
    one = encode((0, Fraction(1)), ty)
    if sat:
        value = decode(bits, ty)
        if value == NAN or value[0]:
            return 0
        return one if value[1] == INF or value[1] > 1 else bits
    if relu and not is_nan(bits, ty) and bits >> (BITS[ty] - 1):
        return 0
    return bits


def signed(value):
    """The Fraction of a finite value."""
    return -value[1] if value[0] else value[1]


def exact(number, zero_sign):
    return (int(number < 0), abs(number)) if number else (zero_sign, Fraction(0))


def f_add(a, b, mode):
    if NAN in (a, b):
        return NAN
    if a[1] == INF or b[1] == INF:
        if a[1] == INF and b[1] == INF and a[0] != b[0]:
            return NAN
        return a if a[1] == INF else b
    zero = a[0] if a[1] == 0 and b[1] == 0 and a[0] == b[0] else int(mode == "rm")
    return exact(signed(a) + signed(b), zero)


def f_mul(a, b, _mode=None):
    if NAN in (a, b):
        return NAN
    sign = a[0] ^ b[0]
    if INF in (a[1], b[1]):
        return NAN if a[1] == 0 or b[1] == 0 else (sign, INF)
    return sign, a[1] * b[1]


def f_div(a, b, _mode=None):
    if NAN in (a, b):
        return NAN
    sign = a[0] ^ b[0]
    if a[1] == INF:
        return NAN if b[1] == INF else (sign, INF)
    if b[1] == INF:
        return sign, Fraction(0)
    if b[1] == 0:
        return NAN if a[1] == 0 else (sign, INF)
    return sign, a[1] / b[1]


def f_sqrt(a, _mode=None):
    if a == NAN or a[0] and a[1] != 0:
        return NAN
    if a[1] in (0, INF):
        return a
    shift = 1200
    n = a[1] * Fraction(4) ** shift
    root = isqrt(int(n))
    # Half a unit far below the last place stands for what is cut off.
    return 0, (Fraction(root) + (Fraction(1, 2) if root * root != n else 0)) / Fraction(2) ** shift


def negated(a):
    return a if a == NAN else (1 - a[0], a[1])


OPS = {
    "add": lambda m, a, b: f_add(a, b, m),
    "sub": lambda m, a, b: f_add(a, negated(b), m),
    "mul": lambda m, a, b: f_mul(a, b),
    "fma": lambda m, a, b, c: f_add(f_mul(a, b), c, m),
    "mad": lambda m, a, b, c: f_add(f_mul(a, b), c, m),
    "div": lambda m, a, b: f_div(a, b),
    "rcp": lambda m, a: f_div((0, Fraction(1)), a),
    "sqrt": lambda m, a: f_sqrt(a),
}


def compute(op, ty, args, mode="rn", ftz=False, sat=False, relu=False):
    values = [decode(flush(a, ty, ftz), ty) for a in args]
    return finish(encode(OPS[op](mode, *values), ty, mode), ty, ftz, sat, relu)


def show(bits, ty):
    """A short decimal if there is one, else the bits."""
    value = decode(bits, ty)
    if value == NAN:
        return "nan" if bits == canonical_nan(ty) else hex(bits)
    if value[1] == INF:
        return "-inf" if value[0] else "inf"
    number = float(signed(value))
    text = f"-{abs(number)!r}" if value[0] else repr(number)
    return text if "e" not in text and len(text) <= 9 else hex(bits)


def from_number(number, ty):
    number = Fraction(number)
    return encode((int(number < 0), abs(number)), ty)


def samples(ty, count):
    """Operand lists: plain numbers, roundings in every direction, zeros, infinities, subnormals, NaN."""
    p, emin, _ = FORMATS[ty]
    sign = 1 << (BITS[ty] - 1)
    n = lambda x: from_number(x, ty)
    tiny, ulp, big = 1, n(1) + 1, greatest(ty)
    third = encode((0, Fraction(1, 3)), ty)
    normal = from_number(Fraction(2) ** emin, ty)
    rows = [
        (n(1.5), n(-0.25), n(3)), (ulp, third, n(-1)), (third | sign, ulp + 2, third), (n(0.75), n(0.5), n(0.125)),
        (0, sign, 0), (sign, sign, sign), (n(3), n(-3), n(9)), (big, big, big), (big | sign, n(2), big),
        (infinity(ty), n(1), sign), (infinity(ty), infinity(ty, 1), n(1)), (canonical_nan(ty), n(1), n(2)),
        (normal, normal | sign, tiny), (tiny, n(0.5), tiny), (normal - 1, ulp, 0), (n(1), n(0), n(-1)),
        (normal + 1, third, tiny | sign),
    ]
    return [row[:count] for row in rows]


def float_rows(op, ty, arity, **kw):
    return [([show(a, ty) for a in args], [show(compute(op, ty, args, **kw), ty)]) for args in samples(ty, arity)]


def operands(bits, arity):
    return ", ".join(reg(bits, k) for k in range(arity + 1))


def floats():
    f = File("float.txt", "f32 and f64: arithmetic, rounded as IEEE 754 says; .ftz, .sat, .rn .rz .rm .rp")
    for op, arity in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("mad", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)]:
        f.heading(op)
        for ty in "f32", "f64":
            bits = BITS[ty]
            bare = [""] if op in ("add", "sub", "mul", "mad", "div", "rcp", "sqrt", "fma") else []
            for mode in bare + [".rn", ".rz", ".rm", ".rp"]:
                f.rows(f"{op}{mode}.{ty} {operands(bits, arity)}", float_rows(op, ty, arity, mode=mode[1:] or "rn"))
        can_saturate = op in ("add", "sub", "mul", "fma", "mad")
        for mods in [".ftz"] + ([".sat", ".ftz.sat"] if can_saturate else []):
            rows = float_rows(op, "f32", arity, ftz="ftz" in mods, sat="sat" in mods)
            f.rows(f"{op}.rn{mods}.f32 {operands(32, arity)}", rows)
        if op in ("add", "sub", "mul", "fma"):
            for mods in ["", ".rn", ".rz", ".rm", ".rp", ".rn.ftz"]:
                mode = mods[1:3] or "rn"
                rows, all_rows = [], samples("f32", arity)
                for low, high in zip(all_rows, all_rows[3:] + all_rows[:3]):
                    pair = lambda a, b: f"{{{show(a, 'f32')}, {show(b, 'f32')}}}"
                    result = [compute(op, "f32", x, mode=mode, ftz="ftz" in mods) for x in (low, high)]
                    rows.append(([pair(a, b) for a, b in zip(low, high)], [pair(*result)]))
                f.rows(f"{op}{mods}.f32x2 {operands(64, arity)}", rows)
    f.heading("mixed precision")
    for half in "f16", "bf16":
        for op, arity in ("add", 2), ("sub", 2), ("fma", 3):
            for mods in ["", ".rn", ".rz", ".rm", ".rp", ".rn.sat"]:
                rows = []
                for args, last in zip(samples(half, arity), samples("f32", 1)[3:] + samples("f32", 1)[:3]):
                    values = [decode(a, half) for a in args[:-1]] + [decode(last[0], "f32")]
                    mode = mods[1:3] or "rn"
                    result = finish(encode(OPS[op](mode, *values), "f32", mode), "f32", sat="sat" in mods)
                    shown = [hex(a) for a in args[:-1]] + [show(last[0], "f32")]
                    rows.append((shown, [show(result, "f32")]))
                halves = ", ".join(f"h{k}" for k in range(1, arity))
                f.rows(f"{op}{mods}.f32.{half} r0, {halves}, r1", rows)
    f.save()


def minmax(op, ty, args, nan=False, xorsign=False, magnitude=False, ftz=False):
    values = [decode(flush(a, ty, ftz), ty) for a in args]
    sign = 0
    for v in values:
        sign ^= v[0] if v != NAN else 0
    if magnitude or xorsign:
        values = [v if v == NAN else (0, v[1]) for v in values]
    numbers = [v for v in values if v != NAN]
    if not numbers or nan and len(numbers) < len(values):
        return canonical_nan(ty)
    key = lambda v: ((Fraction(10) ** 400 if v[1] == INF else v[1]) * (-1 if v[0] else 1), -v[0])
    best = (min if op == "min" else max)(numbers, key=key)
    return encode((sign, best[1]) if xorsign else best, ty)


def order():
    f = File("minmax.txt", "min, max, abs, neg, copysign and testp of floats")
    for ty in "f32", "f64", "f16", "bf16":
        bits = BITS[ty]
        pairs = [p for p in samples(ty, 2)] + [(canonical_nan(ty), canonical_nan(ty)), (from_number(-2, ty), from_number(1, ty))]
        if ty != "f64":
            pairs = [p for p in pairs]
        mods = [""] if ty == "f64" else ["", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz.xorsign.abs"]
        for op in "min", "max":
            for mod in mods:
                # The sign of a NaN takes part in .xorsign; leave those rows to hardware.
                usable = [p for p in pairs if "xorsign" not in mod or not any(is_nan(x, ty) for x in p) or "NaN" in mod]
                rows = [([show(a, ty) for a in p], [show(minmax(op, ty, p, "NaN" in mod, "xorsign" in mod, False, "ftz" in mod), ty)]) for p in usable]
                f.rows(f"{op}{mod}.{ty} {operands(bits, 2)}", rows)
                if ty in ("f16", "bf16"):
                    turned = usable[2:] + usable[:2]
                    pack = lambda a, b: f"{{{show(a, ty)}, {show(b, ty)}}}"
                    rows = []
                    for p, q in zip(usable, turned):
                        r = [minmax(op, ty, x, "NaN" in mod, "xorsign" in mod, False, "ftz" in mod) for x in (p, q)]
                        rows.append(([pack(p[0], q[0]), pack(p[1], q[1])], [pack(*r)]))
                    f.rows(f"{op}{mod}.{ty}x2 {operands(32, 2)}", rows)
        for op in "abs", "neg":
            for mod in [""] if ty == "f64" else ["", ".ftz"]:
                top = 1 << (bits - 1)
                apply = lambda a: (flush(a, ty, bool(mod)) & ~top) if op == "abs" else flush(a, ty, bool(mod)) ^ top
                inputs = [a for a, in samples(ty, 1)] + [from_number(-2.5, ty), top | 1, infinity(ty, 1)]
                f.rows(f"{op}{mod}.{ty} {operands(bits, 1)}", [([hex(a)], [hex(apply(a))]) for a in inputs])
                if ty in ("f16", "bf16"):
                    rows = [([hex(a | b << 16)], [hex(apply(a) | apply(b) << 16)]) for a, b in zip(inputs, inputs[1:])]
                    f.rows(f"{op}{mod}.{ty}x2 {operands(32, 1)}", rows)
    for op in "min", "max":
        for mod in "", ".ftz", ".NaN", ".abs", ".ftz.NaN.abs":
            rows = [([show(a, "f32") for a in p], [show(minmax(op, "f32", p, "NaN" in mod, False, "abs" in mod, "ftz" in mod), "f32")]) for p in samples("f32", 3)]
            f.rows(f"{op}{mod}.f32 {operands(32, 3)}", rows)
    for ty in "f32", "f64":
        bits, top = BITS[ty], 1 << (BITS[ty] - 1)
        rows = [([hex(a), hex(b)], [hex(a & top | b & ~top)]) for a, b in samples(ty, 2)]
        f.rows(f"copysign.{ty} {operands(bits, 2)}", rows)
        values = [a for a, in samples(ty, 1)] + [1, infinity(ty, 1), 1 << (FORMATS[ty][0] - 1)]
        subnormal = lambda v: v != NAN and v[1] != INF and 0 < v[1] < Fraction(2) ** FORMATS[ty][1]
        tests = {"finite": lambda v: v != NAN and v[1] != INF, "infinite": lambda v: v != NAN and v[1] == INF, "number": lambda v: v != NAN,
                 "notanumber": lambda v: v == NAN, "normal": lambda v: v != NAN and v[1] != INF and not subnormal(v), "subnormal": subnormal}
        for name, test in tests.items():
            f.rows(f"testp.{name}.{ty} p0, {reg(bits, 1)}", [([show(v, ty)], [int(bool(test(decode(v, ty))))]) for v in values])
    f.save()


def halves():
    f = File("half.txt", "f16 and bf16, single and in pairs")
    for ty in "f16", "bf16":
        for op, arity in ("add", 2), ("sub", 2), ("mul", 2), ("fma", 3):
            for mods in ["", ".rn", ".rn.ftz", ".rn.sat", ".rn.ftz.sat"] + ([".rn.relu", ".rn.ftz.relu", ".relu"] if op == "fma" else []):
                kw = {"ftz": "ftz" in mods, "sat": "sat" in mods, "relu": "relu" in mods}
                f.rows(f"{op}{mods}.{ty} {operands(16, arity)}", float_rows(op, ty, arity, **kw))
                rows, all_rows = [], samples(ty, arity)
                pack = lambda a, b: f"{{{show(a, ty)}, {show(b, ty)}}}"
                for low, high in zip(all_rows, all_rows[5:] + all_rows[:5]):
                    result = [compute(op, ty, x, **kw) for x in (low, high)]
                    rows.append(([pack(a, b) for a, b in zip(low, high)], [pack(*result)]))
                f.rows(f"{op}{mods}.{ty}x2 {operands(32, arity)}", rows)
    f.save()


# ---- integers ----

INT = ["u16", "u32", "u64", "s16", "s32", "s64"]


def int_pairs(ty):
    low, high = limits(ty)
    return [(7, 3), (wrap(-7, ty), 3), (high, 1), (low, wrap(-1, ty)), (0, high), (wrap(0x123456789ABCDEF, ty), wrap(0xFEDCBA987654321, ty))]


def quotient(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def integers():
    f = File("integer.txt", "integer arithmetic: results wrap unless .sat; division truncates, by zero it gives all ones")
    three = lambda rows: [(a, b, c) for (a, b), (c, _) in zip(rows, rows[1:] + rows[:1])]
    for ty in INT:
        bits = BITS[ty]
        pairs, o2, o3 = int_pairs(ty), operands(bits, 2), operands(bits, 3)
        table = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "mul.lo": lambda a, b: a * b,
                 "mul.hi": lambda a, b: a * b >> bits, "min": min, "max": max}
        for op, fn in table.items():
            f.rows(f"{op}.{ty} {o2}", [([a, b], [wrap(fn(a, b), ty)]) for a, b in pairs])
        zero = [(5, 0), (0, 0)]
        f.rows(f"div.{ty} {o2}", [([a, b], [wrap(quotient(a, b) if b else -1, ty)]) for a, b in pairs + zero])
        f.rows(f"rem.{ty} {o2}", [([a, b], [wrap(a - b * quotient(a, b) if b else -1, ty)]) for a, b in pairs + zero])
        for op, fn in {"mad": lambda a, b, c: a * b + c, "mad.lo": lambda a, b, c: a * b + c, "mad.hi": lambda a, b, c: (a * b >> bits) + c,
                       "sad": lambda a, b, c: c + abs(a - b)}.items():
            f.rows(f"{op}.{ty} {o3}", [([a, b, c], [wrap(fn(a, b, c), ty)]) for a, b, c in three(pairs)])
        if bits < 64:
            wide = f"{ty[0]}{2 * bits}"
            f.rows(f"mul.wide.{ty} {reg(2 * bits, 0)}, {reg(bits, 1)}, {reg(bits, 2)}", [([a, b], [wrap(a * b, wide)]) for a, b in pairs])
            f.rows(f"mad.wide.{ty} {reg(2 * bits, 0)}, {reg(bits, 1)}, {reg(bits, 2)}, {reg(2 * bits, 3)}",
                   [([a, b, c], [wrap(a * b + c, wide)]) for (a, b), c in zip(pairs, [1, limits(wide)[1], 0, 5, 0, 77])])
        if ty[0] == "s":
            f.rows(f"abs.{ty} {operands(bits, 1)}", [([a], [wrap(abs(a), ty)]) for a, _ in pairs])
            f.rows(f"neg.{ty} {operands(bits, 1)}", [([a], [wrap(-a, ty)]) for a, _ in pairs])
    f.heading("saturating, and negative results cut off")
    for ty in "s32", "u32":
        pairs = int_pairs(ty) + [limits(ty)]
        f.rows(f"add.sat.{ty} r0, r1, r2", [([a, b], [clamp(a + b, ty)]) for a, b in pairs])
        f.rows(f"sub.sat.{ty} r0, r1, r2", [([a, b], [clamp(a - b, ty)]) for a, b in pairs])
    high = limits("s32")[1]
    f.rows("mad.hi.sat.s32 r0, r1, r2, r3", [([a, b, c], [clamp((a * b >> 32) + c, "s32")]) for a, b, c in [(high, high, high), (-high, high, -high), (1 << 20, 1 << 20, 5)]])
    for op, fn in ("min", min), ("max", max):
        f.rows(f"{op}.relu.s32 r0, r1, r2", [([a, b], [max(fn(a, b), 0)]) for a, b in int_pairs("s32") + [(-3, -9)]])
    f.heading("24 bits")
    for ty in "u32", "s32":
        low24 = lambda a: wrap(a << 8, ty) >> 8
        pairs = [(0xFFFFFF, 0xFFFFFF), (3, -5), (0x123456, 0x765432), (wrap(0xFF800000, ty), 2)]
        pairs = [(wrap(a, ty), wrap(b, ty)) for a, b in pairs]
        for mod, shift in ("", 0), (".lo", 0), (".hi", 16):
            product = lambda a, b: wrap(low24(a) * low24(b) >> shift, ty)
            f.rows(f"mul24{mod}.{ty} r0, r1, r2", [([a, b], [product(a, b)]) for a, b in pairs])
            f.rows(f"mad24{mod}.{ty} r0, r1, r2, r3", [([a, b, 100], [wrap(product(a, b) + 100, ty)]) for a, b in pairs])
    f.rows("mad24.hi.sat.s32 r0, r1, r2, r3", [([0x7FFFFF, 0x7FFFFF, high], [high]), ([-0x800000, 0x7FFFFF, -high], [-high - 1]), ([65536, 65536, 1], [65537])])
    f.heading("packed")
    for ty in "u16x2", "s16x2", "u8x4", "s8x4":
        element = ty[:-2]
        width = BITS[element]
        split = lambda a: [wrap(a >> k, element) for k in range(0, 32, width)]
        join = lambda items: hex(sum((v & ((1 << width) - 1)) << width * k for k, v in enumerate(items)))
        inputs = [(0x7F80FF01, 0x01FF8002), (0x80007FFF, 0xFFFF0001), (0x12345678, 0x9ABCDEF0)]
        table = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "add.sat": lambda a, b: clamp(a + b, element), "sub.sat": lambda a, b: clamp(a - b, element), "min": min, "max": max}
        if ty == "s16x2":
            table |= {"min.relu": lambda a, b: max(min(a, b), 0), "max.relu": lambda a, b: max(a, b, 0)}
        for op, fn in table.items():
            f.rows(f"{op}.{ty} r0, r1, r2", [([hex(a), hex(b)], [join([fn(x, y) for x, y in zip(split(a), split(b))])]) for a, b in inputs])
    f.heading("dot products")
    for at in "u32", "s32":
        for bt in "u32", "s32":
            part = lambda a, k, width, ty: wrap(a >> k * width, f"{ty[0]}{width}")
            inputs = [(0x80FF017F, 0x7F80FF02, 5), (0x01020304, 0xFFFEFDFC, 0xFFFFFFFF)]
            f.rows(f"dp4a.{at}.{bt} r0, r1, r2, r3", [([hex(a), hex(b), hex(c)], [hex((c + sum(part(a, k, 8, at) * part(b, k, 8, bt) for k in range(4))) % 2**32)]) for a, b, c in inputs])
            for mode, first in ("lo", 0), ("hi", 2):
                f.rows(f"dp2a.{mode}.{at}.{bt} r0, r1, r2, r3", [([hex(a), hex(b), hex(c)], [hex((c + sum(part(a, k, 16, at) * part(b, first + k, 8, bt) for k in range(2))) % 2**32)]) for a, b, c in inputs])
    f.save()


def carries():
    f = File("carry.txt", "extended precision: the carry goes from instruction to instruction; the last of each line shows it")
    for bits in 32, 64:
        for ty in f"u{bits}", f"s{bits}":
            top = (1 << bits) - 1
            a, b, c, d, e = (reg(bits, k) for k in (5, 6, 7, 8, 9))
            x, y, z = (reg(bits, k) for k in range(3))
            words = lambda v: [hex(v >> bits * k & top) for k in range(3)]
            cases = [(top, 1, top, 0), (5, 7, 1, 2), (top, top, top, top), (0, 1, 0, 0), (3, 4, 9, 9)]
            rows = []
            for al, bl, ah, bh in cases:
                total = (al | ah << bits) + (bl | bh << bits)
                rows.append(([hex(v) for v in (al, bl, ah, bh)], words(total)))
            f.rows(f"add.cc.{ty} {x}, {a}, {b}; addc.cc.{ty} {y}, {c}, {d}; addc.{ty} {z}, 0, 0", rows)
            rows = []
            for al, bl, ah, bh in cases:
                total = (al | ah << bits) - (bl | bh << bits)
                rows.append(([hex(v) for v in (al, bl, ah, bh)], words(total % (1 << 3 * bits))))
            f.rows(f"sub.cc.{ty} {x}, {a}, {b}; subc.cc.{ty} {y}, {c}, {d}; subc.{ty} {z}, 0, 0", rows)
            number = lambda v: wrap(v, ty)
            for first in "lo", "hi":
                for second in "lo", "hi":
                    rows = []
                    for m, n, p, q in [(top, top, top, 1), (3, 5, 7, 9), (top // 2 + 1, 2, top, top), (12345, 6789, top, 0)]:
                        half = lambda which: (number(m) * number(n) >> (bits if which == "hi" else 0)) & top
                        low = half(first) + p
                        high = half(second) + q + (low >> bits)
                        last = half(first) + 0 + (high >> bits)
                        rows.append(([hex(v) for v in (m, n, p, q)], [hex(low & top), hex(high & top), hex(last & top)]))
                    f.rows(f"mad.{first}.cc.{ty} {x}, {a}, {b}, {c}; madc.{second}.cc.{ty} {y}, {a}, {b}, {d}; madc.{first}.{ty} {z}, {a}, {b}, 0", rows)
    f.save()


# ---- bits ----


def prmt(a, b, c, mode):
    pool = [(a | b << 32) >> 8 * k & 255 for k in range(8)]
    low = c & 3
    if mode == "":
        out = []
        for k in range(4):
            selector = c >> 4 * k & 15
            byte = pool[selector & 7]
            out.append((255 if byte & 128 else 0) if selector & 8 else byte)
    else:
        picks = {"f4e": [low, low + 1, low + 2, low + 3], "b4e": [low, (low - 1) % 8, (low - 2) % 8, (low - 3) % 8], "rc8": [low] * 4,
                 "ecl": [max(low, k) for k in range(4)], "ecr": [min(low, k) for k in range(4)], "rc16": [2 * (low & 1), 2 * (low & 1) + 1] * 2}[mode]
        out = [pool[k] for k in picks]
    return sum(v << 8 * k for k, v in enumerate(out))


def fns(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    positions = [k for k in (range(base, 32) if offset > 0 else range(base, -1, -1)) if mask >> k & 1]
    return positions[abs(offset) - 1] if len(positions) >= abs(offset) else 0xFFFFFFFF


def bits_file():
    f = File("bits.txt", "logic, shifts, counts and bit fields")
    values = {16: [0, 1, 0xFFFF, 0x8001, 0x1234], 32: [0, 1, 0xFFFFFFFF, 0x80000001, 0x12345678], 64: [0, 1, 2**64 - 1, 2**63 + 1, 0x123456789ABCDEF0]}
    for bits in 16, 32, 64:
        v, top = values[bits], (1 << bits) - 1
        pairs = list(zip(v, v[2:] + v[:2]))
        for op, fn in {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}.items():
            f.rows(f"{op}.b{bits} {operands(bits, 2)}", [([hex(a), hex(b)], [hex(fn(a, b))]) for a, b in pairs])
        f.rows(f"not.b{bits} {operands(bits, 1)}", [([hex(a)], [hex(~a & top)]) for a in v])
        f.rows(f"cnot.b{bits} {operands(bits, 1)}", [([hex(a)], [int(a == 0)]) for a in v])
        amounts = [0, 1, bits - 1, bits, 0xFFFFFFFF]
        f.rows(f"shl.b{bits} {reg(bits, 0)}, {reg(bits, 1)}, r9", [([hex(a), hex(n)], [hex(a << min(n, bits) & top)]) for a in v[2:] for n in amounts])
        for ty in f"b{bits}", f"u{bits}", f"s{bits}":
            f.rows(f"shr.{ty} {reg(bits, 0)}, {reg(bits, 1)}, r9", [([hex(a), hex(n)], [hex((wrap(a, ty) >> min(n, bits)) & top)]) for a in v[2:] for n in amounts])
    f.heading("predicates")
    both = [(0, 0), (0, 1), (1, 0), (1, 1)]
    for op, fn in {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}.items():
        f.rows(f"{op}.pred p0, p1, p2", [([a, b], [fn(a, b)]) for a, b in both])
    f.rows("not.pred p0, p1", [([0], [1]), ([1], [0])])
    f.heading("lop3, shf, prmt")
    a, b, c = 0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA
    table = lambda a, b, c, lut: sum(((lut >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1)) & 1) << k for k in range(32))
    for lut in 0x80, 0x96, 0xE8, 0x1B, 0x00:
        f.rows(f"lop3.b32 r0, r1, r2, r3, {lut}", [([hex(a), hex(b), hex(c)], [hex(table(a, b, c, lut))]), ([hex(0x12345678), hex(0x9ABCDEF0), hex(0xFF)], [hex(table(0x12345678, 0x9ABCDEF0, 0xFF, lut))])])
    for op, fn in ("or", lambda p, q: p | q), ("and", lambda p, q: p & q):
        f.rows(f"lop3.{op}.b32 r0|p0, r1, r2, r3, 0x80, p1", [([x, y, z, q], [x & y & z, fn(int(x & y & z != 0), q)]) for x, y, z in [(7, 5, 4), (1, 2, 4)] for q in (0, 1)])
    f.rows("lop3.or.b32 r0|p0, r1, r2, r3, 0x80, !p1", [([1, 2, 4, q], [0, 1 - q]) for q in (0, 1)])
    for side in "l", "r":
        for mode in "clamp", "wrap":
            rows = []
            for n in 0, 1, 8, 31, 32, 33, 0xFFFFFFFF:
                amount = min(n, 32) if mode == "clamp" else n & 31
                both64 = 0x9ABCDEF0 << 32 | 0x12345678
                result = both64 << amount >> 32 if side == "l" else both64 >> amount
                rows.append((["0x12345678", "0x9abcdef0", hex(n)], [hex(result & 0xFFFFFFFF)]))
            f.rows(f"shf.{side}.{mode}.b32 r0, r1, r2, r3", rows)
    for mode in "", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16":
        picks = [0x3210, 0x7654, 0x89AB, 0xF0C2] if mode == "" else [0, 1, 2, 3]
        f.rows(f"prmt.b32{'.' + mode if mode else ''} r0, r1, r2, r3", [(["0x83828180", "0x07060504", hex(n)], [hex(prmt(0x83828180, 0x07060504, n, mode))]) for n in picks])
    f.heading("counts and bit fields")
    for bits in 32, 64:
        v, top = values[bits], (1 << bits) - 1
        f.rows(f"popc.b{bits} r0, {reg(bits, 1)}", [([hex(x)], [bin(x).count("1")]) for x in v])
        f.rows(f"clz.b{bits} r0, {reg(bits, 1)}", [([hex(x)], [bits - x.bit_length()]) for x in v])
        f.rows(f"brev.b{bits} {operands(bits, 1)}", [([hex(x)], [hex(int(f"{x:0{bits}b}"[::-1], 2))]) for x in v])
        for ty in f"u{bits}", f"s{bits}":
            def found(x):
                y = wrap(x, ty)
                return (y if y >= 0 else ~y).bit_length() - 1
            f.rows(f"bfind.{ty} r0, {reg(bits, 1)}", [([hex(x)], [found(x)]) for x in v])
            f.rows(f"bfind.shiftamt.{ty} r0, {reg(bits, 1)}", [([hex(x)], [bits - 1 - found(x) if found(x) >= 0 else -1]) for x in v])
            def bfe(x, pos, length):
                pos, length = pos & 255, length & 255
                if length == 0:
                    return 0
                last = min(pos + length - 1, bits - 1)
                sign = x >> last & 1 if ty[0] == "s" else 0
                out = sum((x >> pos + k & 1 if k < length and pos + k < bits else sign) << k for k in range(bits))
                return out
            fields = [(0, 8), (4, 8), (bits - 4, 4), (bits - 4, 8), (0, bits), (8, 0), (bits + 3, 4), (0x104, 0x108)]
            f.rows(f"bfe.{ty} {reg(bits, 0)}, {reg(bits, 1)}, r8, r9", [([hex(v[4]), pos, n], [hex(bfe(v[4], pos, n))]) for pos, n in fields] + [([hex(v[3]), bits - 4, 8], [hex(bfe(v[3], bits - 4, 8))])])
        def bfi(a, b, pos, length):
            pos, length = pos & 255, length & 255
            for k in range(length):
                if pos + k < bits:
                    b = b & ~(1 << pos + k) | (a >> k & 1) << pos + k
            return b
        f.rows(f"bfi.b{bits} {operands(bits, 2)}, r8, r9", [([hex(0x2D), hex(v[4]), pos, n], [hex(bfi(0x2D, v[4], pos, n))]) for pos, n in [(0, 8), (4, 6), (bits - 3, 8), (0, bits), (5, 0), (bits, 4), (0x104, 0x106)]])
    f.rows("fns.b32 r0, r1, r2, r3", [([hex(m), b, n], [hex(fns(m, b, n))]) for m, b, n in [(0xA8, 3, 0), (0xA8, 4, 0), (0xA8, 3, 1), (0xA8, 3, 2), (0xA8, 3, 4), (0xA8, 7, -1), (0xA8, 7, -3), (0xA8, 6, -3)]])
    for mode in "clamp", "wrap":
        for ty in "u32", "s32":
            rows = []
            for x in 0x12345680, 0xFFFF0F7F:
                for n in 0, 1, 8, 31, 32, 40:
                    width = min(n, 32) if mode == "clamp" else n & 31
                    out = x & ((1 << width) - 1)
                    if ty == "s32" and width and out >> width - 1:
                        out |= 0xFFFFFFFF << width & 0xFFFFFFFF
                    rows.append(([hex(x), n], [hex(out)]))
            f.rows(f"szext.{mode}.{ty} r0, r1, r2", rows)
        rows = []
        for a, b in (0, 4), (4, 8), (28, 8), (31, 1), (32, 3), (35, 3), (3, 0), (0, 32), (2, 40):
            start, length = (min(a, 32), min(b, 32)) if mode == "clamp" else (a & 31, b & 31)
            rows.append(([a, b], [hex(((1 << length) - 1) << start & 0xFFFFFFFF)]))
        f.rows(f"bmsk.{mode}.b32 r0, r1, r2", rows)
    f.save()


# ---- comparisons ----


def compare_ints(cmp, a, b):
    return {"eq": a == b, "ne": a != b, "lt": a < b, "lo": a < b, "le": a <= b, "ls": a <= b, "gt": a > b, "hi": a > b, "ge": a >= b, "hs": a >= b}[cmp]


def compare_floats(cmp, a, b):
    unordered = NAN in (a, b)
    if cmp in ("num", "nan"):
        return unordered == (cmp == "nan")
    if unordered:
        return cmp.endswith("u")
    key = lambda v: (Fraction(10) ** 400 if v[1] == INF else v[1]) * (-1 if v[0] else 1)
    return compare_ints(cmp.removesuffix("u") if len(cmp) == 3 else cmp, key(a), key(b))


ICMP = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"]
FCMP = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
BOOL = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def comparisons():
    f = File("compare.txt", "setp, set, selp, slct")
    for ty in ["b16", "b32", "b64"] + INT:
        bits = BITS[ty]
        top = 1 << (bits - 1)
        number = lambda v: wrap(v, ty)
        pairs = [(1, 2), (2, 1), (5, 5), (top, 1)]
        for cmp in ICMP if ty[0] == "u" else ["eq", "ne"] if ty[0] == "b" else ICMP[:6]:
            f.rows(f"setp.{cmp}.{ty} p0|p1, {reg(bits, 1)}, {reg(bits, 2)}", [([hex(a), hex(b)], [int(compare_ints(cmp, number(a), number(b))), int(not compare_ints(cmp, number(a), number(b)))]) for a, b in pairs])
        cmp, (name, fn) = ("ne", list(BOOL.items())[bits // 16 % 3])
        f.rows(f"setp.{cmp}.{name}.{ty} p0, {reg(bits, 1)}, {reg(bits, 2)}, !p2", [([hex(a), hex(b), c], [fn(int(number(a) != number(b)), 1 - c)]) for a, b in pairs for c in (0, 1)])
        for dtype, true in ("u32", "0xffffffff"), ("f32", "1.0"), ("s32", -1), ("u16", "0xffff"), ("s16", -1), ("f16", "1.0"), ("bf16", "0x3f80"):
            zero = 0
            d = reg(BITS[dtype], 9)
            f.rows(f"set.le.{dtype}.{ty} {d}, {reg(bits, 1)}, {reg(bits, 2)}", [([hex(a), hex(b)], [true if number(a) <= number(b) else zero]) for a, b in pairs])
            f.rows(f"set.gt.xor.{dtype}.{ty} {d}, {reg(bits, 1)}, {reg(bits, 2)}, p2", [([hex(a), hex(b), c], [true if (number(a) > number(b)) != bool(c) else zero]) for a, b in pairs for c in (0, 1)])
    pairs = [(1, 2), (2, 1), (5, 5), (0xFFFFFFFF, 1)]
    for cmp in ICMP:
        f.rows(f"set.{cmp}.u32.u32 r0, r1, r2", [([a, b], [0xFFFFFFFF if compare_ints(cmp, a, b) else 0]) for a, b in pairs])
        for name, fn in BOOL.items():
            f.rows(f"set.{cmp}.{name}.u32.u32 r0, r1, r2, p1", [([a, b, c], [0xFFFFFFFF if fn(int(compare_ints(cmp, a, b)), c) else 0]) for a, b in pairs for c in (0, 1)])
            f.rows(f"setp.{cmp}.{name}.u32 p0|p1, r1, r2, p2", [([a, b, c], [fn(int(compare_ints(cmp, a, b)), c), fn(int(not compare_ints(cmp, a, b)), c)]) for a, b in pairs for c in (0, 1)])
    f.heading("floats")
    for ty in "f32", "f64", "f16", "bf16":
        bits = BITS[ty]
        n = lambda x: from_number(x, ty)
        top = 1 << (bits - 1)
        pairs = [(n(1), n(2)), (n(2), n(1)), (n(-1), n(-1)), (0, top), (canonical_nan(ty), n(1)), (n(1), canonical_nan(ty)), (infinity(ty), n(1)), (infinity(ty, 1), infinity(ty)), (1, 0), (top | 1, 1)]
        operand = f"{reg(bits, 1)}, {reg(bits, 2)}"
        shown = lambda a, b: [show(a, ty), show(b, ty)]
        for cmp in FCMP:
            for ftz in [""] if ty == "f64" else ["", ".ftz"]:
                test = lambda a, b: int(compare_floats(cmp, decode(flush(a, ty, bool(ftz)), ty), decode(flush(b, ty, bool(ftz)), ty)))
                f.rows(f"setp.{cmp}{ftz}.{ty} p0|p1, {operand}", [(shown(a, b), [test(a, b), 1 - test(a, b)]) for a, b in pairs])
                f.rows(f"set.{cmp}{ftz}.u32.{ty} r9, {operand}", [(shown(a, b), [-test(a, b)]) for a, b in pairs])
                name, fn = list(BOOL.items())[FCMP.index(cmp) % 3]
                some = [pairs[0], pairs[4], pairs[8]]
                f.rows(f"setp.{cmp}.{name}{ftz}.{ty} p0, {operand}, p2", [(shown(a, b) + [c], [fn(test(a, b), c)]) for a, b in some for c in (0, 1)])
                f.rows(f"set.{cmp}.{name}{ftz}.f32.{ty} r9, {operand}, !p2", [(shown(a, b) + [c], ["1.0" if fn(test(a, b), 1 - c) else "0.0"]) for a, b in some for c in (0, 1)])
        for dtype, true in ("s32", -1), ("u16", "0xffff"), ("s16", -1), ("f16", "0x3c00"), ("bf16", "0x3f80"), ("f32", "1.0"):
            d = reg(BITS[dtype], 9)
            test = lambda a, b: compare_floats("ltu", decode(a, ty), decode(b, ty))
            f.rows(f"set.ltu.{dtype}.{ty} {d}, {operand}", [(shown(a, b), [true if test(a, b) else 0]) for a, b in pairs])
            f.rows(f"set.ltu.or.{dtype}.{ty} {d}, {operand}, p2", [(shown(a, b) + [c], [true if test(a, b) or c else 0]) for a, b in pairs[3:6] for c in (0, 1)])
        f.rows(f"set.num.and.u32.{ty} r9, {operand}, p2", [(shown(a, b) + [1], [-int(compare_floats("num", decode(a, ty), decode(b, ty)))]) for a, b in pairs])
        if ty in ("f16", "bf16"):
            turned = pairs[3:] + pairs[:3]
            pack = lambda a, b: f"{{{show(a, ty)}, {show(b, ty)}}}"
            one = {"f16": 0x3C00, "bf16": 0x3F80}[ty]
            for cmp in FCMP:
                for ftz in "", ".ftz":
                    test = lambda p: int(compare_floats(cmp, *[decode(flush(x, ty, bool(ftz)), ty) for x in p]))
                    zipped = list(zip(pairs, turned))
                    ins = lambda p, q: [pack(p[0], q[0]), pack(p[1], q[1])]
                    f.rows(f"setp.{cmp}{ftz}.{ty}x2 p0|p1, r1, r2", [(ins(p, q), [test(p), test(q)]) for p, q in zipped])
                    name, fn = list(BOOL.items())[FCMP.index(cmp) % 3]
                    some = zipped[1:9:4]
                    f.rows(f"setp.{cmp}.{name}{ftz}.{ty}x2 p0|p1, r1, r2, p2", [(ins(p, q) + [c], [fn(test(p), c), fn(test(q), c)]) for p, q in some for c in (0, 1)])
                    for dtype, true in ("u32", 0xFFFF), ("s32", 0xFFFF), (f"{ty}x2", one):
                        f.rows(f"set.{cmp}{ftz}.{dtype}.{ty}x2 r0, r1, r2", [(ins(p, q), [hex(test(p) * true | test(q) * true << 16)]) for p, q in zipped[::3]])
                        f.rows(f"set.{cmp}.{name}{ftz}.{dtype}.{ty}x2 r0, r1, r2, p2", [(ins(p, q) + [c], [hex(fn(test(p), c) * true | fn(test(q), c) * true << 16)]) for p, q in some for c in (0, 1)])
    f.heading("selection")
    types = ["b16", "b32", "b64"] + INT + ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"]
    for ty in types:
        bits = BITS[ty]
        a, b = (0x1234567890ABCDEF >> (64 - bits)), (0xFEDCBA0987654321 >> (64 - bits))
        f.rows(f"selp.{ty} {operands(bits, 2)}, p1", [([hex(a), hex(b), c], [hex(a if c else b)]) for c in (0, 1)])
        f.rows(f"slct.{ty}.s32 {operands(bits, 2)}, r9", [([hex(a), hex(b), c], [hex(a if c >= 0 else b)]) for c in (0, 5, -1, -2147483648)])
        singles = [("0.0", True), ("-0.0", True), ("1.5", True), ("-1.5", False), ("nan", False), ("0x80000001", False), ("inf", True)]
        f.rows(f"slct.{ty}.f32 {operands(bits, 2)}, r9", [([hex(a), hex(b), c], [hex(a if yes else b)]) for c, yes in singles])
        f.rows(f"slct.ftz.{ty}.f32 {operands(bits, 2)}, r9", [([hex(a), hex(b), c], [hex(a if yes or c == "0x80000001" else b)]) for c, yes in singles])
    f.save()


# ---- conversions ----


def to_integral(value, mode):
    """A finite or infinite value rounded to an integer."""
    sign, magnitude = value
    whole, rest = int(magnitude), magnitude - int(magnitude)
    up = {"rni": rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole & 1, "rzi": False, "rmi": rest > 0 and sign, "rpi": rest > 0 and not sign}[mode]
    return sign, Fraction(whole + bool(up))


def conversions():
    f = File("convert.txt", "cvt: integers truncate or saturate, floats round once; NaN becomes 0, or the top bit alone from f64 or to 64 bits")
    ints = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
    hold = lambda ty: max(BITS[ty], 16)
    for to in ints:
        for source in ints:
            values = [0, 1, 127, 200, 0x7FFF, 0x8001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFFFFFFFF85]
            values = sorted({v & ((1 << BITS[source]) - 1) for v in values})
            out = lambda v: hex(v & ((1 << hold(to)) - 1))
            f.rows(f"cvt.{to}.{source} {reg(hold(to), 0)}, {reg(hold(source), 1)}", [([hex(v)], [out(wrap(wrap(v, source), to))]) for v in values])
            f.rows(f"cvt.sat.{to}.{source} {reg(hold(to), 0)}, {reg(hold(source), 1)}", [([hex(v)], [out(clamp(wrap(v, source), to))]) for v in values])
    f.heading("registers wider than their types")
    f.rows("cvt.u8.u32 d0, r1", [(["0x1234"], ["0x34"])])
    f.rows("cvt.s8.s16 r0, r1", [(["0x12f4"], ["0xfffffff4"])])
    f.rows("cvt.s16.s32 d0, r1", [(["0x18000"], ["0xffffffffffff8000"])])
    f.rows("cvt.f32.u16 r0, d1", [(["0xabcd00010003"], ["3.0"])])
    f.heading("integer to float")
    for to in "f32", "f64", "f16", "bf16":
        for source in ints:
            low, high = limits(source)
            values = sorted({0, 1, high, low, high - 1, high // 2 + 1, clamp(2049, source), clamp(-16777217, source), clamp(65520, source)})
            for mode in "rn", "rz", "rm", "rp":
                result = lambda v: encode(exact(Fraction(v), 0), to, mode)
                f.rows(f"cvt.{mode}.{to}.{source} {reg(BITS[to], 0)}, {reg(hold(source), 1)}", [([v], [show(result(v), to) if to in ("f32", "f64") else hex(result(v))]) for v in values])
        f.rows(f"cvt.rn.sat.{to}.s32 {reg(BITS[to], 0)}, r1", [([v], [hex(finish(encode(exact(Fraction(v), 0), to), to, sat=True))]) for v in (-5, 0, 1, 7)])
    f.heading("float to integer")
    for source in "f32", "f64", "f16", "bf16":
        n = lambda x: from_number(x, source)
        inputs = [n(x) for x in (0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3, 200, -200, 300, 32768)] + [infinity(source), infinity(source, 1), canonical_nan(source), greatest(source), greatest(source, 1), 1, 1 << (BITS[source] - 1) | 1]
        for to in ints:
            for mode in "rni", "rzi", "rmi", "rpi":
                for ftz in ["", ".ftz"] if source == "f32" else [""]:
                    def result(bits):
                        value = decode(flush(bits, source, bool(ftz)), source)
                        if value == NAN:
                            return wrap(1 << BITS[to] - 1, to) if source == "f64" or BITS[to] == 64 else 0
                        if value[1] == INF:
                            return limits(to)[0] if value[0] else limits(to)[1]
                        return clamp(int(signed(to_integral(value, mode))), to)
                    out = lambda v: hex(v & ((1 << hold(to)) - 1))
                    f.rows(f"cvt.{mode}{ftz}.{to}.{source} {reg(hold(to), 0)}, {reg(BITS[source], 1)}", [([show(v, source) if source in ("f32", "f64") else hex(v)], [out(result(v))]) for v in inputs])
        f.rows(f"cvt.rzi.sat.u8.{source} h0, {reg(BITS[source], 1)}", [([hex(n(300))], [255]), ([hex(n(-3))], [0]), ([hex(n(77))], [77])])
    f.heading("float to float")
    for to in "f32", "f64", "f16", "bf16":
        for source in "f32", "f64", "f16", "bf16":
            inputs = sorted({a for a, in samples(source, 1)} | {b for _, b in samples(source, 2)})
            pairs = lambda result: [([hex(v)], [hex(result(v))]) for v in inputs]
            d, s = reg(BITS[to], 0), reg(BITS[source], 1)
            exactly = FORMATS[to][0] >= FORMATS[source][0] and FORMATS[to][1] <= FORMATS[source][1]
            if to == source:
                for mode in "rni", "rzi", "rmi", "rpi":
                    def integral(v):
                        value = decode(v, source)
                        return encode(value if value == NAN or value[1] == INF else to_integral(value, mode), to)
                    f.rows(f"cvt.{mode}.{to}.{source} {d}, {s}", pairs(integral))
            if exactly:
                if to != source:
                    f.rows(f"cvt.{to}.{source} {d}, {s}", pairs(lambda v: encode(decode(v, source), to)))
            else:
                for mode in "rn", "rz", "rm", "rp":
                    f.rows(f"cvt.{mode}.{to}.{source} {d}, {s}", pairs(lambda v: encode(decode(v, source), to, mode)))
            rounding = "" if exactly else ".rn"
            if to in ("f32", "f16", "bf16") and source in ("f32", "f64"):
                f.rows(f"cvt{rounding}.sat.{to}.{source} {d}, {s}", pairs(lambda v: finish(encode(decode(v, source), to), to, sat=True)))
            if to == "f32" or source == "f32":
                ftz = lambda v: flush(encode(decode(flush(v, source, source == "f32"), source), to), to, to == "f32")
                f.rows(f"cvt{rounding}.ftz.{to}.{source} {d}, {s}", pairs(ftz))
            if to in ("f16", "bf16") and source == "f32":
                def finite(v):
                    bits = encode(decode(v, source), to)
                    return greatest(to, bits >> 15) if bits & 0x7FFF == infinity(to) else bits
                f.rows(f"cvt.rn.relu.{to}.{source} {d}, {s}", pairs(lambda v: finish(encode(decode(v, source), to), to, relu=True)))
                f.rows(f"cvt.rn.satfinite.{to}.{source} {d}, {s}", pairs(finite))
                for mode in "rn", "rz":
                    for mods in "", ".relu", ".satfinite", ".relu.satfinite":
                        def one(v):
                            bits = encode(decode(v, source), to, mode)
                            bits = finish(bits, to, relu="relu" in mods)
                            return greatest(to, bits >> 15) if "satfinite" in mods and bits & 0x7FFF == infinity(to) else bits
                        rows = [([hex(a), hex(b)], [hex(one(a) << 16 | one(b))]) for a, b in zip(inputs, inputs[4:] + inputs[:4])]
                        f.rows(f"cvt.{mode}{mods}.{to}x2.f32 r0, r1, r2", rows)
    f.heading("tf32: 10 fraction bits, the rest zero")
    inputs = [0, 0x80000000, 0x3F800000, 0x3F801000, 0x3F803000, 0x3F801001, 0xBF800FFF, 0xBF801000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x1FFF, 0x80001001]
    for mode in ".rna", ".rn", ".rz":
        for mods in "", ".relu", ".satfinite":
            if mode == ".rna" and mods == ".relu":
                continue
            def tf32(v):
                if is_nan(v, "f32"):
                    return canonical_nan("f32")
                sign, m = v >> 31, v & 0x7FFFFFFF
                if m != 0x7F800000:
                    rest, keep = m & 0x1FFF, m >> 13
                    keep += {".rna": rest >= 0x1000, ".rn": rest > 0x1000 or rest == 0x1000 and keep & 1, ".rz": False}[mode]
                    m = keep << 13
                if mods == ".satfinite" and m == 0x7F800000:
                    m = 0x7F7FE000
                return 0 if mods == ".relu" and sign else sign << 31 | m
            f.rows(f"cvt{mode}{mods}.tf32.f32 r0, r1", [([hex(v)], [hex(tf32(v))]) for v in inputs])
    f.save()


# ---- video ----


def video_part(a, part, ty):
    width, at = {"": (32, 0), "b0": (8, 0), "b1": (8, 8), "b2": (8, 16), "b3": (8, 24), "h0": (16, 0), "h1": (16, 16)}[part]
    return wrap(a >> at, f"{ty[0]}{width}")


VIDEO = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min, "vmax": max,
         "vavrg": lambda a, b: (a + b + (1 if a + b >= 0 else 0)) >> 1}


def videos():
    f = File("video.txt", "video instructions: parts of registers, saturation, a second operation or a merge")
    words = [(0x80FF7F01, 0x017F8002, 0x11223344), (0xFFFFFFFF, 1, 0x7FFFFFFF), (0x12345678, 0x9ABCDEF0, 5)]
    sat_to = lambda v, width, ty: clamp(v, f"{ty[0]}{width}")
    types = [(d, a, b) for d in ("u32", "s32") for a in ("u32", "s32") for b in ("u32", "s32")]

    def scalar(name, suffix, dtype, a_type, b_type, fn):
        """All shapes of one operation."""
        dot = lambda part: f".{part}" if part else ""
        for sat in "", ".sat":
            if sat and name == "vset":
                continue
            head = f"{name}{suffix[0]}{sat}{suffix[1]}"
            limit = lambda v, width: sat_to(v, width, dtype) if sat else v
            for pa, pb in ("", ""), ("b1", "h1"), ("b3", "b0"), ("h0", "b2"):
                rows = [([hex(a), hex(b)], [hex(limit(fn(video_part(a, pa, a_type), video_part(b, pb, b_type)), 32) & 0xFFFFFFFF)]) for a, b, _ in words]
                f.rows(f"{head} r0, r1{dot(pa)}, r2{dot(pb)}", rows)
            for pd in "b0", "b2", "h1":
                width, at = {"b0": (8, 0), "b2": (8, 16), "h1": (16, 16)}[pd]
                mask = (1 << width) - 1 << at
                rows = [([hex(a), hex(b), hex(c)], [hex((limit(fn(video_part(a, "", a_type), video_part(b, "", b_type)), width) << at & mask) | c & ~mask & 0xFFFFFFFF)]) for a, b, c in words]
                f.rows(f"{head} r0.{pd}, r1, r2, r3", rows)
            for op2 in "add", "min", "max":
                def second(v, c):
                    v = limit(v, 32)
                    return v + c if op2 == "add" else {"min": min, "max": max}[op2](v, wrap(c, dtype))
                rows = [([hex(a), hex(b), hex(c)], [hex(second(fn(video_part(a, "b0", a_type), video_part(b, "b3", b_type)), c) & 0xFFFFFFFF)]) for a, b, c in words]
                f.rows(f"{head}.{op2} r0, r1.b0, r2.b3, r3", rows)

    for name in "vadd", "vsub", "vabsdiff", "vmin", "vmax":
        for d, a, b in types if name == "vsub" else types[::3] + types[-1:]:
            scalar(name, (f".{d}.{a}.{b}", ""), d, a, b, VIDEO[name])
    for name in "vshl", "vshr":
        for d in "u32", "s32":
            for a in "u32", "s32":
                for mode in "clamp", "wrap":
                    amount = lambda n: min(n, 32) if mode == "clamp" else n & 31
                    fn = (lambda x, n: x << amount(n)) if name == "vshl" else (lambda x, n: x >> amount(n))
                    scalar(name, (f".{d}.{a}.u32", f".{mode}"), d, a, "u32", fn)
    for a in "u32", "s32":
        for b in "u32", "s32":
            for cmp in ICMP[:6]:
                scalar("vset", (f".{a}.{b}", f".{cmp}"), "u32", a, b, lambda x, y: int(compare_ints(cmp, x, y)))
    f.heading("vmad")
    for d, a, b in types:
        # The result is signed if an operand is; the manual asks dtype to agree.
        if (d == "s32") != ("s32" in (a, b)):
            continue
        for po in "", ".po":
            for sat in "", ".sat":
                for scale, shift in ("", 0), (".shr7", 7), (".shr15", 15):
                    rows = []
                    for x, y, c in words:
                        total = video_part(x, "h0", a) * video_part(y, "b3", b) + wrap(c, d) + (po != "") >> shift
                        rows.append(([hex(x), hex(y), hex(c)], [hex((sat_to(total, 32, d) if sat else total) & 0xFFFFFFFF)]))
                    f.rows(f"vmad.{d}.{a}.{b}{po}{sat}{scale} r0, r1.h0, r2.b3, r3", rows)
    f.heading("packed: elements outside the mask come from the third operand, or are not added")
    for count in 2, 4:
        width = 32 // count
        element = lambda v, k, ty: wrap(v >> width * k, f"{ty[0]}{width}")
        masks = {2: [("", 3), (".h0", 1), (".h1", 2), (".h10", 3)], 4: [("", 15), (".b0", 1), (".b31", 10), (".b210", 7), (".b3210", 15)]}[count]
        some = [("u32", "u32", "u32"), ("s32", "s32", "s32"), ("s32", "u32", "s32"), ("u32", "s32", "u32")]
        jobs = [(f"{name}{count}.{d}.{a}.{b}", d, a, b, VIDEO[name], True) for name in VIDEO for d, a, b in some]
        jobs += [(f"vset{count}.{a}.{b}.{cmp}", "u32", a, b, lambda x, y, cmp=cmp: int(compare_ints(cmp, x, y)), False) for a in ("u32", "s32") for b in ("u32", "s32") for cmp in ICMP[:6]]
        for head, d, a, b, fn, saturates in jobs:
            for sat in ["", ".sat"] if saturates else [""]:
                for mask_text, mask in masks[:1] + masks[1:2] if sat else masks:
                    rows = []
                    for x, y, c in words:
                        out = c
                        for k in range(count):
                            if mask >> k & 1:
                                v = fn(element(x, k, a), element(y, k, b))
                                v = sat_to(v, width, d) if sat else v
                                field = (1 << width) - 1 << width * k
                                out = out & ~field | v << width * k & field
                        rows.append(([hex(x), hex(y), hex(c)], [hex(out & 0xFFFFFFFF)]))
                    f.rows(f"{head}{sat} r0{mask_text}, r1, r2, r3", rows)
            for mask_text, mask in masks[:2]:
                rows = []
                for x, y, c in words:
                    total = c + sum(fn(element(x, k, a), element(y, k, b)) for k in range(count) if mask >> k & 1)
                    rows.append(([hex(x), hex(y), hex(c)], [hex(total & 0xFFFFFFFF)]))
                f.rows(f"{head}.add r0{mask_text}, r1, r2, r3", rows)
    f.save()


# ---- memory ----

CELL = bytes([0xF0, 0xE1, 0xD2, 0xC3, 0xB4, 0xA5, 0x96, 0x87, 0x78, 0x69, 0x5A, 0x4B, 0x3C, 0x2D, 0x1E, 0x0F, 0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xA9, 0xBA, 0xCB, 0xDC, 0xED, 0xFE, 0x7F])
MEMORY_TYPES = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64".split()
LOADS = {".global": "global", ".shared": "shared", ".shared::cta": "shared", ".shared::cluster": "shared32", ".local": "local", ".const": "constant",
         ".param": "parameter_cell", ".param::entry": "parameter_cell", "": "generic_global"}


def cell(at, ty):
    size = BITS[ty] // 8
    return wrap(int.from_bytes(CELL[at:at + size], "little"), ty if ty[0] in "su" else f"u{8 * size}")


def memory():
    f = File("memory.txt", "ld, st: each thread has a cell in each space, f0 e1 d2 c3 b4 a5 96 87 78 69 5a 4b 3c 2d 1e 0f 10 21 …")
    for space, base in LOADS.items():
        f.heading(f"ld{space}")
        for ty in MEMORY_TYPES:
            bits = max(BITS[ty], 16)
            size = BITS[ty] // 8
            for at in {size, 8, 24 - size}:
                at -= at % size
                f.rows(f"ld{space}.{ty} {reg(bits, 0)}, [{base}+{at}]", [([], [hex(cell(at, ty) & ((1 << bits) - 1))])])
            # Into a register wider than the type.
            if ty[0] in "us" and bits < 64:
                f.rows(f"ld{space}.{ty} d0, [{base}+{size}]", [([], [hex(cell(size, ty) & (2**64 - 1))])])
            for count in 2, 4:
                if count * size <= 16:
                    start = 0 if count * size == 16 else count * size
                    names = ", ".join(reg(bits, k) for k in range(count))
                    f.rows(f"ld{space}.v{count}.{ty} {{{names}}}, [{base}+{start}]", [([], [hex(cell(start + k * size, ty) & ((1 << bits) - 1)) for k in range(count)])])
        f.rows(f"ld{space}.b128 q0, [{base}]", [([], [hex(int.from_bytes(CELL[:16], "little"))])])
    for base in "generic_shared", "generic_local", "constant":
        f.rows(f"ld.u32 r0, [{base}+4]", [([], ["0x8796a5b4"])])
        f.rows(f"ld.v2.u64 {{d0, d1}}, [{base}+16]", [([], [hex(cell(16, "u64")), hex(cell(24, "u64"))])])
    f.rows("ld.shared.u16 h0, [shared32+6]", [([], ["0x8796"])])
    f.rows("ld.local.s8 r0, [local32+6]", [([], ["0xffffff96"])])
    f.rows("ld.param.u64 d0, [parameter+8]", [([], [hex(cell(8, "u64"))])])
    f.heading("modifiers of loads change no value")
    for mods in (".weak.global .volatile.global .relaxed.cta.global .relaxed.gpu.global .acquire.cluster.global .acquire.sys.global .mmio.relaxed.sys.global .volatile.shared "
                 ".global.nc .global.ca .global.cg .global.cs .global.lu .global.cv .global.L1::evict_normal .global.L1::evict_unchanged "
                 ".global.L1::evict_first .global.L1::evict_last .global.L1::no_allocate .global.L2::evict_normal .global.L2::evict_first .global.L2::evict_last "
                 ".global.L2::64B .global.L2::128B .global.L2::256B .global.nc.L1::no_allocate.L2::128B").split():
        f.rows(f"ld{mods}.u32 r0, [{'shared' if 'shared' in mods else 'global'}+4]", [([], ["0x8796a5b4"])])
    f.rows("ld.global.L2::cache_hint.u32 r0, [global+4], d1", [([0], ["0x8796a5b4"])])
    f.rows("ld.param::func.u32 r0, [parameter+4]", [([], ["0x8796a5b4"])])
    f.heading("ldu")
    for ty in MEMORY_TYPES:
        bits = max(BITS[ty], 16)
        at = BITS[ty] // 8
        f.rows(f"ldu.global.{ty} {reg(bits, 0)}, [global+{at}]", [([], [hex(cell(at, ty) & ((1 << bits) - 1))])])
    f.rows("ldu.global.b128 q0, [global]", [([], [hex(int.from_bytes(CELL[:16], "little"))])])
    f.rows("ldu.global.v2.f32 {r0, r1}, [global+8]", [([], ["0x4b5a6978", "0x0f1e2d3c"])])
    f.rows("ldu.global.v4.u8 {h0, h1, h2, h3}, [global+4]", [([], ["0xb4", "0xa5", "0x96", "0x87"])])
    f.heading("stores: what is around stays as it was")
    for space, base in {".global": "global", ".shared": "shared", ".shared::cta": "shared32", ".shared::cluster": "shared", ".local": "local", "": "generic_global"}.items():
        back = {"generic_global": ""}.get(base, space.split(":")[0])
        for ty in MEMORY_TYPES:
            bits, size = max(BITS[ty], 16), BITS[ty] // 8
            for count in 1, 2, 4:
                if count * size > 16:
                    continue
                start = 0 if count * size == 16 else (8 if count * size == 8 else count * size)
                values = [(0x1122334455667788 * (k + 3) >> 3) % (1 << bits) for k in range(count)]
                after = bytearray(CELL)
                for k, v in enumerate(values):
                    after[start + k * size:start + (k + 1) * size] = (v % (1 << 8 * size)).to_bytes(size, "little")
                names = [reg(bits, k + 1) for k in range(count)]
                data, vec = (names[0], "") if count == 1 else ("{" + ", ".join(names) + "}", f".v{count}")
                address = "generic_global" if base == "generic_global" else base
                f.rows(f"st{space}{vec}.{ty} [{base}+{start}], {data}; ld{back}.b128 q0, [{address}]",
                       [([hex(v) for v in values], [hex(int.from_bytes(after[:16], "little"))])])
        f.rows(f"st{space}.b128 [{base}+16], q1; ld{back}.b128 q0, [{base}+16]", [([hex(2**127 + 12345)], [hex(2**127 + 12345)])])
    f.rows("st.global.u8 [global+1], d1; ld.global.u32 r0, [global]", [(["0x112233445566"], ["0xc3d266f0"])])
    f.rows("st.global.u32 [global], 7; ld.global.u32 r0, [global]", [([], [7])])
    f.rows("st.global.f32 [global], 0f3FC00000; ld.global.f32 r0, [global]", [([], ["1.5"])])
    f.rows("st.u32 [generic_shared+4], r1; ld.shared.u32 r0, [shared+4]", [([9], [9])])
    f.rows("st.u32 [generic_local+4], r1; ld.local.u32 r0, [local+4]", [([9], [9])])
    f.heading("modifiers of stores change no value")
    for mods in (".weak.global .volatile.global .relaxed.cta.global .relaxed.gpu.global .release.cluster.global .release.sys.global .mmio.relaxed.sys.global "
                 ".global.wb .global.cg .global.cs .global.wt .global.L1::evict_normal .global.L1::evict_unchanged .global.L1::evict_first .global.L1::evict_last "
                 ".global.L1::no_allocate .global.L2::evict_normal .global.L2::evict_first .global.L2::evict_last").split():
        f.rows(f"st{mods}.u32 [global+4], r1; ld.global.u32 r0, [global+4]", [([77], [77])])
    f.rows("st.global.L2::cache_hint.u32 [global+4], r1, d1; ld.global.u32 r0, [global+4]", [([77, 0], [77])])
    f.save()


ATOMIC_SPACES = {".global": "global", ".shared": "shared", ".shared::cta": "shared32", ".shared::cluster": "shared", "": "generic_global"}


def atomics():
    f = File("atomic.txt", "atom and red: the old value, and what is in memory afterwards")

    def emit(op, ty, pairs, after, spaces=ATOMIC_SPACES, mods="", cas=False, returns=True):
        bits = BITS[ty]
        for space, base in spaces.items():
            plain = space.split(":")[0]
            word = f"b{bits}"
            a, old, now, b, c = (reg(bits, k) for k in range(5))
            shown = (lambda v: hex(v))
            rows = [([shown(o), shown(x)] + ([shown(y)] if cas else []), [shown(o), shown(after(o, x, y))]) for o, x, y in pairs]
            third = f", {c}" if cas else ""
            if returns:
                f.rows(f"st{plain}.{word} [{base}], {a}; atom{mods}{space}.{op}.{ty} {old}, [{base}], {b}{third}; ld{plain}.{word} {now}, [{base}]", rows)
            if not cas and op != "exch":
                f.rows(f"st{plain}.{word} [{base}], {a}; red{mods}{space}.{op}.{ty} [{base}], {b}; ld{plain}.{word} {now}, [{base}]", [(i, o[1:]) for i, o in rows])

    for ty in "u32", "s32", "u64", "s64":
        bits = BITS[ty]
        top = (1 << bits) - 1
        pairs = [(5, 7, 0), (top, 1, 0), (1 << bits - 1, 3, 0), (3, top, 0)]
        emit("add", ty, pairs, lambda o, x, _: o + x & top)
        for op, fn in ("min", min), ("max", max):
            emit(op, ty, pairs, lambda o, x, _: fn(wrap(o, ty), wrap(x, ty)) & top)
    for ty in "b32", "b64", "u32", "u64", "s32", "s64":
        bits = BITS[ty]
        a, b = 0xF0F0A5A512345678 % (1 << bits), 0x0FF05A5A87654321 % (1 << bits)
        for op, fn in BOOL.items():
            emit(op, ty, [(a, b, 0)], lambda o, x, _: fn(o, x))
    emit("inc", "u32", [(4, 7, 0), (7, 7, 0), (9, 7, 0), (0, 0, 0)], lambda o, x, _: 0 if o >= x else o + 1)
    emit("dec", "u32", [(4, 7, 0), (0, 7, 0), (9, 7, 0), (7, 7, 0)], lambda o, x, _: x if o == 0 or o > x else o - 1)
    for ty in "b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64":
        bits = BITS[ty]
        emit("exch", ty, [(0x1122334455667788 % (1 << bits), 0x99AABBCCDDEEFF00 % (1 << bits), 0)], lambda o, x, _: x)
    for ty in "b16", "b32", "b64", "u32", "u64", "s32", "s64":
        bits = BITS[ty]
        v = 0x1122334455667788 % (1 << bits)
        emit("cas", ty, [(v, v, 5), (v, v ^ 1, 5), (0, 0, v)], lambda o, x, y: y if o == x else o, cas=True)
    for ty in "f32", "f64":
        normal = [p for p in samples(ty, 2) if flush(p[0], ty, True) == p[0] and flush(compute("add", ty, p), ty, True) == compute("add", ty, p) and flush(p[1], ty, True) == p[1]]
        emit("add", ty, [(a, b, 0) for a, b in normal], lambda o, x, _: compute("add", ty, (o, x)))
    for ty in "f16", "bf16":
        emit("add.noftz", ty, [(a, b, 0) for a, b in samples(ty, 2)], lambda o, x, _: compute("add", ty, (o, x)))
        both = lambda o, x: compute("add", ty, (o & 0xFFFF, x & 0xFFFF)) | compute("add", ty, (o >> 16, x >> 16)) << 16
        rows = samples(ty, 2)
        emit("add.noftz", f"{ty}x2", [(p[0] | q[0] << 16, p[1] | q[1] << 16, 0) for p, q in zip(rows, rows[4:])], lambda o, x, _: both(o, x))
    f.heading("order and scope change no value")
    one = {".global": "global"}
    simple = {"add.u32": ("add", "u32", lambda o, x, y: o + x), "inc.u32": ("inc", "u32", lambda o, x, y: 0 if o >= x else o + 1), "dec.u32": ("dec", "u32", lambda o, x, y: x if o == 0 or o > x else o - 1),
              "min.u32": ("min", "u32", lambda o, x, y: min(o, x)), "and.b32": ("and", "b32", lambda o, x, y: o & x)}
    atom_only = {"exch.b32": ("exch", "b32", lambda o, x, y: x), "cas.b32": ("cas", "b32", lambda o, x, y: y if o == x else o)}
    for mods in ".relaxed.cta", ".acquire.gpu", ".release.sys", ".acq_rel.cluster":
        for op, ty, fn in list(simple.values()) + list(atom_only.values()):
            if ".release" in mods or ".relaxed" in mods or op in ("exch", "cas"):
                emit(op, ty, [(12, 10, 3)], fn, one, mods, cas=op == "cas")
            else:
                bits, base = 32, "global"
                f.rows(f"st.global.b32 [global], r0; atom{mods}.global.{op}.{ty} r1, [global], r3; ld.global.b32 r2, [global]", [([12, 10], [12, fn(12, 10, 3)])])
        half = compute("add", "f16", (0x3C00, 0x4000))
        f.rows(f"st.global.b16 [global], h0; atom{mods}.global.add.noftz.f16 h1, [global], h3; ld.global.b16 h2, [global]", [(["1.0", "2.0"], ["1.0", show(half, "f16")])])
    for scope, sem in ("cta", "relaxed"), ("gpu", "release"), ("sys", "relaxed"), ("cluster", "release"):
        for op, ty, fn in simple.values():
            f.rows(f"st.global.b32 [global], r0; red.{sem}.{scope}.global.{op}.{ty} [global], r3; ld.global.b32 r2, [global]", [([12, 10], [fn(12, 10, 3)])])
        f.rows(f"st.global.b16 [global], h0; red.{sem}.{scope}.global.add.noftz.f16 [global], h3; ld.global.b16 h2, [global]", [(["1.0", "2.0"], ["3.0"])])
    f.heading("cache hints change no value")
    for op, ty, fn in list(simple.values()) + list(atom_only.values()):
        third, more = (", r4", [3]) if op == "cas" else ("", [])
        f.rows(f"st.global.b32 [global], r0; atom.global.{op}.L2::cache_hint.{ty} r1, [global], r3{third}, d9; ld.global.b32 r2, [global]", [([12, 10] + more + [0], [12, fn(12, 10, 3)])])
        if op not in ("cas", "exch"):
            f.rows(f"st.global.b32 [global], r0; red.global.{op}.L2::cache_hint.{ty} [global], r3, d9; ld.global.b32 r2, [global]", [([12, 10, 0], [fn(12, 10, 3)])])
    f.rows("st.global.b16 [global], h0; atom.global.add.noftz.L2::cache_hint.f16 h1, [global], h3, d9; ld.global.b16 h2, [global]", [(["1.0", "2.0", 0], ["1.0", "3.0"])])
    f.rows("st.global.b16 [global], h0; red.global.add.noftz.L2::cache_hint.f16 [global], h3, d9; ld.global.b16 h2, [global]", [(["1.0", "2.0", 0], ["3.0"])])
    f.save()


# ---- approximations ----


def approximations():
    """True values from the mathematical library, with the error that the manual allows."""
    import math
    f = File("approx.txt", "approximate functions: value ~ error that the PTX ISA manual allows; exact where it says so")
    single = lambda x: float(Fraction(*x.as_integer_ratio())) if isinstance(x, float) else x
    f32 = lambda x: float(signed(decode(from_number(x, "f32"), "f32")))
    text = lambda x: repr(x) if "e" not in repr(x) else f"{x:.60f}"

    def table(instruction, arity, fn, inputs, error, special):
        rows = []
        for args in inputs:
            values = [f32(a) for a in args]
            true = fn(*values)
            rows.append(([text(v) for v in values], [f"{text(true)}~{error(true):.3g}"]))
        f.rows(instruction, rows + special)

    relative = lambda bits: lambda true: abs(true) * 2.0 ** -bits
    absolute = lambda bits: lambda true: 2.0 ** -bits
    pairs = [(1.0, 3.0), (-7.5, 0.3), (1e10, 7.0), (2.0, -0.7)]
    for ftz in "", ".ftz":
        # A subnormal, flushed or not.
        tiny = "0x00400000"
        for kind in "approx", "full":
            special = [(["1.0", "inf"], ["0.0"]), (["-1.0", "0.0"], ["-inf"]), (["nan", "1.0"], ["nan"]), (["0.0", "0.0"], ["nan"])]
            if ftz:
                special += [([tiny, "1.0"], ["0.0"])]
            table(f"div.{kind}{ftz}.f32 r0, r1, r2", 2, lambda a, b: a / b, pairs, relative(22), special)
        ones = [(x,) for x in (1.0, 3.0, -0.7, 1234.5, 1e-5)]
        table(f"rcp.approx{ftz}.f32 r0, r1", 1, lambda a: 1 / a, ones, relative(23), [(["0.0"], ["inf"]), (["-0.0"], ["-inf"]), (["-inf"], ["-0.0"]), (["nan"], ["nan"])] + ([([tiny], ["inf"])] if ftz else []))
        roots = [(x,) for x in (1.0, 2.0, 0.3, 1234.5, 1e-5)]
        table(f"sqrt.approx{ftz}.f32 r0, r1", 1, math.sqrt, roots, relative(22), [(["0.0"], ["0.0"]), (["-0.0"], ["-0.0"]), (["inf"], ["inf"]), (["-1.0"], ["nan"])] + ([([tiny], ["0.0"])] if ftz else []))
        table(f"rsqrt.approx{ftz}.f32 r0, r1", 1, lambda a: 1 / math.sqrt(a), roots, relative(22), [(["0.0"], ["inf"]), (["-0.0"], ["-inf"]), (["inf"], ["0.0"]), (["-1.0"], ["nan"])] + ([([tiny], ["inf"])] if ftz else []))
        table(f"rsqrt.approx{ftz}.f64 d0, d1", 1, lambda a: 1 / math.sqrt(a), [(1.0,), (2.0,), (1234.5,)], relative(20), [(["0.0"], ["inf"]), (["inf"], ["0.0"])])
        angles = [(x,) for x in (0.5, -1.0, 2.0, 3.0, -3.1)]
        table(f"sin.approx{ftz}.f32 r0, r1", 1, math.sin, angles, absolute(20.5), [(["0.0"], ["0.0"]), (["-0.0"], ["-0.0"]), (["inf"], ["nan"]), (["nan"], ["nan"])])
        table(f"cos.approx{ftz}.f32 r0, r1", 1, math.cos, angles, absolute(20.5), [(["0.0"], ["1.0"]), (["-inf"], ["nan"])])
        table(f"lg2.approx{ftz}.f32 r0, r1", 1, math.log2, [(x,) for x in (3.0, 0.7, 1e10, 1e-5, 1.1)], lambda t: max(abs(t), 1) * 2.0 ** -22, [(["1.0"], ["0.0"]), (["0.0"], ["-inf"]), (["inf"], ["inf"]), (["-1.0"], ["nan"])] + ([([tiny], ["-inf"])] if ftz else [([tiny], ["-127.0~0.0001"])]))
        table(f"ex2.approx{ftz}.f32 r0, r1", 1, lambda a: 2.0 ** a, [(x,) for x in (0.5, -1.3, 10.7, 100.1, -20.9)], relative(22), [(["0.0"], ["1.0"]), (["inf"], ["inf"]), (["-inf"], ["0.0"]), (["200.0"], ["inf"]), (["nan"], ["nan"])] + ([(["-127.5"], ["0.0"])] if ftz else []))
    f.rows("rcp.approx.ftz.f64 d0, d1", [(["2.0"], ["0.5~1e-6"]), (["3.0"], ["0.33333333333~3e-7"]), (["0.0"], ["inf"]), (["-inf"], ["-0.0"])])
    table("tanh.approx.f32 r0, r1", 1, math.tanh, [(x,) for x in (0.5, -1.0, 3.0, 0.01)], relative(11), [(["0.0"], ["0.0"]), (["inf"], ["1.0"]), (["-inf"], ["-1.0"]), (["nan"], ["nan"])])
    # Halves: the error of the function and half a unit of the result.
    for ty, ex2_bits, tanh_bits in ("f16", 9.9, 10.5), ("bf16", 7, 7):
        values = [0.5, -1.25, 3.0, 0.0]
        for mod in "", ".ftz":
            rows = [([text(v)], [f"{2.0 ** v!r}~{2.0 ** v * 2.0 ** -ex2_bits:.3g}"]) for v in values]
            f.rows(f"ex2.approx{mod}.{ty} h0, h1", rows + [(["inf"], ["inf"]), (["-inf"], ["0.0"]), (["nan"], ["nan"])])
            f.rows(f"ex2.approx{mod}.{ty}x2 r0, r1", [([f"{{{text(a)}, {text(b)}}}"], [f"{{{2.0 ** a!r}~{2.0 ** a * 2.0 ** -ex2_bits:.3g}, {2.0 ** b!r}~{2.0 ** b * 2.0 ** -ex2_bits:.3g}}}"]) for a, b in zip(values, values[1:])])
        tolerance = 2.0 ** -tanh_bits
        f.rows(f"tanh.approx.{ty} h0, h1", [([text(v)], [f"{math.tanh(v)!r}~{tolerance:.3g}"]) for v in values] + [(["-inf"], ["-1.0"])])
        f.rows(f"tanh.approx.{ty}x2 r0, r1", [([f"{{{text(a)}, {text(b)}}}"], [f"{{{math.tanh(a)!r}~{tolerance:.3g}, {math.tanh(b)!r}~{tolerance:.3g}}}"]) for a, b in zip(values, values[1:])])
    f.save()


if __name__ == "__main__":
    for write in approximations, floats, order, halves, integers, carries, bits_file, comparisons, conversions, videos, memory, atomics:
        write()
