"""Attentions of com.microsoft."""

import numpy as np
from onnx import TensorProto as T

from makers import Tolerance, maker

# A key that does not count has -10000 added to its score, which rounds what stands there in f32.
MASKED = Tolerance(2e-3, 1e-3)


def mask(d, batch, queries, keys, forms):
    """The next input: which keys count, at least one for each query; or absent."""
    form = d.pick(["none", "none", *forms])
    if form == "none" or (form in ("2d", "3d") and keys == 1):
        return d.skip()
    if form == "ends":
        return d.integers(d.random.integers(1, keys + 1, batch), T.INT32, 0.1)
    if form == "bounds":
        starts = d.random.integers(0, keys, batch)
        return d.integers(np.concatenate([d.random.integers(starts + 1, keys + 1), starts]), T.INT32, 0.1)
    counts = d.random.integers(0, 2, [batch, keys] if form == "2d" else [batch, queries, keys])
    counts[..., 0] = 1
    return d.integers(counts, T.INT32, 0.1)


def state(d, name, *sizes):
    """A name for the batch, if no other extent has its size."""
    if d.chance(0.3) and sizes.count(sizes[0]) == 1:
        d.symbols = {sizes[0]: name}


@maker("com.microsoft.Attention", tolerance=MASKED)
def attention(d):
    batch, heads, steps, size, width = d.integer(1, 3), d.integer(1, 3), d.integer(1, 4), d.pick([2, 4]), d.integer(2, 5)
    value_size = d.pick([size, size, 3])
    past = d.integer(1, 3) if value_size == size and d.chance(0.4) else 0
    hidden, all_keys = heads * size, past + steps
    columns = 2 * hidden + heads * value_size
    d.attr("num_heads", heads)
    if value_size != size or d.chance(0.2):
        d.attr("qkv_hidden_sizes", [hidden, hidden, heads * value_size])
    d.attr("unidirectional", d.integer(0, 1), 0.5)
    d.attr("scale", 0.5, 0.3)
    d.attr("mask_filter_value", -100.0, 0.2)
    d.floats([batch, steps, width])
    d.floats([width, columns], low=-1, high=1, constant=0.5)
    d.floats([columns], low=-1, high=1, constant=0.5)
    mask(d, batch, steps, all_keys, ["ends", "bounds", "2d", "3d"])
    if past:
        d.floats([2, batch, heads, past, size])
    elif d.chance(0.3):
        d.skip()
        d.floats([d.pick([1, batch]), d.pick([1, heads]), steps, all_keys])
    d.gives(*[T.FLOAT] * (2 if past or (value_size == size and d.chance(0.4)) else 1))


@maker("com.microsoft.MultiHeadAttention", tolerance=MASKED)
def multi_head(d):
    batch, heads, queries, size = d.integer(1, 3), d.integer(1, 3), d.integer(1, 4), d.pick([2, 4, 8])
    value_size = d.pick([size, size, 3])
    causal = d.attr("unidirectional", d.integer(0, 1), 0.4)
    keys = queries if causal or d.chance(0.5) else d.integer(1, 5)
    computed = d.chance(0.2) and value_size == size
    past = d.integer(1, 3) if value_size == size and not computed and d.chance(0.4) else 0
    d.attr("num_heads", heads)
    d.attr("scale", 0.5, 0.3)
    d.attr("mask_filter_value", -100.0, 0.2)
    d.floats([batch, queries, heads * size])
    for width in (size, value_size):
        d.floats([batch, heads, keys, width] if computed else [batch, keys, heads * width])
    if d.chance(0.4):
        d.floats([2 * heads * size + heads * value_size], low=-1, high=1, constant=0.5)
    else:
        d.skip()
    mask(d, batch, queries, past + keys, ["2d", "3d"] + ([] if past else ["ends"]))
    if d.chance(0.3):
        d.floats([d.pick([1, batch]), d.pick([1, heads]), queries, past + keys])
    else:
        d.skip()
    if past:
        for _ in range(2):
            d.floats([batch, heads, past, size])
    if past or (d.chance(0.3) and not computed):
        d.gives(*[T.FLOAT] * d.pick([3, 3, 4]))
    else:
        d.gives(*d.pick([[T.FLOAT], [T.FLOAT], [T.FLOAT, None, None, T.FLOAT]]))


