"""Control flow, sequences, optionals and strings. No graph input or output is a sequence."""

import numpy as np
from onnx import TensorProto as T
from onnx import helper

from makers import EXACT, maker


def value(name, elem, dims=None):
    return helper.make_tensor_value_info(name, elem, dims)


def graph_of(d, nodes, outputs):
    d.nodes, d.graph_outputs = nodes, outputs


BODY_OPS = ("Neg", "Abs", "Relu")


@maker("If")
def if_(d):
    elem = d.pick([T.FLOAT, T.DOUBLE])
    dims = d.shape(high=3)
    branches = {}
    for name in ("then_branch", "else_branch"):
        node = helper.make_node(d.pick(["Add", "Mul", "Sub"]), ["x1", "x1"], [f"{name}_y"])
        branches[name] = helper.make_graph([node], name, [], [value(f"{name}_y", elem, dims if d.version < 11 else None)])
    d.add(np.array(d.chance(0.5)), T.BOOL, 0.5)
    d.tensor(dims, elem)
    graph_of(d, [helper.make_node("If", ["x0"], ["y0"], name="node", **branches)], [("y0", elem)])


@maker("Loop")
def loop(d):
    elem = d.pick([T.FLOAT, T.DOUBLE])
    dims = d.shape(high=3)
    iterations = d.integer(0, 4)
    nodes = [
        helper.make_node("Identity", ["keep_in"], ["keep_out"]),
        helper.make_node(d.pick(["Add", "Mul", "Sub"]), ["state_in", "x2"], ["state_out"]),
        helper.make_node(d.pick(BODY_OPS), ["state_out"], ["scan_out"]),
    ]
    body = helper.make_graph(
        nodes, "body", [value("iteration", T.INT64, []), value("keep_in", T.BOOL, []), value("state_in", elem, dims)],
        [value("keep_out", T.BOOL, []), value("state_out", elem, dims), value("scan_out", elem, dims)],
    )  # fmt: skip
    d.integers(iterations, constant=0.8)
    d.add(np.array(d.chance(0.9)), T.BOOL, 0.8)
    d.tensor(dims, elem)
    names = ["x0", "x1" if d.chance(0.5) else "", "x2"]
    if not names[1]:
        d.inputs[1] = None
    graph_of(d, [helper.make_node("Loop", names, ["y0", "y1"], name="node", body=body)], [("y0", elem), ("y1", elem)])


@maker("Scan")
def scan(d):
    elem = d.pick([T.FLOAT, T.DOUBLE])
    dims, iterations = d.shape(high=2, zero=0), d.integer(1, 4)
    legacy = d.version == 8
    nodes = [helper.make_node(d.pick(["Add", "Sub"]), ["state_in", "slice_in"], ["state_out"]), helper.make_node("Neg", ["state_out"], ["slice_out"])]
    body = helper.make_graph(
        nodes, "body", [value("state_in", elem, dims), value("slice_in", elem, dims)], [value("state_out", elem, dims), value("slice_out", elem, dims)]
    )
    attributes = {"body": body, "num_scan_inputs": 1}
    axis = 0
    if legacy:
        if d.chance(0.5):
            attributes["directions"] = [d.integer(0, 1)]
    else:
        axis = d.integer(0, len(dims))
        if axis or d.chance(0.3):
            attributes["scan_input_axes"] = [axis - len(dims) - 1 if d.version > 9 and d.chance(0.4) else axis]
        for name in ("scan_input_directions", "scan_output_directions"):
            if d.chance(0.4):
                attributes[name] = [d.integer(0, 1)]
        if d.chance(0.3):
            attributes["scan_output_axes"] = [d.integer(0, len(dims))]
    batch = [d.integer(1, 2)] if legacy else []
    d.tensor(batch + dims, elem)
    d.tensor(batch + dims[:axis] + [iterations] + dims[axis:], elem)
    names = ["", "x0", "x1"] if legacy else ["x0", "x1"]
    graph_of(d, [helper.make_node("Scan", names, ["y0", "y1"], name="node", **attributes)], [("y0", elem), ("y1", elem)])


def sequence_of(d, count, axis=None):
    """Adds tensors as inputs that differ along `axis` only; returns their type, dims, and a node that makes a sequence of them."""
    elem = d.pick([T.FLOAT, T.INT64, T.DOUBLE, T.INT32])
    dims = d.shape(low=1, high=3)
    for _ in range(count):
        d.tensor([d.extent() if i == axis else e for i, e in enumerate(dims)], elem)
    return elem, dims, helper.make_node("SequenceConstruct", [f"x{i}" for i in range(count)], ["s"])


def position(d, count, low=None):
    """Adds an input that is a position in a sequence."""
    d.integers(d.integer(-count if low is None else low, count - 1), d.pick([T.INT64, T.INT32]), 1.0)
    return f"x{len(d.inputs) - 1}"


@maker("SequenceConstruct", "SequenceAt", tolerance=EXACT)
def sequence_at(d):
    count = d.integer(1, 3)
    elem, _, made = sequence_of(d, count, axis=0)
    graph_of(d, [made, helper.make_node("SequenceAt", ["s", position(d, count)], ["y0"], name="node")], [("y0", elem)])


