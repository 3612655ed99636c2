"""Ops that gather, scatter or place elements by index."""

import numpy as np
from onnx import TensorProto as T

from draw import is_float
from makers import EXACT, SUMS, maker


def indices_below(d, dims, extent, negative=True):
    """Indices of an axis of `extent`; none if it is 0."""
    if extent == 0:
        dims = [0, *dims[1:]] if dims else [0]
    low = -extent if negative and d.chance(0.5) else 0
    return d.random.integers(low, max(extent, 1), dims)


@maker("Gather", tolerance=EXACT)
def gather(d):
    dims = d.shape(low=1, high=4)
    axis = d.axis(len(dims))
    d.tensor(dims)
    if axis or d.chance(0.5):
        d.attr("axis", axis)
    indices = indices_below(d, d.shape(high=3), dims[axis], negative=d.version >= 11)
    d.integers(indices, d.pick([T.INT64, T.INT32]), 0.3)


@maker("GatherElements", tolerance=EXACT)
def gather_elements(d):
    dims = d.shape(low=1)
    axis = d.axis(len(dims))
    d.tensor(dims)
    if axis or d.chance(0.5):
        d.attr("axis", axis)
    taken = [d.integer(0, 4) if i == axis % len(dims) else d.integer(min(e, 1), e) for i, e in enumerate(dims)]
    if dims[axis] == 0:
        taken[axis] = 0
    d.integers(d.random.integers(-dims[axis] if d.chance(0.5) else 0, max(dims[axis], 1), taken), d.pick([T.INT64, T.INT32]), 0.3)


def tuples_into(d, batch, dims):
    """Index tuples into `dims`, of shape batch + [..., len(dims)]."""
    columns = [d.random.integers(-e if d.chance(0.5) else 0, max(e, 1), batch) for e in dims]
    return np.stack(columns, -1) if columns else np.zeros([*batch, 0])


@maker("GatherND", tolerance=EXACT)
def gather_nd(d):
    dims = d.shape(low=1, high=5, zero=0)
    batch = d.integer(0, min(len(dims) - 1, 2)) if d.version >= 12 else 0
    d.attr("batch_dims", batch, 1.0 if batch else 0.3)
    depth = d.integer(1, len(dims) - batch)
    d.tensor(dims)
    d.integers(tuples_into(d, dims[:batch] + d.shape(high=2), dims[batch : batch + depth]), constant=0.3)


def reduction(d):
    choices = {11: ["none"], 13: ["none"], 16: ["none", "add", "mul"], 18: ["none", "add", "mul", "max", "min"]}
    reduction = d.pick(choices[d.version])
    return d.attr("reduction", reduction, 1.0 if reduction != "none" else 0.3) or "none"


@maker("ScatterElements", "Scatter", tolerance=SUMS)
def scatter_elements(d):
    dims = d.shape(low=1)
    axis = d.axis(len(dims))
    elem = d.type("T")
    if axis or d.chance(0.5):
        d.attr("axis", axis)
    added = d.op == "ScatterElements" and elem not in (T.STRING, T.BOOL) and reduction(d) != "none"
    taken = [d.integer(min(e, 1), e) for e in dims]
    extent = dims[axis]
    if added:
        indices = d.random.integers(-extent, max(extent, 1), taken)
    else:  # distinct along the axis: the order of updates to equal indices is not defined
        order = np.argsort(d.random.integers(0, 1 << 30, dims), axis=axis, kind="stable")
        indices = order[tuple(slice(0, t) for t in taken)]
    d.tensor(dims)
    d.integers(indices, d.pick([T.INT64, T.INT32]), 0.3)
    d.tensor(taken)


@maker("ScatterND", tolerance=SUMS)
def scatter_nd(d):
    dims = d.shape(low=1, high=4, zero=0)
    depth = d.integer(1, len(dims))
    elem = d.type("T")
    count = int(np.prod(dims[:depth]))
    added = elem not in (T.STRING, T.BOOL) and reduction(d) != "none"
    picks = d.random.integers(0, count, d.integer(0, 6)) if added else d.random.permutation(count)[: d.integer(0, 6)]
    tuples = np.stack(np.unravel_index(picks, dims[:depth]), -1)
    if d.chance(0.4):
        tuples = tuples - np.array(dims[:depth])
    d.tensor(dims)
    d.integers(tuples, constant=0.3)
    d.tensor([len(picks), *dims[depth:]])


@maker("TensorScatter", tolerance=EXACT)
def tensor_scatter(d):
    dims = d.shape(low=3, high=5, zero=0)
    axis = d.pick([a for a in range(1, len(dims))])
    axis = axis - len(dims) if d.chance(0.5) else axis
    update = [d.integer(1, e) if i == axis % len(dims) else e for i, e in enumerate(dims)]
    mode = d.attr("mode", d.pick(["linear", "circular"]), 0.7) or "linear"
    d.attr("axis", axis)
    d.tensor(dims)
    d.tensor(update)
    room = dims[axis] - (update[axis] if mode == "linear" else 1)
    if d.chance(0.8):
        d.integers(d.random.integers(0, room + 1, dims[0]), constant=0.3)


