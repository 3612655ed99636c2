"""Inputs and outputs that are sequences, optionals and of shapes that depend on data, in onnxruntime's forms."""

import unittest

import models
import numpy as np
from onnx import TensorProto, helper

import onnx_cudnn as oc


def sequence_info(name):
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)


def session(nodes, inputs, outputs):
    options = oc.SessionOptions()
    options.device = "cpu"
    return oc.InferenceSession(models.model(nodes, inputs, outputs), options)


class KindsTest(unittest.TestCase):
    def test_sequences_are_lists(self):
        nodes = [helper.make_node("SequenceInsert", ["xs", "x"], ["ys"]), helper.make_node("SequenceLength", ["ys"], ["n"])]
        info = [sequence_info("xs"), helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])]
        made = session(nodes, info, [sequence_info("ys"), helper.make_tensor_value_info("n", TensorProto.INT64, [])])
        self.assertEqual([node.type for node in made.get_inputs()], ["seq(tensor(float))", "tensor(float)"])
        first, second = np.array([1, 2], np.float32), np.array([3], np.float32)
        ys, n = made.run(None, {"xs": [first], "x": second})
        self.assertEqual([y.tolist() for y in ys], [[1, 2], [3]])
        self.assertEqual(n, 2)
        with self.assertRaisesRegex(oc.InvalidArgument, r"expected a list for seq\(tensor\(float\)\), found ndarray"):
            made.run(None, {"xs": first, "x": second})

    def test_an_empty_optional_is_none(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
        info = helper.make_value_info("maybe", helper.make_optional_type_proto(tensor))
        has = helper.make_node("OptionalHasElement", ["maybe"], ["has"])
        made = session([has], [info], [helper.make_tensor_value_info("has", TensorProto.BOOL, [])])
        self.assertEqual(made.get_inputs()[0].type, "optional(tensor(float))")
        self.assertFalse(made.run(None, {"maybe": None})[0])
        self.assertTrue(made.run(None, {"maybe": np.zeros(2, np.float32)})[0])

    def test_shapes_that_depend_on_data(self):
        made = session(
            [helper.make_node("NonZero", ["x"], ["at"])],
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["h", "w"])],
            [helper.make_tensor_value_info("at", TensorProto.INT64, [2, None])],
        )
        x = np.array([[0, 5], [7, 0]], np.float32)
        self.assertEqual(made.run(None, {"x": x})[0].tolist(), np.array(np.nonzero(x)).tolist())
        self.assertEqual(made.stats().nodes_between, 1)


if __name__ == "__main__":
    unittest.main()