@maker("SequenceInsert", "SequenceErase", "SequenceLength", "SequenceEmpty", tolerance=EXACT)
def sequence_changes(d):
    count = d.integer(2, 3)
    elem, dims, made = sequence_of(d, count, axis=0)
    nodes = [made]
    if d.op == "SequenceErase":
        nodes.append(helper.make_node("SequenceErase", ["s", position(d, count)] if d.chance(0.7) else ["s"], ["t"], name="node"))
    else:
        if d.op == "SequenceEmpty":
            nodes = [helper.make_node("SequenceEmpty", [], ["s"], name="node", dtype=elem)]
        place = [position(d, count)] if d.op == "SequenceInsert" and d.chance(0.6) else []
        nodes.append(helper.make_node("SequenceInsert", ["s", "x0", *place], ["t"]))
    nodes.append(helper.make_node("SequenceLength", ["t"], ["y0"]))
    nodes.append(helper.make_node("SequenceAt", ["t", position(d, 1, low=-1)], ["y1"]))
    graph_of(d, nodes, [("y0", T.INT64), ("y1", elem)])


@maker("ConcatFromSequence", tolerance=EXACT)
def concat_from_sequence(d):
    new = d.integer(0, 1)
    rank_axis = 0
    elem, dims, made = sequence_of(d, d.integer(1, 3), axis=None if new else rank_axis)
    axis = d.integer(0, len(dims)) if new else rank_axis
    axis = axis - len(dims) - new if d.chance(0.4) else axis
    node = helper.make_node("ConcatFromSequence", ["s"], ["y0"], name="node", axis=axis, new_axis=new)
    graph_of(d, [made, node], [("y0", elem)])


@maker("SplitToSequence", tolerance=EXACT)
def split_to_sequence(d):
    dims = d.shape(low=1, high=3, zero=0)
    axis = d.axis(len(dims))
    elem = d.pick([T.FLOAT, T.INT64, T.DOUBLE])
    d.tensor(dims, elem)
    names, attributes = ["x0"], {"axis": axis}
    if d.chance(0.6):
        part = d.integer(1, dims[axis])
        d.integers(part if d.chance(0.5) else [part, dims[axis] - part], constant=1.0)
        names.append("x1")
    else:
        attributes["keepdims"] = d.integer(0, 1)
    nodes = [helper.make_node("SplitToSequence", names, ["s"], name="node", **attributes)]
    nodes.append(helper.make_node("SequenceLength", ["s"], ["y0"]))
    nodes.append(helper.make_node("SequenceAt", ["s", position(d, 1, low=-1)], ["y1"]))
    graph_of(d, nodes, [("y0", T.INT64), ("y1", elem)])


@maker("SequenceMap")
def sequence_map(d):
    count = d.integer(1, 3)
    elem, dims, made = sequence_of(d, count)
    body = helper.make_graph([helper.make_node("Add", ["a", "a"], ["b"])], "body", [value("a", elem)], [value("b", elem)])
    nodes = [made, helper.make_node("SequenceMap", ["s"], ["t"], name="node", body=body)]
    nodes.append(helper.make_node("SequenceAt", ["t", position(d, count)], ["y0"]))
    graph_of(d, nodes, [("y0", elem)])


@maker("Optional", "OptionalHasElement", "OptionalGetElement", tolerance=EXACT)
def optional(d):
    elem = d.pick([T.FLOAT, T.INT64, T.DOUBLE])
    d.tensor(d.shape(high=3), elem)
    nodes = [
        helper.make_node("Optional", ["x0"], ["o"]),
        helper.make_node("OptionalHasElement", ["o"], ["y0"]),
        helper.make_node("OptionalGetElement", ["o"], ["y1"]),
    ]
    graph_of(d, nodes, [("y0", T.BOOL), ("y1", elem)])


@maker("RegexFullMatch", tolerance=EXACT)
def regex_full_match(d):
    words = ("", "a", "ab", "abc", "a b", "x@y.com", "Ab", "12", "é")
    patterns = ("", "a.*", "[a-c]+", "(a|b)*c?", r"\d{1,2}", r"\w+@\w+\.com", "(?i)AB", ".", "[^a]?")
    d.attr("pattern", d.pick(patterns))
    d.bound.update(T1=T.STRING, T2=T.BOOL)
    dims = d.shape(low=1, high=2, zero=0)
    d.add(np.array([d.pick(words) for _ in range(int(np.prod(dims)))], object).reshape(dims), T.STRING)


@maker("StringConcat", tolerance=EXACT)
def string_concat(d):
    dims = d.shape(high=3)
    d.tensor(dims, "T")
    d.tensor(d.broadcast(dims), "T")


@maker("StringNormalizer", tolerance=EXACT)
def string_normalizer(d):
    dims = [d.integer(1, 6)] if d.chance(0.6) else [1, d.integer(1, 6)]
    words = ("a", "b", "Ab", "AB", "monday", "Tuesday", "x y")
    d.attr("locale", "C")  # other locales need support by the host
    d.attr("case_change_action", d.pick(["LOWER", "UPPER", "NONE"]), 0.7)
    d.attr("is_case_sensitive", d.integer(0, 1), 0.6)
    d.attr("stopwords", [d.pick(words) for _ in range(d.integer(1, 2))], 0.6)
    array = np.array([d.pick(words) for _ in range(int(np.prod(dims)))], object).reshape(dims)
    d.bound["tensor(string)"] = T.STRING
    d.add(array, T.STRING)


@maker("StringSplit", tolerance=EXACT)
def string_split(d):
    d.attr("delimiter", d.pick([",", " ", "", "x"]), 0.6)
    d.attr("maxsplit", d.integer(1, 3), 0.4)
    d.bound.update(T2=T.STRING, T3=T.INT64)
    words = ("a b", "a,b,c", "axb", "", "  a  b ", "a,,b", "one two  three")
    dims = d.shape(low=1, high=2, zero=0)  # onnx.reference rejects scalars
    d.output_count = 2
    d.add(np.array([d.pick(words) for _ in range(int(np.prod(dims)))], object).reshape(dims), T.STRING)


