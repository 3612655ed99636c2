"""Known errors of the judges (docs/where-we-differ.md quotes the specification), and the refusals by onnx-cudnn that are expected."""

import dataclasses
import re

import numpy as np
from onnx import TensorProto as T
from onnx import numpy_helper

from draw import FLOATS

ONNXRUNTIME, REFERENCE = "onnxruntime", "reference"
BOTH = (ONNXRUNTIME, REFERENCE)


@dataclasses.dataclass(frozen=True)
class Unfit:
    """The outputs of `judges` are ignored for cases of `ops` for which `when(case)` is true. If no other judge is left, the case is set aside."""

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


def takes_one(case):
    """Whether a Softmax takes one element at a time."""
    dims, axis = case.inputs[0][0].shape, case.attributes.get("axis", -1)
    return np.prod(dims[axis:] if case.attributes["opset"] < 13 else dims[axis]) == 1


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
    """(extent, scale) of each scaled axis of a Resize or an Upsample."""
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


# ai.onnx.ml
def is_transform(*names):
    return lambda case: case.attributes.get("post_transform") in names


def has_one_target(case):
    return case.op == "SVMRegressor" or case.attributes.get("n_targets", case.attributes.get("targets", 1)) == 1


def is_classifier_of_two(case):
    labels = [v for k, v in case.attributes.items() if k.startswith("classlabels")]
    return len(labels) == 1 and len(labels[0]) == 2


def has_one_score(case):
    """Whether one score separates two classes."""
    rows = len(case.attributes.get("intercepts", [0, 0])) if case.op == "LinearClassifier" else len(set(case.attributes.get("class_ids", [0])))
    return is_classifier_of_two(case) and rows == 1 and not case.attributes.get("prob_a")


def is_linear_svm(case):
    return not case.attributes.get("vectors_per_class")


def has_unequal_branches(case):
    modes = case.attributes.get("nodes_modes")
    return "BRANCH_NEQ" in modes if isinstance(modes, list) else 5 in numpy_helper.to_array(modes)


def has_members(case):
    return MEMBER in numpy_helper.to_array(case.attributes["nodes_modes"])


def has_leaf_as_tree(case):
    yes, no = (case.attributes[f"nodes_{side}nodeids"] for side in ("true", "false"))
    return any(0 <= root < len(yes) and yes[root] == no[root] for root in case.attributes["tree_roots"])


def leaves_targets_out(case):
    """Whether MIN or MAX may find no vote for a target."""
    return case.attributes.get("aggregate_function") in (2, 3, "MIN", "MAX") and not has_one_target(case)


