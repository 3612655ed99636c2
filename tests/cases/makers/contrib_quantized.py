"""Quantized ops of com.microsoft."""

import numpy as np
from onnx import TensorProto as T

from makers import EXACT, QUANTIZED, SUMS, Tolerance, maker
from makers.convolution import image
from makers.pooling import pool_window

BYTES = (T.UINT8, T.INT8)
# The lookup tables of onnxruntime round twice.
TABLES = Tolerance(1e-4, 1e-6, 1)


def operand(d, dims, elem):
    """A quantized tensor, its scale and its zero point: onnxruntime does not run all ops without one."""
    d.quantized(dims, elem)
    parameters(d, elem)


def parameters(d, elem):
    d.scale()
    d.zero_point(elem)


@maker("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul", tolerance=QUANTIZED)
def binary(d):
    dims, elem = d.shape(low=1, high=4, zero=0), d.pick(BYTES)
    operand(d, dims, elem)
    operand(d, d.broadcast(dims), elem)
    parameters(d, elem)
    d.gives(elem)


@maker("com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearSigmoid", tolerance=TABLES)
def unary(d):
    elem = d.pick(BYTES)
    if d.op == "QLinearLeakyRelu":
        d.attr("alpha", d.pick([0.1, 0.3]), 0.6)
    operand(d, d.shape(low=1, high=4, zero=0), elem)
    parameters(d, elem)
    d.gives(elem)


@maker("com.microsoft.QLinearSoftmax", tolerance=TABLES)
def softmax(d):
    dims, elem = d.shape(low=1, high=4, zero=0), d.pick(BYTES)
    d.attr("opset", d.pick([11, 13]))
    d.attr("axis", d.axis(len(dims)), 0.7)
    operand(d, dims, elem)
    d.add(np.float32(1 / 256), T.FLOAT, 0.7)
    d.add(d.values([], elem, 0 if elem == T.UINT8 else -128, 0 if elem == T.UINT8 else -128), elem, 0.7)
    d.gives(elem)


@maker("com.microsoft.QLinearConcat", tolerance=QUANTIZED)
def concat(d):
    dims, elem = d.shape(low=1, high=4, zero=0), d.pick(BYTES)
    axis = d.axis(len(dims))
    d.attr("axis", axis)
    parameters(d, elem)
    for _ in range(d.integer(1, 3)):
        dims[axis] = d.integer(1, 3)
        operand(d, dims, elem)
    d.gives(elem)


@maker("com.microsoft.QLinearWhere", tolerance=QUANTIZED)
def where(d):
    dims, elem = d.shape(low=1, high=3, zero=0), d.pick(BYTES)
    d.add(d.values(d.broadcast(dims), T.BOOL), T.BOOL)
    for _ in range(2):
        operand(d, dims, elem)
    parameters(d, elem)
    d.gives(elem)


@maker("com.microsoft.QLinearGlobalAveragePool", "com.microsoft.QLinearAveragePool", tolerance=QUANTIZED)
def pool(d):
    elem = d.pick(BYTES)
    dims = [max(1, e) for e in image(d, 2)]
    spatial = len(dims) - 2
    if d.op == "QLinearAveragePool":
        d.attr("kernel_shape", [d.integer(1, min(3, e)) for e in dims[2:]])
        d.attr("strides", [d.integer(1, 2)] * spatial, 0.5)
        if d.chance(0.3) and min(d.attributes["kernel_shape"]) > 1:
            d.attr("pads", [1] * 2 * spatial)
            d.attr("count_include_pad", d.integer(0, 1), 0.5)
    if d.attr("channels_last", d.integer(0, 1), 0.5):
        dims = [dims[0], *dims[2:], dims[1]]
    d.quantized(dims, elem)
    for _ in range(2):
        parameters(d, elem)
    d.gives(elem)


@maker("com.microsoft.NhwcMaxPool", tolerance=EXACT)
def nhwc_max_pool(d):
    dims, elem = [max(1, e) for e in image(d)], d.pick(BYTES)
    pool_window(d, dims[2:])
    d.quantized([dims[0], *dims[2:], dims[1]], elem)
    d.gives(elem)


@maker("com.microsoft.DequantizeLinear", tolerance=QUANTIZED)
def dequantize(d):
    dims, elem = d.shape(low=1, high=4, zero=0), d.pick(BYTES)
    per = per_axis(d, dims)
    d.quantized(dims, elem)
    d.scale(dims=per)
    if d.chance(0.7):
        d.zero_point(elem, per)
    d.gives(T.FLOAT)


