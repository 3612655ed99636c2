"""Attention and other ops of transformers."""

from onnx import TensorProto as T

from makers import SUMS, Tolerance, maker


@maker("Attention", tolerance=Tolerance(1e-4, 1e-5, f64_scale=1e-2))  # its scale is an f32
def attention(d):
    batch, kv_heads, group = d.integer(1, 2), d.integer(1, 2), d.pick([1, 1, 2])
    queries, keys, size = d.integer(1, 5), d.integer(1, 5), d.pick([1, 2, 4, 8])
    heads, value_size = kv_heads * group, d.pick([size, size, 3])
    elem = d.type("T1")
    d.bound["T2"] = elem
    flat = d.chance(0.3)
    if flat:
        d.attr("q_num_heads", heads)
        d.attr("kv_num_heads", kv_heads)
    d.attr("is_causal", d.integer(0, 1), 0.5)
    d.attr("scale", 0.5, 0.3)
    d.attr("softcap", 2.0, 0.2)
    d.attr("softmax_precision", T.FLOAT, 0.2)
    d.attr("qk_matmul_output_mode", d.integer(0, 3), 0.4)
    if d.chance(0.3):
        d.attr("left_window_size", d.integer(-1, 3))
        d.attr("right_window_size", -1 if d.attributes.get("is_causal") else d.integer(-1, 3))
    for heads_of, steps, width in ((heads, queries, size), (kv_heads, keys, size), (kv_heads, keys, value_size)):
        d.tensor([batch, steps, heads_of * width] if flat else [batch, heads_of, steps, width], elem, -2, 2)
    past = d.integer(1, 3) if d.chance(0.25) else 0
    mask = d.pick(["none", "none", "bool", "float"])
    if mask == "none":
        d.skip()
    else:
        dims = d.broadcast([batch, heads]) + [queries, keys + past]
        masked = T.BOOL if mask == "bool" else elem
        array = d.values(dims, masked, -2, 2)
        if mask == "bool":
            array[..., 0] = True  # a fully masked row is 0 or NaN, depending on the version
        d.add(array, masked)
    if past:
        d.tensor([batch, kv_heads, past, size], elem, -2, 2)
        d.tensor([batch, kv_heads, past, value_size], elem, -2, 2)
    elif d.input_count() > 6 and d.chance(0.2):
        d.skip()
        d.skip()
        d.integers(d.random.integers(1, keys + 1, batch), constant=0.3)
        d.output_count = 1
    if d.output_count is None:
        d.output_count = d.pick([1, 3, 4]) if past else d.pick([1, 1, 3, 4])


@maker("RotaryEmbedding", tolerance=SUMS)
def rotary(d):
    batch, heads, steps, half = d.integer(1, 2), d.integer(1, 3), d.integer(1, 5), d.integer(1, 4)
    size = 2 * half
    turned = d.attr("rotary_embedding_dim", 2 * d.integer(1, half), 0.3) or size
    d.attr("interleaved", d.integer(0, 1), 0.6)
    if d.chance(0.5):
        d.attr("num_heads", heads)
        d.tensor([batch, steps, heads * size])
    else:
        d.tensor([batch, heads, steps, size])
    by_position = d.chance(0.5)
    cache = [steps + 3, turned // 2] if by_position else [batch, steps, turned // 2]
    d.tensor(cache, low=-1, high=1)
    d.tensor(cache, low=-1, high=1)
    if by_position:
        d.integers(d.random.integers(0, steps + 3, [batch, steps]), constant=0.2)


@maker("LinearAttention", tolerance=SUMS)
def linear_attention(d):
    batch, steps, kv_heads, group = d.integer(1, 2), d.integer(1, 5), d.integer(1, 2), d.pick([1, 1, 2])
    size, value_size = d.integer(1, 4), d.integer(1, 4)
    rule = d.attr("update_rule", d.pick(["linear", "gated", "delta", "gated_delta"]), 0.8) or "gated_delta"
    d.attr("q_num_heads", kv_heads * group)
    d.attr("kv_num_heads", kv_heads)
    d.attr("scale", 0.5, 0.3)
    d.output_count = 2
    d.tensor([batch, steps, kv_heads * group * size], low=-1, high=1)
    d.tensor([batch, steps, kv_heads * size], low=-0.5, high=0.5)
    d.tensor([batch, steps, kv_heads * value_size], low=-1, high=1)
    d.bound["S"] = d.type("T")
    d.tensor([batch, kv_heads, size, value_size], "S", -1, 1) if d.chance(0.4) else d.skip()
    if "gated" in rule:
        d.tensor([batch, steps, kv_heads * (size if d.chance(0.5) else 1)], low=-1, high=0)
    else:
        d.skip()
    if "delta" in rule:
        d.tensor([batch, steps, kv_heads if d.chance(0.6) else 1], low=0, high=1)


@maker("SwiGLU")
def swiglu(d):
    dims = d.shape()
    d.float_attrs("alpha", choices=(0.5, 1.0, 1.7))
    d.tensor(dims)
    d.tensor(dims)
