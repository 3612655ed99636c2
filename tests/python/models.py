"""Small models for the tests of the Python package."""

import onnx
from onnx import TensorProto, helper

OPSET, IR = 18, 9


def model(nodes, inputs, outputs, initializers=(), opset=OPSET):
    """Serialized; inputs and outputs are (name, type, shape), or ValueInfoProtos. Nodes may be of ai.onnx.ml."""

    def described(info):
        return info if isinstance(info, onnx.ValueInfoProto) else helper.make_tensor_value_info(*info)

    graph = helper.make_graph(
        nodes,
        "graph",
        [described(info) for info in inputs],
        [described(info) for info in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in initializers],
    )
    opsets = [helper.make_opsetid("", opset)]
    if any(node.domain == "ai.onnx.ml" for node in nodes):
        opsets.append(helper.make_opsetid("ai.onnx.ml", 3))
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR).SerializeToString()


def add(dtype=TensorProto.FLOAT, shape=("N", 3)):
    """sum = a + b and difference = a - b."""
    return model(
        [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Sub", ["a", "b"], ["difference"])],
        [("a", dtype, shape), ("b", dtype, shape)],
        [("sum", dtype, shape), ("difference", dtype, shape)],
    )


def identity(dtype, shape=("N",)):
    """y = x"""
    return model([helper.make_node("Identity", ["x"], ["y"])], [("x", dtype, shape)], [("y", dtype, shape)], opset=25)


def scaled_swish(scale):
    """y = ScaledSwish(x) of examples/op_library"""
    graph = helper.make_graph(
        [helper.make_node("ScaledSwish", ["x"], ["y"], domain="com.example", scale=float(scale))],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N",))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("N",))],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR).SerializeToString()


def mlp(rng, sizes=(8, 16, 4)):
    """y = softmax of layers of MatMul, Add and Relu of x[N,sizes[0]]."""
    nodes, initializers, last = [], [], "x"
    for i, (rows, columns) in enumerate(zip(sizes, sizes[1:], strict=False)):
        initializers += [(f"w{i}", rng.standard_normal((rows, columns)).astype("float32")), (f"b{i}", rng.standard_normal(columns).astype("float32"))]
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"r{i}"]),
        ]
        last = f"r{i}"
    nodes.append(helper.make_node("Softmax", [last], ["y"], axis=-1))
    return model(nodes, [("x", TensorProto.FLOAT, ("N", sizes[0]))], [("y", TensorProto.FLOAT, ("N", sizes[-1]))], initializers)
