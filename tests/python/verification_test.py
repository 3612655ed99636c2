"""verify: outputs beside onnxruntime's and beside the references'."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import models
import numpy as np
from onnx import TensorProto, helper

import onnx_cudnn as oc
from onnx_cudnn import verification

HAS_ORT = importlib.util.find_spec("onnxruntime") is not None


def compared(found, expected, tolerance=(1e-3, 1e-5)):
    return verification._compared("y", np.asarray(found), np.asarray(expected), tolerance)


class VerifyTest(unittest.TestCase):
    def setUp(self):
        self.options = oc.SessionOptions()
        self.options.device = "cpu"

    @unittest.skipUnless(HAS_ORT, "onnxruntime is not installed")
    def test_a_model_agrees_with_onnxruntime(self):
        result = oc.verify(models.mlp(np.random.default_rng(0)), options=self.options)
        self.assertTrue(result)
        self.assertEqual([output.name for output in result], ["y"])
        self.assertIn("against onnxruntime: agrees", str(result))

    def test_given_inputs_are_used_and_the_reference_is_ours(self):
        inputs = {"a": np.full((2, 3), 5, np.float32), "b": np.full((2, 3), 3, np.float32)}
        result = oc.verify(models.add(), inputs, against="reference", options=self.options)
        self.assertTrue(result.ok)
        self.assertEqual([output.largest_expected for output in result], [8, 2])

    def test_random_inputs_have_the_types_of_the_model(self):
        for dtype in (TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.STRING):
            self.assertTrue(oc.verify(models.identity(dtype), against="reference", options=self.options).ok, dtype)

    def test_fp16_differs_from_the_reference_by_more_than_nothing(self):
        self.options.target, self.options.precision = "h200", "fp16"
        model = models.mlp(np.random.default_rng(0))
        result = oc.verify(model, against="reference", options=self.options)
        self.assertTrue(result.ok)
        self.assertGreater(result.outputs[0].ulps, 0)
        self.assertFalse(oc.verify(model, against="reference", options=self.options, rtol=0, atol=1e-9).ok)

    def test_fp16_that_overflows_is_said(self):
        self.options.target, self.options.precision = "h200", "fp16"
        w = np.full((4, 2), 1000, np.float32)
        model = models.model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, (1, 4))], [("y", TensorProto.FLOAT, (1, 2))], [("w", w)])
        result = oc.verify(model, {"x": np.full((1, 4), 100, np.float32)}, against="reference", options=self.options)
        self.assertFalse(result)
        self.assertEqual(result.outputs[0].not_finite, 2)
        self.assertRegex(result.notes[0], "partition [0-9]+ is the first that overflows: .*MatMul.* 2 elements")
        self.assertIn(result.notes[0], str(result))

    def test_an_overflow_of_a_model_of_fp16_is_said_although_outputs_agree(self):
        w = np.full((4, 2), 60000, np.float16)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Sigmoid", ["m"], ["y"])]
        model = models.model(nodes, [("x", TensorProto.FLOAT16, (1, 4))], [("y", TensorProto.FLOAT16, (1, 2))], [("w", w)])
        result = oc.verify(model, {"x": np.ones((1, 4), np.float16)}, against="reference", options=self.options)
        self.assertTrue(result)
        self.assertEqual(result.notes, ("partition 0 is the first that overflows: MatMul: m, 2 elements are NaN or infinite, and finite in f32",))

    def test_a_dict_for_each_partition(self):
        session = oc.InferenceSession(models.add(), self.options)
        ones = np.ones((2, 3), np.float32)
        partitions = session.check_partitions({"a": ones, "b": ones})
        self.assertEqual(sorted(partition["index"] for partition in partitions), [0, 1])
        for partition in partitions:
            self.assertTrue(partition["ok"])
            self.assertEqual((partition["engine"], partition["overflowed"], partition["op_by_op"]), ("host", 0, []))
        self.assertEqual(sorted(partition["output"] for partition in partitions), ["difference", "sum"])
        with self.assertRaisesRegex(oc.InvalidArgument, "unknown input 'c'"):
            session.check_partitions({"c": ones})

    def test_without_onnxruntime_the_error_says_what_to_do(self):
        with unittest.mock.patch.dict(sys.modules, {"onnxruntime": None}), self.assertRaisesRegex(oc.FailedPrecondition, "pip install onnxruntime"):
            oc.verify(models.add())
        with self.assertRaisesRegex(oc.InvalidArgument, "expected \"onnxruntime\" or \"reference\""):
            oc.verify(models.add(), against="torch")


class ProgramTest(unittest.TestCase):
    """python -m onnx_cudnn verify."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "add.onnx").write_bytes(models.add())
        np.save(self.folder / "fives.npy", np.full((2, 3), 5, np.float32))

    def ended(self, *arguments):
        return subprocess.run([sys.executable, "-m", "onnx_cudnn", "verify", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    @unittest.skipUnless(HAS_ORT, "onnxruntime is not installed")
    def test_onnxruntime_is_the_default(self):
        ended = self.ended("add.onnx", "--device", "cpu")
        self.assertEqual((ended.returncode, ended.stdout.splitlines()[0]), (0, "against onnxruntime: agrees"), ended.stderr)

    def test_exit_codes_are_those_of_the_programs(self):
        given = ["--device", "cpu", "--against", "reference", "--input", "a=fives.npy", "--input", "b=fives.npy"]
        ended = self.ended("add.onnx", *given)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("sum  agrees  largest difference 0, largest expected 10", ended.stdout)
        (self.folder / "mlp.onnx").write_bytes(models.mlp(np.random.default_rng(0)))
        ended = self.ended("mlp.onnx", "--against", "reference", "--target", "h200", "--precision", "fp16", "--rtol", "0", "--atol", "1e-9")
        self.assertEqual(ended.returncode, 4, ended.stderr)
        self.assertIn("against reference: DIFFERS", ended.stdout)
        self.assertEqual(self.ended("none.onnx", *given).returncode, 2)
        self.assertEqual(self.ended("add.onnx", *given[:-1], "c=fives.npy").returncode, 2)
        self.assertEqual(self.ended("add.onnx", "--against", "torch").returncode, 1)


class OptionsTest(unittest.TestCase):
    def test_outputs_that_are_not_finite_end_a_run(self):
        options = oc.SessionOptions()
        options.device, options.check_finite = "cpu", True
        with self.assertRaisesRegex(oc.InvalidArgument, 'output "sum": 6 of 6 elements are NaN or infinite'):
            oc.InferenceSession(models.add(), options).run(None, {"a": np.zeros((2, 3), np.float32), "b": np.full((2, 3), np.inf, np.float32)})

    def test_nodes_that_are_kept_in_f32_must_exist(self):
        options = oc.SessionOptions()
        options.device, options.precision, options.keep_f32 = "cpu", "fp16", ["nobody"]
        with self.assertRaisesRegex(oc.InvalidArgument, 'option keep_f32: after the rewrites there is no node "nobody"'):
            oc.InferenceSession(models.add(), options)


class ComparedTest(unittest.TestCase):
    def test_figures(self):
        f32 = np.float32
        two = compared(np.array([np.nextafter(np.nextafter(f32(1), f32(2)), f32(2)), 4], f32), np.array([1, 4], f32))
        self.assertEqual((two.ok, two.ulps, two.relative), (True, 2, 2.0**-22))
        self.assertEqual(compared(np.array([1, 0], f32), np.array([0, 3], f32)).cosine, 0)
        self.assertEqual(compared(np.array([-1e-45], f32), np.array([1e-45], f32)).ulps, 2)
        self.assertEqual(compared(np.float16([2]), np.float16([1])).ulps, 1024)

    def test_what_is_beyond(self):
        self.assertEqual(compared(np.float32([1.0011, 1]), np.float32([1, 1])).beyond, 1)
        self.assertTrue(compared(np.float32([9e-8]), np.float32([0])).ok)
        self.assertEqual(compared([7, 8], [7, 9]).beyond, 1)
        self.assertEqual(compared(np.array(["a", "b"], object), np.array(["a", "c"], object)).beyond, 1)
        self.assertIn("expected int64[1], found int64[2]", compared([1, 2], [1]).note)

    def test_not_finite_elements(self):
        result = compared(np.float32([np.inf, np.nan, np.nan]), np.float32([1, np.nan, 2]))
        self.assertEqual((result.ok, result.beyond, result.not_finite, result.ulps), (False, 2, 2, np.inf))
        self.assertTrue(compared(np.float32([np.inf, np.nan]), np.float32([np.inf, np.nan])).ok)


if __name__ == "__main__":
    unittest.main()
