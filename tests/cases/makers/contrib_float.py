"""Ops of com.microsoft on floats, but for attention."""

import numpy as np
from onnx import TensorProto as T

from makers import ELEMENT_WISE, EXACT, IN_F32, SUMS, maker
from makers.convolution import image

HALF_TOO = (T.FLOAT, T.FLOAT, T.FLOAT16)


@maker("com.microsoft.Gelu", "com.microsoft.QuickGelu", tolerance=ELEMENT_WISE)
def gelu(d):
    if d.op == "QuickGelu":
        d.attr("alpha", d.pick([1.0, 1.702, 2.5]), 0.5)
    d.gives(T.FLOAT)
    d.floats(d.shape(low=1, high=4, zero=0), low=-2, high=5)  # below, f32 cancels


@maker("com.microsoft.BiasGelu", "com.microsoft.FastGelu", tolerance=ELEMENT_WISE)
def bias_gelu(d):
    dims = d.shape(low=1, high=4, zero=0)
    d.gives(T.FLOAT)
    d.floats(dims, low=-2, high=4)
    if d.op == "BiasGelu" or d.chance(0.6):
        d.floats(dims[-1:], low=-1, high=1, constant=0.6)


@maker("com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul", tolerance=SUMS)
def fused_matmul(d):
    rank = d.pick([2, 2, 3, 4])
    m, k, n = (d.integer(1, 5) for _ in range(3))
    batch = [d.integer(1, 3) for _ in range(rank - 2)]
    d.attr("alpha", d.pick([0.5, -2.0]), 0.4)
    for side, rows, columns in (("A", m, k), ("B", k, n)):
        turned = d.attr(f"trans{side}", d.integer(0, 1), 0.6)
        moved = d.attr(f"transBatch{side}", d.integer(0, 1), 0.4) if d.op == "FusedMatMul" and rank > 2 else 0
        dims = batch + ([columns, rows] if turned else [rows, columns])
        if moved:
            dims = [dims[-2], *dims[:-2], dims[-1]]
        d.floats(dims)
    d.gives(T.FLOAT)
    if d.chance(0.2):
        d.symbols = {m: "m"}


@maker("com.microsoft.Inverse", tolerance=SUMS)
def inverse(d):
    n, elem = d.integer(1, 5), d.pick((T.FLOAT, T.FLOAT, T.DOUBLE, T.FLOAT16))
    x = d.values([*d.shape(high=2), n, n], elem, -1, 1)
    x = (x + np.diag([d.pick([-1, 1]) * (n + 1) for _ in range(n)]))[..., d.random.permutation(n), :].astype(x.dtype)
    if d.chance(0.15):
        x[..., d.integer(0, n - 1), :] = 0
    if d.chance(0.15):
        x[..., d.integer(0, n - 1)] = 0
    d.add(x, elem)
    d.gives(elem)


@maker("com.microsoft.FusedGemm", tolerance=SUMS)
def fused_gemm(d):
    m, k, n = (d.integer(1, 5) for _ in range(3))
    name, parameters = d.pick(
        [("Relu", 0), ("Tanh", 0), ("Sigmoid", 0), ("Softplus", 0), ("Softsign", 0), ("LeakyRelu", 1), ("Elu", 1), ("ThresholdedRelu", 1), ("HardSigmoid", 2)]
    )
    d.attr("activation", name)
    for attribute in ("activation_alpha", "activation_beta")[:parameters]:
        d.attr(attribute, d.pick([0.1, 0.25, 0.75]))
    d.attr("alpha", 0.5, 0.3)
    d.attr("beta", 2.0, 0.3)
    d.floats([k, m] if d.attr("transA", d.integer(0, 1), 0.5) else [m, k])
    d.floats([n, k] if d.attr("transB", d.integer(0, 1), 0.5) else [k, n], constant=0.5)
    if d.chance(0.7):
        d.floats(d.broadcast([m, n]))
    d.gives(T.FLOAT)


