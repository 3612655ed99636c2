"""make_genai_decoder.py graph|weights FILE [--int4] [--layers 16]: the decoder of make_decoder.py in the form that onnxruntime-genai's builder writes.

The weights are the same, in the same file; so are the numbers that it computes, but for the order of sums. GroupQueryAttention has the rotary embedding
and the cache, SkipSimplifiedLayerNormalization the residual sums.

Inputs: input_ids i64[batch_size,sequence_length], attention_mask i64[batch_size,total_sequence_length], 1 for the tokens of each sequence including
these, and for each layer past_key_values.i.key and .value f16[batch_size,8,past_sequence_length,64]; outputs: logits
f16[batch_size,sequence_length,32000], present.i.key and .value. With caches and a mask that have room for every token (zeros behind the last one),
one shape serves all steps.
"""

import numpy as np
from make_decoder import CHANNELS, HEADS, KEY_HEADS, WORDS, Builder, angles_of, command_line, placed

OPSET = 21
POSITIONS = 8192
CONTRIB = "com.microsoft"


class ContribBuilder(Builder):
    def ops(self, op, inputs, outputs, **attributes):
        """Of com.microsoft, with several outputs; "" is none."""
        self.nodes.append(self.helper.make_node(op, inputs, outputs, domain=CONTRIB, **attributes))
        return outputs

    def residual_norm(self, x, y, weight, layer):
        """The normalised sum, and the sum."""
        normalised, _, _, total = self.ops("SkipSimplifiedLayerNormalization", [x, y, weight], [f"{layer}_out", "", "", f"{layer}_sum"], epsilon=1e-5)
        return normalised, total


def layer_of(b, h, x, layer, lengths, total, tables):
    """One layer over the normalised h and the residual x: the products that the next one adds, and the residual."""
    q, k, v = (b.linear(h, layer, name) for name in ("query", "key", "value"))
    past = [f"past_key_values.{layer}.{kind}" for kind in ("key", "value")]
    present = [f"present.{layer}.{kind}" for kind in ("key", "value")]
    y, *_ = b.ops("GroupQueryAttention", [q, k, v, *past, lengths, total, *tables], [f"{layer}_attended", *present], num_heads=HEADS,
                  kv_num_heads=KEY_HEADS, scale=CHANNELS**-0.5, local_window_size=-1, softcap=0.0, do_rotary=1, rotary_interleaved=0)
    h, x = b.residual_norm(x, b.linear(y, layer, "out"), f"{layer}.norm1", f"{layer}.middle")
    gate = b.linear(h, layer, "gate")
    y = b.op("Mul", b.op("Mul", gate, b.op("Sigmoid", gate)), b.linear(h, layer, "up"))
    return b.linear(y, layer, "down"), x


def graph_of(layers, int4):
    b = ContribBuilder(int4)
    counted = b.op("Sub", b.op("ReduceSum", "attention_mask", b.ints(1), keepdims=1), b.ints(1))
    lengths = b.op("Cast", counted, to=6)
    total = b.op("Cast", b.op("Gather", b.op("Shape", "attention_mask"), b.constant(np.array(1, np.int64)), axis=0), to=6)
    angles = angles_of(POSITIONS)
    tables = [b.constant(table.astype(np.float16)) for table in (np.cos(angles), np.sin(angles))]
    x = b.op("Gather", "words", "input_ids")
    h = b.op("SimplifiedLayerNormalization", x, "0.norm0", axis=-1, epsilon=1e-5, stash_type=1)
    for layer in range(layers):
        y, x = layer_of(b, h, x, layer, lengths, total, tables)
        weight = "norm" if layer + 1 == layers else f"{layer + 1}.norm0"
        h, x = b.residual_norm(x, y, weight, f"{layer}.end")
    b.op("MatMul", h, "head", output="logits")
    return b


def write_graph(path, layers, int4, data=None):
    """data: the name of the file of weights beside it; default: its own with .data."""
    import onnx
    from onnx import TensorProto, helper

    b = graph_of(layers, int4)
    info, batch = helper.make_tensor_value_info, "batch_size"

    def caches(prefix, length):
        return [info(f"{prefix}.{layer}.{kind}", TensorProto.FLOAT16, [batch, KEY_HEADS, length, CHANNELS]) for layer in range(layers)
                for kind in ("key", "value")]

    inputs = [info("input_ids", TensorProto.INT64, [batch, "sequence_length"]), info("attention_mask", TensorProto.INT64, [batch, "total_sequence_length"]),
              *caches("past_key_values", "past_sequence_length")]
    outputs = [info("logits", TensorProto.FLOAT16, [batch, "sequence_length", WORDS]), *caches("present", "total_sequence_length")]
    weights = b.external_weights(data or path.with_suffix(".data").name, placed(layers, int4))
    graph = helper.make_graph(b.nodes, "g", inputs, outputs, [*weights, *b.constants.values()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)], ir_version=10), path)


if __name__ == "__main__":
    command_line(__doc__, write_graph)
