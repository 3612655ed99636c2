"""onnx_cudnn.data without Ray: batches as Dataset.map_batches gives them."""

import pathlib
import tempfile
import types
import unittest
from unittest import mock

import models
import numpy as np
from onnx import TensorProto, helper

import onnx_cudnn as oc
from onnx_cudnn.data import Images, Predictor


class PredictorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def predictor(self, model, **arguments):
        path = self.folder / "model.onnx"
        path.write_bytes(model)
        return Predictor(path, providers=["CPUExecutionProvider"], **arguments)

    def batch(self, rows, **more):
        return {"a": np.arange(3 * rows, dtype=np.float32).reshape(rows, 3), "b": np.ones((rows, 3), np.float32), **more}

    def test_outputs_are_columns_beside_the_others(self):
        batch = self.batch(4, path=np.array(list("wxyz")))
        found = self.predictor(models.add())(batch)
        self.assertEqual(list(found), ["path", "sum", "difference"])
        self.assertEqual(found["path"].tolist(), list("wxyz"))
        np.testing.assert_array_equal(found["sum"], batch["a"] + 1)
        np.testing.assert_array_equal(found["difference"], batch["a"] - 1)

    def test_columns_of_other_names(self):
        batch = {"left": self.batch(2)["a"], "right": self.batch(2)["b"], "more": np.zeros(2)}
        found = self.predictor(models.add(), columns={"a": "left", "b": "right"}, outputs={"sum": "total"}, keep=["left"])(batch)
        self.assertEqual(list(found), ["left", "total"])
        np.testing.assert_array_equal(found["total"], batch["left"] + 1)

    def test_few_programs_for_batches_of_any_size(self):
        predictor = self.predictor(models.add())
        for rows in (48, 13, 48, 40, 9, 1):
            batch = self.batch(rows)
            np.testing.assert_array_equal(predictor(batch)["sum"], batch["a"] + 1)
        self.assertEqual(predictor._session.stats().programs_built, 3)  # 48, 16, 1

    def test_a_model_of_fixed_size_runs_several_times(self):
        predictor = self.predictor(models.add(shape=(4, 3)))
        for rows in (10, 4, 1):
            batch = self.batch(rows)
            np.testing.assert_array_equal(predictor(batch)["difference"], batch["a"] - 1)
        self.assertEqual(sum(device.runs for device in predictor._session.stats().devices), 5)

    def test_outputs_of_a_fixed_size_have_a_row_for_each_of_the_input(self):
        nodes = [helper.make_node("Transpose", ["x"], ["t"]), helper.make_node("MatMul", ["w", "t"], ["y"])]
        for rows in (100, 2):
            weights = [("w", np.ones((rows, 3), np.float32))]
            model = models.model(nodes, [("x", TensorProto.FLOAT, (4, 3))], [("y", TensorProto.FLOAT, (rows, 4))], weights)
            for given in (2, 4, 8):
                with self.subTest(rows=rows, given=given), self.assertRaisesRegex(oc.InvalidArgument, rf"'y' is \[{rows}, 4\]: expected as many rows as the run, 4"):
                    self.predictor(model)({"x": np.ones((given, 3), np.float32)})

    def test_no_rows(self):
        predictor = self.predictor(models.add())
        found = predictor(self.batch(0, path=np.empty(0, object)))
        self.assertEqual({name: (array.shape, array.dtype) for name, array in found.items()},
                         {"path": ((0,), np.dtype(object)), "sum": ((0, 3), np.dtype("float32")), "difference": ((0, 3), np.dtype("float32"))})

    def test_a_function_prepares_the_inputs(self):
        predictor = self.predictor(models.add(), prepare=lambda batch: {"a": batch["n"][:, None] * np.ones((1, 3), np.float32), "b": np.ones((2, 3), np.float32)})
        found = predictor({"n": np.array([5, 6], np.float32)})
        self.assertEqual((found["n"].tolist(), found["sum"][:, 0].tolist()), ([5, 6], [6, 7]))

    def test_images(self):
        pool = models.model([helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["y"])],
                            [("x", TensorProto.FLOAT, ("N", 3, 4, 5))], [("y", TensorProto.FLOAT, ("N", 3))])
        pictures = np.random.default_rng(0).integers(0, 256, (3, 4, 5, 3), np.uint8)
        for column in (pictures, np.array([None, *pictures], object)[1:]):  # Ray Data gives the second where tensors are rows
            found = self.predictor(pool, prepare=Images("x"))({"image": column, "path": np.array(["a", "b", "c"])})
            self.assertEqual(list(found), ["path", "y"])
            mean, std = np.array((0.485, 0.456, 0.406)), np.array((0.229, 0.224, 0.225))
            np.testing.assert_allclose(found["y"], ((pictures / 255 - mean) / std).mean((1, 2)), rtol=1e-4, atol=1e-5)
        half = Images("x", mean=(0, 0, 0), std=(1, 1, 1), layout="NHWC", dtype="float16")({"image": pictures})["x"]
        self.assertEqual((half.shape, half.dtype), (pictures.shape, np.float16))
        np.testing.assert_allclose(half, pictures / 255, atol=1e-3)

    def test_wrong_pictures(self):
        rows = [np.zeros((4, 5, 3), np.uint8), np.zeros((5, 5, 3), np.uint8)]
        for column, text in ((np.array(rows, object), r"arrays of the shapes \[\(4, 5, 3\), \(5, 5, 3\)\]"), (np.zeros((2, 4, 5), np.uint8), r"found uint8\[2, 4, 5\]"),
                             (np.zeros((2, 4, 5, 3)), "found float64")):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(oc.InvalidArgument, text):
                Images("x")({"image": column})
        for wrong in ({"layout": "CHW"}, {"std": (1, 0, 1)}, {"mean": (1,)}):
            with self.subTest(wrong), self.assertRaises(oc.InvalidArgument):
                Images("x", **wrong)

    def test_wrong_batches(self):
        predictor = self.predictor(models.add())
        for batch, text in ((self.batch(2)["a"], 'the batch is ndarray: expected arrays by name, as batch_format="numpy"'),
                            ({"a": np.zeros((2, 3), np.float32)}, "no column 'b': expected of 'a'"), (self.batch(2, b=np.zeros((2, 3))), "b"),
                            ({"b": self.batch(3)["b"], "a": self.batch(2)["a"]}, r"input 'a' is \[2, 3\]: expected as many rows as the batch, 3")):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(oc.InvalidArgument, text):
                predictor(batch)
        with self.assertRaisesRegex(oc.InvalidArgument, "keep: the batch has no column 'c'"):
            self.predictor(models.add(), keep=["c"])(self.batch(1))
        total = models.model([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [("x", TensorProto.FLOAT, ("N",))], [("y", TensorProto.FLOAT, ())])
        with self.assertRaisesRegex(oc.InvalidArgument, r"output 'y' is \[\]: expected as many rows as the batch, 2"):
            self.predictor(total)({"x": np.ones(2, np.float32)})

    def test_wrong_arguments(self):
        for wrong, text in (({"columns": {"c": "a"}}, "unknown input 'c'"), ({"outputs": {"c": "a"}}, 'output "c"'), ({"keep": "path"}, "keep: expected a list"),
                            ({"columns": {}, "prepare": dict}, "expected one of them"), ({"options": {"thread": 1}}, "no option thread")):  # fmt: skip
            with self.subTest(text), self.assertRaisesRegex(oc.InvalidArgument, text):
                self.predictor(models.add(), **wrong)

    def test_the_device_is_what_ray_gives_the_actor(self):
        context = types.SimpleNamespace(get_actor_id=lambda: "a", get_accelerator_ids=lambda: {"GPU": []}, get_assigned_resources=lambda: {"CPU": 1.5})
        ray = types.SimpleNamespace(is_initialized=lambda: True, get_runtime_context=lambda: context)
        path = self.folder / "model.onnx"
        path.write_bytes(models.add())
        with mock.patch.dict("sys.modules", ray=ray):
            session = Predictor(path)._session
        self.assertEqual((session.device, session.get_session_options().device, session.get_session_options().threads), ("cpu", "cpu", 2))


if __name__ == "__main__":
    unittest.main()
