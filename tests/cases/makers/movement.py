"""Ops that move, repeat or make elements, and those that change a shape."""

import numpy as np
from onnx import TensorProto as T
from onnx import numpy_helper

from draw import FLOATS
from makers import ELEMENT_WISE, EXACT, maker


def axes_as(d, axes):
    """Adds `axes` as an attribute or as an input, as the version requires."""
    if not d.attr("axes", axes):
        d.integers(axes)


@maker("Identity", "Shape", "Size", "Dropout", tolerance=EXACT)
def plain(d):
    formal = d.schema.inputs[0].type_str
    among = [t for t in d.allowed(formal)]
    d.type(formal, among)
    d.tensor(d.shape(), formal, special=True)
    for name in ("start", "end"):
        d.attr(name, d.integer(-8, 8), 0.5)
    if d.op == "Dropout":
        d.attr("is_test", 1)
        d.attr("ratio", 0.3, 0.4)
        if d.input_count() > 1 and d.chance(0.5):
            d.tensor([], "T1", 0, 0.9)
        d.output_count = 1 if d.version < 10 or d.chance(0.5) else 2
        d.bound.update(T1=T.BOOL) if d.version == 10 else d.bound.update(T2=T.BOOL)
    if d.op in ("Shape", "Size"):
        d.bound["T1"] = T.INT64


@maker("Concat", tolerance=EXACT)
def concat(d):
    dims = d.shape(low=1)
    axis = d.axis(len(dims), negative=d.version >= 11)
    for _ in range(d.pick([1, 2, 2, 3, 5])):
        d.tensor([d.extent(zero=0.1) if i == axis % len(dims) else e for i, e in enumerate(dims)])
    if d.version > 1 or axis != 1 or d.chance(0.5):
        d.attr("axis", axis)


def parts_of(d, extent, count):
    cuts = sorted(d.integer(0, extent) for _ in range(count - 1))
    return [int(e) for e in np.diff([0, *cuts, extent])]


