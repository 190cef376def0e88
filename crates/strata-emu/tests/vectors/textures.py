"""Writes the vectors of textures and surfaces: tex, tld4, txq, suld, sust, suq.

As reference.py, an implementation of its own, from the CUDA C++ Programming Guide ("Texture Fetching") and the PTX ISA manual, in
fractions. The objects are those of `tests/instructions/objects.rs`.
"""

from fractions import Fraction
from math import floor
from reference import File, encode, exact

BASE = 0x0400_0000_0000
NORMAL = lambda v: [Fraction(v), 0, 0, 1]
BYTES = lambda v: [Fraction(v * 4 + c, 255) for c in range(4)]
SNORM = lambda v: [max(Fraction((v * 8 + 128) % 256 - 128, 127), Fraction(-1)), 0, 0, 1]
#            texel, linear, normalised, address mode, border, result type
TEXTURES = [(NORMAL, False, False, "clamp", None, "f32"), (NORMAL, True, False, "clamp", None, "f32"),
            (NORMAL, False, True, "wrap", None, "f32"), (NORMAL, True, True, "mirror", None, "f32"),
            (NORMAL, True, False, "border", [-1] * 4, "f32"), (lambda v: [-v, v, 0, 1], False, False, "clamp", None, "s32"),
            (BYTES, True, True, "wrap", None, "f32"), (lambda v: [Fraction(v), Fraction(-v), Fraction(v, 2), 0], False, False, "clamp", None, "f32"),
            (lambda v: [v, 0, 0, 1], False, False, "border", [9] * 4, "u32"), (SNORM, False, False, "clamp", None, "f32")]
EXTENT = (4, 4, 2)


def index(i, n, mode):
    if mode == "clamp":
        return min(max(i, 0), n - 1)
    if mode == "wrap":
        return i % n
    if mode == "mirror":
        i %= 2 * n
        return i if i < n else 2 * n - 1 - i
    return i if 0 <= i < n else None


def fetch(texture, at):
    """The texel at three indices."""
    texel, _, _, mode, border, _ = TEXTURES[texture]
    if None in at:
        return border
    return texel(1 + at[0] + 4 * at[1] + 16 * at[2])


def corners(texture, coordinates, layer, integer=False):
    """Indices and weights of the texels that are read."""
    _, linear, normalised, mode, _, _ = TEXTURES[texture]
    axes = []
    for axis, c in enumerate(coordinates):
        n = EXTENT[axis]
        outside = mode if not integer or mode in ("clamp", "border") else "clamp"
        if integer or not linear:
            i = c if integer else floor(c * n if normalised else c)
            axes.append([(index(i, n, outside), Fraction(1))])
        else:
            b = (c * n if normalised else c) - Fraction(1, 2)
            weight = Fraction(round((b - floor(b)) * 256), 256)
            axes.append([(index(floor(b), n, mode), 1 - weight), (index(floor(b) + 1, n, mode), weight)])
    while len(axes) < 2:
        axes.append([(0, Fraction(1))])
    if len(axes) < 3:
        axes.append([(min(layer or 0, EXTENT[2] - 1), Fraction(1))])
    return [((x, y, z), a * b * c) for z, c in axes[2] for y, b in axes[1] for x, a in axes[0]]


def sample(texture, coordinates, layer=None, integer=False):
    total = [Fraction(0)] * 4
    for at, weight in corners(texture, coordinates, layer, integer):
        total = [t + weight * v for t, v in zip(total, fetch(texture, at))]
    return total


def bits(value, ty):
    return hex(encode(exact(Fraction(value), 0), "f32")) if ty == "f32" else hex(int(value) & 0xFFFFFFFF)


def shown(value, ty):
    """Sums of unequal fractions are formed in f32: allow for its roundings."""
    exactly = ty != "f32" or Fraction(value).denominator & (Fraction(value).denominator - 1) == 0
    return bits(value, ty) if exactly else f"{float(value)!r}~1e-6"


GEOMETRY = {"1d": (1, False), "2d": (2, False), "3d": (3, False), "a1d": (1, True), "a2d": (2, True)}