@maker("com.microsoft.QuantizeLinear", tolerance=QUANTIZED)
def quantize(d):
    dims, elem = d.shape(low=1, high=4, zero=0), d.pick(BYTES)
    per = per_axis(d, dims)
    d.floats(dims, low=-8, high=8)
    d.scale(dims=per)
    if elem == T.INT8 or d.chance(0.6):
        d.zero_point(elem, per)
    d.gives(elem)


def per_axis(d, dims):
    """Dims of the scales."""
    if d.chance(0.5):
        return d.pick([[], [1]])
    axis = d.axis(len(dims))
    d.attr("axis", axis)
    return [dims[axis]]


@maker("com.microsoft.MatMulIntegerToFloat", "com.microsoft.DynamicQuantizeMatMul", tolerance=SUMS)
def integer_product(d):
    m, k, n, weight = d.integer(1, 5), d.integer(1, 8), d.integer(1, 5), d.pick(BYTES)
    per_column = [n] if d.chance(0.4) else []
    dynamic = d.op == "DynamicQuantizeMatMul"
    dims = [m, k] if d.chance(0.6) else [2, m, k]
    if dynamic:
        d.floats(dims)
    else:
        d.quantized(dims, T.UINT8)
    d.quantized_weights([k, n], weight, 0.7)
    if not dynamic:
        d.scale()
    d.scale(dims=per_column)
    if not dynamic:
        if d.chance(0.7):
            d.zero_point(T.UINT8)
        else:
            d.skip()
    if d.chance(0.7):
        d.zero_point(weight, per_column)
    else:
        d.skip()
    if d.chance(0.5):
        d.floats([n])
    d.gives(T.FLOAT)


