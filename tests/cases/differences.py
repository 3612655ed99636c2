"""Where a judge is known to be unfit (docs/where-we-differ.md gives the specification's words), and what ours may refuse."""

import dataclasses
import re

import numpy as np
from onnx import TensorProto as T

from draw import FLOATS

ONNXRUNTIME, REFERENCE = "onnxruntime", "reference"
BOTH = (ONNXRUNTIME, REFERENCE)


@dataclasses.dataclass(frozen=True)
class Unfit:
    """`judges` do not count for `ops` where `when(case)`: the other one alone does, or nobody and the case is set aside."""

    judges: tuple
    ops: str
    why: str
    when: object = lambda case: True


def has(*names):
    return lambda case: any(case.attributes.get(name) not in (None, 0, 0.0) for name in names)


def before(version):
    return lambda case: case.version < version


def is_type(*elems):
    return lambda case: any(given is not None and given[1] in elems for given in case.inputs)


def has_empty_input(case):
    return any(given is not None and given[0].size == 0 for given in case.inputs)


def has_nan(case):
    return any(given is not None and given[1] in FLOATS and np.isnan(given[0].astype(np.float64)).any() for given in case.inputs)


def has_infinity(case):
    return any(given is not None and given[1] in FLOATS and np.isinf(given[0].astype(np.float64)).any() for given in case.inputs)


def gives(elem):
    return lambda case: any(o.type.tensor_type.elem_type == elem for o in case.model.graph.output)


def outputs_more_than(count):
    return lambda case: len(case.model.graph.output) > count


def coordinates(*names):
    return lambda case: case.attributes.get("coordinate_transformation_mode") in names


def input_given(index):
    return lambda case: len(case.inputs) > index and case.inputs[index] is not None


def any_of(*predicates):
    return lambda case: any(p(case) for p in predicates)


def all_of(*predicates):
    return lambda case: all(p(case) for p in predicates)


def pads_same(case):
    return case.attributes.get("auto_pad", "").startswith("SAME")


def has_gaps(case):
    kernel = case.inputs[1][0].shape[2:]
    strides = case.attributes.get("strides", [1] * len(kernel))
    dilations = case.attributes.get("dilations", [1] * len(kernel))
    return any((k - 1) * d + 1 < s for k, s, d in zip(kernel, strides, dilations))


def has_empty_sequence(case):
    return len(case.inputs) > 4 and case.inputs[4] is not None and 0 in case.inputs[4][0]


def has_groups(case):
    return case.attributes.get("group", 1) > 1


def scaled(case):
    """(extent, scale) of each axis of a Resize or an Upsample that has scales."""
    given = case.inputs[1 if case.version < 11 else 2] if len(case.inputs) > (case.version >= 11) + 1 else None
    scales = given[0] if given is not None else np.array(case.attributes.get("scales", []), np.float32)
    dims = case.inputs[0][0].shape
    axes = case.attributes.get("axes") or range(len(dims))
    return [(dims[a], s) for a, s in zip(axes, scales)] if scales.size else []


def has_broken_length(case):
    keeps_ratio = case.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    return keeps_ratio or any(extent * float(scale) % 1 for extent, scale in scaled(case))


def is_longer_in_f32(case):
    return any(np.floor(np.float32(e) * np.float32(s)) != np.floor(e * float(s)) for e, s in scaled(case))