@maker("Split", tolerance=EXACT)
def split(d):
    dims = d.shape(low=1)
    axis = d.axis(len(dims), negative=d.version >= 11)
    count = d.integer(1, 4)
    even = d.chance(0.5)
    if even and d.version < 18:
        dims[axis] = count * d.integer(0, 3)
    d.tensor(dims)
    d.output_count = count
    if axis or d.chance(0.5):
        d.attr("axis", axis)
    if not even:
        split_as(d, parts_of(d, dims[axis], count))
    elif d.version >= 18:
        fits = [n for n in (1, 2, 3, 4) if dims[axis] - (n - 1) * -(-dims[axis] // n) >= 0]
        d.output_count = d.pick(fits)
        d.attr("num_outputs", d.output_count)


def split_as(d, parts):
    if not d.attr("split", parts):
        d.integers(parts)


@maker("Reshape", tolerance=EXACT)
def reshape(d):
    dims = d.shape()
    d.tensor(dims)
    elements = int(np.prod(dims))
    target = []
    while elements > 1 and len(target) < 5 and d.chance(0.8):
        factor = d.pick([f for f in range(1, elements + 1) if elements % f == 0])
        target.append(factor)
        elements //= factor
    if elements != 1 or d.chance(0.3):
        target.append(elements)
    if 0 in target:
        d.attr("allowzero", 1)
        if not d.has_attr("allowzero"):
            target = dims
    elif 0 not in dims:
        if target and d.chance(0.4):
            target[d.integer(0, len(target) - 1)] = -1
        target = [0 if i < len(dims) and e == dims[i] and d.chance(0.4) else e for i, e in enumerate(target)]
    if not d.attr("shape", target):
        d.integers(target)


@maker("Flatten", tolerance=EXACT)
def flatten(d):
    dims = d.shape(low=1 if d.version < 9 else 0)
    d.tensor(dims)
    d.attr("axis", d.integer(-len(dims) if d.version >= 11 else 0, len(dims)), 1.0 if not dims else 0.8)


@maker("Squeeze", tolerance=EXACT)
def squeeze(d):
    dims = d.shape()
    ones = [i for i, e in enumerate(dims) if e == 1]
    d.tensor(dims)
    if d.chance(0.6) and ones:
        kept = [a for a in ones if d.chance(0.7)] or ones
        axes_as(d, [a - len(dims) if d.version >= 11 and d.chance(0.4) else a for a in kept])


@maker("Unsqueeze", tolerance=EXACT)
def unsqueeze(d):
    dims = d.shape(high=4)
    d.tensor(dims)
    rank = len(dims) + d.integer(1, 2)
    axes = [int(a) for a in d.random.permutation(rank)[: rank - len(dims)]]
    axes_as(d, [a - rank if d.version >= 11 and d.chance(0.4) else a for a in axes])


@maker("Transpose", tolerance=EXACT)
def transpose(d):
    dims = d.shape()
    d.tensor(dims)
    if dims:
        d.attr("perm", [int(a) for a in d.random.permutation(len(dims))], 0.8)


FAR = (2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 100, -100)


def bounds_of(d, extent):
    """start, end and step along an axis."""
    start, end = (d.pick(FAR) if d.chance(0.2) else d.integer(-extent - 1, extent + 1) for _ in range(2))
    return start, end, d.pick([1, 1, 2, 3, -1, -2, -(2**31)])


@maker("Slice", tolerance=EXACT)
def slice_(d):
    dims = d.shape(low=1)
    d.tensor(dims)
    axes = d.axes(len(dims))
    if not (given := d.chance(0.7)):
        axes = list(range(d.integer(1, len(dims))))
    starts, ends, steps = (list(v) for v in zip(*[bounds_of(d, dims[a]) for a in axes]))
    if d.version == 1:
        d.attr("starts", starts)
        d.attr("ends", ends)
        d.attr("axes", [a % len(dims) for a in axes], 1.0 if given else 0.0)
        return
    elem = d.pick([T.INT64, T.INT32])
    if elem == T.INT32:
        starts, ends = ([max(min(v, 2**31 - 1), -(2**31)) for v in values] for values in (starts, ends))
    d.integers(starts, elem)
    d.integers(ends, elem)
    stepped = d.chance(0.7)
    if given:
        d.integers([a if d.version > 10 else a % len(dims) for a in axes], elem)
    elif stepped:
        d.skip()
    if stepped:
        d.integers(steps, elem)


@maker("Tile", tolerance=EXACT)
def tile(d):
    if d.version == 1:
        dims = d.shape(low=1)
        d.tensor(dims)
        d.integers(d.integer(1, 3), d.type("T"))
        d.integers(d.integer(0, len(dims) - 1), d.type("T"))
        return
    dims = d.shape(high=4)
    d.tensor(dims)
    d.integers([d.pick([1, 1, 2, 3, 0]) for _ in dims])


@maker("Expand", tolerance=EXACT)
def expand(d):
    dims = d.shape()
    d.tensor(d.broadcast(dims))
    d.integers([1 if d.chance(0.1) and e == 1 else e for e in dims])


@maker("DepthToSpace", "SpaceToDepth", tolerance=EXACT)
def depth_space(d):
    block = d.integer(1, 3)
    n, c, h, w = d.shape(rank=4)
    d.attr("blocksize", block)
    d.attr("mode", d.pick(["DCR", "CRD"]), 0.6)
    d.tensor([n, c % 3 * block * block, h, w] if d.op == "DepthToSpace" else [n, c, h % 4 * block, w % 4 * block])


@maker("Trilu", tolerance=EXACT)
def trilu(d):
    d.tensor(d.shape(low=2))
    d.attr("upper", d.integer(0, 1), 0.7)
    if d.chance(0.7):
        d.integers(d.integer(-8, 8))


@maker("EyeLike", tolerance=EXACT)
def eye_like(d):
    d.tensor(d.shape(rank=2), "T1")
    d.attr("k", d.integer(-4, 4), 0.6)
    d.bound["T2"] = d.attr("dtype", d.pick(d.allowed("T2")), 0.6) or d.type("T1")


@maker("ConstantOfShape", tolerance=EXACT)
def constant_of_shape(d):
    elem = d.type("T2")
    value = d.values([1], elem)
    if elem != T.FLOAT or d.chance(0.6):
        d.attr("value", numpy_helper.from_array(value, "value"))
    dims = d.shape()
    d.integers(dims)


@maker("Constant", tolerance=EXACT)
def constant(d):
    kinds = ["value"] + [k for k in ("value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings") if d.has_attr(k)]
    kind = d.pick(kinds)
    if kind == "value":
        elem = d.type("T")
        array = d.values(d.shape(), elem, special=True)
        from case import tensor_of

        d.attr(kind, tensor_of(array, elem, "value"))
        return
    d.bound["T"] = {"f": T.FLOAT, "i": T.INT64, "s": T.STRING}[kind[6]]
    one = {"f": 1.5, "i": -3, "s": "ab"}[kind[6]]
    d.attr(kind, [one] * d.integer(1, 3) if kind.endswith("s") else one)


@maker("Range", tolerance=ELEMENT_WISE)
def range_(d):
    elem = d.type("T")
    low = 0 if elem in (T.UINT8, T.UINT16, T.UINT32, T.UINT64) else -10
    start, limit = (d.values([], elem, low, 10) for _ in range(2))
    delta = d.values([], elem, 1 if elem not in FLOATS else 0.25, 4)
    if low and d.chance(0.4):
        delta = (-delta).astype(delta.dtype)
    for value in (start, limit, delta):
        d.add(value, elem, 0.5)


PAD_MODES = ("constant", "reflect", "edge", "wrap")


@maker("Pad", tolerance=EXACT)
def pad(d):
    dims = d.shape(low=1)
    mode = d.pick(PAD_MODES[: 4 if d.version >= 19 else 3])
    d.attr("mode", mode, 1.0 if mode != "constant" else 0.5)
    axes = d.axes(len(dims)) if d.version >= 18 and d.chance(0.5) else None
    extents = [dims[a] for a in axes] if axes is not None else dims
    most = [max(e - 1, 0) if mode == "reflect" else e if mode == "wrap" else 3 if e or mode == "constant" else 0 for e in extents]
    pads = [pad_of(d, mode, e, m) for _ in range(2) for e, m in zip(extents, most)]
    count = len(extents)
    for i, e in enumerate(extents):  # cannot remove more than there is
        if pads[i] + pads[count + i] + e < 0:
            pads[i] = 0
    d.type("T", [t for t in d.allowed("T") if t != T.FLOAT8E8M0])  # without float8e8m0, which has no 0 to pad with
    d.tensor(dims, special=True)
    if d.version < 11:
        d.attr("paddings" if d.version == 1 else "pads", pads)
        d.attr("value", 1.5, 0.5)
        return
    d.integers(pads)
    if d.chance(0.5):
        d.tensor([])
    elif axes is not None:
        d.skip()
    if axes is not None:
        d.integers(axes, d.pick([T.INT64, T.INT32]))


def pad_of(d, mode, extent, most):
    if mode == "constant" and d.chance(0.15):
        return -d.integer(0, extent)
    return d.integer(0, most)


@maker("CenterCropPad", tolerance=EXACT)
def center_crop_pad(d):
    dims = d.shape(low=1)
    d.tensor(dims)
    axes = d.attr("axes", d.axes(len(dims)), 0.6)
    d.integers([d.integer(1, 7) for _ in (axes or dims)], d.pick([T.INT64, T.INT32]))