@maker("com.microsoft.FusedConv", tolerance=SUMS)
def fused_conv(d):
    dims = image(d, 2)
    dims = [max(1, e) for e in dims[:2]] + [max(3, e) for e in dims[2:]]
    outputs, sides = d.integer(1, 4), [d.integer(1, 3) for _ in dims[2:]]
    name, parameters = d.pick([("", []), ("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 1.0]), ("HardSigmoid", [0.2, 0.5])])
    if name:
        d.attr("activation", name)
    if parameters:
        d.attr("activation_params", parameters)
    d.attr("kernel_shape", sides, 0.5)
    pads = d.attr("pads", [1] * 2 * len(sides), 0.4) is not None
    d.floats(dims)
    d.floats([outputs, dims[1], *sides], constant=0.5)
    if d.chance(0.6):
        d.floats([outputs])
    else:
        d.skip()
    if d.chance(0.3):
        d.floats([dims[0], outputs, *(e + 2 * pads - s + 1 for e, s in zip(dims[2:], sides))])
    d.gives(T.FLOAT)


@maker("com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization", tolerance=IN_F32)
def skip_norm(d):
    batch, steps, hidden = d.integer(1, 3), d.integer(1, 4), d.pick([4, 6, 8, 16])
    elem = d.pick(HALF_TOO)
    flat = d.chance(0.2)
    dims = [batch * steps, hidden] if flat else [batch, steps, hidden]
    d.attr("epsilon", d.pick([1e-5, 1e-2]), 0.7)
    d.floats(dims, elem)
    d.floats(dims if flat else d.pick([dims, [1, steps, hidden], [steps, hidden]]), elem)
    d.floats([hidden], elem, constant=0.5)
    if d.op == "SkipLayerNormalization":
        if d.chance(0.7):
            d.floats([hidden], elem, constant=0.5)
        else:
            d.skip()
    if d.chance(0.5):
        d.floats([hidden], elem, constant=0.5)
    if d.chance(0.5):
        d.gives(elem, None, None, elem)
    else:
        d.gives(elem)
    if d.chance(0.3) and not {batch, steps} & {1, hidden} and batch != steps:
        d.symbols = {batch: "batch", steps: "steps"}


@maker("ai.onnx.SimplifiedLayerNormalization", tolerance=IN_F32)
def simplified_norm(d):
    dims = d.shape(low=1, high=4, zero=0)
    axis = d.axis(len(dims))
    if axis != -1 or d.chance(0.5):
        d.attr("axis", axis)
    d.attr("epsilon", d.pick([1e-5, 1e-2]), 0.5)
    d.attr("stash_type", 1, 0.3)
    d.floats(dims)
    d.floats(dims[axis:], constant=0.5)
    d.gives(*[T.FLOAT] * d.pick([1, 1, 2]))


def words_and_segments(d, dims, words, has_segments):
    """Inputs 0 and 1 of an embedding's norm."""
    d.integers(d.random.integers(0, words, dims), T.INT32, 0.1)
    if has_segments:
        d.integers(d.random.integers(0, 2, dims), T.INT32, 0.1)
    else:
        d.skip()


@maker("com.microsoft.EmbedLayerNormalization", tolerance=IN_F32)
def embed_norm(d):
    batch, steps, hidden, words = d.integer(1, 3), d.integer(1, 4), d.pick([4, 8]), d.integer(2, 6)
    has_segments = d.chance(0.6)
    d.attr("epsilon", d.pick([1e-5, 1e-2]))
    words_and_segments(d, [batch, steps], words, has_segments)
    d.floats([words, hidden], constant=0.5)
    d.floats([steps + 2, hidden], constant=0.5)
    if has_segments:
        d.floats([2, hidden], constant=0.5)
    else:
        d.skip()
    d.floats([hidden], constant=0.5)
    d.floats([hidden], constant=0.5)
    if d.chance(0.5):
        d.integers(d.random.integers(0, 2, [batch, steps]), T.INT32, 0.1)
    else:
        d.skip()
    if d.chance(0.3):
        d.integers(d.random.integers(0, steps + 2, [d.pick([1, batch]), steps]), T.INT32, 0.1)
    d.gives(*d.pick([[T.FLOAT, T.INT32], [T.FLOAT, T.INT32, T.FLOAT]]))


@maker("com.microsoft.QEmbedLayerNormalization", tolerance=IN_F32)
def quantized_embed_norm(d):
    batch, steps, hidden, words = d.integer(1, 3), d.integer(1, 4), d.pick([4, 8]), d.integer(2, 6)
    elem = d.pick([T.UINT8, T.INT8])
    has_segments = d.chance(0.6)
    tables = [True, True, has_segments, True, True]
    d.attr("epsilon", d.pick([1e-5, 1e-2]))
    words_and_segments(d, [batch, steps], words, has_segments)
    for dims, is_there in zip(([words, hidden], [steps + 2, hidden], [2, hidden], [hidden], [hidden]), tables, strict=True):
        if is_there:
            d.quantized(dims, elem, 0.7)
        else:
            d.skip()
    if d.chance(0.5):
        d.integers(d.random.integers(0, 2, [batch, steps]), T.INT32, 0.1)
    else:
        d.skip()
    for given in (d.scale, lambda: d.zero_point(elem)):
        for is_there in tables:
            if is_there:
                given()
            else:
                d.skip()
    d.gives(T.FLOAT, T.INT32)


@maker("com.microsoft.RotaryEmbedding", tolerance=SUMS)
def rotary(d):
    batch, heads, steps, size = d.integer(1, 3), d.integer(1, 3), d.integer(1, 5), d.pick([4, 8])
    turned = d.attr("rotary_embedding_dim", size // 2, 0.3) or size
    if turned != size or d.chance(0.5):
        d.attr("num_heads", heads)
    d.attr("interleaved", d.integer(0, 1), 0.6)
    d.floats([batch, steps, heads * size] if d.chance(0.6) else [batch, heads, steps, size])
    if d.chance(0.4):
        d.integers([d.integer(0, 2)], constant=0.2)
    else:
        d.integers(d.random.integers(0, steps + 2, [batch, steps]), constant=0.2)
    for _ in range(2):
        d.floats([steps + 3, turned // 2], low=-1, high=1, constant=0.5)
    d.gives(T.FLOAT)


@maker("com.microsoft.Trilu", "com.microsoft.ExpandDims", tolerance=EXACT)
def move(d):
    dims = d.shape(low=2, high=4, zero=0)
    d.gives(T.FLOAT)
    d.floats(dims)
    if d.op == "ExpandDims":
        d.integers(d.integer(0, len(dims)), T.INT32, 1)
    else:
        d.attr("upper", d.integer(0, 1), 0.6)
        if d.chance(0.5):
            d.integers(d.integer(-2, 2), constant=0.5)


@maker("com.microsoft.Pad", tolerance=EXACT)
def pad(d):
    dims = d.shape(low=1, high=3, zero=0)
    mode = d.attr("mode", d.pick(["constant", "reflect", "edge"]), 0.6) or "constant"
    most = [e - 1 if mode == "reflect" else 3 for e in dims]
    pads = [d.integer(0, m) for m in most * 2]
    d.floats(dims)
    if d.chance(0.3):
        d.integers([pads], constant=1)  # of more than one dim, it is not read before the Run
    else:
        d.integers(pads, constant=0.6)
    if mode == "constant" and d.chance(0.5):
        d.floats([1] if d.chance(0.5) else [])
    d.gives(T.FLOAT)


@maker("com.microsoft.Range", tolerance=EXACT)
def range_(d):
    elem = d.pick([T.INT64, T.INT32, T.FLOAT])
    dims = d.pick([[], [1]])
    for bound in ((-3, 2), (3, 8)):
        d.add(d.values(dims, elem, *bound), elem, 1)
    if d.chance(0.6):
        d.add(d.values(dims, elem, 1, 3), elem, 1)
    d.gives(elem)


@maker("com.microsoft.GatherND", tolerance=EXACT)
def gather_nd(d):
    dims = d.shape(low=2, high=3, zero=0)
    depth, count = d.integer(1, 2), d.integer(1, 4)
    d.floats(dims)
    indices = [[d.integer(0, e - 1) for e in dims[:depth]] for _ in range(count)]
    d.integers(indices, d.pick([T.INT32, T.INT64]))
    d.gives(T.FLOAT)
