"""Writes the vectors of matrix products: wmma, mma, ldmatrix, stmatrix, movmatrix.

As reference.py, an implementation of its own from the PTX ISA manual (9.7.14), in exact numbers. The layout of `wmma`
fragments is the emulator's own choice (the manual leaves it open): that of `mma.sync`, repeated where there are more registers.
Matrices hold small numbers, so that sums are exact in whatever order they are formed; `tests/matrix.rs` is about rounding.
"""

import random
from fractions import Fraction
from reference import File, decode, encode, exact, signed

CELL = bytes([0xF0, 0xE1, 0xD2, 0xC3, 0xB4, 0xA5, 0x96, 0x87, 0x78, 0x69, 0x5A, 0x4B, 0x3C, 0x2D, 0x1E, 0x0F,
              0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xA9, 0xBA, 0xCB, 0xDC, 0xED, 0xFE, 0x7F])
CELLS = CELL * 32
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32}
FLOATS = {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2"}


def dims(shape):
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def extent(part, shape):
    m, n, k = dims(shape)
    return {"a": (m, k), "b": (k, n), "c": (m, n)}[part]


def place(part, shape, ty, lane, i):
    """Row and column of element i of a lane (PTX ISA, figures of 9.7.14.5)."""
    g, t = lane >> 2, lane & 3
    rows, columns = extent(part, shape)
    i %= rows * columns // 32
    if part == "c":
        pair, low = divmod(i, 2)
        return g + 8 * (pair % (rows // 8)), 8 * (pair // (rows // 8)) + 2 * t + low
    per = max(1, 32 // BITS[ty])
    register, low = divmod(i, per)
    if part == "a":
        return g + 8 * (register % (rows // 8)), t * per + low + 4 * per * (register // (rows // 8))
    steps = rows // (4 * per)
    return t * per + low + 4 * per * (register % steps), g + 8 * (register // steps)


def volta_place(part, layout, ty, lane, i):
    """The same for mma.m8n8k4 of f16 (9.7.14.5.1), with the number of the matrix first."""
    quad, low, high = lane % 16 // 4, lane % 4, 4 if lane >= 16 else 0
    if part == "a":
        return (quad, low + high, i) if layout == "row" else (quad, i % 4 + high, low)
    if part == "b":
        return (quad, low, i + high) if layout == "row" else (quad, i, low + high)
    if ty == "f16":
        return quad, low + high, i
    return quad, (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)


def encoded(value, ty):
    """The bits of a number."""
    if ty in ("e4m3", "e5m2"):
        fraction, bias = (3, 7) if ty == "e4m3" else (2, 15)
        if value == 0:
            return 0
        e = 0
        while abs(value) >= 2 ** (e + 1):
            e += 1
        return (128 if value < 0 else 0) | (e + bias) << fraction | int((Fraction(abs(value)) / 2**e - 1) * 2**fraction)
    if ty in FLOATS:
        return encode(exact(Fraction(value), 0), "f32" if ty == "tf32" else ty)
    return value & ((1 << BITS[ty]) - 1)


def random_matrix(rng, extent, ty):
    low, high = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7), "u4": (0, 15), "b1": (0, 1), "s32": (-999, 999)}.get(ty, (-3, 3))
    return [[rng.randint(low, high) for _ in range(extent[1])] for _ in range(extent[0])]


def registers(count, ty, element):
    """Each register's values in 32 lanes; `element(lane, i)` gives numbers."""
    per = max(1, 32 // BITS[ty])
    out = []
    for register in range(count):
        lanes = []
        for lane in range(32):
            bits = 0
            for j in range(per):
                bits |= encoded(element(lane, register * per + j), ty) << (j * BITS[ty])
            lanes.append(hex(bits))
        out.append("[" + " ".join(lanes) + "]")
    return out


def multiply(a, b, c, combine=lambda x, y: x * y):
    inner = range(len(b))
    return [[c[r][q] + sum(combine(a[r][k], b[k][q]) for k in inner) for q in range(len(b[0]))] for r in range(len(a))]


def names(letter, first, count):
    return "{" + ", ".join(f"{letter}{first + n}" for n in range(count)) + "}"


def operands(counts, letter="r"):
    out, first = [], 0
    for count in counts:
        out.append(names(letter, first, count))
        first += count
    return ", ".join(out)


def product(f, spelling, shape, types, counts, seed, combine=lambda x, y: x * y):
    """A row of random matrices in the layout of mma.sync."""
    rng = random.Random(seed)
    td, ta, tb, tc = types
    a, b, c = (random_matrix(rng, extent(p, shape), t) for p, t in (("a", ta), ("b", tb), ("c", tc)))
    d = multiply(a, b, c, combine)
    at = lambda matrix, part, ty: lambda lane, i: (lambda rc: matrix[rc[0]][rc[1]])(place(part, shape, ty, lane, i))
    inputs = registers(counts[1], ta, at(a, "a", ta)) + registers(counts[2], tb, at(b, "b", tb)) + registers(counts[3], tc, at(c, "c", tc))
    f.rows(f"{spelling} {operands(counts, 'd' if td == 'f64' else 'r')}", [(inputs, registers(counts[0], td, at(d, "c", td)))])


def uniform(f, spelling, types, counts, values, result):
    """A row of matrices that are the same number everywhere."""
    def show(value, ty):
        bits = value if isinstance(value, str) else encoded(value, ty)
        if isinstance(bits, str):
            return bits
        width = BITS[ty]
        return hex(sum(bits << (j * width) for j in range(max(1, 32 // width))))
    td, ta, tb, tc = types
    inputs = [show(v, t) for v, t, n in zip(values, (ta, tb, tc), counts[1:]) for _ in range(n)]
    f.rows(f"{spelling} {operands(counts, 'd' if td == 'f64' else 'r')}", [(inputs, [show(result, td)] * counts[0])])


def count(part, shape, ty, op="mma"):
    """Registers of a fragment; those of f16 operands of wmma are always eight."""
    if op == "wmma" and ty == "f16" and part != "c":
        return 8
    rows, columns = extent(part, shape)
    return max(1, rows * columns * min(BITS[ty], 32) // 32 // 32)


def counts_of(shape, types, op):
    return [count(part, shape, ty, op) for part, ty in zip("cabc", types)]


BIG = ["m16n16k16", "m32n8k16", "m8n32k16"]
BITOPS = {"xor": lambda x, y: x ^ y, "and": lambda x, y: x & y}


def wmma_products(f):
    f.heading("wmma.mma")
    def both(shape, td, types, name=None, sat=False, mods=""):
        counts = counts_of(shape, types, "wmma")
        spell = lambda layouts, end="": f"wmma.mma.sync.aligned.{layouts}.{shape}{mods}.{name or '.'.join(types)}{end}"
        product(f, spell("row.col"), shape, types, counts, shape + td)
        k = dims(shape)[2]
        uniform(f, spell("col.row"), types, counts, (2, 1, 3), 2 * k + 3)
        return spell, counts
    for shape in BIG:
        for td in "f16", "f32":
            for tc in "f16", "f32":
                types = (td, "f16", "f16", tc)
                spell, counts = both(shape, td, types, name=f"{td}.{tc}")
                huge = "0x7bff7bff"
                total = Fraction(0)
                for _ in range(16):
                    total = signed(decode(encode(exact(Fraction(65504) ** 2 + total, 0), "f32"), "f32"))
                top = {"f16": "0x7bff7bff", "f32": total}[td]
                uniform(f, spell("row.col", ".satfinite"), types, counts, (huge, huge, 0), top)
        for ta, tb in ("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8"):
            types = ("s32", ta, tb, "s32")
            spell, counts = both(shape, ta + tb, types)
            uniform(f, spell("row.col", ".satfinite"), types, counts, (100, 100, 0x7FFFFFFF), 0x7FFFFFFF)
            uniform(f, spell("row.col"), types, counts, (100, 100, 0x7FFFFFFF), 0x7FFFFFFF + 160000 - (1 << 32))
        both(shape, "f32", ("f32", "bf16", "bf16", "f32"))
    both("m16n16k8", "f32", ("f32", "tf32", "tf32", "f32"))
    both("m8n8k4", "f64", ("f64",) * 4)
    doubles(f, "wmma.mma.sync.aligned.row.col.m8n8k4{}.f64.f64.f64.f64", (2, 1, 1, 2), 4)
    for ta, tb in ("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4"):
        types = ("s32", ta, tb, "s32")
        spelling = f"wmma.mma.sync.aligned.row.col.m8n8k32.{'.'.join(types)}"
        product(f, spelling, "m8n8k32", types, (2, 1, 1, 2), ta + tb)
        uniform(f, spelling + ".satfinite", types, (2, 1, 1, 2), (7, 7, 0x7FFFFFFF), 0x7FFFFFFF)
    for name, combine in BITOPS.items():
        product(f, f"wmma.mma.{name}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "m8n8k128", ("s32", "b1", "b1", "s32"), (2, 1, 1, 2), name, combine)


def doubles(f, spelling, counts, k):
    """Sums that need rounding, in every direction, k ascending."""
    a, b, c = Fraction(1) + Fraction(2) ** -52, Fraction(1, 3), Fraction(2) ** -60
    b = Fraction(float(b))
    for mode in "rn", "rz", "rm", "rp":
        total = c
        for _ in range(k):
            total = signed(decode(encode(exact(a * b + total, 0), "f64", mode), "f64"))
        uniform(f, spelling.format("." + mode), ("f64",) * 4, counts, (a, b, c), total)


def mma_products(f):
    f.heading("mma")
    for td, tc in ("f16", "f16"), ("f32", "f16"), ("f32", "f32"):
        for la in "row", "col":
            for lb in "row", "col":
                rng = random.Random(td + tc + la + lb)
                types = (td, "f16", "f16", tc)
                a, b, c = ([random_matrix(rng, e, t) for _ in range(4)] for e, t in (((8, 4), "f16"), ((4, 8), "f16"), ((8, 8), tc)))
                d = [multiply(*m) for m in zip(a, b, c)]
                at = lambda m, part, layout, ty: lambda lane, i: (lambda q, r, s: m[q][r][s])(*volta_place(part, layout, ty, lane, i))
                counts = [{"f16": 4, "f32": 8}[td], 2, 2, {"f16": 4, "f32": 8}[tc]]
                inputs = registers(2, "f16", at(a, "a", la, "f16")) + registers(2, "f16", at(b, "b", lb, "f16")) + registers(counts[3], tc, at(c, "c", "row", tc))
                f.rows(f"mma.sync.aligned.m8n8k4.{la}.{lb}.{td}.f16.f16.{tc} {operands(counts)}", [(inputs, registers(counts[0], td, at(d, "c", "row", td)))])
    def one(shape, types, mods="", seed=""):
        product(f, f"mma.sync.aligned.{shape}.row.col{mods}.{'.'.join(types)}", shape, types, counts_of(shape, types, "mma"), shape + "".join(types) + seed)
    for shape in "m16n8k8", "m16n8k16":
        one(shape, ("f16",) * 4)
        one(shape, ("f32", "f16", "f16", "f32"))
        one(shape, ("f32", "bf16", "bf16", "f32"))
    for shape in "m16n8k4", "m16n8k8":
        one(shape, ("f32", "tf32", "tf32", "f32"))
    for shape in "m16n8k16", "m16n8k32":
        for sums in "f16", "f32":
            for ta, tb in ("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"):
                one(shape, (sums, ta, tb, sums))
    for shape in "m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16":
        one(shape, ("f64",) * 4)
        doubles(f, f"mma.sync.aligned.{shape}.row.col{{}}.f64.f64.f64.f64", counts_of(shape, ("f64",) * 4, "mma"), dims(shape)[2])
    for kinds, shapes in ((("s8", "u8"), ("m8n8k16", "m16n8k16", "m16n8k32")), (("s4", "u4"), ("m8n8k32", "m16n8k32", "m16n8k64"))):
        for shape in shapes:
            for ta in kinds:
                for tb in kinds:
                    types = ("s32", ta, tb, "s32")
                    one(shape, types)
                    uniform(f, f"mma.sync.aligned.{shape}.row.col.satfinite.{'.'.join(types)}", types, counts_of(shape, types, "mma"), (7, 7, 0x7FFFFFFF), 0x7FFFFFFF)
    for shape in "m8n8k128", "m16n8k128", "m16n8k256":
        for name, combine in BITOPS.items():
            types = ("s32", "b1", "b1", "s32")
            product(f, f"mma.{name}.popc.sync.aligned.{shape}.row.col.s32.b1.b1.s32", shape, types, counts_of(shape, types, "mma"), name + shape, combine)


def loads(f):
    f.heading("wmma.load: the cells of 32 lanes are 1024 bytes; all read where lane 0 points")
    def load(part, shape, ty, layout, space, address, stride):
        rows, columns = extent(part, shape)
        n = count(part, shape, ty, "wmma")
        bits = BITS[ty]
        pitch = (stride or (columns if layout == "row" else rows)) * bits
        def register(lane, r):
            value, per = 0, max(1, 32 // bits)
            for j in range(per):
                row, column = place(part, shape, ty, lane, r * per + j)
                line, along = (row, column) if layout == "row" else (column, row)
                at = line * pitch + along * bits
                word = int.from_bytes(CELLS[at // 8: at // 8 + 8], "little") >> (at % 8)
                value |= (word & ((1 << bits) - 1)) << (j * bits)
            return hex(value)
        letter = "d" if bits == 64 else "r"
        spelling = f"wmma.load.{part}.sync.aligned.{layout}.{shape}{space}.{ty} {names(letter, 0, n)}, [{address}]"
        f.rows(spelling + (f", {stride}" if stride else ""), [([], ["[" + " ".join(register(lane, r) for lane in range(32)) + "]" for r in range(n)])])

    def forms(part, shape, ty, layouts=("row", "col")):
        # 28 or 24 bytes from one row to the next: every row begins elsewhere in its cell.
        stride = (24 if BITS[ty] == 64 else 28) * 8 // BITS[ty]
        for layout, space, address in zip(layouts, (".shared", ".global"), ("shared32", "global")):
            load(part, shape, ty, layout, space, address, stride)
        if ty not in ("u8", "u4"):
            load(part, shape, ty, layouts[0], ".shared::cta", "shared", None)
            load(part, shape, ty, layouts[-1], "", "generic_shared", stride)
        if len(layouts) == 1:
            load(part, shape, ty, layouts[0], ".global", "global", stride)

    for shape in BIG:
        for part in "ab":
            for ty in "f16", "s8", "u8", "bf16":
                forms(part, shape, ty)
        for ty in "f16", "f32", "s32":
            forms("c", shape, ty)
    for part, ty in ("a", "tf32"), ("b", "tf32"), ("c", "f32"):
        forms(part, "m16n16k8", ty)
    for part in "abc":
        forms(part, "m8n8k4", "f64")
    for part, layout in ("a", "row"), ("b", "col"):
        for ty in "s4", "u4":
            forms(part, "m8n8k32", ty, (layout,))
        forms(part, "m8n8k128", "b1", (layout,))
    forms("c", "m8n8k32", "s32")
    forms("c", "m8n8k128", "s32")


def stores(f):
    f.heading("wmma.store")
    def store(shape, ty, layout, space, address, read, stride):
        rng = random.Random(shape + ty + layout)
        rows, columns = extent("c", shape)
        n, size = count("c", shape, ty), BITS[ty] // 8
        matrix = random_matrix(rng, (rows, columns), ty)
        memory = bytearray(CELLS)
        pitch = stride or (columns if layout == "row" else rows)
        for r in range(rows):
            for c in range(columns):
                at = (r * pitch + c if layout == "row" else c * pitch + r) * size
                memory[at: at + size] = encoded(matrix[r][c], ty).to_bytes(size, "little")
        letter = "d" if ty == "f64" else "r"
        inputs = registers(n, ty, lambda lane, i: matrix[place("c", shape, ty, lane, i)[0]][place("c", shape, ty, lane, i)[1]])
        halves = [[hex(int.from_bytes(memory[32 * lane + 16 * h: 32 * lane + 16 * h + 16], "little")) for lane in range(32)] for h in (0, 1)]
        spelling = f"wmma.store.d.sync.aligned.{layout}.{shape}{space}.{ty} [{address}], {names(letter, 0, n)}" + (f", {stride}" if stride else "")
        f.rows(f"{spelling}; ld.{read}.b128 q0, [{read}]; ld.{read}.b128 q1, [{read}+16]", [(inputs, ["[" + " ".join(h) + "]" for h in halves])])

    for shape, ty in [(s, t) for s in BIG for t in ("f16", "f32", "s32")] + [("m16n16k8", "f32"), ("m8n8k4", "f64"), ("m8n8k32", "s32"), ("m8n8k128", "s32")]:
        rows, columns = extent("c", shape)
        room = rows * columns * BITS[ty] // 8 <= 512
        for layout, space, address, read in ("row", ".shared", "shared32", "shared"), ("col", ".global", "global", "global"), ("row", ".shared::cta", "shared", "shared"), ("col", "", "generic_global", "global"):
            run = columns if layout == "row" else rows
            store(shape, ty, layout, space, address, read, run + 16 // (BITS[ty] // 8) if room and rows * (columns + 8) <= 512 and run < 32 and space not in ("", ".shared::cta") else None)


def rows_of_halves(f):
    f.heading("ldmatrix, stmatrix: lanes 8k to 8k+7 point at the rows of matrix k; movmatrix")
    where = [((lane * 7 // 4 + lane // 3) % 2) * 16 + (lane * 5 % 32) * 32 for lane in range(32)]
    shown = "[" + " ".join(str(w) for w in where) + "]"
    held = lambda m, lane, trans: (lambda r, c: m[c][r] | m[c + 1][r] << 16 if trans else m[r][c] | m[r][c + 1] << 16)(lane >> 2, 2 * (lane & 3))
    for n in 1, 2, 4:
        for trans in "", ".trans":
            for space, base in (".shared", "shared32"), (".shared::cta", "shared"), ("", "generic_shared"):
                matrices = [[[int.from_bytes(CELLS[where[8 * k + r] + 2 * c:][:2], "little") for c in range(8)] for r in range(8)] for k in range(n)]
                results = ["[" + " ".join(hex(held(m, lane, trans)) for lane in range(32)) + "]" for m in matrices]
                wide = base != "shared32"
                address = "d9" if wide else "r9"
                # Lane 0's cell is where offsets begin.
                begin = "shfl.sync.idx.b32 r8, shared32, 0, 31, -1; " + {"shared32": "add.u32 r9, r8, r7", "shared": "cvt.u64.u32 d8, r8; add.u64 d9, d8, d7",
                         "generic_shared": "cvt.u64.u32 d8, r8; cvta.shared.u64 d8, d8; add.u64 d9, d8, d7"}[base]
                written = ["_"] * (3 if wide else 2)
                f.rows(f"{begin}; ldmatrix.sync.aligned.m8n8.x{n}{trans}{space}.b16 {names('r', 0, n)}, [{address}]", [([shown], written + results)])
                rng = random.Random(f"{n}{trans}{space}")
                matrices = [[[rng.randrange(65536) for _ in range(8)] for _ in range(8)] for _ in range(n)]
                memory = bytearray(CELLS)
                for k, m in enumerate(matrices):
                    for r in range(8):
                        memory[where[8 * k + r]: where[8 * k + r] + 16] = b"".join(v.to_bytes(2, "little") for v in m[r])
                inputs = ["[" + " ".join(hex(held(m, lane, trans)) for lane in range(32)) + "]" for m in matrices]
                halves = ["[" + " ".join(hex(int.from_bytes(memory[32 * lane + 16 * h:][:16], "little")) for lane in range(32)) + "]" for h in (0, 1)]
                f.rows(f"{begin}; stmatrix.sync.aligned.m8n8.x{n}{trans}{space}.b16 [{address}], {names('r', 0, n)}; ld.shared.b128 q0, [shared]; ld.shared.b128 q1, [shared+16]", [([shown] + inputs, written + halves)])
    rng = random.Random("movmatrix")
    m = [[rng.randrange(65536) for _ in range(8)] for _ in range(8)]
    lanes = lambda trans: "[" + " ".join(hex(held(m, lane, trans)) for lane in range(32)) + "]"
    f.rows("movmatrix.sync.aligned.m8n8.trans.b16 r0, r1", [([lanes(False)], [lanes(True)])])


file = File("matrix.txt", "matrices in the registers of a warp: brackets hold the values of 32 lanes")
for write in wmma_products, mma_products, loads, stores, rows_of_halves:
    write(file)
file.lines[1] = "# Written by matrices.py."
file.save()