def read(f, spelling, texture, geometry, dtype, ctype, points, lod=None):
    axes, layered = GEOMETRY[geometry]
    count = {1: 1, 2: 2, 3: 4}[axes + layered]
    registers = ", ".join(f"r{4 + k}" for k in range(count))
    rows = []
    for point in points:
        layer, coordinates = (point[0], point[1:]) if layered else (None, point)
        coordinates = [c if ctype == "s32" else Fraction(c) for c in coordinates]
        result = sample(texture, coordinates, layer, ctype == "s32")
        inputs = [str(layer)] if layered else []
        inputs += [str(c) if ctype == "s32" else bits(c, "f32") for c in coordinates]
        inputs += ["77"] * (count - axes - layered)
        if lod:
            inputs.append(lod)
        kind = TEXTURES[texture][5]
        rows.append(([hex(BASE + texture)] + inputs, [shown(v, kind) for v in result]))
    tail = ", r9" if lod else ""
    f.rows(f"{spelling}.{geometry}.v4.{dtype}.{ctype} {{r0, r1, r2, r3}}, [d1, {{{registers}}}]{tail}", rows)


def points(geometry, values):
    axes, layered = GEOMETRY[geometry]
    out = []
    for k, value in enumerate(values):
        point = [values[(k + 2 * axis) % len(values)] for axis in range(axes)]
        point[0] = value
        out.append(([k % 4] if layered else []) + point)
    return out


def textures(f):
    quarters = [0, 0.25, 0.5, 1.25, 1.5, 2.75, 3.5, 4, 4.75, -0.25, -2, 9]
    normal = [0, 0.25, 0.3125, 0.5, 0.625, 0.75, 1, 1.25, 1.4375, -0.125, -0.75, -1.0625, 2.25]
    whole = [0, 1, 2, 3, 4, -1, 100, -100]
    for geometry in GEOMETRY:
        f.heading(f"tex.{geometry}")
        for texture in 0, 1, 4, 7, 9:
            read(f, "tex", texture, geometry, "f32", "f32", points(geometry, quarters))
        for texture in 2, 3, 6:
            read(f, "tex", texture, geometry, "f32", "f32", points(geometry, normal))
        read(f, "tex", 5, geometry, "s32", "f32", points(geometry, quarters))
        read(f, "tex", 8, geometry, "u32", "f32", points(geometry, quarters))
        for texture, dtype in (0, "f32"), (1, "f32"), (5, "s32"), (8, "u32"):
            read(f, "tex", texture, geometry, dtype, "s32", points(geometry, whole))
        read(f, "tex.base", 1, geometry, "f32", "f32", points(geometry, quarters[:4]))
        for texture, dtype in (1, "f32"), (5, "s32"), (8, "u32"):
            read(f, "tex.level", texture, geometry, dtype, "f32", points(geometry, quarters[:6]), lod="0.0")
            read(f, "tex.level", texture, geometry, dtype, "s32", points(geometry, whole[:6]), lod="0")


# Of each face: the axis that is greatest, its sign, and the axes and signs that become s and t (CUDA C++ Programming Guide, table of
# cubemap textures).
FACES = [(0, 1, (2, -1), (1, -1)), (0, -1, (2, 1), (1, -1)), (1, 1, (0, 1), (2, 1)), (1, -1, (0, 1), (2, -1)),
         (2, 1, (0, 1), (1, -1)), (2, -1, (0, -1), (1, -1))]


def on_cube(direction):
    """Face, and coordinates on it between 0 and 1."""
    greatest = max(abs(c) for c in direction)
    axis = [abs(c) for c in direction].index(greatest)
    for face, (major, sign, *others) in enumerate(FACES):
        if major == axis and direction[axis] * sign > 0:
            return face, [(direction[k] * minus / greatest + 1) / 2 for k, minus in others]