REDUCTIONS = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare"
UNFIT = (
    # onnx.reference
    Unfit((REFERENCE,), "Softmax LogSoftmax Hardmax", "takes one axis where opsets before 13 take all from it on", before(13)),
    Unfit((REFERENCE,), "LogSoftmax", "takes the logarithm of a rounded softmax", is_type(T.FLOAT16, T.BFLOAT16)),
    Unfit((REFERENCE,), "Add Sub Mul Div Pow And Or Xor Equal Greater Less Gemm", "does not read `broadcast` and `axis`", has("broadcast")),
    Unfit((REFERENCE,), "PRelu", "broadcasts as NumPy does", before(7)),
    Unfit((REFERENCE,), "GlobalMaxPool GlobalAveragePool", "takes two spatial dims"),
    Unfit((REFERENCE,), "AveragePool LpPool MaxPool", "strides and last windows of ceil_mode"),
    Unfit((REFERENCE,), "LpNormalization", "does not take absolute values"),
    Unfit((REFERENCE,), "LRN", "leaves channels out"),
    Unfit((REFERENCE,), "RNN GRU LSTM", "does not read sequence_lens, activations, clip and input_forget"),
    Unfit((REFERENCE,), "LayerNormalization BatchNormalization", "types of further outputs", outputs_more_than(1)),
    Unfit((REFERENCE,), "Loop Scan", "concatenates scan outputs where it should stack them"),
    Unfit((REFERENCE,), "Optional OptionalHasElement OptionalGetElement", "wraps the element"),
    Unfit((REFERENCE,), "ReduceSumSquare ReduceL1 ReduceL2", "computes small integers in i64"),
    Unfit(
        (REFERENCE,), "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
        "ignores a class and not what is before the first",
        has("ignore_index"),
    ),  # fmt: skip
    Unfit((REFERENCE,), "Unsqueeze", "inserts axes one by one"),
    Unfit(
        (REFERENCE,), "GridSample",
        "computes in the grid's type",
        lambda c: c.inputs[0][1] != c.inputs[1][1] or is_type(T.FLOAT16, T.BFLOAT16)(c),
    ),  # fmt: skip
    Unfit((REFERENCE,), "AffineGrid", "gives f32", is_type(T.FLOAT16, T.BFLOAT16, T.DOUBLE)),
    Unfit(
        (REFERENCE,), "Resize",
        "uses a length that is no whole number",
        all_of(coordinates("tf_crop_and_resize", "pytorch_half_pixel"), has_broken_length),
    ),  # fmt: skip
    Unfit((REFERENCE,), "ConvTranspose", "mixes channels of groups", has_groups),
    Unfit((REFERENCE,), "QLinearConv", "takes two spatial dims where weights have scales of their own", lambda c: c.inputs[4][0].size > 1),
    Unfit(
        (REFERENCE,), "Attention",
        "gives logits after softcap where those before are asked for",
        all_of(has("softcap"), outputs_more_than(3)),
    ),  # fmt: skip
    Unfit((REFERENCE,), "BatchNormalization", "adds another epsilon", before(14)),
    Unfit((REFERENCE,), "RoiAlign", "takes half pixels", before(16)),
    Unfit((REFERENCE,), "Shape", "does not clamp start and end"),
    Unfit((REFERENCE,), "TfIdfVectorizer", "takes weights by output", has("weights")),
    Unfit((REFERENCE,), "StringSplit", "keeps white space at the end", has("maxsplit")),
    Unfit((REFERENCE,), "Erf Gelu", "f64 has f32's accuracy", is_type(T.DOUBLE)),
    Unfit((REFERENCE,), "Gemm", "does not read beta", before(7)),
    Unfit((REFERENCE,), "Det", "gives f64 for bf16", is_type(T.BFLOAT16)),
    Unfit((REFERENCE,), "StringNormalizer", "keeps stop words of several words"),
    Unfit((REFERENCE,), REDUCTIONS, "adds up and multiplies in 16 bits", is_type(T.FLOAT16, T.BFLOAT16)),
    Unfit((REFERENCE,), "ConvTranspose", "keeps pads beside an output_shape", lambda c: {"output_shape", "pads"} <= set(c.attributes)),
    Unfit((REFERENCE,), "Resize", "rounds a place below an element", all_of(coordinates("half_pixel_symmetric"), has_broken_length)),
    Unfit((REFERENCE,), "OneHot", "computes with the two values"),
    Unfit((REFERENCE,), "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "adds up in 16 bits", is_type(T.FLOAT16, T.BFLOAT16)),
    # onnxruntime
    Unfit((ONNXRUNTIME,), "Attention", "masks logits by the lowest number", all_of(outputs_more_than(3), has("is_causal"))),
    Unfit((ONNXRUNTIME,), "RNN GRU LSTM", "holds the threshold of ThresholdedRelu back", all_of(has("clip"), has("activations"))),
    Unfit((ONNXRUNTIME,), "Resize", "takes the ratio of other axes", lambda c: {"axes", "keep_aspect_ratio_policy"} <= set(c.attributes)),
    Unfit((ONNXRUNTIME,), "BlackmanWindow HammingWindow HannWindow DFT STFT MelWeightMatrix", "f64 has f32's accuracy", gives(T.DOUBLE)),
    Unfit(
        (ONNXRUNTIME,), "ConvTranspose",
        "adds output_padding to what SAME gives, and where strides leave gaps",
        all_of(pads_same, any_of(has("output_padding"), has_gaps)),
    ),  # fmt: skip
    Unfit((REFERENCE,), "ConvTranspose", "pads by less than nothing where strides leave gaps", has_gaps),
    Unfit((ONNXRUNTIME,), "CastLike", "expands it to a Cast that rounds up", has("round_mode")),
    Unfit((ONNXRUNTIME,), "Cast CastLike", "rounds to types of 2 and 4 bits", any_of(*map(gives, (T.INT4, T.UINT4, T.INT2, T.UINT2)))),
    Unfit((ONNXRUNTIME,), "MeanVarianceNormalization", "leaves the epsilon of the function body out"),
    Unfit((ONNXRUNTIME,), "Resize Upsample", "rounds extent * scale to f32 before it is cut", is_longer_in_f32),
    Unfit(
        (ONNXRUNTIME,), "ReduceLogSumExp ReduceLogSum",
        "takes exponentials and logarithms of integers as integers",
        is_type(T.INT32, T.INT64),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "Resize", "leaves roi out on axes that keep their length", coordinates("tf_crop_and_resize")),
    Unfit(
        (ONNXRUNTIME,), "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd ReduceSum ReduceSumSquare ArgMax ArgMin",
        "shapes of empty inputs",
        has_empty_input,
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "Resize",
        "cuts the length that align_corners divides by",
        all_of(coordinates("align_corners"), has_broken_length),
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "AveragePool MaxPool LpPool",
        "pads for a window that is not dilated",
        all_of(pads_same, lambda c: "dilations" in c.attributes),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "RNN GRU LSTM", "a sequence of no step ends in zeros", has_empty_sequence),
    Unfit((ONNXRUNTIME,), "LSTM", "does not clip the input of h", has("clip")),
    Unfit((ONNXRUNTIME,), "ReduceMax ReduceMin", "loses NaN", has_nan),
    Unfit((ONNXRUNTIME,), "MatMul", "leaves the product of nothing as it finds it", has_empty_input),
    Unfit(
        (ONNXRUNTIME,), "GridSample",
        "reads beyond a border before it clamps",
        lambda c: "cubic" in c.attributes.get("mode", "") and c.attributes.get("padding_mode") == "border",
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "AffineGrid",
        "takes another corner of an extent of 1",
        all_of(has("align_corners"), lambda c: 1 in c.inputs[1][0][2:]),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "StringSplit", "splits an empty string into nothing", lambda c: "" in c.inputs[0][0]),
    # The specification leaves it open
    Unfit(BOTH, "Pow", "an integer holds no NaN", lambda c: c.inputs[0][1] not in FLOATS and c.inputs[1][1] in FLOATS and (c.inputs[0][0] < 0).any()),
    Unfit(BOTH, "ReduceMean", "the mean of nothing is undefined", has_empty_input),
    Unfit(
        BOTH, "Clip",
        "its text cuts infinities without a bound, its function body does not",
        all_of(lambda c: c.version >= 11, has_infinity),
    ),  # fmt: skip
)


def matches(rule, case):
    return case.op in rule.ops.split() and rule.when(case)


def is_open(case):
    """Whether the specification leaves the answer open."""
    return any(rule.judges == BOTH and matches(rule, case) for rule in UNFIT)


def decided(case, made):
    """The judge whose outputs count, "" where neither's does (the case is set aside); None: nothing is known against either."""
    unfit = {judge for rule in UNFIT if matches(rule, case) for judge in rule.judges}
    if not unfit:
        return None
    fit = [judge for judge in BOTH if judge not in unfit and not getattr(made, judge)]
    return fit[0] if fit else ""


# What ours may refuse: words of its message after the op and its opset, and the reason, which docs/limits.md gives.
REFUSALS = (
    (r"its strings (are above the limit|have more than)", "more strings than one folded value may hold"),
    (r"the op is not implemented", "an op without a definition"),
    (r"the type is not implemented", "a type that an op is not defined for"),
    (r"training_mode is not implemented", "training"),
    (r"is not known before the Run, when strings are computed", "strings that need numbers of the Run"),
    (r"6-bit floating point tensors are not taken", "6-bit floats"),
    (r"input \"sequence_lens\" has no newer form", "Scan 8 with lengths"),
    (r"Gemm .*: alpha and beta other than 1 on integers", "Gemm on integers with alpha or beta"),
    (r"BatchNormalization .*: attribute \"spatial\" = 0", "BatchNormalization by element"),
    (r"BatchNormalization .*: input \d is \w+, input 0 is", "BatchNormalization in types that differ"),
    (r"QLinearMatMul .*: input \d is f8", "QLinearMatMul on 8-bit floats"),
)


def allowed_refusal(made, message):
    """Why ours may refuse what a judge runs; empty: it may not."""
    return next((reason for words, reason in REFUSALS if re.search(words, message)), "")


def is_false_diagnosis(message):
    """Whether it blames data for a shape. An input of more than one dim is never read before the Run: of that it is true."""
    return "depends on data" in message and not re.search(r"the elements of \"\w+\" i\d+\[[^\]]*,", message)
