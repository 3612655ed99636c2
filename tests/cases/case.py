"""A case is a model of one op with its inputs. Equal (seed, index) give equal cases."""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

from draw import ML, ContribDraw, Draw
from makers import MAKERS, Tolerance
from spoil import spoil

OPS = tuple(sorted(op for op, made in MAKERS.items() if made.domain == "" and "." not in op))
ML_OPS = tuple(sorted(op for op, made in MAKERS.items() if made.domain == ML))
CONTRIB_OPS = tuple(sorted(op for op in MAKERS if "." in op))  # with their domain; onnxruntime alone judges them
FIRST_CONTRIB = 10_000_000  # cases from this index on are of them
SPOILED = 0.06  # the share of cases that are made invalid
OPTIONAL = defs.OpSchema.FormalParameterOption.Optional
OPSET_BESIDE = 20  # of the default domain where the op is of another one
IR_VERSIONS = ((25, 12), (23, 11), (0, 10))  # of opsets from


@dataclasses.dataclass
class Case:
    name: str  # "Add-17"
    op: str
    opset: int
    version: int  # of the op's schema
    model: onnx.ModelProto
    feeds: dict  # graph input: array
    elems: dict  # graph input: TensorProto type
    inputs: list  # of the node: (array, TensorProto type, is an initializer) or None
    attributes: dict  # of the node; empty if the model has several nodes
    spoiled: bool  # changed so that it is probably invalid
    tolerance: Tolerance
    text: str  # a description in one line


def tensor_of(array, elem, name):
    if elem == TensorProto.STRING:
        return helper.make_tensor(name, elem, array.shape, [s.encode() for s in array.ravel()])
    return numpy_helper.from_array(array, name)


def output_types(draw):
    """Element types of the op's outputs by its schema. A type variable that no input has bound gets the first type that is allowed."""
    types = []
    formals = list(draw.schema.outputs)
    most = draw.output_count if draw.output_count is not None else len(formals)
    for i in range(most):
        formal = formals[min(i, len(formals) - 1)]
        bound = draw.bound.get(formal.type_str)
        types.append(bound if bound is not None else (draw.allowed(formal.type_str) or [0])[0])
    return types


def value_info(draw, name, array, elem):
    return helper.make_tensor_value_info(name, elem, draw.declared_dims(name, array))


def node_and_outputs(draw, names):
    """The node and (name, type) of each of its outputs."""
    if draw.schema is None:
        outputs = [(f"y{i}" if elem else "", elem) for i, elem in enumerate(draw.outputs)]
        node = helper.make_node(draw.op, names, [n for n, _ in outputs], name="node", domain=draw.domain, **draw.attributes)
        return [node], [o for o in outputs if o[0]]
    types = output_types(draw)
    if draw.output_count is None:
        types = types[: draw.integer(max(draw.schema.min_output, 1), len(types))]
    outputs = [(f"y{i}", t) for i, t in enumerate(types)]
    if min(len(outputs), len(draw.schema.outputs)) > 2 and draw.schema.outputs[1].option == OPTIONAL and draw.op != "Attention" and draw.chance(0.1):
        outputs[1] = ("", 0)  # present_key and present_value of Attention go together
    node = helper.make_node(draw.op, names, [n for n, _ in outputs], name="node", domain=draw.domain, **draw.attributes)
    return [node], [o for o in outputs if o[0]]


def make_model(draw):
    names, inputs, initializers, feeds, elems = [], [], [], {}, {}
    for i, given in enumerate(draw.inputs):
        names.append(f"x{i}" if given is not None else "")
        if given is None:
            continue
        array, elem, constant = given
        if constant:
            initializers.append(tensor_of(array, elem, names[-1]))
        else:
            inputs.append(value_info(draw, names[-1], array, elem))
            feeds[names[-1]], elems[names[-1]] = array, elem
    nodes, outputs = (draw.nodes, draw.graph_outputs) if draw.nodes else node_and_outputs(draw, names)
    infos = [helper.make_tensor_value_info(name, elem, None) for name, elem in outputs]
    graph = helper.make_graph(nodes, "case", inputs, infos, initializers)
    opsets = [helper.make_opsetid(draw.domain, draw.version if draw.schema is None and draw.domain else draw.opset)]
    if draw.domain:
        opsets.append(helper.make_opsetid("", draw.opset if draw.schema is None else OPSET_BESIDE))
    ir_version = next(ir for opset, ir in IR_VERSIONS if draw.opset >= opset)
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version), feeds, elems


def short(value):
    text = value if isinstance(value, str) else str(value.tolist() if isinstance(value, np.ndarray) else value)
    return text.replace("\n", " ") if len(text) <= 60 else text[:57].replace("\n", " ") + "…"


def describe(draw):
    """Like "Op-13 @opset [attributes] (types and shapes of the inputs)", with the values of small inputs."""
    inputs = []
    for given in draw.inputs:
        if given is None:
            inputs.append("-")
            continue
        array, elem, constant = given
        values = f"={short(array)}" if array.size <= 8 else ""
        inputs.append(f"{TensorProto.DataType.Name(elem).lower()}{list(array.shape)}{values}{'!' if constant else ''}")
    attributes = ", ".join(f"{k}={short(v)}" for k, v in draw.attributes.items())
    return f"{draw.domain and draw.domain + '.'}{draw.op}-{draw.version} @{draw.opset} [{attributes}] ({', '.join(inputs)})"


def make_case(seed, index, ops=OPS):
    is_contrib = index >= FIRST_CONTRIB
    ops = CONTRIB_OPS if is_contrib else ops
    op = ops[index % len(ops)]
    draw = (ContribDraw if is_contrib else Draw)(op, seed, index)
    made = MAKERS[op]
    made.make(draw)
    while draw.inputs and draw.inputs[-1] is None and draw.chance(0.5):
        draw.inputs.pop()
    spoiled = draw.chance(SPOILED) and spoil(draw)
    model, feeds, elems = make_model(draw)
    return Case(
        f"{op}-{index}", op, draw.opset, draw.version, model, feeds, elems, draw.inputs, draw.attributes, spoiled, made.tolerance,
        describe(draw),
    )  # fmt: skip