def cubes(f):
    f.heading("tex.cube: a direction leads to a face")
    straight = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    slanted = [(1, 0.5, -0.25), (-2, 1, 0.5), (0.25, 1, -0.75), (0.5, -4, 1.5), (-0.5, 0.25, 1), (0.75, -0.5, -1), (1, 1, 1), (-1, 1, -1), (-3, 2.5, 1)]
    cube = lambda face, x, y: [Fraction(1 + x + 4 * y + 16 * face), 0, 0, 1]
    shorts = lambda face, x, y: TEXTURES[5][0](1 + x + 4 * y + 16 * face)
    bytes = lambda face, x, y: TEXTURES[8][0](1 + x + 4 * y + 16 * face)
    inside = lambda i: min(max(i, 0), 3)
    for spelling in "tex", "tex.base":
        for geometry in "cube", "acube":
            for number, texel, layers, linear, ty in (12, cube, 6, False, "f32"), (13, cube, 6, True, "f32"), (5, shorts, 2, False, "s32"), (8, bytes, 2, False, "u32"):
                rows = []
                for k, direction in enumerate(straight + (slanted[:7] if linear else slanted)):
                    layer = k % 2 if geometry == "acube" else 0
                    face, at = on_cube([Fraction(c) for c in direction])
                    face = min(6 * layer + face, layers - 1)
                    if linear:
                        low = [4 * c - Fraction(1, 2) for c in at]
                        weight = [Fraction(round((c - floor(c)) * 256), 256) for c in low]
                        value = [0] * 4
                        for corner in range(4):
                            x, y = (inside(floor(low[a]) + (corner >> a & 1)) for a in (0, 1))
                            w = [weight[a] if corner >> a & 1 else 1 - weight[a] for a in (0, 1)]
                            value = [v + w[0] * w[1] * t for v, t in zip(value, texel(face, x, y))]
                    else:
                        value = texel(face, *(inside(floor(4 * c)) for c in at))
                    inputs = ([str(layer)] if geometry == "acube" else []) + [bits(c, "f32") for c in direction]
                    inputs += ["77"] * (4 - len(inputs))
                    rows.append(([hex(BASE + number)] + inputs, [shown(v, ty) for v in value]))
                f.rows(f"{spelling}.{geometry}.v4.{ty}.f32 {{r0, r1, r2, r3}}, [d1, {{r4, r5, r6, r7}}]", rows)


def gathers(f):
    f.heading("tld4: the texels that linear filtering would mix, (i, j+1) first, counter-clockwise")
    for geometry, layer, registers in ("2d", None, "r4, r5"), ("a2d", 1, "r4, r5, r6, r7"):
        for channel, letter in enumerate("rgba"):
            for texture, dtype in (0, "f32"), (5, "s32"), (8, "u32"), (6, "f32"):
                _, _, normalised, mode, _, kind = TEXTURES[texture]
                rows = []
                for x, y in (1.5, 1.5), (2.25, 0.75), (0.25, 3.75):
                    x, y = (Fraction(c) / (4 if normalised else 1) for c in (x, y))
                    i, j = (floor(c * (4 if normalised else 1) - Fraction(1, 2)) for c in (x, y))
                    at = [(index(i + a, 4, mode), index(j + b, 4, mode), layer or 0) for a, b in ((0, 1), (1, 1), (1, 0), (0, 0))]
                    inputs = ([str(layer)] if layer else []) + [bits(x, "f32"), bits(y, "f32")] + (["0"] if layer else [])
                    rows.append(([hex(BASE + texture)] + inputs, [shown(fetch(texture, a)[channel], kind) for a in at]))
                f.rows(f"tld4.{letter}.{geometry}.v4.{dtype}.f32 {{r0, r1, r2, r3}}, [d1, {{{registers}}}]", rows)


def queries(f):
    f.heading("txq, suq")
    for op, objects in ("txq", (0, 2)), ("suq", (10, 11)):
        extents = {0: (4, 4, 2, 0), 2: (4, 4, 2, 1), 10: (4, 4, 2, 0), 11: (64, 32, 2, 0)}
        for query, which in ("width", 0), ("height", 1), ("depth", 2), ("array_size", 2):
            f.rows(f"{op}.{query}.b32 r0, [d1]", [([hex(BASE + o)], [extents[o][which]]) for o in objects])
    f.rows("txq.num_mipmap_levels.b32 r0, [d1]", [([hex(BASE)], [1])])
    f.rows("txq.normalized_coords.b32 r0, [d1]", [([hex(BASE)], [0]), ([hex(BASE + 2)], [1])])