@maker("com.microsoft.MatMulNBits", tolerance=SUMS)
def matmul_n_bits(d):
    bits, block, n, k = d.pick([4, 4, 8, 2]), d.pick([16, 32]), d.integer(1, 5), d.pick([16, 32, 40, 64])
    blocks = -(-k // block)
    d.attr("K", k)
    d.attr("N", n)
    d.attr("block_size", block)
    if bits != 4 or d.chance(0.5):
        d.attr("bits", bits)
    d.attr("accuracy_level", d.integer(0, 1), 0.3)
    d.floats([2, 3, k] if d.chance(0.5) else [3, k], constant=0)
    d.add(d.values([n, blocks, block * bits // 8], T.UINT8, 0, 255), T.UINT8, 1)
    d.add(d.values([n, blocks] if d.chance(0.6) else [n * blocks], T.FLOAT, 1, 2) / 8, T.FLOAT, 1)
    zeros = d.pick(["none", "packed", "packed", "packed" if bits == 8 else "floats"])
    if zeros == "packed":
        d.add(d.values([n, -(-blocks * bits // 8)], T.UINT8, 0, 255), T.UINT8, 1)
    elif zeros == "floats":
        d.floats([n, blocks], low=0, high=8, constant=1)
    else:
        d.skip()
    if d.chance(0.3):
        d.skip()
        d.floats([n], constant=1)
    d.gives(T.FLOAT)


@maker("com.microsoft.GatherBlockQuantized", tolerance=SUMS)
def gather_block_quantized(d):
    elem = d.pick([T.UINT8, T.UINT8, T.INT4, T.UINT4])
    bits = d.pick([4, 8, 2]) if elem == T.UINT8 else 4
    rows, columns, block = d.integer(2, 6), d.pick([16, 32, 64]), d.pick([16, 32])
    blocks = -(-columns // block)
    if elem == T.UINT8:
        d.attr("bits", bits)
    d.attr("block_size", block)
    d.attr("quantize_axis", d.pick([1, -1]), 0.5)
    per_byte = 8 // bits if elem == T.UINT8 else 1
    low, high = (-8, 7) if elem == T.INT4 else (0, 15) if elem == T.UINT4 else (0, 255)
    d.add(d.values([rows, columns // per_byte], elem, low, high), elem, 1)
    indices = d.random.integers(0, rows, d.pick([[3], [2, 2], [1, 4]]))
    d.integers(indices, d.pick([T.INT32, T.INT64]), 0.2)
    d.add(d.values([rows, blocks], T.FLOAT, 1, 2) / 8, T.FLOAT, 1)
    if d.chance(0.5):
        d.add(d.values([rows, -(-blocks // per_byte)], elem, low, high), elem, 1)
    d.gives(T.FLOAT)


@maker("com.microsoft.QGemm", tolerance=Tolerance(1e-4, 1e-5, 1))
def gemm(d):
    m, k, n, weight = d.integer(1, 5), d.integer(1, 8), d.integer(1, 5), d.pick(BYTES)
    per_column = [n] if d.chance(0.4) else []
    d.attr("alpha", d.pick([0.5, 2.0]), 0.3)
    d.quantized([k, m] if d.attr("transA", d.integer(0, 1), 0.5) else [m, k], T.UINT8)
    d.scale()
    d.zero_point(T.UINT8)
    d.quantized_weights([n, k] if d.attr("transB", d.integer(0, 1), 0.5) else [k, n], weight, 0.7)
    d.scale(dims=per_column)
    d.zero_point(weight, per_column)
    if d.chance(0.5):
        d.integers(d.random.integers(-1000, 1000, d.pick([[n], [m, n]])), T.INT32, 0.5)
    else:
        d.skip()
    if d.chance(0.5):
        d.scale()
        d.zero_point(T.UINT8)
        d.gives(T.UINT8)
    else:
        d.gives(T.FLOAT)


@maker("com.microsoft.QLinearConv", tolerance=QUANTIZED)
def conv(d):
    dims = [max(3, e) for e in image(d, 2)]
    outputs, weight, per = d.integer(1, 4), d.pick(BYTES), d.chance(0.3)
    sides = [d.integer(1, 3) for _ in dims[2:]]
    d.attr("kernel_shape", sides)
    d.attr("pads", [1] * 2 * len(sides), 0.4)
    last = d.attr("channels_last", d.integer(0, 1), 0.6)
    d.quantized([dims[0], *dims[2:], dims[1]] if last else dims, T.UINT8)
    d.scale()
    d.zero_point(T.UINT8)
    d.quantized_weights([outputs, dims[1], *sides], weight, 1)
    d.scale(dims=[outputs] if per else [])
    d.add(np.zeros([outputs] if per else [], np.uint8 if weight == T.UINT8 else np.int8), weight, 1)
    d.scale()
    d.zero_point(T.UINT8)
    if d.chance(0.5):
        d.integers(d.random.integers(-500, 500, [outputs]), T.INT32, 1)
    d.gives(T.UINT8)


# It rounds x and h to 8 bits, and h in parts of the batch that depend on its threads; ours rounds nothing.
@maker("com.microsoft.DynamicQuantizeLSTM", tolerance=Tolerance(0, 8e-2))
def quantized_lstm(d):
    steps, batch, size, hidden = d.integer(1, 4), d.integer(1, 3), d.integer(1, 4), d.integer(3, 6)
    directions = 2 if d.attr("direction", d.pick(["forward", "reverse", "bidirectional"]), 0.7) == "bidirectional" else 1
    elem = d.pick(BYTES)
    per_column = elem == T.INT8 and d.chance(0.6)
    zeros = [] if per_column else [d.random.integers(*((100, 140) if elem == T.UINT8 else (-20, 20)), directions) for _ in range(2)]
    d.attr("hidden_size", hidden)
    d.attr("input_forget", 1, 0.15)
    d.floats([steps, batch, size], constant=0)
    for i, rows in enumerate((size, hidden)):  # weights of at most 2
        weights = d.random.integers(-32, 33, [directions, rows, 4 * hidden])
        d.integers(weights if per_column else weights + zeros[i][:, None, None], elem, 1)
    optional = [
        lambda: d.floats([directions, 8 * hidden], low=-1, high=1, constant=1),
        lambda: d.integers(d.random.integers(1, steps + 1, batch), T.INT32, 0.3),
        lambda: d.floats([directions, batch, hidden], low=-1, high=1),
        lambda: d.floats([directions, batch, hidden], low=-1, high=1),
        lambda: d.floats([directions, 3 * hidden], low=-1, high=1, constant=1),
    ]
    for add in optional:
        add() if d.chance(0.4) else d.skip()
    for i in range(2):
        d.scale(dims=[directions, 4 * hidden] if per_column else [directions])
        d.integers(np.zeros([directions, 4 * hidden]) if per_column else zeros[i], elem, 1)  # it takes no others
    d.gives(*[T.FLOAT] * 3)
