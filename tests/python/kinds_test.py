"""Inputs and outputs that are sequences, optionals and of shapes that depend on data, in onnxruntime's forms."""

import unittest

import models
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import onnx_cudnn as oc


def sequence_info(name):
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)


def map_type(key, value):
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))


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
        self.assertEqual((made.stats().nodes_between, made.stats().size_reads), (0, 1))

    def expect_as_onnxruntime(self, nodes, inputs, outputs, feeds):
        """The same values in the same forms; returns ours."""
        found = session(nodes, inputs, outputs).run(None, feeds)
        model = models.model(nodes, inputs, outputs)
        expected = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)
        for ours, theirs in zip(found, expected, strict=True):
            self.assertIs(type(ours), type(theirs))
            if isinstance(theirs, np.ndarray):
                self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
                np.testing.assert_array_equal(ours, theirs)
            else:
                self.assertEqual(ours, theirs)
        return found

    def test_the_end_of_a_classifier(self):
        """As skl2onnx writes it: a label and a dict of probabilities per row."""
        for key, labels in ((TensorProto.INT64, {"classlabels_int64s": [3, 5, 8]}), (TensorProto.STRING, {"classlabels_strings": ["a", "b", "c"]})):
            own = {name.replace("int64s", "ints"): values for name, values in labels.items()}
            nodes = [
                helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", coefficients=[1.0, -1, 0, 2, -3, 1],
                                 intercepts=[0.5, 0, -0.5], multi_class=1, post_transform="SOFTMAX", **own),
                helper.make_node("ZipMap", ["scores"], ["probabilities"], domain="ai.onnx.ml", **labels),
            ]  # fmt: skip
            outputs = [
                helper.make_tensor_value_info("label", key, [None]),
                helper.make_value_info("probabilities", helper.make_sequence_type_proto(map_type(key, TensorProto.FLOAT))),
            ]
            inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])]
            x = np.array([[1, 2], [0, 0.25], [-3, 1]], np.float32)
            made = session(nodes, inputs, outputs)
            self.assertEqual(made.get_outputs()[1].type, f"seq(map({'int64' if key == TensorProto.INT64 else 'string'},tensor(float)))")
            label, found = made.run(None, {"x": x})
            reference = onnxruntime.InferenceSession(models.model(nodes, inputs, outputs), providers=["CPUExecutionProvider"])
            expected_label, expected = reference.run(None, {"x": x})
            self.assertEqual(label.tolist(), expected_label.tolist())
            self.assertEqual([list(row) for row in found], [list(row) for row in expected])
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=1e-6)
                self.assertIs(type(next(iter(ours.values()))), float)

    def test_maps_become_rows(self):
        numbers = helper.make_value_info("x", map_type(TensorProto.INT64, TensorProto.FLOAT))
        words = helper.make_value_info("x", map_type(TensorProto.STRING, TensorProto.FLOAT))
        float_row = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, None])]
        int_row = [helper.make_tensor_value_info("y", TensorProto.INT64, [1, None])]
        for op, info, outputs, feed, attributes in (
            ("CastMap", numbers, float_row, {3: 1.5, -1: 2.5}, {}),
            ("CastMap", numbers, int_row, {3: 1.5, 1: -2.5}, {"cast_to": "TO_INT64"}),
            ("CastMap", numbers, float_row, {3: 1.5, 1: 2.5}, {"map_form": "SPARSE", "max_map": 6}),
            ("DictVectorizer", numbers, float_row, {3: 1.5, 1: 2.5}, {"int64_vocabulary": [1, 2, 3, 1]}),
            ("DictVectorizer", words, float_row, {"a": 4.0, "c": 8.0, "q": 1.0}, {"string_vocabulary": ["a", "c", "b", "z"]}),
        ):
            with self.subTest(op=op, attributes=attributes):
                node = helper.make_node(op, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
                self.expect_as_onnxruntime([node], [info], outputs, {"x": feed})

    def test_a_map_is_a_dict(self):
        node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", int64_vocabulary=[1])
        info = helper.make_value_info("x", map_type(TensorProto.INT64, TensorProto.FLOAT))
        made = session([node], [info], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])])
        self.assertEqual(made.get_inputs()[0].type, "map(int64,tensor(float))")
        with self.assertRaisesRegex(oc.InvalidArgument, r"expected a dict for map\(int64,tensor\(float\)\), found list"):
            made.run(None, {"x": [1.0]})
        self.assertEqual(made.run(None, {"x": {}})[0].tolist(), [[0]])


if __name__ == "__main__":
    unittest.main()