def surfaces(f):
    """Reads of object 10 (floats, 16 bytes to a row), writes of and reads from object 11 (64 bytes, 32 rows, 2 slices)."""
    memory = b"".join(encode(exact(Fraction(v), 0), "f32").to_bytes(4, "little") for v in range(1, 33))
    letters = {1: "h", 2: "h", 4: "r", 8: "d"}
    coordinates = {"1d": "{r10}", "2d": "{r10, r11}", "3d": "{r10, r11, r12, r12}", "a1d": "{r12, r10}", "a2d": "{r12, r10, r11, r11}"}
    order = {"1d": "x", "2d": "xy", "3d": "xyz", "a1d": "zx", "a2d": "zxy"}

    def registers(size, count):
        names = [f"{letters[size]}{k}" for k in range(count)]
        return names[0] if count == 1 else "{" + ", ".join(names) + "}"

    def accesses():
        """Elements, bytes of one, and what happens outside, of the forms that are tested."""
        for vec in 1, 2, 4:
            for size in 4, 1, 2, 8:
                for oob in "", ".trap", ".clamp", ".zero":
                    if vec * size <= 16 and (vec == 1 or size == 4 or oob in (".clamp", ".zero")):
                        yield vec, size, oob

    f.heading("suld.b: the first coordinate counts bytes")
    for geometry in GEOMETRY:
        axes, layered = GEOMETRY[geometry]
        for vec, size, oob in accesses():
            width = vec * size
            points = [(0, 0, 0), (16 - width, 3, 1), (width % 16 // width * width, 2, 0)]
            if oob in (".clamp", ".zero"):
                points += [(-width, 0, 0), (16, 0, 0), (0, 5, 0), (0, -1, 1), (100, 100, 100)]
            rows = []
            for x, y, z in points:
                y, z = (y if axes > 1 else 0), (z if axes > 2 or layered else 0)
                inside = 0 <= x <= 16 - width and 0 <= y < 4 and 0 <= z < 2
                cx, cy, cz = min(max(x, 0), 16 - width), min(max(y, 0), 3), min(max(z, 0), 1)
                at = cx + 16 * cy + 64 * cz
                data = memory[at: at + width] if inside or oob == ".clamp" else bytes(width)
                named = {"x": x, "y": y, "z": z}
                elements = [hex(int.from_bytes(data[k * size: (k + 1) * size], "little")) for k in range(vec)]
                rows.append(([hex(BASE + 10)] + [named[c] for c in order[geometry]], elements))
            dots = f".v{vec}" if vec > 1 else ""
            f.rows(f"suld.b.{geometry}{dots}.b{8 * size}{oob} {registers(size, vec)}, [d9, {coordinates[geometry]}]", rows)
        for cop in "ca", "cg", "cs", "cv":
            f.rows(f"suld.b.{geometry}.{cop}.b32.trap r0, [d9, {coordinates[geometry]}]", [([hex(BASE + 10)] + [4 if c == "x" else 0 for c in order[geometry]], ["2.0"])])

    f.heading("sust.b, read back by the thread that wrote")
    for geometry in GEOMETRY:
        for vec, size, oob in accesses():
            dots = f".v{vec}" if vec > 1 else ""
            # Threads have a row each, or in one dimension all the same place and value.
            named = {"x": 16, "y": "lane", "z": 1}
            values = [0x1122334455667788 * (k + 1) % (1 << 8 * size) for k in range(vec)]
            write, back = registers(size, vec), registers(size, vec).replace("0", "5").replace("1", "6").replace("2", "7").replace("3", "8")
            text = f"sust.b.{geometry}{dots}.b{8 * size}{oob} [d9, {coordinates[geometry]}], {write}; suld.b.{geometry}{dots}.b{8 * size}.zero {back}, [d9, {coordinates[geometry]}]"
            rows = [([hex(BASE + 11)] + [named[c] for c in order[geometry]] + [hex(v) for v in values], [hex(v) for v in values])]
            if oob == ".zero":
                outside = {"x": 64, "y": "lane", "z": 1}
                rows.append(([hex(BASE + 11)] + [outside[c] for c in order[geometry]] + [hex(v) for v in values], ["0"] * vec))
            f.rows(text, rows)
        for cop in "wb", "cg", "cs", "wt":
            named = {"x": 32, "y": "lane", "z": 0}
            f.rows(f"sust.b.{geometry}.{cop}.b32 [d9, {coordinates[geometry]}], r0; suld.b.{geometry}.b32 r5, [d9, {coordinates[geometry]}]", [([hex(BASE + 11)] + [named[c] for c in order[geometry]] + [7], [7])])


file = File("texture.txt", "textures and surfaces: the objects of tests/instructions/objects.rs, by handle")
for write in textures, cubes, gathers, queries, surfaces:
    write(file)
file.lines[1] = "# Written by textures.py."
file.save()