MEMBER = 6
ONE_SCORE = ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
REGRESSORS = "LinearRegressor SVMRegressor TreeEnsembleRegressor"
REDUCTIONS = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare"
UNFIT = (
    # onnx.reference
    Unfit((REFERENCE,), "Softmax LogSoftmax Hardmax", "reduces one axis; before opset 13 it is all axes from there on", before(13)),
    Unfit((REFERENCE,), "LogSoftmax", "takes the logarithm of a rounded softmax", is_type(T.FLOAT16, T.BFLOAT16)),
    Unfit((REFERENCE,), "Add Sub Mul Div Pow And Or Xor Equal Greater Less Gemm", "does not read `broadcast` and `axis`", has("broadcast")),
    Unfit((REFERENCE,), "PRelu", "broadcasts as NumPy does", before(7)),
    Unfit((REFERENCE,), "GlobalMaxPool GlobalAveragePool", "reduces the last two dims only"),
    Unfit((REFERENCE,), "AveragePool LpPool MaxPool", "wrong strides, and wrong last windows with ceil_mode"),
    Unfit((REFERENCE,), "LpNormalization", "does not take absolute values"),
    Unfit((REFERENCE,), "LRN", "omits channels of the window"),
    Unfit((REFERENCE,), "RNN GRU LSTM", "does not read sequence_lens, activations, clip and input_forget"),
    Unfit((REFERENCE,), "LayerNormalization BatchNormalization", "wrong types of the outputs after the first", outputs_more_than(1)),
    Unfit((REFERENCE,), "Loop Scan", "concatenates scan outputs where it should stack them"),
    Unfit((REFERENCE,), "Optional OptionalHasElement OptionalGetElement", "wraps the element in a list"),
    Unfit((REFERENCE,), "ReduceSumSquare ReduceL1 ReduceL2", "computes integers of fewer than 64 bits in int64"),
    Unfit(
        (REFERENCE,), "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
        "does not ignore a negative ignore_index",
        has("ignore_index"),
    ),  # fmt: skip
    Unfit((REFERENCE,), "Unsqueeze", "inserts axes one by one"),
    Unfit(
        (REFERENCE,), "GridSample",
        "computes in the grid's type",
        lambda c: c.inputs[0][1] != c.inputs[1][1] or is_type(T.FLOAT16, T.BFLOAT16)(c),
    ),  # fmt: skip
    Unfit((REFERENCE,), "AffineGrid", "returns f32", is_type(T.FLOAT16, T.BFLOAT16, T.DOUBLE)),
    Unfit(
        (REFERENCE,), "Resize",
        "uses an output length that is not rounded down",
        all_of(coordinates("tf_crop_and_resize", "pytorch_half_pixel"), has_broken_length),
    ),  # fmt: skip
    Unfit((REFERENCE,), "ConvTranspose", "mixes channels of groups", has_groups),
    Unfit((REFERENCE,), "QLinearConv", "requires two spatial dims for scales per channel", lambda c: c.inputs[4][0].size > 1),
    Unfit(
        (REFERENCE,), "ConvInteger",
        "takes two spatial dims where filters have zero points of their own",
        lambda c: c.inputs[0][0].ndim != 4 and input_given(3)(c) and c.inputs[3][0].size > 1,
    ),  # fmt: skip
    Unfit(
        (REFERENCE,), "Attention",
        "returns the logits after softcap instead of before",
        all_of(has("softcap"), outputs_more_than(3)),
    ),  # fmt: skip
    Unfit((REFERENCE,), "BatchNormalization", "uses another epsilon", before(14)),
    Unfit((REFERENCE,), "RoiAlign", "uses half-pixel coordinates", before(16)),
    Unfit((REFERENCE,), "Shape", "does not clamp start and end"),
    Unfit((REFERENCE,), "TfIdfVectorizer", "does not index weights by position in the pool", has("weights")),
    Unfit((REFERENCE,), "StringSplit", "keeps trailing white space", has("maxsplit")),
    Unfit((REFERENCE,), "Erf Gelu", "computes f64 in f32", is_type(T.DOUBLE)),
    Unfit((REFERENCE,), "Gemm", "does not read beta", before(7)),
    Unfit((REFERENCE,), "Det", "returns f64 for bf16", is_type(T.BFLOAT16)),
    Unfit((REFERENCE,), "StringNormalizer", "keeps stop words of several words"),
    Unfit((REFERENCE,), REDUCTIONS, "accumulates in 16 bits", is_type(T.FLOAT16, T.BFLOAT16)),
    Unfit((REFERENCE,), "ConvTranspose", "uses pads although output_shape is given", lambda c: {"output_shape", "pads"} <= set(c.attributes)),
    Unfit((REFERENCE,), "Resize", "rounds a position on an element to just below it", all_of(coordinates("half_pixel_symmetric"), has_broken_length)),
    Unfit((REFERENCE,), "OneHot", "computes with the two values instead of selecting one"),
    Unfit((REFERENCE,), "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "accumulates in 16 bits", is_type(T.FLOAT16, T.BFLOAT16)),
    Unfit((REFERENCE,), "Unique", "takes what is not sorted along axis 0, or sorts it", lambda c: c.attributes.get("sorted") == 0),
    Unfit(
        (REFERENCE,), f"{REGRESSORS} SVMClassifier LinearClassifier Normalizer Scaler FeatureVectorizer",
        "computes in the input's type, and gives it",
        lambda c: not is_type(T.FLOAT)(c),
    ),  # fmt: skip
    Unfit((REFERENCE,), "TreeEnsemble", "does not read post_transform", has("post_transform")),
    Unfit((REFERENCE,), "TreeEnsemble TreeEnsembleRegressor", "gives the largest number for a target without a vote", leaves_targets_out),
    Unfit((REFERENCE,), "TreeEnsemble", "takes a root's index for a leaf's", has_leaf_as_tree),
    Unfit((REFERENCE,), "TreeEnsembleClassifier", "gives 1 - s for a score s that is no probability", all_of(has_one_score, is_transform(None, "NONE"))),
    Unfit(
        (REFERENCE,), "TreeEnsembleClassifier LinearClassifier",
        "takes the top class of transformed scores, among them NaN",
        is_transform("PROBIT", "SOFTMAX_ZERO"),
    ),  # fmt: skip
    Unfit(
        (REFERENCE,), "SVMClassifier",
        "takes the second of two classes where no weight is negative",
        all_of(is_classifier_of_two, lambda c: min(c.attributes["coefficients"], default=0) >= 0),
    ),  # fmt: skip
    Unfit((REFERENCE,), "SVMClassifier", "multiplies other pairs of probabilities", lambda c: c.attributes.get("prob_a") and not is_classifier_of_two(c)),
    Unfit((REFERENCE,), "SVMClassifier SVMRegressor", "takes the numbers of a vector for rows", lambda c: c.inputs[0][0].ndim == 1),
    Unfit((REFERENCE,), "SVMClassifier", "gives 0 and 1 as labels of linear models", is_linear_svm),
    # onnxruntime
    Unfit((ONNXRUNTIME,), "SVMClassifier", "takes the second of two classes where one score is positive", all_of(is_classifier_of_two, is_linear_svm)),
    Unfit((ONNXRUNTIME,), f"{REGRESSORS} TreeEnsemble LinearClassifier SVMClassifier TreeEnsembleClassifier", "gives NaN where all scores are zero", is_transform(3, "SOFTMAX_ZERO")),
    Unfit((ONNXRUNTIME,), f"{REGRESSORS} TreeEnsemble", "does not transform a single score", all_of(has_one_target, is_transform(*ONE_SCORE))),
    Unfit((ONNXRUNTIME,), "SVMRegressor", "does not transform scores", is_transform("PROBIT")),
    Unfit(
        (ONNXRUNTIME,), "TreeEnsembleClassifier LinearClassifier SVMClassifier",
        "does not transform the scores of two classes that one score separates",
        all_of(has_one_score, is_transform("SOFTMAX", "SOFTMAX_ZERO")),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "LinearClassifier", "gives 1 - s for a score s that is no probability", all_of(has_one_score, is_transform(None, "NONE"))),
    Unfit(
        (ONNXRUNTIME,), "TreeEnsembleClassifier TreeEnsembleRegressor",
        "a NaN takes the true side of BRANCH_NEQ, whatever its track",
        all_of(has_nan, has_unequal_branches),
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "TreeEnsembleClassifier",
        "gives 0 and 1 as labels, by the sign of one score",
        all_of(is_classifier_of_two, lambda c: not has_one_score(c)),
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "TreeEnsembleClassifier",
        "compares a score with 0.5 before it is transformed",
        all_of(has_one_score, is_transform("LOGISTIC")),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "TreeEnsemble", "cuts x to an integer before it looks for it among members", has_members),
    Unfit((ONNXRUNTIME,), "TreeEnsemble", "exchanges SOFTMAX and LOGISTIC", is_transform(1, 2)),
    Unfit((ONNXRUNTIME,), "TreeEnsemble", "computes PROBIT in f32", all_of(is_transform(4), is_type(T.DOUBLE))),
    Unfit((ONNXRUNTIME,), "Bernoulli", "inlines the function body, which gives a one with probability 1 - x"),
    Unfit((ONNXRUNTIME,), "Attention", "masks logits by the lowest finite number", all_of(outputs_more_than(3), has("is_causal"))),
    Unfit((ONNXRUNTIME,), "RNN GRU LSTM", "ThresholdedRelu is 0 at its threshold", all_of(has("clip"), has("activations"))),
    Unfit((ONNXRUNTIME,), "Resize", "computes the ratio from the wrong axes", lambda c: {"axes", "keep_aspect_ratio_policy"} <= set(c.attributes)),
    Unfit((ONNXRUNTIME,), "BlackmanWindow HammingWindow HannWindow DFT STFT MelWeightMatrix", "computes f64 in f32", gives(T.DOUBLE)),
    Unfit(
        (ONNXRUNTIME,), "ConvTranspose",
        "auto_pad = SAME: adds output_padding to the length, and is too short where strides leave gaps",
        all_of(pads_same, any_of(has("output_padding"), has_gaps)),
    ),  # fmt: skip
    Unfit((REFERENCE,), "ConvTranspose", "computes negative pads where strides leave gaps", has_gaps),
    Unfit((ONNXRUNTIME,), "CastLike", "expands it to a Cast that rounds up", has("round_mode")),
    Unfit((ONNXRUNTIME,), "Cast CastLike", "rounds to nearest for types of 2 and 4 bits", any_of(*map(gives, (T.INT4, T.UINT4, T.INT2, T.UINT2)))),
    Unfit((ONNXRUNTIME,), "MeanVarianceNormalization", "omits the epsilon of the function body"),
    Unfit((ONNXRUNTIME,), "Resize Upsample", "rounds extent * scale to f32 before rounding down", is_longer_in_f32),
    Unfit(
        (ONNXRUNTIME,), "ReduceLogSumExp ReduceLogSum",
        "computes exponentials and logarithms of integers in integers",
        is_type(T.INT32, T.INT64),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "Resize", "ignores roi on axes whose length is unchanged", coordinates("tf_crop_and_resize")),
    Unfit(
        (ONNXRUNTIME,), "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd ReduceSum ReduceSumSquare ArgMax ArgMin",
        "wrong output shapes for empty inputs",
        has_empty_input,
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "Resize",
        "rounds down the length by which align_corners divides",
        all_of(coordinates("align_corners"), has_broken_length),
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "AveragePool MaxPool LpPool",
        "computes the pads without dilations",
        all_of(pads_same, lambda c: "dilations" in c.attributes),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "RNN GRU LSTM", "returns zeros for an empty sequence instead of the initial state", has_empty_sequence),
    Unfit((ONNXRUNTIME,), "LSTM", "does not clip the input of h", has("clip")),
    Unfit((ONNXRUNTIME,), "ReduceMax ReduceMin", "loses NaN", has_nan),
    Unfit((ONNXRUNTIME,), "MatMul", "leaves the output uninitialized for an empty inner dim", has_empty_input),
    Unfit(
        (ONNXRUNTIME,), "GridSample",
        "reads beyond the border before clamping",
        lambda c: "cubic" in c.attributes.get("mode", "") and c.attributes.get("padding_mode") == "border",
    ),  # fmt: skip
    Unfit(
        (ONNXRUNTIME,), "AffineGrid",
        "another coordinate for an extent of 1",
        all_of(has("align_corners"), lambda c: 1 in c.inputs[1][0][2:]),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "StringSplit", "splits an empty string into no parts", lambda c: "" in c.inputs[0][0]),
    Unfit((ONNXRUNTIME,), "com.microsoft.QLinearSoftmax", "a probability of 1 is more than 8 bits hold", takes_one),
    # undefined by the specification
    Unfit(
        BOTH, "Pow",
        "a fractional power of a negative integer is NaN, which integers lack",
        lambda c: c.inputs[0][1] not in FLOATS and c.inputs[1][1] in FLOATS and (c.inputs[0][0] < 0).any(),
    ),  # fmt: skip
    Unfit((ONNXRUNTIME,), "NonZero", "gives an index of one coordinate into a scalar", lambda c: c.inputs[0][0].ndim == 0),
    Unfit(BOTH, "ReduceMean", "the mean of nothing is undefined", has_empty_input),
    Unfit(
        BOTH, "Clip",
        "the text clips infinities if a bound is missing, the function body does not",
        all_of(lambda c: c.version >= 11, has_infinity),
    ),  # fmt: skip
    # ai.onnx.ml: both do what the text does not say
    Unfit(BOTH, "TreeEnsemble", "a NaN takes the true side of BRANCH_NEQ, whatever its track", all_of(has_nan, has_unequal_branches)),
    Unfit(BOTH, "LinearClassifier SVMClassifier TreeEnsembleClassifier", "PROBIT of one score", all_of(has_one_score, is_transform("PROBIT"))),
    Unfit(BOTH, "TreeEnsemble", "a single score is not transformed", all_of(has_one_target, has("post_transform"))),
)


def matches(rule, case):
    return case.op in rule.ops.split() and rule.when(case)


def is_open(case):
    """Whether the specification does not define the result."""
    return any(rule.judges == BOTH and matches(rule, case) for rule in UNFIT)


def decided(case, made):
    """The judge whose outputs are expected; "": neither judge's, the case is set aside; None: no error of the judges is known for this case."""
    unfit = {judge for rule in UNFIT if matches(rule, case) for judge in rule.judges}
    if not unfit:
        return None
    fit = [judge for judge in BOTH if judge not in unfit and not getattr(made, judge)]
    return fit[0] if fit else ""


# Expected refusals by onnx-cudnn: a pattern of its message, and the reason, which is documented in docs/limits.md.
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
    """The reason if onnx-cudnn may refuse the case with this message although a judge runs it; otherwise empty."""
    return next((reason for words, reason in REFUSALS if re.search(words, message)), "")


def is_false_diagnosis(message):
    """Whether the message says that a shape depends on data although the data are known. Inputs of more than one dim are never read before the Run:
    for them it is true."""
    return "depends on data" in message and not re.search(r"the elements of \"\w+\" i\d+\[[^\]]*,", message)
