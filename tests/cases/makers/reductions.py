"""Reductions, cumulative sums, and ops that sort or rank along an axis."""

from onnx import TensorProto as T

from draw import is_float
from makers import EXACT, SUMS, Tolerance, maker


def reduction_axes(d, rank):
    """Adds axes as an attribute or as an input, or omits them."""
    axes = d.axes(rank, low=0) if rank and d.chance(0.75) else None
    if d.has_attr("axes"):
        if axes:
            d.attr("axes", axes)
        return
    if axes is None:
        if d.chance(0.3):
            d.skip()
    elif axes or d.chance(0.5):
        d.integers(axes)


@maker(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", tolerance=SUMS,
)  # fmt: skip
def reduce(d):
    dims = d.shape(zero=0.05)
    order = d.op in ("ReduceMax", "ReduceMin")
    elem = d.type("T")
    positive = d.op == "ReduceLogSum" or (d.op == "ReduceLogSumExp" and not is_float(elem))
    d.tensor(dims, low=1 if positive else -2, high=3, special=order)
    reduction_axes(d, len(dims))
    d.attr("keepdims", d.integer(0, 1), 0.7)
    d.attr("noop_with_empty_axes", d.integer(0, 1), 0.4)


@maker("ArgMax", "ArgMin", tolerance=EXACT)
def arg(d):
    dims = d.shape(low=1)
    d.tensor(dims)
    d.attr("axis", d.axis(len(dims), negative=d.version >= 11), 0.8)
    d.attr("keepdims", d.integer(0, 1), 0.7)
    d.attr("select_last_index", d.integer(0, 1), 0.5)


@maker("CumSum", "CumProd", tolerance=SUMS)
def running(d):
    dims = d.shape(low=1)
    d.tensor(dims, d.schema.inputs[0].type_str, -2, 3)
    axis = d.axis(len(dims))
    d.integers(axis if d.chance(0.7) else [axis], d.pick([T.INT32, T.INT64]))
    d.attr("exclusive", d.integer(0, 1), 0.6)
    d.attr("reverse", d.integer(0, 1), 0.6)


@maker("Softmax", "LogSoftmax", "Hardmax", tolerance=SUMS)
def softmax(d):
    dims = d.shape(low=1)
    d.tensor(dims, low=-10, high=10)
    d.attr("axis", d.axis(len(dims), negative=d.version >= 11), 0.8 if len(dims) > 1 else 1.0)


@maker("LpNormalization", tolerance=SUMS)
def lp_normalization(d):
    dims = d.shape(low=1)
    d.tensor(dims)
    d.attr("axis", d.axis(len(dims)), 0.8)
    d.attr("p", d.integer(1, 2), 0.7)


@maker("TopK", tolerance=EXACT)
def top_k(d):
    dims = d.shape(low=1)
    axis = d.axis(len(dims))
    d.output_count = 2
    d.tensor(dims)
    d.bound["I"] = T.INT64
    k = d.integer(0, dims[axis])
    if d.version == 1:
        d.attr("k", k)
    else:
        d.integers([k])
    if axis not in (-1, len(dims) - 1) or d.chance(0.5):
        d.attr("axis", axis)
    d.attr("largest", d.integer(0, 1), 0.6)
    d.attr("sorted", 1, 0.3)  # with 0 any order is correct


@maker("MeanVarianceNormalization", tolerance=Tolerance(2e-2, 2e-2))  # its function body subtracts near-equal squares in f32
def mean_variance(d):
    dims = d.shape(rank=4) if d.chance(0.6) else d.shape(low=1)
    d.tensor(dims)
    if len(dims) != 4 or d.chance(0.5):
        d.attr("axes", sorted(a % len(dims) for a in d.axes(len(dims))))
