"""Ops that draw random numbers, in cases that leave nothing to chance: every runtime draws others."""

import numpy as np
from onnx import TensorProto as T
from onnx import helper

from draw import FLOATS
from makers import EXACT, maker

VALUES = (0.5, 1.0, -2.0)  # exact in every float type


def constant_numbers(d):
    """Attributes by which every number is the same."""
    value = d.pick(VALUES)
    if d.op.startswith("RandomUniform"):
        d.attr("low", value)
        d.attr("high", value)
    else:
        d.attr("mean", value)
        d.attr("scale", 1e-30)  # is lost by rounding; 0 aborts onnxruntime
    d.attr("seed", float(d.integer(0, 9)), 0.5)


@maker("RandomNormal", "RandomUniform", tolerance=EXACT)
def numbers(d):
    constant_numbers(d)
    d.attr("shape", d.shape(low=1))
    d.bound["T"] = d.attr("dtype", d.pick(d.allowed("T")), 0.7) or T.FLOAT


@maker("RandomNormalLike", "RandomUniformLike", tolerance=EXACT)
def numbers_like(d):
    constant_numbers(d)
    dtype = d.attr("dtype", d.pick(d.allowed("T2")), 0.6)
    elem = d.type("T1", None if dtype else d.allowed("T2"))
    d.tensor(d.shape(), "T1")
    d.bound["T2"] = dtype or elem


@maker("Bernoulli", tolerance=EXACT)
def bernoulli(d):
    elem = d.type("T1")
    dims = d.shape()
    d.add(d.values(dims, T.BOOL).astype(d.values([], elem).dtype), elem)
    d.attr("seed", float(d.integer(0, 9)), 0.5)
    d.bound["T2"] = d.attr("dtype", d.pick(d.allowed("T2")), 0.6) or elem


@maker("Multinomial", tolerance=EXACT)
def multinomial(d):
    elem = d.type("T1", FLOATS)
    rows, classes = d.shape(rank=2)
    logits = np.full([rows, max(classes, 1)], -1e4)
    for row in logits:
        row[d.integer(0, len(row) - 1)] = d.pick(VALUES)
    d.add(logits.astype(d.values([], elem).dtype), elem)
    d.attr("sample_size", d.integer(1, 9), 0.7)
    d.attr("seed", float(d.integer(0, 9)), 0.5)
    dtype = d.attr("dtype", d.pick([T.INT32, T.INT64]), 0.6) or T.INT32
    # As a graph, so that no row is spoiled: it would have several classes to draw from.
    d.nodes, d.graph_outputs = [helper.make_node(d.op, ["x0"], ["y0"], name="node", **d.attributes)], [("y0", dtype)]
