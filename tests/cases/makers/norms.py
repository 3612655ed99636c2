"""Normalizations and losses."""

from onnx import TensorProto as T

from draw import is_float
from makers import IN_F32, SUMS, Tolerance, maker
from makers.convolution import image


@maker("BatchNormalization", tolerance=Tolerance(1e-4, 1e-5, f64_scale=1e-1))  # with mixed types onnxruntime computes f64 in f32
def batch_norm(d):
    dims = d.shape(low=2, high=5)
    dims[1] = max(dims[1], 1)
    d.attr("epsilon", d.pick([1e-5, 1e-2]), 0.5)
    d.attr("momentum", 0.75, 0.3)
    d.attr("is_test", 1)
    d.attr("consumed_inputs", [0, 0, 0, 1, 1])
    per = [dims[1]]
    if d.has_attr("spatial") and d.chance(0.2):
        d.attr("spatial", 0)
        per = dims[1:]
    training = d.attr("training_mode", 1, 0.2)
    d.output_count = d.pick([1, 3]) if training else 1
    d.tensor(dims)
    names = [i.type_str for i in d.schema.inputs]
    for i in (1, 2, 3, 4):
        d.tensor(per, names[i], 0.1 if i == 4 else -2, 2, constant=0.5)


@maker("InstanceNormalization", "GroupNormalization", tolerance=IN_F32)
def plane_norm(d):
    dims = image(d)
    groups = d.pick([g for g in (1, 2, dims[1]) if dims[1] % g == 0])
    d.attr("num_groups", groups)
    d.attr("epsilon", d.pick([1e-5, 1e-2]), 0.5)
    d.attr("stash_type", 1, 0.3)
    d.tensor(dims)
    for _ in range(2):
        d.tensor([dims[1]], constant=0.5)


@maker("LayerNormalization", "RMSNormalization", tolerance=IN_F32)
def layer_norm(d):
    dims = d.shape(low=1, high=5)
    axis = d.axis(len(dims))
    if axis != -1 or d.chance(0.5):
        d.attr("axis", axis)
    d.attr("epsilon", d.pick([1e-5, 1e-2]), 0.5)
    d.attr("stash_type", 1, 0.3)
    normalized = dims[axis:] if axis < 0 else dims[axis:]
    formals = [i.type_str for i in d.schema.inputs]
    scale = d.broadcast(normalized) if d.chance(0.3) else normalized
    d.tensor(dims)
    d.bound.setdefault("V", d.bound["T"])  # ONNX's shape inference requires the same type
    d.tensor(scale, formals[1], constant=0.5)
    d.bound["U"] = T.FLOAT
    if d.op == "LayerNormalization":
        if d.chance(0.5):
            d.tensor(d.broadcast(normalized) if d.chance(0.3) else normalized, constant=0.5)
        d.output_count = d.pick([1, 1, 2, 3])


@maker("LRN", tolerance=SUMS)
def lrn(d):
    d.attr("size", d.pick([1, 3, 5, 2]))
    d.attr("alpha", d.pick([1e-4, 0.1]), 0.5)
    d.attr("beta", d.pick([0.75, 0.5]), 0.5)
    d.attr("bias", d.pick([1.0, 2.0]), 0.5)
    d.tensor(image(d, 2))


@maker("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", tolerance=SUMS)
def loss(d):
    classes = d.integer(1, 5)
    dims = [d.integer(1, 4), classes, *d.shape(high=3, zero=0)]
    d.attr("reduction", d.pick(["none", "sum", "mean"]), 0.7)
    ignored = d.attr("ignore_index", d.pick([0, classes - 1, -1, -100]), 0.4)
    target = d.random.integers(0, classes, [dims[0], *dims[2:]])
    if ignored is not None and ignored < 0 and target.size > 1:
        target.flat[0] = ignored
    d.tensor(dims, low=-5, high=5)
    d.integers(target, d.pick([T.INT64, T.INT32]), 0.2)
    if d.chance(0.4):
        d.tensor([classes], low=0.25, high=2)
    if d.op == "SoftmaxCrossEntropyLoss":
        d.output_count = d.pick([1, 2])
    assert is_float(d.type("T"))
