"""make_decoder.py graph|weights FILE [--int4] [--layers 16] [--cache 2048]: one step of a Llama-like decoder of 1.1e9 parameters, as ONNX 24 writes it.

graph: writes FILE, a graph whose weights are in the file FILE's name with .data; needs onnx. weights: writes that file, FILE, with fixed random
numbers; needs numpy alone, so that the weights need not travel. Both take the same options. Equal arguments give equal bytes.

Inputs: ids i64[N,1], lengths i64[N], the tokens of each sequence including this one, and for each layer key_i and value_i f16[N,8,cache,64];
outputs: logits f16[N,1,32000], present_key_i and present_value_i, the caches with this token at position lengths - 1 (TensorScatter). Attention
reads the first `lengths` keys (nonpad_kv_seqlen), so one shape serves all lengths up to the cache's. --int4: the products of layers are MatMulNBits.
"""

import argparse
import math
import pathlib
import typing

import numpy as np

SEED = 20
OPSET = 24
WIDTH, HEADS, KEY_HEADS, CHANNELS, HIDDEN, WORDS = 2048, 32, 8, 64, 8192, 32000
BLOCK = 32  # weights of MatMulNBits that share a scale
ALIGNMENT = 256
CHUNK = 1 << 24  # numbers drawn at once


class Weight(typing.NamedTuple):
    """A weight in the data file, of f16 or u8; f16 numbers have this mean and deviation, u8 ones are uniform."""

    name: str
    shape: tuple
    dtype: type
    deviation: float = 0.0
    mean: float = 0.0

    def bytes(self):
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def product(name, rows, columns, int4):
    """The weights of x[..., rows] · [rows, columns]."""
    deviation = 1 / math.sqrt(rows)
    if not int4:
        return [Weight(name, (rows, columns), np.float16, deviation)]
    # Nibbles are uniform in -8 to 7.
    return [Weight(f"{name}.q", (columns, rows // BLOCK, BLOCK // 2), np.uint8),
            Weight(f"{name}.scales", (columns, rows // BLOCK), np.float16, 0.02 * deviation, 0.2 * deviation)]


PRODUCTS = {"query": (WIDTH, HEADS * CHANNELS), "key": (WIDTH, KEY_HEADS * CHANNELS), "value": (WIDTH, KEY_HEADS * CHANNELS),
            "out": (HEADS * CHANNELS, WIDTH), "gate": (WIDTH, HIDDEN), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}


def weights_of(layers, int4):
    """All weights in the order of the file."""
    found = [Weight("words", (WORDS, WIDTH), np.float16, 1.0)]
    for layer in range(layers):
        found += [Weight(f"{layer}.norm{i}", (WIDTH,), np.float16, 0.1, 1.0) for i in range(2)]
        for name, (rows, columns) in PRODUCTS.items():
            found += product(f"{layer}.{name}", rows, columns, int4)
    return [*found, Weight("norm", (WIDTH,), np.float16, 0.1, 1.0), *product("head", WIDTH, WORDS, False)]


def placed(layers, int4):
    """(weight, its offset in the file)."""
    offset = 0
    for weight in weights_of(layers, int4):
        yield weight, offset
        offset += -(-weight.bytes() // ALIGNMENT) * ALIGNMENT


def write_weights(path, layers, int4):
    random = np.random.Generator(np.random.PCG64(SEED))
    with open(path, "wb") as file:
        for weight, offset in placed(layers, int4):
            file.seek(offset)
            count = math.prod(weight.shape)
            for begin in range(0, count, CHUNK):
                size = min(CHUNK, count - begin)
                if weight.dtype == np.uint8:
                    file.write(random.bytes(size))
                else:
                    numbers = random.standard_normal(size, np.float32) * np.float32(weight.deviation) + np.float32(weight.mean)
                    file.write(numbers.astype(np.float16).tobytes())


class Builder:
    """Nodes and constants of the graph. A value is its name."""

    def __init__(self, int4):
        from onnx import helper, numpy_helper

        self.helper, self.from_array = helper, numpy_helper.from_array
        self.int4, self.nodes, self.constants = int4, [], {}

    def constant(self, array):
        array = np.asarray(array, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = self.from_array(array, f"c{len(self.constants)}")
        return self.constants[key].name

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def op(self, op, *inputs, output=None, domain="", **attributes):
        name = output or f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, list(inputs), [name], domain=domain, **attributes))
        return name

    def linear(self, x, layer, name):
        rows, columns = PRODUCTS[name]
        weight = f"{layer}.{name}"
        if not self.int4:
            return self.op("MatMul", x, weight)
        return self.op("MatMulNBits", x, f"{weight}.q", f"{weight}.scales", domain="com.microsoft", K=rows, N=columns, bits=4, block_size=BLOCK)

    def external_weights(self, file, weights):
        """Tensors of (weight, offset), whose numbers are in the file of this name beside the graph."""
        from onnx import TensorProto

        tensors = []
        for weight, offset in weights:
            dtype = TensorProto.UINT8 if weight.dtype == np.uint8 else TensorProto.FLOAT16
            tensor = TensorProto(name=weight.name, data_type=dtype, dims=weight.shape, data_location=TensorProto.EXTERNAL)
            for key, value in (("location", file), ("offset", offset), ("length", weight.bytes())):
                tensor.external_data.add(key=key, value=str(value))
            tensors.append(tensor)
        return tensors

    def norm(self, x, weight):
        return self.op("RMSNormalization", x, weight, axis=-1, epsilon=1e-5)

    def heads(self, x, count):
        return self.op("Transpose", self.op("Reshape", x, self.ints(0, 1, count, CHANNELS)), perm=[0, 2, 1, 3])

    def rotated(self, x, cosines, sines):
        first = self.op("Slice", x, self.ints(0), self.ints(CHANNELS // 2), self.ints(3))
        second = self.op("Slice", x, self.ints(CHANNELS // 2), self.ints(CHANNELS), self.ints(3))
        exchanged = self.op("Concat", self.op("Neg", second), first, axis=-1)
        return self.op("Add", self.op("Mul", x, cosines), self.op("Mul", exchanged, sines))


def angles_of(positions):
    """Of the rotary embedding, [positions, CHANNELS / 2]."""
    return np.arange(positions)[:, None] * 500000.0 ** (-np.arange(0, CHANNELS, 2) / CHANNELS)


def layer_of(b, x, layer, position, cosines, sines):
    """One layer over the token x [N, 1, WIDTH]."""
    h = b.norm(x, f"{layer}.norm0")
    q = b.rotated(b.heads(b.linear(h, layer, "query"), HEADS), cosines, sines)
    k = b.rotated(b.heads(b.linear(h, layer, "key"), KEY_HEADS), cosines, sines)
    v = b.heads(b.linear(h, layer, "value"), KEY_HEADS)
    keys = b.op("TensorScatter", f"key_{layer}", k, position, output=f"present_key_{layer}", axis=2)
    values = b.op("TensorScatter", f"value_{layer}", v, position, output=f"present_value_{layer}", axis=2)
    y = b.op("Attention", q, keys, values, "", "", "", "lengths")
    y = b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), b.ints(0, 1, HEADS * CHANNELS))
    x = b.op("Add", x, b.linear(y, layer, "out"))
    h = b.norm(x, f"{layer}.norm1")
    gate = b.linear(h, layer, "gate")
    y = b.op("Mul", b.op("Mul", gate, b.op("Sigmoid", gate)), b.linear(h, layer, "up"))
    return b.op("Add", x, b.linear(y, layer, "down"))


def graph_of(layers, cache, int4):
    """Nodes, constants: the builder."""
    b = Builder(int4)
    position = b.op("Sub", "lengths", b.ints(1))
    angles = np.concatenate([angles_of(cache)] * 2, 1)
    cosines, sines = (b.op("Unsqueeze", b.op("Gather", b.constant(table.astype(np.float16)), position), b.ints(1, 2))
                      for table in (np.cos(angles), np.sin(angles)))
    x = b.op("Gather", "words", "ids")
    for layer in range(layers):
        x = layer_of(b, x, layer, position, cosines, sines)
    b.op("MatMul", b.norm(x, "norm"), "head", output="logits")
    return b


def write_graph(path, layers, cache, int4):
    import onnx
    from onnx import TensorProto, helper

    b = graph_of(layers, cache, int4)
    weights = b.external_weights(path.with_suffix(".data").name, placed(layers, int4))
    caches = [f"{kind}_{layer}" for layer in range(layers) for kind in ("key", "value")]
    dims = ["N", KEY_HEADS, cache, CHANNELS]
    info = helper.make_tensor_value_info
    inputs = [info("ids", TensorProto.INT64, ["N", 1]), info("lengths", TensorProto.INT64, ["N"]), *(info(c, TensorProto.FLOAT16, dims) for c in caches)]
    outputs = [info("logits", TensorProto.FLOAT16, ["N", 1, WORDS]), *(info(f"present_{c}", TensorProto.FLOAT16, dims) for c in caches)]
    graph = helper.make_graph(b.nodes, "g", inputs, outputs, [*weights, *b.constants.values()])
    opsets = [helper.make_opsetid("", OPSET)] + ([helper.make_opsetid("com.microsoft", 1)] if int4 else [])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def command_line(doc, write_graph, **numbers):
    """Runs graph or weights. numbers: further options of write_graph with their defaults."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("what", choices=["graph", "weights"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--int4", action="store_true")
    parser.add_argument("--layers", type=int, default=16)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    if arguments.what == "graph":
        write_graph(arguments.file, layers=arguments.layers, int4=arguments.int4, **{name: getattr(arguments, name) for name in numbers})
    else:
        write_weights(arguments.file, arguments.layers, arguments.int4)
    print(arguments.file)


if __name__ == "__main__":
    command_line(__doc__, write_graph, cache=2048)
