"""A decoder as onnxruntime-genai's model builder writes one, of two layers with seeded weights: com.microsoft's GroupQueryAttention, whose positions come from the
attention mask, keeps the key/value cache."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, KEY_HEADS, CHANNELS, POSITIONS, VOCABULARY = 2, 4, 2, 16, 224, 50
HIDDEN, INNER = 32, 48
MICROSOFT = "com.microsoft"


class Builder:
    def __init__(self):
        self.random = np.random.default_rng(7)
        self.nodes, self.constants = [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, name, *dims):
        return self.constant(name, self.random.normal(0, 0.25, dims).astype(np.float32))

    def add(self, op, inputs, outputs, **attributes):
        domain = MICROSOFT if op in ("GroupQueryAttention", "SkipSimplifiedLayerNormalization") else ""
        self.nodes.append(helper.make_node(op, inputs, outputs, outputs[0], domain=domain, **attributes))
        return outputs[0]

    def product(self, x, name, rows, columns):
        return self.add("MatMul", [x, self.weight(name + ".weight", rows, columns)], [name])

    def lengths(self):
        """The positions of the last keys, and how many keys there are, from the mask."""
        self.add("ReduceSum", ["attention_mask", self.constant("one", np.array([1]))], ["ones"], keepdims=1)
        self.add("Sub", ["ones", "one"], ["last"])
        self.add("Cast", ["last"], ["seqlens_k"], to=TensorProto.INT32)
        self.add("Shape", ["attention_mask"], ["mask_shape"])
        self.add("Gather", ["mask_shape", self.constant("axis", np.int64(1))], ["keys"], axis=0)
        self.add("Cast", ["keys"], ["total_sequence_length"], to=TensorProto.INT32)

    def angles(self):
        angles = np.arange(POSITIONS)[:, None] / 10000 ** (np.arange(CHANNELS // 2) * 2 / CHANNELS)
        self.constant("cos_cache", np.cos(angles).astype(np.float32))
        self.constant("sin_cache", np.sin(angles).astype(np.float32))

    def attention(self, i, x, packed, options):
        if packed:
            operands = [self.product(x, f"qkv{i}", HIDDEN, (HEADS + 2 * KEY_HEADS) * CHANNELS), "", ""]
        else:
            operands = [self.product(x, f"{name}{i}", HIDDEN, heads * CHANNELS) for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))]
        past = [f"past_key_values.{i}.{name}" for name in ("key", "value")]
        present = [f"present.{i}.{name}" for name in ("key", "value")]
        inputs = [*operands, *past, "seqlens_k", "total_sequence_length", "cos_cache", "sin_cache"]
        y = self.add("GroupQueryAttention", inputs, [f"attention{i}", *present], num_heads=HEADS, kv_num_heads=KEY_HEADS, do_rotary=1, **options)
        return self.product(y, f"o{i}", HEADS * CHANNELS, HIDDEN)

    def norm(self, name, skip, x):
        scale = self.constant(name + ".scale", np.ones(HIDDEN, np.float32))
        return self.add("SkipSimplifiedLayerNormalization", [skip, x, scale], [name, "", "", name + ".sum"], epsilon=1e-5), name + ".sum"

    def layer(self, i, x, skip, packed, options):
        x, skip = self.norm(f"middle{i}", skip, self.attention(i, x, packed, options))
        gate, up = self.product(x, f"gate{i}", HIDDEN, INNER), self.product(x, f"up{i}", HIDDEN, INNER)
        active = self.add("Mul", [gate, self.add("Sigmoid", [gate], [f"sigmoid{i}"])], [f"silu{i}"])
        down = self.product(self.add("Mul", [active, up], [f"inner{i}"]), f"down{i}", INNER, HIDDEN)
        return self.norm(f"layer{i}", skip, down)


def model(packed=False, **options):
    """
    packed   queries, keys and values come from one product
    options  attributes of GroupQueryAttention
    """
    b = Builder()
    b.lengths()
    b.angles()
    skip = b.add("Gather", [b.weight("embedding", VOCABULARY, HIDDEN), "input_ids"], ["embedded"])
    x = b.add("SimplifiedLayerNormalization", [skip, b.constant("first.scale", np.ones(HIDDEN, np.float32))], ["first"], axis=-1, epsilon=1e-5, stash_type=1)
    for i in range(LAYERS):
        x, skip = b.layer(i, x, skip, packed, options)
    b.product(x, "logits", HIDDEN, VOCABULARY)
    info, batch = helper.make_tensor_value_info, "batch_size"
    caches = [(i, name) for i in range(LAYERS) for name in ("key", "value")]
    inputs = [
        info("input_ids", TensorProto.INT64, [batch, "sequence_length"]),
        info("attention_mask", TensorProto.INT64, [batch, "total_sequence_length"]),
        *(info(f"past_key_values.{i}.{name}", TensorProto.FLOAT, [batch, KEY_HEADS, "past_sequence_length", CHANNELS]) for i, name in caches),
    ]
    outputs = [
        info("logits", TensorProto.FLOAT, [batch, "sequence_length", VOCABULARY]),
        *(info(f"present.{i}.{name}", TensorProto.FLOAT, [batch, KEY_HEADS, "total_sequence_length", CHANNELS]) for i, name in caches),
    ]
    graph = helper.make_graph(b.nodes, "grouped", inputs, outputs, b.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)