@maker("OneHot", tolerance=EXACT)
def one_hot(d):
    dims = d.shape(high=4)
    depth = d.integer(1, 6)
    axis = d.attr("axis", d.integer(-len(dims) - 1, len(dims)), 0.7)
    number = [t for t in d.allowed("T1") if t not in (T.BFLOAT16,)]
    index_type = d.type("T1", number)
    low = 0 if index_type in (T.UINT8, T.UINT16, T.UINT32, T.UINT64) else -depth - (d.version > 9 and d.chance(0.2))
    d.tensor(dims, index_type, low, depth)
    indices, elem, constant = d.inputs[-1]
    d.inputs[-1] = (np.trunc(indices.astype(np.float64)).astype(indices.dtype), elem, constant)
    depth_type = d.type("T2", [t for t in d.allowed("T2") if t != T.BFLOAT16])
    d.add(np.array(depth if d.chance(0.5) else [depth]).astype(d.values([], depth_type).dtype), depth_type, 0.6)
    d.tensor([2], "T3")


@maker("ReverseSequence", tolerance=EXACT)
def reverse_sequence(d):
    dims = d.shape(low=2, zero=0)
    time = d.attr("time_axis", d.integer(0, 1), 0.7)
    time = 0 if time is None else time
    if "time_axis" in d.attributes or d.chance(0.5):
        d.attributes.update(time_axis=time, batch_axis=1 - time)
    else:
        time = 0
    d.tensor(dims)
    d.integers(d.random.integers(1, dims[time] + 1, dims[1 - time]), constant=0.3)


# Compress, NonZero, NonMaxSuppression and Unique are computed from constants: all their inputs are initializers.
@maker("Compress", tolerance=EXACT)
def compress(d):
    dims = d.shape(low=1)
    axis = d.attr("axis", d.axis(len(dims), negative=d.version >= 11), 0.6)
    d.tensor(dims, constant=1.0)
    most = int(np.prod(dims)) if axis is None else dims[axis]
    d.tensor([d.integer(0, most)], T.BOOL, constant=1.0)


@maker("NonZero", tolerance=EXACT)
def non_zero(d):
    d.tensor(d.shape(), low=-1, high=1, constant=1.0)


@maker("NonMaxSuppression", tolerance=EXACT)
def non_max_suppression(d):
    batches, boxes, classes = d.integer(1, 2), d.pick([0, 1, 5, 20, 40]), d.integer(1, 3)
    d.attr("center_point_box", d.integer(0, 1), 0.6)
    grid = d.pick([1, 4, 64])  # coarse ones give equal boxes and overlaps that equal the threshold
    d.add(d.random.integers(0, 4 * grid + 1, [batches, boxes, 4]).astype(np.float32) / grid, T.FLOAT, 1.0)
    steps = d.pick([4, 1000])
    d.add(d.random.integers(0, steps + 1, [batches, classes, boxes]).astype(np.float32) / steps, T.FLOAT, 1.0)
    for value, elem, p in (
        (d.pick([0, 1, 3, 1000]), T.INT64, 0.9), (d.pick([0.0, 0.25, 0.5, 1.0]), T.FLOAT, 0.8), (d.pick([0.0, 0.25, 0.5]), T.FLOAT, 0.6),
    ):  # fmt: skip
        if d.chance(p):
            d.integers(value if d.chance(0.5) else [value], elem, 1.0)
        else:
            d.skip()


@maker("Unique", tolerance=EXACT)
def unique(d):
    dims = d.shape(low=1)
    d.attr("axis", d.axis(len(dims)), 0.6)
    d.attr("sorted", d.integer(0, 1), 0.5)
    d.tensor(dims, low=0, high=2, constant=1.0)
    d.bound["tensor(int64)"] = T.INT64


@maker("TfIdfVectorizer")
def tf_idf(d):
    elem = d.type("T")
    low, high = d.integer(1, 2), d.integer(2, 3)
    pool, counts = [], []
    for n in range(1, high + 1):
        counts.append(len(pool))
        for _ in range(d.integer(1, 3)):
            pool += [d.integer(0, 3) for _ in range(n)]
    ends = [*counts[1:], len(pool)]
    grams = sum((e - c) // n for n, (c, e) in enumerate(zip(counts, ends), 1))
    d.attributes.update(
        mode=d.pick(["TF", "IDF", "TFIDF"]), min_gram_length=min(low, high), max_gram_length=high, max_skip_count=d.integer(0, 2),
        ngram_counts=counts, ngram_indexes=[int(i) for i in d.random.permutation(grams)],
    )  # fmt: skip
    d.attr("weights", [d.integer(1, 8) / 4 for _ in range(grams)], 0.5)
    words = ("a", "b", "c", "d")
    d.attributes.update({"pool_strings": [words[i] for i in pool]} if elem == T.STRING else {"pool_int64s": pool})
    dims = d.shape(low=1, high=2, zero=0.1)
    ids = d.random.integers(0, 4, dims)
    d.bound["T1"] = T.FLOAT
    if elem == T.STRING:
        d.add(np.array([words[i] for i in ids.ravel()], object).reshape(dims), elem)
    else:
        d.integers(ids, elem, 0.2)
