"""make_transformer.py bert|convnext|llama|maxvit|swin|vit FOLDER: writes FOLDER/NAME.onnx, a transformer as PyTorch exports it, with fixed random weights.

bert: embeddings and two layers of BERT-base, 128 tokens, masked. llama: two layers with rotary embeddings, grouped queries and a causal
mask, 128 tokens. vit: ViT-B/16 with packed projections. swin, convnext: torchvision's Swin-T and ConvNeXt-T. maxvit: windows and grids of
torchvision's MaxViT, then attention as Flax writes it; its products are Einsums. Layers share one set of weights, so that files stay small.
Equal arguments give equal bytes.
"""

import argparse
import math
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 20
OPSET = 18
WORDS = 500  # of a vocabulary


class Builder:
    """Nodes and weights of one network. A value is its name."""

    def __init__(self):
        self.random = np.random.Generator(np.random.PCG64(SEED))
        self.nodes, self.weights, self.shared = [], [], {}

    def constant(self, array):
        """A constant; equal ones are one."""
        array = np.asarray(array, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.shared:
            self.shared[key] = f"c{len(self.weights)}"
            self.weights.append(numpy_helper.from_array(array, self.shared[key]))
        return self.shared[key]

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def number(self, value):
        return self.constant(np.array(value, np.float32))

    def weight(self, name, *shape, deviation=None):
        """The weight `name`, created at its first use."""
        if name not in self.shared:
            deviation = deviation or 1 / math.sqrt(shape[0])
            array = (self.random.standard_normal(shape, np.float32) * np.float32(deviation)).astype(np.float32)
            self.shared[name] = name
            self.weights.append(numpy_helper.from_array(array, name))
        return self.shared[name]

    def op(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x, name, rows, columns, bias=True):
        y = self.op("MatMul", x, self.weight(f"{name}.weight", rows, columns))
        return self.op("Add", self.weight(f"{name}.bias", columns, deviation=0.02), y) if bias else y

    def layer_norm(self, x, name, channels):
        scale = self.weight(f"{name}.weight", channels, deviation=0.5)
        return self.op("LayerNormalization", x, scale, self.weight(f"{name}.bias", channels, deviation=0.02), axis=-1, epsilon=1e-12)

    def heads(self, x, tokens, count, channels):
        return self.op("Transpose", self.op("Reshape", x, self.ints(1, tokens, count, channels)), perm=[0, 2, 1, 3])

    def gelu(self, x):
        half = self.op("Mul", x, self.number(0.5))
        return self.op("Mul", half, self.op("Add", self.op("Erf", self.op("Div", x, self.number(math.sqrt(2)))), self.number(1)))

    def attention(self, q, k, v, channels, tokens, width, mask=None):
        """scaled_dot_product_attention: both factors of the product are scaled; the result has the tokens' rows again."""
        factor = self.number(channels**-0.25)
        columns = self.op("Mul", self.op("Transpose", k, perm=[0, 1, 3, 2]), factor)
        scores = self.op("MatMul", self.op("Mul", q, factor), columns)
        if mask is not None:
            scores = self.op("Add", scores, mask)
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        return self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.ints(1, tokens, width))

    def model(self, inputs, output, shape):
        infos = [helper.make_tensor_value_info(name, dtype, dims) for name, dtype, dims in inputs]
        graph = helper.make_graph(self.nodes, "g", infos, [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        onnx.checker.check_model(model)
        return model


def bert(tokens=128, width=768, count=12, layers=2):
    b = Builder()
    words = b.op("Gather", b.weight("words", WORDS, width, deviation=1), "ids")
    positions = b.weight("positions", 1, tokens, width, deviation=0.3)
    x = b.layer_norm(b.op("Add", b.op("Add", words, b.weight("type", width, deviation=0.1)), positions), "norm0", width)
    seen = b.op("Cast", b.op("Unsqueeze", "mask", b.ints(1, 2)), to=TensorProto.FLOAT)
    mask = b.op("Mul", b.op("Sub", b.number(1), seen), b.number(-10000))
    for _ in range(layers):
        q, k, v = (b.heads(b.linear(x, name, width, width), tokens, count, width // count) for name in ("query", "key", "value"))
        y = b.linear(b.attention(q, k, v, width // count, tokens, width, mask), "out", width, width)
        x = b.layer_norm(b.op("Add", y, x), "norm1", width)
        y = b.linear(b.gelu(b.linear(x, "up", width, 4 * width)), "down", 4 * width, width)
        x = b.layer_norm(b.op("Add", y, x), "norm2", width)
    return b.model([("ids", TensorProto.INT64, [1, tokens]), ("mask", TensorProto.INT64, [1, tokens])], x, [1, tokens, width])


def rms_norm(b, x, name, width):
    mean = b.op("ReduceMean", b.op("Pow", x, b.number(2)), b.ints(-1), keepdims=1)
    inverse = b.op("Reciprocal", b.op("Sqrt", b.op("Add", mean, b.number(1e-6))))
    return b.op("Mul", b.weight(name, width, deviation=0.5), b.op("Mul", x, inverse))


def rotated(b, x, cosines, sines, channels):
    first = b.op("Slice", x, b.ints(0), b.ints(channels // 2), b.ints(3))
    second = b.op("Slice", x, b.ints(channels // 2), b.ints(2**63 - 1), b.ints(3))
    exchanged = b.op("Concat", b.op("Neg", second), first, axis=-1)
    return b.op("Add", b.op("Mul", x, cosines), b.op("Mul", exchanged, sines))


def repeated(b, x, tokens, count, shared, channels):
    wide = b.op("Expand", b.op("Unsqueeze", x, b.ints(2)), b.ints(1, shared, count // shared, tokens, channels))
    return b.op("Reshape", wide, b.ints(1, count, tokens, channels))


def llama(tokens=128, width=1024, count=16, shared=4, hidden=2816, layers=2):
    b = Builder()
    channels = width // count
    x = b.op("Gather", b.weight("words", WORDS, width, deviation=1), "ids")
    angles = np.arange(tokens)[:, None] * 10000.0 ** (-np.arange(0, channels, 2) / channels)
    angles = np.concatenate([angles, angles], 1)[None, None].astype(np.float32)
    cosines, sines = b.constant(np.cos(angles)), b.constant(np.sin(angles))
    mask = b.constant(np.triu(np.full((1, 1, tokens, tokens), -np.inf, np.float32), 1))
    for _ in range(layers):
        h = rms_norm(b, x, "norm1", width)
        q = b.heads(b.linear(h, "query", width, width, False), tokens, count, channels)
        k, v = (b.heads(b.linear(h, name, width, shared * channels, False), tokens, shared, channels) for name in ("key", "value"))
        q, k = (rotated(b, value, cosines, sines, channels) for value in (q, k))
        k, v = (repeated(b, value, tokens, count, shared, channels) for value in (k, v))
        x = b.op("Add", x, b.linear(b.attention(q, k, v, channels, tokens, width, mask), "out", width, width, False))
        h = rms_norm(b, x, "norm2", width)
        gate = b.linear(h, "gate", width, hidden, False)
        y = b.op("Mul", b.op("Mul", gate, b.op("Sigmoid", gate)), b.linear(h, "up", width, hidden, False))
        x = b.op("Add", x, b.linear(y, "down", hidden, width, False))
    return b.model([("ids", TensorProto.INT64, [1, tokens])], rms_norm(b, x, "norm3", width), [1, tokens, width])


def packed_heads(b, x, tokens, count, channels):
    """in_proj of MultiheadAttention on [tokens, 1, width]: q, k and v of [1, count, tokens, channels]."""
    width = count * channels
    packed = b.op("Reshape", b.linear(x, "in", width, 3 * width), b.ints(tokens, 1, 3, width))
    transposed = b.op("Squeeze", b.op("Transpose", b.op("Unsqueeze", packed, b.ints(0)), perm=[3, 1, 2, 0, 4]), b.ints(3))
    for i in range(3):
        part = b.op("Gather", transposed, b.constant(np.array(i, np.int64)), axis=0)
        heads = b.op("Transpose", b.op("Reshape", part, b.ints(tokens, count, channels)), perm=[1, 0, 2])
        yield b.op("Reshape", heads, b.ints(1, count, tokens, channels))


def vit(width=768, count=12, layers=12, patch=16, size=224):
    b = Builder()
    tokens = (size // patch) ** 2 + 1
    kernel = b.weight("patches.weight", width, 3, patch, patch, deviation=1 / (patch * math.sqrt(3)))
    x = b.op("Conv", "image", kernel, b.weight("patches.bias", width, deviation=0.02), kernel_shape=[patch] * 2, strides=[patch] * 2)
    x = b.op("Transpose", b.op("Reshape", x, b.ints(1, width, tokens - 1)), perm=[0, 2, 1])
    x = b.op("Concat", b.weight("class", 1, 1, width, deviation=0.3), x, axis=1)
    x = b.op("Add", x, b.weight("positions", 1, tokens, width, deviation=0.3))
    for _ in range(layers):
        rows = b.op("Transpose", b.layer_norm(x, "norm1", width), perm=[1, 0, 2])
        y = b.attention(*packed_heads(b, rows, tokens, count, width // count), width // count, tokens, width)
        x = b.op("Add", x, b.linear(y, "out", width, width))
        y = b.linear(b.gelu(b.linear(b.layer_norm(x, "norm2", width), "up", width, 4 * width)), "down", 4 * width, width)
        x = b.op("Add", x, y)
    first = b.op("Gather", b.layer_norm(x, "norm3", width), b.constant(np.array(0, np.int64)), axis=1)
    return b.model([("image", TensorProto.FLOAT, [1, 3, size, size])], b.linear(first, "head", width, 1000), [1, 1000])


def windows(b, x, size, window, width):
    """The windows of an image [1, size, size, width] as [windows, tokens, width]."""
    count = size // window
    cut = b.op("Reshape", x, b.ints(1, count, window, count, window, width))
    return b.op("Reshape", b.op("Transpose", cut, perm=[0, 1, 3, 2, 4, 5]), b.ints(count**2, window**2, width))


def whole(b, x, size, window, width):
    """The image of these windows."""
    count = size // window
    cut = b.op("Reshape", x, b.ints(1, count, count, window, window, width))
    return b.op("Reshape", b.op("Transpose", cut, perm=[0, 1, 3, 2, 4, 5]), b.ints(1, size, size, width))


def rolled(b, x, shift):
    """torch.roll along the rows and the columns of an image: `shift` first ones become the last, or with a negative number the other way round."""
    for axis in (1, 2):
        first = b.op("Slice", x, b.ints(shift), b.ints(2**63 - 1), b.ints(axis))
        x = b.op("Concat", first, b.op("Slice", x, b.ints(0), b.ints(shift), b.ints(axis)), axis=axis)
    return x


def mask_of_windows(size, window, shift):
    """[windows, tokens, tokens]: -100 between tokens of a window that were apart before the image was rolled."""
    part = np.zeros((size, size), int)
    edges = ((0, size - window), (size - window, size - shift), (size - shift, size))
    for i, (top, bottom) in enumerate(edges):
        for j, (left, right) in enumerate(edges):
            part[top:bottom, left:right] = 3 * i + j
    count = size // window
    part = part.reshape(count, window, count, window).swapaxes(1, 2).reshape(count**2, window**2)
    return np.where(part[:, None] == part[:, :, None], 0, -100).astype(np.float32)


def window_attention(b, x, name, size, width, channels, shift, window=7):
    """Attention within the windows of an image [1, size, size, width], which is rolled by `shift` before."""
    count, tokens, heads = (size // window) ** 2, window**2, width // channels
    if shift:
        x = rolled(b, x, shift)
    x = windows(b, x, size, window, width)
    packed = b.op("Reshape", b.linear(x, f"{name}.qkv", width, 3 * width), b.ints(count, tokens, 3, heads, channels))
    transposed = b.op("Transpose", packed, perm=[2, 0, 3, 1, 4])
    q, k, v = (b.op("Gather", transposed, b.constant(np.array(i, np.int64)), axis=0) for i in range(3))
    scores = b.op("MatMul", b.op("Mul", q, b.number(channels**-0.5)), b.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.op("Add", scores, b.weight(f"{name}.positions", 1, heads, tokens, tokens, deviation=0.5))
    if shift:
        mask = b.constant(mask_of_windows(size, window, shift)[None, :, None])
        scores = b.op("Add", b.op("Reshape", scores, b.ints(1, count, heads, tokens, tokens)), mask)
        scores = b.op("Reshape", scores, b.ints(-1, heads, tokens, tokens))
    y = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = b.linear(b.op("Reshape", y, b.ints(count, tokens, width)), f"{name}.out", width, width)
    y = whole(b, y, size, window, width)
    return rolled(b, y, -shift) if shift else y


def merged(b, x, name, width):
    """Patches of 2 × 2 pixels as one with twice the channels."""
    parts = []
    for row, column in ((0, 0), (1, 0), (0, 1), (1, 1)):
        part = x
        for axis, begin in ((1, row), (2, column)):
            part = b.op("Slice", part, b.ints(begin), b.ints(2**63 - 1), b.ints(axis), b.ints(2))
        parts.append(part)
    return b.linear(b.layer_norm(b.op("Concat", *parts, axis=-1), f"{name}.norm", 4 * width), name, 4 * width, 2 * width, False)


def stem(b, width, size):
    """Patches of 4 × 4 pixels."""
    kernel = b.weight("patches.weight", width, 3, 4, 4, deviation=1 / (4 * math.sqrt(3)))
    x = b.op("Conv", "image", kernel, b.weight("patches.bias", width, deviation=0.02), kernel_shape=[4] * 2, strides=[4] * 2)
    return b.layer_norm(b.op("Transpose", x, perm=[0, 2, 3, 1]), "patches.norm", width), size // 4


def mlp(b, x, name, width):
    return b.linear(b.gelu(b.linear(x, f"{name}.up", width, 4 * width)), f"{name}.down", 4 * width, width)


def swin(width=96, depths=(2, 2, 6, 2), channels=32, size=224):
    b = Builder()
    x, size = stem(b, width, size)
    for stage, depth in enumerate(depths):
        name = f"stage{stage}"
        if stage:
            x, size, width = merged(b, x, f"{name}.merge", width), size // 2, 2 * width
        for i in range(depth):
            shift = 3 if i % 2 and size > 7 else 0
            x = b.op("Add", x, window_attention(b, b.layer_norm(x, f"{name}.norm1", width), name, size, width, channels, shift))
            x = b.op("Add", x, mlp(b, b.layer_norm(x, f"{name}.norm2", width), name, width))
    x = b.op("Transpose", b.layer_norm(x, "norm", width), perm=[0, 3, 1, 2])
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    return b.model([("image", TensorProto.FLOAT, [1, 3, 224, 224])], b.linear(x, "head", width, 1000), [1, 1000])


def convnext(widths=(96, 192, 384, 768), depths=(3, 3, 9, 3), size=224):
    b = Builder()
    first = lambda x: b.op("Transpose", x, perm=[0, 3, 1, 2])  # noqa: E731
    last = lambda x: b.op("Transpose", x, perm=[0, 2, 3, 1])  # noqa: E731
    x, size = stem(b, widths[0], size)
    x = first(x)
    for stage, (width, depth) in enumerate(zip(widths, depths)):
        name = f"stage{stage}"
        if stage:
            before = widths[stage - 1]
            x = first(b.layer_norm(last(x), f"{name}.norm", before))
            kernel = b.weight(f"{name}.merge.weight", width, before, 2, 2, deviation=1 / math.sqrt(4 * before))
            x = b.op("Conv", x, kernel, b.weight(f"{name}.merge.bias", width, deviation=0.02), kernel_shape=[2] * 2, strides=[2] * 2)
        for _ in range(depth):
            kernel = b.weight(f"{name}.depthwise.weight", width, 1, 7, 7, deviation=1 / 7)
            bias = b.weight(f"{name}.depthwise.bias", width, deviation=0.02)
            y = b.op("Conv", x, kernel, bias, kernel_shape=[7] * 2, pads=[3] * 4, group=width)
            y = first(mlp(b, b.layer_norm(last(y), f"{name}.depthwise.norm", width), name, width))
            x = b.op("Add", b.op("Mul", b.weight(f"{name}.scale", width, 1, 1, deviation=0.5), y), x)
    x = last(b.op("GlobalAveragePool", x))
    x = b.op("Flatten", first(b.layer_norm(x, "norm", widths[-1])))
    return b.model([("image", TensorProto.FLOAT, [1, 3, 224, 224])], b.linear(x, "head", widths[-1], 1000), [1, 1000])


def partition_attention(b, x, name, size, width, channels, window, is_grid):
    """A layer within the windows of an image [1, width, size, size], or within grids of pixels that lie `window` apart."""
    count, heads = size // window, width // channels
    x = b.op("Transpose", b.op("Reshape", x, b.ints(1, width, count, window, count, window)), perm=[0, 2, 4, 3, 5, 1])
    x = b.op("Reshape", x, b.ints(1, count**2, window**2, width))
    swapped = lambda x: b.op("Transpose", x, perm=[0, 2, 1, 3]) if is_grid else x  # noqa: E731
    x = swapped(x)
    groups, tokens = (window**2, count**2) if is_grid else (count**2, window**2)
    packed = b.linear(b.layer_norm(x, f"{name}.norm1", width), f"{name}.qkv", width, 3 * width)
    parts = b.op("Split", packed, b.ints(width, width, width), outputs=3, axis=-1)
    q, k, v = (b.op("Transpose", b.op("Reshape", part, b.ints(1, groups, tokens, heads, channels)), perm=[0, 1, 3, 2, 4]) for part in parts)
    scores = b.op("Einsum", q, b.op("Mul", k, b.number(width**-0.5)), equation="B G H I D, B G H J D -> B G H I J")
    scores = b.op("Softmax", b.op("Add", scores, b.weight(f"{name}.positions", 1, heads, tokens, tokens, deviation=0.5)), axis=-1)
    y = b.op("Transpose", b.op("Einsum", scores, v, equation="B G H I J, B G H J D -> B G H I D"), perm=[0, 1, 3, 2, 4])
    x = b.op("Add", x, b.linear(b.op("Reshape", y, b.ints(1, groups, tokens, width)), f"{name}.out", width, width))
    x = swapped(b.op("Add", x, mlp(b, b.layer_norm(x, f"{name}.norm2", width), name, width)))
    x = b.op("Transpose", b.op("Reshape", x, b.ints(1, count, count, window, window, width)), perm=[0, 5, 1, 3, 2, 4])
    return b.op("Reshape", x, b.ints(1, width, size, size))


def dense_attention(b, x, width, channels):
    """Flax's MultiHeadDotProductAttention of tokens [1, tokens, width]."""
    heads = width // channels
    weights = (b.weight(f"dense.{name}", width, heads, channels) for name in ("query", "key", "value"))
    q, k, v = (b.op("Einsum", x, weight, equation="...a,abc->...bc") for weight in weights)
    scores = b.op("Einsum", b.op("Div", q, b.number(math.sqrt(channels))), k, equation="...qhd,...khd->...hqk")
    y = b.op("Einsum", b.op("Softmax", scores, axis=-1), v, equation="...hqk,...khd->...qhd")
    return b.op("Einsum", y, b.weight("dense.out", heads, channels, width, deviation=1 / math.sqrt(width)), equation="...bc,bcd->...d")


def maxvit(width=64, channels=32, size=224, layers=2, window=7):
    b = Builder()
    x, size = stem(b, width, size)
    x = b.op("Transpose", x, perm=[0, 3, 1, 2])
    for _ in range(layers):
        x = partition_attention(b, x, "window", size, width, channels, window, is_grid=False)
        x = partition_attention(b, x, "grid", size, width, channels, size // window, is_grid=True)
    x = b.op("AveragePool", x, kernel_shape=[4, 4], strides=[4, 4])
    x = b.op("Transpose", b.op("Reshape", x, b.ints(1, width, (size // 4) ** 2)), perm=[0, 2, 1])
    x = b.op("Add", x, dense_attention(b, b.layer_norm(x, "norm", width), width, channels))
    x = b.op("ReduceMean", x, b.ints(1), keepdims=0)
    return b.model([("image", TensorProto.FLOAT, [1, 3, 224, 224])], b.linear(x, "head", width, 1000), [1, 1000])


NETWORKS = {"bert": bert, "convnext": convnext, "llama": llama, "maxvit": maxvit, "swin": swin, "vit": vit}


def write(name, folder):
    """The path of the file."""
    path = pathlib.Path(folder) / f"{name}.onnx"
    onnx.save(NETWORKS[name](), path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    print(write(arguments.name, arguments.folder))


if __name__ == "__main__":
    main()
