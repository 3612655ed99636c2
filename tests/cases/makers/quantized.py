"""Quantization and dequantization."""

import numpy as np
from onnx import TensorProto as T

from makers import QUANTIZED, maker

FOUR_BYTE = (T.INT32,)
FLOAT8 = (T.FLOAT8E4M3FN, T.FLOAT8E4M3FNUZ, T.FLOAT8E5M2, T.FLOAT8E5M2FNUZ, T.FLOAT4E2M1)


def scale_shape(d, dims):
    """Shape of the scales: per tensor, per axis, or per block."""
    kinds = ["tensor"] + (["axis"] if d.has_attr("axis") else []) + (["blocks"] if d.has_attr("block_size") else [])
    kind = d.pick(kinds) if dims else "tensor"
    if kind == "tensor":
        return []
    axis = d.axis(len(dims))
    if axis != 1 or d.chance(0.5):
        d.attr("axis", axis)
    if kind == "axis":
        return [dims[axis]]
    size = d.integer(1, max(1, dims[axis]))
    d.attr("block_size", size)
    return [-(-e // size) if i == axis % len(dims) else e for i, e in enumerate(dims)]


@maker("QuantizeLinear", tolerance=QUANTIZED)
def quantize(d):
    source = d.type("T1", [t for t in d.allowed("T1") if t != T.INT32 or d.version < 21])
    dims = d.shape(low=1, high=4)
    scales = scale_shape(d, dims)
    formals = [i.type_str for i in d.schema.inputs]
    if formals[1] not in ("T1", "tensor(float)"):
        d.bound["T2"] = source if source != T.INT32 else T.FLOAT
    d.tensor(dims, "T1", -40, 40)
    d.tensor(scales, d.bound.get(formals[1], T.FLOAT), 0.25, 2, constant=0.6)
    target = d.type(formals[2])
    d.attr("saturate", d.integer(0, 1), 0.4 if target in FLOAT8 else 0)
    if d.has_attr("output_dtype") and d.chance(0.3):
        d.attr("output_dtype", target)
        return
    if target == T.UINT8 and d.chance(0.4):
        return
    zero = d.values(scales, target, 0, 0 if target in FLOAT8 else 5)
    d.add(zero, target, 0.6)


@maker("DequantizeLinear", tolerance=QUANTIZED)
def dequantize(d):
    dims = d.shape(low=1, high=4)
    scales = scale_shape(d, dims)
    formals = [i.type_str for i in d.schema.inputs]
    source = d.type(formals[0])
    d.tensor(dims, source, -100, 100)
    d.tensor(scales, d.type("T2") if formals[1] == "T2" else T.FLOAT, 0.25, 2, constant=0.6)
    if d.has_attr("output_dtype"):
        must = d.bound["T2"] == T.FLOAT8E8M0
        d.bound["T3"] = d.attr("output_dtype", d.pick(d.allowed("T3")), 1.0 if must else 0.2) or d.bound["T2"]
    if source not in FOUR_BYTE and d.chance(0.6):
        zero = d.values(scales, source, 0, 0 if source in FLOAT8 else 5)
        d.add(np.asarray(zero), source, 0.6)


@maker("DynamicQuantizeLinear", tolerance=QUANTIZED)
def dynamic_quantize(d):
    d.output_count = 3
    d.bound["T2"] = T.UINT8
    d.bound["tensor(float)"] = T.FLOAT
    low = d.pick([-4, 0, 1, -3])
    d.tensor(d.shape(zero=0), "T1", low, low + d.integer(1, 6))