@maker("com.microsoft.QAttention", tolerance=MASKED)
def quantized_attention(d):
    batch, heads, steps, size, width = d.integer(1, 3), d.integer(1, 3), d.integer(1, 4), d.pick([2, 4]), d.integer(2, 5)
    past = d.integer(1, 3) if d.chance(0.3) else 0
    columns = 3 * heads * size
    weight = d.pick([T.UINT8, T.INT8])
    per_column = [columns] if d.chance(0.3) else []
    d.attr("num_heads", heads)
    d.attr("unidirectional", d.integer(0, 1), 0.5)
    d.quantized([batch, steps, width], T.UINT8)
    d.quantized_weights([width, columns], weight, 0.7)
    d.floats([columns], low=-1, high=1, constant=0.5)
    d.scale()
    d.scale(dims=per_column)
    mask(d, batch, steps, past + steps, ["ends", "2d"])
    d.zero_point(T.UINT8)
    d.zero_point(weight, per_column)
    if past:
        d.floats([2, batch, heads, past, size])
    d.gives(*[T.FLOAT] * (2 if past else 1))


@maker("com.microsoft.GroupQueryAttention", tolerance=Tolerance(1e-3, 1e-4))
def group_query(d):
    batch, kv_heads, group, size = d.integer(1, 3), d.integer(1, 2), d.pick([1, 2]), 16
    heads, elem = kv_heads * group, d.pick([T.FLOAT, T.FLOAT, T.FLOAT16])
    stage = d.pick(["prompt", "prompt in cache", "step", "growing step"])
    steps = d.integer(1, 4) if stage.startswith("prompt") else 1
    cache = {"prompt": 0, "prompt in cache": steps + 2, "step": 6, "growing step": d.integer(1, 4)}[stage]
    before = np.zeros(batch, int) if stage.startswith("prompt") else d.random.integers(0, cache, batch)
    if stage == "growing step":
        before[:] = cache
    total = int(before.max()) + steps
    d.attr("num_heads", heads)
    d.attr("kv_num_heads", kv_heads)
    d.attr("scale", 0.5, 0.3)
    d.attr("softcap", 2.0, 0.3)
    d.attr("local_window_size", d.integer(1, 3), 0.3)
    smooth = d.attr("smooth_softmax", 1, 0.2)
    rotary = d.attr("do_rotary", 1, 0.4)
    d.attr("rotary_interleaved", 1, 0.4 if rotary else 0)
    if d.chance(0.3):
        d.floats([batch, steps, (heads + 2 * kv_heads) * size], elem)
        d.skip()
        d.skip()
    else:
        for count in (heads, kv_heads, kv_heads):
            d.floats([batch, steps, count * size], elem)
    for _ in range(2):
        if cache:
            past = d.floats([batch, kv_heads, cache, size], elem)
            for row, held in zip(past, before):
                row[:, held:] = 0  # what lies behind the past says nothing
        else:
            d.skip()
    d.integers(before + steps - 1, T.INT32, 0.1)
    d.integers(total, T.INT32, 0.3)
    for _ in range(2):
        if rotary:
            d.floats([total + 2, size // 2], elem, -1, 1)
        else:
            d.skip()
    d.skip()
    if d.chance(0.3) and elem == T.FLOAT:
        d.floats([d.pick([1, batch]), d.pick([1, heads]), steps, total], elem)
    else:
        d.skip()
    if d.chance(0.2) and not smooth:
        d.floats([heads], elem)
    d.gives(elem, elem, elem)


